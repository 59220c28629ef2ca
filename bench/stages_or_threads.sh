#!/usr/bin/env bash
# Two stages of one thread each, or one stage of two threads: does the simulator, by a profile of each way, take the faster one?
#     ./bazelw build //tools:onstage && bench/stages_or_threads.sh >bench/results/stages_or_threads_cpu.md
# In each of ROUNDS rounds both ways are measured, one is chosen, and both are trained, by turns for each model.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
rounds=${ROUNDS:-5} steps=${STEPS:-20}
# Two processors, as many as this is about, where the machine has more.
processors=$(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | awk -F- '{ for (i = $1; i <= $NF; ++i) print i }' | head -2 | paste -sd,)
[[ $processors == *,* ]] || { echo "two processors are needed" >&2; exit 1; }
on_two() { taskset -c "$processors" "$onstage" "$@"; }

# name, batch, micro-batches of both ways (-: one, and one for each stage)
models=("char_gpt|64|8" "char_gpt|32|-" "plain|64|8" "resnet|64|8" "bert|32|8" "mnist_cnn|64|-")

# Adds to simulated.*, trained.* (seconds of a step by one stage and by two) and taken (stages).
measure() { # BATCH MICRO_BATCHES
    local run=("$model" --batch "$1" "${data[@]}" "${common[@]}") stages
    [[ $2 == - ]] || run+=(--micro-batches "$2")
    for stages in 1 2; do
        on_two profile "${run[@]}" --stages $stages --repetitions 20 --no-cache -o "$work/$stages.json" >/dev/null
        on_two plan "${run[@]}" --stages $stages --profile "$work/$stages.json" -o "$work/plan.json" >/dev/null
        number step_seconds "$work/plan.json" >>"$work/simulated.$stages"
        on_two train "${run[@]}" --stages $stages --profile "$work/$stages.json" --steps "$steps" --log-json "$work/log.jsonl" >/dev/null 2>&1
        step_seconds "$work/log.jsonl" "$1" >>"$work/trained.$stages"
    done
    on_two plan "${run[@]}" --profile "$work/1.json,$work/2.json" | sed -nE 's/^([12]) stages? of .* by simulation; .*/\1/p' >>"$work/taken"
}

cat <<END
# Stages or threads

Written by \`bench/stages_or_threads.sh\` ($(date +%F)): $(machine); two processors: one stage of two threads, or two stages (1F1B) of one
thread each; $rounds rounds in which the nodes of both ways are measured, one way is chosen by \`--profile ONE,OTHER\`, and $steps steps of each are trained; medians;
$(load). Chosen: by how many of the rounds' profiles; right: in how many rounds it was the way that trained faster. Cost is the median of the chosen way's step ÷ the
faster one's. Without \`micro-batches\` one stage computes the batch at once, and two in halves.

| model | batch | micro-batches | simulated ms: threads | stages | trained ms: threads | stages | chosen | right | cost |
|---|---|---|---|---|---|---|---|---|---|
END
for line in "${models[@]}"; do
    IFS='|' read -r name batch micro_batches <<<"$line"
    choose "$name"
    rm -f "$work"/{simulated,trained}.* "$work/taken"
    for ((round = 0; round < rounds; ++round)); do measure "$batch" "$micro_batches"; done
    paste "$work/taken" "$work/trained.1" "$work/trained.2" | awk '{ print $($1 + 1) / ($2 < $3 ? $2 : $3) }' >"$work/cost"
    awk -v n="$name" -v b="$batch" -v m="${micro_batches/-/}" -v s1="$(median <"$work/simulated.1")" -v s2="$(median <"$work/simulated.2")" \
        -v t1="$(median <"$work/trained.1")" -v t2="$(median <"$work/trained.2")" -v taken="$(grep -c 2 "$work/taken" || true)" \
        -v right="$(grep -cx 1 "$work/cost" || true)" -v rounds="$rounds" -v cost="$(median <"$work/cost")" 'BEGIN {
            chosen = taken == rounds ? "stages" : taken == 0 ? "threads" : "stages in " taken " of " rounds
            printf "| %s | %d | %s | %.1f | %.1f | %.1f | %.1f | %s | %d of %d | %.2f |\n",
                n, b, m, 1e3 * s1, 1e3 * s2, 1e3 * t1, 1e3 * t2, chosen, right, rounds, cost }'
done
