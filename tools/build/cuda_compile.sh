#!/usr/bin/env bash
# Compiles with nvcc, and tells Bazel which headers played no part in it:
#   cuda_compile.sh REPORT HEADERS UNUSED NVCC ARGUMENTS...
# REPORT gets what ptxas says, HEADERS lists the headers that might be included, UNUSED gets those that were not.
set -euo pipefail
report=$1 headers=$2 unused=$3
shift 3
# nvcc names its own files by its process, which has the same number in every sandbox: they get a folder of their own.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
included=$folder/included
export TMPDIR=$folder

# What nvcc says is shown where it fails; otherwise the report of ptxas is all that there is.
"$@" -MMD -MF "$included" >"$report" 2>&1 || {
    grep -vE '^ptxas info|bytes stack frame' "$report" >&2
    exit 1
}
if [[ ! -s $included ]]; then
    echo "cuda_compile.sh: nvcc did not say which headers it read" >&2
    exit 1
fi
# shellcheck disable=SC1003  # a backslash
names=$(tr -s ' \\' '\n' <"$included" | sed 's,^\./,,')
{
    grep -vxFf <(printf '%s\n' "$names") "$headers" || true
    # The list itself matters to nobody: a header that is new was not included so far.
    echo "$headers"
} >"$unused"
