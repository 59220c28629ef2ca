#!/usr/bin/env bash
# What ptxas said of our kernels: none may keep registers in local memory, and all must be there for both kinds of GPU. A stack of its
# own is allowed: the sine of a large number has a small table there.
#   ptxas_test.sh REPORT...      (none in a build without CUDA: nothing is tested then, and nothing counted)
set -euo pipefail

if (($# == 0)); then
    echo "not run: this build has no CUDA (--config=cuda)"
    echo "0 passed, 0 failed"
    exit 0
fi

passed=0 failed=0
# Lines "ARCHITECTURE KERNEL STACK STORES LOADS REGISTERS".
kernels=$(awk '
    /Compiling entry function/ { kernel = $7; architecture = $9; gsub("\047", "", kernel); gsub("\047", "", architecture) }
    /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
    /Used [0-9]+ registers/ { print architecture, kernel, stack, stores, loads, $5 }
' "$@")

while read -r architecture kernel stack stores loads registers; do
    if ((stores == 0 && loads == 0)); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$architecture $kernel: $stack bytes of stack, $stores spilled, $loads loaded again, $registers registers"
    fi
done <<<"$kernels"

of_sm_80=$(grep -c '^sm_80 ' <<<"$kernels" || true)
of_sm_90a=$(grep -c '^sm_90a ' <<<"$kernels" || true)
if ((of_sm_80 == 0 || of_sm_80 != of_sm_90a)); then
    echo "$of_sm_80 kernels for sm_80, $of_sm_90a for sm_90a"
    failed=$((failed + 1))
fi
awk '{ if ($6 > most[$1]) { most[$1] = $6; of[$1] = $2 } } END { for (a in most) print a ": at most " most[a] " registers, " of[a] }' <<<"$kernels"
echo "$passed passed, $failed failed"
((failed == 0))
