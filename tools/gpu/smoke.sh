#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2153  # names that part.sh has, too
# The first part of gpu_check.sh: whether anything works at all, one step after the other with nothing beside it, the cheapest first,
# each with a time of its own. What a step finds stands in the table at once. part.sh has what it uses.

# Runs a function of this file, or says that its time is over.
smoke() { # SECONDS FUNCTION ARGUMENT...
    local limit
    limit=$(at_most "$1")
    if ((limit < 4)); then put "${*:2}" 'not run' 'no time left'; else LIMIT=$limit "${@:2}" || put "${*:2}" failed "it ended early"; fi
}

tests_of() { # NAME FILTER [OPERATORS]
    local log="logs/smoke.${1//[ ,\/]/_}" status=0
    [[ -z ${3:-} ]] || local -x ONSTAGE_TEST_OPERATOR=$3
    ours timeout -k 2 "$LIMIT" bin/cuda_test --jobs=1 --filter "$2" >"$log" 2>&1 || status=$?
    put_criterion "$1" "$log" "$status"
}

device_of() {
    local status=0
    ours timeout -k 2 "$LIMIT" bin/device_test --jobs=1 >logs/smoke.device 2>&1 || status=$?
    put_criterion device logs/smoke.device "$status"
}

# The version of a library, as it says itself.
version_of() { # FILE
    timeout 10 python3 - "$1" 2>/dev/null <<'END' || echo 'of unknown version'
import ctypes, sys
library, one, two = ctypes.CDLL(sys.argv[1]), ctypes.c_int(), ctypes.c_int()
name = sys.argv[1].rsplit("/", 1)[1].split(".")[0]
if name == "libnvrtc":
    library.nvrtcVersion(ctypes.byref(one), ctypes.byref(two))
    print(f"{one.value}.{two.value}")
elif name == "libnccl":
    library.ncclGetVersion(ctypes.byref(one))
    print(one.value)
else:
    get = getattr(library, {"libcublasLt": "cublasLtGetVersion", "libcudnn": "cudnnGetVersion"}[name])
    get.restype = ctypes.c_size_t
    print(get())
END
}

# Which libraries are found, and where: folders as the search found them, without the machine's own names before site-packages.
versions() {
    local library folder found='' torch
    for library in libcublasLt.so.13 libcudnn.so.9 libnccl.so.2 libnvrtc.so.13; do
        for folder in ${ONSTAGE_LIBRARIES//:/ } missing; do [[ ! -e $folder/$library ]] || break; done
        found+="; $library"
        [[ $folder == missing ]] || found+=" $(version_of "$folder/$library"):"
        found+=" ${folder##*site-packages/}"
    done
    torch=$(timeout 10 python3 -c 'from importlib.metadata import version; print(version("torch"))' 2>/dev/null || echo none)
    put versions passed "driver ${DRIVER:-unknown}, PyTorch $torch$found"
}

# Twice with every step recorded as a graph: the same weights.
graphs_twice() { # PRECISION
    local run
    for run in one two; do
        ONSTAGE_CUDA_GRAPHS=on train_golden mlp "smoke.$1.$run" --precision "$1" || { put "mlp $1, graphs" failed "$(say "logs/$PART.smoke.$1.$run")"; return 0; }
    done
    put_same "mlp $1, graphs" "smoke.$1.one" "smoke.$1.two" 'the same weights twice'
}

# Milliseconds of a step, and samples a second.
headline() { # NETWORK NAME
    local seconds batch run
    known "$1" "$2" || return 0
    choose "$1"
    batch=$(batch_of "$1")
    if ! printf 'run 3\nrun 11\n' | ours timeout -k 2 "$LIMIT" bin/step_time "${run[@]}" --lr 1e-4 --seed 1 --shuffle false --steps 1000000 \
        >"work/smoke.times" 2>"logs/smoke.${2//[ ,]/_}"; then
        put "$2" failed "$(say "logs/smoke.${2//[ ,]/_}")"
        return 0
    fi
    seconds=$(tail -n 1 work/smoke.times | grep -oE '"seconds": \[[^]]*' | grep -oE '[0-9.]+' | median)
    put "$2" passed "$(calculate "$seconds" 0 0 'a * 1000') ms a step, $(calculate "$batch" "$seconds" 0 'a / b') samples/s, $(precision)" \
        "step_seconds=$seconds" "batch=$batch"
}

profiled() { # NETWORK
    local run
    known "$1" "$1 profile" || return 0
    choose "$1"
    if ours timeout -k 2 "$LIMIT" bin/onstage profile "${run[@]}" --repetitions 8 --no-cache -o "work/$1.profile.json" >"logs/smoke.$1.profile" 2>&1; then
        put "$1 profile" passed "$(grep -aE '^whole step|^all nodes|^beside' "logs/smoke.$1.profile" | tr -s ' \n' ' ')" \
            "step_seconds=$(number step_seconds "work/$1.profile.json")"
    else
        put "$1 profile" failed "$(say "logs/smoke.$1.profile")"
    fi
}

without_epilogues() { ONSTAGE_CUBLASLT_EPILOGUES=off headline "$1" "$1, without epilogues"; }
without_cudnn() { ONSTAGE_CUDNN=off headline "$1" "$1, without cuDNN"; }

part_smoke() {
    local first=${NETWORK:-gpt2} second=${NETWORK_2:-resnet50}
    smoke 15 versions
    smoke 20 device_of
    smoke 40 tests_of 'first operators' 'cuda/@(kernels|halves)' 'Add,LayerNormalization*,Linear*,CrossEntropy*,GatherGradient,AdamW'
    smoke 15 tests_of epilogues 'cuda/epilogues'
    smoke 50 tests_of 'attention, convolution, batch norm' 'cuda/@(kernels|halves)' 'Attention*,Conv*,BatchNorm*'
    smoke 15 graphs_twice fp32
    smoke 15 graphs_twice bf16
    smoke 40 headline "$first" "$first"
    smoke 25 without_epilogues "$first"
    smoke 30 headline "$second" "$second"
    smoke 25 without_cudnn "$second"
    smoke 25 profiled "$first"
    smoke 25 profiled "$second"
}
