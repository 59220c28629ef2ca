#!/usr/bin/env bash
# Replicas in processes: the bits of threads, and of one process with as many micro-batches; validation, checkpoints that go
# on with another number, failures, wrong numbers of processes.

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
figures() { grep -oE '"(loss|val[a-z_]*|grad_norm)":[^,}]*' "$1"; }

data mlp
options=(--batch 20 --epochs 2 --rows 0:150 --val-rows 150:192 --metric accuracy --val-every 3 --log-grad-norms)
for replicas in 2 3 4; do
    run "$onstage" train "${data[@]}" "${options[@]}" --micro-batches $replicas --out "$work/alone.onnx" --log-json "$work/alone.jsonl"
    for stages in 1 2 3; do
        run "${mpirun[@]}" -n $((replicas * stages)) "$onstage" train "${data[@]}" "${options[@]}" --replicas $replicas --stages $stages \
            --micro-batches 1 --out "$work/together.onnx" --log-json "$work/together.jsonl"
        compare "$replicas replicas of $stages stages have the bits of $replicas micro-batches" "$work/alone.onnx" "$work/together.onnx"
        figures "$work/alone.jsonl" >"$work/alone.txt"
        figures "$work/together.jsonl" >"$work/together.txt"
        compare "… and the same losses and norms, validations too" "$work/alone.txt" "$work/together.txt"
    done
done

# One stage does not fit: two replicas of two stages.
data mlp
run "$onstage" plan "${data[@]}" --batch 16 --replicas 4 --memory 1000
least=$(sed -nE 's/.*smallest memory found that does is --memory ([0-9]+) .*/\1/p' "$work/stderr")
run "$onstage" plan "${data[@]}" --batch 16 --devices 4 --replicas auto --memory $((least - 1)) -o "$work/chosen.json"
run "$onstage" train "${data[@]}" --steps 3 --batch 16 --replicas 2 --stages 2 --out "$work/threads.onnx"
run "${mpirun[@]}" -n 4 "$onstage" train "${data[@]}" --steps 3 --plan "$work/chosen.json" --out "$work/processes.onnx"
compare "a plan whose number of replicas was chosen" "$work/threads.onnx" "$work/processes.onnx"

data cnn_dynamic
train=("$onstage" train "${data[@]}" --batchnorm train --batch 21 --micro-batches 2)
run "${train[@]}" --replicas 3 --epochs 3 --out "$work/threads.onnx"
run "${mpirun[@]}" -n 3 "${train[@]}" --replicas 3 --epochs 3 --out "$work/processes.onnx"
compare "running statistics: threads and processes" "$work/threads.onnx" "$work/processes.onnx"

run "${train[@]}" --replicas 3 --sync-batchnorm --epochs 3 --out "$work/threads.onnx"
run "${mpirun[@]}" -n 6 "${train[@]}" --replicas 3 --stages 2 --sync-batchnorm --epochs 3 --out "$work/processes.onnx"
compare "… and those of all replicas together" "$work/threads.onnx" "$work/processes.onnx"

# Out of each other's memory, which is what happens here where the system lets them, and by MPI.
data gpt_tied
train=("$onstage" train "${data[@]}" --dropout 0.1 --batch 12 --micro-batches 2 --replicas 2 --clip-norm 0.5 --steps 6)
run "${train[@]}" --out "$work/threads.onnx"
for options in "" "--stages 2" --shard-optimizer "--stages 2 --shard-optimizer"; do
    ranks=$([[ $options == *stages* ]] && echo 4 || echo 2)
    # shellcheck disable=SC2086
    run env ONSTAGE_MPI_READS=off "${mpirun[@]}" -n "$ranks" "${train[@]}" $options --out "$work/processes.onnx"
    compare "processes that send by MPI ${options:-alone}" "$work/threads.onnx" "$work/processes.onnx"
done
# shellcheck disable=SC2016  # expanded by the inner shell
reads=(bash -c '(($OMPI_COMM_WORLD_RANK % 2)) || export ONSTAGE_MPI_READS=off; exec "$@"' reads)
run "${mpirun[@]}" -n 4 "${reads[@]}" "${train[@]}" --stages 2 --out "$work/processes.onnx"
compare "… some of them" "$work/threads.onnx" "$work/processes.onnx"

data gpt_tied
train=("$onstage" train "${data[@]}" --dropout 0.1 --batch 12 --micro-batches 3 --stages 2)
run "${train[@]}" --replicas 2 --steps 6 --out "$work/threads.onnx"
run "${mpirun[@]}" -n 4 "${train[@]}" --replicas 2 --steps 3 --checkpoint "$work/kept"
run "${mpirun[@]}" -n 4 "${train[@]}" --replicas 2 --steps 6 --checkpoint "$work/kept" --resume --out "$work/resumed.onnx"
compare "resumed from a checkpoint" "$work/threads.onnx" "$work/resumed.onnx"
for other in "--replicas 1 --stages 3" "--replicas 3 --micro-batches 1"; do
    # shellcheck disable=SC2086
    run "${train[@]}" $other --steps 9 --checkpoint "$work/kept" --resume --out "$work/other.onnx"
    if ((status == 0)) && grep -q "the checkpoint was computed by 2 replicas of 3 micro-batches; from here on" "$work/stderr"; then pass "a checkpoint goes on with $other"
    else fail "a checkpoint goes on with $other" "exit code $status"; fi
    rm -rf "$work/kept"
    run "${train[@]}" --replicas 2 --steps 3 --checkpoint "$work/kept"
done
run "${train[@]}" --replicas 3 --lr 0.1 --steps 9 --checkpoint "$work/kept" --resume --optimizer sgd
if ((status == 1)) && grep -q "now --optimizer sgd instead of adamw" "$work/stderr"; then pass "… but not with another optimizer"
else fail "… but not with another optimizer" "exit code $status"; fi

# ------------------------------------------------------------------------------------------------------------ divided updates

data gpt_tied
train=("$onstage" train "${data[@]}" --dropout 0.1 --batch 12 --micro-batches 2 --optimizer adamw)
rm -rf "$work/kept"
for norm in "" "--clip-norm 0.5"; do
    # shellcheck disable=SC2086
    for stages in 1 2; do
        run "${train[@]}" $norm --replicas 2 --steps 6 --out "$work/whole.onnx"
        run "${mpirun[@]}" -n $((2 * stages)) "${train[@]}" $norm --replicas 2 --stages $stages --shard-optimizer --steps 6 --out "$work/divided.onnx"
        compare "updates divided between 2 replicas of $stages stages ${norm:-without norms}" "$work/whole.onnx" "$work/divided.onnx"
    done
done
run "${train[@]}" --replicas 3 --steps 6 --out "$work/threads.onnx"
run "${mpirun[@]}" -n 3 "${train[@]}" --replicas 3 --shard-optimizer --steps 3 --checkpoint "$work/kept"
run "${mpirun[@]}" -n 3 "${train[@]}" --replicas 3 --shard-optimizer --steps 6 --checkpoint "$work/kept" --resume --out "$work/resumed.onnx"
compare "resumed from slices" "$work/threads.onnx" "$work/resumed.onnx"

# ------------------------------------------------------------------------------------------------------------------ refusals

# NAME CODE PATTERN COMMAND...
refuses() {
    run "${@:4}"
    if ((status != $2)); then fail "$1" "exit code $status instead of $2"
    elif ! grep -qE -- "$3" "$work/stderr"; then fail "$1" "the message lacks '$3'"
    else pass "$1"; fi
}

data mlp
refuses "too few processes" 1 "2 replicas of 2 devices cannot run in 3 processes.*mpirun -n 4" \
    "${mpirun[@]}" -n 3 "$onstage" train "${data[@]}" --replicas 2 --stages 2
refuses "ranks with other numbers of replicas" 1 "rank 1 was started with another --stages than rank 0; give all processes the same options" \
    "${mpirun[@]}" -n 2 "${by_rank[@]}" 1 "$onstage" train "${data[@]}" --replicas 2 + 1 "$onstage" train "${data[@]}" --stages 2
run "$onstage" plan "${data[@]}" --batch 8 --stages 2 -o "$work/plan.json"
{ cat "$work/plan.json" && echo; } >"$work/other.json"
for others in "" "--stages 2" "--plan $work/other.json"; do
    # shellcheck disable=SC2086  # a list
    refuses "a plan in one of the processes, beside '${others/$work\//}'" 1 "rank 1 was started with another --plan than rank 0" \
        "${mpirun[@]}" -n 2 "${by_rank[@]}" 1 timeout 60 "$onstage" train "${data[@]}" --steps 3 --plan "$work/plan.json" + 1 \
        timeout 60 "$onstage" train "${data[@]}" --batch 8 --steps 3 $others
done
for divided in "" --shard-optimizer; do
    # shellcheck disable=SC2086
    refuses "a log in one of the processes ${divided:-with whole updates}" 1 "rank 1 was started with other options" \
        "${mpirun[@]}" -n 2 "${by_rank[@]}" 1 timeout 60 "$onstage" train "${data[@]}" --batch 8 --steps 3 --replicas 2 $divided + 1 \
        timeout 60 "$onstage" train "${data[@]}" --batch 8 --steps 3 --replicas 2 $divided --log-json "$work/log.jsonl"
done
refuses "a batch with fewer samples than replicas" 1 "too few samples for 4 micro-batches in all replicas" \
    "$onstage" train "${data[@]}" --batch 3 --replicas 4
refuses "updates between micro-batches" 3 "asynchronous pipeline" \
    "$onstage" train "${data[@]}" --batch 8 --stages 2 --replicas 2 --pipeline pipedream-async

# What one replica finds wrong with its data ends all, and is named.
python3 - "$golden/mlp/target.npy" "$work/target.npy" <<'END' 2>/dev/null ||
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[128 + 7 * 8:128 + 8 * 8] = (99).to_bytes(8, "little")  # the last sample of the first step
open(sys.argv[2], "wb").write(data)
END
    cp "$golden/mlp/target.npy" "$work/target.npy"
refuses "a target that is no class" 4 "replica 1, stage 0|99" "${mpirun[@]}" -n 2 "$onstage" train "$golden/mlp/model.onnx" \
    --input "$golden/mlp/input.npy" --target "$work/target.npy" --loss cross_entropy --threads 1 --replicas 2 --batch 8 --no-shuffle --steps 1

report_and_exit
