#!/usr/bin/env bash
# Checks onstage on a machine with an NVIDIA GPU that can build nothing: what is needed is packed where it can be built.
#   tools/gpu_check.sh pack FILE.tar.gz     builds with --config=cuda and packs programs, their libraries and test data (< 60 MiB)
#   ./gpu_check.sh run [RESULTS.json]       in the unpacked folder: runs all checks, prints a table, writes the results
# `run` needs the NVIDIA driver, cuBLASLt (CUDA 13) and nothing else. It ends with 0 where all passed, 1 where something failed, and
# 77 with "not run: no GPU" where there is none: that is not a pass.
set -euo pipefail

LIMIT_BYTES=$((60 * 1024 * 1024))
LIMIT_SECONDS=480

# ------------------------------------------------------------------------------------------------------------------ pack

# Copies program $1 into folder $2/bin, stripped, and the libraries that it is linked with into $2/lib; the C library and the
# dynamic loader are the other machine's own.
pack_program() {
    local program=$1 folder=$2 library
    install -m 755 "$program" "$folder/bin/"
    strip --strip-debug "$folder/bin/${program##*/}"
    ldd "$program" | awk '$2 == "=>" && $3 ~ "^/" { print $3 }' | while read -r library; do
        case ${library##*/} in
        libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | ld-linux*) ;;
        *) [[ -e $folder/lib/${library##*/} ]] || install -m 644 "$library" "$folder/lib/" ;;
        esac
    done
}

pack() {
    local result=$1 folder bytes program
    local targets=(//tools:onstage //tests/kernels:cuda_test //tests/device:device_test //tests/golden:golden_test)
    # Not for this machine's processor alone.
    ./bazelw build --config=cuda --config=portable "${targets[@]}"
    folder=$(mktemp -d)
    mkdir -p "$folder/onstage_gpu/bin" "$folder/onstage_gpu/lib" "$folder/onstage_gpu/tests/golden"
    for program in tools/onstage tests/kernels/cuda_test tests/device/device_test tests/golden/golden_test; do
        pack_program "bazel-bin/$program" "$folder/onstage_gpu"
    done
    cp tools/gpu_check.sh "$folder/onstage_gpu/"
    git describe --always --dirty >"$folder/onstage_gpu/version" 2>/dev/null || echo unknown >"$folder/onstage_gpu/version"
    cp -rL tests/golden/*/ "$folder/onstage_gpu/tests/golden/"
    tar -C "$folder" -czf "$result" onstage_gpu
    rm -rf "$folder"
    bytes=$(stat -c %s "$result")
    echo "$result: $((bytes / 1024)) KiB"
    ((bytes < LIMIT_BYTES)) || { echo "gpu_check: the package is larger than 60 MiB" >&2; exit 1; }
}

# ------------------------------------------------------------------------------------------------------------------- run

declare -A state=() detail=() seconds=()
order=()

# Runs check $1, the rest is its command; its output is kept in logs/$1. A check passes where the command ends with 0 and ran
# something.
check() {
    local name=$1 start left status=0
    shift
    order+=("$name")
    left=$((LIMIT_SECONDS - SECONDS))
    if ((left < 10)); then
        state[$name]='not run' detail[$name]='no time left' seconds[$name]=0
        return 0
    fi
    start=$SECONDS
    timeout "$left" "$@" >"logs/$name" 2>&1 || status=$?
    seconds[$name]=$((SECONDS - start))
    detail[$name]=$(sed 's/\x1b\[[0-9;]*m//g' "logs/$name" | grep -E 'Synthesis|ERROR SUMMARY|^onstage' | tail -1 | tr -d '"\\' || true)
    if ((status != 0)); then
        state[$name]=failed detail[$name]="exit $status ${detail[$name]}"
    elif [[ ${detail[$name]} == *"Tested: 0 "* ]]; then
        state[$name]='not run'
    else
        state[$name]=passed
    fi
}

# Trains golden model $1 on the GPU with the options that follow, and keeps the trained model as logs/$2.onnx.
train_golden() {
    local model=$1 name=$2
    shift 2
    "${ours[@]}" bin/onstage train "tests/golden/$model/model.onnx" --device cuda --input "x=tests/golden/$model/input.npy" \
        --target "tests/golden/$model/target.npy" --loss cross_entropy --optimizer adamw --lr 0.01 --batch 16 \
        --micro-batches 4 --steps 8 --seed 1 --out "logs/$name.onnx" "$@"
}

# The same bits twice, and with 1, 2 and 4 stages.
same_bits() {
    local stages
    train_golden mlp whole
    for stages in 1 2 4; do
        train_golden mlp "stages_$stages" --stages "$stages"
        cmp logs/whole.onnx "logs/stages_$stages.onnx"
    done
    echo "onstage: same bits, twice and with 1, 2 and 4 stages"
}

# Folders of NVIDIA's libraries, wherever they were installed: the toolkit, or Python's packages.
library_folders() {
    local found
    for found in /usr/local/cuda/lib64 /usr/local/nvidia/lib64; do [[ ! -d $found ]] || echo "$found"; done
    find / -xdev -name 'libcublasLt.so.13' -not -path '/proc/*' -printf '%h\n' 2>/dev/null | sort -u | head -3
}

write_results() {
    local file=$1 name separator=''
    {
        printf '{\n  "date": "%s",\n  "version": "%s",\n' "$(date -u +%FT%TZ)" "$(cat version)"
        printf '  "gpu": "%s",\n  "driver": "%s",\n  "command": "gpu_check.sh run",\n  "seconds": %d,\n  "checks": [' \
            "$gpu" "$driver" "$SECONDS"
        for name in "${order[@]}"; do
            printf '%s\n    {"name": "%s", "state": "%s", "seconds": %d, "detail": "%s"}' "$separator" "$name" \
                "${state[$name]}" "${seconds[$name]}" "${detail[$name]}"
            separator=,
        done
        printf '\n  ]\n}\n'
    } >"$file"
}

run() {
    local results=${1:-results.json} name failed=0 folders
    cd "${BASH_SOURCE[0]%/*}"
    mkdir -p logs
    folders=$(library_folders | paste -sd: -)
    # For our programs alone: others, nvidia-smi say, have libraries of their own.
    local ours=(env "LD_LIBRARY_PATH=$PWD/lib${folders:+:$folders}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
    gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1 || true)
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -1 || true)
    if [[ -z $gpu ]]; then
        "${ours[@]}" bin/device_test --jobs=1 || { echo "gpu_check: the programs do not start here" >&2; exit 1; }
        echo "not run: no GPU"
        exit 77
    fi
    echo "$gpu, driver $driver"
    check device "${ours[@]}" bin/device_test --jobs=1
    check operators "${ours[@]}" bin/cuda_test --jobs=1
    ONSTAGE_TEST_DEVICE=cuda check golden "${ours[@]}" bin/golden_test --jobs=1
    export -f same_bits train_golden
    check same_bits bash -euc "$(declare -p ours); same_bits"
    if command -v compute-sanitizer >/dev/null; then
        for name in Add Softmax LayerNormalization GatherGradient ReduceSum; do
            ONSTAGE_TEST_OPERATOR=$name check "memcheck_$name" compute-sanitizer --error-exitcode 9 --target-processes all \
                "${ours[@]}" bin/cuda_test --jobs=1
        done
    fi
    printf '%-32s %-8s %8s  %s\n' check state seconds detail
    for name in "${order[@]}"; do
        printf '%-32s %-8s %8d  %s\n' "$name" "${state[$name]}" "${seconds[$name]}" "${detail[$name]}"
        [[ ${state[$name]} != failed ]] || failed=1
    done
    write_results "$results"
    return "$failed"
}

case ${1:-} in
pack) pack "${2:?where to}" ;;
run) run "${2:-}" ;;
*)
    sed -n '2,6s/^# //p' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac
