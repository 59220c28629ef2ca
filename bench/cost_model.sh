#!/usr/bin/env bash
# How well the analytic model, fitted to one model's nodes, predicts those of others on this machine:
#     ./bazelw build //tools:onstage && bench/cost_model.sh >bench/results/cost_model_cpu.md
# Every model is measured once; the times are then looked up while the profiles are compared.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
onstage=${ONSTAGE:-bazel-bin/tools/onstage}
threads=${THREADS:-1}
repetitions=${REPETITIONS:-50}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work

# name model batch
models=(
    "resnet18 tests/agreement/golden/resnet18/model.onnx 8"
    "densenet tests/agreement/families/densenet/model.onnx 4"
    "gpt_tied tests/agreement/golden/gpt_tied/model.onnx 4"
    "gpt2 tests/agreement/families/gpt2/model.onnx 4"
    "bert tests/agreement/families/bert/model.onnx 4"
    "mnist_cnn examples/mnist/mnist_cnn.onnx 64"
)

measure() { # MODEL BATCH OPTIONS...
    "$onstage" profile "$1" --batch "$2" --threads "$threads" --repetitions "$repetitions" "${@:3}"
}

# median, by time, sum: of the line that begins so
errors() {
    sed -nE "s/^$1.*: median error ([0-9.]+) %, by time ([0-9.]+) %, sum ([0-9.]+) times.*over ([0-9]+) operators/\1 \2 \3 \4/p"
}

cat <<END
# The analytic cost model on a CPU

Written by \`bench/cost_model.sh\` ($(date +%F)): $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1), $threads thread(s),
medians of $repetitions steps; load of the machine meanwhile: $(cut -d' ' -f1 /proc/loadavg) on $(nproc) processors.

Operators with the same shapes count once. Errors are relative: |predicted − measured| ÷ measured, the median over operators; by time: the median weighted
by the time that they take; sum: predicted ÷ measured, all operators together.

## Fitted to half of a model's operators, on the other half

| model | batch | nodes | step ms | nodes' sum ms | operators | median | by time | sum |
|---|---|---|---|---|---|---|---|---|
END
for line in "${models[@]}"; do
    read -r name model batch <<<"$line"
    measure "$model" "$batch" -o "$work/$name.json" >"$work/$name.txt"
    nodes=$(sed -nE 's/^([0-9]+) nodes, .*/\1/p' "$work/$name.txt")
    step=$(awk '/^whole step/ { print $3 }' "$work/$name.txt")
    sum=$(awk '/^all nodes/ { print $3 }' "$work/$name.txt")
    read -r median weighted total operators < <(errors "analytic model, fitted" <"$work/$name.txt")
    echo "| $name | $batch | $nodes | $step | $sum | $operators | $median % | $weighted % | $total |"
done

cat <<END

## Fitted to one model (half of its operators), on all operators of another

Each cell: median error, sum. The last row is the shipped profile \`cpu\`, which is conservative and not fitted.

END
printf '| fitted to |'
for line in "${models[@]}"; do printf ' %s |' "${line%% *}"; done
printf '\n|---|'
for _ in "${models[@]}"; do printf -- '---|'; done
printf '\n'
for profile in "${models[@]%% *}" cpu; do
    printf '| %s |' "$profile"
    file=$work/$profile.json
    [[ $profile == cpu ]] && file=cpu
    for line in "${models[@]}"; do
        read -r name model batch <<<"$line"
        if [[ $name == "$profile" ]]; then
            printf ' |'
            continue
        fi
        read -r median _ total _ < <(measure "$model" "$batch" --device-profile "$file" | errors "analytic model of device profile")
        printf ' %s %%, %s |' "$median" "$total"
    done
    printf '\n'
done
cat <<'END'

How to read it: these networks are small, most of their operators take a few microseconds, and the processors were shared with other programs. One curve for all
operators of a kind cannot know that one kernel is better than another; what a plan needs, the sum over a stage, is met better than single operators. A model
that is planned on the machine it was profiled on uses none of this: its nodes' own times are looked up (`onstage plan --profile`).
END
