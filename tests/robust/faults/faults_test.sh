#!/usr/bin/env bash
# One call of the system fails: of each kind, at many places (FAULTS=all: at each). The program ends with a documented code
# and a message, or as if nothing had been; nothing is half written; and a run that is resumed reaches the same bits.
#
#   faults_test.sh [COMMAND...]      # of train resume eval plan profile inspect; default: all
set -uo pipefail
root=$PWD
onstage=$root/tools/onstage fault=$root/tests/robust/faults/fault.so mlp=$root/tests/agreement/golden/mlp
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The program would start itself anew, and counting with it.
export HOME=$work GOMP_SPINCOUNT=3000
passed=0 failed=0
data=(--input "x=$mlp/input.npy" --target "$mlp/target.npy" --loss cross_entropy --batch 8 --threads 2)
run=("$mlp/model.onnx" "${data[@]}" --seed 7 --steps 12 --out trained.onnx --log-json log.jsonl --checkpoint c --checkpoint-every 4)

command_of() {
    case $1 in
        train) echo train "${run[@]}" ;;
        resume) echo train "${run[@]}" --resume ;;
        eval) echo eval "$mlp/model.onnx" "${data[@]}" --output logits=y.npy ;;
        plan) echo plan "$mlp/model.onnx" --batch 8 --stages 2 --out plan.json --report report.html ;;
        profile) echo profile "$mlp/model.onnx" --batch 8 --threads 1 --out profile.json ;;
        inspect) echo inspect "$mlp/model.onnx" ;;
    esac
}

# Where a command begins: an empty folder, or one with a run that has come to step 4.
prepare() {
    rm -rf "$work/here" && mkdir "$work/here" && cd "$work/here" || exit 1
    [[ $1 == resume ]] && cp -r "$work/begun/." .
}

# What it leaves must not depend on the fault: results that are numbers alone, not times.
results() { for file in trained.onnx y.npy; do [[ ! -e $file ]] || cksum "$file"; done; }

# COMMAND KIND K: one run of which call K of that kind fails; sets why where it did not end well.
check() {
    local command=$1 status
    why=
    prepare "$command"
    # shellcheck disable=SC2046
    LD_PRELOAD=$fault ONSTAGE_FAULT=$2:$3 timeout 60 "$onstage" $(command_of "$command") >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    case $status in
        0) [[ $(results) == "${expected[$command]}" ]] || why="success, with other results" ;;
        5 | 6) grep -q "^onstage: " "$work/stderr" || why="exit code $status without a message" ;;
        # cJSON does not say that memory was short; then a text is not valid.
        4) grep -q "^onstage: .*not valid JSON" "$work/stderr" && [[ $2 == memory ]] || why="exit code 4: $(head -1 "$work/stderr")" ;;
        1) grep -q "^libgomp: " "$work/stderr" || why="exit code 1: $(head -1 "$work/stderr")" ;;
        127) [[ $2 == map || $2 == memory || $2 == open || $2 == read ]] || why="exit code 127" ;; # the loader's
        *) why="exit code $status: $(head -1 "$work/stderr")" ;;
    esac
    # Where a library cannot go on, nobody cleans up; the next run does.
    grep -q "inside a library" "$work/stderr" && rm -f ./*.tmp
    [[ $why ]] || ((status == 1)) || ! compgen -G "*.tmp" >/dev/null || why="left behind: $(echo ./*.tmp)"
    [[ $why || ($command != train && $command != resume) ]] && return
    # shellcheck disable=SC2046
    if ! "$onstage" $(command_of resume) >"$work/stdout" 2>"$work/stderr"; then
        why="after exit code $status it does not resume: $(head -1 "$work/stderr")"
    elif [[ $(results) != "${expected[train]}" ]]; then
        why="resumed after exit code $status, with other results"
    fi
}

# COMMAND KIND [+]: at each place, or at some, spread evenly from the first to the last.
sweep() {
    local calls k places count=${FAULTS:-12} here=0 bad=0
    prepare "$1"
    # shellcheck disable=SC2046
    LD_PRELOAD=$fault ONSTAGE_FAULT=$2:0 ONSTAGE_FAULT_CALLS=$work/calls "$onstage" $(command_of "$1") >/dev/null 2>&1
    calls=$(<"$work/calls")
    if [[ $count == all ]] || ((calls <= count)); then
        places=$(seq "$calls")
    else
        places=$(seq 0 $((count - 1)) | awk "{ print 1 + int(\$1 * ($calls - 1) / ($count - 1)) }")
    fi
    for k in $places; do
        here=$((here + 1))
        check "$1" "$2" "$k${3-}"
        [[ ! $why ]] || { bad=$((bad + 1)) && echo "FAILED  $1: $2 $k${3-} of $calls: $why"; }
    done
    passed=$((passed + here - bad)) failed=$((failed + bad))
    echo "ok      $1: $2${3-}: $((here - bad)) of $here places, of $calls calls"
}

declare -A expected
mkdir "$work/begun" && cd "$work/begun" || exit 1
# shellcheck disable=SC2046
"$onstage" $(command_of train) --steps 4 >/dev/null 2>&1 && rm trained.onnx
for command in train eval plan profile inspect; do
    prepare "$command"
    # shellcheck disable=SC2046
    "$onstage" $(command_of "$command") >/dev/null 2>"$work/stderr" || cat "$work/stderr"
    expected[$command]=$(results)
done
expected[resume]=${expected[train]}
(($#)) || set -- train resume eval plan profile inspect
for command; do
    for kind in memory map open read write sync rename close; do sweep "$command" $kind; done
    sweep "$command" write +
    sweep "$command" memory +
done

# A disk that is full is told of before a checkpoint is due.
prepare train
LD_PRELOAD=$fault ONSTAGE_FAULT=room:1+ "$onstage" train "${run[@]}" >"$work/stdout" 2>"$work/stderr"
status=$?
told=$(tr '\r' '\n' <"$work/stderr" | grep -c "warning: --checkpoint c: there is room for 0 B, and the next checkpoint takes [0-9.]* KiB")
if ((status == 0 && told == 1)); then
    passed=$((passed + 1)) && echo "ok      no room for the next checkpoint"
else
    failed=$((failed + 1)) && echo "FAILED  no room for the next checkpoint: exit code $status, told $told times" && cat "$work/stderr"
fi
echo "$passed passed, $failed failed"
((failed == 0))
