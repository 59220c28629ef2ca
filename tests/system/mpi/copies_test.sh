#!/usr/bin/env bash
# Stages with copies in processes: the bits of threads, validation, checkpoints, traces, failures of one copy, wrong numbers of
# processes.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
golden=$PWD/tests/agreement/golden
copied_plan=$PWD/tests/rooms/pipeline/copied_plan_main

# MODEL: its data.
data() { data=("$golden/$1/model.onnx" --input "$golden/$1/input.npy" --target "$golden/$1/target.npy" --loss cross_entropy --threads 1); }

# COPIES OPTION...: $work/plan.json for that many of each stage, $processes of them in all.
make_plan() {
    local commas=${1//[^,]/}
    run "$onstage" plan "${data[0]}" --loss cross_entropy --threads 1 --stages $((${#commas} + 1)) "${@:2}" -o "$work/plain.json"
    ((status == 0)) || fail "a plan" "exit code $status"
    "$copied_plan" "$work/plain.json" "$work/plan.json" "$1" || fail "copies $1" "no plan"
    processes=$((${1//,/+}))
}

# NAME FILE FILE: the last run is well, and the files are the same.
compare() {
    if ((status != 0)); then fail "$1" "exit code $status"
    elif ! cmp -s "$2" "$3"; then fail "$1" "they differ"
    else pass "$1"; fi
}
figures() { grep -oE '"(loss|val[a-z_]*|grad_norm)":[^,}]*' "$1"; }

data mlp
options=(--epochs 2 --rows 0:150 --val-rows 150:192 --metric accuracy --val-every 3 --log-grad-norms)
for copies in 2,1 1,2 2,2 3,1,2; do
    make_plan $copies --batch 24 --micro-batches 6
    train=("$onstage" train "${data[@]}" "${options[@]}" --plan "$work/plan.json")
    run "${train[@]}" --out "$work/threads.onnx" --log-json "$work/threads.jsonl"
    run "${mpirun[@]}" -n $processes "${train[@]}" --out "$work/processes.onnx" --log-json "$work/processes.jsonl" --trace "$work/trace.json"
    compare "stages of $copies copies: threads and processes" "$work/threads.onnx" "$work/processes.onnx"
    figures "$work/threads.jsonl" >"$work/threads.txt"
    figures "$work/processes.jsonl" >"$work/processes.txt"
    compare "… the same losses and norms, validations too" "$work/threads.txt" "$work/processes.txt"
done
if grep -q '"stage 0, copy 2"' "$work/trace.json" && grep -q '"forward to 2, copy 1"' "$work/trace.json"; then pass "a trace has the rows of all copies"
else fail "a trace has the rows of all copies" "they are missing"; fi

# Chimera's two directions: a process for each stage of each device. Sums are those of two copies of each stage on devices of
# their own.
make_plan 2,2,2,2 --batch 24 --micro-batches 4
run "$onstage" train "${data[@]}" --plan "$work/plan.json" --epochs 2 --out "$work/copies.onnx"
chimera=("$onstage" train "${data[@]}" --batch 24 --pipeline chimera --epochs 2)
run "${chimera[@]}" --stages 4 --out "$work/threads.onnx" --log-json "$work/threads.jsonl"
compare "chimera: two copies of each stage" "$work/copies.onnx" "$work/threads.onnx"
run "${mpirun[@]}" -n 8 "${chimera[@]}" --out "$work/processes.onnx" --log-json "$work/processes.jsonl"
compare "chimera: threads and processes" "$work/threads.onnx" "$work/processes.onnx"
figures "$work/threads.jsonl" >"$work/threads.txt"
figures "$work/processes.jsonl" >"$work/processes.txt"
compare "… the same losses" "$work/threads.txt" "$work/processes.txt"
run "$onstage" plan "${data[0]}" --loss cross_entropy --threads 1 --batch 24 --stages 2 --pipeline chimera -o "$work/plan.json"
run "$onstage" train "${data[@]}" --plan "$work/plan.json" --steps 6 --out "$work/threads.onnx"
run "${mpirun[@]}" -n 4 "$onstage" train "${data[@]}" --plan "$work/plan.json" --steps 3 --checkpoint "$work/both_ways"
run "${mpirun[@]}" -n 4 "$onstage" train "${data[@]}" --plan "$work/plan.json" --steps 6 --checkpoint "$work/both_ways" --resume \
    --out "$work/processes.onnx"
compare "chimera: a plan, resumed from a checkpoint" "$work/threads.onnx" "$work/processes.onnx"

# Copy 2 of 3 has every third of six micro-batches. Validations compute nothing backward.
row=$(grep '"process_name".*"stage 0, copy 2"' "$work/trace.json" | grep -oE '"pid":[0-9]+' | sort -u)
numbers=$(grep -F '"cat":"weight_gradient"' "$work/trace.json" | grep -F "$row," | grep -oE '"micro_batch":[0-9]+' | sort -u | xargs)
if [[ -n $row && $numbers == "micro_batch:2 micro_batch:5" ]]; then pass "a trace numbers micro-batches as the stage does"
else fail "a trace numbers micro-batches as the stage does" "copy 2 of 3 has ${numbers:-none}"; fi

data cnn_dynamic
for copies in 2,1 1,3; do
    make_plan $copies --batch 24 --micro-batches 6 --batchnorm train
    train=("$onstage" train "${data[@]}" --batchnorm train --plan "$work/plan.json" --epochs 2)
    run "${train[@]}" --out "$work/threads.onnx"
    run "${mpirun[@]}" -n $processes "${train[@]}" --out "$work/processes.onnx"
    compare "running statistics of $copies copies: threads and processes" "$work/threads.onnx" "$work/processes.onnx"
done

data gpt_tied
make_plan 2,3 --batch 24 --micro-batches 6 --dropout 0.1 --optimizer adamw
train=("$onstage" train "${data[@]}" --dropout 0.1 --optimizer adamw --plan "$work/plan.json")
for divided in "" --shard-optimizer; do
    # shellcheck disable=SC2086
    {
        rm -rf "$work/kept"
        run "${train[@]}" --steps 6 --out "$work/threads.onnx"
        run "${mpirun[@]}" -n 5 "${train[@]}" $divided --steps 3 --checkpoint "$work/kept"
        run "${mpirun[@]}" -n 5 "${train[@]}" $divided --steps 6 --checkpoint "$work/kept" --resume --out "$work/resumed.onnx"
        compare "resumed from a checkpoint ${divided:-with whole updates}" "$work/threads.onnx" "$work/resumed.onnx"
    }
done

# ------------------------------------------------------------------------------------------------------------------ refusals

# NAME CODE PATTERN COMMAND...
refuses() {
    run "${@:4}"
    if ((status != $2)); then fail "$1" "exit code $status instead of $2"
    elif ! grep -qE -- "$3" "$work/stderr"; then fail "$1" "the message lacks '$3'"
    else pass "$1"; fi
}

data mlp
make_plan 2,1 --batch 24 --micro-batches 6
refuses "too few processes" 1 "2 stages on 3 devices cannot run in 2 processes.*mpirun -n 3" \
    "${mpirun[@]}" -n 2 "$onstage" train "${data[@]}" --plan "$work/plan.json"
refuses "a process for each device of chimera's" 1 "two stages on each of 4 devices, which cannot run in 4 processes.*mpirun -n 8" \
    "${mpirun[@]}" -n 4 "$onstage" train "${data[@]}" --batch 24 --stages 4 --pipeline chimera
refuses "other kernels in one of the processes" 3 "replicas would not stay the same" \
    "${mpirun[@]}" -n 3 "${by_rank[@]}" 1 env ONSTAGE_CPU=baseline "$onstage" train "${data[@]}" --plan "$work/plan.json" + 2 \
    env ONSTAGE_CPU=v3 "$onstage" train "${data[@]}" --plan "$work/plan.json"

# What one copy finds wrong with its data ends all, and is named.
python3 - "$golden/mlp/target.npy" "$work/target.npy" <<'END' 2>/dev/null ||
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[128 + 23 * 8:128 + 24 * 8] = (99).to_bytes(8, "little")  # the last sample of the first step
open(sys.argv[2], "wb").write(data)
END
    cp "$golden/mlp/target.npy" "$work/target.npy"
if ! cmp -s "$golden/mlp/target.npy" "$work/target.npy"; then
    make_plan 1,2 --batch 24 --micro-batches 6
    refuses "a target that is no class" 4 "stage 1: copy 1: .*99" "${mpirun[@]}" -n 3 "$onstage" train "$golden/mlp/model.onnx" \
        --input "$golden/mlp/input.npy" --target "$work/target.npy" --loss cross_entropy --threads 1 --no-shuffle --steps 1 --plan "$work/plan.json"
fi

# A copy that is killed ends the run.
run bash -c 'rank=1; "$@" & sleep 2; for p in $(pgrep -P $!); do pgrep -P "$p"; echo "$p"; done >"'"$work"'/pids"
    for p in $(cat "'"$work"'/pids"); do tr "\0" "\n" <"/proc/$p/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$rank" && kill -9 "$p"; done
    wait $!' kill "${mpirun[@]}" -n 3 "$onstage" train "${data[@]}" --plan "$work/plan.json" --steps 100000000
if ((status == 137 || (status > 0 && status < 124))); then pass "a copy that is killed ends the run"
else fail "a copy that is killed ends the run" "exit code $status"; fi

report_and_exit
