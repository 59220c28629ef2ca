#!/usr/bin/env bash
# The options that say how a model is fitted, against PyTorch: expected.py says what the numbers are.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/../../system/command/cases.sh"
here=$root/tests/agreement/fitting

# Relative, float32 against double.
tolerance=2e-5

# NAME: the options of a case of expected.txt.
options_of() { sed -n "s/^case $1 //p" "$here/expected.txt"; }

# NAME: its lines.
lines_of() { awk -v name="$1" '$1 == "case" { on = $2 == name; next } on' "$here/expected.txt"; }

# Trains as case $1 says, with the options that follow.
fit() {
    local model=$golden/mlp/model.onnx options
    [[ $1 == nll* ]] && model=$here/nll.onnx
    read -ra options <<<"$(options_of "$1")"
    cp "$here"/*.npy .
    run train "$model" --input "x=$golden/mlp/input.npy" --target "$golden/mlp/target.npy" --rows 0:128 --val-rows 128: \
        --batch 24 --no-shuffle --threads 1 --log-json log.jsonl "${options[@]}" "${@:2}"
}

# `loss STEP VALUE` and `val STEP VALUE` of log.jsonl, as in expected.txt.
logged() {
    sed -nE 's/^\{"step": ?([0-9]+),.*"loss": ?([-+.0-9a-zA-Z]+),.*/loss \1 \2/p' log.jsonl
    sed -nE 's/^\{"step": ?([0-9]+),.*"val_loss": ?([-+.0-9a-zA-Z]+).*/val \1 \2/p' log.jsonl
}

# NAME: log.jsonl has the numbers of the case. Passes or fails.
compare() {
    local differences
    differences=$(join -j 1 <(lines_of "$1" | grep -v best | sed 's/ /-/' | sort) <(logged | sed 's/ /-/' | sort) -a 1 |
        awk -v most=$tolerance '{ d = $2 - $3; if (d < 0) d = -d; if (NF < 3 || !(d <= most * $2)) print; ++n } END { if (n == 0) print "nothing" }')
    if ((status != 0)); then fail "$name" "exit code $status"
    elif [[ -n $differences ]]; then fail "$name" "$(head -3 <<<"$differences" | tr '\n' ';')"
    else pass "$name"; fi
}

# A B SHARE: the two are no further apart than that share of B.
is_near() {
    awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { d = a - b; exit !((d < 0 ? -d : d) <= most * b) }'
}

for case in weighted smoothed smoothed_weighted smoothed_weighted_ignored nll_weighted; do
    for way in "" "--micro-batches 5" "--stages 2 --micro-batches 3" "--stages 2 --pipeline gpipe"; do
        begin "$case $way"
        read -ra more <<<"$way"
        fit "$case" ${more[@]+"${more[@]}"}
        compare "$case"
    done
done

for optimizer in sgd adam adamw adagrad rmsprop; do
    for way in "" "--stages 2 --micro-batches 3"; do
        begin "rates of single weights, $optimizer $way"
        read -ra more <<<"$way"
        fit "rates_$optimizer" ${more[@]+"${more[@]}"}
        compare "rates_$optimizer"
    done
done

begin "--lr-of for everything is --lr"
common=("${mlp[@]}" --optimizer adamw --steps 6 --lr-schedule linear --warmup 2)
run train "${common[@]}" --lr 0.003 --out by_lr.onnx
run train "${common[@]}" --lr 0.5 --lr-of '*=0.003' --out by_glob.onnx
if cmp -s by_lr.onnx by_glob.onnx; then pass "$name"; else fail "$name" "the models differ"; fi
begin "--lr-of in an asynchronous pipeline"
common=("${mlp[@]}" --optimizer sgd --steps 6 --stages 2 --pipeline pipedream-async)
run train "${common[@]}" --lr 0.003 --out by_lr.onnx
run train "${common[@]}" --lr 0.5 --lr-of '*=0.003' --out by_glob.onnx
if cmp -s by_lr.onnx by_glob.onnx; then pass "$name"; else fail "$name" "the models differ"; fi
begin "--lr-of of 0 leaves a weight as it is"
run train "${mlp[@]}" --optimizer adamw --steps 3 --lr-of 'fc1.*=0' --out a.onnx
run train "${mlp[@]}" --optimizer adamw --steps 3 --freeze 'fc1.*' --out b.onnx
if cmp -s a.onnx b.onnx; then pass "$name"; else fail "$name" "the models differ"; fi

begin "--lr-of that matches nothing"
refuses 1 "--lr-of 'fc1.wieght' matches nothing that is trained \(did you mean 'fc1.weight'\?\)" train "${mlp[@]}" --lr-of fc1.wieght=0.1
begin "--lr-of of what is frozen"
refuses 1 "--lr-of 'fc1.\*' matches nothing that is trained" train "${mlp[@]}" --lr-of 'fc1.*=0.1' --freeze 'fc1*'
begin "--lr-of behind one that takes all"
refuses 1 "--lr-of 'fc2.bias': all that it matches" train "${mlp[@]}" --lr-of '*.bias=0.1' --lr-of fc2.bias=0.2
begin "--lr-of below zero";      refuses 1 "--lr-of fc1\*=-1: " train "${mlp[@]}" --lr-of 'fc1*=-1'
begin "--lr-of without a rate";  refuses 1 "--lr-of: 'fc1\*' is not of the form GLOB=X" train "${mlp[@]}" --lr-of 'fc1*'
begin "--lr-of of no number";    refuses 1 "--lr-of: 'fast' is not a number" train "${mlp[@]}" --lr-of 'fc1*=fast'
begin "--resume with another --lr-of"
run train "${mlp[@]}" --lr-of fc1.weight=0.1 --steps 2 --checkpoint kept
refuses 1 "--lr-of fc1.weight=0.2 instead of fc1.weight=0.1" train "${mlp[@]}" --lr-of fc1.weight=0.2 --steps 4 --checkpoint kept --resume
begin "--resume with the same --lr-of and another --lr"
run train "${mlp[@]}" --lr-of fc1.weight=0.1 --steps 2 --checkpoint kept
run train "${mlp[@]}" --lr-of fc1.weight=0.1 --lr 0.1 --steps 4 --checkpoint kept --resume
if ((status == 0)) && [[ -e kept/step-00000004.json ]]; then pass "$name"; else fail "$name" "exit code $status"; fi

# --------------------------------------------------------------------------------------------------- the best validation
best=$(lines_of best | sed -n 's/^best //p')
best_step=${best% *} best_loss=${best#* }

# After how many steps the case `best` ends with --early-stop $1.
ends_after() {
    lines_of best | awk -v patience="$1" '$1 == "val" { ++since; if (n == 0 || $3 < least) { least = $3; since = 0; n = 1 }
        if (since >= patience) { print $2; exit } }'
}

# FILE: its validation loss.
validate() {
    run eval "$1" --input "x=$golden/mlp/input.npy" --target noisy.npy --rows 128: --loss cross_entropy
    sed -nE 's/.* loss ([.0-9]+).*/\1/p' "$work/stdout"
}

for way in "" "--micro-batches 5" "--stages 2 --micro-batches 3"; do
    begin "--best $way"
    read -ra more <<<"$way"
    fit best --best --out trained.onnx ${more[@]+"${more[@]}"}
    said=$(<"$work/stdout")
    if ((status != 0)); then fail "$name" "exit code $status"
    elif ! grep -q "^wrote trained.onnx: the weights of step $best_step, whose validation loss .* is the best\$" <<<"$said"; then
        fail "$name" "it says $said"
    elif ! is_near "$(validate trained.onnx)" "$best_loss" 1e-4; then fail "$name" "the loss is $(validate trained.onnx)"
    else pass "$name"; fi
done

begin "without --best the last weights"
fit best --out trained.onnx
last=$(logged | awk '$1 == "val" { last = $3 } END { print last }')
if ! is_near "$(validate trained.onnx)" "$last" 1e-4; then fail "$name" "the loss is $(validate trained.onnx)"
elif is_near "$last" "$best_loss" 1e-3; then fail "$name" "the last is the best"
else pass "$name"; fi

for patience in 1 2; do
    begin "--early-stop $patience"
    fit best --early-stop "$patience" --out trained.onnx
    wanted=$(ends_after "$patience")
    if ((status != 0)); then fail "$name" "exit code $status"
    elif [[ $(logged | sed -n 's/^loss \([0-9]*\) .*/\1/p' | tail -1) != "$wanted" ]]; then fail "$name" "it does not end after step $wanted"
    elif ! grep -qE "^ended after $wanted of 54 steps: $patience validations? without a smaller loss than [.0-9]+ of step [0-9]+\$" "$work/stdout"; then
        fail "$name" "it says $(<"$work/stdout")"
    elif ! grep -q '^wrote trained.onnx$' "$work/stdout"; then fail "$name" "it writes something else"
    else pass "$name"; fi
done
begin "--early-stop that is not reached"
fit best --early-stop 50
if ((status == 0)) && [[ $(logged | grep -c loss) == 54 ]]; then pass "$name"; else fail "$name" "$(logged | grep -c loss) steps"; fi

# The case, ended early or not, in one go and resumed; $1: stages of the two parts, $2...: options.
resumes() {
    fit best --out whole.onnx --stages "${1%,*}" --micro-batches 2 "${@:2}"
    fit best --steps "$((best_step + 6))" --checkpoint kept --stages "${1%,*}" --micro-batches 2 "${@:2}"
    fit best --checkpoint kept --resume --out resumed.onnx --stages "${1%,*}" --micro-batches 2 "${@:2}"
    if ((status != 0)); then fail "$name" "exit code $status"
    elif cmp -s whole.onnx resumed.onnx; then pass "$name"
    else fail "$name" "the models differ"; fi
}
begin "--best, resumed after its step";     resumes 1 --best
begin "--early-stop, resumed";              resumes 1 --early-stop 2
begin "both, resumed, with two stages";     resumes 2 --best --early-stop 2
begin "--best in an asynchronous pipeline, resumed"; resumes 2 --best --pipeline pipedream-async
begin "a run that has ended early, resumed, writes the model"
fit best --best --early-stop 1 --checkpoint kept --out first.onnx
fit best --best --early-stop 1 --checkpoint kept --resume --out second.onnx
if ((status == 0)) && cmp -s first.onnx second.onnx; then pass "$name"; else fail "$name" "exit code $status"; fi
begin "and goes on with more patience"
fit best --best --early-stop 50 --checkpoint kept --resume --out third.onnx
if ((status == 0)) && [[ -e kept/step-00000054.json ]]; then pass "$name"; else fail "$name" "exit code $status"; fi

begin "--best behind a checkpoint without it"
fit best --steps "$((best_step + 6))" --checkpoint kept
read -ra options <<<"$(options_of best)"
data=(--input "x=$golden/mlp/input.npy" --target "$golden/mlp/target.npy" --rows 0:128 --batch 24 --no-shuffle --threads 1)
refuses 1 "--best: the checkpoint in kept was written without it, and the weights of its best validation, of step $best_step" \
    train "$golden/mlp/model.onnx" "${data[@]}" --val-rows 128: "${options[@]}" --checkpoint kept --resume --best
begin "--best behind a checkpoint that is the best"
fit best --steps "$best_step" --checkpoint kept
fit best --checkpoint kept --resume --best --out resumed.onnx
fit best --best --out whole.onnx
if ((status == 0)) && cmp -s whole.onnx resumed.onnx; then pass "$name"; else fail "$name" "exit code $status"; fi

begin "running statistics are the best's"
cnn=("$golden/cnn_dynamic/model.onnx" --input "image=$golden/cnn_dynamic/input.npy" --target "$golden/cnn_dynamic/target.npy"
    --loss cross_entropy --threads 1)
run train "${cnn[@]}" --batchnorm train --rows 0:128 --val-rows 128: --batch 16 --optimizer adam --lr 0.3 --steps 12 --val-every 1 \
    --best --log-json log.jsonl --out trained.onnx
wanted=$(sed -nE 's/^wrote .*validation loss ([.0-9]+) is the best/\1/p' "$work/stdout")
step=$(sed -nE 's/^wrote .* step ([0-9]+),.*/\1/p' "$work/stdout")
run eval trained.onnx "${cnn[@]:1}" --rows 128:
found=$(sed -nE 's/.* loss ([.0-9]+).*/\1/p' "$work/stdout")
if ((step >= 12)); then fail "$name" "the last step is the best"
elif is_near "$found" "$wanted" 1e-3; then pass "$name"
else fail "$name" "the loss is $found, not $wanted"; fi

begin "--best without validation data"
refuses 1 "--best has no effect here: it goes by the validation; give --val-input" train "${mlp[@]}" --best --out best.onnx
begin "--early-stop without validation data"
refuses 1 "--early-stop has no effect here: it goes by the validation; give --val-input" train "${mlp[@]}" --early-stop 3
begin "--early-stop below zero"
refuses 1 "--early-stop: '-1'" train "${mlp[@]}" --early-stop=-1

for precision in bf16 fp16; do
    begin "smoothed_weighted_ignored in $precision"
    fit smoothed_weighted_ignored --precision "$precision"
    wanted=$(lines_of smoothed_weighted_ignored | awk '$1 == "val" { last = $3 } END { print last }')
    found=$(logged | awk '$1 == "val" { last = $3 } END { print last }')
    if ((status != 0)); then fail "$name" "exit code $status"
    elif is_near "$found" "$wanted" 2e-2; then pass "$name"
    else fail "$name" "validation loss $found, not $wanted"; fi
done

begin "eval has the validation's loss"
fit smoothed_weighted_ignored --out trained.onnx
found=$(logged | awk '$1 == "val" { last = $3 } END { print last }')
run eval trained.onnx --input "x=$golden/mlp/input.npy" --target ignored.npy --rows 128: --batch 7 --loss cross_entropy \
    --class-weights weights.npy --label-smoothing 0.2 --metric accuracy
again=$(sed -nE 's/.* loss ([.0-9]+).*/\1/p' "$work/stdout")
if is_near "$again" "$found" 1e-5; then pass "$name"; else fail "$name" "$again, not $found"; fi

begin "weights do not change the accuracy"
run eval "$golden/mlp/model.onnx" "${mlp[@]:1}" --metric accuracy
plain=$(grep -o 'accuracy.*' "$work/stdout")
run eval "$golden/mlp/model.onnx" "${mlp[@]:1}" --metric accuracy --class-weights "$here/weights.npy"
if [[ -n $plain && $(grep -o 'accuracy.*' "$work/stdout") == "$plain" ]]; then pass "$name"
else fail "$name" "$(cat "$work/stdout"), not $plain"; fi

# ------------------------------------------------------------------------------------------- what class weights cannot be
# BYTES of a float64, smallest first.
one='\x00\x00\x00\x00\x00\x00\xf0\x3f'
minus_one='\x00\x00\x00\x00\x00\x00\xf0\xbf'
nan='\x00\x00\x00\x00\x00\x00\xf8\x7f'
infinity='\x00\x00\x00\x00\x00\x00\xf0\x7f'

# PATTERN WEIGHTS...: refused with w.npy of these.
refuses_weights() {
    local pattern=$1
    shift
    printf "$(printf '%s' "$@")" | array w.npy '<f8' "($#,)"
    refuses 4 "--class-weights.*$pattern" train "${mlp[@]}" --class-weights w.npy
}

begin "too few weights";       refuses_weights "3 weights for the 10 classes" $one $one $one
begin "a negative weight";     refuses_weights "class 1 is -1" $one $minus_one $one
begin "a weight of nan";       refuses_weights "class 2 is -?nan" $one $one $nan
begin "an infinite weight";    refuses_weights "class 0 is inf" $infinity $one
begin "weights of 0 alone";    refuses_weights "no class has a weight above 0" '\x00\x00\x00\x00\x00\x00\x00\x00'
begin "weights of integers"
repeat 10 '\x01\x00\x00\x00\x00\x00\x00\x00' | array w.npy '<i8' '(10,)'
refuses 4 "--class-weights 'w.npy': holds int64\[10\]; a float vector" train "${mlp[@]}" --class-weights w.npy
begin "a matrix of weights"
repeat 10 $one | array w.npy '<f8' '(2, 5)'
refuses 4 "holds float64\[2,5\]; a float vector" train "${mlp[@]}" --class-weights w.npy
begin "no file of weights";    refuses 5 "--class-weights: cannot open 'nowhere.npy'" train "${mlp[@]}" --class-weights nowhere.npy
begin "weights without classes"
refuses 1 "--class-weights has no effect here: it is of --loss cross_entropy and nll" train "${mlp[@]}" --loss mse --class-weights "$here/weights.npy"
begin "a batch of no weight"
repeat 192 '\x04\x00\x00\x00\x00\x00\x00\x00' | array four.npy '<i8' '(192,)' # class 4 has the weight 0
refuses 4 "step 1: the classes of all its targets have the weight 0" train "${mlp[@]}" --target four.npy --class-weights "$here/weights.npy"
begin "everything smoothed";   refuses 1 "--label-smoothing 1 does not lie in \[0, 1\)" train "${mlp[@]}" --label-smoothing 1
begin "smoothed below zero";   refuses 1 "--label-smoothing -0.1 " train "${mlp[@]}" --label-smoothing=-0.1
begin "smoothing of nll";      refuses 1 "--label-smoothing has no effect here: it is of --loss cross_entropy" train "${mlp[@]}" --loss nll --label-smoothing 0.1

begin "the model in the place of the weights' file"
cp "$here/weights.npy" w.npy
refuses 1 "--out: w.npy would take the place of what --class-weights reads" train "${mlp[@]}" --class-weights w.npy --out w.npy

# --------------------------------------------------------------------------------------------- data of the wrong form
begin "a target that is no class"
repeat 192 '\x0c\x00\x00\x00\x00\x00\x00\x00' | array twelve.npy '<i8' '(192,)'
refuses 4 "sample 0 has the target 12, and the model's 10 classes are 0 to 9; --new-head OUTPUT=13" train "${mlp[@]}" --target twelve.npy
begin "one-hot targets"
repeat 1920 '\x00\x00\x00\x00' | array hot.npy '<f4' '(192, 10)'
refuses 4 "a number for each class .*one-hot.*argmax\(-1\)" train "${mlp[@]}" --target hot.npy
begin "one-hot targets of integers, and a class axis"
repeat 1920 '\x00' | array hot.npy '|u1' '(192, 10)'
refuses 4 "one-hot.*argmax\(-1\)" train "${mlp[@]}" --target hot.npy --class-axis 1
begin "targets of two numbers are not one-hot"
repeat 384 '\x00\x00\x00\x00' | array pairs.npy '<f4' '(192, 2)'
refuses 4 "does not fit the prediction" train "${mlp[@]}" --target pairs.npy
begin "comma-separated targets"
printf '3\n4\n5\n' >y.txt
refuses 4 "'y.txt': this looks like plain text; .*n.save\('y.txt.npy', n.loadtxt\('y.txt', dtype='int64'\)\)" train "${mlp[@]}" --target y.txt
begin "comma-separated inputs with a heading"
printf 'a,b\n0.5,1e3\n2,3\n' >x.csv
refuses 4 "comma-separated text; .*loadtxt\('x.csv', delimiter=',', skiprows=1, dtype='float32'\)" train "${mlp[@]}" --input x=x.csv
begin "other separators, names among the values"
printf '5.1;3.5;setosa\n4.9;3.0;setosa\n' >x.csv
refuses 4 "separated text; .*delimiter=';', dtype" train "${mlp[@]}" --input x=x.csv
begin "text that is none of numbers"
echo "once upon a time" >x.txt
refuses 4 "neither .npy, .npz nor idx" train "${mlp[@]}" --input x=x.txt

# ------------------------------------------------------------------------------------------------------------- resuming
begin "--resume with other smoothing"
run train "${mlp[@]}" --label-smoothing 0.1 --steps 2 --checkpoint kept
refuses 1 "--label-smoothing 0.2 instead of 0.1" train "${mlp[@]}" --label-smoothing 0.2 --steps 4 --checkpoint kept --resume
begin "--resume with other weights in the same file"
cp "$here/weights.npy" w.npy
run train "${mlp[@]}" --class-weights w.npy --steps 2 --checkpoint kept
repeat 10 $one | array w.npy '<f8' '(10,)'
refuses 1 "--resume: the checkpoint in kept was written with " train "${mlp[@]}" --class-weights w.npy --steps 4 --checkpoint kept --resume

report_and_exit
