#!/usr/bin/env bash
# Processes that compute with other kernels or libraries than each other: refused by name where they must have the same weights,
# told of where each has its own stage, and noted where a plan was made with others.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
golden=$PWD/tests/agreement/golden
copied_plan=$PWD/tests/rooms/pipeline/copied_plan_main
other_onednn=$PWD/tests/system/mpi/other_onednn.so
data=("$golden/mlp/model.onnx" --input "$golden/mlp/input.npy" --target "$golden/mlp/target.npy" --loss cross_entropy --threads 1)

# NAME CODE PATTERN: the last run ended with this code, and told this, once.
told() {
    local count
    count=$(grep -cE -- "$3" "$work/stderr")
    if ((status != $2)); then fail "$1" "exit code $status instead of $2"
    elif ((count != 1)); then fail "$1" "'$3' is said $count times"
    else pass "$1"; fi
}

version() { env "$@" "$onstage" --version | tail -1; }

run "$onstage" plan "${data[0]}" --loss cross_entropy --threads 1 --stages 2 --batch 12 --micro-batches 4 -o "$work/plain.json" || fail "a plan" "exit code $status"
"$copied_plan" "$work/plain.json" "$work/copied.json" 2,1 || fail "a plan with copies" "there is none"

# NAME FIRST SECOND PATTERN: rank 0, and rank 1 and those behind it, are started with these settings of the environment; PATTERN
# holds both ranks' versions.
mix() {
    local train=("$onstage" train "${data[@]}" --batch 12 --steps 2)
    run "${mpirun[@]}" -n 2 "${by_rank[@]}" 1 env "$2" "${train[@]}" --replicas 2 + 1 env "$3" "${train[@]}" --replicas 2
    told "replicas with $1" 3 "the processes compute with different kernels, and replicas would not stay the same \\($4\\)"
    run "${mpirun[@]}" -n 3 "${by_rank[@]}" 1 env "$2" "${train[@]}" --plan "$work/copied.json" + 2 env "$3" "${train[@]}" --plan "$work/copied.json"
    told "copies of a stage with $1" 3 "the processes compute with different kernels, and replicas would not stay the same \\($4\\)"
    run "${mpirun[@]}" -n 2 "${by_rank[@]}" 1 env "$2" "${train[@]}" --stages 2 --out "$work/mixed.onnx" + 1 env "$3" "${train[@]}" --stages 2 --out "$work/mixed.onnx"
    told "stages with $1" 0 "the processes compute with different kernels, so the bits are those of none \\($4\\)"
}

# ------------------------------------------------------------------------------------------------------------------- kernels
if [[ $(version ONSTAGE_CPU=v3) == *"variant v3" ]]; then
    mix "other kernels" ONSTAGE_CPU=baseline ONSTAGE_CPU=v3 "oneDNN .*variant baseline; rank 1: oneDNN .*variant v3"
else
    echo "not run: this machine has no kernels but the baseline"
fi

# ----------------------------------------------------------------------------------------------------------------- libraries
if [[ $(version LD_PRELOAD="$other_onednn") == "oneDNN 2.99.7,"* ]]; then
    mix "another oneDNN" ONSTAGE_CPU= "LD_PRELOAD=$other_onednn" "oneDNN .*; rank 1: oneDNN 2\\.99\\.7, .*"
    run env LD_PRELOAD="$other_onednn" "$onstage" train "${data[@]}" --steps 2 --plan "$work/plain.json"
    name="a plan that was made with another oneDNN"
    if ((status == 0)) && cat "$work/stdout" "$work/stderr" | grep -qE "planned with oneDNN [0-9.]+, here 2\.99\.7"; then pass "$name"
    else fail "$name" "exit code $status"; fi
else
    echo "not run: oneDNN is part of the program"
fi

report_and_exit
