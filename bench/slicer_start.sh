#!/usr/bin/env bash
# How long a pipeline takes to start, with and without forward parts in halves: layers that sleep, the times of the trace.
#     ./bazelw build //tests/rooms/timing:steps && bench/slicer_start.sh >bench/results/slicer_start.md
# The start is the time from the first stage's first forward part to the last stage's; of STEPS steps but for the first the shortest
# counts, of ROUNDS rounds the median. The bar is half of it with slices, within 5 %.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
steps=$PWD/bazel-bin/tests/rooms/timing/steps
rounds=${ROUNDS:-3} count=${STEPS:-6} slices=${SLICES:-2}
forward=${FORWARD:-40} input=${INPUT:-45} weight=${WEIGHT:-40}
low=0.475 high=0.525

# "STEP START" in seconds of one run.
run_once() { # STAGES SLICES
    "$steps" 1f1b "$1" --micro-batches $((2 * $1)) --slices "$2" --start 1 --steps "$count" --forward "$forward" --input "$input" \
        --weight "$weight" | awk '{ print $4, $6 }'
}

# Medians of the rounds: sets step and start, in seconds.
measure() { # STAGES SLICES
    : >"$work/rounds"
    for ((round = 0; round < rounds; ++round)); do run_once "$@" >>"$work/rounds"; done
    step=$(awk '{ print $1 }' "$work/rounds" | median)
    start=$(awk '{ print $2 }' "$work/rounds" | median)
}

cat <<END
# The start of a pipeline, with forward parts in halves

Written by \`bench/slicer_start.sh\` ($(date +%F)): $(machine); $(load).
A layer a stage sleeps $forward ms forward, $input ms for the gradient of its input, $weight ms for that of its weight, half of that for half the samples (\`tests/rooms/timing\`);
1F1B, twice as many micro-batches as stages, \`--slices $slices\`. The start is the time from the first stage's first forward part to the last stage's, in the trace: the shortest
of $((count - 1)) steps, the median of $rounds rounds. The bar: 0.5 within 5 %.

| stages | start, ms | sliced | ratio | step, ms | sliced |
|---|---|---|---|---|---|
END
outside=0
for stages in 4 8; do
    measure "$stages" 0
    whole=$start whole_step=$step
    measure "$stages" "$slices"
    ratio=$(awk "BEGIN { print $start / $whole }")
    awk -v n="$stages" -v a="$whole" -v b="$start" -v c="$whole_step" -v d="$step" \
        'BEGIN { printf "| %d | %.1f | %.1f | %.3f | %.1f | %.1f |\n", n, 1e3 * a, 1e3 * b, b / a, 1e3 * c, 1e3 * d }'
    awk -v r="$ratio" -v l="$low" -v h="$high" 'BEGIN { exit !(r >= l && r <= h) }' || outside=$((outside + 1))
done
printf '\n%d outside of the bar.\n' "$outside"
((outside == 0))
