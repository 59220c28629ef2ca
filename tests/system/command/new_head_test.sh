#!/usr/bin/env bash
# --new-head: other classes in a model's last layer, in what is trained and in what is written.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
bert=$root/tests/agreement/families/bert
texts=("$bert/model.onnx" --input "input_ids=$bert/input_ids.npy" --input "attention_mask=$bert/attention_mask.npy" --target target.npy
    --loss cross_entropy --batch 4 --threads 1)

# FILE COUNT CLASSES: targets that take all classes in turn.
targets() {
    local i
    for ((i = 0; i < $2; ++i)); do printf "\\x$(printf %x $((i % $3)))\\0\\0\\0\\0\\0\\0\\0"; done | array "$1" '<i8' "($2,)"
}

begin "a linear layer's weight and bias, of two dimensions and one"
targets target.npy 192 3
if succeeds train "$golden/mlp/model.onnx" --input "x=$golden/mlp/input.npy" --target target.npy --loss cross_entropy --batch 16 \
    --threads 1 --new-head 3 --steps 4 --out trained.onnx && succeeds check trained.onnx; then
    "$onstage" inspect trained.onnx >inspected
    if grep -qE 'float32\[3,[0-9]+\]' inspected && grep -qE 'float32\[3\]' inspected && ! grep -qE 'float32\[10' inspected; then
        pass "$name"
    else
        fail "$name" "$(cat inspected)"
    fi
fi

begin "what was trained with a new head is evaluated without the option"
targets target.npy 192 3
model=("$golden/mlp/model.onnx" --input "x=$golden/mlp/input.npy" --target target.npy --loss cross_entropy --batch 16 --threads 1)
if succeeds train "${model[@]}" --new-head 3 --steps 40 --lr 0.01 --out trained.onnx &&
    succeeds eval trained.onnx "${model[@]:1}" --metric accuracy; then
    pass "$name"
fi

begin "the same seed draws the same head, another one another"
targets target.npy 192 3
for seed in 1 1 2; do
    succeeds train "${model[@]}" --new-head 3 --seed "$seed" --no-shuffle --steps 1 --lr 1e-30 --optimizer sgd --out "trained.onnx" || break
    sha256sum <trained.onnx >>sums
done
if [[ $(sort -u sums | wc -l) == 2 && $(sed -n 1p sums) == "$(sed -n 2p sums)" ]]; then pass "$name"; else fail "$name" "$(cat sums)"; fi

begin "a run with a new head is resumed"
targets target.npy 192 3
options=(--new-head 3 --checkpoint kept --checkpoint-every 2)
if succeeds train "${model[@]}" "${options[@]}" --steps 4 --out four.onnx && rm -r kept &&
    succeeds train "${model[@]}" "${options[@]}" --steps 2 --out two.onnx &&
    succeeds train "${model[@]}" "${options[@]}" --steps 4 --resume --out resumed.onnx; then
    if cmp -s four.onnx resumed.onnx; then pass "$name"; else fail "$name" "other weights"; fi
fi

begin "a text classifier"
targets target.npy 8 5
if succeeds train "${texts[@]}" --new-head output=5 --steps 2 --out trained.onnx && succeeds check trained.onnx; then pass "$name"; fi

begin "a convolution with BatchNorm before it"
targets target.npy 96 4
if succeeds train "$golden/resnet18/model.onnx" --input "$golden/resnet18/input.npy" --target target.npy --loss cross_entropy --batch 8 \
    --threads 1 --new-head 4 --freeze '*' --train '*fc*' --steps 2 --out trained.onnx && succeeds check trained.onnx; then
    pass "$name"
fi

begin "no such output"
refuses 1 "no output named 'outptu' .did you mean 'output'" check "$bert/model.onnx" --new-head outptu=5

begin "no number"
refuses 1 "must be a whole number above 0" check "$bert/model.onnx" --new-head output=0

begin "a head whose weight is an embedding too"
refuses 3 "is the weight of node '[^']*' \(Gather\) as well" check "$golden/gpt_tied/model.onnx" --new-head 5

begin "a target outside of the classes names the option"
targets target.npy 192 12
refuses 4 "has the target 10, and the model's [0-9]+ classes are 0 to [0-9]+; --new-head OUTPUT=12" train "$golden/mlp/model.onnx" --input "x=$golden/mlp/input.npy" \
    --target target.npy --loss cross_entropy --batch 16 --threads 1 --steps 12 --out trained.onnx

report_and_exit
