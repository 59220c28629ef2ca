#!/usr/bin/env bash
# onnx_train in a workspace that is not onstage's: trains there, and flags after `--` override attributes. Builds onstage
# as that workspace's external repository. Ends with a line "N passed, N failed".
set -uo pipefail
cd "${BASH_SOURCE[0]%/*}" || exit 1
bazelw=$PWD/../../../bazelw
work=$(mktemp -d)
trap 'rm -rf "$work"; "$bazelw" shutdown 2>/dev/null' EXIT
passed=0 failed=0

# NAME PATTERN ARGUMENTS...: `bazel run //:net ARGUMENTS` prints PATTERN.
expect() {
    if (unset TEST_TMPDIR && "$bazelw" run //:net "${@:3}") >"$work/output" 2>&1 && grep -qE -e "$2" "$work/output"; then
        passed=$((passed + 1))
        echo "ok      $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $1"
        tail -20 "$work/output"
    fi
}

expect "trains as the attributes say" "^64 samples, 12 steps of 16, 12 weights" -- --out "$work/trained.onnx"
expect "flags after -- override attributes" "^step 20/20 " -- --epochs 5 --out "$work/longer.onnx"
expect "switches too" "^step 4/4 " -- --epochs 1 --shuffle --out "$work/shuffled.onnx"
for file in trained longer shuffled; do
    if [[ -s $work/$file.onnx ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED  no $file.onnx"; fi
done
echo "$passed passed, $failed failed"
((failed == 0))
