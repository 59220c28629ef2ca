#!/usr/bin/env bash
# The example learns its task, and what it writes is a model.
set -uo pipefail
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/c_api.XXXXXX")
trap 'rm -rf "$work"' EXIT

examples/c_api/train tests/agreement/golden/mlp/model.onnx "$work/trained.onnx" | tee "$work/out"
status=${PIPESTATUS[0]}
accuracy=$(sed -nE 's/^accuracy ([0-9]+)\.[0-9] % of 1024 samples.*/\1/p' "$work/out")
if ((status == 0 && ${accuracy:-0} >= 80)) && tools/onstage check "$work/trained.onnx"; then
    echo "1 passed, 0 failed"
else
    echo "0 passed, 1 failed"
    exit 1
fi
