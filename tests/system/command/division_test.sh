#!/usr/bin/env bash
# Several files for --profile: stages or threads, whichever the simulator finds faster, run as if they had been asked for. On two processors
# of this machine, however many it has.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
processors=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | tr , '\n' |
    awk -F- '{ for (i = $1; i <= $NF; ++i) print i }' | head -2 | paste -sd,)
if [[ $processors != *,* ]] || ! type -P taskset >/dev/null; then
    echo "not run: there is one processor, or no taskset"
    report_and_exit
fi
native=$onstage
on_two() { taskset -c "$processors" "$native" "$@"; }
onstage=on_two
export XDG_CACHE_HOME=$work/cache

model=("${mlp[@]:0:9}") # threads are not said
threads=(--stages 1 --threads 2)
stages=(--stages 2 --threads 1)

# NAME SECONDS FROM: a copy of the profile by which every node takes so long. $work/NAME.json
retime() { sed -E 's/("seconds":[[:space:]]*)[0-9.e+-]+/\1'"$2"'/' "$work/$3.json" >"$work/$1.json"; }

begin "profiles of both ways are measured by the number of stages alone"
if succeeds profile "${model[@]}" --repetitions 1 --no-cache -o "$work/two.json" && printed '16 samples on .*, 2 threads$' &&
    succeeds profile "${model[@]}" --repetitions 1 --no-cache --stages 2 -o "$work/one.json" && printed ' 8 samples on .*, 1 thread$'
then pass "$name"; fi
retime slow_threads 1e-3 two
retime fast_threads 1e-6 two
retime slow_stages 1e-3 one
retime fast_stages 1e-6 one
cd "$work" || exit 1
slow_threads=$work/slow_threads.json fast_threads=$work/fast_threads.json slow_stages=$work/slow_stages.json fast_stages=$work/fast_stages.json

# PROFILES CHOICE PROFILE OPTIONS...: the plan, and the weights and losses of a run, are those of OPTIONS with PROFILE alone, and both say CHOICE,
# an extended regular expression. $shared: options of both.
shared=()
runs_as() {
    local wrong='' profiles=$1 choice=$2 asked=("${shared[@]}" --profile "${@:3}")
    succeeds plan "${model[@]}" "${shared[@]}" --profile "$profiles" --reproducible -o chosen.json && printed "$choice" || return
    succeeds plan "${model[@]}" "${asked[@]}" --reproducible -o asked.json || return
    cmp -s chosen.json asked.json || wrong+=" another plan than asked for"
    succeeds train "${model[@]}" "${shared[@]}" --profile "$profiles" --steps 4 --log-json chosen.jsonl --out chosen.onnx || return
    grep -qE "$choice" "$work/stderr" || wrong+=" the run does not say what was chosen"
    [[ " ${*:4} " != *" --stages 1 "* ]] || asked=("${shared[@]}" "${@:4}") # which needs no plan, and refuses a profile
    succeeds train "${model[@]}" "${asked[@]}" --steps 4 --log-json asked.jsonl --out asked.onnx || return
    cmp -s chosen.onnx asked.onnx || wrong+=" other weights than asked for"
    cmp -s <(grep -oE '"loss":[^,]+' chosen.jsonl) <(grep -oE '"loss":[^,]+' asked.jsonl) || wrong+=" other losses than asked for"
    (($(grep -c '"loss"' chosen.jsonl) == 4)) || wrong+=" no losses"
    if [[ $wrong ]]; then fail "$name" "$wrong"; else pass "$name"; fi
}
ms='[0-9.e-]+ ms'
begin "two stages are faster"
runs_as "$slow_threads,$fast_stages" "^2 stages of 1 thread: $ms a step by simulation; 1 stage of 2 threads: $ms$" "$fast_stages" "${stages[@]}"
begin "one stage is faster, in whichever order the files are named"
runs_as "$slow_stages,$fast_threads" "^1 stage of 2 threads: $ms a step by simulation; 2 stages of 1 thread: $ms$" "$fast_threads" "${threads[@]}"
shared=(--micro-batches 4)
begin "stages that share devices, and a schedule of the planner's choice"
if succeeds profile "${model[@]}" "${shared[@]}" --repetitions 1 --no-cache -o "$work/four.json" && retime slow_four 1e-3 four &&
    succeeds profile "${model[@]}" "${shared[@]}" --repetitions 1 --no-cache --stages 2 -o "$work/four_one.json"; then
    pass "$name (profiles)"
    files=$work/slow_four.json,$work/four_one.json
    shared=(--micro-batches 4 --pipeline interleaved)
    begin "… interleaved"
    runs_as "$files" "^4 stages on 2 devices of 1 thread: $ms a step by simulation; 1 stage of 2 threads: $ms$" "$work/four_one.json" --stages 4 --threads 1
    shared=(--micro-batches 4 --pipeline auto)
    begin "… auto"
    runs_as "$files" "^[24] stages (on 2 devices )?of 1 thread: $ms a step by simulation; 1 stage of 2 threads: $ms$" "$work/four_one.json" "${stages[@]}"
fi
shared=()

# Milliseconds of a step as the plan that was made last says them, in the digits of the choice.
step() { awk -v t="$(sed -nE 's/.*"step_seconds":[[:space:]]*([0-9.e+-]+).*/\1/p' "$1")" 'BEGIN { printf "%.4g", 1e3 * t }'; }
begin "the figures are those of the two plans"
if succeeds plan "${model[@]}" "${threads[@]}" --profile "$work/two.json" -o two_threads.json &&
    succeeds plan "${model[@]}" "${stages[@]}" --profile "$work/one.json" -o two_stages.json &&
    succeeds plan "${model[@]}" --profile "$work/one.json,$work/two.json"; then
    told=$(grep 'by simulation' "$work/stdout")
    if [[ $told == *"1 stage of 2 threads: $(step two_threads.json) ms"* && $told == *"2 stages of 1 thread: $(step two_stages.json) ms"* ]]
    then pass "$name"; else fail "$name" "$told; $(step two_threads.json), $(step two_stages.json)"; fi
fi

# A model of which no stage needs what the whole does.
mlp=("${model[@]}")
model=("$golden/gpt_decomposed/model.onnx" --input "$golden/gpt_decomposed/input.npy" --target "$golden/gpt_decomposed/target.npy" --loss cross_entropy --batch 4)
least_memory() { sed -nE 's/.*smallest memory found that does is --memory ([0-9]+) .*/\1/p' "$work/stderr"; }
begin "what does not fit is not taken, however fast it is"
succeeds profile "${model[@]}" --repetitions 1 --no-cache -o "$work/gpt_two.json" && retime gpt_fast 1e-6 gpt_two &&
    succeeds profile "${model[@]}" --repetitions 1 --no-cache --stages 2 -o "$work/gpt_one.json" && retime gpt_slow 1e-3 gpt_one
gpt=$work/gpt_fast.json,$work/gpt_slow.json
run plan "${model[@]}" "${threads[@]}" --profile "$work/gpt_fast.json" --memory 1000
whole=$(least_memory)
run plan "${model[@]}" "${stages[@]}" --profile "$work/gpt_slow.json" --memory 1000
part=$(least_memory)
if ((part < whole)); then
    shared=(--memory "$part")
    runs_as "$gpt" "^2 stages of 1 thread: $ms a step by simulation; 1 stage of 2 threads: does not fit$" "$work/gpt_slow.json" "${stages[@]}"
    shared=()
else fail "$name" "$part bytes in two stages, $whole in one"; fi
begin "none fits: what the nearest needs"
refuses 6 "no way to divide 2 processors fits; the nearest, 2 stages of 1 thread: no plan fits .* is --memory $part " \
    plan "${model[@]}" --profile "$gpt" --memory 1000
begin "… in training as well"
refuses 6 "no way to divide 2 processors fits; .* is --memory $part " train "${model[@]}" --profile "$gpt" --memory 1000
model=("${mlp[@]}")

begin "too few samples for two stages: one stage"
small=("${model[@]}" --batch 1)
if succeeds profile "${small[@]}" --repetitions 1 --no-cache -o small.json &&
    succeeds plan "${small[@]}" --profile "small.json,$slow_stages" && printed '^1 stage of 2 threads: .*; 2 stages of 1 thread: not possible, --batch 1 has too few'
then pass "$name"; fi

# The file says neither the length of the sequences nor that of the batch.
length=("$models/any_length.onnx" --input x.npy --target y.npy --loss mse --batch 6)
make_sequences() {
    repeat 240 '\0\0\200\077' | array x.npy '<f4' '(12, 5, 4)'
    repeat 48 '\0\0\0\0' | array y.npy '<f4' '(12, 4)'
}
begin "dimensions that only the data say"
make_sequences
if succeeds profile "${length[@]}" --repetitions 1 --no-cache -o two.json && succeeds profile "${length[@]}" --repetitions 1 --no-cache --stages 2 -o one.json &&
    succeeds train "${length[@]}" --steps 1 --profile one.json,two.json; then
    if grep -q 'by simulation' "$work/stderr"; then pass "$name"; else fail "$name" "nothing was chosen"; fi
fi

# By itself, --stages 2 makes a batch of twice the model's.
begin "a model with a fixed batch keeps it"
fixed=("$models/fixed_batch.onnx" --loss mse)
if succeeds profile "${fixed[@]}" --repetitions 1 --no-cache -o two.json && succeeds profile "${fixed[@]}" --batch 6 --repetitions 1 --no-cache --stages 2 -o one.json &&
    succeeds plan "${fixed[@]}" --profile one.json,two.json && printed '^.*fixed_batch.onnx: batch 3[, ]'; then pass "$name"; fi

begin "a name with a comma is one file's"
if cp "$work/one.json" "one,two.json" && succeeds plan "${model[@]}" "${stages[@]}" --profile "one,two.json" && printed 'times from one,two.json: of [1-9]'
then pass "$name"; fi

# ------------------------------------------------------------------------------------------------------------- refusals
both=$work/two.json,$work/one.json
plan=(plan "${model[@]}" --profile "$both")
begin "--stages says it";         refuses 1 "beside --stages: .* leave --stages out" "${plan[@]}" --stages 2
begin "--threads says it";        refuses 1 "beside --threads: " "${plan[@]}" --threads 1
begin "--devices says it";        refuses 1 "beside --devices: " "${plan[@]}" --devices 2
begin "replicas";                 refuses 1 "beside --replicas: " "${plan[@]}" --replicas 2
begin "--replicas auto";          refuses 1 "beside --replicas: " "${plan[@]}" --replicas auto
begin "a device of another sort"; refuses 1 "beside --device: " "${plan[@]}" --device cuda
begin "a device elsewhere";       refuses 1 "beside --device-profile: " "${plan[@]}" --device-profile cpu
begin "processes";                refuses 1 "beside --transport: " "${plan[@]}" --transport mpi
begin "processes that were started"
OMPI_COMM_WORLD_SIZE=2 refuses 1 "2 processes were started, .* name the file that was measured for that" train "${model[@]}" --profile "$both"
begin "the largest batch";        refuses 1 "beside --max-batch: " plan "${model[@]:0:7}" --profile "$both" --max-batch
begin "a plan";                   refuses 1 "beside --plan: " train "${model[@]}" --profile "$both" --plan plan.json
begin "a cost graph";             refuses 1 "beside --cost-graph: " plan --cost-graph x.json --profile "$both"
begin "links";                    refuses 1 "--links beside --profile .*: links are put into one profile" profile --links --profile "$both"
begin "a name is missing";        refuses 1 "no name in front of or behind a comma" "${plan[@]}" --profile "$work/one.json,"
begin "no such file";             refuses 5 "--profile: cannot open '.*none.json'" "${plan[@]}" --profile "$work/one.json,none.json"
begin "two for one way";          refuses 1 "(slow|fast)_stages.json and .*(slow|fast)_stages.json were both measured with 1 thread; name one" "${plan[@]}" --profile "$slow_stages,$fast_stages"
begin "no model";                 refuses 1 "which model" plan --profile "$both"
begin "a report in the place of a profile"
cp "$work/one.json" own.json
refuses 1 "own.json" "${plan[@]}" --profile "$work/two.json,own.json" --report own.json
begin "a plan in the place of a profile"
cp "$work/one.json" own.json
refuses 1 "--out: own.json would take the place of what --profile reads" "${plan[@]}" --profile "$work/two.json,own.json" --out own.json
for result in --out --log-json --trace; do
    begin "$result in the place of one of several profiles"
    cp "$work/one.json" own.json
    refuses 1 "$result: own.json would take the place of what --profile reads" train "${model[@]}" --profile "$work/two.json,own.json" "$result" own.json
    begin "$result in the place of a profile"
    cp "$work/one.json" own.json
    refuses 1 "$result: own.json would take the place of what --profile reads" train "${model[@]}" --stages 2 --profile own.json "$result" own.json
done
begin "none divides the processors"
sed 's/"threads":[[:space:]]*2/"threads": 3/' "$work/two.json" >three.json
sed 's/"threads":[[:space:]]*1/"threads": 5/' "$work/one.json" >five.json
refuses 1 "five.json: none was measured with a number of threads that divides the 2 processors here; measure with .*--stages" "${plan[@]}" --profile three.json,five.json
begin "one of them does not: the other"
sed 's/"threads":[[:space:]]*2/"threads": 3/' "$work/two.json" >three.json
if succeeds "${plan[@]}" --profile "three.json,$work/one.json" && printed '^2 stages of 1 thread: .*; stages of 3 threads: not possible, so many do not divide 2 processors$'
then pass "$name"; fi
begin "another model's"
run profile "$golden/lenet/model.onnx" --repetitions 1 --no-cache -o lenet.json
refuses 1 "--profile lenet.json: it has the times of [0-9]+ of the [0-9]+ nodes of .*; measure with onstage profile --stages 1" "${plan[@]}" --profile "lenet.json,$work/one.json"
begin "another batch's"
refuses 1 "--profile .*/two.json: it has the times of [0-9]+ of the [0-9]+ nodes of .* in micro-batches of 8: " train "${model[@]}" --batch 8 --profile "$both"

report_and_exit
