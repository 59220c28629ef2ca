#!/usr/bin/env bash
# One stage on this machine: what `onstage plan` predicts is what `onstage train` takes, to the byte.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"

# MODEL INPUT OPTIONS...: predicted and taken bytes agree.
agrees() {
    local folder=$golden/$1 input=$2 predicted taken
    begin "$1 ${*:3}"
    run plan "$folder/model.onnx" "${@:3}" -o plan.json
    ((status == 0)) || { fail "$name" "no plan"; return; }
    predicted=$(grep -o '"memory_bytes":[[:space:]]*[0-9]*' plan.json | grep -o '[0-9]*$')
    run train "$folder/model.onnx" --input "$input=$folder/input.npy" --target "$folder/target.npy" "${@:3}" --steps 1 \
        --log-json log.jsonl
    ((status == 0)) || { fail "$name" "no training"; return; }
    taken=$(grep -o '"memory_peak_bytes":[[:space:]]*[0-9]*' log.jsonl | grep -o '[0-9]*$')
    if [[ -n $predicted && $predicted == "$taken" ]]; then
        pass "$name"
    else
        fail "$name" "predicted '$predicted' bytes, taken '$taken'"
    fi
}

agrees mlp x --loss cross_entropy --batch 16 --optimizer sgd --momentum 0.9
agrees lenet image --loss cross_entropy --batch 16
agrees lenet image --loss cross_entropy --batch 16 --threads 2 --optimizer rmsprop
agrees cnn_dynamic image --loss cross_entropy --batch 16 --batchnorm train
agrees cnn_dynamic image --loss cross_entropy --batch 16 --micro-batches 4 --batchnorm train --clip-norm 1
agrees gpt_decomposed tokens --loss cross_entropy --batch 4
agrees gpt_decomposed tokens --loss cross_entropy --batch 4 --freeze '*' --train '*weight'
agrees resnet18 image --loss cross_entropy --batch 8

report_and_exit
