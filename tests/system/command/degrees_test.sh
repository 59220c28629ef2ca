#!/usr/bin/env bash
# `onstage plan --devices D --replicas auto`: the choice is the best of all numbers of replicas, each planned by itself.

# shellcheck source=tests/system/command/cases.sh
source tests/system/command/cases.sh
html_check=$root/tests/system/command/html_check
gpt=("$golden/gpt_decomposed/model.onnx" --batch 32)
towers=("$root/tests/agreement/families/two_towers/model.onnx" --loss cross_entropy --batch 32 --device-profile a100-40gb)
bert=(--cost-graph "$examples/data/profiles/piper/bert32a100.json" --device-profile a100-40gb)

# The rows of the table that was printed last, and the number of replicas that is taken.
rows() { sed -nE '/^replicas +stages/,/^$/s/^ +([0-9]+ .*)/\1/p' "$work/stdout" | tr -s ' '; }
chosen() { rows | sed -nE 's/^([0-9]+) .*: taken$/\1/p'; }

# What the table should say of the run of one number of replicas that came last, without the memory.
expected_row() {
    if ((status == 6)); then
        sed -nE 's/.*smallest memory found that does is (--memory [0-9]+ \([^)]*\)).*/does not fit; \1 would do/p' "$work/stderr"
    else
        sed -nE 's/.*; a step of ([0-9]+) samples takes ([0-9.]+ ms): ([0-9.]+) samples.s$/\1 \2 \3/p' "$work/stdout"
    fi
}

# NAME DEVICES MICRO_BATCHES STAGES_A_DEVICE ARGUMENTS...: all numbers of replicas one by one, and --replicas auto; MICRO_BATCHES
# of all of them, 0: as many as stages.
is_exhaustive() {
    local devices=$2 all=$3 chunks=$4 replicas own fastest=0 best='' wrong='' row
    local -a shared=()
    begin "$1"
    ((all == 0)) || shared=(--micro-batches "$all")
    run plan "${@:5}" --devices "$devices" --replicas auto "${shared[@]}" --reproducible -o auto.json
    cp "$work/stdout" auto.txt
    ((status == 0)) || wrong="exit code $status"
    for ((replicas = 1; replicas <= devices; ++replicas)); do
        ((devices % replicas == 0 && (all == 0 || all % replicas == 0))) || continue
        own=$((devices / replicas))
        stages=$((own == 1 ? 1 : own * chunks))
        ((all == 0)) || shared=(--micro-batches $((all / replicas)))
        run plan "${@:5}" --stages $stages --replicas $replicas "${shared[@]}" --reproducible -o $replicas.json
        row=$(expected_row)
        [[ $row ]] || wrong+=" $replicas: exit code $status"
        cp auto.txt "$work/stdout"
        rows | grep -qE "^$replicas $stages ([0-9]+ )?${row//[()]/.}( |$)" || wrong+=" no row '$replicas $stages $row'"
        read -r speed < <(awk '{ print ($4 + 0) }' <<<"$row")
        # Of equal ones that with fewer stages, which comes later here.
        if [[ $row != does* ]] && awk "BEGIN { exit !($speed >= $fastest) }"; then fastest=$speed best=$replicas; fi
    done
    [[ $best && $best == "$(chosen)" ]] || wrong+=" $(chosen) taken instead of $best"
    cmp -s auto.json "$best.json" || wrong+=" the plan is not that of --replicas $best"
    if [[ $wrong ]]; then fail "$name" "$wrong: $(rows | tr '\n' ';')"; else pass "$name"; fi
}

is_exhaustive "a model on this machine" 8 0 1 "${gpt[@]}"
is_exhaustive "… with AutoPipe's stages on GPUs" 8 0 1 "${gpt[@]}" --device-profile a100-40gb --partition autopipe
is_exhaustive "… with micro-batches that are shared" 6 12 1 "${gpt[@]}" --batch 24
is_exhaustive "… with two stages on each device" 6 0 2 "${gpt[@]}" --pipeline interleaved --device-profile v100-16gb
is_exhaustive "… with a schedule of the planner's choice" 4 0 1 "${mlp[@]:0:7}" --batch 16 --pipeline auto
is_exhaustive "… under a cap" 4 0 1 "${gpt[@]}" --batch 24 --optimizer adam --memory 1100000
is_exhaustive "… with stages side by side" 8 8 1 "${towers[@]}" --partition graphpipe
is_exhaustive "… with weight gradients apart" 8 8 1 "${towers[@]}" --pipeline zb-h1
is_exhaustive "a cost graph with AutoPipe's stages" 8 32 1 "${bert[@]}" --partition autopipe
is_exhaustive "… with links that cost much" 8 32 1 --cost-graph "$examples/data/profiles/pipedream/alexnet.txt" --device-profile v100-16gb

begin "another number of replicas is best under a cap, and of more stages"
wrong=
succeeds plan "${gpt[@]}" --devices 8 --replicas auto && free=$(chosen) || wrong=1
run plan "${gpt[@]}" --stages $((8 / free)) --replicas "$free" --memory 1000
least=$(sed -nE 's/.*smallest memory found that does is --memory ([0-9]+) .*/\1/p' "$work/stderr")
succeeds plan "${gpt[@]}" --devices 8 --replicas auto --memory $((least - 1)) --report r.html -o plan.json && capped=$(chosen) || wrong+=2
if [[ $wrong ]]; then :
elif ((capped >= free)); then fail "$name" "$capped replicas instead of $free"
elif ! rows | grep -qE "^$free [0-9]+ does not fit; --memory $least "; then fail "$name" "$(rows)"
elif ! grep -qE "\"replicas\":[[:space:]]*$capped," plan.json; then fail "$name" "the plan is for others"
else pass "$name"; fi
begin "… which the report says, too"
if succeeds plan "${gpt[@]}" --devices 8 --replicas auto --memory $((least - 1)) --report r.html && "$html_check" r.html; then
    if grep -q 'How many replicas' r.html && grep -q "<tr class=\"own\"><td>$capped</td>" r.html && grep -q 'does not fit' r.html; then pass "$name"
    else fail "$name" "the page has no such table"; fi
fi

begin "a plan whose replicas were chosen is trained as it is, in threads"
data=("${mlp[@]:0:7}")
wrong=
# Replicas of two stages: one stage does not fit.
run plan "${data[@]}" --threads 1 --batch 16 --stages 1 --replicas 4 --memory 1000
least=$(sed -nE 's/.*smallest memory found that does is --memory ([0-9]+) .*/\1/p' "$work/stderr")
if succeeds plan "${data[@]}" --threads 1 --batch 16 --devices 4 --replicas auto --memory $((least - 1)) -o plan.json && printed '^ +2 +2 .*: taken$' &&
    succeeds train "${data[@]}" --threads 1 --steps 3 --plan plan.json --out planned.onnx && printed '^ +1 .* ([0-9.]+ [KM]iB) +\1$' &&
    succeeds train "${data[@]}" --threads 1 --steps 3 --batch 16 --stages 2 --replicas 2 --out given.onnx; then
    if cmp -s planned.onnx given.onnx; then pass "$name"; else fail "$name" "other bits than --stages 2 --replicas 2"; fi
fi

begin "stages that are given leave one number of replicas"
if succeeds plan "${gpt[@]}" --devices 8 --stages 4 --replicas auto && (($(chosen) == 2 && $(rows | wc -l) == 1)); then
    memory=$(rows | sed -nE 's/.* ([0-9.]+ [KM]iB): taken$/\1/p')
    if grep -qE "^ +[0-3] .* ms +$memory " "$work/stdout"; then pass "$name"; else fail "$name" "no stage takes '$memory'"; fi
else fail "$name" "$(rows)"; fi
begin "what is not possible with some is possible with others"
if succeeds plan "${gpt[@]}" --devices 4 --replicas auto --micro-batches 2 --shard-optimizer; then
    if rows | grep -q '^4 1 not possible: --micro-batches 2 cannot be shared among 4 replicas' && rows | grep -q '^1 4 not possible: --shard-optimizer' && (($(chosen) == 2))
    then pass "$name"; else fail "$name" "$(rows)"; fi
fi
begin "the largest batch: the number of replicas with the most samples a second"
if succeeds plan "${gpt[@]:0:1}" --devices 4 --replicas auto --max-batch --device-profile v100-16gb --memory 2GiB; then
    fastest=$(rows | sort -k 6 -g -r | head -1 | cut -d ' ' -f 1)
    if (($(rows | wc -l) == 3 && fastest == $(chosen))); then pass "$name"; else fail "$name" "$(rows)"; fi
fi

# Which one that is depends on what the kernels of this machine need for scratch.
begin "none fits: what the nearest needs"
least_memory() { sed -nE 's/.*smallest memory found that does is --memory ([0-9]+) .*/\1/p' "$work/stderr"; }
nearest=''
for division in "4 stages in 1 replica" "2 stages in 2 replicas" "1 stage in 4 replicas"; do
    read -r stages _ _ replicas _ <<<"$division"
    run plan "${gpt[@]}" --stages "$stages" --replicas "$replicas" --memory 1000
    if [[ -z $nearest ]] || (($(least_memory) < least)); then nearest=$division least=$(least_memory); fi
done
run plan "${gpt[@]}" --devices 4 --replicas auto --memory 1000
if ((status != 6)) || ! grep -q "^onstage: --replicas auto: no way to share 4 devices fits; the nearest, $nearest: no plan fits 1000 B" "$work/stderr"
then fail "$name" "exit code $status"
elif [[ $(least_memory) != "$least" ]]; then fail "$name" "$(least_memory) instead of $least"
elif succeeds plan "${gpt[@]}" --devices 4 --replicas auto --memory "$least"; then
    refuses 6 "no way to share" plan "${gpt[@]}" --devices 4 --replicas auto --memory $((least - 1))
fi
begin "… and a report is written all the same"
run plan "${gpt[@]}" --devices 4 --replicas auto --memory 1000 --report r.html
if ((status == 6)) && "$html_check" r.html && grep -q 'How many replicas' r.html; then pass "$name"; else fail "$name" "exit code $status"; fi

# ------------------------------------------------------------------------------------------------------------- refusals
auto=(plan "${gpt[@]}" --replicas auto)
begin "no devices";                     refuses 1 "--replicas auto: how many devices .* --devices D" "${auto[@]}"
begin "stages that leave devices over"; refuses 1 "--devices 8 are no multiple of the 3 that --stages 3 lie on; leave --stages out" "${auto[@]}" --devices 8 --stages 3
begin "more devices than can be";       refuses 1 "--devices 70000: more than" "${auto[@]}" --devices 70000
begin "stages that choose copies"
refuses 3 "--stage-replicas free: replicas are of the whole pipeline or of its stages; leave" "${auto[@]}" --devices 4 --partition graphpipe --stage-replicas free
begin "devices that differ";            refuses 3 "beside --device-profile a100-40gb,v100-16gb: .* alike" "${auto[@]}" --devices 2 --device-profile a100-40gb,v100-16gb
begin "updates between micro-batches";  refuses 3 "--replicas auto: an asynchronous pipeline .* take --pipeline 1f1b" "${auto[@]}" --devices 4 --pipeline pipedream-async
begin "a schedule from a file"
printf '0F0,0B0\n1F0,1B0\n' >s.csv
refuses 1 "--replicas auto beside --schedule s.csv" "${auto[@]}" --devices 2 --schedule s.csv
begin "a word that is none";            refuses 1 "--replicas: 'some' is neither a whole number from 1 on nor auto" "${auto[@]:0:4}" --replicas some
begin "training";                       refuses 1 "--replicas auto: only .onstage plan. chooses; give a number, or make a plan" train "${mlp[@]}" --replicas auto --devices 2
begin "what fails for all is said once"; refuses 1 "few samples" "${auto[@]}" --batch 2 --devices 4

report_and_exit
