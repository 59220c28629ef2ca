#!/usr/bin/env bash
# How near two stages on two cores, one thread each, come to what the simulator says of them:
#     ./bazelw build //tools:onstage && bench/pipeline_efficiency.sh >bench/results/pipeline_efficiency_cpu.md
# In each of ROUNDS rounds nodes are measured, the plan is simulated and trained, by turns for each model and schedule.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
rounds=${ROUNDS:-7} steps=${STEPS:-40} micro_batches=8

# name, batch
models=("char_gpt|64" "plain|64")
schedules=(gpipe 1f1b)

# Sets predicted, trained (seconds of a step) and the times of a stage's micro-batch.
measure() { # BATCH SCHEDULE
    local run=("$model" --batch "$1" "${data[@]}" "${common[@]}" --threads 1 --stages 2 --micro-batches "$micro_batches" --pipeline "$2")
    "$onstage" profile "${run[@]}" --repetitions 20 --no-cache -o "$work/profile.json" >/dev/null
    "$onstage" plan "${run[@]}" --profile "$work/profile.json" -o "$work/plan.json" >/dev/null
    "$onstage" train "${run[@]}" --plan "$work/plan.json" --steps "$steps" --log-json "$work/log.jsonl" >"$work/train.txt"
    predicted=$(number step_seconds "$work/plan.json")
    trained=$(step_seconds "$work/log.jsonl" "$1")
    # Stage, micro-batch predicted and measured with their units, idle share, …
    awk 'function ms(x, u) { return u == "s" ? 1e3 * x : u == "us" ? x / 1e3 : x }
        $1 ~ /^[01]$/ && $7 == "%" { print ms($4, $5) / ms($2, $3) }' "$work/train.txt" | sort -g | tail -1 >>"$work/computing.$2"
}

cat <<END
# Efficiency of a pipeline on two cores

Written by \`bench/pipeline_efficiency.sh\` ($(date +%F)): $(machine); two stages, one thread each, $micro_batches micro-batches;
$rounds rounds in which nodes are measured on one core, the plan is simulated, and $steps steps are trained; medians; $(load).
Efficiency is the simulator's step ÷ the trained one, median of the rounds' ratios (the bar: 90 %). Computing is what the slower stage's
nodes took beside the other stage ÷ what they took when they were measured alone: what the two cores cost each other.

| model | batch | schedule | simulated ms | trained ms | efficiency | least, most | computing |
|---|---|---|---|---|---|---|---|
END
for line in "${models[@]}"; do
    IFS='|' read -r name batch <<<"$line"
    choose "$name"
    rm -f "$work"/{predicted,trained,ratios,computing}.*
    for ((round = 0; round < rounds; ++round)); do
        for schedule in "${schedules[@]}"; do
            measure "$batch" "$schedule"
            echo "$predicted" >>"$work/predicted.$schedule"
            echo "$trained" >>"$work/trained.$schedule"
            awk -v p="$predicted" -v t="$trained" 'BEGIN { print p / t }' >>"$work/ratios.$schedule"
        done
    done
    for schedule in "${schedules[@]}"; do
        awk -v n="$name" -v b="$batch" -v s="$schedule" -v p="$(median <"$work/predicted.$schedule")" -v t="$(median <"$work/trained.$schedule")" \
            -v r="$(median <"$work/ratios.$schedule")" -v l="$(sort -g "$work/ratios.$schedule" | head -1)" \
            -v m="$(sort -g "$work/ratios.$schedule" | tail -1)" -v c="$(median <"$work/computing.$schedule")" 'BEGIN {
            printf "| %s | %d | %s | %.1f | %.1f | %.1f %% | %.1f, %.1f %% | %.2f |\n", n, b, s, 1e3 * p, 1e3 * t, 100 * r, 100 * l, 100 * m, c }'
    done
done
