#!/usr/bin/env bash
# Which share of the bytes that one stage with one compute thread copies to the host and back is hidden behind computing:
#     ./bazelw build //tools:onstage && bench/hidden_copies.sh >bench/results/hidden_copies_cpu.md
# Read from the traces of training and of the plan's simulation by bench/hidden_copies.awk.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
rounds=${ROUNDS:-5} steps=${STEPS:-20}

# name, batch
models=("char_gpt|32" "bert|8" "plain|32" "resnet|64")
shares=(0.75 0.5)

plan() { # OPTIONS...
    "$onstage" plan "${run[@]}" --profile "$work/profile.json" "$@" -o "$work/plan.json" >/dev/null 2>"$work/refusal"
}

cat <<END
# Copies to the host, hidden behind computing

Written by \`bench/hidden_copies.sh\` ($(date +%F)): $(machine); one stage, one compute thread;
$rounds rounds of $steps steps under a cap; $(load).
The cap leaves that share of what activations and gradients take without one; what does not fit is copied or computed again, as the
plan has it. Planned: the share that the plan's simulation hides. The bar: 80 % where the plan hides as much. Waiting: time of a step in which the stage
computes nothing.

| model | batch | asked | copied a step (MiB) | hidden, planned | hidden, trained | least, most | waiting |
|---|---|---|---|---|---|---|---|
END
for line in "${models[@]}"; do
    IFS='|' read -r name batch <<<"$line"
    choose "$name"
    run=("$model" --batch "$batch" "${data[@]}" "${common[@]}" --threads 1)
    "$onstage" profile "${run[@]}" --repetitions 20 --no-cache -o "$work/profile.json" >/dev/null
    plan
    whole=$(number arena_bytes "$work/plan.json") peak=$(number running "$work/plan.json")
    for share in "${shares[@]}"; do
        cap=$(awk -v whole="$whole" -v peak="$peak" -v share="$share" 'BEGIN { printf "%d", whole - peak + share * peak }')
        plan --memory "$cap" || { echo "| $name | $batch | $share | | | refused: $(tail -1 "$work/refusal") | | |" && continue; }
        "$onstage" simulate "$work/plan.json" --trace "$work/simulated.json" >/dev/null
        read -r _ planned < <(awk -f bench/hidden_copies.awk "$work/simulated.json")
        rm -f "$work/hidden" "$work/waiting"
        for ((round = 0; round < rounds; ++round)); do
            "$onstage" train "${run[@]}" --rows "$(whole_batches "$batch")" --memory "$cap" --plan "$work/plan.json" --steps "$steps" --trace "$work/trace.json" >"$work/train.txt"
            read -r copied share_hidden < <(awk -f bench/hidden_copies.awk "$work/trace.json")
            echo "$share_hidden" >>"$work/hidden"
            awk '$1 == 0 && $7 == "%" { print $8 }' "$work/train.txt" >>"$work/waiting"
        done
        awk -v n="$name" -v b="$batch" -v s="$share" -v c="$copied" -v all="$steps" \
            -v p="$planned" -v h="$(median <"$work/hidden")" -v l="$(sort -g "$work/hidden" | head -1)" \
            -v m="$(sort -g "$work/hidden" | tail -1)" -v w="$(median <"$work/waiting")" 'BEGIN {
            printf "| %s | %d | %d %% | %.1f | %.0f %% | %.1f %% | %.1f, %.1f %% | %s %% |\n", n, b, 100 * s, c / all, 100 * p, 100 * h,
            100 * l, 100 * m, w }'
    done
done
