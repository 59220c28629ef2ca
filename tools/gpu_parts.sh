#!/usr/bin/env bash
# The parts of gpu_check.sh run, which starts each by itself:
#   PART=NAME PART_SECONDS=N gpu_parts.sh NAME
# and gpu_parts.sh prepare beside the first of them. What a part finds it writes into records/PART (see gpu_check.sh).
set -euo pipefail

PART_SECONDS=${PART_SECONDS:-60}
DEVICE=${DEVICE:-cuda} # "cpu" tries these scripts where there is no GPU
put() { # NAME STATE DETAIL [KEY=NUMBER...]
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$(tr -d '\t\n' <<<"$3")" "${*:4}" >>"records/$PART"
}

time_left() { echo $((PART_SECONDS - SECONDS - 2)); }

finds_torch() { python3 -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2>/dev/null; }

# A python3 with torch that sees the device.
has_torch() { python3 -c 'import torch, numpy, sys; sys.exit(sys.argv[1] == "cuda" and not torch.cuda.is_available())' "$DEVICE" 2>/dev/null; }

# Ours alone see the folders of NVIDIA's libraries.
ours() { LD_LIBRARY_PATH=${ONSTAGE_LIBRARIES:-} "$@"; }

# The first number under a name in a JSON file; all of them, from lines of objects.
number() { grep -oE "\"$1\":[[:space:]]*[0-9.e+-]+" "$2" | head -1 | grep -oE '[0-9.e+-]+$'; }
numbers() { grep -oE "\"$1\":[[:space:]]*[0-9.e+-]+" "$2" | grep -oE '[0-9.e+-]+$'; }
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
calculate() { awk -v a="$1" -v b="${2:-0}" -v c="${3:-0}" "BEGIN { printf \"%.9g\", $4 }"; }
holds() { awk -v a="$1" -v b="$2" "BEGIN { exit !($3) }"; }

# A program of Criterion's tests: how many of how many. One that tests nothing has not passed, nor one that says so.
put_criterion() { # NAME LOG STATUS
    local line tested said
    line=$(sed 's/\x1b\[[0-9;]*m//g' "$2" | grep -E 'Synthesis' | tail -1 | sed 's/.*Synthesis: //' || true)
    tested=$(grep -oE 'Tested: [0-9]+' <<<"$line" | grep -oE '[0-9]+' || echo 0)
    said=$(grep -aoE 'not run: .*' "$2" | head -1 || true)
    if [[ $3 != 0 ]]; then
        put "$1" failed "exit $3; $line; first: $(grep -aE 'FAIL|CRASH|Assertion' "$2" | head -1 | tr -cd '[:print:]' | cut -c 1-160)" "tested=$tested"
    elif ((tested == 0)) || [[ -n $said ]]; then
        put "$1" 'not run' "${said:-$line}"
    else
        line+=$(grep -aoE 'CUDA[a-z ]*: [0-9]+ [a-z]+, [0-9]+ [a-z]+' "$2" | head -1 | sed 's/CUDA[^:]*:/;/' || true)
        put "$1" passed "$line" "tested=$tested"
    fi
}

run_criterion() { # NAME COMMAND...
    local name=$1 status=0 log
    log="logs/$PART.${name//[ ,\/]/_}"
    shift
    ours timeout "$(time_left)" "$@" >"$log" 2>&1 || status=$?
    put_criterion "$name" "$log" "$status"
}

# Calls a function for each argument, all at once. One that ends early has failed.
side_by_side() { # FUNCTION ARGUMENT...
    local each children=() i
    for each in "${@:2}"; do
        "$1" "$each" &
        children+=($!)
    done
    for i in "${!children[@]}"; do
        wait "${children[i]}" || put "${*:2+i:1}" failed "it ended early: $(tail -n 1 "logs/$PART" 2>/dev/null | tr -cd '[:print:]' | cut -c 1-200)"
    done
}

# So many at once that the parts that run side by side leave no processor to two of them.
at_once() { echo $(($(nproc) < 10 ? 2 : $(nproc) / 5)); }

# ----------------------------------------------------------------------------------------------------------- correctness

part_device() { run_criterion device bin/device_test --jobs=1; }

# Operators without a kernel on GPUs: each is skipped with a reason of its own, and none has another.
part_refusals() {
    local line
    run_criterion refusals bin/cuda_test --jobs=1 --filter 'cuda/refusals'
    # What never runs, on no device, is missing on none.
    grep -aE '^no kernel: ' "logs/$PART.refusals" | grep -avE ': (binding replaces|computed when shapes are bound|a view: nothing runs)' |
        sed 's/^no kernel: //' | while IFS= read -r line; do
        put "${line%%:*}" 'not run' "no kernel on GPUs: ${line#*: }"
    done
}

operators_of() {
    ONSTAGE_TEST_SHARE=$1 run_criterion "operators, share $1" bin/cuda_test --jobs=1 --filter 'cuda/kernels'
    ONSTAGE_TEST_SHARE=$1 run_criterion "operators in half types, share $1" bin/cuda_test --jobs=1 --filter 'cuda/halves'
}

part_operators() {
    local i shares=()
    for ((i = 1; i <= $(at_once); ++i)); do shares+=("$i/$(at_once)"); done
    side_by_side operators_of "${shares[@]}"
}

# The operators that a library of NVIDIA's computes where it can: here by kernels of ours.
part_own_kernels() {
    ONSTAGE_CUDNN=off ONSTAGE_TEST_OPERATOR='*Conv*,*Pool*,*Attention*,*BatchNorm*' run_criterion 'operators without cuDNN' bin/cuda_test --jobs=1 \
        --filter 'cuda/kernels'
}

part_golden() { ONSTAGE_TEST_DEVICE=$DEVICE run_criterion golden bin/golden_test --jobs="$(at_once)" --filter 'golden/trajectory'; }

# bf16 and fp16, within 1e-2 of the loss.
part_precision() { ONSTAGE_TEST_DEVICE=$DEVICE run_criterion precision bin/golden_test --jobs="$(at_once)" --filter 'golden/precision'; }

# One GPU sends to itself; several to each other.
part_nccl() {
    run_criterion 'one GPU' bin/gpu_nccl_test --jobs=1 --filter 'one_gpu/*'
    run_criterion 'several GPUs' bin/gpu_nccl_test --jobs=1 --filter 'several_gpus/*'
}

# Small models, whose steps differ in nothing but what is looked at. Sets `golden` to model, data and options.
GOLDEN="mlp cnn_dynamic gpt_tied"
choose_golden() { # MODEL
    local folder=tests/golden/$1
    golden=("$folder/model.onnx" --device "$DEVICE" --input "$folder/input.npy" --target "$folder/target.npy" --loss cross_entropy --optimizer adamw
        --batch 16 --micro-batches 4)
}

train_golden() { # MODEL NAME OPTIONS...
    local golden model=$1 name=$2
    shift 2
    choose_golden "$model"
    ours bin/onstage train "${golden[@]}" --lr 0.01 --threads 1 --seed 1 --steps 3 --out "work/$name.onnx" --log-json "work/$name.jsonl" "$@" >"logs/$PART.$name" 2>&1
}

plan_golden() { # MODEL FILE OPTIONS...
    local golden
    choose_golden "$1"
    ours bin/onstage plan "${golden[@]}" --threads 1 -o "$2" "${@:3}" >"$2.log" 2>&1
}

# Whether two runs ended with the same weights.
put_same() { # CHECK NAME NAME DETAIL
    if [[ -s work/$2.onnx ]] && cmp -s "work/$2.onnx" "work/$3.onnx"; then put "$1" passed "$4"; else put "$1" failed "other weights: not $4"; fi
}

# How many tensors a plan swaps.
swapped_in() { sed '/"layout":/q' "$1" | grep -c '"out_after":' || true; }

# Steps with less memory than all of it: tensors are swapped or computed again, the bits stay, and the arena is the plan's.
bits_under_a_cap() { # MODEL STRATEGY
    local model=$1 strategy=$2 name=$1.$2 much=8589934592 reserve whole cap arena taken
    plan_golden "$model" "work/$name.json" --memory "$much" --memory-strategy "$strategy" || { put "$model, $strategy" failed "$(say "work/$name.json.log")"; return 0; }
    reserve=$((much - $(number capacity_bytes "work/$name.json"))) whole=$(number arena_bytes "work/$name.json")
    cap=$((reserve + whole * 9 / 10))
    if ! plan_golden "$model" "work/$name.json" --memory "$cap" --memory-strategy "$strategy"; then
        cap=$(grep -oE -- '--memory [0-9]+' "work/$name.json.log" | grep -oE '[0-9]+' | head -1 || true)
        if [[ -z $cap ]] || ! plan_golden "$model" "work/$name.json" --memory "$cap" --memory-strategy "$strategy"; then
            put "$model, $strategy" failed "$(say "work/$name.json.log")"
            return 0
        fi
    fi
    arena=$(number arena_bytes "work/$name.json")
    ((arena < whole)) || { put "$model, $strategy" 'not run' "nothing can be saved of $whole bytes"; return 0; }
    train_golden "$model" "$name" --plan "work/$name.json" || { put "$model, $strategy" failed "$(say "logs/$PART.$name")"; return 0; }
    put_same "$model, $strategy" "$model.whole" "$name" "the same bits in $arena bytes instead of $whole, $(swapped_in "work/$name.json") tensors swapped"
    taken=$(number memory_peak_bytes "work/$name.jsonl")
    put "$model, $strategy: arena" "$([[ $taken == "$arena" ]] && echo passed || echo failed)" "planned $arena, taken $taken" "planned=$arena" "taken=$taken"
}

bits_of() { # MODEL
    local model=$1 run
    train_golden "$model" "$model.whole" || { put "$model" failed "$(say "logs/$PART.$model.whole")"; return 0; }
    for run in again "2 --pipeline gpipe" "2 --pipeline 1f1b" "4 --pipeline gpipe" "4 --pipeline 1f1b"; do
        local options=() name="$model.${run// --pipeline /.}"
        # shellcheck disable=SC2206  # a list of options
        [[ $run == again ]] || options=(--stages $run)
        if train_golden "$model" "$name" "${options[@]}"; then
            put_same "$model, $run" "$model.whole" "$name" 'the same bits as one stage'
        else
            put "$model, $run" failed "$(say "logs/$PART.$name")"
        fi
    done
    if ONSTAGE_CUDA_TOGETHER=off train_golden "$model" "$model.apart"; then
        put_same "$model, apart" "$model.whole" "$model.apart" 'the same bits with a launch for each update'
    else
        put "$model, apart" failed "$(say "logs/$PART.$model.apart")"
    fi
    for run in on off; do
        if ONSTAGE_CUDA_GRAPHS=$run train_golden "$model" "$model.graphs_$run"; then
            put_same "$model, CUDA graphs $run" "$model.whole" "$model.graphs_$run" 'the same bits'
        else
            put "$model, CUDA graphs $run" failed "$(say "logs/$PART.$model.graphs_$run")"
        fi
    done
    for run in capuchin recompute-all; do bits_under_a_cap "$model" "$run"; done
}

# The same bits twice, with 1, 2 and 4 stages in either order of their work, with updates apart, as graphs or not, with and without a cap.
part_bits() {
    # shellcheck disable=SC2086  # a list
    side_by_side bits_of $GOLDEN
}

# The largest distance of two runs' losses, as a share.
distance() { # KEY LOG LOG
    paste <(numbers "$1" "$2") <(numbers "$1" "$3") |
        awk 'BEGIN { worst = 0 } { d = ($1 - $2) / $2; d = d < 0 ? -d : d; if (NF != 2 || d != d) worst = 1e9; worst = d > worst ? d : worst } END { print NR ? worst : 1e9 }'
}

put_near() { # CHECK BAR KEY LOG LOG WHAT
    local off
    off=$(distance "$3" "$4" "$5")
    put "$1" "$(holds "$off" "$2" 'a <= b' && echo passed || echo failed)" "$off off $6 (bar $2)" "distance=$off"
}

runs_of() { # MODEL
    local model=$1 half=(--rows 0:32 --steps 6)
    train_golden "$model" "$model.six" "${half[@]}" || { put "$model" failed "$(say "logs/$PART.$model.six")"; return 0; }
    rm -rf "work/$model.kept"
    if train_golden "$model" "$model.three" "${half[@]}" --steps 3 --checkpoint "work/$model.kept" &&
        train_golden "$model" "$model.resumed" "${half[@]}" --checkpoint "work/$model.kept" --resume; then
        put_same "$model, resumed" "$model.six" "$model.resumed" 'the bits of a run that was not interrupted'
    else
        put "$model, resumed" failed "$(say "logs/$PART.$model.resumed")"
    fi
    local validated=("${half[@]}" --val-rows 32:48 --val-every 2)
    if train_golden "$model" "$model.validated" "${validated[@]}" && DEVICE=cpu train_golden "$model" "$model.cpu" "${validated[@]}"; then
        put_same "$model, validation" "$model.six" "$model.validated" 'the bits of a run without it'
        put_near "$model, validation's loss" 1e-4 val_loss "work/$model.validated.jsonl" "work/$model.cpu.jsonl" "the CPU's"
        put_near "$model, loss" 1e-4 loss "work/$model.validated.jsonl" "work/$model.cpu.jsonl" "the CPU's"
    else
        put "$model, validation" failed "$(say "logs/$PART.$model.validated")"
    fi
    if train_golden "$model" "$model.tf32" "${half[@]}" --precision tf32 && train_golden "$model" "$model.tf32_again" "${half[@]}" --precision tf32; then
        put_same "$model, tf32 twice" "$model.tf32" "$model.tf32_again" 'the same bits'
        put_near "$model, tf32" 1e-2 loss "work/$model.tf32.jsonl" "work/$model.six.jsonl" "fp32's"
    else
        put "$model, tf32" failed "$(say "logs/$PART.$model.tf32")"
    fi
}

# Checkpoints, validation, and the precision that no golden file is in.
part_runs() {
    # shellcheck disable=SC2086  # a list
    side_by_side runs_of $GOLDEN
}

part_sanitizer() {
    local each tool operator status
    command -v compute-sanitizer >/dev/null || { put sanitizer 'not run' 'no compute-sanitizer'; return 0; }
    for each in memcheck:Softmax memcheck:GatherGradient memcheck:ReduceSum memcheck:Conv racecheck:LayerNormalization racecheck:Softmax \
        memcheck:Attention synccheck:ReduceSum initcheck:Add; do
        tool=${each%%:*} operator=${each##*:} status=0
        (($(time_left) > 8)) || { put "$tool $operator" 'not run' 'no time left'; continue; }
        ONSTAGE_TEST_OPERATOR=$operator CUDA_MODULE_LOADING=LAZY ours timeout "$(time_left)" compute-sanitizer --tool "$tool" --error-exitcode 9 \
            --target-processes all bin/cuda_test --jobs=1 --filter 'cuda/kernels' >"logs/$PART.$tool.$operator" 2>&1 || status=$?
        if grep -q 'Device not supported' "logs/$PART.$tool.$operator"; then
            put "$tool $operator" 'not run' 'compute-sanitizer does not support this device'
        elif ((status == 124)); then
            put "$tool $operator" 'not run' 'no time left'
        else
            put "$tool $operator" "$( ((status == 0)) && echo passed || echo failed)" \
                "exit $status, $(grep -aE 'ERROR SUMMARY|RACECHECK SUMMARY' "logs/$PART.$tool.$operator" | tail -1)"
        fi
    done
}

# --------------------------------------------------------------------------------------------------------------- models

BENCHMARKS=${BENCHMARKS:-gpt2 resnet50 bert_large vit_l gpt2_medium}
batch_of() { number batch "models/$1.json"; }

is_in() { grep -qxF -- "$2" "$1" 2>/dev/null; }

# What the files of an earlier run were made from: where it is the same, they are taken again.
made_from() {
    cat models.py worker.py models/*.json 2>/dev/null | cksum || true
    python3 -c 'from importlib.metadata import version; print(version("torch"), version("numpy"))' 2>/dev/null || true
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true
    precision
}

# How many of PyTorch's processes at a time: each may want 40 GB of the GPU and 16 GB of the host while it compiles.
warmers() {
    local host gpu
    host=$(awk '/^MemAvailable:/ { print int($2 / 1e6 / 16) }' /proc/meminfo 2>/dev/null || true)
    gpu=$(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits 2>/dev/null | awk 'NR == 1 { print int($1 * 1.05 / 1e3 / 40) }' || true)
    awk -v a="${host:-1}" -v b="${gpu:-1}" 'BEGIN { n = a < b ? a : b; print (n < 1 ? 1 : n > 3 ? 3 : n) }'
}

# Beside the first parts: weights and data, then what torch.compile makes, model by model; what an earlier run made is kept.
prepare() {
    local name
    touch work/data work/compiled
    if ! python3 -c 'import numpy' 2>/dev/null; then
        echo "no python3 with numpy" | tee work/prepared
        return 0
    fi
    made_from >work/made_from.new
    if ! cmp -s work/made_from.new work/made_from; then
        rm -rf work/data work/compiled "${ONSTAGE_BENCH_CACHE:?}"
        mv work/made_from.new work/made_from
        touch work/data work/compiled
    fi
    for name in $BENCHMARKS; do
        [[ -e models/$name.json ]] || continue
        ! { is_in work/data "$name" && [[ -e models/$name.bin ]]; } || continue
        python3 models.py data models "$name" && echo "$name" >>work/data
    done
    for name in "${ONSTAGE_BENCH_CACHE:?}"/*; do
        is_in work/compiled "${name##*/}" || rm -rf "$name" # a run was ended while it was compiled
    done
    if has_torch; then
        export ONSTAGE_BENCH_DEVICE=$DEVICE
        # In the foreground, timeout stays in our group, which is ended as a whole.
        # shellcheck disable=SC2016  # for the inner shell
        grep -vxF -f work/compiled work/data | xargs -P "$(warmers)" -I NAME sh -c \
            'timeout --foreground -k 5 150 python3 -W ignore worker.py NAME models warm "$(cat work/precision)" </dev/null && echo NAME >>work/compiled' || true
    fi
    echo 'all is made' >work/prepared
}

# What matrix products compute in: bf16 where this version does.
precision() {
    if [[ ! -e work/precision ]]; then
        if train_golden mlp precision --precision bf16; then echo bf16 >work/precision; else echo fp32 >work/precision; fi
    fi
    cat work/precision
}

part_models() {
    while [[ ! -e work/prepared ]] && (($(time_left) > 1)); do sleep 1; done
    [[ -e work/prepared ]] || put preparing 'not run' 'not done in time: PyTorch compiles the rest when it is compared with'
    local made compiled
    made=$(wc -w <<<"$(cat work/data 2>/dev/null)") compiled=$(wc -w <<<"$(cat work/compiled 2>/dev/null)")
    if ((made == 0)); then
        put networks 'not run' "$(cat work/prepared 2>/dev/null || echo 'nothing was packed')"
    else
        put networks passed "$made made, $compiled of them compiled by PyTorch; $(precision)" "made=$made" "compiled=$compiled"
    fi
}

# Sets `run` to model, data and options of network $1.
choose() {
    run=("models/$1.onnx" --device "$DEVICE" --precision "$(precision)" --batch "$(batch_of "$1")" --loss cross_entropy --optimizer adamw
        --input "models/$1.x.npy" --target "models/$1.target.npy")
}

known() { is_in work/data "$1" || { put "$1" 'not run' 'no weights and data'; return 1; }; }

# What failed, in its own words.
say() { tail -n 1 "$1" | tr -cd '[:print:]' | cut -c 1-200; }

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
part_bench() {
    local name names ceiling status=0
    finds_torch || { put benchmarks 'not run' 'no torch'; return 0; }
    has_torch || { put benchmarks 'not run' 'torch does not see the GPU'; return 0; }
    names=$(for name in $BENCHMARKS; do ! is_in work/data "$name" || echo "$name"; done | paste -sd,)
    [[ -n $names ]] || { put benchmarks 'not run' 'no weights and data'; return 0; }
    ceiling=$(number "$(precision)" "work/${NETWORK:-gpt2}.profile.json" 2>/dev/null || echo 0)
    timeout "$(($(time_left) - 2))" python3 race.py models bin/step_time --seconds "$(($(time_left) - 8))" --precision "$(precision)" --device "$DEVICE" \
        --models "$names" --ceiling "${ceiling:-0}" --least "${RACE_LEAST:-60}" --records "records/$PART" --library-path "${ONSTAGE_LIBRARIES:-}" || status=$?
    # What it compiled a later run finds, too.
    awk -F '\t' '$4 ~ /compile_ms=/ { sub(/ .*/, "", $1); print $1 }' "records/$PART" | while read -r name; do
        is_in work/compiled "$name" || echo "$name" >>work/compiled
    done
    ((status == 0)) || put benchmarks failed "race.py ended with $status"
}

case ${1:-} in
prepare)
    PART=prepare
    PART_SECONDS=400
    prepare
    ;;
device | refusals | operators | own_kernels | golden | precision | nccl | bits | runs | sanitizer | models | speed | step | caps | bench) "part_$1" ;;
*)
    sed -n '2,4s/^# //p' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac
