#!/usr/bin/env bash
# The power fails at any moment of a run: in every state that the disk may then be in (states.c), the model is the whole
# old one or the whole new one, and a run that is resumed from its checkpoints ends with the same bits. Once a run has
# ended, only the new ones count.
set -uo pipefail
root=$PWD
onstage=$root/tools/onstage power=$root/tests/robust/power mlp=$root/tests/agreement/golden/mlp
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/power.XXXXXX")
work=$(realpath "$work")
trap 'rm -rf "$work"' EXIT
# The program would start itself anew, and the record with it.
export HOME=$work GOMP_SPINCOUNT=3000
passed=0 failed=0
data=(--input "x=$mlp/input.npy" --target "$mlp/target.npy" --loss cross_entropy --batch 8 --threads 1)

pass() { passed=$((passed + 1)) && echo "ok      $*"; }
fail() { failed=$((failed + 1)) && echo "FAILED  $*"; }
train() { "$onstage" train "$@" "${data[@]}" >"$work/output" 2>&1 || { fail "train $*" && cat "$work/output"; }; }

# Begins a case: what the folder "before" holds is the state from which the recorded run starts.
begin() {
    name=$1
    cd "$work" && rm -rf before run states && mkdir before states && cd before || exit 1
}

# ARGUMENTS...: trains in the folder "run", a copy of "before", and makes the states; false, and the case has failed, if
# the record does not lead to what the run left.
record() {
    cp -r "$work/before" "$work/run" && cd "$work/run" || exit 1
    LD_PRELOAD=$power/record.so ONSTAGE_POWER_FOLDER=$work/run ONSTAGE_POWER_RECORD=$work/record train "$@"
    cd "$work" || exit 1
    if ! "$power/states" record before states >list || ! diff -r states/whole run; then
        fail "$name: the record is not what the run did"
        return 1
    fi
}

# JUDGE: a command that gets a state's folder and whether the run had ended, and sets why where the promise is broken.
judge_all() {
    local judge=$1 number moment what bad=0 count=0
    while read -r number moment what; do
        count=$((count + 1)) why=
        $judge "$work/states/$number" "$moment"
        [[ $why ]] || continue
        bad=$((bad + 1))
        ((bad > 5)) || echo "        state $number ($moment, $what): $why"
    done <"$work/list"
    if ((bad > 0 || count == 0)); then fail "$name: $bad of $count states"; else pass "$name: $count states"; fi
}

# Whether a state's model is the one that lies in the folder $2, with its data.
is_model_of() {
    local file
    for file in "$2"/out.onnx "$2"/out.onnx*.data; do
        [[ ! -e $file ]] || cmp -s "$file" "$1/${file##*/}" || return 1
    done
}

judge_model() {
    if ! is_model_of "$1" "$work/run"; then
        if [[ $2 == end ]]; then
            why="not the new model, though the run had ended"
        elif [[ -e $work/before/out.onnx ]]; then
            is_model_of "$1" "$work/before" || why="neither the old model nor the new one"
        elif [[ -e $1/out.onnx ]]; then
            why="not the new model"
        fi
    fi
    [[ $why || ! -e $1/out.onnx ]] && return
    "$onstage" check "$1/out.onnx" >"$work/output" 2>&1 || why="check: $(head -1 "$work/output")"
}

# STEPS: what a run with checkpoints is given.
with_checkpoints() { echo "$mlp/model.onnx" --steps "$1" --checkpoint c --checkpoint-every 2 --log-json log.jsonl; }

# The run goes from checkpoint $first_step, or from the beginning if that is 0, to $last_step.
judge_checkpoints() {
    local least=$first_step resumed
    [[ $2 == early ]] || least=$last_step
    cd "$1" || exit 1
    # shellcheck disable=SC2046
    if ! "$onstage" train $(with_checkpoints "$last_step") "${data[@]}" --resume --out out.onnx \
        >"$work/output" 2>&1; then
        why="it does not resume: $(head -1 "$work/output")"
        return
    fi
    resumed=$(sed -n 's/^resumed after step //p' "$work/output")
    if ((${resumed:-0} < least)); then
        why="resumed after step ${resumed:-0}, though that of step $least was complete"
    elif ! cmp -s out.onnx "$work/whole.onnx"; then
        why="resumed, with other weights"
    elif [[ $(grep -ao '"step":[0-9]*' log.jsonl | sort -u | wc -l) != "$last_step" ]]; then
        why="the log lacks steps: $(grep -ao '"step":[0-9]*' log.jsonl | tr '\n' ' ')"
    elif compgen -G "c/*.tmp" >/dev/null; then
        why="left behind: $(echo c/*.tmp)"
    fi
}

# FIRST_STEP LAST_STEP
try_checkpoints() {
    first_step=$1 last_step=$2
    train "$mlp/model.onnx" --steps "$last_step" --out "$work/whole.onnx"
    # shellcheck disable=SC2046
    (($1 == 0)) || train $(with_checkpoints "$1")
    # shellcheck disable=SC2046
    record $(with_checkpoints "$2") --resume && judge_all judge_checkpoints
}

"$power/spill" "$mlp/model.onnx" "$work/apart.onnx" || exit 1

begin "a new model"
record "$mlp/model.onnx" --steps 1 --out out.onnx && judge_all judge_model

begin "a new model with data"
record "$work/apart.onnx" --steps 1 --out out.onnx && judge_all judge_model

begin "a model in the place of an older one"
train "$mlp/model.onnx" --steps 2 --out out.onnx
record "$mlp/model.onnx" --steps 1 --out out.onnx && judge_all judge_model

begin "a model with data in the place of an older one"
train "$work/apart.onnx" --steps 2 --out out.onnx
record "$work/apart.onnx" --steps 1 --out out.onnx && judge_all judge_model

begin "a model with data in its own place"
train "$work/apart.onnx" --steps 2 --out out.onnx
record out.onnx --steps 1 --out out.onnx && judge_all judge_model

begin "a model without data in the place of one with data"
train "$work/apart.onnx" --steps 2 --out out.onnx
record "$mlp/model.onnx" --steps 1 --out out.onnx && judge_all judge_model

begin "checkpoints in a new folder"
try_checkpoints 0 2

begin "checkpoints after others"
try_checkpoints 2 6

echo "$passed passed, $failed failed"
((failed == 0))
