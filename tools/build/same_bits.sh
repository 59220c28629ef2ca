#!/usr/bin/env bash
# Whether a change kept the bits: trains small models with the program of another commit and with that of this tree, and compares what
# they wrote bit by bit. For changes that only move or rename; one that is to change bits says which, and why.
#   tools/build/same_bits.sh BASE [MODEL...]    prints one line a run; ends with "N same, M different"
# BASE is a commit, which is built in a temporary clone, or a command that was built before. A MODEL is a folder of
# tests/agreement/golden or tests/agreement/families. Each is trained in one stage, in two, and in two under a cap that makes
# some of its values be recomputed or swapped.
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/../.."
models=(mlp lenet gpt_tied resnet18 cnn_dynamic lstm gru resnext vit t5)
steps=3

(($# > 0)) || { sed -n '2,/^set/{s/^# \?//p}' "$0" >&2 && exit 2; }
base=$1
shift
(($# == 0)) || models=("$@")
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT

# Builds the command of commit $1 as the file $2.
build_of() {
    git clone -q --shared . "$work/tree"
    git -C "$work/tree" checkout -q "$1"
    local bazel=("$work/tree/bazelw" "--output_base=$work/bazel")
    (cd "$work/tree" && "${bazel[@]}" build //tools:onstage && cp -L bazel-bin/tools/onstage "$2" && "${bazel[@]}" shutdown)
}

if [[ -x $base && ! -d $base ]]; then cp -L "$base" "$work/before"; else build_of "$base" "$work/before" >&2; fi
./bazelw build //tools:onstage >&2
cp -L bazel-bin/tools/onstage "$work/now"

# The options that name the arrays of the model in folder $1. Where there are several inputs, files are called as they are.
arrays_of() {
    local file inputs=()
    for file in "$1"/*.npy; do
        if [[ $file == */target.npy ]]; then echo --target "$file"; else inputs+=("$file"); fi
    done
    for file in "${inputs[@]}"; do
        ((${#inputs[@]} == 1)) || echo --input "$(basename "$file" .npy)=$file"
        ((${#inputs[@]} > 1)) || echo --input "$file"
    done
}

# Trains with program $1 the model in folder $2 into the file $3; more options follow.
# shellcheck disable=SC2046  # a list of options
train() {
    local program=$1 folder=$2 out=$3
    shift 3
    "$program" train "$folder/model.onnx" $(arrays_of "$folder") --loss cross_entropy --optimizer adamw --batch 4 --micro-batches 2 \
        --threads 1 --seed 1 --steps "$steps" --out "$out" "$@" >"$out.log" 2>&1
}

# The largest memory of a stage, in bytes, of the model in folder $1 in two stages.
# shellcheck disable=SC2046  # a list of options
memory_of() {
    "$work/before" plan "$1/model.onnx" $(arrays_of "$1") --loss cross_entropy --optimizer adamw --batch 4 --micro-batches 2 \
        --threads 1 --stages 2 -o "$work/plan.json" >"$work/plan.log" 2>&1 || return
    sed -n '/"predicted"/,$s/.*"memory_bytes":[^0-9]*\([0-9]*\).*/\1/p' "$work/plan.json" | sort -n | tail -1
}

same=0 different=0
# Compares the runs of the model in folder $1; $2 says which run, and more options follow.
compare() {
    local name="${1##*/}, $2" folder=$1
    shift 2
    if ! train "$work/before" "$folder" "$work/before.onnx" "$@"; then
        echo "different  $name: the base does not train it: $(tail -1 "$work/before.onnx.log")"
    elif ! train "$work/now" "$folder" "$work/now.onnx" "$@"; then
        echo "different  $name: no longer trained: $(tail -1 "$work/now.onnx.log")"
    elif ! cmp -s "$work/before.onnx" "$work/now.onnx"; then
        echo "different  $name: $(cmp -l "$work/before.onnx" "$work/now.onnx" | wc -l) bytes of $(stat -c %s "$work/now.onnx")"
    else
        echo "same       $name"
        same=$((same + 1))
        return
    fi
    different=$((different + 1))
}

# The smallest cap of some, as shares of the memory of a stage, under which the base trains the model in folder $1.
cap_of() {
    local whole percent
    whole=$(memory_of "$1")
    for percent in 50 60 70 80 90 95; do
        if train "$work/before" "$1" "$work/capped.onnx" --stages 2 --memory "$((whole * percent / 100))"; then
            echo "$((whole * percent / 100))"
            return
        fi
    done
    echo "$whole"
}

for model in "${models[@]}"; do
    folder=$(find "$PWD/tests/agreement/golden/$model" "$PWD/tests/agreement/families/$model" -maxdepth 0 2>/dev/null || true)
    [[ $folder ]] || { echo "same_bits.sh: no model is called $model" >&2 && exit 2; }
    compare "$folder" "one stage"
    compare "$folder" "two stages" --stages 2
    cap=$(cap_of "$folder")
    compare "$folder" "two stages under $cap bytes" --stages 2 --memory "$cap"
done
echo "$same same, $different different"
((different == 0))
