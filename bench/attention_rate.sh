#!/usr/bin/env bash
# Attention's rate on one thread, forward and backward, against the matrix products of the same shapes, for every variant of the
# CPU's kernels that this machine has (kernels/kernels.h):
#     ./bazelw build //tests/rooms/kernels:bench //tools:onstage && bench/attention_rate.sh >bench/results/attention_rate_cpu.md
# ROUNDS (5) rounds: in each, both and their products one after the other.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bench=${BENCH:-bazel-bin/tests/rooms/kernels/bench}
rounds=${ROUNDS:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t variants < <(bench/variants.sh)
((${#variants[@]})) || exit 1
for variant in "${variants[@]}"; do
    for ((round = 0; round < rounds; ++round)); do
        for operator in Attention MatMulTransposed AttentionGradient MatMul; do
            ONSTAGE_CPU=$variant OMP_NUM_THREADS=1 "$bench" "$operator" --threads 1 |
                awk -v variant="$variant" -v round="$round" '{ print variant, round, $1, $2 }'
        done
    done
done >"$work/times"

cat <<END
# Attention against the products of its shapes

Written by \`bench/attention_rate.sh\` ($(date +%F)): $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1), one thread, $rounds rounds;
load of the machine at the start: $(cut -d' ' -f1 /proc/loadavg) on $(nproc) processors.
Rates are GFLOP/s of products alone: two of each pair of a query and a key that it sees forward, five backward; softmax and its gradient
cost time and count nothing. Products: oneDNN's batched q kᵀ and p v of that batch, those heads, that time and that size of a head, whole
matrices also where attention is causal. Ratio: median of the rounds' (least, most). The bar: 0.5.

| variant | case | products | forward | ratio | backward | ratio |
|---|---|---|---|---|---|---|
END
awk -f bench/attention_rate.awk "$work/times"
