#!/usr/bin/env bash
# How many instructions a training step takes, by callgrind, against instructions.txt: more than 3 % more is a failure. A count does
# not depend on how busy or how fast the machine is; it does on the compiler and on oneDNN, so each Debian has its own.
#   tests/system/instructions/instructions_test.sh --write bazel-bin/tools/onstage    counts anew, and writes what this Debian has
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/../../.."
baseline=$PWD/tests/system/instructions/instructions.txt golden=$PWD/tests/agreement/golden onstage=$PWD/tools/onstage
workloads=(mlp lenet gpt_tied)
allowed=3 # percent

not_run() {
    echo "not run: $*"
    exit 0
}

if [[ ${1:-} == --write ]]; then onstage=$(realpath "$2"); fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

command -v valgrind >/dev/null || not_run "valgrind is not installed"
grep -qw avx2 /proc/cpuinfo || not_run "this processor has no AVX2"
# shellcheck source=/dev/null
debian=$(. /etc/os-release && echo "${ID:-}${VERSION_ID:-}")

# Of the whole run of workload $1 with $2 steps. valgrind does not follow a program that starts itself anew: GOMP_SPINCOUNT.
run_of() {
    env ONSTAGE_CPU=v3 GOMP_SPINCOUNT=3000 XDG_CACHE_HOME="$work" valgrind -q --tool=callgrind --callgrind-out-file=counts \
        "$onstage" train "$golden/$1/model.onnx" --input "$golden/$1/input.npy" --target "$golden/$1/target.npy" \
        --loss cross_entropy --optimizer adamw --threads 1 --no-shuffle --steps "$2" >log 2>&1 || { cat log >&2 && return 1; }
    sed -n 's/^summary: *//p' counts
}

# What a later step of workload $1 takes.
count() {
    local one three
    one=$(run_of "$1" 1)
    three=$(run_of "$1" 3)
    echo $(((three - one) / 2))
}

known() { awk -v debian="$debian" -v name="$1" '$1 == debian && $2 == name { print $3 }' "$baseline"; }

if [[ ${1:-} == --write ]]; then
    grep -v "^$debian " "$baseline" >others || true
    for name in "${workloads[@]}"; do echo "$debian $name $(count "$name")"; done | cat others - >"$baseline"
    exit 0
fi

passed=0 failed=0
for name in "${workloads[@]}"; do
    before=$(known "$name")
    [[ $before ]] || not_run "$debian has no counts in instructions.txt"
    now=$(count "$name")
    if ((now * 100 > before * (100 + allowed))); then
        echo "FAILED $name: $now instructions a step, $before in instructions.txt; if that is meant, say why and count anew with --write"
        failed=$((failed + 1))
    else
        echo "ok     $name: $now instructions a step, $before in instructions.txt"
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $failed failed"
((failed == 0))
