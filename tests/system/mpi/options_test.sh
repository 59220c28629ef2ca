#!/usr/bin/env bash
# Ranks that were started with other options, or with other files under the same names, than rank 0: one message that names what differs,
# exit code 1, before the first step, over stages and over replicas.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
golden=$PWD/tests/agreement/golden/mlp
cd "$work" || exit 1
mkdir same
cp "$golden/input.npy" "$golden/target.npy" "$golden/model.onnx" same
{
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (10,), }"
    printf '\0\0\x80\x3f%.0s' {1..10}
} >same/weights.npy

# NAME PATTERN LAYOUT OPTIONS FOLDER MORE...: rank 1 has these options, and that folder's files; both have MORE.
refused() {
    local name="$1 over ${3//--/}" pattern=$2 folder=$5 options
    read -ra options <<<"$4"
    local train=(timeout 60 "$onstage" train model.onnx --input x=input.npy --target target.npy --loss cross_entropy --batch 8 --threads 1
        --steps 4 --transport mpi --out out.onnx "$3" 2 "${@:6}")
    rm -f same/out.onnx
    start=$EPOCHREALTIME
    # shellcheck disable=SC2016  # expanded by the inner shell
    "${mpirun[@]}" -n 2 "${by_rank[@]}" 1 env -C same "${train[@]}" + 1 env -C "$folder" "${train[@]}" "${options[@]}" >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    seconds=$(awk "BEGIN { print $EPOCHREALTIME - $start }")
    if ((status != 1)); then fail "$name" "exit code $status"
    elif (($(grep -c '^onstage: ' "$work/stderr") != 1)); then fail "$name" "$(grep -c '^onstage: ' "$work/stderr") messages"
    elif ! grep -qE "^onstage: .*$pattern" "$work/stderr"; then fail "$name" "no message '$pattern'"
    elif [[ -e same/out.onnx ]]; then fail "$name" "a model was written"
    elif ! awk "BEGIN { exit !($seconds < 10) }"; then fail "$name" "took $seconds seconds"
    else pass "$name"; fi
}

layouts=(--stages --replicas)
count=0
while IFS= read -r option; do
    refused "$option" "rank 1 was started with other options than rank 0: ${option%% *}; give all ranks the same options$" \
        "${layouts[count % 2]}" "$option" same
    count=$((count + 1))
done <<'END'
--rows 0:64
--normalize x=1,2
--val-rows 0:8
--val-split 0.5
--batch 16
--micro-batches 4
--freeze fc1.*
--train fc*
--batchnorm eval
--dropout off
--new-head 12
--strict
--loss nll
--loss-output logits
--class-axis 1
--ignore-index 3
--label-smoothing 0.1
--optimizer adam
--lr 0.1
--lr-of fc1.*=0.1
--beta1 0.5
--beta2 0.5
--eps 1e-6
--weight-decay 0.1
--clip-norm 1
--lr-schedule linear
--warmup 3
--steps 5
--epochs 3
--seed 3
--memory 1GiB
--precision bf16
--pipeline gpipe
--partition exact
--export inference
END
refused "another order of samples" "rank 1 was started with other options than rank 0: --shuffle;" --replicas --no-shuffle same

# The same options, and another file: of data the last sample's last number, of weights the first ones.
last() { echo $(($(stat -c %s "same/$1") - $2)); }
others() {
    rm -rf other
    cp -r same other
    printf '%b' "$3" | dd of="other/$1" bs=1 seek="$2" conv=notrunc status=none
    cmp -s "same/$1" "other/$1" && fail "$1" "the other file is the same"
}
for layout in --stages --replicas; do
    others input.npy "$(last input.npy 2)" '\x41\x41'
    refused "another input.npy" "rank 1 reads other training data than rank 0; give all ranks the same$" "$layout" "" other
    refused "another input.npy to validate on" "rank 1 reads other validation data than rank 0;" "$layout" "" other --rows 0:100 --val-rows 100:192
    others target.npy "$(last target.npy 8)" "\\x$(od -An -tu1 -j "$(last target.npy 8)" -N 1 same/target.npy | awk '{ print ($1 + 1) % 10 }')"
    refused "another target.npy" "rank 1 reads other training data than rank 0;" "$layout" "" other
    refused "another target.npy to validate on" "rank 1 reads other validation data than rank 0;" "$layout" "" other --rows 0:100 --val-rows 100:192
    others weights.npy 131 '\x40'
    refused "other weights of classes" "rank 1 trains another model than rank 0, or has other --class-weights;" "$layout" "" other --class-weights weights.npy
    others model.onnx "$(last model.onnx 1000)" '\x3d\x3d'
    refused "other weights in the model" "rank 1 starts from other weights than rank 0;" "$layout" "" other
done
report_and_exit
