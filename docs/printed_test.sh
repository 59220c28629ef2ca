#!/usr/bin/env bash
# printed_test.sh FILE LABEL PROGRAM [ARGUMENT...]: the committed file is what the program, LABEL in the build, prints.
set -euo pipefail
file=$1 label=$2
shift 2
printed=$("$@")
if ! diff -u "$file" <(printf '%s\n' "$printed"); then
    echo "$file is out of date: ./bazelw run $label -- ${*:2} > $file" >&2
    echo "0 passed, 1 failed"
    exit 1
fi
echo "1 passed, 0 failed"
