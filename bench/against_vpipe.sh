#!/usr/bin/env bash
# Samples a second of our plan and of vPipe's under the same cap and batch, two stages on two cores, by turns:
#     ./bazelw build //tools:onstage && bench/against_vpipe.sh >bench/results/against_vpipe_cpu.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
rounds=${ROUNDS:-7} steps=${STEPS:-30}

# name, batch, micro-batches, schedule
cases=("char_gpt|64|8|1f1b" "char_gpt|64|8|gpipe" "char_gpt|64|4|pipedream-async" "bert|32|4|pipedream-async" "bert|32|4|1f1b"
    "resnet|128|8|1f1b" "resnet|128|4|pipedream-async" "plain|64|8|1f1b")
shares=(0.6 0.4)
ours=(--partition auto --memory-strategy capuchin)
vpipe=(--partition vpipe --memory-strategy vpipe-layers)

plan() { # FILE OPTIONS...
    "$onstage" plan "${run[@]}" --profile "$work/profile.json" "${@:2}" -o "$1" >/dev/null 2>"$work/refusal"
}
train() { # PLAN CAP BATCH
    "$onstage" train "${run[@]}" --rows "$(whole_batches "$3")" --memory "$2" --plan "$1" --steps "$steps" --log-json "$work/log.jsonl" >"$work/train.txt"
    step_seconds "$work/log.jsonl" "$3"
}

cat <<END
# Our plan and vPipe's

Written by \`bench/against_vpipe.sh\` ($(date +%F)): $(machine); two stages, one thread each; nodes measured before;
$rounds rounds of $steps steps with each plan, alternating; the median of the ratios of their median steps counts; $(load).
The cap is a share of what the larger stage of our plan takes without one, or the least that vPipe's plan (layers, and swapping or computing again
whole layers) can be made for, where that is more.

| model | batch | schedule | cap (MiB) | of unlimited | ours, samples/s | vPipe's | ours ÷ vPipe's | least, most |
|---|---|---|---|---|---|---|---|---|
END
for line in "${cases[@]}"; do
    IFS='|' read -r name batch micro_batches schedule <<<"$line"
    choose "$name"
    run=("$model" --batch "$batch" "${data[@]}" "${common[@]}" --threads 1 --stages 2 --micro-batches "$micro_batches" --pipeline "$schedule")
    "$onstage" profile "${run[@]}" --repetitions 20 --no-cache -o "$work/profile.json" >/dev/null
    plan "$work/ours.json" "${ours[@]}"
    whole=$(largest arena_bytes "$work/ours.json")
    for share in "${shares[@]}"; do
        cap=$(awk -v whole="$whole" -v share="$share" 'BEGIN { printf "%d", whole * share }')
        if ! plan "$work/vpipe.json" "${vpipe[@]}" --memory "$cap"; then
            cap=$(grep -oE -- '--memory [0-9]+' "$work/refusal" | grep -oE '[0-9]+')
            plan "$work/vpipe.json" "${vpipe[@]}" --memory "$cap"
        fi
        plan "$work/ours.json" "${ours[@]}" --memory "$cap"
        rm -f "$work"/{ours,vpipe,ratios}.txt
        for ((round = 0; round < rounds; ++round)); do
            mine=$(train "$work/ours.json" "$cap" "$batch")
            theirs=$(train "$work/vpipe.json" "$cap" "$batch")
            echo "$mine" >>"$work/ours.txt"
            echo "$theirs" >>"$work/vpipe.txt"
            awk -v a="$mine" -v b="$theirs" 'BEGIN { print b / a }' >>"$work/ratios.txt"
        done
        awk -v n="$name" -v b="$batch" -v k="$micro_batches" -v s="$schedule" -v c="$cap" -v w="$whole" -v o="$(median <"$work/ours.txt")" \
            -v v="$(median <"$work/vpipe.txt")" -v r="$(median <"$work/ratios.txt")" -v l="$(sort -g "$work/ratios.txt" | head -1)" \
            -v m="$(sort -g "$work/ratios.txt" | tail -1)" 'BEGIN {
            printf "| %s | %d = %d · %d | %s | %.1f | %d %% | %.0f | %.0f | %.3f | %.3f, %.3f |\n", n, b, k, b / k, s, c / 1048576, 100 * c / w,
            b / o, b / v, r, l, m }'
    done
done
