#!/usr/bin/env bash
# A new head that alone is trained has the losses of PyTorch's linear layer on the same features: heads.py says how they are made.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/../../system/command/cases.sh"
expected=$root/tests/agreement/fitting/heads.txt

# Relative: onstage and what the expected features were computed by sum in float32, each in its own order.
tolerance=1e-4

while read -r _ model classes options <&3; do
    begin "$model"
    set -f
    # shellcheck disable=SC2086
    set -- $options
    set +f
    cp "$root/tests/agreement/$model"/*.npy .
    samples=$(grep -aoE "'shape': \([0-9]+" "$(ls -S ./*.npy | head -1)" | grep -oE '[0-9]+$')
    for ((i = 0; i < samples; ++i)); do printf "\\x$(printf %x $((i % classes)))\\0\\0\\0\\0\\0\\0\\0"; done | array classes.npy '<i8' "($samples,)"
    run train "$root/tests/agreement/$model/model.onnx" --target classes.npy --loss cross_entropy --new-head "$classes" --no-shuffle --threads 1 \
        --log-json log.jsonl --out trained.onnx "$@"
    differences=$(paste -d ' ' <(sed -nE 's/.*"loss": ?([-+.0-9a-zA-Z]+).*/\1/p' log.jsonl) \
        <(awk -v name="$model" '$1 == "case" { on = $2 == name; next } on { print $3 }' "$expected") |
        awk -v most=$tolerance '{ d = $1 - $2; if (d < 0) d = -d; if (NF < 2 || !(d <= most * $2)) print NR ": " $0; ++n } END { if (n == 0) print "nothing" }')
    if ((status != 0)); then fail "$name" "exit code $status"
    elif [[ -n $differences ]]; then fail "$name" "$(tr '\n' ';' <<<"$differences")"
    else pass "$name"; fi
done 3< <(grep '^case' "$expected")
report_and_exit
