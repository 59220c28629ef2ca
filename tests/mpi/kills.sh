#!/usr/bin/env bash
# kills.sh [KILLS [SEED [PIPELINE]]] (SEED -: a random one): a run over processes that is killed again and again (a
# random rank, or mpirun itself, at a random time, also while it starts or writes a checkpoint) and resumed ends with the
# bits of one that was left alone. Some resumes are by another number of stages, or by threads of one process. With
# pipedream-async the number of stages decides the numbers, so it stays the same.

onstage=$PWD/tools/onstage
golden=$PWD/tests/golden/cnn_dynamic
kills=${1:-8}
seed=${2:--}
[[ $seed != - ]] || seed=$RANDOM
pipeline=${3:-1f1b}
RANDOM=$seed
echo "seed $seed"
# Open MPI puts sockets there: the path must be short.
work=$(mktemp -d /tmp/kills.XXXXXX)
export TMPDIR=$work
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
mpirun=(mpirun --oversubscribe --bind-to none --mca btl "self,vader")
# Every kill loses at most `every` steps, and leaves time for more.
steps=$((200 + 12 * kills)) every=3

command=("$onstage" train "$golden/model.onnx" --input "image=$golden/input.npy" --target "$golden/target.npy"
    --loss cross_entropy --batch 8 --micro-batches 4 --optimizer adamw --lr 0.01 --threads 1 --seed 7
    --shuffle --steps "$steps" --pipeline "$pipeline")
alone=("${command[@]}")
[[ $pipeline != pipedream-async ]] || alone+=(--stages 3 --transport local)

fail() {
    echo "FAILED  $*"
    sed 's/^/        /' "$work/stderr" | tail -12
    exit 1
}

"${alone[@]}" --out "$work/whole.onnx" >"$work/stdout" 2>"$work/stderr" || fail "the run that is left alone"

killed=("${command[@]}" --checkpoint "$work/c" --checkpoint-every "$every" --resume --out "$work/killed.onnx")

# Starts a run with 2 to 4 stages, mostly over processes; sets job.
start() {
    local stages=$((RANDOM % 3 + 2))
    [[ $pipeline != pipedream-async ]] || stages=3
    if ((RANDOM % 4 == 0)); then
        "${killed[@]}" --stages "$stages" --transport local >"$work/stdout" 2>"$work/stderr" </dev/null &
    else
        "${mpirun[@]}" -n "$stages" "${killed[@]}" --stages "$stages" --transport mpi >"$work/stdout" 2>"$work/stderr" \
            </dev/null &
    fi
    job=$!
}

# Waits until nothing of the run is left: a rank that lives on could still write.
all_gone() {
    local i
    for ((i = 0; i < 600; ++i)); do
        pgrep -f -- "--checkpoint $work/c " >"$work/left" || return
        sleep 0.1
    done
    fail "processes are left $((i / 10)) seconds after a kill: $(tr '\n' ' ' <"$work/left")"
}

# Waits for the run; sets status. Open MPI's mpirun can hang where a rank dies while it starts: it is helped then.
end_job() {
    local i
    for ((i = 0; i < 300; ++i)); do
        kill -0 "$job" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$job" 2>/dev/null
    wait "$job" 2>/dev/null
    status=$?
}

done=0
for ((i = 0; done < kills; ++i)); do
    ((i < 20 * kills)) || fail "the run is over too soon: $done of $kills kills"
    start
    sleep "$((RANDOM % 2)).$((RANDOM % 10))$((RANDOM % 10))"
    # mpirun, or one of the ranks
    mapfile -t victims < <(echo "$job"; pgrep -f -- "^$onstage train .*--checkpoint $work/c ")
    victim=${victims[RANDOM % ${#victims[@]}]}
    kill -KILL "$victim" 2>/dev/null && done=$((done + 1))
    end_job
    all_gone
    # A kill that came too late: the run has ended well. It starts anew.
    ((status != 0)) || rm -rf "$work/c" "$work/killed.onnx"
done

start
wait "$job" || fail "the last resume"
cmp "$work/whole.onnx" "$work/killed.onnx" || fail "other bits after $done kills, seed $seed"
compgen -G "$work/c/*.tmp" >/dev/null && fail "temporary files are left"
echo "$done kills: the same bits"
