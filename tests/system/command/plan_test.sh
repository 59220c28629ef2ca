#!/usr/bin/env bash
# `onstage plan` and `onstage simulate`: cost graphs, plan files, caps that cannot be met, and every kind of bad input.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
json_check=$root/tests/system/command/json_check
html_check=$root/tests/system/command/html_check
resnet=$examples/data/profiles/pipedream/resnet50.txt
gpt=$golden/gpt_decomposed/model.onnx
cost=(plan --cost-graph "$resnet")

# A plan with swaps and recomputed tensors in ./plan.json.
make_plan() { succeeds "${cost[@]}" --stages 4 --memory 8GiB --device-profile a100-40gb -o plan.json; }

# The chart of the last simulation: the lines from the first device to the legend.
chart() { sed -n '/^device 0  /,$p' "$work/stdout"; }

is_json() {
    "$json_check" "$1" >/dev/null 2>"$work/stderr" && return 0
    fail "$name" "$1 is no JSON"
    return 1
}

# ------------------------------------------------------------------------------------------------------------ cost graphs
# Bottlenecks of PipeDream's own planner, ms: stages 2, 4, 8. It plans for its own schedule, whose micro-batches never end.
for case in alexnet:43.075:28.721:28.721 resnet18:130.199:69.523:35.207 squeezenet1_0:144.143:72.954:51.094 \
    gnmt:45.936:25.868:19.032 resnet50:221.933:111.497:56.684 densenet121:163.085:81.985:41.615 \
    inception_v3:344.659:177.874:91.970; do
    IFS=: read -r graph two four eight <<<"$case"
    for at in 2:$two 4:$four 8:$eight; do
        begin "$graph over ${at%:*} stages is no slower than PipeDream's planner has it"
        succeeds plan --cost-graph "$examples/data/profiles/pipedream/$graph.txt" --stages "${at%:*}" --pipeline pipedream-async ||
            continue
        slowest=$(sed -n 's/^slowest stage \([0-9.]*\) ms.*/\1/p' "$work/stdout")
        # Printed to a thousandth of a millisecond.
        if awk "BEGIN { exit !($slowest > 0 && $slowest <= ${at#*:} + 0.0011) }"; then
            pass "$name"
        else
            fail "$name" "$slowest ms, not ${at#*:}"
        fi
    done
done

begin "a cost graph without a device: free links, any memory, as many micro-batches as stages"
if succeeds "${cost[@]}" --stages 4 && printed "batch 4 in 4 micro-batches, 4 stages of a device without limits \(any memory"
then pass "$name"; fi

begin "Piper's profiles"
if succeeds plan --cost-graph "$examples/data/profiles/piper/gnmt.json" --stages 4; then pass "$name"; fi

begin "a cost graph and a model"
refuses 1 "either a model .*or --cost-graph" plan "$gpt" --cost-graph "$resnet"
begin "neither a model nor a cost graph"; refuses 1 "which model\? Give MODEL.onnx or --cost-graph FILE" plan
begin "a cost graph that does not exist";  refuses 5 "nothing.txt" plan --cost-graph nothing.txt
begin "a cost graph of no known kind"
echo "all in all" >graph.txt
refuses 4 "graph.txt" plan --cost-graph graph.txt
begin "the largest batch of a cost graph"; refuses 1 "--max-batch" "${cost[@]}" --max-batch
begin "a batch that a cost graph does not have"; refuses 1 "--batch 7.*--micro-batches" "${cost[@]}" --batch 7
begin "more stages than nodes";            refuses 1 "stages" "${cost[@]}" --stages 5000
begin "unknown partition";                 refuses 1 "partition.*best.*dawnpiper" "${cost[@]}" --partition best
begin "unknown memory strategy";           refuses 1 "memory-strategy.*hope.*capuchin" "${cost[@]}" --memory-strategy hope
begin "unknown schedule";                  refuses 1 "1f2b.*gpipe" "${cost[@]}" --pipeline 1f2b
begin "unknown device";                    refuses 5 "v1000.*a100-40gb" "${cost[@]}" --device-profile v1000
begin "devices that are not as many as stages"
refuses 1 "names 3 devices, and the stages lie on 4" plan "$gpt" --batch 8 --stages 4 --device-profile 'a100-40gb,v100-16gb*2'
begin "devices of two sorts"
refuses 1 "a100-40gb and cpu: graphs of CPUs and GPUs" plan "$gpt" --batch 8 --stages 2 --device-profile a100-40gb,cpu
begin "devices without a name"
refuses 1 "'\*2' is no device" plan "$gpt" --batch 8 --stages 2 --device-profile '*2'
begin "a report about devices that differ"
refuses 3 "--report is about devices that are alike" plan "$gpt" --batch 8 --stages 2 --device-profile a100-40gb,v100-16gb --report r.html
begin "devices that differ and a cost graph"; refuses 1 "--cost-graph" "${cost[@]}" --stages 2 --device-profile a100-40gb,v100-16gb
begin "a plan for devices that differ is simulated and run"
if succeeds plan "$gpt" --batch 8 --stages 2 --device-profile h100-80gb,v100-16gb -o plan.json &&
    printed '1 × NVIDIA H100 80 GB .*, 1 × NVIDIA V100 16 GB' && is_json plan.json && succeeds simulate plan.json; then pass "$name"; fi
begin "zero stages";                       refuses 1 "--stages" "${cost[@]}" --stages 0

# ---------------------------------------------------------------------------------------------------------------- devices
begin "several stages on a device: how many devices there are, and what each holds"
if succeeds "${cost[@]}" --stages 4 --pipeline interleaved --device-profile a100-80gb -o plan.json &&
    printed ", 4 stages on 2 devices of NVIDIA A100 80 GB .* free on each\)" && printed '^device  memory +free +stages$' &&
    printed '^     0  .*  0, 2$' && printed '^     1  .*  1, 3$' && succeeds simulate plan.json &&
    printed '4 stages on 2 devices, schedule interleaved'; then pass "$name"; fi

begin "another number of devices"
if succeeds "${cost[@]}" --stages 6 --devices 2 --pipeline interleaved && printed ", 6 stages on 2 devices" &&
    printed '^     1  .*  1, 3, 5$'; then pass "$name"; fi
begin "as many devices as stages may be said"
if succeeds "${cost[@]}" --stages 4 --devices 4 && printed ", 4 stages of"; then pass "$name"; fi
begin "more devices than stages"
refuses 1 "--devices 5: 4 stages cannot lie on more devices" "${cost[@]}" --stages 4 --devices 5
begin "devices without stages"
refuses 1 "--devices 2: 1 stage cannot lie on more devices" "${cost[@]}" --devices 2
begin "training on more devices than stages"
refuses 1 "--devices 2: 1 stage cannot lie on more devices" train "${mlp[@]}" --steps 1 --devices 2
for schedule in interleaved looped v; do
    begin "as many devices as stages, $schedule"
    refuses 1 "schedule $schedule puts several stages on every device, .* take --stages 8" train "${mlp[@]}" --steps 1 --stages 4 --devices 4 --pipeline $schedule
done
begin "a schedule that puts each stage on a device of its own"
refuses 1 "schedule 1f1b puts each stage on a device of its own" "${cost[@]}" --stages 4 --devices 2
begin "devices that are no number"; refuses 1 "--devices: 'two' is not a whole number" "${cost[@]}" --devices two

begin "a report counts devices, not stages, in money"
echo '{"currency": "EUR", "a100-80gb": 3.6}' >prices.json
if succeeds "${cost[@]}" --stages 4 --pipeline interleaved --device-profile a100-80gb --prices prices.json --report r.html; then
    rate=$(sed -nE 's/.*: ([0-9.]+) samples\/s$/\1/p' "$work/stdout" | head -1)
    money=$(grep -oE '<b>[0-9.]+ EUR</b>' r.html | grep -oE '[0-9.]+')
    if awk "BEGIN { wanted = 2 * 3.6 / 3600 * 1e6 / $rate; exit !($money > 0.98 * wanted && $money < 1.02 * wanted) }"; then
        pass "$name"
    else
        fail "$name" "$money EUR for a million samples at $rate samples/s"
    fi
fi

begin "a weight whose reader the data move to another stage"
# /wpe/Gather is last in this order, and its gradient was counted where the list has it.
if succeeds plan "$golden/gpt_tied/model.onnx" --batch 4 --micro-batches 4 --optimizer sgd --stages 2 --pipeline zb-h1 -o plan.json &&
    succeeds simulate plan.json; then pass "$name"; fi

losses() { grep -oE '"loss": ?[0-9.e+-]+' "$1"; }
begin "training by every schedule is training in one stage, to the bit"
options=(train "${mlp[@]:0:7}" --batch 8 --micro-batches 4 --steps 3 --threads 1)
wrong=
succeeds "${options[@]}" --stages 1 --log-json one.jsonl || wrong=1
for schedule in gpipe 1f1b zb-h1 "interleaved --devices 2" "looped --devices 2" "v --devices 2" auto "auto --devices 2"; do
    # shellcheck disable=SC2086
    succeeds "${options[@]}" --stages 4 --pipeline $schedule --log-json some.jsonl &&
        diff <(losses one.jsonl) <(losses some.jsonl) >/dev/null && (($(losses some.jsonl | wc -l) == 3)) || wrong+=" $schedule"
done
succeeds plan "${mlp[@]:0:7}" --batch 8 --micro-batches 4 --stages 4 --pipeline interleaved -o plan.json &&
    succeeds "${options[@]}" --plan plan.json --log-json some.jsonl && diff <(losses one.jsonl) <(losses some.jsonl) >/dev/null || wrong+=" plan"
if [[ $wrong ]]; then fail "$name" "$wrong"; else pass "$name"; fi
begin "training with a plan for another number of devices"
if succeeds plan "${mlp[@]:0:7}" --batch 8 --stages 2 -o plan.json; then
    refuses 1 "--devices 1 beside --plan plan.json, which was made for 2" train "${mlp[@]:0:7}" --batch 8 --devices 1 --plan plan.json
fi

# --------------------------------------------------------------------------------------------------------------- schedules
# The milliseconds of a step that was planned last.
step_of() { sed -nE 's/.*; a step of .* takes ([0-9.]+) ms.*/\1/p' "$work/stdout"; }

for pipeline in gpipe 1f1b interleaved looped zb-h1 v; do
    begin "schedule $pipeline, written, planned from the file, written again"
    succeeds "${cost[@]}" --stages 4 --micro-batches 6 --pipeline "$pipeline" -o plan.json && step=$(step_of) &&
        succeeds simulate plan.json --write-schedule a.csv && printed '^wrote a.csv$' &&
        succeeds "${cost[@]}" --schedule a.csv -o again.json && printed 'schedule a.csv' || continue
    if [[ $step != "$(step_of)" ]]; then fail "$name" "a step takes $(step_of) ms, not $step"; continue; fi
    if succeeds simulate again.json --write-schedule b.csv; then
        if cmp -s a.csv b.csv; then pass "$name"; else fail "$name" "the files differ"; fi
    fi
done

# Eight stages of two branches: their lists wait for ever where each stage waits for the one before.
towers=$root/tests/agreement/families/two_towers
branches=("$towers/model.onnx" --loss cross_entropy --optimizer adamw --batch 8 --micro-batches 8)
write_branches() {
    succeeds plan "${branches[@]}" --stages 8 --device-profile a100-40gb --partition graphpipe -o plan.json && step=$(step_of) &&
        succeeds simulate plan.json --write-schedule a.csv
}
for partition in graphpipe auto; do
    begin "the schedule of a graph of stages, written, planned from the file by $partition, written again"
    write_branches &&
        succeeds plan "${branches[@]}" --device-profile a100-40gb --partition "$partition" --schedule a.csv -o again.json &&
        printed 'schedule a.csv' || continue
    if [[ $step != "$(step_of)" ]]; then fail "$name" "a step takes $(step_of) ms, not $step"; continue; fi
    if succeeds simulate again.json --write-schedule b.csv; then
        if cmp -s a.csv b.csv; then pass "$name"; else fail "$name" "the files differ"; fi
    fi
done
begin "training by the schedule of a graph of stages is training in one stage, to the bit"
options=(train "${branches[@]}" --input "x=$towers/x.npy" --target "$towers/target.npy" --lr 0.01 --steps 3 --threads 1)
if write_branches && succeeds "${options[@]}" --stages 1 --out one.onnx && succeeds "${options[@]}" --schedule a.csv --out some.onnx; then
    if cmp -s one.onnx some.onnx; then pass "$name"; else fail "$name" "other bits"; fi
fi
begin "an order that a link of the stages forbids"
write_branches && sed '8s/7F0,7B0,7F1/7F0,7F1,7B0/; 1s/0F0,0F1/0F0,0B0,0F1/; 1s/,0B0,0F5/,0F5/' a.csv >wrong.csv &&
    refuses 4 "wrong.csv: the schedule hangs .* waiting to receive the gradient of micro-batch 0 from stage" train "${branches[@]:0:5}" \
    --batch 8 --input "x=$towers/x.npy" --target "$towers/target.npy" --schedule wrong.csv --steps 1
begin "a line's stages for the schedule of a graph"
refuses 1 "--pipeline beside --partition graphpipe" plan "${branches[@]}" --stages 8 --partition graphpipe --pipeline gpipe

begin "the fastest schedule, and why the others lost"
if succeeds "${cost[@]}" --stages 4 --micro-batches 6 --pipeline 1f1b && step=$(step_of) &&
    succeeds "${cost[@]}" --stages 4 --micro-batches 6 --pipeline auto --report r.html -o plan.json && "$html_check" r.html; then
    chosen=$(sed -nE 's/^schedule (.*): the fastest of [0-9]+; .*/\1/p' "$work/stdout")
    if [[ ! $chosen ]] || ! grep -qF "schedule $chosen, partition" "$work/stdout" || ! grep -q 'Which schedule' r.html; then
        fail "$name" "no schedule is named"
    elif ! awk "BEGIN { exit !($(step_of) < $step) }"; then fail "$name" "a step takes $(step_of) ms, with 1F1B $step"
    elif succeeds simulate plan.json && printed "$chosen"; then pass "$name"; fi
fi
begin "the fastest schedule for the devices that there are"
if succeeds "${cost[@]}" --stages 4 --devices 2 --micro-batches 6 --pipeline auto && printed '4 stages on 2 devices'; then pass "$name"; fi
begin "the fastest schedule that fits as it is laid out"
options=("${mlp[@]:0:7}" --batch 8 --micro-batches 4 --stages 2)
run plan "${options[@]}" --pipeline 1f1b --memory 1000
least=$(sed -nE 's/.* --memory ([0-9]+) .*/\1/p' "$work/stderr") wrong=
for percent in 100 105 110 120 150; do
    bytes=$((least * percent / 100))
    succeeds plan "${options[@]}" --pipeline auto --memory $bytes -o plan.json && succeeds train "${options[@]:0:9}" --micro-batches 4 --plan plan.json --steps 1 &&
        succeeds train "${options[@]}" --pipeline auto --memory $bytes --steps 1 || wrong+=" $bytes"
done
if [[ $wrong ]]; then fail "$name" "$wrong"; else pass "$name"; fi
begin "no schedule fits"
refuses 6 "no plan fits 1000 B a device" plan "${options[@]}" --pipeline auto --memory 1000

# By hand, as PyTorch writes it: with bubbles, communication and gradients apart.
write_schedule() {
    printf '# rank 0, rank 1\r\n0F0,0SEND_F0,0F1,,0RECV_B0,0I0,0W0,0B1\r\n,1RECV_F0,1F0,1B0,(1F1;1B1)OVERLAP_F_B,1REDUCE_GRAD\r\n' >s.csv
}
begin "a schedule of a person's"
write_schedule
if succeeds "${cost[@]}" --schedule s.csv -o plan.json && printed 'batch 2 in 2 micro-batches, 2 stages of' &&
    succeeds simulate plan.json && chart | grep -qE '^device 0  .*F.*I.*W.*B'; then pass "$name"; fi
begin "what a schedule says may be said again"
write_schedule
if succeeds "${cost[@]}" --schedule s.csv --stages 2 --devices 2 --micro-batches 2; then pass "$name"; fi
begin "a schedule and other stages";        write_schedule; refuses 1 "--stages 3 beside --schedule s.csv, which is written for 2" "${cost[@]}" --schedule s.csv --stages 3
begin "a schedule and other devices";       write_schedule; refuses 1 "--devices 1 beside --schedule s.csv, .* 2: leave" "${cost[@]}" --schedule s.csv --devices 1
begin "a schedule and other micro-batches"; write_schedule; refuses 1 "--micro-batches 3 beside --schedule s.csv" "${cost[@]}" --schedule s.csv --micro-batches 3
begin "a schedule and a schedule";          write_schedule; refuses 1 "--pipeline beside --schedule s.csv" "${cost[@]}" --schedule s.csv --pipeline 1f1b
begin "a schedule that is missing";         refuses 5 "s.csv" "${cost[@]}" --schedule s.csv
begin "a schedule with a cell that is none"
printf '0F0,0B0\n\n1F0,1C0,1B0\n' >s.csv
refuses 4 "s.csv: line 3, column 2: '1C0' is no action" "${cost[@]}" --schedule s.csv
begin "a schedule that hangs"
printf '0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n' >s.csv
refuses 4 "s.csv: the schedule hangs" "${cost[@]}" --schedule s.csv
begin "a schedule in which something is missing"
printf '0F0,0B0,0F1,0B1\n1F0,1F1,1B0\n' >s.csv
refuses 4 "s.csv: stage 1, micro-batch 1: backward is missing" "${cost[@]}" --schedule s.csv
begin "the file of an asynchronous schedule"
if succeeds "${cost[@]}" --stages 2 --pipeline pipedream-async -o plan.json; then
    refuses 3 "--write-schedule: an asynchronous schedule has updates between micro-batches" simulate plan.json --write-schedule s.csv
fi
begin "a schedule in place of the plan"
if make_plan; then refuses 1 "--write-schedule: plan.json would take the place" simulate plan.json --write-schedule plan.json; fi
begin "a report of a schedule of a person's"
write_schedule
if succeeds "${cost[@]}" --schedule s.csv --report r.html --memory 20GiB && "$html_check" r.html && grep -q 'schedule s.csv' r.html; then pass "$name"; fi

begin "training by a file is training by its schedule, to the bit"
options=("${mlp[@]:0:7}" --batch 8 --steps 3 --threads 1 --micro-batches 4)
if succeeds plan "${mlp[@]:0:7}" --batch 8 --micro-batches 4 --stages 2 -o plan.json && succeeds simulate plan.json --write-schedule s.csv &&
    succeeds train "${options[@]}" --stages 2 --log-json named.jsonl && succeeds train "${options[@]}" --schedule s.csv --log-json file.jsonl; then
    if (($(losses file.jsonl | wc -l) == 3)) && diff <(losses named.jsonl) <(losses file.jsonl) >/dev/null; then pass "$name"
    else fail "$name" "other losses"; fi
fi
begin "training by a file with several stages on a device"
printf '0F0,1F0,1B0,0B0\n' >s.csv
if succeeds train "${mlp[@]:0:7}" --batch 8 --steps 1 --schedule s.csv; then pass "$name"; fi
begin "training by a file with a gradient whole beside others apart"
printf '0F0,0F1,0I0,0W0,0B1\n1F0,1F1,1B0,1B1\n' >s.csv
if succeeds train "${options[@]:0:9}" --steps 3 --threads 1 --micro-batches 2 --stages 2 --log-json named.jsonl &&
    succeeds train "${options[@]:0:9}" --steps 3 --threads 1 --schedule s.csv --log-json file.jsonl; then
    if diff <(losses named.jsonl) <(losses file.jsonl) >/dev/null; then pass "$name"; else fail "$name" "other losses"; fi
fi
begin "training by a file with one stage apart"
printf '0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1F1,1B0,1B1\n' >s.csv
if succeeds train "${mlp[@]:0:7}" --batch 8 --steps 1 --schedule s.csv; then pass "$name"; fi
begin "a plan of replicas is trained as planned"
options=("${mlp[@]:0:7}" --steps 3 --threads 1)
if succeeds plan "${mlp[@]:0:7}" --threads 1 --batch 16 --micro-batches 2 --stages 2 --replicas 2 -o plan.json && printed 'batch 16 in 2 replicas of 2 micro-batches' &&
    rate=$(grep -oE '[0-9.]+ samples/s' "$work/stdout") && succeeds simulate plan.json && printed 'all-reduce' &&
    printed 'batch 16 in 2 replicas of 2 micro-batches' && printed "$rate" && succeeds train "${options[@]}" --plan plan.json --log-json planned.jsonl &&
    printed '^ +1 .* ([0-9.]+ [KM]iB) +\1$' && succeeds train "${options[@]}" --batch 16 --micro-batches 2 --stages 2 --replicas 2 --log-json named.jsonl; then
    if diff <(losses named.jsonl) <(losses planned.jsonl) >/dev/null; then pass "$name"; else fail "$name" "other losses"; fi
fi
begin "… and by as many as it is for"
if succeeds plan "${mlp[@]:0:7}" --batch 16 --replicas 2 -o plan.json; then
    refuses 1 "--replicas 3 beside --plan plan.json, which was made for 2" train "${options[@]}" --plan plan.json --replicas 3
fi
begin "replicas take longer where there is a link"
if succeeds plan "${mlp[@]:0:7}" --device-profile a100-40gb --batch 16 -o one.json && succeeds plan "${mlp[@]:0:7}" --device-profile a100-40gb --batch 128 --replicas 8 -o eight.json; then
    seconds() { grep -oE '"step_seconds":[^,]*' "$1" | head -1 | tr -dc '0-9.e-'; }
    if awk -v a="$(seconds one.json)" -v b="$(seconds eight.json)" 'BEGIN { exit !(b > a) }'; then pass "$name"; else fail "$name" "$(seconds one.json) $(seconds eight.json)"; fi
fi
begin "a schedule beside a plan"
write_schedule
if succeeds plan "${mlp[@]:0:7}" --batch 8 --stages 2 -o plan.json; then
    refuses 1 "--plan beside --schedule s.csv" train "${mlp[@]:0:7}" --batch 8 --steps 1 --schedule s.csv --plan plan.json
fi

# ------------------------------------------------------------------------------------------------------------------- caps
# CAP OPTIONS...: there is no plan under the cap; sets `bytes`, the memory that would do, and `told`, a step's milliseconds there.
is_told_the_least() {
    run plan "${@:2}" --memory "$1"
    bytes='' told=''
    read -r bytes told < <(sed -nE 's|.*smallest memory found that does is --memory ([0-9]+) .*takes ([0-9.]+) ms there.*samples/s with memory.*|\1 \2|p' "$work/stderr")
    ((status == 6)) && [[ $told ]] && return 0
    fail "$name" "exit code $status, not 6 with a memory"
    return 1
}

# A cap in percent: of what the one before it was told.
small=(--batch 16 --micro-batches 3 --stages 3 --optimizer sgd)
for capped in "1GiB --cost-graph $resnet --stages 4" "2GiB --cost-graph $resnet --stages 4 --device-profile v100-16gb" \
    "512KiB $gpt ${small[*]}" "97% $gpt ${small[*]}" \
    "1MiB $gpt --batch 16 --micro-batches 4 --stages 4 --pipeline interleaved"; do
    begin "what is said to be the smallest memory works, and a step takes no longer than said: ${capped%% *} ${capped##*/}"
    cap=${capped%% *}
    [[ $cap != *% ]] || cap=$((bytes * ${cap%\%} / 100))
    # shellcheck disable=SC2086
    is_told_the_least "$cap" ${capped#* } || continue
    # shellcheck disable=SC2086
    succeeds plan ${capped#* } --memory "$bytes" || continue
    step=$(sed -nE 's/.*; a step of .* takes ([0-9.]+) ms.*/\1/p' "$work/stdout")
    if awk "BEGIN { exit !(${step:-0} > 0 && ${step:-0} <= $told + 0.0011) }"; then
        pass "$name"
    else
        fail "$name" "a step takes ${step:-?} ms, not $told"
    fi
done

# ------------------------------------------------------------------------------------------------------------ plan files
begin "a plan is JSON, and simulates to the time that it predicts"
if make_plan && is_json plan.json && step=$(grep -o 'takes [0-9.]* ms' "$work/stdout") && succeeds simulate plan.json &&
    printed "^a step $step \(the plan says ${step#takes }\)" && printed "^critical path of"; then pass "$name"; fi

begin "a plan of a model says which graph, sizes and weights it is for"
if succeeds plan "$gpt" --batch 4 --stages 2 -o plan.json && is_json plan.json; then
    complete=true
    for field in '"digest":[[:space:]]*"[0-9a-f]{16}"' '"trainable_digest":[[:space:]]*"[0-9a-f]{16}"' \
        '"trainable_elements":[[:space:]]*[1-9]' '"loss":' '"dims":'; do
        grep -qE "$field" plan.json || complete=false
    done
    if $complete; then pass "$name"; else fail "$name" "a field is missing"; fi
fi

begin "a plan for this machine says what made its kernels, and what differs is said, not refused"
if succeeds plan "$gpt" --batch 4 -o plan.json && grep -qE '"oneDNN":[[:space:]]*"[0-9]+\.[0-9]+' plan.json &&
    succeeds simulate plan.json; then
    if grep -q '^note' "$work/stdout"; then
        fail "$name" "a note where nothing differs"
    else
        sed -i 's/"oneDNN":[[:space:]]*"[0-9.]*"/"oneDNN": "0.1.2", "other": "7"/' plan.json
        if succeeds simulate plan.json && printed '^note: planned with oneDNN 0\.1\.2, here [0-9]+\.' &&
            printed '^note: planned with other 7, here is none$' && printed 'other kernels may take other times'; then pass "$name"; fi
    fi
fi
begin "a plan for another device asked no kernel"
if succeeds plan "$gpt" --batch 4 --device-profile v100-16gb -o plan.json; then
    if grep -q oneDNN plan.json; then fail "$name" "it names a library"; else pass "$name"; fi
fi

begin "another loss, another trained weight: another plan"
if succeeds plan "$gpt" --batch 4 --reproducible -o a.json && succeeds plan "$gpt" --batch 4 --reproducible --freeze '*bias*' -o b.json
then
    if cmp -s <(grep trainable_digest a.json) <(grep trainable_digest b.json); then
        fail "$name" "the same digest of what is trained"
    elif ! cmp -s <(grep '"digest"' a.json) <(grep '"digest"' b.json); then
        fail "$name" "another digest of the same graph"
    else
        pass "$name"
    fi
fi

begin "--reproducible: the same bytes every time, no times of this run"
if "$onstage" "${cost[@]}" --stages 4 --reproducible -o a.json | sed 's/a\.json/x/' >a.txt &&
    "$onstage" "${cost[@]}" --stages 4 --reproducible -o b.json | sed 's/b\.json/x/' >b.txt; then
    if cmp -s a.json b.json && cmp -s a.txt b.txt && ! grep -q planning_seconds a.json && ! grep -q 'planned in' a.txt; then
        pass "$name"
    else
        fail "$name" "they differ, or a time is left"
    fi
fi

begin "a trace of a simulated plan"
if make_plan && succeeds simulate plan.json --trace trace.json && printed "^wrote trace.json" && is_json trace.json &&
    grep -q "swap out" trace.json; then pass "$name"; fi

begin "gradients apart, as a person may write them"
if succeeds "${cost[@]}" --stages 4 -o plan.json && step=$(sed -n 's/^slowest.* takes \([0-9.]*\) ms.*/\1/p' "$work/stdout"); then
    sed -i -E 's/"([0-9]+)B([0-9]+)"/"\1I\2", "\1W\2"/g' plan.json
    if succeeds simulate plan.json && printed '^  input gradient ' && printed '^  weight gradient '; then
        apart=$(sed -n 's/^a step takes \([0-9.]*\) ms.*/\1/p' "$work/stdout")
        if awk "BEGIN { exit !($apart > 0 && $apart < $step) }"; then pass "$name"; else fail "$name" "$apart ms, not below $step"; fi
    fi
fi

begin "an earlier plan stays where nothing fits"
echo "an earlier plan" >plan.json
refuses 6 "smallest memory" "${cost[@]}" --stages 4 --memory 1GiB -o plan.json
begin "a folder as the plan";             mkdir plan.json; refuses 5 "--out: plan.json is a folder" "${cost[@]}" -o plan.json
begin "a plan in a folder that is missing"; refuses 5 "--out" "${cost[@]}" -o nowhere/plan.json
if ((EUID != 0)); then
    begin "a plan in a folder that is locked"
    mkdir locked && chmod a-w locked
    refuses 5 "--out" "${cost[@]}" -o locked/plan.json
fi
begin "a plan in place of its cost graph"
cp "$resnet" graph.txt
refuses 1 "would take the place of what --cost-graph reads" plan --cost-graph graph.txt -o graph.txt

# --------------------------------------------------------------------------------------------------------------- simulate
begin "simulate nothing";                 refuses 1 "which plan\? Give PLAN.json" simulate
begin "simulate two plans";               refuses 1 "one plan at a time.*b.json" simulate a.json b.json
begin "simulate with an unknown option";  refuses 1 "--bogus" simulate a.json --bogus
begin "simulate a plan that is missing";  refuses 5 "plan.json" simulate plan.json
begin "simulate a folder";                mkdir plan.json; refuses 5 "plan.json" simulate plan.json
begin "simulate what is no JSON";         echo "{" >plan.json; refuses 4 "plan.json: .*line" simulate plan.json
begin "simulate an empty file";           : >plan.json; refuses 4 "plan.json" simulate plan.json
begin "simulate other JSON";              echo "{}" >plan.json; refuses 4 "plan.json: 'version' is missing" simulate plan.json
begin "simulate a plan of an earlier version"
if make_plan; then
    sed -i 's/"version":[[:space:]]*2/"version": 1/' plan.json
    refuses 3 "plan.json: 'version' is 1; .*plan again" simulate plan.json
fi
for damage in 's/"forward_seconds":[[:space:]]*[0-9.e-]*/"forward_seconds": -1/;costs.*forward_seconds' \
    's/"device":[[:space:]]*2/"device": 3/;decisions.*device' 's/"2F0"/"2F1"/;decisions.*2' \
    's/"needs_bytes"/"need_bytes"/;costs.*parts.*needs_bytes' 's/"batch":[[:space:]]*4/"batch": "four"/;for: .batch'; do
    begin "simulate a damaged plan: ${damage#*;}"
    if make_plan; then
        sed -i "${damage%;*}" plan.json
        refuses 4 "plan.json: ${damage#*;}" simulate plan.json
    fi
done
begin "half a plan"
if make_plan; then
    head -c "$(($(stat -c %s plan.json) / 2))" plan.json >half.json
    refuses 4 "half.json: .*line" simulate half.json
fi
begin "a trace in place of the plan"
if make_plan; then refuses 1 "--trace: plan.json would take the place" simulate plan.json --trace plan.json; fi
begin "a trace that is a folder"
if make_plan; then mkdir trace.json && refuses 5 "--trace: trace.json is a folder" simulate plan.json --trace trace.json; fi

# ----------------------------------------------------------------------------------------------------------------- pictures
# DEVICES: a line for each, none wider than 80 columns, an axis, a legend.
has_chart() {
    (($(chart | grep -cE '^device [0-9]+ +[.A-Za-z0-9@-]+$') == $1)) && ! chart | LC_ALL=C.UTF-8 grep -qE '^.{81}' &&
        chart | grep -qE '^ +0 .* (s|ms)$' && chart | grep -qE '\. idle' && return 0
    fail "$name" "no chart of $1 devices: $(chart | head -3 | tr '\n' '|')"
    return 1
}

begin "a chart: forward parts, then backward parts, bubbles between them"
if succeeds "${cost[@]}" --stages 4 --micro-batches 6 --pipeline gpipe -o plan.json && succeeds simulate plan.json && has_chart 4 &&
    chart | grep -qE '^device 0  F0-*F1-*F2-*F3-*F4-*F5-*\.+B0-*B1-*B2-*B3-*B4-*B5-*$' &&
    chart | grep -qE '^device 3  \.+F0.*B5-*\.+$'; then pass "$name"; fi
begin "a chart of several stages on a device, and of gradients apart"
if succeeds "${cost[@]}" --stages 4 --pipeline interleaved -o plan.json && succeeds simulate plan.json && has_chart 2 &&
    chart | grep -qE '^device 0  F.*f.*b.*B' && succeeds "${cost[@]}" --stages 4 --pipeline zb-h1 -o plan.json &&
    succeeds simulate plan.json && has_chart 4 && chart | grep -qE '^device 0  F.*I.*W.*I.*W' &&
    chart | grep -qE 'I input gradient  W weight gradient'; then pass "$name"; fi
begin "a chart of an asynchronous pipeline, of one stage, and of many micro-batches"
if succeeds "${cost[@]}" --stages 3 --pipeline pipedream-async -o plan.json && succeeds simulate plan.json && has_chart 3 &&
    succeeds "${cost[@]}" --stages 1 -o plan.json && succeeds simulate plan.json && has_chart 1 &&
    succeeds "${cost[@]}" --stages 12 --micro-batches 500 -o plan.json && succeeds simulate plan.json && has_chart 12
then pass "$name"; fi

if command -v script >/dev/null; then
    begin "a chart as wide as the terminal"
    if make_plan; then
        script -qec "stty cols 140; $(printf '%q ' "$onstage" simulate plan.json)" typescript >"$work/stdout" 2>&1 </dev/null
        if chart | grep -qE "^device 0  [^ ]{130}"$'\r?$'; then pass "$name"; else fail "$name" "$(chart | head -1)"; fi
    fi
fi

# FILE: a picture that is whole and needs nothing else.
is_picture() {
    head -c 100 "$1" | grep -q '^<?xml version="1.0" encoding="UTF-8"?>$' &&
        sed -e "1s/.*/<!DOCTYPE html>/" -e 's| xmlns="http://www.w3.org/2000/svg"||' "$1" >page && "$html_check" page 2>"$work/stderr" && return 0
    fail "$name" "$1 is no picture"
    return 1
}

begin "a picture: every action with its stage and micro-batch, stages told apart by tints"
if succeeds "${cost[@]}" --stages 4 --pipeline interleaved -o plan.json && succeeds simulate plan.json --svg plan.svg &&
    printed '^wrote plan.svg$' && is_picture plan.svg && grep -q 'stages 2, 3' plan.svg &&
    (($(grep -oE '<title>(forward|backward) of stage [0-3], micro-batch [0-3]: at' plan.svg | sort -u | wc -l) == 32)) &&
    (($(grep -oE 'rect class="a[01][ab]"' plan.svg | sort -u | wc -l) == 4)); then pass "$name"; fi
begin "a picture of gradients apart"
if succeeds "${cost[@]}" --stages 3 --pipeline zb-h1 -o 'a&b.json' && succeeds simulate 'a&b.json' --svg p.svg && is_picture p.svg &&
    grep -q '>weight gradient<' p.svg && grep -q 'a&amp;b.json: 3 stages, schedule zb-h1' p.svg; then pass "$name"; fi
begin "a picture in place of the plan"
if make_plan; then refuses 1 "--svg: plan.json would take the place" simulate plan.json --svg plan.json; fi
begin "a picture that is a folder"
if make_plan; then mkdir p.svg && refuses 5 "--svg: p.svg is a folder" simulate plan.json --svg p.svg; fi
begin "a picture in place of the trace"
if make_plan; then refuses 1 "--trace and --svg would write the same file" simulate plan.json --svg p --trace p; fi
begin "a damaged plan leaves the picture that was there"
echo "an earlier picture" >p.svg
echo "{}" >plan.json
refuses 4 "plan.json: 'version' is missing" simulate plan.json --svg p.svg

begin "a cap that is what the plan without one takes is met"
cat >apart.csv <<'END'
0F0,0F1,0F2,0F3,4F0,4F1,4F2,4F3,4I0,4W0,4I1,4W1,4I2,4W2,4I3,4W3,0I0,0W0,0I1,0W1,0I2,0W2,0I3,0W3
1F0,1F1,1F2,1F3,5F0,5F1,5F2,5F3,5I0,5W0,5I1,5W1,5I2,5W2,5I3,5W3,1I0,1W0,1I1,1W1,1I2,1W2,1I3,1W3
2F0,2F1,2F2,2F3,6F0,6F1,6F2,6I0,6F3,6I1,6W0,6I2,6W1,6W2,6I3,6W3,2I0,2W0,2I1,2W1,2I2,2W2,2I3,2W3
3F0,3F1,3F2,3F3,7F0,7I0,7F1,7I1,7F2,7I2,7W0,7F3,7I3,7W1,3I0,3W0,3I1,3W1,3I2,3W2,3I3,3W3,7W2,7W3
END
packed=(plan "$golden/cnn_dynamic/model.onnx" --loss cross_entropy --batchnorm train --batch 64 --micro-batches 4 --schedule apart.csv --threads 1)
if succeeds "${packed[@]}" -o free.json; then
    largest=$(sed -nE 's/.*"arena_bytes":[^0-9]*([0-9]+).*/\1/p' free.json | sort -n | tail -1)
    if succeeds "${packed[@]}" --memory "$largest" -o capped.json; then
        bytes=$(sed -nE 's/.*"arena_bytes":[^0-9]*([0-9]+).*/\1/p' capped.json | sort -n | tail -1)
        if ((bytes > largest)); then fail "$name" "$bytes bytes of $largest"; else pass "$name"; fi
    fi
fi
begin "stages that choose their own micro-batches: planned, simulated"
choice=("$golden/mlp/model.onnx" --loss cross_entropy --batch 16 --micro-batches 4 --stages 3)
free=("${choice[@]}" --partition graphpipe --stage-sizes free --stage-replicas free)
if succeeds plan "${free[@]}" --device-profile a100-40gb -o p.json && printed '^stage  takes at once  replicas  devices$' &&
    grep -q '"micro_batch":' p.json && succeeds simulate p.json --svg p.svg && is_picture p.svg; then
    refuses 3 "cannot say" simulate p.json --write-schedule p.csv
fi
begin "a report of stages that choose: what each takes, on which devices, and micro-batches in the timeline"
if succeeds plan "${free[@]}" --device-profile a100-40gb --report r.html -o p.json && "$html_check" r.html &&
    printed 'largest batch that fits with one micro-batch at a time'; then
    if ! grep -q '<th>takes at once</th><th>replicas</th><th>devices</th>' r.html; then fail "$name" "no table of what stages take"
    elif ! grep -qE '<text class="n"[^>]*>[0-9]+–[0-9]+</text>' r.html; then fail "$name" "no micro-batches in the timeline"
    else pass "$name"; fi
fi
begin "stages that choose sizes, on this machine: planned to the byte, and trained"
data=(--input "$golden/mlp/input.npy" --target "$golden/mlp/target.npy")
sized=("${choice[@]}" "${data[@]}" --partition graphpipe --stage-sizes free)
if succeeds plan "${sized[@]}" -o p.json && succeeds train "${choice[@]}" "${data[@]}" --steps 2 --plan p.json; then
    if awk '/planned  *taken/ { on = 1; next } on && NF == 13 && $10 $11 != $12 $13 { exit 1 }' "$work/stdout"; then pass "$name"; else fail "$name" "not as planned"; fi
fi
begin "stages that choose beside a strategy that does not let them"
refuses 1 "--stage-replicas free beside --partition auto" plan "${choice[@]}" --stage-replicas free --device-profile a100-40gb
begin "stages with sizes and with replicas: planned to the byte, and trained"
both=("$golden/mlp/model.onnx" --loss cross_entropy --batch 48 --micro-batches 12 --threads 1)
if succeeds plan "${both[@]}" "${data[@]}" --stages 6 --partition graphpipe --stage-sizes free --stage-replicas free -o p.json &&
    succeeds train "${both[@]}" "${data[@]}" --steps 9 --plan p.json; then
    if awk '/planned  *taken/ { on = 1; next } on && NF == 13 && $10 $11 != $12 $13 { exit 1 }' "$work/stdout"; then pass "$name"; else fail "$name" "not as planned"; fi
fi
begin "such a plan for devices that are not here is trained here, to the bits of its own"
planned=("${both[@]}" --stages 6 --partition graphpipe --stage-sizes free --stage-replicas free --device-profile a100-40gb)
if succeeds plan "${planned[@]}" -o p.json && succeeds train "${both[@]}" "${data[@]}" --steps 9 --plan p.json --rows : --val-rows 0:50 --out a.onnx &&
    succeeds train "${both[@]}" "${data[@]}" --steps 9 --plan p.json --shard-optimizer --memory 1MiB --out b.onnx; then
    if ! grep -q '"replicas":.[2-9]' p.json || ! grep -q '"micro_batch":.[2-9]' p.json; then fail "$name" "the plan has not both"
    elif ! cmp -s a.onnx b.onnx; then fail "$name" "divided updates come to other weights"
    else pass "$name"; fi
fi

begin "a plan for a GPU says so where a CPU's graph has other nodes"
options=("${mlp[@]:0:7}" --threads 1 --batch 8 --micro-batches 1 --stages 2)
if succeeds plan "${options[@]}" --device-profile a100-40gb -o gpu.json; then
    refuses 1 "--plan gpu.json: the plan was made for a100-40gb, and this run computes on a CPU.*--device-profile cpu" train "${options[@]}" --steps 2 --plan gpu.json
fi

# The only step takes all samples, with the plan as without one.
begin "a plan for more samples than the data have"
options=("${mlp[@]:0:7}" --optimizer sgd --lr 0.1 --threads 1 --rows 34:39 --batch 9 --micro-batches 1 --stages 2)
if succeeds plan "${options[@]}" -o q.json && succeeds train "${options[@]}" --epochs 2 --log-json without.jsonl &&
    succeeds train "${options[@]}" --epochs 2 --plan q.json --log-json with.jsonl; then
    losses() { grep -oE '"loss": ?[0-9.e+-]+' "$1"; }
    if (($(losses with.jsonl | wc -l) == 2)) && diff <(losses without.jsonl) <(losses with.jsonl) >/dev/null; then
        pass "$name"
    else
        fail "$name" "losses $(losses with.jsonl | tr '\n' ' ') instead of $(losses without.jsonl | tr '\n' ' ')"
    fi
fi

report_and_exit
