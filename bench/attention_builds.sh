#!/usr/bin/env bash
# Attention forward and backward by two builds of the benchmark, alternating, for every variant given:
#     bench/attention_builds.sh OLD/bench NEW/bench
# ROUNDS (7), THREADS (1), SECONDS_A_CASE (0.1), VARIANTS ("v3 v4"; kernels/kernels.h). Times are the processor's, so that other work on the machine
# counts little; the ratio is the median over the rounds of new ÷ old (least, most).
set -euo pipefail
shopt -s inherit_errexit
[[ $# == 2 ]] || { sed -n '2,5s/^# \?//p' "$0" >&2; exit 1; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rounds=${ROUNDS:-7}
threads=${THREADS:-1}
read -ra variants <<<"${VARIANTS:-v3 v4}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for ((round = 0; round < rounds; ++round)); do
    for variant in "${variants[@]}"; do
        for operator in Attention AttentionGradient; do
            for build in "$1" "$2"; do
                # The second goes first in every other round.
                ((round % 2)) && if [[ $build == "$1" ]]; then build=$2; else build=$1; fi
                which=old
                [[ $build == "$2" ]] && which=new
                ONSTAGE_CPU=$variant OMP_NUM_THREADS=$threads OMP_WAIT_POLICY=passive "$build" "$operator" --threads "$threads" --seconds "${SECONDS_A_CASE:-0.1}" --processor-time |
                    awk -v variant="$variant" -v round="$round" -v which="$which" '{ print variant, round, which, $1, $2, $4 }'
            done
        done
    done
done >"$work/times"

echo "| variant | operator/case | before µs | after µs | ratio | before GFLOP/s | after GFLOP/s |"
echo "|---|---|---|---|---|---|---|"
awk -f "$here/attention_builds.awk" "$work/times"
