#!/usr/bin/env bash
# Branches of a model as stages beside each other: the plan of a network with two long branches puts them into stages that
# exchange nothing, its simulation computes them at the same time, and over threads and processes it trains to the bits
# of one stage.

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
towers=$PWD/tests/agreement/families/two_towers

same=("$towers/model.onnx" --loss cross_entropy --optimizer adamw --batch 8 --micro-batches 4 --threads 1)
train=(train "${same[@]}" --input "x=$towers/x.npy" --target "$towers/target.npy" --lr 0.01 --seed 7 --steps 5)

# "FROM-TO" of all links of a plan, in one line.
links() {
    sed -n '/"links":/,/"ties":/p' "$1" | tr -d ' \t\n' | grep -oE '"from":[0-9]+,"to":[0-9]+' |
        sed -E 's/"from":([0-9]+),"to":([0-9]+)/\1-\2/' | tr '\n' ' '
}

# Of a simulation's trace: stage, micro-batch, begin and end of each forward part that is computed.
forwards() {
    sed -nE 's/^,?\{"name":"forward","cat":"forward","ph":"X","ts":([^,]*),"dur":([^,]*),.*"stage":([0-9]+),"micro_batch":([0-9]+).*$/\3 \4 \1 \2/p' "$1" |
        awk '{ print $1, $2, $3, $3 + $4 }'
}

for schedule in 1f1b gpipe; do
    name="$schedule: branches are stages beside each other"
    if ! run "$onstage" plan "${same[@]}" --stages 4 --pipeline "$schedule" --device-profile a100-40gb -o "$work/plan.json"; then
        fail "$name" "no plan"
        continue
    fi
    # The stem feeds both branches, both feed the head, and nothing goes from branch to branch.
    if [[ $(links "$work/plan.json") == "0-1 0-2 1-3 2-3 " ]]; then pass "$name"; else fail "$name" "links $(links "$work/plan.json")"; fi

    name="$schedule: they are simulated at the same time"
    run "$onstage" simulate "$work/plan.json" --trace "$work/simulated.json" || fail "$name" "it is not simulated"
    if forwards "$work/simulated.json" | awk '$2 == 0 { begin[$1] = $3; end[$1] = $4 }
        END { exit !(begin[1] < end[2] && begin[2] < end[1] && end[1] > 0 && end[2] > 0) }'; then
        pass "$name"
    else
        fail "$name" "$(forwards "$work/simulated.json" | awk '$2 == 0')"
    fi

    run "$onstage" "${train[@]}" --stages 1 --out "$work/whole.onnx" || fail "$schedule: one stage" "it does not run"
    for transport in local mpi; do
        name="$schedule, $transport: the bits of one stage"
        command=("$onstage" "${train[@]}" --plan "$work/plan.json" --transport "$transport" --out "$work/cut.onnx"
            --trace "$work/trace.json")
        [[ $transport == local ]] || command=("${mpirun[@]}" -n 4 "${command[@]}")
        rm -f "$work/cut.onnx" "$work/trace.json"
        if ! run "${command[@]}"; then
            fail "$name" "it does not run"
        elif ! cmp -s "$work/whole.onnx" "$work/cut.onnx"; then
            fail "$name" "other bits"
        else
            pass "$name"
        fi
        # Each row of the trace is a stream; what a stage does not receive, it cannot wait for.
        name="$schedule, $transport: neither branch waits for the other"
        rows=$(grep -oE '"pid":[12],"tid":[0-9]+,"args":\{"name":"[a-z]+ from [0-9]+"' "$work/trace.json" |
            sed -E 's/"pid":([12]).*"name":"([a-z]+) from ([0-9]+)"/\1 \2 \3/' | sort -u | tr '\n' ',')
        if [[ $rows == *"1 forward 0,"*"2 forward 0,"* && ,$rows != *,"1 "*" 2,"* && ,$rows != *,"2 "*" 1,"* ]]; then
            pass "$name"
        else
            fail "$name" "rows $rows"
        fi
    done
done

report_and_exit
