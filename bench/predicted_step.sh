#!/usr/bin/env bash
# How near the planner's step time comes to a real training step on this machine, one stage, from a measured profile:
#     ./bazelw build //tools:onstage && bench/predicted_step.sh >bench/results/predicted_step_cpu.md
# Profile and training alternate, ROUNDS times, on the same data; the median of their ratios counts. Of training the median
# step counts, as of the profile: on a machine with other work a mean says more of that than of the steps.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
onstage=${ONSTAGE:-bazel-bin/tools/onstage}
threads=${THREADS:-1} rounds=${ROUNDS:-5} steps=${STEPS:-100}
variants=${VARIANTS:-$(bench/variants.sh | tail -2)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name, model, batch, options of plan, profile and train, data
models=(
    "mnist_cnn|examples/mnist/mnist_cnn.onnx|64||--input examples/data/mnist/t10k-images-idx3-ubyte.gz --target examples/data/mnist/t10k-labels-idx1-ubyte.gz"
    "mnist_cnn, 4 micro-batches|examples/mnist/mnist_cnn.onnx|64|--micro-batches 4|--input examples/data/mnist/t10k-images-idx3-ubyte.gz --target examples/data/mnist/t10k-labels-idx1-ubyte.gz"
    "char_gpt|examples/shakespeare/char_gpt.onnx|32||--tokens examples/data/shakespeare/train.bin"
    "vit|tests/agreement/families/vit/model.onnx|4||--input image=tests/agreement/families/vit/image.npy --target tests/agreement/families/vit/target.npy"
)

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

number() { grep -oE "\"$1\":[[:space:]]*[0-9.e+-]+" "$2" | grep -oE '[0-9.e+-]+$'; }

# Seconds of a step as planned from a fresh profile; as trained, after a while.
# shellcheck disable=SC2086  # lists of options
predict() { # MODEL BATCH OPTIONS DATA
    local common="--batch $2 --loss cross_entropy --threads $threads $3"
    "$onstage" profile "$1" $common $4 --repetitions 30 --no-cache -o "$work/profile.json" >"$work/profile.txt"
    "$onstage" plan "$1" $common --profile "$work/profile.json" -o "$work/plan.json" >"$work/plan.txt"
    number step_seconds "$work/plan.json" | head -1
}
# shellcheck disable=SC2086
train() { # MODEL BATCH OPTIONS DATA
    "$onstage" train "$1" --batch "$2" --loss cross_entropy --threads "$threads" $3 $4 --steps "$steps" --log-json "$work/log.jsonl" \
        >"$work/train.txt"
    # The log has samples a second of a moving mean, 0.95 of it from the steps before: undone, that is each step's time.
    sed -n 's/.*"samples_per_s":\([0-9.e+-]*\).*/\1/p' "$work/log.jsonl" |
        awk -v batch="$2" '{ mean = batch / $1; if (NR > 1) print (mean - 0.95 * last) / 0.05; last = mean }' | median
}

cat <<END
# A step's time, predicted and real

Written by \`bench/predicted_step.sh\` ($(date +%F)): $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1), $threads thread(s);
$rounds rounds of a profile of 30 steps and $steps steps of training, alternating, on the same data; load of the machine at the start: $(cut -d' ' -f1 /proc/loadavg) on $(nproc) processors.

| variant | model | batch | predicted ms | trained ms, median of steps | predicted ÷ trained, median |
|---|---|---|---|---|---|
END
for variant in $variants; do
    export ONSTAGE_CPU=$variant
    for line in "${models[@]}"; do
        IFS='|' read -r name model batch options data <<<"$line"
        rm -f "$work/predicted" "$work/trained" "$work/ratios"
        for ((round = 0; round < rounds; ++round)); do
            predicted=$(predict "$model" "$batch" "$options" "$data")
            trained=$(train "$model" "$batch" "$options" "$data")
            echo "$predicted" >>"$work/predicted"
            echo "$trained" >>"$work/trained"
            awk -v p="$predicted" -v t="$trained" 'BEGIN { print p / t }' >>"$work/ratios"
        done
        printf '| %s | %s | %s | %.3f | %.3f | %.3f |\n' "$variant" "$name" "$batch" "$(awk '{ print 1e3 * $1 }' "$work/predicted" | median)" \
            "$(awk '{ print 1e3 * $1 }' "$work/trained" | median)" "$(median <"$work/ratios")"
    done
done
