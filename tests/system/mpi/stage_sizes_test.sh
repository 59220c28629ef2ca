#!/usr/bin/env bash
# A plan in which stages chose how many micro-batches they take at once trains, over threads and processes, to the same
# bits, and goes on from a checkpoint; one whose stages are of other sizes does not. So does one in which they chose
# copies, too.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
towers=$PWD/tests/agreement/families/two_towers

same=("$towers/model.onnx" --loss cross_entropy --optimizer adamw --batch 16 --threads 1)
train=(train "${same[@]}" --input "x=$towers/x.npy" --target "$towers/target.npy" --lr 0.01 --seed 7)

# NAME FILE FILE: the last run is well, and the files are the same.
compare() {
    if ((status != 0)); then fail "$1" "exit code $status"
    elif ! cmp -s "$2" "$3"; then fail "$1" "they differ"
    else pass "$1"; fi
}

plan=("$onstage" plan "${same[@]}" --micro-batches 8 --stages 4 --partition graphpipe --device-profile a100-40gb)
run "${plan[@]}" --stage-sizes free -o "$work/free.json"
if ((status == 0)) && grep -q '"micro_batch"' "$work/free.json"; then pass "stages choose sizes"; else fail "stages choose sizes" "exit code $status"; fi

run "$onstage" "${train[@]}" --plan "$work/free.json" --steps 8 --out "$work/threads.onnx" || fail "threads" "it does not run"
run "${mpirun[@]}" -n 4 "$onstage" "${train[@]}" --plan "$work/free.json" --steps 8 --out "$work/processes.onnx"
compare "threads and processes" "$work/threads.onnx" "$work/processes.onnx"

run "$onstage" "${train[@]}" --plan "$work/free.json" --steps 3 --checkpoint "$work/c" --checkpoint-every 3
run "$onstage" "${train[@]}" --plan "$work/free.json" --steps 8 --checkpoint "$work/c" --checkpoint-every 8 --resume --out "$work/resumed.onnx"
compare "a run that is resumed" "$work/threads.onnx" "$work/resumed.onnx"

run "${plan[@]}" -o "$work/equal.json"
name="a run of other sizes is another one"
if run "$onstage" "${train[@]}" --plan "$work/equal.json" --steps 9 --checkpoint "$work/c" --checkpoint-every 9 --resume; then
    fail "$name" "it goes on"
else
    pass "$name"
fi

mlp=$PWD/tests/agreement/golden/mlp
same=("$mlp/model.onnx" --loss cross_entropy --batch 48 --threads 1)
options=(--input "$mlp/input.npy" --target "$mlp/target.npy" --rows 0:150 --val-rows 150:192 --metric accuracy --val-every 3 --log-grad-norms)
figures() { grep -oE '"(loss|val[a-z_]*|grad_norm)":[^,}]*' "$1"; }
run "$onstage" plan "${same[@]}" --micro-batches 12 --stages 6 --partition graphpipe --device-profile a100-40gb --stage-sizes free --stage-replicas free \
    -o "$work/both.json"
name="stages choose sizes and copies"
if ((status == 0)) && grep -q '"micro_batch":.[2-9]' "$work/both.json" && grep -q '"replicas":.[2-9]' "$work/both.json"; then pass "$name"; else fail "$name" "exit code $status"; fi

train=(train "${same[@]}" "${options[@]}" --plan "$work/both.json")
run "$onstage" "${train[@]}" --steps 9 --out "$work/threads.onnx" --log-json "$work/threads.jsonl" || fail "threads" "it does not run"
run "${mpirun[@]}" -n 6 "$onstage" "${train[@]}" --steps 9 --out "$work/processes.onnx" --log-json "$work/processes.jsonl" --trace "$work/trace.json"
compare "sizes and copies: threads and processes" "$work/threads.onnx" "$work/processes.onnx"
figures "$work/threads.jsonl" >"$work/threads.txt"
figures "$work/processes.jsonl" >"$work/processes.txt"
compare "… the same losses and norms, validations too" "$work/threads.txt" "$work/processes.txt"

for divided in "" --shard-optimizer; do
    rm -rf "$work/c"
    # shellcheck disable=SC2086
    {
        run "${mpirun[@]}" -n 6 "$onstage" "${train[@]}" $divided --steps 4 --checkpoint "$work/c" --log-json "$work/resumed.jsonl"
        run "${mpirun[@]}" -n 6 "$onstage" "${train[@]}" $divided --steps 9 --checkpoint "$work/c" --resume --log-json "$work/resumed.jsonl" \
            --out "$work/resumed.onnx"
        compare "… resumed ${divided:-with whole updates}" "$work/threads.onnx" "$work/resumed.onnx"
    }
done

# A loss over all pairs of the batch: the towers' micro-batches come together before it, and it is that of the batch at once.
pairs=$PWD/tests/agreement/families/contrastive
same=("$pairs/model.onnx" --input "a=$pairs/a.npy" --input "b=$pairs/b.npy" --target "$pairs/target.npy" --loss cross_entropy --batch 8 --threads 1)
train=(train "${same[@]}" --optimizer sgd --lr 0.02 --steps 20)
barrier=(plan "${same[@]}" --optimizer sgd --micro-batches 4 --stages 3 --partition graphpipe --stage-sizes barrier)
run "$onstage" "${barrier[@]}" -o "$work/barrier.json"
name="the stage of a contrastive loss takes all micro-batches at once"
if ((status == 0)) && grep -q '"micro_batch":.4' "$work/barrier.json"; then pass "$name"; else fail "$name" "exit code $status"; fi
run "$onstage" "${train[@]}" --log-json "$work/whole.jsonl" || fail "the batch at once" "it does not run"
run "$onstage" "${train[@]}" --plan "$work/barrier.json" --out "$work/threads.onnx" --log-json "$work/threads.jsonl" || fail "threads" "it does not run"
run "${mpirun[@]}" -n 3 "$onstage" "${train[@]}" --plan "$work/barrier.json" --out "$work/processes.onnx"
compare "before a barrier: threads and processes" "$work/threads.onnx" "$work/processes.onnx"
losses() { sed -nE 's/.*"loss":([0-9.e+-]*).*/\1/p' "$1"; }
name="its losses are those of the batch at once"
if paste <(losses "$work/whole.jsonl") <(losses "$work/threads.jsonl") |
    awk '{ off = $1 - $2; if (NF != 2 || off > 1e-5 || off < -1e-5) exit 1 } END { exit NR != 20 }'; then pass "$name"; else fail "$name" "they are not"; fi
run "$onstage" plan "$mlp/model.onnx" --loss cross_entropy --batch 48 --micro-batches 4 --stages 3 --partition graphpipe --stage-sizes barrier
name="a model without such a loss has no barrier"
if ((status == 1)) && grep -q "nothing in the model compares samples" "$work/stderr"; then pass "$name"; else fail "$name" "exit code $status"; fi
run "$onstage" plan "${same[@]}" --batch 12 --micro-batches 6 --stages 3 --partition graphpipe --stage-sizes barrier
name="micro-batches that no stage takes at once"
if ((status == 1)) && grep -q "take --micro-batches 4" "$work/stderr"; then pass "$name"; else fail "$name" "exit code $status"; fi

report_and_exit
