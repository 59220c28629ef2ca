#!/usr/bin/env bash
# The command as a person uses it: help, check, inspect, training with every kind of log, interruption and resume, eval.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
json_check=$root/tests/system/command/json_check
mnist_data=("$examples/data/mnist/t10k-images-idx3-ubyte.gz" "$examples/data/mnist/t10k-labels-idx1-ubyte.gz")
mnist=("$examples/mnist/mnist_cnn.onnx" --input "${mnist_data[0]}" --target "${mnist_data[1]}" --loss cross_entropy
    --normalize image=33.3184,78.5675 --batch 32 --threads 1)

# ------------------------------------------------------------------------------------------------------------------- help
begin "help of the program"
if succeeds --help && printed "check .*inspect|inspect" && printed "Exit codes: 0 success"; then pass "$name"; fi
begin "no arguments: help on stderr, exit code 1"
run
if ((status == 1)) && [[ ! -s $work/stdout ]] && grep -q Usage "$work/stderr"; then pass "$name"; else fail "$name" "status $status"; fi
for command in check inspect train eval profile plan simulate; do
    begin "help of $command fits 80 columns"
    succeeds "$command" --help || continue
    if awk 'length > 80 { exit 1 }' "$work/stdout"; then pass "$name"; else fail "$name" "a line is longer"; fi
    begin "help of $command has options on the left, their text on the right"
    # From the first heading to the text behind the options.
    awk '/^ [A-Z]/ { inside = 1 } /--version/ { exit } inside' "$work/stdout" >options
    if [[ ! -s options ]]; then
        fail "$name" "there are no options"
    elif grep -vnE '^( [A-Z].*|      --.*|  -., --.*| {29}[^ ].*|)$' options >odd; then
        fail "$name" "$(head -1 odd)"
    else
        pass "$name"
    fi
done
begin "one sample, one step"
if succeeds train "${mlp[@]}" --rows 5:6 --steps 1 && printed "^1 sample, 1 step of 1,"; then pass "$name"; fi
begin "help COMMAND is COMMAND --help"
if succeeds help train; then
    cp "$work/stdout" "$work/first"
    succeeds train --help && if cmp -s "$work/first" "$work/stdout"; then pass "$name"; else fail "$name" "they differ"; fi
fi
version=$(sed -n 's/^#define ONSTAGE_VERSION "\(.*\)"$/\1/p' "$root/include/onstage.h")
for arguments in --version -V "train --version"; do
    begin "the version, that of the header: $arguments"
    # shellcheck disable=SC2086
    succeeds $arguments || continue
    if [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ && $(head -1 "$work/stdout") == "onstage $version" ]]; then pass "$name"; else
        fail "$name" "$(<"$work/stdout") instead of onstage $version"
    fi
done
begin "the version names the kernels that this machine got, and ONSTAGE_CPU takes less"
asked=${ONSTAGE_CPU-} # of the whole test: baseline and v3 have legs of their own
export ONSTAGE_CPU=baseline
if succeeds --version; then
    if grep -q "onstage's variant baseline$" "$work/stdout"; then pass "$name"; else fail "$name" "$(<"$work/stdout")"; fi
fi
export ONSTAGE_CPU=v5
begin "ONSTAGE_CPU of no such variant"
run check "$examples/mnist/mnist_cnn.onnx"
if ((status == 1)) && grep -q "ONSTAGE_CPU: 'v5' is none of baseline" "$work/stderr"; then pass "$name"; else fail "$name" "$(<"$work/stderr")"; fi
begin "--version of no such variant"
run --version
if ((status == 1)) && grep -q "ONSTAGE_CPU: 'v5' is none of baseline" "$work/stderr"; then pass "$name"; else fail "$name" "status $status"; fi
export ONSTAGE_CPU=$asked
begin "docs/command.md has the help of train, and of the program"
if succeeds train --help; then
    sed -n '/^    Usage: onstage train /,/^The same names/p' "$root/docs/command.md" | sed '$d; s/^    //' | sed '$d' >"$work/written"
    sed '/^    onstage trains /,/^Examples/!d; s/^    //' "$root/docs/command.md" | head -n -2 >"$work/program"
    if ! diff "$work/written" "$work/stdout" >"$work/first"; then
        fail "$name" "onstage train --help: $(head -3 "$work/first")"
    elif succeeds --help; then
        if diff "$work/program" "$work/stdout" >"$work/first"; then pass "$name"; else fail "$name" "$(head -3 "$work/first")"; fi
    fi
fi
begin "help shows defaults and units"
if succeeds train --help && printed '--optimizer=NAME.*sgd' && printed '\[adamw\]' && printed '\[0\.999\]' &&
    printed 'bytes, or with KiB, MiB' && printed 'momentum=X .*\[0\]' && printed 'default: 0.001'; then
    pass "$name"
fi

# ------------------------------------------------------------------------------------------------------ check and inspect
begin "check lists all five problems"
run check "$models/five_problems.onnx"
found=$(grep -cE "^ +[1-5]\. " "$work/stdout")
if ((status != 3 || found != 5)); then fail "$name" "status $status, $found problems"
elif printed "'unknown' \(Frobnicate\)" && printed "'foreign' .*com.example.FancyAttention" && printed "'trees' \(TreeEnsembleRegressor\)" &&
    printed "'words' \(StringNormalizer\)" && printed "'words': its elements" && printed "5 problems"; then
    pass "$name"
fi
begin "check finds a loop by data behind an unknown operator"
run check "$models/hanging.onnx"
if ((status == 3)) && printed "'loop' \\(Loop\\): the trip count depends on data" && printed "'unknown', 'unknown_too'"; then
    pass "$name"
else
    fail "$name" "status $status"
fi
begin "check tells one thing once"
run check "$models/many_unknown.onnx"
if ((status == 3 && $(wc -l <"$work/stdout") == 3)) && printed "64 nodes \(Frobnicate\) 'odd0', 'odd1', 'odd2', …: "; then
    pass "$name"
else
    fail "$name" "$(wc -l <"$work/stdout") lines"
fi
begin "check without a float output"
run check "$models/no_float_output.onnx"
if ((status == 3)) && printed "no output is a float tensor"; then pass "$name"; fi

# The weights that the golden file of model $1 says are trained, and the options that it states, one a line.
trained_weights() {
    awk '/"grad_norms": \{/ { inside = 1; next } inside && /\}/ { exit } inside' "$golden/$1/golden.json" | cut -d'"' -f2
}
golden_options() {
    awk '/"options": \[\]/ { exit } /"options": \[/ { inside = 1; next } inside && /\]/ { exit } inside' \
        "$golden/$1/golden.json" | cut -d'"' -f2
}
for model in mlp mlp_frozen lenet resnet18 cnn_dynamic dynamo_cnn gpt_tied gpt_decomposed dynamo_gpt; do
    begin "check of $model"
    if succeeds check "$golden/$model/model.onnx" && printed "can be trained"; then pass "$name"; fi
    begin "weights of $model"
    mapfile -t options < <(golden_options "$model")
    succeeds inspect "$golden/$model/model.onnx" "${options[@]}" || continue
    if diff <(trained_weights "$model" | sort) <(awk '$NF == "weight" { print $1 }' "$work/stdout" | sort) >difference; then
        pass "$name"
    else
        fail "$name" "$(head -5 difference | tr '\n' ' ')"
    fi
done
begin "inspect says why not"
if succeeds inspect "$golden/resnet18/model.onnx" && printed "bn1.running_mean .*not trained: running statistics" &&
    succeeds inspect "$golden/dynamo_gpt/model.onnx" && printed "int64.*not trained: an integer" &&
    printed "not trained: a single number" && succeeds inspect "$golden/mlp/model.onnx" --freeze 'fc1.*' &&
    printed "fc1.weight .*not trained: frozen by" && printed "3610 elements trained, 1344 not"; then
    pass "$name"
fi
begin "inspect shows the training graph after a pass, and what each takes"
if succeeds inspect "$golden/mlp/model.onnx" --after differentiate && printed '^  update +[0-9.]+ ms, +[0-9]+ nodes' &&
    printed '^graph ' && printed '@weight_gradient' && ! grep -q '@update' "$work/stdout" &&
    succeeds inspect "$golden/mlp/model.onnx" --after update && printed '@update'; then pass "$name"; fi
begin "a pass that is not there"; refuses 1 "--after: 'unroll' is not one of bind, divide-loss, shard, fuse, .*layout" inspect "$golden/mlp/model.onnx" --after unroll
begin "a pass that does nothing here"; refuses 1 "--after precision: that pass has nothing to do" inspect "$golden/mlp/model.onnx" --after precision
begin "inspect sees a BatchNorm that was folded"
if succeeds inspect "$models/folded_normalisation.onnx" && printed "folded a BatchNorm into 1 of the nodes, first '/0/Conv'" &&
    succeeds inspect "$golden/lenet/model.onnx" && ! grep -q "BatchNorm" "$work/stdout"; then
    pass "$name"
fi
begin "inspect sees a BatchNorm that was folded by the newer exporter"
if succeeds inspect "$models/marked_normalisation.onnx" && printed "folded a BatchNorm into 1 of the nodes, first 'node_conv'"; then
    pass "$name"
fi
begin "inspect gives a reason for every initialiser"
if succeeds inspect "$models/reasons.onnx" && printed "^  w .* weight$" && printed "^  head .* weight$" &&
    printed "^  temperature .*a single number, with a shape .*: weight$" &&
    printed "^  /Constant_1_output_0 .*not trained: a single number, named as a constant" &&
    printed "^  epsilon .*not trained: a single number without a shape" &&
    printed "^  threshold .*not trained: no gradient reaches it" && printed "^  mask .*not trained: holds infinities" &&
    printed "^  order .*not trained: an integer" && printed "33 elements trained, 14 not" &&
    printed "'head' looks like the transpose of 'w'"; then
    pass "$name"
fi
begin "a constant is trained where --train names it, not where a pattern holds it"
if succeeds inspect "$models/reasons.onnx" --train '*' && printed "33 elements trained, 14 not" &&
    succeeds inspect "$models/reasons.onnx" --train '*' --train epsilon --train /Constant_1_output_0 &&
    printed "35 elements trained, 12 not"; then
    pass "$name"
fi
begin "standard output on a full disk"
"$onstage" inspect "$golden/mlp/model.onnx" >/dev/full 2>"$work/stderr"
status=$?
if ((status == 5)) && grep -q '^onstage: .*No space left' "$work/stderr"; then pass "$name"; else fail "$name" "status $status"; fi
begin "a reader that goes away"
"$onstage" inspect "$golden/resnet18/model.onnx" 2>"$work/stderr" | true
status=${PIPESTATUS[0]}
if ((status == 0)) && [[ ! -s $work/stderr ]]; then pass "$name"; else fail "$name" "status $status"; fi

# --------------------------------------------------------------------------------------------------------------- training
begin "training writes a model that eval can use"
if succeeds train "${mnist[@]}" --rows 0:512 --val-rows 9000:9100 --epochs 2 --lr 2e-3 --seed 3 --out trained.onnx &&
    printed "512 samples, 32 steps of 32.*132330 weights.*memory" && printed "^wrote trained.onnx$" &&
    printed "validation loss [0-9.]+  accuracy [0-9.]+ %"; then
    shown=$(grep -oE 'accuracy [0-9.]+ %' "$work/stdout" | tail -1)
    succeeds eval trained.onnx "${mnist[@]:1}" --rows 9000:9100 --metric accuracy && printed "^100 samples in .*$shown" &&
        pass "$name"
fi
begin "plain lines where there is no terminal"
if succeeds train "${mlp[@]}" --epochs 3; then
    if grep -q $'[\r\033]' "$work/stdout"; then fail "$name" "control characters in a file"
    elif printed "^step 36/36  epoch 3.00  loss [0-9.]+  lr 0.001  [0-9]+ samples/s  memory [0-9.]+ KiB  left 0:00$" &&
        printed "no --out"; then
        pass "$name"
    fi
fi
if type -P script >/dev/null; then
    begin "a live line on a terminal"
    script -qec "$(printf '%q ' "$onstage" train "${mlp[@]}" --epochs 20000 --steps 20000)" typescript >"$work/stdout" 2>&1 </dev/null
    # 80 columns, where the size of the terminal is not known; no line may wrap.
    longest=$(tr '\r' '\n' <"$work/stdout" | grep -aE '^[0-9]+/20000 .*left' | sed 's/\x1b\[K//' |
        awk '{ if (length > longest) longest = length } END { print longest + 0 }')
    if ((longest == 0)); then fail "$name" "no live line"
    elif ((longest >= 80)); then fail "$name" "a line of $longest columns"
    elif ! tail -c 300 "$work/stdout" | grep -aq '20000/20000  loss .*left 0:00'; then fail "$name" "the last line is gone"
    else pass "$name"
    fi
fi
begin "log in JSON"
if succeeds train "${mlp[@]}" --steps 20 --val-rows 0:32 --val-every 5 --log-json log.jsonl --log-grad-norms; then
    if [[ $("$json_check" --lines log.jsonl step loss lr step_seconds samples_per_s memory_peak_bytes grad_norm grad_norms 2>&1) != 20 ]]; then
        fail "$name" "$("$json_check" --lines log.jsonl step loss lr step_seconds samples_per_s memory_peak_bytes grad_norm grad_norms 2>&1)"
    elif (($(grep -c '"val_loss"' log.jsonl) != 4)) || ! grep -q '^{"step":1,' log.jsonl; then
        fail "$name" "validations or steps are missing"
    else
        pass "$name"
    fi
fi
begin "a trace that is JSON"
if succeeds train "${mlp[@]}" --steps 10 --trace trace.json; then
    if why=$("$json_check" trace.json 2>&1) && grep -q traceEvents trace.json; then pass "$name"; else fail "$name" "$why"; fi
fi
begin "a full disk under the trace costs the trace alone"
run train "${mlp[@]}" --steps 10 --trace /dev/full --out trained.onnx
if ((status != 5)) || [[ ! -s trained.onnx ]]; then fail "$name" "exit code $status"; elif printed "wrote trained.onnx"; then pass "$name"; fi
begin "one dash is as good as two"
if succeeds train "${mlp[@]}" --steps 3 -lr 0.25 && printed "lr 0.25"; then pass "$name"; fi
begin "event files"
if succeeds train "${mlp[@]}" --steps 10 --tensorboard events; then
    if [[ -s $(echo events/events.out.tfevents.*) ]]; then pass "$name"; else fail "$name" "there is none"; fi
fi
# The loss of step $1 in log $2, to six digits.
loss_of() { sed -n "$1s/.*\"loss\":\([0-9.e+-]*\).*/\1/p" "$2" | LC_ALL=C xargs printf '%.6f'; }
begin "no shuffle: the first samples come first"
if succeeds train "${mlp[@]}" --steps 1 --no-shuffle --log-json log.jsonl; then
    if [[ $(loss_of 1 log.jsonl) == 2.560562 ]]; then pass "$name"; else fail "$name" "loss $(loss_of 1 log.jsonl)"; fi
fi
begin "one seed, one result; another seed, another"
if succeeds train "${mlp[@]}" --steps 15 --seed 5 --out a.onnx && succeeds train "${mlp[@]}" --steps 15 --seed 5 --out b.onnx &&
    succeeds train "${mlp[@]}" --steps 15 --seed 6 --out c.onnx; then
    if cmp -s a.onnx b.onnx && ! cmp -s a.onnx c.onnx; then pass "$name"; else fail "$name" "not so"; fi
fi
begin "tokens"
tokens=("$examples/shakespeare/char_gpt.onnx" --tokens "$examples/data/shakespeare/train.bin" --loss cross_entropy --threads 1)
if succeeds train "${tokens[@]}" --seq 64 --batch 2 --steps 3 --log-json log.jsonl --out trained.onnx; then
    # 65 characters, untrained: ln 65 = 4.17.
    if [[ $(loss_of 1 log.jsonl) == [34].* ]]; then pass "$name"; else fail "$name" "loss $(loss_of 1 log.jsonl)"; fi
fi
begin "the model can be overwritten by its own result"
cp "$golden/mlp/model.onnx" net.onnx
if succeeds train net.onnx "${mlp[@]:1}" --steps 5 --out net.onnx; then
    if cmp -s net.onnx "$golden/mlp/model.onnx"; then fail "$name" "it is unchanged"; else
        succeeds check net.onnx && pass "$name"
    fi
fi
begin "a cap that is enough"
if succeeds train "${mlp[@]}" --steps 2 --memory 1MiB; then pass "$name"; fi
begin "a batch larger than the data takes no more memory than they do"
if succeeds train "${mlp[@]}" --batch 100000000 --epochs 2 --memory 1MiB && printed "192 samples, 2 steps of 192"; then pass "$name"; fi
begin "switches can be taken back"
if succeeds train "${mlp[@]}" --steps 2 --log-grad-norms --no-log-grad-norms --log-json log.jsonl; then
    if grep -q grad_norms log.jsonl; then fail "$name" "norms are there"; else pass "$name"; fi
fi

# ------------------------------------------------------------------------------------------------ interruption and resume
long=("${mlp[@]}" --steps 20000 --lr 1e-4 --optimizer adam)
begin "the run that nobody interrupts"
succeeds train "${long[@]}" --log-json log.jsonl --out trained.onnx && pass "$name"
grep -o '^{"step":[0-9]*,"loss":[^,]*' log.jsonl >"$work/losses"
mv trained.onnx "$work/whole.onnx"

# Starts that run in the background and sends it SIGNAL after a few hundred steps; sets status.
interrupt_with() {
    "$onstage" train "${long[@]}" --log-json log.jsonl --checkpoint runs "${@:2}" >"$work/stdout" 2>"$work/stderr" &
    local process=$! waited
    for ((waited = 0; waited < 600; ++waited)); do
        [[ -s log.jsonl && $(wc -l <log.jsonl) -gt 300 ]] && break
        sleep 0.05
    done
    kill "-$1" "$process"
    wait "$process" 2>/dev/null
    status=$?
}
# The interrupted run goes on and ends as the other one did: losses and weights, to the bit.
ends_alike() {
    succeeds train "${long[@]}" --log-json log.jsonl --checkpoint runs "$@" --resume --out trained.onnx || return
    if ! grep -o '^{"step":[0-9]*,"loss":[^,]*' log.jsonl | cmp -s - "$work/losses"; then fail "$name" "the losses differ"
    elif ! cmp -s trained.onnx "$work/whole.onnx"; then fail "$name" "the models differ"
    elif printed "resumed after step"; then pass "$name"
    fi
}
begin "Ctrl-C ends in good order"
interrupt_with INT
if ((status != 8)); then fail "$name" "exit code $status"
elif ! grep -qE '^onstage: stopped after [0-9]+ of 20000 steps; --resume' "$work/stderr"; then fail "$name" "no message"
else ends_alike
fi
begin "SIGTERM ends in good order"
interrupt_with TERM
if ((status == 8)); then ends_alike; else fail "$name" "exit code $status"; fi
begin "Ctrl-C without --checkpoint keeps what would be lost, and says how to go on"
rm -rf "$work/kept" && mkdir "$work/kept"
ONSTAGE_KEEP_SECONDS=0 "$onstage" train "${long[@]}" --log-json log.jsonl --out "$work/kept/it's.onnx" >"$work/stdout" 2>"$work/stderr" &
holder=$!
for ((waited = 0; waited < 600; ++waited)); do
    [[ -s log.jsonl && $(wc -l <log.jsonl) -gt 300 ]] && break
    sleep 0.05
done
kill -INT $holder
wait $holder
status=$?
again=$(sed -n 's/^    onstage train //p' "$work/stderr")
if ((status != 8)) || [[ -z $again ]]; then fail "$name" "exit code $status: $(<"$work/stderr")"
elif ! eval "\"$onstage\" train $again" >"$work/stdout" 2>"$work/stderr"; then fail "$name" "$again: $(<"$work/stderr")"
elif ! cmp -s "$work/kept/it's.onnx" "$work/whole.onnx"; then fail "$name" "the models differ"
else pass "$name"
fi
begin "Ctrl-C in the first minute keeps nothing without --checkpoint"
"$onstage" train "${mlp[@]}" --steps 100000000 --log-json started.jsonl --out soon.onnx >/dev/null 2>"$work/stderr" &
holder=$!
until [[ -s started.jsonl ]] || ! kill -0 $holder 2>/dev/null; do sleep 0.05; done
kill -INT $holder
wait $holder
status=$?
if ((status == 8)) && grep -q "the model is not written; with --checkpoint it could go on" "$work/stderr" && [[ ! -e soon.onnx.checkpoint ]]; then
    pass "$name"
else
    fail "$name" "exit code $status: $(<"$work/stderr")"
fi
begin "killed, and resumed from a checkpoint"
interrupt_with KILL --checkpoint-every 100
if ((status == 137)); then ends_alike --checkpoint-every 100; else fail "$name" "exit code $status"; fi
begin "resume of a run that is done"
if succeeds train "${mlp[@]}" --steps 5 --checkpoint runs && succeeds train "${mlp[@]}" --steps 5 --checkpoint runs --resume --out t.onnx &&
    [[ -s t.onnx ]]; then
    pass "$name"
fi
begin "resume with other options says which"
if succeeds train "${mlp[@]}" --steps 2 --checkpoint runs --freeze 'fc1.*'; then
    refuses 1 "written with other options: now --batch 8 instead of 16, --freeze left out instead of fc1.\*, --seed 3 instead of 0; resume" \
        train "${mlp[@]}" --steps 4 --checkpoint runs --resume --batch 8 --seed 3
fi
begin "resume with other data"
repeat 320 '\0\0\200\077' | array x.npy '<f4' '(16, 20)'
repeat 16 '\1\0\0\0\0\0\0\0' | array y.npy '<i8' '(16,)'
if succeeds train "${mlp[@]}" --steps 2 --checkpoint runs; then
    refuses 1 "written with another model or other data; resume" train "$golden/mlp/model.onnx" --input x.npy --target y.npy \
        --loss cross_entropy --batch 16 --threads 1 --steps 4 --checkpoint runs --resume
fi
begin "resume where nothing was kept starts at the beginning"
if succeeds train "${mlp[@]}" --steps 5 --checkpoint runs --resume; then pass "$name"; fi

# ------------------------------------------------------------------------------------------------------------------- eval
begin "eval: loss, accuracy, outputs"
if succeeds eval "${mlp[@]}" --rows 0:16 --metric accuracy --output logits=y.npy &&
    printed "^16 samples in [0-9.]+ s  loss 2.560562  accuracy [0-9.]+ %$"; then
    if [[ $(head -c 128 y.npy | tr -d '\0') == *"'descr': '<f4'"*"(16, 10)"* && $(wc -c <y.npy) == 768 ]]; then
        pass "$name"
    else
        fail "$name" "y.npy is wrong"
    fi
fi
begin "eval without targets"
if succeeds eval "$golden/mlp/model.onnx" --input "$golden/mlp/input.npy" --output logits=y.npy && printed "^192 samples" &&
    [[ -s y.npy ]]; then
    pass "$name"
fi

evaluated=(--input "x=$golden/mlp/input.npy" --target "$golden/mlp/target.npy" --loss cross_entropy)
begin "eval of a checkpoint is eval of the model that was written at the same step"
if succeeds train "${mlp[@]}" --steps 5 --checkpoint runs --out trained.onnx && succeeds eval trained.onnx "${evaluated[@]}"; then
    sed 's/.*loss/loss/' "$work/stdout" >written
    succeeds eval "$golden/mlp/model.onnx" "${evaluated[@]}" && sed 's/.*loss/loss/' "$work/stdout" >untrained
    if succeeds eval "$golden/mlp/model.onnx" "${evaluated[@]}" --checkpoint runs --resume; then
        sed 's/.*loss/loss/' "$work/stdout" >kept
        if cmp -s written kept && ! cmp -s untrained kept; then pass "$name"; else fail "$name" "$(cat untrained written kept)"; fi
    fi
fi
begin "eval of a checkpoint that is not there"
mkdir empty
refuses 5 "--checkpoint: empty holds no checkpoint" eval "$golden/mlp/model.onnx" "${evaluated[@]}" --checkpoint empty
begin "threads look for work briefly, unless the environment says otherwise"
settings() { env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT OMP_DISPLAY_ENV=verbose "$@" "$onstage" --version 2>&1 | grep -oE "GOMP_SPINCOUNT = '[0-9]+'" | tail -1; }
own=$(settings) said=$(settings GOMP_SPINCOUNT=77) policy=$(settings OMP_WAIT_POLICY=passive)
if [[ -z $own ]]; then
    pass "$name: not libgomp"
elif [[ $own == *"'3000'" && $said == *"'77'" && $policy == *"'0'" ]]; then
    pass "$name"
else
    fail "$name" "$own, $said, $policy"
fi

begin "one run at a time in a folder of checkpoints, and the next after a kill"
"$onstage" train "${mlp[@]}" --steps 100000000 --checkpoint runs --checkpoint-every 10 >/dev/null 2>&1 &
holder=$!
until compgen -G "runs/step-*.json" >/dev/null || ! kill -0 $holder 2>/dev/null; do sleep 0.05; done
run train "${mlp[@]}" --steps 1 --checkpoint runs --resume
refused=$status why=$(<"$work/stderr")
kill -9 $holder
wait $holder 2>/dev/null
run train "${mlp[@]}" --steps 1 --checkpoint runs
if ((refused != 1)) || [[ $why != *"--checkpoint runs: process $holder on $(hostname) trains there"* ]]; then
    fail "$name" "exit code $refused: $why"
elif ((status != 1)) || ! grep -q "give --resume" "$work/stderr"; then
    fail "$name" "exit code $status"
else
    pass "$name"
fi
begin "a terminal that hangs up ends a run as Ctrl-C does"
# Whoever started this test may have it ignored, as nohup does; a shell cannot undo that.
env --default-signal=HUP "$onstage" train "${mlp[@]}" --steps 100000000 --checkpoint runs --checkpoint-every 10 >/dev/null 2>"$work/stderr" &
holder=$!
until compgen -G "runs/step-*.json" >/dev/null || ! kill -0 $holder 2>/dev/null; do sleep 0.05; done
kill -HUP $holder
wait $holder
status=$?
if ((status == 8)) && grep -q "^onstage: stopped after .*; --resume goes on" "$work/stderr" && [[ ! -e runs/lock ]]; then pass "$name"; else fail "$name" "exit code $status"; fi

# ARGUMENTS...: starts a long run of the files here, and returns when it has begun.
begin_own() {
    rm -rf runs started.jsonl
    "$onstage" train own.onnx --input own.npy --target "$golden/mlp/target.npy" --loss cross_entropy --batch 4 \
        --no-shuffle --threads 1 --log-json started.jsonl "$@" >/dev/null 2>"$work/stderr" &
    holder=$!
    until [[ -s started.jsonl ]] || ! kill -0 $holder 2>/dev/null; do sleep 0.05; done
}
own_files() {
    cp -L "$golden/mlp/model.onnx" own.onnx
    cp -L "$golden/mlp/input.npy" own.npy
    chmod u+w own.onnx own.npy
}
begin "a run that diverges writes the weights of its best validation"
own_files
size=$(stat -c %s own.npy)
printf '\xff\xff\xff\x7f' | dd of=own.npy bs=1 seek=$((size - 4)) conv=notrunc status=none # a NaN in the last sample
run train own.onnx --input own.npy --target "$golden/mlp/target.npy" --loss cross_entropy --batch 32 --no-shuffle --val-rows 0:32 --val-every 1 --best \
    --out best.onnx
if ((status != 7)) || ! printed "wrote best.onnx: the weights of step [34],"; then fail "$name" "exit code $status"
elif succeeds check best.onnx; then pass "$name"
fi
begin "data that are cut short while they are in use: the steps so far are kept"
own_files
begin_own --steps 100000000 --checkpoint runs
truncate -s 300 own.npy
wait $holder
status=$?
own_files
if ((status != 5)) || ! grep -q "^onstage: the run ends after step [0-9]*, which --checkpoint runs --resume goes on from: 'own.npy': it has become shorter" "$work/stderr"; then
    fail "$name" "exit code $status"
elif succeeds train own.onnx --input own.npy --target "$golden/mlp/target.npy" --loss cross_entropy --batch 4 --no-shuffle --threads 1 \
    --steps 1 --checkpoint runs --resume; then
    pass "$name"
fi
begin "a model that is written into while it is trained: the weights are kept"
own_files
begin_own --steps 30000 --out trained.onnx
echo "another" >own.onnx
wait $holder
status=$?
own_files
if ((status != 5)) || ! grep -q "weights are kept: --checkpoint trained.onnx.checkpoint --resume .*'own.onnx' was written into" "$work/stderr"; then
    fail "$name" "exit code $status"
elif succeeds train own.onnx --input own.npy --target "$golden/mlp/target.npy" --loss cross_entropy --batch 4 --no-shuffle --threads 1 \
    --steps 30000 --checkpoint trained.onnx.checkpoint --resume --out trained.onnx; then
    pass "$name"
fi
begin "a stack that is too small is refused"
(ulimit -s 256; exec "$onstage" --version) >"$work/stdout" 2>"$work/stderr"
status=$?
if ((status == 6)) && grep -q "^onstage: the limit of the stack is 256 KiB; .*ulimit -s" "$work/stderr"; then pass "$name"; else fail "$name" "exit code $status"; fi
begin "short of memory at any point: a message"
# A sanitizer maps more than any limit.
limits=$(seq 30000 13000 300000)
(ulimit -v 1000000 && exec "$onstage" --version) >/dev/null 2>&1 || limits=
cnn=$golden/cnn_dynamic
for limit in $limits; do
    # Where it does not even come to its own main, what ended it is a constructor of a library (UCX crashes in its own).
    (ulimit -v "$limit" && exec "$onstage" --version) >/dev/null 2>&1
    case $? in 127 | 134 | 139) status=127 && continue ;; esac
    (ulimit -v "$limit" && exec "$onstage" train "$cnn/model.onnx" --input "image=$cnn/input.npy" --target "$cnn/target.npy" \
        --loss cross_entropy --batch 8 --steps 1 --threads 2) >"$work/stdout" 2>"$work/stderr"
    status=$?
    # 127: the loader found no room for a library; 1: libgomp, which ends the program itself, found none for a thread.
    case $status in
        0 | 127) ;;
        5 | 6) grep -q "^onstage: " "$work/stderr" || break ;;
        1) grep -q "^libgomp: " "$work/stderr" || break ;;
        *) break ;;
    esac
    status=0
done
if ((status == 0 || status == 127)) || [[ ! $limits ]]; then pass "$name"; else fail "$name" "exit code $status with $limit KiB"; fi

begin "a run that is refused leaves no folder of checkpoints"
run train "${mlp[@]}" --steps 1 --checkpoint runs --log-json nowhere/log.jsonl
if ((status == 5)) && [[ ! -e runs ]]; then pass "$name"; else fail "$name" "exit code $status"; fi

begin "what a killed writer has left of the same file goes, and nothing else"
touch trained.onnx.4194304-0.tmp trained.onnx.notes.tmp trained.onnx.tmp other.onnx.4194304-0.tmp
if succeeds train "${mlp[@]}" --steps 1 --out trained.onnx; then
    left=$(echo *)
    if [[ $left == "other.onnx.4194304-0.tmp trained.onnx trained.onnx.notes.tmp trained.onnx.tmp" ]]; then pass "$name"; else fail "$name" "$left"; fi
fi

begin "eval of another model's checkpoint"
if succeeds train "${mlp[@]}" --steps 1 --checkpoint runs; then
    repeat 20 '\0\0\200\077' | array x.npy '<f4' '(5, 4)'
    refuses 4 "the model has no weight 'fc1.[a-z]*' as the checkpoint in runs has it" eval "$models/fixed_batch.onnx" --input x.npy \
        --checkpoint runs
fi

begin "eval of a fixed batch that can be followed takes all samples"
repeat 20 '\0\0\200\077' | array x.npy '<f4' '(5, 4)'
if succeeds eval "$models/fixed_batch.onnx" --input x.npy --output y.npy && printed "^5 samples in"; then pass "$name"; fi
begin "eval says which samples another one leaves out"
clip=$root/tests/agreement/families/clip
if succeeds eval "$clip/model.onnx" --input "input_ids=$clip/input_ids.npy" --input "pixel_values=$clip/pixel_values.npy" --rows 0:7 \
    --output y.npy && printed "^4 samples in" && printed "^samples left out at the end: 3"; then
    pass "$name"
fi

# ------------------------------------------------------------------------------------------------------------------- plan
for plannable in "bert --dim sequence=512 --class-axis -1" "gpt2 --dim sequence=1024 --class-axis -1" \
    "t5 --dim sequence=512 --dim target=512 --class-axis -1" \
    "amoebanet --dim height=224 --dim width=224 --batchnorm train"; do
    begin "plan of a model of true size without its weights: ${plannable%% *}"
    # shellcheck disable=SC2086
    if succeeds plan "$examples/plan/${plannable%% *}.onnx" ${plannable#* } --batch 16 --micro-batches 8 --stages 8 \
        --device-profile a100-40gb && printed "8 stages of NVIDIA A100" && printed "samples/s$"; then
        pass "$name"
    fi
done

report_and_exit
