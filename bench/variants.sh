#!/usr/bin/env bash
# The variants of the CPU's kernels that this machine has, the least first (kernels/kernels.h): ONSTAGE_CPU takes less than
# there is, and --version says what was taken. ONSTAGE is the program (bazel-bin/tools/onstage).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for variant in baseline v3 v4; do
    if ONSTAGE_CPU=$variant "${ONSTAGE:-bazel-bin/tools/onstage}" --version | grep -q "onstage's variant $variant$"; then echo "$variant"; fi
done
