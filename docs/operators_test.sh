#!/usr/bin/env bash
# operators_test.sh PROGRAM FILE: the committed table is what the program prints.
set -euo pipefail
printed=$("$1")
if ! diff -u "$2" <(printf '%s\n' "$printed"); then
    echo "docs/operators.md is out of date: ./bazelw run //docs:operators > docs/operators.md" >&2
    echo "0 passed, 1 failed"
    exit 1
fi
echo "1 passed, 0 failed"
