#!/usr/bin/env bash
# A checkpoint goes on with another number of replicas and stages: what comes are the bits of the new grouping, from the weights
# and states that were there; that sums are grouped otherwise is said once.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
golden=$PWD/tests/agreement/golden

# MODEL: its data.
data() { data=("$golden/$1/model.onnx" --input "$golden/$1/input.npy" --target "$golden/$1/target.npy" --loss cross_entropy --threads 1); }

# How often the last run has said that sums are grouped otherwise.
said() { cat "$work/stdout" "$work/stderr" | grep -c "the roundings of"; }

# REPLICAS STAGES MICRO_BATCHES: the options of a grouping, micro-batches of each replica, and its number of processes.
group() {
    grouping=(--replicas "$1" --stages "$2" --micro-batches "$3")
    processes=$(($1 * $2))
}

# Whether the run before, over the same steps, would have come to the same: then nothing is shown.
differs() { cmp -s "$1" "$2" || others=$((others + 1)); }

# NAME FILE FILE TIMES: the last run is well, the files are the same, and the new grouping was said so often.
compare() {
    if ((status != 0)); then fail "$1" "exit code $status"
    elif ! cmp -s "$2" "$3"; then fail "$1" "they differ"
    elif (($(said) != $4)); then fail "$1" "the new grouping is said $(said) times instead of $4"
    else pass "$1"; fi
}

# ------------------------------------------------------------------------------------------------------ weights and states
# With dropout, whose random numbers go by the step, and states. The reference is one stage: threads that are replicas or, where
# each has one micro-batch, no replicas at all.
data gpt_tied
train=("$onstage" train "${data[@]}" --dropout 0.1 --batch 12 --optimizer adamw --lr 0.01)
others=0
for before in "2 2 2" "3 1 1"; do
    read -r replicas stages micro_batches <<<"$before"
    group "$replicas" "$stages" "$micro_batches"
    rm -rf "$work/kept"
    run "${mpirun[@]}" -n $processes "${train[@]}" "${grouping[@]}" --steps 3 --checkpoint "$work/kept" || fail "$before" "no checkpoint"
    run "${train[@]}" "${grouping[@]}" --stages 1 --steps 6 --out "$work/straight.onnx"
    for after in "4 1 1" "2 3 2" "6 1 1" "1 2 4" "4 2 1"; do
        read -r replicas stages micro_batches <<<"$after"
        name="${before// / × } micro-batches, then ${after// / × }"
        rm -rf "$work/one" "$work/go"
        cp -r "$work/kept" "$work/one"
        cp -r "$work/kept" "$work/go"
        group "$replicas" 1 "$micro_batches"
        ((micro_batches > 1)) || group 1 1 "$replicas"
        run "${train[@]}" "${grouping[@]}" --steps 6 --checkpoint "$work/one" --resume --out "$work/one.onnx"
        group "$replicas" "$stages" "$micro_batches"
        run "${mpirun[@]}" -n $processes "${train[@]}" "${grouping[@]}" --steps 6 --checkpoint "$work/go" --resume --out "$work/go.onnx"
        # Other stages alone are no other grouping.
        compare "$name" "$work/one.onnx" "$work/go.onnx" $((replicas == ${before%% *} ? 0 : 1))
        differs "$work/go.onnx" "$work/straight.onnx"
    done
done
if ((others > 0)); then pass "… and some have other bits than the grouping before"; else fail "… and some have other bits than the grouping before" "none"; fi

name="… and a checkpoint of the new grouping goes on without a word"
run "${mpirun[@]}" -n "$processes" "${train[@]}" "${grouping[@]}" --steps 8 --checkpoint "$work/go" --resume --out "$work/go.onnx"
if ((status != 0)); then fail "$name" "exit code $status"
elif (($(said) > 0)); then fail "$name" "it is said $(said) times"
else pass "$name"; fi

# ---------------------------------------------------------------------------------------------------------- weights alone
# Without states and random numbers a run can start anew from the weights that the first one wrote, with the samples that come
# next: no checkpoint is read for the reference.
data mlp
train=(--loss cross_entropy --threads 1 --input "$golden/mlp/input.npy" --target "$golden/mlp/target.npy" --no-shuffle --batch 24 --optimizer sgd --lr 0.1)
others=0
rm -rf "$work/kept"
group 2 2 3
run "${mpirun[@]}" -n $processes "$onstage" train "$golden/mlp/model.onnx" "${train[@]}" "${grouping[@]}" --steps 3 --checkpoint "$work/kept" --out "$work/third.onnx"
((status == 0)) || fail "the first three steps" "exit code $status"
run "$onstage" train "$golden/mlp/model.onnx" "${train[@]}" "${grouping[@]}" --steps 7 --out "$work/straight.onnx"
for after in "3 1 2" "4 1 1" "3 2 1" "1 3 5"; do
    read -r replicas stages micro_batches <<<"$after"
    group "$replicas" "$stages" "$micro_batches"
    rm -rf "$work/go"
    cp -r "$work/kept" "$work/go"
    run "$onstage" train "$work/third.onnx" "${train[@]}" "${grouping[@]}" --rows 72: --steps 4 --out "$work/anew.onnx"
    run "${mpirun[@]}" -n $processes "$onstage" train "$golden/mlp/model.onnx" "${train[@]}" "${grouping[@]}" --steps 7 --checkpoint "$work/go" --resume --out "$work/go.onnx"
    compare "2 × 2 × 3, then ${after// / × } micro-batches, as if begun with those weights" "$work/anew.onnx" "$work/go.onnx" 1
    differs "$work/go.onnx" "$work/straight.onnx"
done
if ((others > 0)); then pass "… and some have other bits than the grouping before"; else fail "… and some have other bits than the grouping before" "none"; fi

report_and_exit
