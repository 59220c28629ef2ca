#!/usr/bin/env bash
# On an emulated processor that has no more than a variant is for, an instruction that slipped through from another variant ends the program.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
unset ONSTAGE_CPU
export GOMP_SPINCOUNT=3000 # else the program starts itself anew, out of the emulator
if ! type -P qemu-x86_64-static >/dev/null || [[ $(uname -m) != x86_64 ]]; then
    echo "not run: qemu-x86_64-static is not here"
    report_and_exit
fi

native=$onstage
onstage=emulated
for pair in "Haswell v3" "Nehalem baseline"; do
    read -r processor variant <<<"$pair"
    begin "a $processor takes $variant, and trains"
    emulated() { qemu-x86_64-static -cpu "$processor" "$native" "$@" 2> >(grep -v "^qemu-x86_64-static: warning:" >&2); }
    if succeeds --version && printed "onstage's variant $variant$" &&
        succeeds train "$golden/cnn_dynamic/model.onnx" --input "$golden/cnn_dynamic/input.npy" --target "$golden/cnn_dynamic/target.npy" \
            --loss cross_entropy --batch 4 --threads 1 --optimizer sgd --lr 0.01 --steps 1 --out trained.onnx; then
        pass "$name"
    fi
done
report_and_exit
