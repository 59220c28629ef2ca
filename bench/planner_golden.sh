#!/usr/bin/env bash
# How far dawnpiper and auto are from exact on the golden models, as a Markdown table. After
# ./bazelw build //tools:onstage, from the root of the repository: bench/planner_golden.sh > bench/results/planner_golden_gap.md
set -euo pipefail

onstage=${ONSTAGE:-bazel-bin/tools/onstage}
profile=a100-40gb
reserve=$(sed -n 's/.*"reserve_bytes":[[:space:]]*\([0-9]*\).*/\1/p' "planner/cost/profiles/$profile.json")
plan=$(mktemp) text=$(mktemp)
trap 'rm -f "$plan" "$text"' EXIT

# The first number of this name in the plan; those of stages follow the plan's own.
field() { sed -n "s/.*\"$1\":[[:space:]]*\([0-9.e+-]*\).*/\1/p" "$plan"; }

# Bottleneck seconds of strategy $1, or "refused"; the remaining arguments are the command's. Where auto chose by the step,
# those of the split that it would have chosen by the bottleneck.
bottleneck() {
    local strategy=$1 incumbent
    shift
    if "$onstage" plan "$@" --partition "$strategy" -o "$plan" > "$text" 2>&1; then
        incumbent=$(sed -n 's/.*slowest stage is fastest (\([0-9.e+-]*\) ms.*/\1/p' "$text")
        if [[ -n $incumbent ]]; then awk -v r="$incumbent" 'BEGIN { printf "%.9g", r / 1e3 }'; else field bottleneck_seconds | head -n 1; fi
    else
        echo refused
    fi
}

gap() { # of $1 to $2, in per cent
    if [[ $1 == refused ]]; then echo refused; else awk -v a="$1" -v b="$2" 'BEGIN { g = 100 * (a / b - 1); printf "%.3f", (g > -5e-4 && g < 0 ? 0 : g) }'; fi
}

cat << 'END'
# dawnpiper and auto against exact on the golden models

`bench/planner_golden.sh`: costs of the analytic model (a100-40gb), 1F1B, the golden run's batch as micro-batch, as many
micro-batches as stages. The cap is a share of the largest stage's memory in the plan without a cap, after the device's reserve; capuchin.
All by the slowest stage, also where `auto` then takes a split with a faster step. Below 0: another order of the nodes.

| model | stages | cap | exact µs | dawnpiper slower % | auto slower % |
|---|---|---|---|---|---|
END
for folder in tests/agreement/golden/*/; do
    model=$(basename "$folder")
    [[ -f $folder/model.onnx ]] || continue
    samples=$(sed -n 's/^ "batch": \([0-9]*\).*/\1/p' "$folder/golden.json")
    loss=$(sed -n 's/^ "loss": "\([a-z0-9_]*\)".*/\1/p' "$folder/golden.json")
    for stages in 2 4; do
        arguments=("$folder/model.onnx" --batch $((samples * stages)) --loss "$loss" --stages "$stages"
            --device-profile "$profile")
        exact=$(bottleneck exact "${arguments[@]}")
        [[ $exact != refused ]] || { echo "$model: no plan" >&2; exit 1; }
        largest=$(field memory_bytes | sort -n | tail -n 1)
        for share in 100 85 70; do
            capped=("${arguments[@]}" --memory $((reserve + largest * share / 100)))
            exact=$(bottleneck exact "${capped[@]}")
            if [[ $exact == refused ]]; then
                echo "| $model | $stages | $share % | refused | $(bottleneck dawnpiper "${capped[@]}") | $(bottleneck auto "${capped[@]}") |"
                continue
            fi
            echo "| $model | $stages | $share % | $(awk -v s="$exact" 'BEGIN { printf "%.2f", 1e6 * s }') |" \
                "$(gap "$(bottleneck dawnpiper "${capped[@]}")" "$exact") | $(gap "$(bottleneck auto "${capped[@]}")" "$exact") |"
        done
    done
done
