#!/usr/bin/env bash
# The largest batch under one cap, four asynchronous stages of one thread each: planned, and then really trained.
#     ./bazelw build //tools:onstage && bench/largest_batch.sh >bench/results/largest_batch_cpu.md
# The cap is what PipeDream's split takes that keeps everything, with ROWS samples in a micro-batch.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
rows=${ROWS:-4} steps=${STEPS:-4} micro_batches=4

models=(bert resnet plain)
# title, partition, memory strategy
methods=("PipeDream|pipedream|none" "PipeDream, everything computed again|pipedream|recompute-all" "vPipe|vpipe|vpipe-layers" "DawnPiper|dawnpiper|capuchin" "ours|auto|capuchin")

# Sets trained (steps that were), taken (bytes of the largest arena), rate.
train() { # BATCH OPTIONS...
    trained=0 taken=- rate=-
    "$onstage" train "${run[@]}" --batch "$@" --rows "$(whole_batches "$1")" --steps "$steps" --log-json "$work/log.jsonl" >"$work/train.txt" 2>&1 || return 0
    trained=$(wc -l <"$work/log.jsonl")
    taken=$(awk '$1 ~ /^[0-3]$/ && $7 == "%" { print $12, $13 }' "$work/train.txt" |
        awk '{ b = $1 * ($2 == "GiB" ? 1073741824 : $2 == "MiB" ? 1048576 : $2 == "KiB" ? 1024 : 1); if (b > m) { m = b; t = $1 " " $2 } } END { print t }')
    rate=$(awk -v b="$1" -v s="$(step_seconds "$work/log.jsonl" "$1")" 'BEGIN { printf "%.0f", b / s }')
}

cat <<END
# The largest batch under one cap

Written by \`bench/largest_batch.sh\` ($(date +%F)): $(machine); four stages of one thread each, $micro_batches micro-batches,
\`pipedream-async\`; $(load).
The cap is what PipeDream's split takes, everything kept, with $rows samples in a micro-batch. \`onstage plan --max-batch\` finds the batch, and
\`onstage train\` runs $steps steps of its plan under the cap, which the device enforces. The bar: ours 7 times PipeDream's.

| model | method | cap | largest batch | times PipeDream's | trained steps | largest arena | samples a second |
|---|---|---|---|---|---|---|---|
END
for name in "${models[@]}"; do
    choose "$name"
    run=("$model" "${data[@]}" "${common[@]}" --threads 1 --stages 4 --micro-batches "$micro_batches" --pipeline pipedream-async)
    "$onstage" plan "${run[@]}" --batch $((rows * micro_batches)) --partition pipedream --memory-strategy none -o "$work/plan.json" >/dev/null
    cap=$(largest arena_bytes "$work/plan.json") first=0
    for line in "${methods[@]}"; do
        IFS='|' read -r title partition strategy <<<"$line"
        plan=(--memory "$cap" --partition "$partition" --memory-strategy "$strategy")
        if ! "$onstage" plan "${run[@]}" "${plan[@]}" --max-batch -o "$work/plan.json" >/dev/null 2>"$work/refusal"; then
            echo "| $name | $title | $cap | none | | $(tail -1 "$work/refusal") | | |"
            continue
        fi
        batch=$(number batch "$work/plan.json")
        ((first > 0)) || first=$batch
        train "$batch" --memory "$cap" --plan "$work/plan.json"
        awk -v n="$name" -v t="$title" -v c="$cap" -v b="$batch" -v f="$first" -v s="$trained" -v m="$taken" -v r="$rate" 'BEGIN {
            printf "| %s | %s | %.1f MiB | %d | %.1f | %d | %s | %s |\n", n, t, c / 1048576, b, b / f, s, m, r }'
    done
done
