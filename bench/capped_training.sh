#!/usr/bin/env bash
# What a cap on memory costs, one stage on this machine: training at a share of the memory that activations and gradients
# take without a cap, swapping and recomputing what does not fit.
#     python3 bench/capped_models.py MODELS
#     ./bazelw build //tools:onstage && bench/capped_training.sh MODELS >bench/results/capped_training_cpu.md
# Without MODELS the example that is here is trained alone.
# Runs with and without the cap alternate, ROUNDS times; the median of the ratios of their median steps counts. Predicted is
# the ratio of the two plans' steps, from one measured profile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
onstage=${ONSTAGE:-bazel-bin/tools/onstage}
threads=${THREADS:-$(nproc)} rounds=${ROUNDS:-3} steps=${STEPS:-6}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name, model, batch, data
models=("char_gpt|examples/shakespeare/char_gpt.onnx|32|--tokens examples/data/shakespeare/train.bin --seq 64")
if (($# > 0)); then
    for each in "ResNet-18, 224x224|resnet18|16" "BERT-base, 128 tokens|bert_base|8" "GPT-2 small, 128 tokens|gpt2_small|8"; do
        IFS='|' read -r name file batch <<<"$each"
        models+=("$name|$1/$file.onnx|$batch|--input x=$1/$file.x.npy --target $1/$file.target.npy")
    done
fi
shares=(0.5 0.35 0.25)

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

number() { grep -oE "\"$1\":[[:space:]]*[0-9.e+-]+" "$2" | head -1 | grep -oE '[0-9.e+-]+$'; }

# Median seconds of a step. Whole batches: a shorter one at the end of an epoch is a program of its own, which a plan
# without data does not know of.
# shellcheck disable=SC2086  # lists of options
train() { # OPTIONS...
    "$onstage" train "$model" --batch "$batch" --loss cross_entropy --optimizer adamw --threads "$threads" $data --profile \
        "$work/profile.json" --rows "0:$((batch * 150))" --steps "$steps" --log-json "$work/log.jsonl" "$@" >"$work/train.txt"
    sed -n 's/.*"samples_per_s":\([0-9.e+-]*\).*/\1/p' "$work/log.jsonl" |
        awk -v batch="$batch" '{ mean = batch / $1; if (NR > 1) print (mean - 0.95 * last) / 0.05; last = mean }' | median
}

plan() { # OPTIONS...
    "$onstage" plan "$model" --batch "$batch" --loss cross_entropy --optimizer adamw --threads "$threads" --profile \
        "$work/profile.json" "$@" -o "$work/plan.json" >/dev/null 2>"$work/refusal"
}

cat <<END
# What a cap on memory costs

Written by \`bench/capped_training.sh\` ($(date +%F)): $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1), $threads thread(s);
$rounds rounds of $steps steps with and without the cap, alternating; load of the machine at the start: $(cut -d' ' -f1 /proc/loadavg) on $(nproc) processors.
Where the share cannot be kept the least memory that can is taken; below what the widest node reads and writes no plan can go.
The bars: 1.10 at 50 %, 1.20 at 35 %, 1.33 at 25 %; within 15 % of predicted.

| model | batch | asked | arena, of all (MiB) | activations, of all | widest node | step, of without (all rounds) | predicted |
|---|---|---|---|---|---|---|---|
END
for line in "${models[@]}"; do
    IFS='|' read -r name model batch data <<<"$line"
    # shellcheck disable=SC2086
    "$onstage" profile "$model" --batch "$batch" --loss cross_entropy --optimizer adamw --threads "$threads" $data --repetitions 5 \
        --no-cache -o "$work/profile.json" >/dev/null
    plan
    whole=$(number arena_bytes "$work/plan.json") peak=$(number running "$work/plan.json") step=$(number step_seconds "$work/plan.json")
    plan --memory 1 || true
    widest=$(grep -oE 'alone works on [0-9.]+ [KMG]iB' "$work/refusal" | grep -oE '[0-9.]+ [KMG]iB')
    for share in "${shares[@]}"; do
        cap=$(awk -v whole="$whole" -v peak="$peak" -v share="$share" 'BEGIN { printf "%d", whole - peak + share * peak }')
        if ! plan --memory "$cap"; then
            cap=$(grep -oE -- '--memory [0-9]+' "$work/refusal" | grep -oE '[0-9]+')
            plan --memory "$cap"
        fi
        arena=$(number arena_bytes "$work/plan.json")
        predicted=$(awk -v c="$(number step_seconds "$work/plan.json")" -v s="$step" 'BEGIN { printf "%.3f", c / s }')
        : >"$work/ratios"
        for ((round = 0; round < rounds; ++round)); do
            without=$(train)
            with=$(train --memory "$cap")
            awk -v a="$with" -v b="$without" 'BEGIN { print a / b }' >>"$work/ratios"
        done
        awk -v n="$name" -v b="$batch" -v s="$share" -v a="$arena" -v w="$whole" -v p="$peak" -v r="$(median <"$work/ratios")" \
            -v all="$(sort -g "$work/ratios" | awk '{ printf "%s%.2f", sep, $1; sep = " " }')" -v q="$predicted" -v x="$widest" 'BEGIN {
            printf "| %s | %d | %d %% | %.1f of %.1f | %d %% | %s | %.3f (%s) | %s |\n", n, b, 100 * s, a / 1048576, w / 1048576,
            100 * (a - (w - p)) / p, x, r, all, q }'
    done
done
