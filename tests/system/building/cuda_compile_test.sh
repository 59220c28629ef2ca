#!/usr/bin/env bash
# The list of headers that played no part in a compilation, from what a pretended nvcc says that it read.
set -uo pipefail
source "$PWD/tests/system/building/cases.sh"

compile=$root/tools/build/cuda_compile.sh
cd "$work" || exit 1
printf '%s\n' kernels/a.h kernels/a.hh kernels/ab.h graph/graph.h bazel-out/x/made.h >headers
# shellcheck disable=SC2016  # for the program
program nvcc '
while [[ $1 != -MF ]]; do shift; done
printf "%s : %s \\\\\n    %s \\\\\n    %s\n" x.o bazel-out/unit.cu /usr/include/stdint.h ./kernels/a.h >"$2"
echo "ptxas info    : Used 12 registers"'
check "compiles" "$compile" report headers unused nvcc -c unit.cu
check "the report is what nvcc said" grep -q 'Used 12 registers' report
printf '%s\n' kernels/a.hh kernels/ab.h graph/graph.h bazel-out/x/made.h headers >expected
check "what it did not read, and the list" diff unused expected

program nvcc 'echo "ptxas info    : Used 12 registers"; echo "a.cu(3): error: no"; exit 2'
fails() { ! "$compile" report headers unused nvcc -c unit.cu 2>output; }
check "fails where nvcc fails" fails
check "shows its error" says 'error: no'
check "and nothing else" says_not 'ptxas'

program nvcc 'exit 0'
check "fails where nvcc does not say what it read" fails
report_and_exit
