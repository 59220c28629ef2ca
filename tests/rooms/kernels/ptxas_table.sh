#!/usr/bin/env bash
# What ptxas said of our kernels, as a page: of every kernel's variants (types, groups of threads) the most of each.
#   ./bazelw run --config=cuda //tests/rooms/kernels:ptxas_table > bench/results/ptxas_sm80_sm90a.md
set -euo pipefail

if (($# == 0)); then
    echo "ptxas_table: this build has no CUDA (--config=cuda)" >&2
    exit 1
fi

# Lines "KERNEL ARCHITECTURE REGISTERS SHARED STACK SPILLED", the kernel without its namespaces, types and arguments.
read_reports() {
    awk '
        /Compiling entry function/ { kernel = $7; architecture = $9; gsub("\047", "", kernel); gsub("\047", "", architecture) }
        /bytes stack frame/ { stack = $1; spilled = $5 + $9 }
        /Used [0-9]+ registers/ {
            shared = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART, RLENGTH) + 0 : 0
            print architecture, $5, shared, stack, spilled, kernel
        }
    ' "$@" | c++filt | awk '{
        facts = $2 " " $3 " " $4 " " $5
        name = $0
        for (i = 0; i < 5; ++i) sub(/^[^ ]+ /, "", name)
        gsub(/\(anonymous namespace\)::/, "", name)
        sub(/^void /, "", name)
        sub(/[<(].*/, "", name)
        sub(/^ons::/, "", name)
        print name, $1, facts
    }'
}

echo "# Our CUDA kernels, as ptxas compiled them"
echo
echo "\`./bazelw run --config=cuda //tests/rooms/kernels:ptxas_table\`, $(date -u +%F), $(nvcc --version 2>/dev/null | sed -nE 's/.*(release [0-9.]+).*/CUDA \1/p' || true)"
echo
echo "Of all variants of a kernel, the most. Nothing is spilled into local memory, which \`//tests/rooms/kernels:ptxas_test\` asks for; a stack is"
echo "the table by which sines of large numbers are computed."
echo
echo "| kernel | variants | registers sm_80 | sm_90a | shared memory, bytes | stack, bytes | spilled, bytes |"
echo "|---|---|---|---|---|---|---|"
read_reports "$@" | sort | awk '
    function put() {
        if (name != "") print "| " name " | " variants " | " most["sm_80"] " | " most["sm_90a"] " | " shared " | " stack " | " spilled " |"
    }
    $1 != name { put(); name = $1; variants = shared = stack = spilled = 0; delete most }
    {
        variants += $2 == "sm_80"
        if ($3 > most[$2]) most[$2] = $3
        if ($4 > shared) shared = $4
        if ($5 > stack) stack = $5
        spilled += $6
    }
    END { put() }'
