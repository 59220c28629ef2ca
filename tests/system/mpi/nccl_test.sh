#!/usr/bin/env bash
# Training on GPUs of several processes: NCCL's ids go over MPI, its communicators are connected and warmed up, messages
# go in order, and whatever fails in one rank ends all of them with one message. The GPUs are far devices, and messages
# are files (tests/fake_gpu/nccl/fake_nccl_files.c).

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
onstage=$PWD/tests/fake_gpu/discrete_memory/discrete_onstage
golden=$PWD/tests/agreement/golden
export FAR_NCCL=$PWD/tests/fake_gpu/nccl/libfake_nccl_files.so FAKE_NCCL_FOLDER=$work/nccl FAR_GPUS=3

# MODEL: sets options, without those of micro-batches in all_options.
choose() {
    all_options=("$golden/$1/model.onnx" --device cuda --input "$golden/$1/input.npy" --target "$golden/$1/target.npy" --loss cross_entropy --batch 16
        --optimizer adamw --lr 0.01 --steps 3 --seed 7)
    options=("${all_options[@]}" --micro-batches 4)
}

# RANKS OPTIONS...: sets status, seconds; a folder of messages for this run.
over() {
    local ranks=$1
    shift
    rm -rf "$FAKE_NCCL_FOLDER" "$work/trained.onnx"
    mkdir "$FAKE_NCCL_FOLDER"
    run "${mpirun[@]}" -n "$ranks" "$onstage" train "${options[@]}" --out "$work/trained.onnx" "$@"
}

# NAME RANKS: the last run has the bits of one stage, and what it asked NCCL for fits together.
as_alone() {
    local left
    left=$(find "$FAKE_NCCL_FOLDER" -name 'message.*' -o -name 'taken.*' | wc -l)
    if ((status != 0)); then
        fail "$1" "exit code $status"
    elif [[ -e $FAKE_NCCL_FOLDER/complaints ]]; then
        fail "$1" "$(<"$FAKE_NCCL_FOLDER/complaints")"
    elif (($(grep -cE '^communicators [1-9][0-9]* alive 0 messages [1-9][0-9]* meetings [1-9]' "$FAKE_NCCL_FOLDER/counts") != $2)); then
        fail "$1" "not every rank has sent messages and ended its communicators: $(<"$FAKE_NCCL_FOLDER/counts")"
    elif ((left > 0)); then
        fail "$1" "$left messages were not taken"
    elif ! cmp -s "$work/alone.onnx" "$work/trained.onnx"; then
        fail "$1" "other bits than one stage"
    else
        pass "$1"
    fi
}

# NAME CODE PATTERN: it failed with one message of ours.
failed_well() {
    local said
    said=$(tr '\r' '\n' <"$work/stderr" | grep -c '^onstage: ')
    if ((status != $2)); then
        fail "$1" "exit code $status instead of $2"
    elif ((said != 1)) || ! grep -qE "^onstage: .*$3" "$work/stderr"; then
        fail "$1" "$said messages, and not '$3'"
    elif [[ -e $work/trained.onnx ]]; then
        fail "$1" "a model was written"
    else
        pass "$1 ($seconds seconds)"
    fi
}

# ------------------------------------------------------------------------------------------------------------ the same

for model in mlp gpt_tied; do
    choose "$model"
    run "$onstage" train "${options[@]}" --out "$work/alone.onnx" || fail "$model" "one stage does not train"
    for ranks in 2 3; do
        for schedule in gpipe 1f1b; do
            [[ $model == mlp || $ranks.$schedule == 3.1f1b ]] || continue # the larger one takes long
            over "$ranks" --stages "$ranks" --pipeline "$schedule" --transport nccl
            as_alone "$model, $ranks processes, $schedule" "$ranks"
        done
    done
    over 2 --stages 4 --devices 2 --pipeline interleaved --transport nccl
    as_alone "$model, 2 processes with two stages each" 2
    over 2 --stages 2
    as_alone "$model, NCCL is taken where each process has a GPU" 2
    ONSTAGE_CUDA_GRAPHS=on over 2 --stages 2
    as_alone "$model, recorded" 2
done

# A vocabulary in shards: seven stages on two GPUs.
choose gpt_tied
options+=(--vocabulary-shards 2)
run "$onstage" train "${options[@]}" --out "$work/alone.onnx" || fail "a sharded vocabulary" "one stage does not train"
over 2 --stages 2 --transport nccl
as_alone "a sharded vocabulary" 2

# Replicas have the bits of as many micro-batches on one GPU.
export FAR_GPUS=4
choose mlp
for replicas in 2 3; do
    options=("${all_options[@]}" --micro-batches "$replicas")
    run "$onstage" train "${options[@]}" --out "$work/alone.onnx" || fail "$replicas micro-batches" "one stage does not train"
    options=("${all_options[@]}" --micro-batches 1 --replicas "$replicas")
    over "$replicas"
    as_alone "$replicas replicas" "$replicas"
    over "$replicas" --shard-optimizer
    as_alone "$replicas replicas, updates divided" "$replicas"
    ((replicas == 2)) || continue
    over 4 --stages 2
    as_alone "2 replicas of 2 stages" 4
    over 4 --stages 2 --shard-optimizer --clip-norm 1e9 --transport nccl
    as_alone "2 replicas of 2 stages, clipped, updates divided" 4
done

# Statistics over replicas have one process's bits: of one GPU, by copies within it.
options=("$golden/cnn_dynamic/model.onnx" --device cuda --input "image=$golden/cnn_dynamic/input.npy" --target "$golden/cnn_dynamic/target.npy"
    --loss cross_entropy --batch 4 --optimizer sgd --steps 2 --batchnorm train --replicas 2 --sync-batchnorm --micro-batches 1)
run "$onstage" train "${options[@]}" --transport local --out "$work/alone.onnx" || fail "statistics together" "replicas on one GPU do not train"
over 2
as_alone "2 replicas that normalise together" 2
over 4 --stages 2
as_alone "2 replicas of 2 stages that normalise together" 4

# Slices go through a checkpoint.
choose mlp
options=("${all_options[@]}" --micro-batches 2 --steps 6)
run "$onstage" train "${options[@]}" --out "$work/alone.onnx" || fail "6 steps" "one stage does not train"
options=("${all_options[@]}" --micro-batches 1 --replicas 2 --shard-optimizer --checkpoint "$work/kept")
over 2
options=("${all_options[@]}" --micro-batches 1 --replicas 2 --stages 2 --steps 6 --checkpoint "$work/kept" --resume)
over 4
as_alone "2 replicas go on from slices, with whole updates and two stages" 4

# ------------------------------------------------------------------------------------------------------------ failures

export FAR_GPUS=3
choose mlp
FAR_GPUS=2 over 3 --stages 3
failed_well "more processes than GPUs" 3 "ranks 0 and 2 both have GPU far:0"

# One of three processes is started with more in its environment.
with_odd_one() {
    local words=("$onstage" train "${options[@]}" --stages 3 --out "$work/trained.onnx")
    rm -rf "$FAKE_NCCL_FOLDER" "$work/trained.onnx"
    mkdir "$FAKE_NCCL_FOLDER"
    run "${mpirun[@]}" -n 3 "${by_rank[@]}" 1 "${words[@]}" + 1 env "$1" "${words[@]}" + 1 "${words[@]}"
}

with_odd_one FAR_NCCL=/nothing/libnccl.so.2
failed_well "one process has no library" 3 "/nothing/libnccl.so.2"
with_odd_one FAKE_NCCL_FAIL_CONNECTING=1
failed_well "one process cannot connect to all" 5 "stage 1: NCCL, connecting all"
with_odd_one FAKE_NCCL_FAIL_CONNECTING=3
failed_well "one process cannot connect to another" 5 "stage 1: NCCL, connecting to stage [02]"
with_odd_one FAKE_NCCL_FAIL=2
failed_well "a message fails while all warm up" 5 "stage 1: NCCL, messages (to|from) stage [02]: remote process exited"
with_odd_one FAKE_NCCL_FAIL=20
failed_well "a message fails in a step" 5 "stage 1: NCCL, messages (to|from) stage [02]: remote process exited"

with_odd_replica() {
    local words=("$onstage" train "${all_options[@]}" --micro-batches 2 --replicas 3 --out "$work/trained.onnx")
    rm -rf "$FAKE_NCCL_FOLDER" "$work/trained.onnx"
    mkdir "$FAKE_NCCL_FOLDER"
    run "${mpirun[@]}" -n 3 "${by_rank[@]}" 1 "${words[@]}" + 1 env "$1" "${words[@]}" + 1 "${words[@]}"
}
with_odd_replica FAKE_NCCL_FAIL_CONNECTING=2
failed_well "a replica cannot connect to the others" 5 "replica 1, stage 0: NCCL, connecting replicas"
with_odd_replica FAKE_NCCL_FAIL=2
failed_well "a sum fails while all warm up" 5 "replica 1, stage 0: NCCL, sums over replicas: remote process exited"
with_odd_replica FAKE_NCCL_FAIL=20
failed_well "a sum fails in a step" 5 "replica 1, stage 0: NCCL, sums over replicas: remote process exited"
FAR_GPUS=2 with_odd_replica NOTHING=
failed_well "more replicas than GPUs" 3 "ranks 0 and 2 both have GPU far:0"

# A label that there is not, in a run too short to look at all before it begins: the last stage finds it, and no stage
# updates any more.
cp -L "$golden/mlp/target.npy" "$work/target.npy"
chmod u+w "$work/target.npy"
printf '\x7f' | dd of="$work/target.npy" bs=1 seek=129 conv=notrunc status=none # of the first sample
over 3 --stages 3 --target "$work/target.npy" --no-shuffle --steps 2
failed_well "a label out of range" 4 "step [0-9]+, node '.*'"

# A killed process says nothing any more; mpirun and the others notice.
options+=(--steps 1000000)
rm -rf "$FAKE_NCCL_FOLDER"
mkdir "$FAKE_NCCL_FOLDER"
"${mpirun[@]}" -n 3 "$onstage" train "${options[@]}" --stages 3 --log-json "$work/log" --out "$work/trained.onnx" >"$work/stdout" 2>"$work/stderr" </dev/null &
job=$!
touch "$work/log"
for ((i = 0; i < 600 && $(wc -l <"$work/log") < 5; ++i)); do sleep 0.05; done
kill -KILL "$(pgrep -f -- "^$onstage train .*--log-json $work/log " | tail -1)"
wait "$job"
status=$?
sleep 0.5
left=$(pgrep -f -- "^$onstage train .*--log-json $work/log ")
if ((status != 137)); then
    fail "a killed process" "exit code $status"
elif [[ $left ]]; then
    fail "a killed process" "these are left: $left"
    for process in $left; do kill -KILL "$process"; done
else
    pass "a killed process"
fi

report_and_exit
