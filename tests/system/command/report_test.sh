#!/usr/bin/env bash
# `onstage plan --report`: the page holds what the plan does, is whole and self-contained, and is written where nothing
# fits, too.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
html_check=$root/tests/system/command/html_check
plan=(plan "$golden/mlp/model.onnx" --batch 64 --device-profile v100-16gb)
pipeline=(plan "$golden/gpt_decomposed/model.onnx" --batch 16 --micro-batches 4 --stages 2 --device-profile a100-40gb)

# FILE: the page is whole; false, and the case has failed, if not.
whole() {
    if ! "$html_check" "$1" 2>"$work/stderr"; then
        fail "$name" "$1 is no whole page"
    elif grep -qF -e '>-0.0 %' "$1"; then
        fail "$name" "$1 says -0.0 %"
    else
        return 0
    fi
    return 1
}

# FILE PATTERN...: the page holds all of them.
holds() {
    local pattern
    for pattern in "${@:2}"; do
        grep -qE -e "$pattern" "$1" && continue
        fail "$name" "$1 lacks '$pattern'"
        return 1
    done
}

# A figure of the plan file: number KEY
number() { grep -oE "\"$1\":[[:space:]]*[0-9.e+-]+" plan.json | grep -oE '[0-9.e+-]+$'; }

# As the page prints it.
size() { awk -v b="$1" 'BEGIN{split("B KiB MiB GiB TiB",u," ");i=1;while(b>=1024&&i<5){b/=1024;i++}
    printf(i==1||b>=100?"%.0f %s":"%.1f %s",b,u[i])}'; }
duration() { awk -v s="$1" 'BEGIN{split("s ms µs",u," ");i=1;while(s<1&&i<3){s*=1000;i++}
    printf("%.*f %s",s>=100?0:s>=10?1:2,s,u[i])}'; }

begin "figures of the plan file stand in the page, stage by stage"
if succeeds "${pipeline[@]}" --report r.html -o plan.json && whole r.html; then
    good=true stages=0
    for bytes in $(number memory_bytes); do
        stages=$((stages + 1))
        grep -q ">$(size "$bytes")<" r.html || good=false
    done
    ((stages == 2)) || good=false
    grep -q "<b>$(duration "$(number step_seconds)")</b><span>a step" r.html || good=false
    if $good; then pass "$name"; else fail "$name" "a figure of plan.json is not in the page"; fi
fi

begin "every part is there"
if succeeds "${pipeline[@]}" --report r.html && whole r.html &&
    holds r.html 'It fits: ' 'What fills the memory' 'Which layer owns the memory' 'What recompute and swap cost' \
        'Which device, and how many' 'What if: stages, memory, batch' 'One iteration' 'Memory over time' 'Assumptions' \
        'NVIDIA A100 datasheet' 'not given; the usual one' 'prefers-color-scheme:dark' '@media print'; then pass "$name"; fi

begin "the terminal says it in short"
if succeeds "${pipeline[@]}" --report r.html && printed '^largest batch that fits: (at least )?[0-9]+, ' &&
    printed '^most memory is owned by ' && printed '^fewest devices for a batch of 16:' &&
    printed '^ +v100-16gb +1 ' && printed '^wrote the report r.html$'; then pass "$name"; fi

begin "of a cost graph"
for capped in "" "--device-profile v100-16gb" "--memory 6GiB"; do
    # shellcheck disable=SC2086
    succeeds plan --cost-graph "$examples/data/profiles/pipedream/resnet50.txt" --stages 4 $capped --report r.html && whole r.html &&
        holds r.html 'resnet50.txt' 'Assumptions' || break
    if grep -qE '[^a-z]inf |[^0-9a-z]-[0-9]+ B |cap 0 B|nan' r.html; then fail "$name" "numbers of memory without end" && break; fi
done && pass "$name"

begin "the same bytes from another folder"
mkdir other
if succeeds "${pipeline[@]}" --report r.html; then
    cp "$golden/gpt_decomposed/model.onnx" other/model.onnx
    if (cd other && run plan model.onnx "${pipeline[@]:2}" --report s.html && ((status == 0))); then
        if cmp -s r.html other/s.html; then pass "$name"; else fail "$name" "$(cmp r.html other/s.html 2>&1)"; fi
    else
        fail "$name" "it did not run in another folder"
    fi
fi

begin "one stage, and what is exact on this machine"
if succeeds plan "$golden/mlp/model.onnx" --batch 64 --memory 1GiB --report r.html -o plan.json && whole r.html; then
    bytes=$(number memory_bytes)
    if holds r.html ">$(size "$bytes")<"; then pass "$name"; fi
fi

begin "an asynchronous pipeline"
if succeeds "${pipeline[@]}" --pipeline pipedream-async --report r.html && whole r.html &&
    holds r.html 'a stretch from its middle'; then pass "$name"; fi

begin "a batch that is fixed"
if succeeds plan "$root/tests/agreement/families/clip/model.onnx" --device-profile v100-16gb --report r.html && whole r.html &&
    holds r.html 'one size of micro-batch alone'; then pass "$name"; fi

begin "names are escaped"
if succeeds plan "$models/odd_names.onnx" --batch 8 --device-profile v100-16gb --report r.html && whole r.html &&
    holds r.html '&lt;script&gt;alert\(1\)&lt;' '&amp;amp;quot' 'l&#39;été'; then
    if grep -q '<script' r.html; then fail "$name" "a name became a tag"; else pass "$name"; fi
fi

begin "where nothing fits, the page says what would, and the exit code stays 6"
run "${plan[@]}" --memory 1073800000 --report r.html
if ((status != 6)); then
    fail "$name" "exit code $status"
elif ! grep -qE 'no plan fits .*the cheapest change that fits: .*see r.html$' "$work/stderr"; then
    fail "$name" "the message does not say what would fit"
elif whole r.html && holds r.html 'It does not fit' 'What would make it fit' 'What fills the memory'; then
    pass "$name"
fi

begin "prices order the changes"
echo '{"currency": "EUR", "v100-16gb": 1.5, "b200-192gb": 0.01}' >prices.json
run "${plan[@]}" --memory 1073800000 --prices prices.json --report r.html
if ((status != 6)); then
    fail "$name" "exit code $status"
elif ! grep -q 'the cheapest change that fits: --device-profile b200-192gb' "$work/stderr"; then
    fail "$name" "the cheapest is not the first"
elif whole r.html && holds r.html 'EUR per million samples'; then
    pass "$name"
fi

begin "with the samples of an epoch, its time and money"
echo '{"currency": "EUR", "v100-16gb": 36}' >prices.json
if succeeds "${plan[@]}" --prices prices.json --samples 3000000 --report r.html -o plan.json && whole r.html &&
    printed '^an epoch of 3000000 samples takes [0-9.]+ ' && printed '^ +v100-16gb .* EUR an epoch$' &&
    holds r.html '<span>an epoch of 3000000 samples<' 'EUR an epoch</th>' '<b>Epoch:</b> 3000000 samples, as asked for'; then
    # A cent a second.
    money=$(awk -v step="$(number step_seconds | head -1)" 'BEGIN { printf "%.2f", 0.01 * step * 3000000 / 64 }')
    if holds r.html "<b>$money EUR</b><span>an epoch<"; then pass "$name"; fi
fi

begin "replicas count in samples, devices and money, and layouts share the devices"
two=(plan "$golden/gpt_decomposed/model.onnx" --batch 16 --stages 2 --replicas 2 --device-profile a100-40gb)
echo '{"currency": "EUR", "a100-40gb": 36}' >prices.json
if succeeds "${two[@]}" --prices prices.json --samples 3000000 --report r.html -o plan.json && whole r.html &&
    holds r.html 'batch 16 in 2 micro-batches of 4 in each of 2 replicas' 'Stages and replicas' 'sum over replicas' \
        'class="own"><td>4</td><td>2 × 2</td><td>2 of 4</td>' '<td>4</td><td>1 × 4</td>' \
        '<td>16</td><td>4 × 4</td>' && printed '^fastest shares of devices .* a batch of 16:' && printed '^ +4 devices +[124] x [124] '; then
    # Four devices, each a cent a second.
    money=$(awk -v step="$(number step_seconds | tail -1)" 'BEGIN { printf "%.2f", 0.04 * step * 3000000 / 16 }')
    if holds r.html "<b>$money EUR</b><span>an epoch<"; then pass "$name"; fi
fi

begin "a goal is told in steps, days and money, and how often to write a checkpoint"
gpt=(plan "$golden/gpt_decomposed/model.onnx" --batch 16 --stages 2 --replicas 2 --device-profile a100-40gb --report r.html)
goal=("${gpt[@]}" --prices prices.json)
echo '{"currency": "EUR", "a100-40gb": 36}' >prices.json
if succeeds "${goal[@]}" --goal '1.6M samples' && printed '^1.6M samples: 100000 steps of 16 samples, .* EUR$' &&
    succeeds "${goal[@]}" --goal '2 epochs' --samples 800 && printed '^2 epochs: 100 steps of 16 samples,' &&
    succeeds "${goal[@]}" --goal '7000 steps' && printed '^7000 steps: 7000 steps' &&
    succeeds "${goal[@]}" --goal '10B tokens' --mtbf 50000 --disk-bandwidth 2GB && whole r.html &&
    printed 'one of 4 devices fails every 521 days$' && printed '^  least is lost with --checkpoint-every [1-9][0-9]* ' &&
    holds r.html 'The goal: 10B tokens' 'a device fails every' 'Young 1974' '<td>521 days</td>'; then
    # The model takes windows of $tokens.
    tokens=$("$onstage" inspect "$golden/gpt_decomposed/model.onnx" | sed -nE 's/.*int64\[[a-z0-9_]*,([0-9]+)\].*/\1/p' | head -1)
    if printed "^10B tokens: $(awk -v t="$tokens" 'BEGIN { x = 10e9 / t / 16; printf "%d", x == int(x) ? x : x + 1 }') steps"; then pass "$name"; fi
fi

begin "goals that cannot be told"
refuses 1 "goal.*for the report" "${gpt[@]::10}" --goal '10 steps'
refuses 1 "'10' is not an amount" "${gpt[@]}" --goal 10
refuses 1 "'lines' is none of tokens, samples" "${gpt[@]}" --goal '10 lines'
refuses 1 "not an amount" "${gpt[@]}" --goal '-3 steps'
refuses 1 "an epoch's samples are not known; give --samples" "${gpt[@]}" --goal '3 epochs'
refuses 1 "give --disk-bandwidth" "${gpt[@]}" --goal '3 steps' --mtbf 100
refuses 1 "say with --goal" "${gpt[@]}" --mtbf 100 --disk-bandwidth 1GB
refuses 1 "'fast' is not a size" "${gpt[@]}" --goal '3 steps' --disk-bandwidth fast
refuses 1 "no input has the form" "${plan[@]}" --report r.html --goal '10B tokens'

begin "the data say how many samples an epoch has"
if succeeds "${plan[@]}" --input "$golden/mlp/input.npy" --target "$golden/mlp/target.npy" --report r.html &&
    printed '^an epoch of [1-9][0-9]* samples takes ' && holds r.html 'samples, as the data hold'; then pass "$name"; fi

begin "samples without a report"
refuses 1 "--samples has no effect here: it is for the report" "${plan[@]}" --samples 10

begin "data that are not there"
refuses 5 "nothing.npy" "${plan[@]}" --input nothing.npy --report r.html

begin "no report, no file"
if succeeds "${plan[@]}" && [[ -z $(ls) ]]; then pass "$name"; else fail "$name" "a file appeared"; fi

begin "prices without a report"
echo '{}' >prices.json
refuses 1 "--prices has no effect here: it is for the report" "${plan[@]}" --prices prices.json

begin "prices of a device that does not exist"
echo '{"a100-4gb": 1}' >prices.json
refuses 4 "prices.json: 'a100-4gb' is no device profile" "${plan[@]}" --prices prices.json --report r.html

begin "a price of nothing"
echo '{"v100-16gb": 0}' >prices.json
refuses 4 "'v100-16gb' must cost more than 0" "${plan[@]}" --prices prices.json --report r.html

begin "prices that are no object"
echo '[1]' >prices.json
refuses 4 "prices.json: not a JSON object" "${plan[@]}" --prices prices.json --report r.html

begin "prices that are not there"
refuses 5 "prices.json" "${plan[@]}" --prices prices.json --report r.html

begin "a folder that does not exist"
refuses 5 "--report: cannot write 'none/r.html'" "${plan[@]}" --report none/r.html

begin "the model is not overwritten"
cp "$golden/mlp/model.onnx" own.onnx
refuses 1 "would take the place of what the model reads" plan own.onnx --report own.onnx

begin "plan and report as outputs of a build"
planned=$root/tests/system/command/planned
if whole "$planned.html" && holds "$planned.html" 'model.onnx' 'EUR per million samples' &&
    "$root/tests/system/command/json_check" "$planned.json" >/dev/null 2>"$work/stderr"; then pass "$name"; fi

report_and_exit
