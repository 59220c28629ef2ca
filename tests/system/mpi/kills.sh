#!/usr/bin/env bash
# kills.sh [KILLS [SEED [PIPELINE [REPLICAS]]]] (SEED -: a random one): a run over processes that is killed again and again (a
# random rank, or mpirun itself, at a random time: while it starts, trains, or writes a checkpoint) and resumed has the
# bits of one that was left alone: the loss of every step that was logged, and the weights at the end. Nothing that a
# checkpoint kept is lost. Some resumes are by another number of stages, or by threads of one process. With
# pipedream-async the number of stages decides the numbers, so it stays the same. Replicas divide the optimiser's states
# among them in some of the runs, and not in others.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
golden=$PWD/tests/agreement/golden/cnn_dynamic
kills=${1:-8}
seed=${2:--}
[[ $seed != - ]] || seed=$RANDOM
pipeline=${3:-1f1b} replicas=${4:-1}
RANDOM=$seed
echo "seed $seed"
# It is killed itself, so nothing stands before it.
mpirun=(mpirun --oversubscribe --bind-to none --mca btl "self,vader")
# A whole run takes seconds: it is killed some times before it ends, and then another begins.
steps=2000 every=3

command=("$onstage" train "$golden/model.onnx" --input "image=$golden/input.npy" --target "$golden/target.npy"
    --loss cross_entropy --batch 8 --micro-batches $((4 / replicas)) --replicas "$replicas" --optimizer adamw --lr 0.01 --threads 1 --seed 7
    --shuffle --steps "$steps" --pipeline "$pipeline")
alone=("${command[@]}")
[[ $pipeline != pipedream-async ]] || alone+=(--stages 3 --transport local)
((replicas == 1)) || alone+=(--transport local)

# WHY...: what follows would have no meaning.
fail() {
    echo "FAILED  $* (seed $seed)"
    sed 's/^/        /' "$work/stderr" | tail -12
    exit 1
}

"${alone[@]}" --out "$work/whole.onnx" --log-json "$work/whole.json" >"$work/stdout" 2>"$work/stderr" ||
    fail "the run that is left alone"

killed=("${command[@]}" --checkpoint "$work/c" --checkpoint-every "$every" --resume --out "$work/killed.onnx"
    --log-json "$work/killed.json")

# Starts a run with 2 to 4 stages, mostly over processes; sets job, and what it has to go on from.
start() {
    local stages=$((RANDOM % 3 + 2))
    local layout=()
    [[ $pipeline != pipedream-async ]] || stages=3
    ((replicas == 1)) || stages=$((RANDOM % 2 + 1))
    ((replicas == 1 || RANDOM % 2 == 0)) || layout=(--shard-optimizer)
    from=$(newest)
    if ((RANDOM % 4 == 0)); then
        "${killed[@]}" "${layout[@]}" --stages "$stages" --transport local >"$work/stdout" 2>"$work/stderr" </dev/null &
    else
        "${mpirun[@]}" -n $((stages * replicas)) "${killed[@]}" "${layout[@]}" --stages "$stages" --transport mpi >"$work/stdout" 2>"$work/stderr" \
            </dev/null &
    fi
    job=$!
}

writes() { compgen -G "$work/c/*.tmp" >/dev/null; }

# Kills a rank, or mpirun, at any time, or when a file of a checkpoint is being written. False: the run was over.
strike() {
    local i victims
    sleep "$((RANDOM % 2)).$((RANDOM % 10))$((RANDOM % 10))"
    mapfile -t victims < <(echo "$job"; pgrep -f -- "^$onstage train .*--checkpoint $work/c ")
    victim=${victims[RANDOM % ${#victims[@]}]}
    if ((RANDOM % 2 == 0)); then
        for ((i = 0; i < 20000; ++i)); do
            writes && break
            ((i % 100 != 0)) || kill -0 "$job" 2>/dev/null || break
        done
    fi
    kill -KILL "$victim" 2>/dev/null
}

# Waits until nothing of the run is left: a rank that lives on could still write.
all_gone() {
    local i
    for ((i = 0; i < 1200; ++i)); do
        pgrep -f -- "--checkpoint $work/c " >"$work/left" || return
        sleep 0.05
    done
    fail "processes are left $((i / 20)) seconds after a kill: $(tr '\n' ' ' <"$work/left")"
}

# Waits for the run; sets status. Open MPI's mpirun can hang where a rank dies while it starts: it is helped then.
end_job() {
    local i
    for ((i = 0; i < 400; ++i)); do
        kill -0 "$job" 2>/dev/null || break
        sleep 0.05
    done
    ((i < 400)) || helped=$((helped + 1))
    kill -KILL "$job" 2>/dev/null
    wait "$job" 2>/dev/null
    status=$?
}

losses "$work/whole.json" >"$work/whole"
(($(wc -l <"$work/whole") == steps)) || fail "the log cannot be read"

# What the run that has ended, in whatever way, has left is what the one that was left alone had at the same steps.
check() {
    local said
    said=$(sed -n 's/^resumed after step \([0-9]*\)$/\1/p' "$work/stdout" "$work/stderr")
    [[ -z $said ]] || ((said == from)) || fail "went on after step $said, and there was a checkpoint of step $from"
    ((from == 0)) || [[ $said ]] || ! grep -q '^step ' "$work/stdout" "$work/stderr" ||
        fail "began anew, and there was a checkpoint of step $from"
    (($(newest) >= from)) || fail "the checkpoint of step $from is gone"
    [[ ! -e $work/killed.json ]] || losses "$work/killed.json" >"$work/here"
    head -n "$(wc -l <"$work/here")" "$work/whole" | cmp -s - "$work/here" ||
        fail "other losses after $done kills: $(diff "$work/whole" "$work/here" | grep '^>' | head -1)"
    ((${said:-0} == 0)) || resumes=$((resumes + 1))
}

check_end() {
    cmp -s "$work/whole" "$work/here" || fail "the log is not whole"
    cmp "$work/whole.onnx" "$work/killed.onnx" || fail "other weights after $done kills"
    ! writes || fail "temporary files are left"
    ends=$((ends + 1))
}

: >"$work/here"
done=0 resumes=0 ends=0 writing=0 helped=0 longest=0 begun=$SECONDS
for ((i = 0; done < kills; ++i)); do
    ((i < 20 * kills)) || fail "the run is over too soon: $done of $kills kills"
    start
    before=$(halves)
    struck=0
    strike && struck=1
    at=$EPOCHREALTIME
    end_job
    all_gone
    took=$(((${EPOCHREALTIME/./} - ${at/./}) / 1000))
    ((took <= longest)) || longest=$took
    after=$(halves)
    ((status != 0)) || struck=0 # it was too late: the run has ended well
    [[ -z $after || $after == "$before" ]] || writing=$((writing + struck))
    done=$((done + struck))
    check
    ((status == 0)) || continue
    check_end
    rm -rf "$work/c" "$work/killed.onnx" "$work/killed.json"
    : >"$work/here"
done

start
wait "$job" || fail "the last resume"
check
check_end
echo "$done kills, $writing of them while a checkpoint was written; $resumes resumes, $ends whole runs: the same bits"
echo "all were gone after at most $longest ms; mpirun was helped to end $helped times; $((SECONDS - begun)) seconds"
