# What the tests of processes share: a folder to work in, how Open MPI is started, and the ways to state what must happen.
# Sourced.
#
# A case prints one line; report_and_exit prints "N passed, N failed".

onstage=$PWD/tools/onstage
# Open MPI puts sockets there: the path must be short.
work=$(mktemp -d /tmp/onstage.XXXXXX)
export TMPDIR=$work
trap 'chmod -R u+rwx "$work" 2>/dev/null; rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
# Open MPI 5 does not start without a home.
export HOME=${HOME:-$work}
# Some containers forbid reading another process's memory: Open MPI would say so in each run (4, and 5).
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma
# What Open MPI keeps until the end is not our leak.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
mpirun=(timeout -k 5 100 mpirun --oversubscribe --bind-to none --mca btl "self,vader")
# 4 or 5.
mpi_version=$(mpirun --version | sed -nE '1s/.* ([0-9]+)\..*/\1/p')
passed=0 failed=0

# What mpirun's own ":" does, of which Open MPI 5.0.7 dies: the first COUNT ranks run the first command, …
#   "${mpirun[@]}" -n 3 "${by_rank[@]}" 2 COMMAND... + 1 COMMAND...
# shellcheck disable=SC2016  # expanded by the inner shell
by_rank=(bash -c '
    rank=$OMPI_COMM_WORLD_RANK
    while (($#)); do
        count=$1 command=()
        while shift && (($#)) && [[ $1 != + ]]; do command+=("$1"); done
        ((rank >= count)) || exec "${command[@]}"
        ((rank -= count))
        shift
    done' by_rank)

# RANK: mpirun has said that it was killed. Its lines are broken where they are full.
said_killed() { tr '\r\n' '  ' <"$work/stderr" | grep -qE "rank $1 .* on node $host exited on +signal 9"; }

pass() {
    passed=$((passed + 1))
    echo "ok      $1"
}

# NAME WHY...: the case failed.
fail() {
    failed=$((failed + 1))
    echo "FAILED  $1: ${*:2}"
    local stream
    for stream in stdout stderr; do
        tr '\r' '\n' 2>/dev/null <"$work/$stream" | sed "s/^/        $stream: /" | tail -12
    done
}

report_and_exit() {
    echo "$passed passed, $failed failed"
    ((failed == 0))
    exit
}

# Runs a command; sets status and seconds, $work/stdout, $work/stderr.
run() {
    local start=$EPOCHREALTIME
    "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    seconds=$(awk "BEGIN { print $EPOCHREALTIME - $start }")
    return "$status"
}

# The step of the newest whole checkpoint in $work/c; 0: there is none.
newest() {
    local files=("$work"/c/step-*.json)
    local last=${files[-1]##*/step-}
    [[ -e ${files[-1]} ]] && echo "$((10#${last%.json}))" || echo 0
}

# What is there of a checkpoint that is not whole: files that were being written, shards that nothing completed.
halves() {
    local file
    cd "$work/c" 2>/dev/null || return
    for file in *.tmp *.safetensors; do
        [[ ! -e $file || ($file != *.tmp && -e ${file:0:13}.json) ]] || echo "$file"
    done
}

# Of each step that log $1 holds: its number, loss, and gradient norm where there is one.
losses() {
    sed -nE -e 's/^\{"step":([0-9]+),"loss":([^,]*),.*"grad_norm":([^,}]*).*\}$/\1 \2 \3/p;t' \
        -e 's/^\{"step":([0-9]+),"loss":([^,]*),.*\}$/\1 \2/p' "$1"
}
