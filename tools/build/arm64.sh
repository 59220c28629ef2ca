#!/usr/bin/env bash
# Compiles every C source of the product for arm64 as Debian 12 does, whose GCC 12.2 cannot compile all that others can.
# Ends with a line "N passed, N failed".
#   tools/build/arm64.sh
set -uo pipefail
cd "${BASH_SOURCE[0]%/*}/../.." || exit 1

tools/build/packages.sh build arm64 || exit 1
./bazelw build //third_party/onnx:onnx_proto_c //planner/cost:profiles || exit 1
bin=$(./bazelw info bazel-bin 2>/dev/null)
# Headers of libraries are this machine's: they are the same for every processor. CUDA's are not needed here.
flags="-std=gnu17 -D_GNU_SOURCE -DONS_CPU_VARIANT=baseline -O3 -g1 -fPIC -fopenmp -w -Iinclude -iquote . -iquote $bin
    -isystem $bin/third_party/onnx -idirafter /usr/include -idirafter /usr/include/$(gcc -dumpmachine) $(mpicc --showme:compile)"
export flags

# shellcheck disable=SC2086  # a list of flags
compile() {
    if aarch64-linux-gnu-gcc-12 $flags -c "$1" -o /dev/null; then echo "ok $1"; else echo "FAILED $1"; fi
}
export -f compile
rooms=('base/*.c' 'device/*.c' 'engine/*.c' 'graph/*.c' 'kernels/*.c' 'onnx_import/*.c' 'planner/*.c' 'runtime/*.c' 'tools/*.c')
without=(':!device/cuda.c' ':!device/cuda_compiler.c' ':!*_cuda.c' ':!kernels/common/cudnn/*' ':!kernels/common/gemm/cublaslt.c')

# shellcheck disable=SC2016  # for the inner shell
results=$(git ls-files -z "${rooms[@]}" "${without[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$1"' compile)
failed=$(grep -c '^FAILED ' <<<"$results")
grep '^FAILED ' <<<"$results"
echo "$(grep -c '^ok ' <<<"$results") passed, $failed failed"
((failed == 0))
