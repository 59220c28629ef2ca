#!/usr/bin/env bash
# On this machine what `onstage plan` predicts is what `onstage train` takes, to the byte.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"

# MODEL INPUT OPTIONS...: predicted and taken bytes agree.
agrees() {
    local folder=$golden/$1 input=$2 predicted taken
    begin "$1 ${*:3}"
    run plan "$folder/model.onnx" "${@:3}" --log-json log.jsonl -o plan.json # norms for the log take some bytes
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

# MODEL INPUT SHARE OPTIONS...: a plan of several stages, capped at SHARE of the way from the least that is possible here to what
# its largest one needs (1: no cap), takes in every stage what it says, with a log or without, under a cap that is just as large.
agrees_in_stages() {
    local folder=$golden/$1 input=$2 share=$3 data predicted cap least taken log
    data=(--input "$input=$folder/input.npy" --target "$folder/target.npy")
    begin "$1 capped at $share ${*:4}"
    run plan "$folder/model.onnx" "${@:4}" -o plan.json
    ((status == 0)) || { fail "$name" "no plan"; return; }
    arenas() { grep -o '"arena_bytes":[[:space:]]*[0-9]*' plan.json | grep -o '[0-9]*$'; }
    run plan "$folder/model.onnx" "${@:4}" --memory 1000
    least=$(sed -nE 's/.* --memory ([0-9]+) .*/\1/p' "$work/stderr")
    [[ $least ]] || { fail "$name" "no least is named"; return; }
    cap=$(arenas | sort -n | tail -1 | awk -v share="$share" -v least="$least" '{printf "%d", least + ($1 - least) * share}')
    run plan "$folder/model.onnx" "${@:4}" --memory "$cap" -o plan.json
    ((status == 0)) || { fail "$name" "no plan for $cap bytes"; return; }
    (($(arenas | sort -n | tail -1) <= cap)) || { fail "$name" "an arena is larger than $cap bytes"; return; }
    predicted=$(arenas | awk '{sum += $1} END {printf "%d", sum}')
    cap=$(arenas | sort -n | tail -1)
    for log in "" "--log-json log.jsonl" "--log-json norms.jsonl --log-grad-norms"; do
        [[ $log != *norms || ${*:4} != *pipedream-async* ]] || continue # norms are refused
        # shellcheck disable=SC2086
        run train "$folder/model.onnx" "${data[@]}" "${@:4}" --plan plan.json --memory "$cap" --steps 2 --rows 0:"$rows" $log
        ((status == 0)) || { fail "$name $log" "no training"; return; }
        [[ $(grep -cE ' ([0-9.]+ [KMG]?i?B) +\1$' "$work/stdout") -eq $(arenas | wc -l) ]] || {
            fail "$name $log" "$(tail -5 "$work/stdout")"
            return
        }
    done
    taken=$(grep -o '"memory_peak_bytes":[[:space:]]*[0-9]*' log.jsonl | grep -o '[0-9]*$' | sort -u)
    [[ $taken == "$predicted" ]] || { fail "$name" "predicted '$predicted' bytes, taken '$taken'"; return; }
    run train "$folder/model.onnx" "${data[@]}" "${@:4}" --plan plan.json --memory $((cap - 1)) --steps 2 --rows 0:"$rows"
    if ((status == 6)); then
        pass "$name, $predicted bytes"
    else
        fail "$name" "status $status with a byte too little"
    fi
}

# MODEL BATCH MICRO-BATCHES OPTIONS...: a batch that does not come out even takes, under the tightest cap or none, as good as
# no more than the next larger one that does: weights in another layout or type lie there once for both sizes of
# micro-batches. (Constants of the shorter ones may come to a kilobyte.)
as_much_as_the_next() {
    local model=$golden/$1/model.onnx least=() whole=() batch
    begin "$1: $2 in $3 take what $(($2 + 1)) in $3 do ${*:4}"
    for batch in "$2" "$(($2 + 1))"; do
        run plan "$model" "${@:4}" --batch "$batch" --micro-batches "$3" -o plan.json
        whole+=("$(grep -o '"arena_bytes":[[:space:]]*[0-9]*' plan.json | grep -o '[0-9]*$')")
        run plan "$model" "${@:4}" --batch "$batch" --micro-batches "$3" --memory 1000
        least+=("$(sed -nE 's/.* --memory ([0-9]+) .*/\1/p' "$work/stderr")")
    done
    if ((whole[0] > 0 && whole[0] <= whole[1] + 1024 && least[0] > 0 && least[0] <= least[1] + 1024)); then
        pass "$name"
    else
        fail "$name" "${whole[*]} bytes without a cap, ${least[*]} at least"
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

as_much_as_the_next cnn_dynamic 8 3 --loss cross_entropy --optimizer adamw --threads 1
as_much_as_the_next lenet 5 2 --loss cross_entropy --optimizer adamw --threads 1
as_much_as_the_next mlp 8 3 --loss cross_entropy --threads 1 --precision bf16

# MODEL PERCENT OPTIONS... -- DATA...: without a plan norms and activation functions are made again for the backward part: less
# than PERCENT of the memory that a plan without a cap takes, and the same weights to the bit.
makes_again() {
    local model=$1 percent=$2 taken=() options=()
    begin "less memory without a plan, the same weights: ${model##*/}"
    shift 2
    while [[ $1 != -- ]]; do options+=("$1") && shift; done
    run plan "$model" "${options[@]}" -o plan.json
    ((status == 0)) || { fail "$name" "no plan"; return; }
    options+=("${@:2}" --steps 2)
    run train "$model" "${options[@]}" --log-json plain.jsonl -o plain.onnx
    run train "$model" "${options[@]}" --log-json planned.jsonl -o planned.onnx --plan plan.json
    ((status == 0)) || { fail "$name" "no training"; return; }
    for log in plain planned; do taken+=("$(grep -o '"memory_peak_bytes":[[:space:]]*[0-9]*' $log.jsonl | grep -o '[0-9]*$' | head -1)"); done
    if ((taken[0] > 0 && taken[0] * 100 < taken[1] * percent)) && cmp -s plain.onnx planned.onnx; then
        pass "$name: ${taken[0]} instead of ${taken[1]} bytes"
    else
        fail "$name" "${taken[*]} bytes, or other weights"
    fi
}
makes_again "$examples/shakespeare/char_gpt.onnx" 90 --loss cross_entropy --batch 64 --optimizer adamw \
    -- --tokens "$examples/data/shakespeare/train.bin" --seq 64
makes_again "$golden/cnn_dynamic/model.onnx" 90 --loss cross_entropy --batch 192 --batchnorm train --optimizer sgd \
    -- --input "image=$golden/cnn_dynamic/input.npy" --target "$golden/cnn_dynamic/target.npy"

rows=16
agrees_in_stages mlp x 1 --loss cross_entropy --batch 16 --micro-batches 4 --stages 3
agrees_in_stages lenet image 1 --loss cross_entropy --batch 16 --micro-batches 4 --stages 2 --pipeline gpipe
agrees_in_stages lenet image 0.5 --loss cross_entropy --batch 16 --stages 1
agrees_in_stages resnet18 image 1 --loss cross_entropy --batch 16 --micro-batches 2 --stages 4 --optimizer adamw
rows=4
agrees_in_stages dynamo_gpt tokens 1 --loss cross_entropy --batch 4 --micro-batches 4 --stages 4
agrees_in_stages dynamo_gpt tokens 0.5 --loss cross_entropy --batch 4 --micro-batches 2 --stages 2
agrees_in_stages dynamo_gpt tokens 1 --loss cross_entropy --batch 4 --micro-batches 4 --stages 2 --pipeline pipedream-async

# OPTIONS...: micro-batches of two sizes; the refusal of too small a cap names one that trains, though the smaller size
# has other layouts, in which some of what the plan decides is not to be found.
trains_in_the_least() {
    local folder=$golden/cnn_dynamic least
    local options=("$folder/model.onnx" --input "$folder/input.npy" --target "$folder/target.npy" --loss cross_entropy
        --batchnorm train --threads 1 --steps 1 "$@")
    begin "the least memory for $*"
    run train "${options[@]}" --memory 20KiB
    least=$(grep -oE '[0-9]+ are needed' "$work/stderr" | grep -oE '[0-9]+ are' | grep -oE '[0-9]+' | head -1)
    [[ $least ]] || { fail "$name" "no least is named"; return; }
    run train "${options[@]}" --memory "$least"
    if ((status == 0)); then pass "$name: $least"; else fail "$name" "$least bytes do not train"; fi
}
trains_in_the_least --stages 3 --batch 8 --micro-batches 3
trains_in_the_least --stages 3 --batch 14 --micro-batches 4
trains_in_the_least --stages 3 --batch 9 --micro-batches 3

# OPTIONS...: the largest batch under the cap that a batch of 64 takes is trained under it; it is at least as large as any
# that has a plan there.
trains_largest() {
    local model=$examples/mnist/mnist_cnn.onnx data cap largest batch
    data=(--input "$examples/data/mnist/t10k-images-idx3-ubyte.gz" --target "$examples/data/mnist/t10k-labels-idx1-ubyte.gz")
    begin "the largest batch under a cap: $*"
    run plan "$model" --loss cross_entropy --threads 1 --batch 64 "$@" -o plan.json
    ((status == 0)) || { fail "$name" "no plan"; return; }
    cap=$(grep -o '"arena_bytes":[[:space:]]*[0-9]*' plan.json | grep -o '[0-9]*$' | sort -n | tail -1)
    run plan "$model" --loss cross_entropy --threads 1 --memory "$cap" --max-batch "$@" -o plan.json
    ((status == 0)) || { fail "$name" "no plan under $cap bytes"; return; }
    largest=$(grep -oE '"batch":[[:space:]]*[0-9]+' plan.json | grep -oE '[0-9]+$')
    for batch in 64 96 128; do
        run plan "$model" --loss cross_entropy --threads 1 --memory "$cap" --batch "$batch" "$@"
        ((status != 0 || largest >= batch)) || { fail "$name" "a batch of $largest, but $cap bytes do for $batch"; return; }
        ((status == 0 || batch > 64)) || { fail "$name" "no plan for 64 under what it takes"; return; }
    done
    run train "$model" --loss cross_entropy --threads 1 --memory "$cap" --batch "$largest" "$@" "${data[@]}" --rows 0:"$largest" \
        --plan plan.json --steps 1
    ((status == 0)) || { fail "$name" "a batch of $largest is planned, but cannot be trained"; return; }
    run train "$model" --loss cross_entropy --threads 1 --memory "$cap" --batch "$largest" "$@" "${data[@]}" --rows 0:"$largest" \
        --steps 1
    if ((status == 0)); then
        pass "$name: $largest"
    else
        fail "$name" "a batch of $largest is planned, but training plans none"
    fi
}
trains_largest --stages 2 --partition pipedream --memory-strategy none --pipeline pipedream-async
trains_largest --stages 2 --pipeline pipedream-async
trains_largest --stages 1

report_and_exit
