#!/usr/bin/env bash
# What one variant of the CPU's kernels wrote, another reads: plans, checkpoints, traces and cached costs, in both directions. Whoever goes on
# with a checkpoint of another variant is told so, once.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
golden=$root/tests/agreement/golden
model=("$golden/cnn_dynamic/model.onnx" --input "$golden/cnn_dynamic/input.npy" --target "$golden/cnn_dynamic/target.npy" --loss cross_entropy
    --batch 4 --threads 1 --optimizer sgd --lr 0.01)

# The variants that this machine has: ONSTAGE_CPU takes less than there is, and --version says what was taken.
variants=()
for variant in baseline v3 v4; do
    export ONSTAGE_CPU=$variant
    run --version
    if grep -q "onstage's variant $variant$" "$work/stdout"; then variants+=("$variant"); fi
done
begin "a variant is named by --version"
if ((${#variants[@]} > 0)) && [[ ${variants[0]} == baseline ]]; then pass "$name"; else fail "$name" "${variants[*]}"; fi
if ((${#variants[@]} == 1)); then echo "not run: this machine has the baseline alone"; report_and_exit; fi

# What oneDNN says of itself while it trains, under each variant that caps it.
for pair in "baseline SSE4.1" "v3 AVX2"; do
    read -r variant instructions <<<"$pair"
    [[ " ${variants[*]} " == *" $variant "* ]] || continue
    begin "oneDNN trains with no more than $instructions under $variant"
    export ONSTAGE_CPU=$variant
    DNNL_VERBOSE=1 succeeds train "${model[@]}" --steps 1 --out trained.onnx || continue
    if grep -qE "isa:.*$instructions\$" "$work/stdout"; then pass "$name"; else fail "$name" "$(grep isa: "$work/stdout")"; fi
done

pairs=()
for from in "${variants[@]}"; do
    for to in "${variants[@]}"; do [[ $from == "$to" ]] || pairs+=("$from $to"); done
done
for pair in "${pairs[@]}"; do
    read -r from to <<<"$pair"
    kept=$work/kept # what lasts from one case to the next
    rm -rf "$kept" && mkdir "$kept"
    begin "a plan by $from is trained by $to, with a note"
    export ONSTAGE_CPU=$from
    succeeds plan "${model[@]}" --stages 2 --micro-batches 2 -o "$kept/plan.json" || continue
    export ONSTAGE_CPU=$to
    succeeds train "${model[@]}" --stages 2 --micro-batches 2 --plan "$kept/plan.json" --steps 2 --out trained.onnx || continue
    if grep -q "planned with onstage's variant $from, here $to" "$work/stdout" "$work/stderr"; then pass "$name"; else fail "$name" "$(cat "$work/stdout" "$work/stderr")"; fi
    begin "that plan is simulated by $to"
    if succeeds simulate "$kept/plan.json" --trace trace.json && [[ -s trace.json ]]; then pass "$name"; fi
    begin "where that plan has no room under $to, the message names both"
    export ONSTAGE_CPU=$to
    refuses 6 "needed \(planned with onstage's variant $from, here $to\)" train "${model[@]}" --stages 2 --micro-batches 2 \
        --plan "$kept/plan.json" --memory 20000 --steps 1 --out trained.onnx
    begin "a plan by $to with times that $from measured says so"
    export ONSTAGE_CPU=$from
    succeeds profile "${model[@]}" --repetitions 2 --no-cache -o "$kept/profile.json" || continue
    export ONSTAGE_CPU=$to
    if succeeds plan "${model[@]}" --stages 2 --micro-batches 2 --profile "$kept/profile.json" -o plan.json &&
        printed "measured with other kernels than this machine's \(there: .*variant $from; here: .*variant $to\)"; then
        pass "$name"
    fi
    begin "a checkpoint by $from is resumed by $to, which says so once"
    export ONSTAGE_CPU=$from
    succeeds train "${model[@]}" --steps 2 --checkpoint "$kept/checkpoint" --checkpoint-every 2 --out trained.onnx || continue
    export ONSTAGE_CPU=$to
    succeeds train "${model[@]}" --steps 6 --checkpoint "$kept/checkpoint" --checkpoint-every 2 --resume --log-json log.jsonl --out trained.onnx || continue
    count=$(cat "$work/stdout" "$work/stderr" | grep -c "computed by other kernels")
    if [[ $count == 1 ]]; then pass "$name"; else fail "$name" "said $count times: $(cat "$work/stdout" "$work/stderr")"; fi
    begin "its next checkpoint is $to's own: nothing is said"
    succeeds train "${model[@]}" --steps 8 --checkpoint "$kept/checkpoint" --checkpoint-every 2 --resume --out trained.onnx || continue
    if cat "$work/stdout" "$work/stderr" | grep -q "computed by other kernels"; then fail "$name" "$(cat "$work/stdout" "$work/stderr")"; else pass "$name"; fi
done
unset ONSTAGE_CPU

report_and_exit
