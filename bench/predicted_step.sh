#!/usr/bin/env bash
# How near the planner's step time comes to a real training step on this machine, one stage, from a measured profile:
#     ./bazelw build //tools:onstage && bench/predicted_step.sh >bench/results/predicted_step_cpu.md
# Profile and training alternate, ROUNDS times; the median of their ratios counts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
onstage=${ONSTAGE:-bazel-bin/tools/onstage}
threads=${THREADS:-1} rounds=${ROUNDS:-5} steps=${STEPS:-60}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# folder, input, batch, options
models=(
    "tests/golden/lenet image 16"
    "tests/golden/resnet18 image 8"
    "tests/golden/gpt_tied tokens 4"
    "tests/families/densenet image 4"
    "tests/families/mobilenet_v2 image 4"
    "tests/families/bert input_ids 4"
    "tests/families/vit image 4"
)

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

number() { grep -oE "\"$1\":[[:space:]]*[0-9.e+-]+" "$2" | grep -oE '[0-9.e+-]+$'; }

# Seconds of a step as planned from a fresh profile; as trained, the median of the steps' own times.
predict() { # MODEL BATCH
    "$onstage" profile "$1" --batch "$2" --loss cross_entropy --threads "$threads" --repetitions 30 --no-cache -o "$work/profile.json" >"$work/profile.txt"
    "$onstage" plan "$1" --batch "$2" --loss cross_entropy --threads "$threads" --profile "$work/profile.json" -o "$work/plan.json" >"$work/plan.txt"
    number step_seconds "$work/plan.json" | head -1
}
train() { # MODEL BATCH INPUT TARGET
    "$onstage" train "$1" --input "$3" --target "$4" --batch "$2" --loss cross_entropy --threads "$threads" --steps "$steps" \
        --no-shuffle --trace "$work/trace.json" --log-json "$work/log.jsonl" >"$work/train.txt"
    number samples_per_s <(tail -1 "$work/log.jsonl") | awk -v batch="$2" '{ print batch / $1 }'
}

cat <<END
# A step's time, predicted and real

Written by \`bench/predicted_step.sh\` ($(date +%F)): $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1), $threads thread(s);
$rounds rounds of a profile of 30 steps and $steps steps of training, alternating; load of the machine at the start: $(cut -d' ' -f1 /proc/loadavg) on $(nproc) processors.

| model | batch | predicted ms | trained ms | predicted ÷ trained, median |
|---|---|---|---|---|
END
for line in "${models[@]}"; do
    read -r folder input batch <<<"$line"
    data=$folder/$input.npy
    [[ -f $data ]] || data=$folder/input.npy
    : >"$work/predicted" >"$work/trained" >"$work/ratios"
    for ((round = 0; round < rounds; ++round)); do
        predicted=$(predict "$folder/model.onnx" "$batch")
        trained=$(train "$folder/model.onnx" "$batch" "$input=$data" "$folder/target.npy")
        echo "$predicted" >>"$work/predicted"
        echo "$trained" >>"$work/trained"
        awk -v p="$predicted" -v t="$trained" 'BEGIN { print p / t }' >>"$work/ratios"
    done
    printf '| %s | %s | %.3f | %.3f | %.3f |\n' "${folder##*/}" "$batch" "$(awk '{ print 1e3 * $1 }' "$work/predicted" | median)" \
        "$(awk '{ print 1e3 * $1 }' "$work/trained" | median)" "$(median <"$work/ratios")"
done
