#!/usr/bin/env bash
# Runs tools/gpu_check.sh with the programs as they are but on a fake of the CUDA runtime: checks with --device cuda. Kernels are the
# emulation's, so two small models and a few operators stand for all.
set -euo pipefail

root=$PWD
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/gpu_check.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $1" >&2
    sed 's/^/    /' "$work/out" >&2
    exit 1
}

# A program of these lines in folder $1.
program() { # FOLDER NAME LINES
    printf '#!/usr/bin/env bash\n%s\n' "$3" >"$1/$2"
    chmod +x "$1/$2"
}

package=$work/onstage_gpu machine=$work/machine checkout=$work/checkout
mkdir -p "$package/bin" "$package/lib" "$package/gpu" "$package/work" "$machine" "$checkout/tests/agreement/golden"
cp tools/gpu_check.sh "$package/"
cp tools/gpu/*.sh "$package/gpu/"
echo fake >"$package/version"
for each in device_test onstage; do ln -s "$root/tests/fake_gpu/cuda_runtime/fake_$each" "$package/bin/$each"; done
program "$package/bin" cuda_test "export ONSTAGE_TEST_OPERATOR=\${SMALL:-Add,AdamW,BatchNormalization}
exec $root/tests/fake_gpu/cuda_runtime/cases_test \"\$@\""
program "$machine" nvidia-smi 'case $* in *name*) echo "A fake of the CUDA runtime" ;; *) echo 1.2 ;; esac'
program "$machine" python3 'exit 1'
for each in mlp cnn_dynamic; do cp -rL "tests/agreement/golden/$each" "$checkout/tests/agreement/golden/"; done

status=0
(cd "$checkout" && PATH=$machine:$PATH LIBRARY_ROOTS=$machine OUT=$work GOLDEN="mlp cnn_dynamic" REPLICAS=mlp \
    "$package/gpu_check.sh" run results.json device operators bits replicas runs >"$work/out" 2>&1) || status=$?
((status == 0)) || fail "it ends with $status"
expect() { # PATTERN
    grep -qE "$1" "$work/out" || fail "nothing says $1"
}
expect '^ *device +device +passed'
expect '^ *operators +operators, share 1/[0-9]+ +passed'
for each in mlp cnn_dynamic; do
    expect "^ *bits +$each, 4 --pipeline 1f1b +passed"
    expect "^ *bits +$each, CUDA graphs on +passed"
    expect "^ *runs +$each, resumed +passed"
done
expect '^ *bits +cnn_dynamic, capuchin: arena +passed'
expect '^ *replicas +mlp, local --stages 2 +passed'
expect '^ *replicas +mlp, nccl +not run'
expect '^ *replicas +cnn_dynamic, statistics together, local +passed'
expect '^ *replicas +cnn_dynamic, statistics together, local --stages 2: bits +passed'
expect '^ *replicas +cnn_dynamic, statistics together, nccl +not run'
tail -n 4 "$work/out"
