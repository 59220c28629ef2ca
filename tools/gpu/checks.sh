#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2153  # names that part.sh has, too
# Parts of gpu_check.sh that look at results; part.sh has what they use.

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

# The operators that a library of NVIDIA's computes where it can: here by kernels of ours, in all float types; and attention of the
# lengths that networks have.
part_own_kernels() {
    run_criterion 'operators without cuDNN' bin/cuda_test --jobs=1 --filter 'cuda/own_kernels'
    run_criterion 'attention over 1024 and 197 positions' bin/cuda_test --jobs=1 --filter 'cuda/attention'
}

part_golden() { ONSTAGE_TEST_DEVICE=$DEVICE run_criterion golden bin/golden_test --jobs="$(at_once)" --filter 'golden/trajectory'; }

# bf16 and fp16, within 1e-2 of the loss.
part_precision() { ONSTAGE_TEST_DEVICE=$DEVICE run_criterion precision bin/golden_test --jobs="$(at_once)" --filter 'golden/precision'; }

# One GPU sends to itself; several to each other.
part_nccl() {
    run_criterion 'one GPU' bin/gpu_nccl_test --jobs=1 --filter 'one_gpu/*'
    run_criterion 'several GPUs' bin/gpu_nccl_test --jobs=1 --filter 'several_gpus/*'
}

plan_golden() { # MODEL FILE OPTIONS...
    local golden
    choose_golden "$1"
    ours timeout -k 2 "$(at_most 45)" bin/onstage plan "${golden[@]}" --threads 1 -o "$2" "${@:3}" >"$2.log" 2>&1
}

# Whether two runs ended with the same weights.
put_same() { # CHECK NAME NAME DETAIL
    if [[ -s $WORK/$2.onnx ]] && cmp -s "$WORK/$2.onnx" "$WORK/$3.onnx"; then put "$1" passed "$4"; else put "$1" failed "other weights: not $4"; fi
}

# How many tensors a plan swaps.
swapped_in() { sed '/"layout":/q' "$1" | grep -c '"out_after":' || true; }

# Steps with less memory than all of it: tensors are swapped or computed again, the bits stay, and the arena is the plan's.
bits_under_a_cap() { # MODEL STRATEGY
    local model=$1 strategy=$2 name=$1.$2 much=8589934592 reserve whole cap arena taken
    plan_golden "$model" "$WORK/$name.json" --memory "$much" --memory-strategy "$strategy" || { put "$model, $strategy" failed "$(say "$WORK/$name.json.log")"; return 0; }
    reserve=$((much - $(number capacity_bytes "$WORK/$name.json"))) whole=$(number arena_bytes "$WORK/$name.json")
    cap=$((reserve + whole * 9 / 10))
    if ! plan_golden "$model" "$WORK/$name.json" --memory "$cap" --memory-strategy "$strategy"; then
        cap=$(grep -oE -- '--memory [0-9]+' "$WORK/$name.json.log" | grep -oE '[0-9]+' | head -1 || true)
        if [[ -z $cap ]] || ! plan_golden "$model" "$WORK/$name.json" --memory "$cap" --memory-strategy "$strategy"; then
            put "$model, $strategy" failed "$(say "$WORK/$name.json.log")"
            return 0
        fi
    fi
    arena=$(number arena_bytes "$WORK/$name.json")
    ((arena < whole)) || { put "$model, $strategy" 'not run' "nothing can be saved of $whole bytes"; return 0; }
    train_golden "$model" "$name" --plan "$WORK/$name.json" || { put "$model, $strategy" failed "$(say "logs/$PART.$name")"; return 0; }
    put_same "$model, $strategy" "$model.whole" "$name" "the same bits in $arena bytes instead of $whole, $(swapped_in "$WORK/$name.json") tensors swapped"
    taken=$(number memory_peak_bytes "$WORK/$name.jsonl")
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
    if [[ $PRECISION != fp32 ]]; then
        if ONSTAGE_HALF_WEIGHTS=off train_golden "$model" "$model.casts"; then
            put_same "$model, casts" "$model.whole" "$model.casts" 'the same bits with weights that are cast when a step begins'
        else
            put "$model, casts" failed "$(say "logs/$PART.$model.casts")"
        fi
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

# The same bits twice, with 1, 2 and 4 stages in either order of their work, with updates apart, with casts in the place
# of half weights, as graphs or not, with and without a cap.
part_bits() {
    # shellcheck disable=SC2086  # a list
    side_by_side bits_of $GOLDEN
}

# All of it where products compute in bf16.
part_bits_bf16() {
    PRECISION=bf16 WORK=work/bf16
    mkdir -p "$WORK"
    part_bits
}

# Two replicas have the bits of two micro-batches: on one GPU, and by NCCL where there are as many as it takes.
replicas_of() { # MODEL
    local model=$1 run name options
    train_golden "$model" "$model.two" --micro-batches 2 || { put "$model" failed "$(say "logs/$PART.$model.two")"; return 0; }
    for run in local "local --shard-optimizer" "local --stages 2" nccl "nccl --shard-optimizer" "nccl --stages 2"; do
        name="$model.replicas.${run//[ -]/}"
        # shellcheck disable=SC2206  # a list of options
        options=(--micro-batches 1 --replicas 2 --transport $run)
        if train_golden "$model" "$name" "${options[@]}"; then
            put_same "$model, $run" "$model.two" "$name" 'the same bits as two micro-batches'
        elif grep -q 'NCCL takes one stage a GPU' "logs/$PART.$name"; then
            put "$model, $run" 'not run' 'too few GPUs'
        else
            put "$model, $run" failed "$(say "logs/$PART.$name")"
        fi
    done
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

# Two replicas that normalise together are one of the whole batch, but for roundings, on one GPU and by NCCL to the same bits.
common_statistics_of() { # MODEL
    local model=$1 run name sync=(--batchnorm train --optimizer sgd --micro-batches 1)
    train_golden "$model" "$model.batch" "${sync[@]}" || { put "$model" failed "$(say "logs/$PART.$model.batch")"; return 0; }
    for run in local "local --stages 2" nccl; do
        name="$model.together.${run//[ -]/}"
        # shellcheck disable=SC2206  # a list of options
        if train_golden "$model" "$name" "${sync[@]}" --replicas 2 --sync-batchnorm --transport $run; then
            put_near "$model, statistics together, $run" 1e-4 loss "$WORK/$name.jsonl" "$WORK/$model.batch.jsonl" 'one replica'
            [[ $run == local ]] || put_same "$model, statistics together, $run: bits" "$model.together.local" "$name" 'the same bits as on one GPU'
        elif grep -q 'NCCL takes one stage a GPU' "logs/$PART.$name"; then
            put "$model, statistics together, $run" 'not run' 'too few GPUs'
        else
            put "$model, statistics together, $run" failed "$(say "logs/$PART.$name")"
        fi
    done
}

# Of models without running statistics, whose roundings go by replicas.
part_replicas() {
    # shellcheck disable=SC2086  # a list
    side_by_side replicas_of ${REPLICAS:-mlp gpt_tied}
    common_statistics_of cnn_dynamic
}

runs_of() { # MODEL
    local model=$1 half=(--rows 0:32 --steps 6)
    train_golden "$model" "$model.six" "${half[@]}" || { put "$model" failed "$(say "logs/$PART.$model.six")"; return 0; }
    rm -rf "$WORK/$model.kept"
    if train_golden "$model" "$model.three" "${half[@]}" --steps 3 --checkpoint "$WORK/$model.kept" &&
        train_golden "$model" "$model.resumed" "${half[@]}" --checkpoint "$WORK/$model.kept" --resume; then
        put_same "$model, resumed" "$model.six" "$model.resumed" 'the bits of a run that was not interrupted'
    else
        put "$model, resumed" failed "$(say "logs/$PART.$model.resumed")"
    fi
    local validated=("${half[@]}" --val-rows 32:48 --val-every 2)
    if train_golden "$model" "$model.validated" "${validated[@]}" && DEVICE=cpu train_golden "$model" "$model.cpu" "${validated[@]}"; then
        put_same "$model, validation" "$model.six" "$model.validated" 'the bits of a run without it'
        put_near "$model, validation's loss" 1e-4 val_loss "$WORK/$model.validated.jsonl" "$WORK/$model.cpu.jsonl" "the CPU's"
        put_near "$model, loss" 1e-4 loss "$WORK/$model.validated.jsonl" "$WORK/$model.cpu.jsonl" "the CPU's"
    else
        put "$model, validation" failed "$(say "logs/$PART.$model.validated")"
    fi
    if train_golden "$model" "$model.tf32" "${half[@]}" --precision tf32 && train_golden "$model" "$model.tf32_again" "${half[@]}" --precision tf32; then
        put_same "$model, tf32 twice" "$model.tf32" "$model.tf32_again" 'the same bits'
        put_near "$model, tf32" 1e-2 loss "$WORK/$model.tf32.jsonl" "$WORK/$model.six.jsonl" "fp32's"
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
        # The tool has libraries of its own; the tests' buffers end where their memory does.
        ONSTAGE_TEST_OPERATOR=$operator ONSTAGE_TEST_POOL=off CUDA_MODULE_LOADING=LAZY timeout -k 2 "$(time_left)" compute-sanitizer --tool "$tool" \
            --error-exitcode 9 --target-processes all env "LD_LIBRARY_PATH=${ONSTAGE_LIBRARIES:-}" bin/cuda_test --jobs=1 --filter 'cuda/kernels' >"logs/$PART.$tool.$operator" 2>&1 || status=$?
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
