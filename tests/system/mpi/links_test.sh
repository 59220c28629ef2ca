#!/usr/bin/env bash
# `onstage profile --links`: what it refuses, what it writes, and that it gives back the rate and delay of a network that
# has them: hosts are network namespaces (namespaces.sh); where there cannot be any, that part says "not run: WHY".

# shellcheck source=tests/system/mpi/cases.sh
source tests/system/mpi/cases.sh
here=$PWD
model=$here/tests/agreement/golden/mlp/model.onnx

# NAME: by the status of what was done before.
report() {
    if (($? == 0)); then pass "$1"; else fail "$1"; fi
}

# OBJECT FIELD: of the profile in $work/links.json, a number.
number() { tr -d '\n\t' <"$work/links.json" | sed -nE "s/.*\"$1\":[{][^}]*\"$2\":([-0-9.e+]+).*/\1/p"; }

# VALUE LEAST MOST: it lies between them.
within() { awk -v x="$1" -v least="$2" -v most="$3" 'BEGIN { exit !(x != "" && x + 0 >= least && x + 0 <= most) }'; }

run "$onstage" profile --links -o "$work/links.json"
((status == 1)) && grep -q 'not started by mpirun' "$work/stderr" && [[ ! -e $work/links.json ]]
report "without mpirun it says how to start it"

run "${mpirun[@]}" -n 2 "$onstage" profile "$model" --links
# By one at least: mpirun ends the other, which may not have come to it.
((status == 1)) && grep -q -- 'onstage: --links measures no model' "$work/stderr"
report "a model beside --links is refused"

run "$onstage" profile
((status == 1)) && grep -q 'which model?.*--links' "$work/stderr"
report "neither a model nor --links"

run "${mpirun[@]}" -n 3 "$onstage" profile --links --device-profile a100-40gb -o "$work/links.json"
((status == 0)) && [[ $(grep -c '^on one host: .* the median of 3 pairs, the slowest' "$work/stdout") == 1 ]] &&
    [[ $(grep -c '^wrote ' "$work/stdout") == 1 ]] && within "$(number link bandwidth)" 1e6 1e13 &&
    within "$(number link latency)" 1e-8 0.1 && ! grep -q '"network"' "$work/links.json" &&
    "$onstage" plan "$model" --batch 8 --stages 2 --device-profile "$work/links.json" -o "$work/plan.json" >"$work/stdout" 2>"$work/stderr" &&
    grep -q "\"link_bandwidth\":[[:space:]]*$(number link bandwidth)" "$work/plan.json"
report "processes of one host: a plan has the link"

"$onstage" profile "$model" --batch 4 --repetitions 2 --no-cache -o "$work/measured.json" >"$work/stdout" 2>"$work/stderr"
before=$(grep -c '"key"' "$work/measured.json")
run "${mpirun[@]}" -n 2 "$onstage" profile --links --profile "$work/measured.json" -o "$work/links.json"
((status == 0)) && [[ $before -gt 0 && $(grep -c '"key"' "$work/links.json") == "$before" ]] &&
    grep -q 'link.*measured: messages between processes of one host over MPI' "$work/links.json" &&
    "$onstage" plan "$model" --batch 8 --stages 2 --profile "$work/links.json" >"$work/stdout" 2>"$work/stderr"
report "the nodes of a measured profile stay"

run "${mpirun[@]}" -n 2 "$onstage" profile --links -o "$work/none/links.json"
((status != 0)) && [[ $(grep -c '^onstage: ' "$work/stderr") == 1 ]]
report "a file that cannot be written"

run "${mpirun[@]}" -n 2 "$onstage" profile --links --device-profile nothing -o "$work/links.json"
((status != 0)) && [[ $(grep -c "^onstage: .*'nothing'" "$work/stderr") == 1 ]]
report "a device profile that does not exist is told once"

# ------------------------------------------------------------------------------------------------- hosts with a slow network

namespaces=$here/tests/system/mpi/namespaces.sh
rate=10000000 delay=10
run timeout -k 5 120 "$namespaces" --hosts 2 --each 2 --delay "$delay" --rate "$rate" -- \
    "$onstage" profile --links -o "$work/links.json"
if ((status == 77)); then
    cat "$work/stdout"
    report_and_exit
fi
((status == 0)) && grep -q '^between hosts: .* the median of 4 pairs' "$work/stdout" &&
    within "$(number network bandwidth)" $((rate * 90 / 100)) $((rate * 110 / 100))
report "the network's rate comes back: $(number network bandwidth) of $rate bytes a second"
within "$(number network latency)" 0.01 0.03
report "and its delay: $(number network latency) of 0.01 seconds"
within "$(number network eager_bytes)" 60000 65536
report "and the messages that leave without asking, as Open MPI's default has it: $(number network eager_bytes)"
within "$(number link bandwidth)" $((rate * 5)) 1e13 && grep -q '"node_devices":[[:space:]]*2' "$work/links.json"
report "processes of one host have a link of their own, two in a node"

report_and_exit
