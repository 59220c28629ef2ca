#!/usr/bin/env bash
# Runs what uses threads under the thread sanitizer: tests/robust/tsan/harness, processes over MPI, pipelines and the command.
# Criterion does not start under it, so this is no Bazel test. Ends with a line "N passed, N failed".
#   tools/build/tsan.sh
set -uo pipefail
cd "${BASH_SOURCE[0]%/*}/../.." || exit 1

./bazelw build --config=tsan --symlink_prefix=/ //tests/robust/tsan:harness //tests/system/mpi:traffic //tests/rooms/pipeline:sweep \
    //tools:onstage || exit 1
bin=$(./bazelw info --config=tsan bazel-bin 2>/dev/null) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# libgomp is not instrumented: what it runs would be reported wrongly.
export OMP_NUM_THREADS=1 TSAN_OPTIONS="ignore_noninstrumented_modules=1 second_deadlock_stack=1 exitcode=66"
golden=tests/agreement/golden
passed=0 failed=0

# NAME COMMAND...: succeeds without a report of the sanitizer.
clean() {
    local status
    "${@:2}" >"$work/output" 2>&1
    status=$?
    if ((status == 0)) && ! grep -q "ThreadSanitizer" "$work/output"; then
        passed=$((passed + 1))
        echo "ok      $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $1: exit code $status"
        head -60 "$work/output"
    fi
}

# Silence means something: a race made on purpose is reported, and with the exit code that is looked at.
"$bin/tests/robust/tsan/harness" --race >"$work/output" 2>&1
status=$?
if ((status == 66)) && grep -q "WARNING: ThreadSanitizer: data race" "$work/output" && grep -q increment "$work/output"; then
    passed=$((passed + 1))
    echo "ok      a race made on purpose is found"
else
    failed=$((failed + 1))
    echo "FAILED  a race made on purpose is found: exit code $status"
    head -20 "$work/output"
fi

logs=(--log-json "$work/log.jsonl" --log-grad-norms --trace "$work/trace.json" --tensorboard "$work/events")
mkdir "$work/harness"
clean "harness" "$bin/tests/robust/tsan/harness" "$golden/mlp/model.onnx" "$work/harness"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
clean "messages between processes" mpirun -n 2 --oversubscribe --bind-to none "$bin/tests/system/mpi/traffic" run 5
# Stages of a pipeline, each with its driver, compute, message and copy threads; the runs are compared bit by bit, too.
for pipeline in gpipe 1f1b; do
    clean "three stages that swap and recompute, $pipeline" "$bin/tests/rooms/pipeline/sweep" --models mlp,cnn_dynamic --devices 3 \
        --chunks 1 --pipelines "$pipeline" --cuts slices,slices/both --transports local
done
clean "several stages on a device" "$bin/tests/rooms/pipeline/sweep" --models mlp,cnn_dynamic --devices 2 --chunks 2 --cuts planned \
    --transports local
for model in lenet=image gpt_decomposed=tokens; do
    folder=$golden/${model%=*}
    clean "training of ${model%=*}" "$bin/tools/onstage" train "$folder/model.onnx" --input "${model#*=}=$folder/input.npy" \
        --target "$folder/target.npy" --loss cross_entropy --steps 12 --threads 1 --micro-batches 2 --out "$work/trained.onnx" \
        --checkpoint "$work/${model%=*}" --checkpoint-every 5 --val-rows 0:16 --val-every 4 "${logs[@]}"
    clean "resume of ${model%=*}" "$bin/tools/onstage" train "$folder/model.onnx" --input "${model#*=}=$folder/input.npy" \
        --target "$folder/target.npy" --loss cross_entropy --steps 15 --threads 1 --micro-batches 2 --out "$work/trained.onnx" \
        --checkpoint "$work/${model%=*}" --checkpoint-every 5 --resume "${logs[@]}"
    clean "eval of ${model%=*}" "$bin/tools/onstage" eval "$work/trained.onnx" --input "${model#*=}=$folder/input.npy" \
        --target "$folder/target.npy" --loss cross_entropy --threads 1 --metric accuracy
done
# Sums over replicas, in lanes beside each one's compute.
clean "replicas of a pipeline" "$bin/tools/onstage" train "$golden/cnn_dynamic/model.onnx" --input "image=$golden/cnn_dynamic/input.npy" \
    --target "$golden/cnn_dynamic/target.npy" --loss cross_entropy --batchnorm train --steps 8 --threads 1 --batch 25 --replicas 3 --stages 2 \
    --micro-batches 2 --out "$work/trained.onnx" --val-rows 0:40 --val-every 3 "${logs[@]}"
clean "replicas that divide updates and normalise together" "$bin/tools/onstage" train "$golden/cnn_dynamic/model.onnx" --input "image=$golden/cnn_dynamic/input.npy" \
    --target "$golden/cnn_dynamic/target.npy" --loss cross_entropy --batchnorm train --steps 8 --threads 1 --batch 25 --replicas 3 --stages 2 --shard-optimizer --sync-batchnorm \
    --micro-batches 2 --out "$work/trained.onnx" --val-rows 0:40 --val-every 3 "${logs[@]}"

echo "$passed passed, $failed failed"
((failed == 0))
