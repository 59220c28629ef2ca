#!/usr/bin/env bash
# Stages on hosts with 10 ms between them: the same log and the same model as stages in one process. The hosts are network
# namespaces (namespaces.sh); where there cannot be any, this says "not run: WHY", which counts as nothing.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
here=$PWD
namespaces=$here/tests/system/mpi/namespaces.sh

# NAME: by the status of what was done before.
report() {
    if (($? == 0)); then pass "$1"; else fail "$1"; fi
}

timeout -k 5 60 "$namespaces" --hosts 2 -- true >"$work/stdout" 2>"$work/stderr"
status=$?
if ((status == 77)); then
    cat "$work/stdout"
    exit 0
fi
((status == 0))
report "two hosts"

# ------------------------------------------------------------------------------------------------- what the hosts leave

wires() { pgrep -f -- "$here.*/wire [0-9:]* port0" | tr '\n' ' '; }

# A reader waits until everybody has closed the pipe: whoever lives on keeps it waiting.
(timeout -k 5 60 "$namespaces" --hosts 2 -- true 2>&1 | cat) >"$work/stdout" 2>&1 &
reader=$!
for ((i = 0; i < 300; ++i)); do
    kill -0 "$reader" 2>/dev/null || break
    sleep 0.1
done
((i < 300))
report "nothing holds on to a pipe"
kill "$reader" 2>/dev/null

"$namespaces" --hosts 2 -- sleep 60 >"$work/stdout" 2>"$work/stderr" </dev/null &
script=$!
for ((i = 0; i < 100; ++i)); do
    [[ $(pgrep -fc -- '^sleep 60$') -ge 2 && $(wires) ]] && break
    sleep 0.1
done
wire=$(wires)
kill -KILL "$script"
wait "$script" 2>/dev/null
for ((i = 0; i < 50; ++i)); do
    [[ $(wires) ]] || break
    sleep 0.1
done
[[ $wire && -z $(wires) ]]
report "the wire ends with a script that is killed"

timeout -k 5 60 "$namespaces" --hosts 2 -- true >"$work/stdout" 2>"$work/stderr"
(($? == 0)) && ! ip netns list | grep -q "^onstage$script-"
report "the next run removes what it has left"

# ---------------------------------------------------------------------------------------------------------------- bits

# NAME HOSTS STEPS COMMAND...: trained by threads of one process, and on so many hosts.
same() {
    local name=$1 hosts=$2 steps=$3
    local command=("${@:4}" --steps "$steps" --threads 1)
    [[ " ${command[*]} " == *' --replicas '* ]] || command+=(--stages "$hosts")
    rm -f "$work"/*.json "$work"/*.onnx
    timeout 60 "${command[@]}" --transport local --log-json "$work/one.json" --out "$work/one.onnx" \
        >"$work/stdout" 2>"$work/stderr" &&
        timeout -k 5 120 "$namespaces" --hosts "$hosts" --delay 10 -- "${command[@]}" --transport mpi \
            --log-json "$work/many.json" --out "$work/many.onnx" >"$work/stdout" 2>"$work/stderr" </dev/null &&
        [[ $(losses "$work/one.json" | wc -l) == "$steps" ]] &&
        cmp <(losses "$work/one.json") <(losses "$work/many.json") && cmp "$work/one.onnx" "$work/many.onnx"
    report "$name on $hosts hosts with 10 ms between them: same log, same model"
}

golden=$here/tests/agreement/golden
same "a convolutional network" 2 6 "$onstage" train "$golden/cnn_dynamic/model.onnx" \
    --input "image=$golden/cnn_dynamic/input.npy" --target "$golden/cnn_dynamic/target.npy" --loss cross_entropy \
    --batch 8 --micro-batches 4 --optimizer adamw --lr 0.01 --pipeline 1f1b --seed 7 --shuffle
same "a language model with tied weights" 3 4 "$onstage" train "$golden/gpt_tied/model.onnx" \
    --input "tokens=$golden/gpt_tied/input.npy" --target "$golden/gpt_tied/target.npy" --loss cross_entropy \
    --batch 8 --micro-batches 2 --optimizer adamw --lr 0.01 --clip-norm 1 --pipeline gpipe --seed 7
same "the fastest schedule" 2 3 "$onstage" train "$golden/dynamo_gpt/model.onnx" \
    --input "tokens=$golden/dynamo_gpt/input.npy" --target "$golden/dynamo_gpt/target.npy" --loss cross_entropy \
    --batch 4 --micro-batches 4 --optimizer adamw --pipeline auto --seed 7

same "replicas that divide updates and normalise together" 2 4 "$onstage" train "$golden/cnn_dynamic/model.onnx" \
    --input "image=$golden/cnn_dynamic/input.npy" --target "$golden/cnn_dynamic/target.npy" --loss cross_entropy --batchnorm train \
    --batch 8 --micro-batches 2 --optimizer adamw --replicas 2 --shard-optimizer --sync-batchnorm --seed 7 --shuffle
same "replicas of a larger model" 3 2 "$onstage" train "$golden/resnet18/model.onnx" \
    --input "image=$golden/resnet18/input.npy" --target "$golden/resnet18/target.npy" --loss cross_entropy \
    --batch 12 --optimizer sgd --replicas 3 --seed 7

report_and_exit
