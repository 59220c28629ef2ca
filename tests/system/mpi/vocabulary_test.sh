#!/usr/bin/env bash
# Sharded vocabularies in processes: the bits of threads, whatever number of them; a checkpoint that goes on; one that is killed.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
gpt=$PWD/tests/agreement/golden/gpt_tied
t5=$PWD/tests/agreement/families/t5
train=("$onstage" train "$gpt/model.onnx" --input "$gpt/input.npy" --target "$gpt/target.npy" --loss cross_entropy --threads 1 --no-shuffle
    --batch 8 --micro-batches 4 --vocabulary-shards 4)
figures() { grep -oE '"(loss|val[a-z_]*|grad_norm)":[^,}]*' "$1"; }

# NAME FILE FILE: the last run is well, and the files are the same.
compare() {
    if ((status != 0)); then fail "$1" "exit code $status"
    elif ! cmp -s "$2" "$3"; then fail "$1" "they differ"
    else pass "$1"; fi
}

options=(--rows 0:32 --val-rows 32:48 --val-every 2 --metric accuracy --steps 6 --clip-norm 0.5)
for processes in 2 4; do
    run "${train[@]}" --stages $processes "${options[@]}" --out "$work/threads.onnx" --log-json "$work/threads.jsonl"
    run "${mpirun[@]}" -n $processes "${train[@]}" "${options[@]}" --out "$work/processes.onnx" --log-json "$work/processes.jsonl"
    compare "$processes processes: the weights of threads" "$work/threads.onnx" "$work/processes.onnx"
    figures "$work/threads.jsonl" >"$work/threads.txt"
    figures "$work/processes.jsonl" >"$work/processes.txt"
    compare "… losses, norms and validations too" "$work/threads.txt" "$work/processes.txt"
done

run "${train[@]}" --steps 6 --out "$work/whole.onnx"
run "${mpirun[@]}" -n 2 "${train[@]}" --steps 3 --checkpoint "$work/kept"
run "${mpirun[@]}" -n 4 "${train[@]}" --steps 6 --checkpoint "$work/kept" --resume --out "$work/resumed.onnx"
compare "a checkpoint of two processes goes on with four, as one would" "$work/whole.onnx" "$work/resumed.onnx"

run "${train[@]}" --stages 2 --micro-batches 2 --replicas 2 --steps 4 --out "$work/threads.onnx"
run "${mpirun[@]}" -n 4 "${train[@]}" --micro-batches 2 --replicas 2 --steps 4 --out "$work/processes.onnx"
compare "two replicas of two devices" "$work/threads.onnx" "$work/processes.onnx"

train=("$onstage" train "$t5/model.onnx" --input "input_ids=$t5/input_ids.npy" --input "decoder_input_ids=$t5/decoder_input_ids.npy"
    --target "$t5/target.npy" --loss cross_entropy --threads 1 --batch 8 --micro-batches 4 --vocabulary-shards 2 --steps 3)
run "${train[@]}" --out "$work/one.onnx"
run "${mpirun[@]}" -n 2 "${train[@]}" --out "$work/processes.onnx"
compare "one vocabulary of encoder and decoder" "$work/one.onnx" "$work/processes.onnx"

report_and_exit
