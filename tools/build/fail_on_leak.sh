#!/usr/bin/env bash
# Runs a test, and fails it if the leak checker spoke:  fail_on_leak.sh PROGRAM ARGUMENTS...
# A test of Criterion has reported its success before its process ends, which is when leaks are found.
output=$(mktemp)
trap 'rm -f "$output"' EXIT
"$@" 2>&1 | tee "$output"
status=${PIPESTATUS[0]}
leaks=$(grep -c 'ERROR: LeakSanitizer' "$output")
if ((leaks > 0)); then
    echo "[LEAK] $leaks"
    ((status)) || status=1
fi
exit "$status"
