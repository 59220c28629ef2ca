#!/usr/bin/env bash
# The mpi transport between processes of this machine: traffic as with the local transport, and every way to fail.
#
# mpirun's own words about a job that failed go to stderr as well; what is looked at here are the lines of our program.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
traffic=$PWD/tests/system/mpi/traffic
over_tcp=(timeout -k 5 100 env ONSTAGE_MPI_READS=off OMPI_MCA_oob_tcp_if_include=lo mpirun --oversubscribe --bind-to none --mca btl "self,tcp" --mca btl_tcp_if_include lo)
host=$(hostname)

less() { awk "BEGIN { exit !($1 < $2) }"; }

# NAME COMMAND...: prints what the same traffic over threads prints.
same_as_local() {
    local name=$1 expected
    expected=$("$traffic" local "$ranks" "$seed")
    run "${@:2}"
    if ((status != 0)); then
        fail "$name" "exit code $status"
    elif [[ $expected != digest* || $(<"$work/stdout") != "$expected" ]]; then
        fail "$name" "local: $expected"
    else
        pass "$name"
    fi
}

# NAME CODE LIMIT PATTERN: the last run failed as it should, within LIMIT seconds, and our program said so in one line.
failed_well() {
    local said
    said=$(grep -c '^traffic: ' "$work/stderr")
    if ((status != $2)); then
        fail "$1" "exit code $status instead of $2"
    elif ((said != 1)) || ! grep -qE "^traffic: $4\$" "$work/stderr"; then
        fail "$1" "$said messages, and not '$4'"
    elif ! less "$seconds" "$3"; then
        fail "$1" "took $seconds seconds"
    else
        pass "$1"
    fi
}

# --------------------------------------------------------------------------------------------------------------- traffic

seed=${1:-$RANDOM}
echo "seed $seed"
for ranks in 2 3 4; do
    same_as_local "$ranks processes" "${mpirun[@]}" -n "$ranks" "$traffic" run "$seed"
    same_as_local "$ranks processes, all by MPI" env ONSTAGE_MPI_READS=off "${mpirun[@]}" -n "$ranks" "$traffic" run "$seed"
done
ranks=3
same_as_local "messages in pieces" env ONSTAGE_MPI_READS=off "${mpirun[@]}" -n 3 "$traffic" --pieces 1000 run "$seed"
same_as_local "over TCP" "${over_tcp[@]}" -n 3 "$traffic" run "$seed"
ranks=1
same_as_local "one process, without mpirun" timeout 60 "$traffic" run "$seed"

ranks=3
# NAME EXPECTED COMMAND...: how many of what the others send to rank 0 it reads in their memory.
reads() {
    run "${@:3}"
    if [[ $status == 0 && $(<"$work/stdout") == "$2 messages read" ]]; then pass "$1"; else fail "$1" "exit code $status, expected: $2"; fi
}

reads "memory of others is not read where that is off" "0 of 2" env ONSTAGE_MPI_READS=off "${mpirun[@]}" -n 3 "$traffic" reads
run "${mpirun[@]}" -n 2 "$traffic" --forbid all reads
forbids=$status
if [[ $(<"$work/stdout") == "1 of 1 messages read" || $forbids == 77 ]]; then
    echo "not run memory that the system forbids to read: no seccomp"
elif [[ $(<"$work/stdout") != "0 of 1 messages read" ]]; then
    fail "memory that the system forbids to read" "exit code $status"
else
    reads "memory that the system forbids to read" "0 of 2" "${mpirun[@]}" -n 3 "$traffic" --forbid all reads
    same_as_local "… is sent by MPI" "${mpirun[@]}" -n 3 "$traffic" --forbid all run "$seed"
    reads "memory that it does not hand out after all" "0 of 2" "${mpirun[@]}" -n 3 "$traffic" --forbid later reads
    same_as_local "… is sent by MPI as well" "${mpirun[@]}" -n 3 "$traffic" --forbid later run "$seed"
    run env ONSTAGE_MPI_READS=on "${mpirun[@]}" -n 3 "$traffic" --forbid all reads
    if ((status != 0)) && grep -q "ONSTAGE_MPI_READS=on, but ranks . and . on host $host may not read" "$work/stderr"; then pass "… which one can refuse"
    else fail "… which one can refuse" "exit code $status"; fi
fi
run env ONSTAGE_MPI_READS=on "${mpirun[@]}" -n 3 "$traffic" reads
may_read=$status
if ((may_read != 0)) && grep -q "may not read each other's memory" "$work/stderr"; then
    echo "not run memory of others is read: this system forbids it"
else
    reads "memory of others is read" "2 of 2" "${mpirun[@]}" -n 3 "$traffic" reads
    reads "… but of those where that is off" "1 of 2" "${mpirun[@]}" -n 3 "${by_rank[@]}" 2 "$traffic" reads + 1 env ONSTAGE_MPI_READS=off "$traffic" reads
    for ranks in 2 4; do
        same_as_local "$ranks processes, nothing by MPI" env ONSTAGE_MPI_READS=on "${mpirun[@]}" -n "$ranks" "$traffic" run "$seed"
    done
fi

run "${mpirun[@]}" -n 3 "$traffic" --silence 3 late 1
if ((status == 0)); then pass "a rank that ends late"; else fail "a rank that ends late" "exit code $status"; fi

# How many processes compete for one host's processors; other hosts are made of names.
run "${mpirun[@]}" -n 3 "$traffic" here
if [[ $(<"$work/stdout") == "3 of 3 ranks on a host" ]]; then pass "processes of one host"; else fail "processes of one host" "$(<"$work/stdout")"; fi
cat >"$work/on_a_host" <<END
#!/usr/bin/env bash
hostname "host\$((OMPI_COMM_WORLD_RANK / 2))" && exec "$traffic" here
END
chmod +x "$work/on_a_host"
if unshare -r -u hostname somewhere 2>/dev/null; then
    run "${mpirun[@]}" -n 3 unshare -r -u "$work/on_a_host"
    if [[ $(<"$work/stdout") == "2 of 3 ranks on a host" ]]; then pass "processes of two hosts"; else fail "processes of two hosts" "$(<"$work/stdout")"; fi
else
    echo "not run processes of two hosts: no namespaces"
fi

# Waiting leaves the processor to those who compute.
run "${mpirun[@]}" -n 2 "$traffic" idle 2
used=$(sed -n 's/^waiting took \([0-9.]*\) .*/\1/p' "$work/stdout")
if ((status == 0)) && [[ $used ]] && less "$used" 0.3; then pass "waiting sleeps"; else fail "waiting sleeps" "exit code $status"; fi

# -------------------------------------------------------------------------------------------------------------- failures

for rank in 0 2; do
    run "${mpirun[@]}" -n 3 "$traffic" fail "$rank"
    failed_well "rank $rank fails" 7 10 "stage $rank: the loss is no longer a number"
done
run "${over_tcp[@]}" -n 3 "$traffic" fail 1
failed_well "rank 1 fails, over TCP" 7 10 "stage 1: the loss is no longer a number"
for reads in "" off; do
    run env ONSTAGE_MPI_READS=$reads "${mpirun[@]}" -n 3 "$traffic" mismatch
    failed_well "sizes that disagree${reads:+, by MPI}" 9 10 "channel 17: rank 0 sends 8 bytes, but rank 1 expects 16 bytes"
    run env ONSTAGE_MPI_READS=$reads "${mpirun[@]}" -n 3 "$traffic" --silence 2 leave 0
    failed_well "a rank leaves while others wait for it${reads:+, by MPI}" 9 10 "rank 0 has left, and rank [12] on host $host waits for it"
done
run env ONSTAGE_MPI_READS=off "${mpirun[@]}" -n 3 "$traffic" --pieces 5 mismatch
failed_well "sizes that disagree, in pieces" 9 10 "channel 17: rank 0 sends 8 bytes, but rank 1 expects 16 bytes"
# What they do, and with which argument.
holding=(hold)
# RANKS STALL OPTIONS...: starts processes that meet again and again until something happens; sets job, processes, start.
hold() {
    : >"$work/stdout"
    "${mpirun[@]}" -n "$1" "${@:3}" "$traffic" --silence "$2" "${holding[@]}" >"$work/stdout" 2>"$work/stderr" </dev/null &
    job=$!
    for ((i = 0; i < 400; ++i)); do
        (($(grep -c '^rank .* process ' "$work/stdout") == $1)) && break
        sleep 0.05
    done
    mapfile -t processes < <(sort "$work/stdout" | sed -n 's/^rank .* process //p')
    sleep 0.5
    start=$EPOCHREALTIME
}

# Waits for the job; sets status and seconds.
end() {
    wait "$job"
    status=$?
    seconds=$(awk "BEGIN { print $EPOCHREALTIME - $start }")
}

# NAME: all processes of the job are gone, at the latest two seconds after mpirun.
all_gone() {
    local i left
    for ((i = 0; i < 20; ++i)); do
        left=()
        for process in "${processes[@]}"; do
            [[ $(cut -d ' ' -f 3 "/proc/$process/stat" 2>/dev/null) == [^Z] ]] && left+=("$process")
        done
        ((${#left[@]} == 0)) && break
        sleep 0.1
    done
    if ((${#processes[@]} > 0 && ${#left[@]} == 0)); then pass "$1"; else fail "$1" "these are left: ${left[*]}"; fi
    for process in "${left[@]}"; do kill -KILL "$process"; done
}

for rank in 0 2; do
    hold 3 2
    kill -STOP "${processes[rank]}"
    end
    failed_well "rank $rank is stopped" 5 10 "rank $rank on host $host has not answered for 2 seconds: .*"
    all_gone "rank $rank is stopped: all are gone"

    hold 3 30
    kill -KILL "${processes[rank]}"
    end
    if ((status != 137)); then
        fail "rank $rank is killed" "exit code $status"
    elif ! said_killed "$rank"; then
        fail "rank $rank is killed" "mpirun does not say so"
    elif ! less "$seconds" 8; then
        fail "rank $rank is killed" "took $seconds seconds"
    else
        pass "rank $rank is killed"
    fi
    all_gone "rank $rank is killed: all are gone"
done

# mpirun wakes a rank that was stopped before it kills it: what that says then nobody wants to hear.
for rank in 0 1; do
    holding=(asleep "$rank")
    hold 3 2
    kill -STOP "${processes[rank]}"
    end
    failed_well "rank $rank is stopped, wakes up and fails" 5 10 "rank $rank on host $host has not answered for 2 seconds: .*"
done
holding=(hold)

# NAME: the job of hold goes on; ends it.
goes_on() {
    local good=true
    kill -0 "$job" 2>/dev/null || good=false
    for process in "${processes[@]}"; do [[ -e /proc/$process ]] || good=false; done
    kill -TERM "$job"
    end
    if $good && ! grep -q '^traffic: ' "$work/stderr"; then pass "$1"; else fail "$1" "it ended"; fi
}

hold 3 3
kill -STOP "${processes[1]}"
sleep 1
kill -CONT "${processes[1]}"
sleep 1
goes_on "a rank that is stopped for a moment"

# As by Ctrl-Z, or when the machine sleeps: nobody can tell who was silent.
hold 3 2
kill -STOP "${processes[@]}"
sleep 4
kill -CONT "${processes[@]}"
sleep 1
goes_on "all ranks are stopped for longer than a silent one may be"

# ------------------------------------------------------------------------------------------------------------- launchers

# NAME EXPECTED VARIABLE=VALUE...
launched() {
    run env -i "${@:3}" "$traffic" launched
    if [[ $(<"$work/stdout") == "$2" ]]; then pass "$1"; else fail "$1" "expected: $2"; fi
}

launched "no launcher" "not launched, 1 ranks"
launched "Open MPI's mpirun" "launched, 4 ranks" OMPI_COMM_WORLD_SIZE=4
launched "a PMI launcher" "launched, 3 ranks" PMI_SIZE=3 PMI_RANK=1
launched "a PMIx launcher" "launched, 1 ranks" PMIX_RANK=1
launched "srun" "launched, 8 ranks" SLURM_PROCID=1 SLURM_STEP_ID=0 SLURM_NTASKS=8
launched "srun, fewer tasks than the allocation" "launched, 2 ranks" SLURM_PROCID=1 SLURM_STEP_ID=0 SLURM_NTASKS=8 \
    SLURM_STEP_NUM_TASKS=2
launched "a Slurm batch script" "not launched, 1 ranks" SLURM_PROCID=0 SLURM_NTASKS=8

run env PMI_SIZE=4 timeout 60 "$traffic" run 1
said="transport mpi: 4 processes were started, but MPI knows of 1; .*"
failed_well "a launcher that this MPI does not understand" 1 20 "$said"

report_and_exit
