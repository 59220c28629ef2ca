#!/usr/bin/env bash
# --best and --early-stop with a stage in each process: all decide alike, and what is written is what one process writes.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
golden=$PWD/tests/agreement/golden/mlp

train=("$onstage" train "$golden/model.onnx" --input "x=$golden/input.npy" --target "$golden/target.npy" --rows 0:128
    --val-rows 128: --loss cross_entropy --batch 24 --micro-batches 3 --optimizer adam --lr 0.05 --epochs 12 --threads 1
    --stages 2)

# NAME: the last run is well, and wrote what one process did.
compare() {
    if ((status != 0)); then fail "$1" "exit code $status"
    elif ! cmp -s "$work/alone.onnx" "$work/together.onnx"; then fail "$1" "the models differ"
    elif [[ $(grep -cE '^(wrote .*: the weights of step|ended after)' "$work/stdout") != 2 ]]; then fail "$1" "it is not said once"
    else pass "$1"; fi
}

options=(--best --early-stop 2)
run "${train[@]}" "${options[@]}" --out "$work/alone.onnx"
run "${mpirun[@]}" -n 2 "${train[@]}" "${options[@]}" --transport mpi --out "$work/together.onnx"
compare "early end with the best weights"

rm "$work/together.onnx"
run "${mpirun[@]}" -n 2 "${train[@]}" "${options[@]}" --transport mpi --checkpoint "$work/kept" --steps 18
run "${mpirun[@]}" -n 2 "${train[@]}" "${options[@]}" --transport mpi --checkpoint "$work/kept" --resume --out "$work/together.onnx"
compare "the same, resumed"

run "${mpirun[@]}" -n 2 "${by_rank[@]}" 1 "${train[@]}" --transport mpi --out "$work/none.onnx" --best + 1 "${train[@]}" --transport mpi --out "$work/none.onnx"
if ((status == 1)) && grep -q "rank 1 was started with other options" "$work/stderr"; then pass "a rank without --best"
else fail "a rank without --best" "exit code $status"; fi

report_and_exit
