#!/usr/bin/env bash
# `onstage profile`: what is measured, kept, written, and read again by the planner.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
json_check=$root/tests/system/command/json_check
model=$golden/gpt_decomposed/model.onnx
export XDG_CACHE_HOME=$work/cache
profile=(profile "$model" --threads 1 --repetitions 3)

begin "made-up data, a table, and a file that is JSON"
if succeeds "${profile[@]}" -o p.json && printed '^node +operator +phase' && printed '^weight gradient' &&
    printed '^whole step' && printed '^beside the nodes: [0-9.]+ us from one to the next, [0-9.]+ us for the data' &&
    printed 'each the median of 3 steps' && printed '^wrote p.json'; then
    if "$json_check" p.json >/dev/null 2>"$work/stderr"; then pass "$name"; else fail "$name" "p.json is no JSON"; fi
fi

begin "the file holds forward, both gradients and updates, each with a time"
if succeeds "${profile[@]}" --no-cache -o p.json; then
    complete=true
    for phase in forward input_gradient weight_gradient update; do
        grep -q "\"phase\":[[:space:]]*\"$phase\"" p.json || complete=false
    done
    # A median of 0 seconds: a node that was not measured.
    grep -qE '"seconds":[[:space:]]*0,' p.json && complete=false
    if $complete; then pass "$name"; else fail "$name" "a phase or a time is missing"; fi
fi

begin "convolutions say their attributes"
if succeeds profile "$golden/lenet/model.onnx" --threads 1 --repetitions 1 --no-cache -o p.json; then
    if grep -q '"attributes":.*pads=\[2,2,2,2\]' p.json; then pass "$name"; else fail "$name" "no pads in p.json"; fi
fi

begin "peaks of every type, and how they were measured"
if succeeds "${profile[@]}" --no-cache -o p.json &&
    printed '^matrix products: fp32 [0-9.]+, fp16 [0-9.]+, bf16 [0-9.]+ GFLOP/s; memory and copies by arrays of [1-9]'; then
    complete=true
    for precision in fp32 fp16 bf16; do grep -qE "\"$precision\":[[:space:]]*[1-9]" p.json || complete=false; done
    if $complete; then pass "$name"; else fail "$name" "a type's peak is missing"; fi
fi

begin "a second run finds all times in the cache, --no-cache measures again"
if succeeds "${profile[@]}" && printed 'all measured before' && succeeds "${profile[@]}" --no-cache &&
    printed 'each the median of 3 steps'; then
    if [[ -s $XDG_CACHE_HOME/onstage/costs.json ]]; then pass "$name"; else fail "$name" "no cache file"; fi
fi

begin "another number of threads is another device"
if succeeds profile "$model" --threads 2 --repetitions 1 && printed 'each the median of 1 step$'; then pass "$name"; fi

begin "a cache that is no JSON counts as empty"
mkdir -p "$work/broken/onstage"
echo '{' >"$work/broken/onstage/costs.json"
if XDG_CACHE_HOME=$work/broken succeeds "${profile[@]}" && printed 'each the median of 3 steps'; then pass "$name"; fi

begin "a cache that cannot be written is a note, no failure"
if XDG_CACHE_HOME=/proc/nowhere succeeds "${profile[@]}" && printed 'measured times are not kept: '; then pass "$name"; fi

begin "the model's own data"
if succeeds profile "${mlp[@]}" --repetitions 2 --no-cache && printed '16 samples on '; then pass "$name"; fi

# Gradients that overflow skip the update: it would be measured as nothing.
begin "updates of a half-precision profile are made"
if succeeds profile "$examples/shakespeare/char_gpt.onnx" --batch 1 --threads 1 --precision fp16 --repetitions 3 --no-cache -o p.json; then
    told=$(awk -F'[:,]' '/"fp32":/ { peak = $2 } /"operator":/ { update = /AdamW/ } /"seconds":/ { seconds = $2 }
        /"flops":/ && update { ++count; if ($2 / seconds > peak) ++above }
        END { printf "%d of %d updates above the peak", above, count }' p.json)
    if [[ $told == "0 of "[1-9]* ]]; then pass "$name"; else fail "$name" "$told"; fi
fi

begin "the fitted device is a device profile, compared on another model"
if succeeds "${profile[@]}" -o p.json &&
    succeeds profile "${mlp[@]}" --repetitions 2 --no-cache --device-profile p.json &&
    printed 'analytic model of device profile measured: median error'; then pass "$name"; fi

begin "plans from measured times"
if succeeds "${profile[@]}" --batch 4 -o p.json && succeeds plan "$model" --batch 4 --profile p.json &&
    printed 'times from p.json: of [1-9][0-9]* nodes measured, of 0 by the model'; then pass "$name"; fi

begin "plans another batch by the fitted model, and says of how many nodes"
if succeeds "${profile[@]}" --batch 4 -o p.json && succeeds plan "$model" --batch 6 --profile p.json &&
    printed 'nodes measured, of [1-9][0-9]* by the model'; then pass "$name"; fi

begin "the model is not overwritten"
cp "$model" own.onnx
refuses 1 "would take the place of what the model reads" profile own.onnx --out own.onnx

begin "a device profile that does not exist"
refuses 5 "nothing.json.*a100-40gb" "${profile[@]}" --device-profile nothing.json

begin "a damaged profile names file and field"
if succeeds "${profile[@]}" -o p.json; then
    sed -i 's/"phase":\(.*\)"forward"/"phase":\1"sideways"/' p.json
    refuses 4 "p.json: 'nodes', number [0-9]+: 'phase': 'sideways'" plan "$model" --batch 4 --profile p.json
fi

begin "repetitions are counted from 1"
refuses 1 "repetitions" profile "$model" --repetitions 0

report_and_exit
