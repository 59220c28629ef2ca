#!/usr/bin/env bash
# `--pipeline chimera`: two stages on each device, in plans, simulations, reports and runs, and what goes with no such schedule.
set -uo pipefail
# shellcheck source=tests/system/command/cases.sh
source "${BASH_SOURCE[0]%/*}/cases.sh"
json_check=$root/tests/system/command/json_check
html_check=$root/tests/system/command/html_check

is_json() { "$json_check" "$1" >/dev/null 2>"$work/stderr"; }
losses() { grep -oE '"loss": ?[0-9.e+-]+' "$1"; }

begin "a plan with two stages on each device is simulated and run in the memory that it says"
if succeeds plan "${mlp[@]:0:7}" --batch 8 --micro-batches 4 --stages 4 --pipeline chimera -o plan.json && is_json plan.json &&
    printed '^     0  .*  0, 3$' && printed '^     2  .*  1, 2$' && succeeds simulate plan.json && printed '4 stages, schedule chimera' &&
    succeeds train "${mlp[@]:0:7}" --batch 8 --micro-batches 4 --plan plan.json --steps 3 --threads 1 --log-json planned.jsonl; then
    # Planned and taken, of every stage on either of its devices.
    unlike=$(awk '/planned +taken/ { rows = 1; next } rows && /%/ { ++count; if ($(NF - 3) $(NF - 2) != $(NF - 1) $NF) print }
        END { if (count != 8) print count " rows" }' "$work/stdout")
    succeeds train "${mlp[@]:0:7}" --batch 8 --stages 4 --pipeline chimera --steps 3 --threads 1 --log-json asked.jsonl &&
        diff <(losses planned.jsonl) <(losses asked.jsonl) >/dev/null || unlike+=" losses"
    if [[ $unlike ]]; then fail "$name" "$unlike"; else pass "$name"; fi
fi
begin "an odd number of stages"
refuses 1 "an even number of stages.*take 4 --stages" plan "${mlp[@]:0:7}" --batch 8 --stages 3 --pipeline chimera
begin "micro-batches that do not come out even"
refuses 1 "take 8 --micro-batches" train "${mlp[@]:0:7}" --batch 12 --micro-batches 6 --stages 4 --pipeline chimera
begin "replicas"
refuses 1 "no 2 replicas of the pipeline beside them; leave --replicas out" train "${mlp[@]:0:7}" --batch 8 --stages 2 --pipeline chimera --replicas 2
begin "a weight that the first and the last stage share"
if succeeds plan "$golden/gpt_tied/model.onnx" --loss cross_entropy --batch 8 --stages 4 --pipeline chimera -o plan.json && grep -q '"first":' plan.json &&
    succeeds simulate plan.json && succeeds train "$golden/gpt_tied/model.onnx" --input "$golden/gpt_tied/input.npy" \
    --target "$golden/gpt_tied/target.npy" --loss cross_entropy --batch 8 --plan plan.json --steps 2 --threads 1; then pass "$name"; fi
begin "devices that differ"
refuses 3 "each stage on two devices" plan "${mlp[@]:0:7}" --batch 8 --stages 2 --pipeline chimera --device-profile a100-40gb,v100-16gb
begin "a report about chimera, whose fullest device holds both of its stages"
if succeeds plan "${mlp[@]:0:7}" --batch 8 --stages 4 --pipeline chimera --report r.html; then
    most=$(sed -nE 's/^ +[0-3]  ([0-9.]+ KiB) .*  [0-9], [0-9]$/\1/p' "$work/stdout" | sort -rn | head -1)
    if ! "$html_check" r.html >/dev/null || ! grep -q '<td>0 and 3</td>' r.html; then fail "$name" "no such page"
    elif [[ ! $most ]] || ! grep -q "takes $most of" r.html; then fail "$name" "no '$most' in the verdict"
    else pass "$name"; fi
fi
begin "a file of PyTorch's"
if succeeds plan "${mlp[@]:0:7}" --batch 8 --stages 2 --pipeline chimera -o plan.json; then
    refuses 3 "replicas of their own, which PyTorch's files cannot say" simulate plan.json --write-schedule s.csv
fi
begin "a cap: both stages of a device count"
if succeeds plan "${mlp[@]:0:7}" --batch 8 --stages 4 --pipeline chimera -o plan.json; then
    # Stages 1 and 2, which lie on the same devices, are the larger ones.
    mapfile -t arenas < <(grep -oE '"arena_bytes":[[:space:]]*[0-9]+' plan.json | grep -oE '[0-9]+$')
    bytes=$((arenas[1] + arenas[2]))
    options=(train "${mlp[@]:0:7}" --batch 8 --stages 4 --pipeline chimera --steps 1 --threads 1)
    if succeeds "${options[@]}" --memory $bytes; then
        refuses 6 "--memory $((bytes - 1)) bytes is too little" "${options[@]}" --memory $((bytes - 1))
    fi
fi

report_and_exit
