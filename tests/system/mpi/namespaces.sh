#!/usr/bin/env bash
# Runs an MPI program on hosts that are network namespaces of this machine, one process on each (or --each), with a delay
# between them, and on request no more than a rate out of each:
#
#   tests/system/mpi/namespaces.sh [--hosts N] [--each PROCESSES] [--delay MILLISECONDS] [--rate BYTES_PER_SECOND] [--mpirun OPTION]... [--] COMMAND...
#   tests/system/mpi/namespaces.sh            the tests of the transport itself
#
# Hosts are called host0, host1, ...; each has a name, an interface and a folder for temporary files of its own, and the
# network between them is tests/system/mpi/wire.c, which delays each frame (a round trip takes twice the delay). The exit code is
# mpirun's. Needs root, network namespaces and iproute2; where that cannot be had it prints "not run: WHY" and exits 77,
# which is no success.
set -uo pipefail
PATH=$PATH:/usr/sbin:/sbin # sysctl's, which a build's PATH need not have

hosts=3 each=1 delay=10 rate='' more=()
while (($#)); do
    case $1 in
    --hosts) hosts=$2 && shift 2 ;;
    --each) each=$2 && shift 2 ;;
    --delay) delay=$2 && shift 2 ;;
    --rate) rate=$2 && shift 2 ;;
    --mpirun) more+=("$2") && shift 2 ;;
    --) shift && break ;;
    *) break ;;
    esac
done

root=$(cd "${BASH_SOURCE[0]%/*}/../../.." && pwd)
[[ -x $root/bazel-bin/tests/system/mpi/wire ]] && root=$root/bazel-bin
wire=$root/tests/system/mpi/wire
traffic=$root/tests/system/mpi/traffic

not_run() {
    echo "not run: $*"
    exit 77
}

((EUID == 0)) || not_run "network namespaces need root"
for tool in ip mpirun unshare; do type -P "$tool" >/dev/null || not_run "there is no '$tool'"; done
[[ -x $wire ]] || not_run "build it first: ./bazelw build //tests/system/mpi:all"

name=onstage$$
work=$(mktemp -d /tmp/namespaces.XXXXXX)
cleanup() {
    [[ ${wire_process:-} ]] && kill "$wire_process" 2>/dev/null
    [[ -s $work/wire ]] && cat "$work/wire" >&2
    for ((i = 0; i < hosts; ++i)); do
        ip netns pids "$name-$i" 2>/dev/null | xargs -r kill -KILL
        ip netns delete "$name-$i" 2>/dev/null
    done
    ip netns delete "$name-wire" 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# What a run has left that was killed.
for left in $(ip netns list 2>/dev/null | sed -nE 's/^(onstage[0-9]+)-wire( .*)?$/\1/p'); do
    kill -0 "${left#onstage}" 2>/dev/null && continue
    for space in $(ip netns list | sed -nE "s/^($left-[0-9a-z]+)( .*)?$/\1/p"); do ip netns delete "$space"; done
done

ip netns add "$name-wire" 2>"$work/why" || not_run "no network namespace: $(<"$work/why")"
ip netns exec "$name-wire" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ports=() addresses=''
for ((i = 0; i < hosts; ++i)); do
    ip netns add "$name-$i"
    ip -n "$name-wire" link add "port$i" type veth peer name eth0 netns "$name-$i" 2>"$work/why" ||
        not_run "no pair of virtual interfaces: $(<"$work/why")"
    ip -n "$name-wire" link set "port$i" up
    # mpirun holds on to a host that is gone for as long as TCP does: minutes, unless told otherwise.
    ip netns exec "$name-$i" sysctl -qw net.ipv4.tcp_retries2=4
    ip -n "$name-$i" link set lo up
    ip -n "$name-$i" address add "10.77.0.$((i + 1))/24" dev eth0
    ip -n "$name-$i" link set eth0 up
    # The delay is the network's, and not TCP's way of feeling how much it carries: once a connection is made, or was idle.
    ip netns exec "$name-$i" sysctl -qw net.ipv4.tcp_slow_start_after_idle=0
    ip -n "$name-$i" route change 10.77.0.0/24 dev eth0 initcwnd 256 initrwnd 256
    ports+=("port$i")
    addresses+=${addresses:+,}10.77.0.$((i + 1)):$each
    mkdir "$work/host$i"
done
# It ends with its input, so with this script, however that ends; and it holds nobody's pipe open.
coproc WIRE { exec ip netns exec "$name-wire" "$wire" "$delay${rate:+:$rate}" "${ports[@]}" 2>"$work/wire"; }
wire_process=$WIRE_PID
read -r ready <&"${WIRE[0]}"
[[ ${ready:-} == ready ]] || not_run "the kernel does not let packets be taken from an interface"

# on NUMBER COMMAND...: on that host.
cat >"$work/on" <<EOF
#!/usr/bin/env bash
export TMPDIR=$work/host\$1
exec ip netns exec $name-\$1 unshare --uts sh -c 'hostname "\$0"; exec "\$@"' host\$1 "\${@:2}"
EOF
# What mpirun uses in the place of ssh: agent ADDRESS COMMAND...
cat >"$work/agent" <<EOF
#!/usr/bin/env bash
exec $work/on \$((\${1##*.} - 1)) sh -c "\${*:2}"
EOF
chmod +x "$work/on" "$work/agent"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
start=("$work/on" 0 mpirun -n "$((hosts * each))" --host "$addresses" --bind-to none --mca btl "self,tcp" --mca btl_tcp_if_include
    eth0 --mca oob_tcp_if_include eth0 --mca plm_rsh_agent "$work/agent" --mca plm_rsh_no_tree_spawn 1
    ${more[@]+"${more[@]}"})

if (($#)); then
    "${start[@]}" "$@"
    exit
fi

# ---------------------------------------------------------------------------------------------- the transport's own tests

passed=0 failed=0
report() {
    if ((status == 0)); then
        passed=$((passed + 1))
        echo "ok      $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $1"
        sed 's/^/        /' "$work/stdout" "$work/stderr" | head -20
    fi
}

run() { timeout -k 5 120 "${start[@]}" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null; }

# The delay is there: an exchange takes two of them.
run "$traffic" speed 8
microseconds=$(sed -n 's/^8 bytes there and back: \([0-9]*\)\..*/\1/p' "$work/stdout")
[[ $microseconds ]] && ((microseconds >= 2000 * delay && microseconds < 2000 * delay + 20000))
status=$?
report "a message there and back takes ${microseconds:-?} microseconds"

for seed in $RANDOM $RANDOM $RANDOM; do
    run "$traffic" run "$seed"
    [[ $(<"$work/stdout") == digest* && $(<"$work/stdout") == $("$traffic" local "$hosts" "$seed") ]]
    status=$?
    report "traffic with seed $seed is that of threads"
done

run "$traffic" fail 1
[[ $? == 7 && $(grep '^traffic: ' "$work/stderr") == "traffic: stage 1: the loss is no longer a number" ]]
status=$?
report "a failure is told once, on the first host"

# SECONDS COMMAND...: while processes meet again and again COMMAND happens, by which everything ends in so many seconds.
ends_by() {
    local job before i
    run "$traffic" --silence 2 hold &
    job=$!
    for ((i = 0; i < 200; ++i)); do
        (($(grep -c '^rank .* process ' "$work/stdout" 2>/dev/null) == hosts)) && break
        sleep 0.1
    done
    sleep 1
    before=$EPOCHREALTIME
    "${@:2}"
    ! wait "$job" || return
    seconds=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $before }")
    awk "BEGIN { exit !($seconds < $1) }"
}

last=$((hosts - 1))
kill_last() { kill -KILL "$(sed -n "s/^rank $last process //p" "$work/stdout")"; }
ends_by 10 kill_last && tr '\n' ' ' <"$work/stderr" | grep -qE "rank $last .* on node .* exited on +signal 9"
status=$?
report "a rank that is killed takes the others along (${seconds:-?} seconds)"

# The last host's cable is pulled: nobody closes a connection, it is just silent.
pull_cable() { ip -n "$name-wire" link set "port$last" down; }
ends_by 20 pull_cable &&
    [[ $(grep '^traffic: ' "$work/stderr") == "traffic: rank $last on host host$last has not answered for 2 seconds"* ]]
status=$?
report "a host that is gone is named (${seconds:-?} seconds)"

echo "$passed passed, $failed failed"
((failed == 0))
