# What the tests of the command share: a folder to work in, arrays, and the ways to state what must happen. Sourced.
#
# A case prints one line; report_and_exit prints "N passed, N failed".

root=$PWD
onstage=$root/tools/onstage
golden=$root/tests/agreement/golden
models=$root/tests/system/command/data
examples=$root/examples
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/command.XXXXXX")
trap 'chmod -R u+rwx "$work" 2>/dev/null; rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
passed=0 failed=0

pass() {
    passed=$((passed + 1))
    echo "ok      $1"
}

# NAME WHY...: the case failed.
fail() {
    failed=$((failed + 1))
    echo "FAILED  $1: ${*:2}"
    sed 's/^/        stderr: /' "$work/stderr" 2>/dev/null | head -5
}

report_and_exit() {
    echo "$passed passed, $failed failed"
    ((failed == 0))
    exit
}

# Every case starts in a new folder, which is the current one.
begin() {
    name=$1
    cd "$work" || exit 1
    chmod -R u+rwx here 2>/dev/null
    rm -rf here
    mkdir here
    cd here || exit 1
}

# Runs the command; sets status, $work/stdout, $work/stderr.
run() {
    "$onstage" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
}

# Names, kinds and contents of everything in the current folder.
snapshot() {
    find . -mindepth 1 \( -type f -exec sha256sum {} + \) -o \( ! -type f -printf '%y %p\n' \) | sort
}

# CODE PATTERN ARGUMENTS...: the command fails with this exit code and one line that holds PATTERN (an extended regular
# expression), and no file of the current folder changes, appears or goes.
refuses() {
    local code=$1 pattern=$2 before lines
    before=$(snapshot)
    run "${@:3}"
    lines=$(grep -vcE '^(Try |information\.$)' "$work/stderr")
    if ((status != code)); then
        fail "$name" "exit code $status instead of $code"
    elif ((lines != 1)); then
        fail "$name" "$lines lines on stderr instead of 1"
    elif ! grep -qE '^onstage( [a-z]+)?: ' "$work/stderr"; then
        fail "$name" "the message does not start with 'onstage: '"
    elif ! grep -qE -e "$pattern" "$work/stderr"; then
        fail "$name" "the message lacks '$pattern'"
    elif [[ $(snapshot) != "$before" ]]; then
        fail "$name" "files changed: $(diff <(echo "$before") <(snapshot) | tr '\n' ' ')"
    else
        pass "$name"
    fi
}

# ARGUMENTS...: the command succeeds; false, and the case has failed, if not. The caller checks more and calls pass.
succeeds() {
    run "$@"
    if ((status != 0)); then
        fail "$name" "exit code $status"
        return 1
    fi
}

# PATTERN: the last run printed this; false, and the case has failed, if not.
printed() {
    grep -qE -e "$1" "$work/stdout" && return 0
    fail "$name" "stdout lacks '$1'; it starts with: $(head -c 300 "$work/stdout")"
    return 1
}

# FILE TYPE SHAPE: writes an array of the bytes on standard input: array x.npy '<f4' '(3, 4)'
array() {
    local header
    header=$(printf "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" "$2" "$3")
    header=$(printf '%-117s' "$header")
    { printf '\x93NUMPY\x01\x00\x76\x00%s\n' "$header"; cat; } >"$1"
}

# N BYTES: repeats bytes, in printf's notation, N times.
repeat() {
    local i
    for ((i = 0; i < $1; ++i)); do printf "$2"; done
}

# Options that train the golden MLP (input x: float32[batch,20]; 10 classes; 16 samples a batch).
mlp=("$golden/mlp/model.onnx" --input "x=$golden/mlp/input.npy" --target "$golden/mlp/target.npy" --loss cross_entropy
    --batch 16 --threads 1)
