#!/usr/bin/env bash
# A language model of 32,768 words in a pipeline of two devices, its vocabulary whole and in shards:
#     python3 bench/models/export_models.py words
#     ./bazelw build //tools:onstage && bench/vocabulary_shards.sh >bench/results/vocabulary_shards_cpu.md
# A device is one thread. In each of ROUNDS rounds the nodes are measured, both plans are made from these measures, and STEPS steps
# are trained with each, alternating. Of a run's steps the median counts, of the rounds' ratios the median again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
rounds=${ROUNDS:-5} steps=${STEPS:-12} batch=${BATCH:-8} shards=${SHARDS:-2 4}
choose words
if [[ ! -f $model ]]; then
    echo "$model is not there: python3 bench/models/export_models.py words" >&2
    exit 1
fi
settings=("$model" "${common[@]}" --batch "$batch" --micro-batches 4)

sharding() { if [[ $1 != whole ]]; then echo "--vocabulary-shards $1"; fi; } # whole|SHARDS

# Makes and trains the plan of one way to hold the vocabulary, and keeps its simulated and its trained seconds, what the
# plan told, and the last loss.
run_once() { # whole|SHARDS
    local way more schedule=()
    way=$1
    if [[ $way == whole ]]; then schedule=(--pipeline 1f1b); fi # shards have schedules of their own
    read -ra more <<<"$(sharding "$way")"
    "$onstage" profile "${settings[@]}" "${more[@]}" "${data[@]}" --threads 1 --repetitions 5 --no-cache -o "$work/$way.profile" >/dev/null
    "$onstage" plan "${settings[@]}" "${more[@]}" --stages 2 "${schedule[@]}" --profile "$work/$way.profile" -o "$work/$way.plan" >"$work/$way.told"
    "$onstage" train "${settings[@]}" "${more[@]}" "${data[@]}" --threads 1 --plan "$work/$way.plan" --steps "$steps" \
        --log-json "$work/log" >/dev/null
    number step_seconds "$work/$way.plan" >>"$work/$way.simulated"
    sed -n 's/.*"step_seconds":\([0-9.e+-]*\).*/\1/p' "$work/log" | tail -n +3 | median >>"$work/$way.trained"
    sed -n 's/.*"loss":\([0-9.e+-]*\).*/\1/p' "$work/log" | tail -1 >"$work/$way.loss"
}

# "DEVICE 0, DEVICE 1": what the plan says they take; where each has one stage, its stage has the line.
memory_of() { # WAY
    awk '/^(stage|device) +(nodes|memory)/ { column = $1 == "stage" ? 5 : 2; text = ""; next }
        column && NF < 4 { column = 0 }
        column { text = text (text ? ", " : "") $column " " $(column + 1) }
        END { print text }' "$work/$1.told"
}

cat <<END
# A vocabulary in shards, on two cores

Written by \`bench/vocabulary_shards.sh\` ($(date +%F)): $(machine); 2 layers of 192 before 32,768 words, 64 tokens, batch $batch in 4 micro-batches, AdamW;
two devices of one thread each, $steps steps a run, $rounds rounds; medians; $(load).
Whole: the table in the first stage and the head in the last one, by 1F1B, as DawnPiper cuts them. In K shards: \`--vocabulary-shards K\`. Whole ÷ this: a step with the
vocabulary whole ÷ one with it in shards, of the same round. The last loss is that of the last step: the same sums in other orders.

| vocabulary | simulated ms | trained ms | simulated ÷ trained | whole ÷ this | least, most | memory of the devices | last loss |
|---|--:|--:|--:|--:|---|---|--:|
END
read -ra ways <<<"whole $shards"
for ((round = 0; round < rounds; ++round)); do
    for way in "${ways[@]}"; do run_once "$way"; done
done
for way in "${ways[@]}"; do
    paste "$work/$way.simulated" "$work/$way.trained" | awk '{ print $1 / $2 }' >"$work/$way.predicted"
    paste "$work/whole.trained" "$work/$way.trained" | awk '{ print $1 / $2 }' >"$work/$way.gain"
    printf '| %s | %.1f | %.1f | %.3f | %.2f | %.2f, %.2f | %s | %s |\n' "$(if [[ $way == whole ]]; then echo whole; else echo "in $way shards"; fi)" \
        "$(median <"$work/$way.simulated" | awk '{ print 1e3 * $1 }')" "$(median <"$work/$way.trained" | awk '{ print 1e3 * $1 }')" \
        "$(median <"$work/$way.predicted")" "$(median <"$work/$way.gain")" "$(sort -g "$work/$way.gain" | head -1)" \
        "$(sort -g "$work/$way.gain" | tail -1)" "$(memory_of "$way")" "$(cat "$work/$way.loss")"
done
