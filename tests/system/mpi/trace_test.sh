#!/usr/bin/env bash
# The timeline of stages in several processes: one file with the streams of all, by one clock. What is received was sent
# before, also where a process's clock shows something else: in a time namespace, where there may be one.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
golden=$PWD/tests/agreement/golden/cnn_dynamic
stages=3 steps=4 micro_batches=4

command=("$onstage" train "$golden/model.onnx" --input "image=$golden/input.npy" --target "$golden/target.npy"
    --loss cross_entropy --batch 8 --micro-batches "$micro_batches" --optimizer adamw --lr 0.01 --threads 1 --seed 7
    --stages "$stages" --transport mpi --steps "$steps")

# Of each event: stage, row, what kind, step, micro-batch, name, begin and end in microseconds.
events() {
    sed -nE 's/^,?\{"name":"([^"]*)","cat":"([^"]*)","ph":"X","ts":([^,]*),"dur":([^,]*),"pid":([0-9]+),"tid":([0-9]+),"args":\{"step":([0-9]+),"micro_batch":([0-9]+).*$/\5 \6 \2 \7 \8 \1 \3 \4/p' \
        "$1" | awk '{ printf "%s %s %s %s %s %s %.3f %.3f\n", $1, $2, $3, $4, $5, $6, $7, $7 + $8 }'
}

# A name is sent by one stage and received by another: the receive ends after the send has begun. Times are written in
# thousandths of a microsecond, and clocks that differ are known to so many microseconds ($2).
early() {
    awk -v slack="$2" '{ key = $6 " " $4 " " $5 }
        $3 == "send" && (!(key in sent) || $7 < sent[key]) { sent[key] = $7 }
        $3 == "receive" { ++count }
        $3 == "receive" && (!(key in received) || $8 < received[key]) { received[key] = $8 }
        END {
            for (key in received) if (!(key in sent) || received[key] < sent[key] - slack) print "received early: " key
            if (count == 0) print "nothing is received"
        }' "$1"
}

# NAME SLACK COMMAND...: writes a trace, and looks at it.
check() {
    local name=$1 slack=$2 i
    rm -f "$work/trace.json"
    if ! run "${@:3}"; then
        fail "$name" "it does not run"
        return
    fi
    events "$work/trace.json" >"$work/events"
    for ((i = 0; i < stages; ++i)); do
        local forward
        forward=$(awk -v stage="$i" '$1 == stage && $3 == "forward" { print $4, $5 }' "$work/events" | sort -u | wc -l)
        ((forward == steps * micro_batches)) || fail "$name" "stage $i has $forward forward parts"
    done
    if [[ $(early "$work/events" "$slack") ]]; then
        fail "$name" "$(early "$work/events" "$slack" | head -3)"
    elif ! grep -q '"lost_events":0' "$work/trace.json" || [[ $(tail -c 3 "$work/trace.json") != '}}' ]]; then
        fail "$name" "the file has no end"
    else
        pass "$name"
    fi
}

check "one clock" 0.002 "${mpirun[@]}" -n "$stages" "${command[@]}" --trace "$work/trace.json"

if unshare --time --monotonic 1000 true 2>"$work/stderr"; then
    for seconds in 1000 100000; do
        check "a clock that shows $seconds seconds more" 5000 "${mpirun[@]}" -n 3 "${by_rank[@]}" 2 "${command[@]}" \
            --trace "$work/trace.json" + 1 unshare --time --monotonic "$seconds" "${command[@]}" \
            --trace "$work/trace.json"
    done
else
    echo "another clock is not tried: $(<"$work/stderr")"
fi

run "${mpirun[@]}" -n 3 "${by_rank[@]}" 2 "${command[@]}" + 1 "${command[@]}" --trace "$work/trace.json"
if ((status == 1)) && grep -q '^onstage: .*rank 0 was started without --trace, rank 2 with it$' "$work/stderr"; then
    pass "only one process is to record ($seconds seconds)"
else
    fail "only one process is to record"
fi

report_and_exit
