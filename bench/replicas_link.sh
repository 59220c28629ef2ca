#!/usr/bin/env bash
# Replicas on two hosts with a narrow link between them: how much of the sum over them lies beside the backward part.
#     ./bazelw build //tests/rooms/timing:steps //tests/system/mpi:all && bench/replicas_link.sh >bench/results/replicas_link.md
# Layers sleep; the hosts are network namespaces of this machine, whose link takes RATE bytes a second each way. Of a run's steps the
# median counts, of ROUNDS rounds the median again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
steps=$PWD/bazel-bin/tests/rooms/timing/steps
rounds=${ROUNDS:-5} count=${STEPS:-8} rate=${RATE:-85e6} delay=0.1 latency=0.3
hidden_bar=0.8 low=0.9 high=1.1

# "PLANNED MEASURED" of a step, in seconds.
alone() { "$steps" 1f1b 1 "${layers[@]}" "$@" | awk '{ print $3, $4 }'; }
together() {
    tests/system/mpi/namespaces.sh --hosts 2 --delay "$delay" --rate "$rate" -- "$steps" 1f1b 1 "${layers[@]}" --latency "$latency" --bandwidth "$rate" \
        --eager 32768 --replicas 2 --transport mpi "$@" 2>"$work/stderr" | awk '{ print $3, $4 }'
}
in_ms() { awk '{ printf "%.0f", 1e3 * $1 }'; }
column() { awk -v n="$1" '{ print $n }' "$work/rounds" | median; }

if ! why=$(tests/system/mpi/namespaces.sh --hosts 2 -- true 2>/dev/null); then
    echo "${why:-not run}"
    exit 1
fi
cat <<END
# The sum over replicas, beside the backward part

Written by \`bench/replicas_link.sh\` ($(date +%F)): $(machine); $(load).
Two replicas on two hosts (network namespaces), $rate bytes a second each way between them; layers sleep ($rounds rounds, $((count - 1)) steps each; medians).
The sum alone is a step whose layers take next to no time, less the same step without replicas. Hidden is 1 - (step - step without replicas) ÷ sum
(the bar: $hidden_bar where the sum is 30 % of a step that hides nothing); the plan's step is the one that \`onstage plan\` predicts (the bar: $low to $high).

| layers | weights each | computing ms | sum alone ms | of both | step ms | hidden | planned ms | measured ÷ planned |
|---|---|---|---|---|---|---|---|---|
END
missed=0
for line in "48|131072|5" "12|524288|20" "96|65536|2.5"; do
    IFS='|' read -r number columns sleep <<<"$line"
    layers=(--layers "$number" --columns "$columns" --micro-batches 1 --steps "$count")
    busy=(--forward "$sleep" --input "$sleep" --weight "$sleep") idle=(--forward 0.01 --input 0.01 --weight 0.01)
    : >"$work/rounds"
    for ((round = 0; round < rounds; ++round)); do
        read -r _ computing < <(alone "${busy[@]}")
        read -r planned step < <(together "${busy[@]}")
        read -r _ nothing < <(alone "${idle[@]}")
        read -r _ sum < <(together "${idle[@]}")
        echo "$computing $planned $step $nothing $sum"
    done | awk '{ s = $5 - $4; print $1, s, s / ($1 + s), $3, 1 - ($3 - $1) / s, $2, $3 / $2 }' >"$work/rounds"
    hidden=$(column 5) ratio=$(column 7)
    printf '| %s | %s | %s | %s | %.0f %% | %s | %.0f %% | %s | %.3f |\n' "$number" "$columns" "$(column 1 | in_ms)" "$(column 2 | in_ms)" \
        "$(column 3 | awk '{ print 100 * $1 }')" "$(column 4 | in_ms)" "$(awk -v h="$hidden" 'BEGIN { print 100 * h }')" "$(column 6 | in_ms)" "$ratio"
    awk -v h="$hidden" -v r="$ratio" -v bar="$hidden_bar" -v low="$low" -v high="$high" 'BEGIN { exit !(h >= bar && r >= low && r <= high) }' ||
        missed=$((missed + 1))
done
printf '\n%d outside of the bars.\n' "$missed"
((missed == 0))
