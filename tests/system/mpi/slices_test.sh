#!/usr/bin/env bash
# Forward parts in halves, in processes and by the command: the bits of threads, from the options, a plan and a schedule file; and what is
# refused.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
golden=$PWD/tests/agreement/golden

# MODEL: its data.
data() { data=("$golden/$1/model.onnx" --input "$golden/$1/input.npy" --target "$golden/$1/target.npy" --loss cross_entropy --threads 1); }

# NAME FILE FILE: the last run is well, and the files are the same.
compare() {
    if ((status != 0)); then fail "$1" "exit code $status"
    elif ! cmp -s "$2" "$3"; then fail "$1" "they differ"
    else pass "$1"; fi
}

# NAME CODE PATTERN COMMAND...
refuses() {
    run "${@:4}"
    if ((status != $2)); then fail "$1" "exit code $status instead of $2"
    elif ! grep -qE -- "$3" "$work/stderr"; then fail "$1" "the message lacks '$3'"
    else pass "$1"; fi
}

# Micro-batches of 6 and 5 samples; what is left of the epoch goes alone.
for model in mlp gpt_tied; do
    data $model
    options=(--stages 3 --batch 22 --micro-batches 4 --slices 2 --dropout 0.1 --epochs 2)
    run "$onstage" train "${data[@]}" "${options[@]}" --out "$work/threads.onnx"
    run "${mpirun[@]}" -n 3 "$onstage" train "${data[@]}" "${options[@]}" --out "$work/processes.onnx"
    compare "$model: threads and processes" "$work/threads.onnx" "$work/processes.onnx"
done

data mlp
options=(--stages 3 --batch 48 --micro-batches 4 --replicas 2 --slices 1 --steps 6)
run "$onstage" train "${data[@]}" "${options[@]}" --out "$work/threads.onnx"
run "${mpirun[@]}" -n 6 "$onstage" train "${data[@]}" "${options[@]}" --out "$work/processes.onnx"
compare "replicas" "$work/threads.onnx" "$work/processes.onnx"

same=(--batch 24 --micro-batches 4)
run "$onstage" train "${data[@]}" "${same[@]}" --stages 4 --slices 2 --steps 6 --out "$work/threads.onnx"
run "$onstage" plan "${data[@]}" "${same[@]}" --stages 4 --slices 2 -o "$work/plan.json"
if grep -q '"0F1/2"' "$work/plan.json" && grep -q 'the forward parts of 2 micro-batches' "$work/stdout"; then pass "a plan says it"; else fail "a plan says it" "no"; fi
run "${mpirun[@]}" -n 4 "$onstage" train "${data[@]}" "${same[@]}" --plan "$work/plan.json" --steps 6 --out "$work/planned.onnx"
compare "… and is carried out" "$work/threads.onnx" "$work/planned.onnx"
run "$onstage" simulate "$work/plan.json" --write-schedule "$work/lists.csv"
# Its stages may be cut elsewhere than the plan's, and where kernels sum half a micro-batch otherwise, halves of other nodes are other bits.
run "$onstage" train "${data[@]}" --batch 24 --schedule "$work/lists.csv" --steps 6 --out "$work/threads.onnx"
run "${mpirun[@]}" -n 4 "$onstage" train "${data[@]}" --batch 24 --schedule "$work/lists.csv" --steps 6 --out "$work/listed.onnx"
compare "… as a schedule file is" "$work/threads.onnx" "$work/listed.onnx"

# Messages of the first half leave before those of the second, and are half as large.
run "$onstage" train "${data[@]}" "${same[@]}" --stages 4 --slices 1 --steps 2 --trace "$work/trace.json"
bytes() { grep -oE '"cat":"send".*"step":2,"micro_batch":'"$1"',"bytes":[0-9]+' "$work/trace.json" | sed 's/.*"bytes"://' | sort -n | tr '\n' ' '; }
if [[ -n $(bytes 0) && $(bytes 0 | wc -w) -gt $(bytes 1 | wc -w) ]]; then pass "the first micro-batch has more messages"; else fail "the first micro-batch has more messages" "$(bytes 0), $(bytes 1)"; fi

data cnn_dynamic
refuses "a model that normalises by its micro-batch" 3 "node '/bn1/BatchNormalization' normalises by the samples of its micro-batch.*--slices" \
    "$onstage" train "${data[@]}" --batchnorm train --stages 3 --batch 20 --micro-batches 4 --slices 1 --steps 1
data mlp
refuses "updates that do not wait" 3 "asynchronous pipeline.*no start" "$onstage" train "${data[@]}" --stages 3 --batch 24 --slices 1 --pipeline pipedream-async
refuses "two stages" 1 "with 2 stages nothing is won by halves" "$onstage" train "${data[@]}" --stages 2 --batch 24 --slices 1
refuses "a micro-batch of one sample" 1 "one sample has no halves" "$onstage" train "${data[@]}" --stages 3 --batch 4 --micro-batches 4 --slices 1
refuses "no number" 1 "'some' is not a number" "$onstage" train "${data[@]}" --stages 3 --slices some
refuses "beside a plan" 1 "--slices beside --plan" "$onstage" train "${data[@]}" --plan "$work/plan.json" --slices 2
run "$onstage" plan "${data[@]}" --batch 24 --stages 2 --slices auto -o "$work/plan.json"
if ((status == 0)) && grep -q "with fewer than three stages nothing is won by it" "$work/stdout" && ! grep -q '/2"' "$work/plan.json"; then
    pass "of two stages nothing is claimed"
else
    fail "of two stages nothing is claimed" "exit code $status"
fi

report_and_exit
