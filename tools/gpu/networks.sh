#!/usr/bin/env bash
# Parts of gpu_check.sh that take times, of the networks of bench/gpu/models.py; part.sh has what they use.

# Those of the race, and those that are raced when there is time left.
RACE=${RACE:-gpt2 resnet50}
OTHERS=${OTHERS:-bert_large vit_l gpt2_medium}
batch_of() { number batch "models/$1.json"; }

is_in() { grep -qxF -- "$2" "$1" 2>/dev/null; }

# What the files of an earlier run were made from: where it is the same, they are taken again.
made_from() {
    cat models.py worker.py models/*.json 2>/dev/null | cksum || true
    python3 -c 'from importlib.metadata import version; print(version("torch"), version("numpy"))' 2>/dev/null || true
    timeout 20 nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true
    precision
}

# How many of PyTorch's processes at a time: each may want 40 GB of the GPU and 16 GB of the host while it compiles.
warmers() {
    local host gpu
    host=$(awk '/^MemAvailable:/ { print int($2 / 1e6 / 16) }' /proc/meminfo 2>/dev/null || true)
    gpu=$(timeout 20 nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits 2>/dev/null | awk 'NR == 1 { print int($1 * 1.05 / 1e3 / 40) }' || true)
    awk -v a="${host:-1}" -v b="${gpu:-1}" 'BEGIN { n = a < b ? a : b; print (n < 1 ? 1 : n > 3 ? 3 : n) }'
}

# Weights and data of networks; what an earlier run made from the same is kept.
KNOWN_ORIGIN='' # set when what an earlier run made has been looked at
make_data() { # NAME...
    local name
    python3 -c 'import numpy' 2>/dev/null || return 0
    if [[ -z $KNOWN_ORIGIN ]]; then
        touch work/data work/compiled
        made_from >work/made_from.new
        if ! cmp -s work/made_from.new work/made_from; then
            rm -rf work/data work/compiled "${ONSTAGE_BENCH_CACHE:?}"
            mv work/made_from.new work/made_from
            touch work/data work/compiled
        fi
        KNOWN_ORIGIN=yes
    fi
    for name; do
        [[ -e models/$name.json ]] || continue
        ! { is_in work/data "$name" && [[ -e models/$name.bin ]]; } || continue
        timeout "$(time_left)" python3 models.py data models "$name" && echo "$name" >>work/data
    done
}

# What torch.compile makes of networks, kept in files; half of it is worse than nothing.
compile() { # NAME...
    local name
    for name in "${ONSTAGE_BENCH_CACHE:?}"/*; do
        is_in work/compiled "${name##*/}" || rm -rf "$name" # a run was ended while it was compiled
    done
    has_torch || return 0
    export ONSTAGE_BENCH_DEVICE=$DEVICE
    # In the foreground, timeout stays in our group, which is ended as a whole.
    # shellcheck disable=SC2016  # for the inner shell
    printf '%s\n' "$@" | grep -xF -f work/data | grep -vxF -f work/compiled | xargs -P "$(warmers)" -I NAME sh -c \
        'timeout --foreground -k 5 150 python3 -W ignore worker.py NAME models warm "$(cat work/precision)" </dev/null && echo NAME >>work/compiled' || true
}

# What matrix products compute in: bf16 where this version does.
precision() {
    if [[ ! -e work/precision ]]; then
        if train_golden mlp precision --precision bf16; then echo bf16 >work/precision; else echo fp32 >work/precision; fi
    fi
    cat work/precision
}

# All that the race needs, so that it takes no time of it. Nothing else runs beside.
part_models() {
    local made compiled
    if ! python3 -c 'import numpy' 2>/dev/null; then
        put networks 'not run' 'no python3 with numpy'
        return 0
    fi
    # shellcheck disable=SC2086  # a list
    make_data $RACE
    # shellcheck disable=SC2086  # a list
    compile $RACE
    made=$(wc -w <work/data) compiled=$(wc -w <work/compiled)
    if ((made == 0)); then
        put networks 'not run' 'nothing was packed'
    else
        put networks passed "$made made, $compiled of them compiled by PyTorch; $(precision)" "made=$made" "compiled=$compiled"
    fi
}

# Sets `run` to model, data and options of network $1.
choose() {
    run=("models/$1.onnx" --device "$DEVICE" --precision "$(precision)" --batch "$(batch_of "$1")" --loss cross_entropy --optimizer adamw
        --input "models/$1.x.npy" --target "models/$1.target.npy")
}

known() {
    make_data "$1" || true
    is_in work/data "$1" || { put "${2:-$1}" 'not run' 'no weights and data'; return 1; }
}

profile_of() { # NAME: work/NAME.profile.json, once
    [[ ! -e work/$1.profile.json ]] || return 0
    choose "$1"
    ours timeout "$(time_left)" bin/onstage profile "${run[@]}" --repetitions 8 --no-cache -o "work/$1.profile.json" >"logs/$PART.$1.profile" 2>&1 &&
        return 0
    put "$1 profile" failed "$(say "logs/$PART.$1.profile")"
    return 1
}

# `onstage profile` of one network, and what the device reaches.
part_speed() {
    local name=${NETWORK:-gpt2}
    known "$name" || return 0
    profile_of "$name" || return 0
    local file=work/$name.profile.json
    put 'device profile' passed "$(grep -aE '^device: ' "logs/$PART.$name.profile" | head -1); $(grep -aE '^matrix products: ' "logs/$PART.$name.profile")" \
        "fp32=$(number fp32 "$file")" "bf16=$(number bf16 "$file" || true)" "memory_bandwidth=$(number memory_bandwidth "$file")" \
        "reserve_bytes=$(number reserve_bytes "$file")" "launch_seconds=$(number launch_seconds "$file")"
    put 'whole step' passed "$(grep -aE '^whole step|^all nodes|^beside' "logs/$PART.$name.profile" | tr -s ' \n' ' ')" \
        "step_seconds=$(number step_seconds "$file")"
}

plan() { # NAME FILE OPTIONS...
    choose "$1"
    ours timeout "$(time_left)" bin/onstage plan "${run[@]}" --profile "work/$1.profile.json" -o "$2" "${@:3}" >"logs/$PART.plan" 2>"work/refusal"
}

# Trains for some steps; the log is work/$2.jsonl.
train() { # NAME LOG STEPS OPTIONS...
    choose "$1"
    ours timeout "$(time_left)" bin/onstage train "${run[@]}" --lr 1e-4 --seed 1 --profile "work/$1.profile.json" --steps "$3" --log-json "work/$2.jsonl" \
        "${@:4}" >"logs/$PART.$2" 2>&1
}

# Median seconds of a step. Nothing is logged meanwhile: the norms of a log are waited for within the step.
step_seconds() { # NAME LOG STEPS OPTIONS...
    choose "$1"
    printf 'run 3\nrun %d\n' "$3" |
        ours timeout "$(time_left)" bin/step_time "${run[@]}" --lr 1e-4 --seed 1 --profile "work/$1.profile.json" --shuffle false --steps 1000000 "${@:4}" \
            >"work/$2.times" 2>"logs/$PART.$2.times" || return 1
    tail -n 1 "work/$2.times" | grep -oE '"seconds": \[[^]]*' | grep -oE '[0-9.]+' | median
}

# A step as planned from what was measured, and as it came: 5 %.
part_step() {
    local name measured planned off
    for name in "${NETWORK:-gpt2}" "${NETWORK_2:-resnet50}"; do
        (($(time_left) > 10)) || { put "$name" 'not run' 'no time left'; continue; }
        known "$name" || continue
        profile_of "$name" || continue
        plan "$name" "work/$name.plan.json" || { put "$name plan" failed "$(say work/refusal)"; continue; }
        measured=$(step_seconds "$name" "$name.step" 11) || { put "$name" failed "$(say "logs/$PART.$name.step.times")"; continue; }
        planned=$(number step_seconds "work/$name.plan.json")
        off=$(calculate "$planned" "$measured" 0 '(a / b - 1) * 100')
        put "$name step" "$(holds "$off" 5 'a <= b && a >= -b' && echo passed || echo failed)" \
            "predicted $(calculate "$planned" 0 0 'a * 1000') ms, measured $(calculate "$measured" 0 0 'a * 1000') ms: $off % off (bar 5 %)" \
            "predicted=$planned" "measured=$measured"
    done
}

# Free memory of every step from the second on, from a log.
put_free() { # NAME LOG
    local distinct
    distinct=$( (numbers device_free_bytes "$2" || true) | tail -n +2 | sort -u | wc -l)
    ((distinct > 0)) || { put "$1 free memory" 'not run' 'the log has none'; return 0; }
    put "$1 free memory" "$( ((distinct == 1)) && echo passed || echo failed)" \
        "after the second step $(numbers device_free_bytes "$2" | sed -n 2p), at the end $(numbers device_free_bytes "$2" | tail -1), values $distinct" \
        "distinct=$distinct"
}

same_losses() { # LOG LOG
    [[ -s $1 && "$(numbers loss "$1" | head -6)" == "$(numbers loss "$2" | head -6)" ]]
}

# A cap that leaves 30 % of what activations and gradients take without one.
part_caps() {
    local name=${NETWORK:-gpt2} whole peak reserve cap step arena capped predicted without with slowdown planned_hidden hidden
    known "$name" || return 0
    profile_of "$name" || return 0
    plan "$name" work/whole.json || { put "$name plan" failed "$(say work/refusal)"; return 0; }
    whole=$(number arena_bytes work/whole.json) peak=$(number running work/whole.json) step=$(number step_seconds work/whole.json)
    reserve=$(number reserve_bytes "work/$name.profile.json")
    cap=$(calculate "$whole" "$peak" "$reserve" 'sprintf("%d", a - b + 0.3 * b + c)')
    if ! plan "$name" work/capped.json --memory "$cap"; then
        put "$name cap of 30 %" 'not run' "refused: $(say work/refusal)"
        cap=$(grep -oE -- '--memory [0-9]+' work/refusal | grep -oE '[0-9]+' | head -1 || true)
        if [[ -z $cap ]] || ! plan "$name" work/capped.json --memory "$cap"; then
            put "$name cap" failed "$(say work/refusal)"
            return 0
        fi
    fi
    arena=$(number arena_bytes work/capped.json) capped=$(number step_seconds work/capped.json)
    predicted=$(calculate "$capped" "$step" 0 'a / b')
    without=$(step_seconds "$name" whole 7) || { put "$name without a cap" failed "$(say "logs/$PART.whole.times")"; return 0; }
    with=$(step_seconds "$name" capped 7 --memory "$cap" --plan work/capped.json) || { put "$name with the cap" failed "$(say "logs/$PART.capped.times")"; return 0; }
    slowdown=$(calculate "$with" "$without" 0 'a / b')
    put "$name slowdown" "$(holds "$slowdown" "$predicted" 'a / b <= 1.15 && a / b >= 0.85' && echo passed || echo failed)" \
        "cap $cap (activations of $peak): $slowdown times the step without, predicted $predicted (bar 15 %)" \
        "cap=$cap" "whole_arena=$whole" "peak=$peak" "slowdown=$slowdown" "predicted=$predicted" "without=$without" "with=$with"
    (($(time_left) > 8)) || { put "$name arena and losses" 'not run' 'no time left'; return 0; }
    train "$name" whole 6 || { put "$name without a cap" failed "$(say "logs/$PART.whole")"; return 0; }
    train "$name" capped 6 --memory "$cap" --plan work/capped.json || { put "$name with the cap" failed "$(say "logs/$PART.capped")"; return 0; }
    local taken
    taken=$(number memory_peak_bytes work/capped.jsonl)
    put "$name arena" "$([[ $taken == "$arena" ]] && echo passed || echo failed)" "planned $arena, taken $taken" "planned=$arena" "taken=$taken"
    put "$name losses under a cap" "$(same_losses work/whole.jsonl work/capped.jsonl && echo passed || echo failed)" 'against those without one, to the bit'
    put_free "$name, whole:" work/whole.jsonl
    put_free "$name, capped:" work/capped.jsonl
    (($(time_left) > 8)) || { put "$name hidden copies" 'not run' 'no time left'; return 0; }
    ours bin/onstage simulate work/capped.json --trace work/simulated.json >/dev/null
    train "$name" traced 5 --memory "$cap" --plan work/capped.json --trace work/trace.json || { put "$name trace" failed "$(say "logs/$PART.traced")"; return 0; }
    read -r _ planned_hidden < <(awk -f hidden_copies.awk work/simulated.json)
    local copied
    read -r copied hidden < <(awk -f hidden_copies.awk work/trace.json)
    if holds "$copied" 0 'a <= b'; then
        put "$name hidden copies" 'not run' 'the plan copies nothing to the host'
    else
        put "$name hidden copies" "$(holds "$hidden" "$planned_hidden" 'a >= 0.8 || b < 0.8' && echo passed || echo failed)" \
            "$copied MiB in 5 steps, hidden $hidden, planned $planned_hidden (bar 0.8)" "copied_mib=$copied" "hidden=$hidden" "planned=$planned_hidden"
    fi
    (($(time_left) > 8)) || { put "$name recomputation" 'not run' 'no time left'; return 0; }
    train "$name" again 6 --memory "$cap" --memory-strategy recompute-all || { put "$name recomputation" 'not run' "$(say "logs/$PART.again")"; return 0; }
    put "$name losses with recomputation" "$(same_losses work/whole.jsonl work/again.jsonl && echo passed || echo failed)" 'against those without, to the bit'
}

# PyTorch eager and torch.compile beside ours, in turns.
race() { # NETWORK...
    local name names ceiling status=0
    finds_torch || { put race 'not run' 'no torch'; return 0; }
    has_torch || { put race 'not run' 'torch does not see the GPU'; return 0; }
    make_data "$@"
    names=$(for name; do ! is_in work/data "$name" || echo "$name"; done | paste -sd,)
    [[ -n $names ]] || { put race 'not run' 'no weights and data'; return 0; }
    ceiling=$(number "$(precision)" "work/${NETWORK:-gpt2}.profile.json" 2>/dev/null || echo 0)
    timeout "$(($(time_left) - 2))" python3 race.py models bin/step_time --seconds "$(($(time_left) - 8))" --precision "$(precision)" --device "$DEVICE" \
        --models "$names" --ceiling "${ceiling:-0}" --least "${RACE_LEAST:-60}" --records "records/$PART" --library-path "${ONSTAGE_LIBRARIES:-}" || status=$?
    # What it compiled a later run finds, too.
    awk -F '\t' '$4 ~ /compile_ms=/ { sub(/ .*/, "", $1); print $1 }' "records/$PART" | while read -r name; do
        is_in work/compiled "$name" || echo "$name" >>work/compiled
    done
    ((status == 0)) || put race failed "race.py ended with $status"
}

# shellcheck disable=SC2086  # lists
part_race() { race $RACE; }
# shellcheck disable=SC2086
part_others() { race $OTHERS; }
