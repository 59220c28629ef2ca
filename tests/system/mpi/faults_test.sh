#!/usr/bin/env bash
# Training over processes of which one is killed, stopped, or fails, and training that is asked to stop: all end within
# seconds, the user is told once, nothing is half written, and a resumed run has the bits of one that was left alone.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
golden=$PWD/tests/agreement/golden/cnn_dynamic
host=$(hostname)

same=(--input "image=$golden/input.npy" --loss cross_entropy --batch 8 --micro-batches 4 --optimizer adamw --lr 0.01
    --threads 1 --seed 7 --shuffle)
options=("${same[@]}" --target "$golden/target.npy")
# It would take minutes; what it is killed in, or stopped, is some seconds.
steps=1000000

# OPTIONS...: starts three stages, and waits for some checkpoints; sets job, ranks (process numbers) and start.
begin() {
    local i process
    rm -rf "$work/c" "$work/trained.onnx"
    "${mpirun[@]}" "$@" -n 3 "$onstage" train "$golden/model.onnx" "${options[@]}" --stages 3 --transport mpi \
        --steps "$steps" --checkpoint "$work/c" --checkpoint-every 3 --out "$work/trained.onnx" \
        >"$work/stdout" 2>"$work/stderr" </dev/null &
    job=$!
    for ((i = 0; i < 600 && $(newest) < 9; ++i)); do
        kill -0 "$job" 2>/dev/null || break
        sleep 0.05
    done
    ranks=()
    for process in $(pgrep -f -- "^$onstage train .*--checkpoint $work/c "); do
        ranks[$(tr '\0' '\n' <"/proc/$process/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')]=$process
    done
    launcher=$(pgrep -P "$job")
    start=$EPOCHREALTIME
}

# Waits for the job; sets status and seconds. Whatever is left then is killed, and counts as left.
end() {
    wait "$job"
    status=$?
    seconds=$(awk "BEGIN { print $EPOCHREALTIME - $start }")
    sleep 0.5
    left=$(pgrep -f -- "^$onstage train .*--checkpoint $work/c " | tr '\n' ' ')
    for process in $left; do kill -KILL "$process"; done
}

said() { tr '\r' '\n' <"$work/stderr" | grep -c '^onstage: '; }

# NAME CODE LIMIT PATTERN [MESSAGES]: how the last run ended: with one message of ours (or so many) that is the pattern.
ended_well() {
    if ((status != $2)); then
        fail "$1" "exit code $status instead of $2"
    elif [[ $left ]]; then
        fail "$1" "these are left: $left"
    elif ! awk "BEGIN { exit !($seconds < $3) }"; then
        fail "$1" "took $seconds seconds"
    elif (($(said) != ${5:-1})); then
        fail "$1" "$(said) messages"
    elif ! tr '\r' '\n' <"$work/stderr" | grep -qE "$4"; then
        fail "$1" "no message '$4'"
    elif grep -qF $'\e[K' "$work/stdout" "$work/stderr"; then
        fail "$1" "lines that replace each other, among those of several processes"
    elif [[ -e $work/trained.onnx ]]; then
        fail "$1" "a model was written"
    else
        pass "$1 ($seconds seconds)"
    fi
}

# NAME: goes on from the newest checkpoint over another number of stages, for some steps.
resumes() {
    local from last
    from=$(newest)
    last=$((from + 4))
    "$onstage" train "$golden/model.onnx" "${options[@]}" --stages 1 --steps "$last" --out "$work/alone.onnx" \
        >"$work/stdout" 2>"$work/stderr" &&
        "${mpirun[@]}" -n 2 "$onstage" train "$golden/model.onnx" "${options[@]}" --stages 2 --transport mpi \
            --steps "$last" --checkpoint "$work/c" --resume --out "$work/resumed.onnx" >"$work/stdout" \
            2>"$work/stderr" </dev/null
    if (($? != 0)); then
        fail "$1: resume" "it does not run"
    elif ((from == 0)) || ! grep -q "^resumed after step $from\$" "$work/stdout" "$work/stderr"; then
        fail "$1: resume" "not after step $from"
    elif ! cmp -s "$work/alone.onnx" "$work/resumed.onnx"; then
        fail "$1: resume" "other bits"
    elif [[ $(halves) ]]; then
        fail "$1: resume" "these are left: $(halves)"
    else
        pass "$1: resume after step $from"
    fi
    rm -f "$work/alone.onnx" "$work/resumed.onnx"
}

# ----------------------------------------------------------------------------------------------------- killed, stopped

for rank in 0 2; do
    begin
    kill -KILL "${ranks[rank]}"
    end
    ended_well "rank $rank is killed" 137 8 "signal 9" 0
    said_killed "$rank" && pass "rank $rank is killed: mpirun says so" || fail "rank $rank is killed" "mpirun does not say so"
    resumes "rank $rank is killed"
done

for rank in 0 1; do
    begin
    kill -STOP "${ranks[rank]}"
    end
    ended_well "rank $rank is stopped" 5 25 "^onstage: .*rank $rank on host $host has not answered for 10 seconds: "
    resumes "rank $rank is stopped"
done

# MPI waits for a process that does not come: the others say so, and go on when it is there.
rm -f "$work/trained.onnx"
late=(timeout 60 "$onstage" train "$golden/model.onnx" "${options[@]}" --transport mpi --steps 2 --out "$work/trained.onnx")
"${mpirun[@]}" -n 3 "${by_rank[@]}" 2 "${late[@]}" + 1 bash -c 'sleep 12; exec "$@"' late "${late[@]}" >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
if ((status != 0)) || [[ ! -e $work/trained.onnx ]]; then fail "a rank begins late" "exit code $status"
elif (($(grep -cE "^onstage: MPI has not started for 10 seconds on host $host: another process was stopped" "$work/stderr") != 2)); then
    fail "a rank begins late" "ranks 0 and 1 do not say it once each"
else pass "a rank begins late, and the others say so"; fi

# --------------------------------------------------------------------------------------------------------------- faults

# A label that there is not, in the first of the samples, in a run too short to look at all before it begins: the last
# stage finds it, before anything is updated.
cp -L "$golden/target.npy" "$work/target.npy"
chmod u+w "$work/target.npy"
printf '\x7f' | dd of="$work/target.npy" bs=1 seek=129 conv=notrunc status=none
options=("${same[@]}" --target "$work/target.npy" --no-shuffle)
steps=2
begin
end
steps=1000000
ended_well "a label out of range" 4 100 "^onstage: .*stage 2: step [0-9]+, node '.*': .*"
[[ -z $(halves) ]] && pass "nothing is half written" || fail "nothing is half written" "$(halves)"
options=("${same[@]}" --target "$golden/target.npy")
rm "$work/target.npy"

# One rank cannot write its part of a checkpoint.
rm -rf "$work/c"
whole=(train "$golden/model.onnx" "${options[@]}" --stages 3 --transport mpi --steps 20 --checkpoint "$work/c"
    --checkpoint-every 5 --out "$work/trained.onnx")
start=$EPOCHREALTIME
"${mpirun[@]}" -n 3 "${by_rank[@]}" 2 "$onstage" "${whole[@]}" + 1 "$onstage" "${whole[@]}" --checkpoint "$work/none" \
    >"$work/stdout" 2>"$work/stderr" </dev/null &
job=$!
end
ended_well "rank 2 cannot write its shard" 5 15 "^onstage: .*none/step-00000005\.2-of-3\..*'"
[[ -z $(ls "$work/c") ]] && pass "nothing of the checkpoint is left" || fail "nothing of the checkpoint is left" "$(ls "$work/c")"

# Processes that were started with options that do not fit together.
start=$EPOCHREALTIME
"${mpirun[@]}" -n 3 "${by_rank[@]}" 2 "$onstage" "${whole[@]}" + 1 "$onstage" "${whole[@]}" --micro-batches 2 \
    >"$work/stdout" 2>"$work/stderr" </dev/null &
job=$!
end
ended_well "rank 2 takes other micro-batches" 1 15 "^onstage: .*rank 2 was started with other options than rank 0: --micro-batches"

start=$EPOCHREALTIME
"${mpirun[@]}" -n 3 "${by_rank[@]}" 2 "$onstage" "${whole[@]}" + 1 "$onstage" "${whole[@]}" --lr 0.1 \
    >"$work/stdout" 2>"$work/stderr" </dev/null &
job=$!
end
ended_well "rank 2 has another learning rate" 1 15 "^onstage: .*rank 2 was started with other options"

for option in "--warmup 5" "--lr-schedule cosine" "--normalize x=1,2" "--clip-norm 0.5" "--val-rows 0:8" "--precision bf16"; do
    read -ra words <<<"$option"
    start=$EPOCHREALTIME
    "${mpirun[@]}" -n 3 "${by_rank[@]}" 2 "$onstage" "${whole[@]}" + 1 "$onstage" "${whole[@]}" "${words[@]}" \
        >"$work/stdout" 2>"$work/stderr" </dev/null &
    job=$!
    end
    ended_well "rank 2 with $option" 1 15 "^onstage: .*rank 2 was started with other options than rank 0: ${words[0]}"
done

# ------------------------------------------------------------------------------------------------------- asked to stop

# NAME: the run has written a checkpoint of its last step, and said so.
stopped() {
    local step
    step=$(tr '\r' '\n' <"$work/stderr" | sed -nE 's/^onstage: stopped after ([0-9]+) of .*; --resume goes on from here$/\1/p')
    if [[ -z $step || $step != "$(newest)" ]]; then
        fail "$1: checkpoint" "stopped after '$step', and the newest is of step $(newest)"
    else
        pass "$1: checkpoint of step $step"
    fi
    resumes "$1"
}

begin
kill -TERM "${ranks[@]}"
end
ended_well "SIGTERM to all ranks" 8 10 "^onstage: stopped after "
stopped "SIGTERM to all ranks"

begin
kill -TERM "${ranks[1]}"
end
ended_well "SIGTERM to one rank" 8 10 "^onstage: stopped after "
stopped "SIGTERM to one rank"

begin
kill -USR1 "$launcher"
end
ended_well "SIGUSR1 to mpirun" 8 10 "^onstage: stopped after "
stopped "SIGUSR1 to mpirun"

# Open MPI 4 sends SIGTERM and, a second later, SIGKILL: enough for this model. Open MPI 5 leaves a fifth of a second, which
# no option changes: what counts then is the checkpoint before.
begin
kill -INT "$launcher"
end
((status != 0)) && [[ -z $left ]] && pass "Ctrl-C at mpirun ($seconds seconds)" ||
    fail "Ctrl-C at mpirun" "exit code $status, left: $left"
if ((mpi_version == 4)); then
    stopped "Ctrl-C at mpirun"
    begin --mca odls_base_sigkill_timeout 5
    kill -INT "$launcher"
    end
    stopped "Ctrl-C at mpirun, with five seconds"
else
    resumes "Ctrl-C at mpirun"
fi

# Processes that took different kernels, on hosts of different kinds, are told of it, and so is whoever resumes.
rm -rf "$work/mixed"
mixed=("${whole[@]}" --checkpoint "$work/mixed" --checkpoint-every 1)
"${mpirun[@]}" -n 3 "${by_rank[@]}" 2 env ONSTAGE_CPU=baseline "$onstage" "${mixed[@]}" + 1 "$onstage" "${mixed[@]}" >"$work/stdout" 2>"$work/stderr"
if "$onstage" --version | grep -q "variant baseline"; then
    pass "one kind of kernels on this machine: nothing to mix"
elif [[ $(grep -c "the processes compute with different kernels" "$work/stderr") == 1 ]] && grep -q "rank 2: oneDNN" "$work"/mixed/*.json; then
    pass "processes with different kernels say so once, and the checkpoint names all"
else
    fail "processes with different kernels say so once, and the checkpoint names all" "$(head -c 500 "$work/stderr")"
fi

report_and_exit
