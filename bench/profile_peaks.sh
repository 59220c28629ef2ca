#!/usr/bin/env bash
# Whether `onstage profile` measures peaks that nodes keep below: of every node the median of its share of its type's peak over
# several profiles, and of every model the node where that is highest. Ends with 1 where one is above 1.05.
#     ./bazelw build //tools:onstage && bench/profile_peaks.sh >bench/results/profile_peaks_cpu.md
# ROUNDS (10), REPETITIONS of a step (15), THREADS ("1 2"), PRECISIONS ("fp32 bf16"), VARIANTS of the CPU's kernels (the best
# two that the machine has).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
onstage=${ONSTAGE:-bazel-bin/tools/onstage}
threads=${THREADS:-1 2} rounds=${ROUNDS:-10} repetitions=${REPETITIONS:-15} precisions=${PRECISIONS:-fp32 bf16} limit=1.05
variants=${VARIANTS:-$(bench/variants.sh | tail -2)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name model batch
models=(
    "mnist_cnn examples/mnist/mnist_cnn.onnx 64"
    "resnet18 tests/agreement/golden/resnet18/model.onnx 8"
    "densenet tests/agreement/families/densenet/model.onnx 4"
    "char_gpt examples/shakespeare/char_gpt.onnx 8"
    "bert tests/agreement/families/bert/model.onnx 4"
)

# Of each node with FLOPs in the profile $1: its name, operator and FLOP/s, its type's peak, and the share, in tabs.
shares() {
    awk -F'\t' '
        function text(field) { sub(/^[^:]*:[[:space:]]*"?/, "", field); sub(/"?,?$/, "", field); return field }
        { line = $0; sub(/^[[:space:]]*/, "", line) }
        line ~ /^"(fp32|fp16|bf16|tf32)":/ { name = line; sub(/^"/, "", name); sub(/".*/, "", name); peak[name] = text(line) + 0 }
        line ~ /^"vector_flops":/ && vector == 0 { vector = text(line) + 0 }
        line ~ /"key":/ { split(text(line), word, " "); type = word[2] }
        line ~ /^"name":/ { node = text(line) }
        line ~ /^"operator":/ { operator = text(line) }
        line ~ /^"seconds":/ { seconds = text(line) + 0 }
        line ~ /^"flops":/ { flops = text(line) + 0 }
        line ~ /^"matrix":/ && flops > 0 && seconds > 0 {
            short = type ~ /^bfloat16/ ? "bf16" : type ~ /^float16/ ? "fp16" : "fp32"
            best = text(line) == "true" ? peak[short] : vector
            printf "%s\t%s\t%g\t%g\t%.4f\n", node, operator, flops / seconds, best, flops / seconds / best
        }' "$1"
}

# The node with the highest median share among all rounds in the files given.
highest() {
    cat "$@" | sort -t$'\t' -k1,1 -k5,5g | awk -F'\t' '
        function close_node() {
            if (count == 0) return
            middle = int((count + 1) / 2)
            if (share[middle] > most) { most = share[middle]; result = name "\t" operator "\t" rate[middle] "\t" peak[middle] "\t" most "\t" share[1] "\t" share[count] }
        }
        $1 != name { close_node(); count = 0; name = $1; operator = $2 }
        { ++count; rate[count] = $3; peak[count] = $4; share[count] = $5 }
        END { close_node(); print result }'
}

# The least and the most fp32 peak of the profiles given, in GFLOP/s.
spread() { grep -hoE "\"$1\":[[:space:]]*[0-9.e+]+" "${@:2}" | awk '{ print $NF / 1e9 }' | sort -g | sed -n '1p;$p' | xargs printf '%.1f to %.1f'; }

# The row of one model. Fails where a node is above the limit.
row() { # VARIANT THREADS PRECISION NAME MODEL BATCH
    local round node operator rate share least most
    rm -f "$work"/*
    for ((round = 0; round < rounds; ++round)); do
        ONSTAGE_CPU=$1 "$onstage" profile "$5" --batch "$6" --threads "$2" --precision "$3" --repetitions "$repetitions" \
            --no-cache -o "$work/$round.json" >"$work/$round.txt"
        shares "$work/$round.json" >"$work/$round.tsv"
    done
    IFS=$'\t' read -r node operator rate _ share least most < <(highest "$work"/*.tsv)
    printf '| %s | %s | %s | %s | %s | %s | %.1f | %.3f | %.2f, %.2f | %s |\n' "$1" "$2" "$3" "$4" "$node" "$operator" \
        "$(awk -v r="$rate" 'BEGIN { print r / 1e9 }')" "$share" "$least" "$most" "$(spread "$3" "$work"/*.json)"
    awk -v s="$share" -v l="$limit" 'BEGIN { exit s > l }'
}

cat <<END
# Peaks of a profile, and what nodes reach

Written by \`bench/profile_peaks.sh\` ($(date +%F)): $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1);
$rounds profiles of $repetitions steps each; load of the machine at the start: $(cut -d' ' -f1 /proc/loadavg) on $(nproc) processors.
Each row is the node of its model with the highest median share; none may be above $limit.

| variant | threads | precision | model | node | operator | GFLOP/s | share of the peak, median | least and most | the type's peak, least to most of all profiles |
|---|---|---|---|---|---|---|---|---|---|
END
status=0
for variant in $variants; do
    for count in $threads; do
        for precision in $precisions; do
            for line in "${models[@]}"; do
                read -r name model batch <<<"$line"
                row "$variant" "$count" "$precision" "$name" "$model" "$batch" || status=1
            done
        done
    done
done
exit "$status"
