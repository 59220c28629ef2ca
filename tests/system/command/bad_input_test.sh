#!/usr/bin/env bash
# Every kind of bad input at the command line: one clear line, the documented exit code, and no file touched.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"

# Begins a case in a folder with files of an earlier run, none of which may change.
bad() {
    begin "$1"
    echo "an earlier model" >trained.onnx
    echo "an earlier log" >log.jsonl
}

# ------------------------------------------------------------------------------------------------------- the command line
bad "unknown command";              refuses 1 "no command 'tarin'.*--help" tarin model.onnx
bad "no model";                     refuses 1 "which model" train
bad "two models";                   refuses 1 "one model at a time.*b.onnx" check a.onnx b.onnx
bad "unknown option";               refuses 1 "--bogus" train "${mlp[@]}" --bogus
bad "option without its value";     refuses 1 "batch.*requires an argument" train "${mlp[@]}" --batch
bad "batch that is no number";      refuses 1 "--batch: 'many'" train "${mlp[@]}" --batch=many
bad "batch below zero";             refuses 1 "--batch: '-3'" train "${mlp[@]}" --batch=-3
bad "batch beyond 64 bits";         refuses 1 "--batch" train "${mlp[@]}" --batch=99999999999999999999
bad "zero epochs";                  refuses 1 "--epochs: '0'" train "${mlp[@]}" --epochs 0
bad "zero micro-batches";           refuses 1 "--micro-batches: '0'" train "${mlp[@]}" --micro-batches 0
bad "more parts than samples";      refuses 1 "too few samples for 17 micro-batches" train "${mlp[@]}" --batch 16 --micro-batches 17
bad "learning rate of no number";   refuses 1 "--lr: 'fast'" train "${mlp[@]}" --lr fast
bad "learning rate nan";            refuses 1 "--lr: 'nan'" train "${mlp[@]}" --lr nan
bad "negative learning rate";       refuses 1 "--lr" train "${mlp[@]}" --lr=-1
bad "unknown loss";                 refuses 1 "cross_entropie.*cross_entropy" train "${mlp[@]}" --loss cross_entropie
bad "no loss"
refuses 1 "--loss is needed" train "$golden/mlp/model.onnx" --input "$golden/mlp/input.npy" --target "$golden/mlp/target.npy"
bad "unknown optimiser";            refuses 1 "sdg.*sgd" train "${mlp[@]}" --optimizer sdg
bad "unknown schedule";             refuses 1 "--lr-schedule.*cosine" train "${mlp[@]}" --lr-schedule stairs
bad "beta of one";                  refuses 1 "--beta1" train "${mlp[@]}" --beta1 1
bad "nesterov without momentum";    refuses 1 "--nesterov" train "${mlp[@]}" --nesterov --optimizer sgd
bad "unknown batchnorm mode";       refuses 1 "--batchnorm: 'maybe'" train "${mlp[@]}" --batchnorm maybe
bad "dropout above one";            refuses 1 "--dropout" train "${mlp[@]}" --dropout 1.5
bad "unknown export form";          refuses 1 "--export" train "${mlp[@]}" --export slim --out trained.onnx
bad "unknown metric";               refuses 1 "--metric" eval "${mlp[@]}" --metric f1
bad "unknown loss output";          refuses 1 "logitz" train "${mlp[@]}" --loss-output logitz
bad "class axis out of range";      refuses 1 "class-axis" train "${mlp[@]}" --class-axis 7
bad "size of nothing";              refuses 1 "--dim" train "${mlp[@]}" --dim batch=0
bad "dim of no input";              refuses 1 "--dim nope: no input has .*there are: batch" train "${mlp[@]}" --dim nope=3
bad "dim without a size";           refuses 1 "--dim: 'batch'" train "${mlp[@]}" --dim batch
bad "rows beyond the file";         refuses 4 "--rows" train "${mlp[@]}" --rows 200:300
bad "rows that are none";           refuses 4 "--rows .5:5." train "${mlp[@]}" --rows 5:5
bad "rows that make no sense";      refuses 1 "--rows|rows" train "${mlp[@]}" --rows first
bad "unknown input";                refuses 1 "no input named 'y'.*'x'" train "$golden/mlp/model.onnx" --input "y=$golden/mlp/input.npy"
bad "no input at all";              refuses 1 "input 'x' has no data.*--input x=FILE" train "$golden/mlp/model.onnx" --loss mse
bad "one of two inputs missing";    refuses 1 "input 'b' has no data" train "$models/two_inputs.onnx" --input "a=$golden/mlp/input.npy" --loss mse
bad "which of two inputs";          refuses 1 "2 inputs" train "$models/two_inputs.onnx" --input "$golden/mlp/input.npy"
bad "no target";                    refuses 1 "target" train "$golden/mlp/model.onnx" --input "$golden/mlp/input.npy" --loss mse
bad "nothing left to train";        refuses 1 "freeze|train" train "${mlp[@]}" --freeze '*'
bad "freeze that matches nothing";  refuses 1 "--freeze.*no_such" train "${mlp[@]}" --freeze 'no_such*'
bad "tie of unknown weights";       refuses 1 "nobody" train "${mlp[@]}" --tie nobody=fc1.weight
bad "normalize without a number";   refuses 1 "normalize|MEAN,STD" train "${mlp[@]}" --normalize x=dark
bad "normalize by zero";            refuses 1 "normalize|STD" train "${mlp[@]}" --normalize x=0,0
bad "memory of no size";            refuses 1 "--memory" train "${mlp[@]}" --memory plenty
bad "too little memory";            refuses 6 "--memory .* too little: .* needed" train "${mlp[@]}" --memory 10KiB --out trained.onnx
bad "validation without targets";   refuses 1 "val-target|target" train "${mlp[@]}" --val-input "x=$golden/mlp/input.npy"
bad "fewer threads than asked for"; OMP_THREAD_LIMIT=1 refuses 1 "OpenMP gives 1 of the 2 threads" train "${mlp[@]}" --threads 2
bad "no nested threads";            OMP_MAX_ACTIVE_LEVELS=0 refuses 1 "OpenMP gives 1 of the 2 threads" train "${mlp[@]}" --threads 2

# What was meant to be a model or an array, by its first bytes.
for kind in 'version https://git-lfs.github.com/spec/v1\noid sha256:4d\n|git lfs pull' '<!DOCTYPE html>\n<html>|HTML page' \
    '\x89PNG\r\n\x1a\n\x00\x00|PNG picture' '\xff\xd8\xff\xe0\x00|JPEG picture' '%%PDF-1.7\n|PDF document' '\x80\x02}q\x00.|pickle' \
    '\x89HDF\r\n\x1a\n\x00|HDF5' 'GGUF\x03\x00\x00\x00|GGUF' 'PAR1\x15\x04|Parquet' 'PK\x03\x04\x00\x00archive/data.pkl|PyTorch checkpoint'; do
    bad "a model that is: ${kind#*|}";  printf "${kind%|*}" >net.onnx; refuses 2 "${kind#*|}" check net.onnx
    bad "an array that is: ${kind#*|}"; printf "${kind%|*}" >x.npy;    refuses 4 "${kind#*|}" train "$golden/mlp/model.onnx" --input x.npy --target x.npy --loss mse
done
bad "a model that is packed";       gzip -c <"$golden/mlp/model.onnx" >net.onnx; refuses 2 "gunzip" check net.onnx

bad "a pipe that no program reads";  mkfifo pipe; refuses 5 "no program reads this pipe" train "${mlp[@]}" --log-json pipe
bad "a name that is too long";      refuses 5 "File name too long" train "${mlp[@]}" --out "$(printf 'o%.0s' {1..250})"

bad "outputs of training";           refuses 1 "--output.*eval" train "${mlp[@]}" --output logits=y.npy
bad "no scale for delayed steps";   refuses 3 "fp16" train "${mlp[@]}" --precision fp16 --stages 2 --pipeline pipedream-async
bad "device that is not here";     refuses 3 "cuda.*--device cpu" train "${mlp[@]}" --device cuda
bad "more stages than nodes";       refuses 1 "99 stages are more than" train "${mlp[@]}" --stages 99 --micro-batches 1
bad "unknown precision";            refuses 1 "--precision" train "${mlp[@]}" --precision fp7
bad "unknown device";               refuses 1 "--device" train "${mlp[@]}" --device tpu

# -------------------------------------------------------------------------------------------------------------- the model
bad "no such model";                refuses 5 "nowhere.onnx.*No such file" check nowhere.onnx
bad "model is a folder";            refuses 5 "." check .
bad "empty model"; : >empty.onnx;   refuses 2 "empty.onnx" check empty.onnx
for bytes in 1 7 100 1000 10000 20000; do
    bad "model cut off after $bytes bytes"
    head -c "$bytes" "$golden/mlp/model.onnx" >cut.onnx
    refuses 2 "cut.onnx" train "${mlp[@]/#$golden\/mlp\/model.onnx/cut.onnx}" --out trained.onnx
done
for seed in 1 2 3 4 5 6 7 8; do
    bad "random bytes $seed"
    awk -v seed=$seed 'BEGIN { srand(seed); for (i = 0; i < 4000; ++i) printf "%c", 1 + int(rand() * 127) }' >random.onnx
    refuses 2 "random.onnx" check random.onnx
done
bad "text as a model"; echo "import torch" >net.onnx; refuses 2 "net.onnx" check net.onnx
bad "700 KB of nested groups";      head -c 700000 /dev/zero | tr '\0' '\073' >deep.onnx; refuses 2 "deep.onnx" check deep.onnx
bad "groups nobody closes";         head -c 700000 /dev/zero | tr '\0' '\013' >deep.onnx; refuses 2 "deep.onnx" check deep.onnx
bad "cyclic graph";                 refuses 2 "cycle.*'first'" check "$models/cycle.onnx"
bad "unknown operator";             refuses 3 "node 'odd'.*Frobnicate" train "$models/unknown_operator.onnx" --input "$golden/mlp/input.npy" --loss mse
bad "external data missing";        cp "$models/external.onnx" .; refuses 5 "weights.bin.*No such file" check external.onnx
bad "external data too short"
cp "$models/external.onnx" . && printf 'abc' >weights.bin
refuses 2 "'w'.*weights.bin" check external.onnx
bad "external data in the parent"
mkdir inner && cp "$models/external_parent.onnx" inner && head -c 64 /dev/zero >secret.bin
refuses 2 "../secret.bin" check inner/external_parent.onnx
bad "external data by absolute path"; cp "$models/external_absolute.onnx" .; refuses 2 "/etc/passwd" check external_absolute.onnx
bad "external data through a link"
cp "$models/external_link.onnx" . && mkdir other && head -c 64 /dev/zero >other/secret.bin && mkdir inner
mv external_link.onnx inner && ln -s ../other/secret.bin inner/link.bin
refuses 2 "link.bin" check inner/external_link.onnx

# --------------------------------------------------------------------------------------------------------------- the data
# Options for the golden MLP with other arrays: FILE of inputs, FILE of targets.
with() { args=("$golden/mlp/model.onnx" --input "x=$1" --target "$2" --loss cross_entropy --batch 4 --threads 1); }
inputs=$golden/mlp/input.npy targets=$golden/mlp/target.npy

bad "no such array";                with none.npy "$targets"; refuses 5 "none.npy.*No such file" train "${args[@]}"
bad "array of no known format"
echo "hello" >x.txt; with x.txt "$targets"; refuses 4 "x.txt" train "${args[@]}"
bad "array cut off"
head -c 1000 "$inputs" >cut.npy; with cut.npy "$targets"; refuses 4 "cut.npy" train "${args[@]}"
bad "array of a wrong shape"
repeat 84 '\0\0\0\0' | array x.npy '<f4' '(4, 21)'; repeat 4 '\1\0\0\0\0\0\0\0' | array t.npy '<i8' '(4,)'
with x.npy t.npy; refuses 4 "x.npy|'x'" train "${args[@]}"
bad "array of a wrong type"
repeat 80 '\0\0\0\0\0\0\0\0' | array x.npy '<c8' '(4, 20)'; repeat 4 '\1\0\0\0\0\0\0\0' | array t.npy '<i8' '(4,)'
with x.npy t.npy; refuses 3 "x.npy|'x'" train "${args[@]}"
bad "no samples"
: | array x.npy '<f4' '(0, 20)'; : | array t.npy '<i8' '(0,)'; with x.npy t.npy; refuses 4 "sample" train "${args[@]}"
# Batches of 4 that cannot be followed (graph/passes/batch.h).
clip=$root/tests/agreement/families/clip
fixed=("$clip/model.onnx" --input "input_ids=$clip/input_ids.npy" --input "pixel_values=$clip/pixel_values.npy" --target "$clip/target.npy"
    --loss cross_entropy --threads 1)
bad "less validation data than a fixed batch"
refuses 4 "validation data has only 3; give at least 4 with --val-rows" train "${fixed[@]}" --rows 0:4 --val-rows 5:8 \
    --log-json log.jsonl --out trained.onnx
refuses 4 "validation data has only 3; give at least 4 with --val-rows" train "${fixed[@]}" --val-rows 5:8 \
    --stages 2 --log-json log.jsonl --out trained.onnx
bad "less training data than a fixed batch"
refuses 4 "training data has only 3; give at least 4 with --rows" train "${fixed[@]}" --rows 5:8 --out trained.onnx
bad "less data than a fixed batch in eval"
refuses 4 "the data has only 3; give at least 4 with --rows" eval "${fixed[@]}" --rows 5:8
bad "a batch that is no multiple of a fixed one"
refuses 1 "--batch 6 is no multiple of 4" train "${fixed[@]}" --batch 6 --out trained.onnx
bad "fewer targets than samples"
repeat 3 '\1\0\0\0\0\0\0\0' | array t.npy '<i8' '(3,)'; with "$inputs" t.npy; refuses 4 "192.*3|3.*192" train "${args[@]}"
bad "label above the classes"
repeat 192 '\12\0\0\0\0\0\0\0' | array t.npy '<i8' '(192,)'; with "$inputs" t.npy
refuses 4 "10" train "${args[@]}" --out trained.onnx
bad "label below zero"
repeat 192 '\377\377\377\377\377\377\377\377' | array t.npy '<i8' '(192,)'; with "$inputs" t.npy
refuses 4 "\-1" train "${args[@]}" --out trained.onnx
bad "label out of range in eval";   repeat 192 '\12\0\0\0\0\0\0\0' | array t.npy '<i8' '(192,)'; with "$inputs" t.npy; refuses 4 "10" eval "${args[@]}"
bad "labels that are fractions"
repeat 192 '\0\0\0\077' | array t.npy '<f4' '(192,)'; with "$inputs" t.npy; refuses 4 "integers" train "${args[@]}"
bad "targets that nothing is compared with"
refuses 1 "--target needs a --loss" eval "$golden/mlp/model.onnx" --input "$inputs" --target "$targets"
bad "results in the place of data"
cp "$inputs" x.npy; cp "$targets" t.npy; cp "$golden/mlp/model.onnx" net.onnx; ln -s x.npy link.npy
one=(net.onnx --input x=x.npy --target t.npy --loss cross_entropy --batch 4 --threads 1)
refuses 1 "--out: ./x.npy would take the place of what --input reads" train "${one[@]}" --out ./x.npy
refuses 1 "--out: link.npy .*--input" train "${one[@]}" --out link.npy
refuses 1 "--log-json: t.npy .*--target" train "${one[@]}" --log-json t.npy
refuses 1 "--trace: net.onnx .*the model" train "${one[@]}" --trace net.onnx
refuses 1 "--output: x.npy .*--input" eval "${one[@]}" --output logits=x.npy
bad "two results of one name"
refuses 1 "--out and --log-json would write the same file, ./f" train "${mlp[@]}" --out f --log-json ./f
bad "a report in place of the plan"
refuses 1 "--out and --report would write the same file" plan "$golden/mlp/model.onnx" --batch 4 --out f --report "$PWD/f"
bad "only ignored targets"
repeat 192 '\234\377\377\377\377\377\377\377' | array t.npy '<i8' '(192,)'; with "$inputs" t.npy
refuses 4 "target" train "${args[@]}"
bad "only ignored targets in validation"
repeat 192 '\1\0\0\0\0\0\0\0' | array t.npy '<i8' '(192,)'
with "$inputs" "$targets"
for stages in 1 2; do
    refuses 4 "validation: none of the targets counts, all are --ignore-index 1$" train "${args[@]}" --rows 0:12 --stages $stages \
        --val-input "x=$inputs" --val-target t.npy --val-rows 12:24 --ignore-index 1 --out trained.onnx
done
bad "only ignored targets in eval"
repeat 192 '\1\0\0\0\0\0\0\0' | array t.npy '<i8' '(192,)'; with "$inputs" t.npy
refuses 4 "none of the targets counts, all are --ignore-index 1$" eval "${args[@]}" --ignore-index 1 --metric accuracy
bad "inputs that are not finite"
repeat 80 '\0\0\300\177' | array x.npy '<f4' '(4, 20)'; repeat 4 '\1\0\0\0\0\0\0\0' | array t.npy '<i8' '(4,)'
with x.npy t.npy; refuses 7 "step 1: the loss" train "${args[@]}" --out trained.onnx
bad "token above the vocabulary"
repeat 400 '\377\177' >tokens.bin
refuses 4 "32767" train "$examples/shakespeare/char_gpt.onnx" --tokens tokens.bin --seq 64 --loss cross_entropy --threads 1
bad "tokens fewer than a window"
repeat 5 '\1\0' >tokens.bin
refuses 4 "tokens.bin" train "$examples/shakespeare/char_gpt.onnx" --tokens tokens.bin --seq 64 --loss cross_entropy --threads 1
bad "window that the model does not take"
refuses 1 "--seq 32.*64" train "$examples/shakespeare/char_gpt.onnx" --tokens "$examples/data/shakespeare/train.bin" --seq 32 --loss cross_entropy
bad "tokens and inputs";            refuses 1 "--tokens" train "${mlp[@]}" --tokens "$inputs"

# --------------------------------------------------------------------------------------------------------------- training
bad "loss that is no number";       refuses 7 "lower --lr" train "${mlp[@]}" --steps 200 --optimizer sgd --lr 1e38 --out trained.onnx
bad "full disk under the log costs the log alone, is told at once, and in the end by the exit code"
run train "${mlp[@]}" --steps 20 --log-json /dev/full --checkpoint runs --out trained.onnx
if ((status == 5)) && [[ -s trained.onnx && -s runs/step-00000020.json && $(grep -c "/dev/full" "$work/stderr") == 2 ]] &&
    grep -q "warning: .*/dev/full.*No space left.*; the run goes on without it" "$work/stderr"; then
    pass "$name"
else
    fail "$name" "exit code $status"
fi
for batch in 9223372036854775807 4611686018427387904 2147483648; do
    bad "a batch of $batch";        refuses 1 "--batch $batch is more than the 2147483647 samples" train "${mlp[@]}" --batch $batch --out trained.onnx
done
for size in 9223372036854775807 4611686018427387904; do
    bad "a dimension of $size";     refuses 1 "are more than the 2147483647 samples" train "$golden/cnn_dynamic/model.onnx" --dim batch=$size --loss cross_entropy \
        --input "$golden/cnn_dynamic/input.npy" --target "$golden/cnn_dynamic/target.npy" --out trained.onnx
done
bad "full disk under the model";    refuses 5 "/dev/full.*No space left" train "${mlp[@]}" --out /dev/full
bad "an output as text";            refuses 1 "y.csv: an array is written as .npy, not as .csv" eval "${mlp[@]}" --output logits=y.csv
bad "an output as an archive";      refuses 1 "a.b/y.npz: .* not as .npz" eval "${mlp[@]}" --output logits=a.b/y.npz
bad "a class that is not whole";    refuses 1 "--ignore-index 1.5 is not a whole number" train "${mlp[@]}" --ignore-index 1.5
bad "an axis that is not whole";    refuses 1 "--class-axis 0.5 is not a whole number" train "${mlp[@]}" --class-axis 0.5
bad "no profile, and no plan";      refuses 5 "cannot open .nonesuch" train "${mlp[@]}" --profile nonesuch
bad "no device, and no plan";       refuses 5 "device profile .nonsense.: neither" train "${mlp[@]}" --device-profile nonsense
bad "a form of no model";         refuses 1 "--export has no effect here: it is the form of the model that --out writes" train "${mlp[@]}" --export inference
bad "the best weights of no model"; refuses 1 "--best has no effect here: it is about the model that --out writes" train "${mlp[@]}" --best --val-split 0.5
bad "huber without a turn";         refuses 1 "--delta -5 is not above 0" train "${mlp[@]}" --loss huber --delta -5
bad "full disk under an output";    refuses 5 "/dev/full.*No space left" eval "${mlp[@]}" --output logits=/dev/full
# The limit is a full disk at a place of our choice; bash counts in KiB.
bad "no room for the model";        (ulimit -f 8; refuses 5 "trained.onnx.*File too large" train "${mlp[@]}" --out trained.onnx; exit "$failed"); (($? == failed)) && passed=$((passed + 1)) || failed=$((failed + 1))
bad "no room for a checkpoint"
mkdir runs; echo "not ours" >runs/notes.txt
(ulimit -f 8; refuses 5 "runs.*File too large" train "${mlp[@]}" --checkpoint runs --checkpoint-every 2 --out trained.onnx; exit "$failed"); (($? == failed)) && passed=$((passed + 1)) || failed=$((failed + 1))
bad "model into a missing folder";  refuses 5 "nowhere.*No such file" train "${mlp[@]}" --out nowhere/trained.onnx
bad "model onto a folder"; mkdir folder; refuses 5 "folder" train "${mlp[@]}" --out folder
bad "log into a missing folder";    refuses 5 "nowhere.*No such file" train "${mlp[@]}" --log-json nowhere/log.jsonl
bad "trace into a missing folder";  refuses 5 "nowhere.*No such file" train "${mlp[@]}" --trace nowhere/trace.json
bad "checkpoints onto a file"; echo x >file; refuses 5 "file" train "${mlp[@]}" --checkpoint file
bad "events onto a file"; echo x >file; refuses 5 "file" train "${mlp[@]}" --tensorboard file
bad "output of eval to nowhere";    refuses 5 "nowhere" eval "${mlp[@]}" --output logits=nowhere/y.npy
bad "unknown output of eval";       refuses 1 "logitz" eval "${mlp[@]}" --output logitz=y.npy
if [[ $(id -u) != 0 ]]; then
    bad "folder without the right to write"; mkdir closed; chmod a-w closed
    refuses 5 "closed.*Permission denied" train "${mlp[@]}" --out closed/trained.onnx
fi

# ------------------------------------------------------------------------------------------------------------ checkpoints
begin "run with checkpoints"
if succeeds train "${mlp[@]}" --steps 6 --checkpoint runs --checkpoint-every 3; then pass "$name"; fi
mv runs "$work/runs"
# Begins a case with the checkpoints of that run in the folder runs.
bad_run() {
    bad "$1"
    cp -r "$work/runs" runs
}
bad "more threads than make sense"
processors=$(env -u OMP_NUM_THREADS nproc)
refuses 1 "--threads [0-9]+: at most [0-9]+ .*has $processors processors" train "${mlp[@]}" --threads $((4 * processors + 65))
bad "resume without a folder";      refuses 1 "--checkpoint" train "${mlp[@]}" --resume
bad_run "checkpoints of another run"; refuses 1 "runs.*--resume" train "${mlp[@]}" --checkpoint runs --out trained.onnx
bad_run "resume with another rate"; refuses 1 "runs.*same options" train "${mlp[@]}" --batch 8 --checkpoint runs --resume
bad_run "resume with other threads"; refuses 1 "--threads" train "${mlp[@]}" --threads 2 --checkpoint runs --resume --steps 8
bad_run "checkpoint cut off"
find runs -name '*.safetensors' -exec truncate -s 100 {} +
refuses 4 "runs" train "${mlp[@]}" --checkpoint runs --resume --steps 8 --out trained.onnx
bad_run "a damaged newest checkpoint is passed over, and the user is told so"
newest=$(ls runs/step-*.safetensors | tail -1)
step=$(ls runs/step-*.json | head -1 | grep -oE '[1-9][0-9]*')
truncate -s 100 "$newest"
if succeeds train "${mlp[@]}" --checkpoint runs --resume --steps 8 && printed "^resumed after step $step\$"; then
    if (($(wc -l <"$work/stderr") == 1)) &&
        grep -qE "^--resume: passed over 1 checkpoint .* step $step; .*runs/step-[0-9]+\.json.*${newest##*/}.* has 100 bytes" "$work/stderr"
    then pass "$name"; else fail "$name" "stderr: $(<"$work/stderr")"; fi
fi
bad_run "checkpoint of random bytes"
find runs -type f -exec sh -c 'head -c 3000 /dev/urandom >"$1"' sh {} \;
refuses 4 "runs" train "${mlp[@]}" --checkpoint runs --resume --steps 8 --out trained.onnx

report_and_exit
