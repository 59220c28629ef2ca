#!/usr/bin/env bash
# --vocabulary-shards: tables and heads in shards over all devices, in plans, simulations, reports, runs and files.
set -uo pipefail
# shellcheck source=tests/system/command/cases.sh
source "${BASH_SOURCE[0]%/*}/cases.sh"
json_check=$root/tests/system/command/json_check
html_check=$root/tests/system/command/html_check
gpt=("$golden/gpt_tied/model.onnx" --loss cross_entropy)
data=(--input "$golden/gpt_tied/input.npy" --target "$golden/gpt_tied/target.npy" --threads 1 --no-shuffle)
bert=$root/tests/agreement/families/bert
bert_data=("$bert/model.onnx" --input "input_ids=$bert/input_ids.npy" --input "attention_mask=$bert/attention_mask.npy"
    --target "$bert/target.npy" --loss cross_entropy --threads 1)

t5=$root/tests/agreement/families/t5
t5=("$t5/model.onnx" --input "input_ids=$t5/input_ids.npy" --input "decoder_input_ids=$t5/decoder_input_ids.npy" --target "$t5/target.npy"
    --loss cross_entropy --threads 1)

losses() { grep -oE '"(loss|grad_norm)":[0-9.e+-]+' "$1"; }

# FILE FILE: logs whose losses and norms are within 1e-5 of each other, relatively.
alike() {
    paste <(losses "$1") <(losses "$2") | awk '{ split($1, a, ":"); split($2, b, ":"); d = a[2] - b[2]; d = d < 0 ? -d : d; ++count
        if (!(d <= 1e-5 * (1 + (a[2] < 0 ? -a[2] : a[2])))) wrong = 1 } END { exit wrong || count < 4 }'
}

# NAME OPTION...: trained whole and in shards, losses and norms are alike.
try_alike() {
    begin "$1: as with the whole vocabulary"
    local options=("${@:2}")
    if succeeds train "${options[@]}" --optimizer sgd --lr 0.01 --steps 20 --log-json whole.jsonl --out whole.onnx &&
        succeeds train --vocabulary-shards $shards "${options[@]}" --optimizer sgd --lr 0.01 --steps 20 --log-json shards.jsonl --out shards.onnx &&
        succeeds check shards.onnx; then
        if alike whole.jsonl shards.jsonl; then pass "$name"
        else fail "$name" "other losses: $(losses shards.jsonl | tail -1) for $(losses whole.jsonl | tail -1)"; fi
    fi
}
shards=4
printf '%b' "$(for ((i = 0; i < 65; ++i)); do printf '\\x00\\x00\\x%02x\\x3f' $((64 + i)); done)" | array "$work/weights.npy" '<f4' '(65,)'
try_alike "a tied vocabulary" "${gpt[@]}" "${data[@]}" --batch 8
try_alike "targets that do not count" "${gpt[@]}" "${data[@]}" --batch 8 --micro-batches 2 --ignore-index 1
try_alike "smoothed labels" "${gpt[@]}" "${data[@]}" --batch 8 --label-smoothing 0.2
try_alike "class weights" "${gpt[@]}" "${data[@]}" --batch 8 --class-weights "$work/weights.npy" --label-smoothing 0.1
shards=2
try_alike "an embedding alone" "${bert_data[@]}" --batch 4 --no-shuffle

# NAME OPTION...: whatever the stages, the bits are those of one device with as many shards.
try_stages() {
    begin "$1: the same bits on as many devices as shards, or fewer"
    local stages unlike=""
    for stages in 1 2 $shards; do
        succeeds train "${@:2}" --vocabulary-shards $shards --stages $stages --steps 5 --out $stages.onnx --log-json $stages.jsonl || return
        cmp -s 1.onnx $stages.onnx || unlike+=" weights of $stages"
        diff <(losses 1.jsonl) <(losses $stages.jsonl) >/dev/null || unlike+=" losses of $stages"
    done
    if [[ $unlike ]]; then fail "$name" "$unlike"; else pass "$name"; fi
}
try_alike "one vocabulary of encoder and decoder" "${t5[@]}" --batch 4 --no-shuffle --clip-norm 1
shards=4
micro=(--batch 8 --micro-batches 4)
try_stages "a tied vocabulary" "${gpt[@]}" "${data[@]}" "${micro[@]}" --clip-norm 0.5 --dropout 0.1
try_stages "uneven micro-batches" "${gpt[@]}" "${data[@]}" --batch 7 --micro-batches 3 --optimizer sgd --momentum 0.9
try_stages "bfloat16" "${gpt[@]}" "${data[@]}" "${micro[@]}" --precision bf16
try_stages "float16" "${gpt[@]}" "${data[@]}" "${micro[@]}" --precision fp16
shards=2
try_stages "an embedding alone" "${bert_data[@]}" --batch 8 --micro-batches 4
try_stages "one vocabulary of encoder and decoder" "${t5[@]}" --batch 8 --micro-batches 4
shards=4
try_stages "two replicas" "${gpt[@]}" "${data[@]}" --batch 8 --micro-batches 2 --replicas 2 --shard-optimizer

begin "a weight that is frozen by its name in the file"
if succeeds train "${gpt[@]}" "${data[@]}" --batch 8 --steps 2 --vocabulary-shards 2 --freeze 'wte*' --out frozen.onnx; then
    count=$(grep -oE '[0-9]+ weights' "$work/stdout" | head -1)
    if [[ $count == "57792 weights" ]]; then pass "$name"; else fail "$name" "$count"; fi # 60,912 less 65 × 48
fi

# Its logits take a shape by number, which no other number of classes fits; views lie with what they show, or stages
# would wait for each other for ever.
begin "a head between reshapes, on as many devices as shards"
reshaped=("$models/reshaped_head.onnx" --loss cross_entropy --input ids.npy --target classes.npy --threads 1 --no-shuffle --batch 8 --micro-batches 4)
bytes_below() { for ((i = 0; i < 48; ++i)); do printf "\\x$(printf %02x $((i * 7 % $1)))\\x00\\x00\\x00\\x00\\x00\\x00\\x00"; done; }
bytes_below 50 | array ids.npy '<i8' '(16, 3)'
bytes_below 47 | array classes.npy '<i8' '(16, 3)'
if succeeds plan "${reshaped[@]:0:3}" --batch 8 --micro-batches 4 --vocabulary-shards 3 --stages 3 -o plan.json &&
    succeeds train "${reshaped[@]}" --steps 4 --out whole.onnx --log-json whole.jsonl &&
    succeeds train "${reshaped[@]}" --steps 4 --vocabulary-shards 3 --stages 1 --out one.onnx --log-json one.jsonl &&
    succeeds train "${reshaped[@]}" --steps 4 --vocabulary-shards 3 --stages 3 --out three.onnx --log-json three.jsonl; then
    wrong=""
    grep -q '"head/shard2"' plan.json || wrong+=" no shard of the head"
    alike whole.jsonl one.jsonl || wrong+=" losses of shards"
    cmp -s one.onnx three.onnx || wrong+=" weights of three devices"
    if [[ $wrong ]]; then fail "$name" "$wrong"; else pass "$name"; fi
fi

begin "an index that is worked out of data"
bytes_below 50 | array ids.npy '<i8' '(16, 3)'
bytes_below 47 | array classes.npy '<i8' '(16, 3)'
counted=("$models/counted_positions.onnx" "${reshaped[@]:1}")
if succeeds train "${counted[@]}" --steps 4 --out whole.onnx --log-json whole.jsonl &&
    succeeds train "${counted[@]}" --steps 4 --vocabulary-shards 2 --stages 1 --out one.onnx --log-json one.jsonl &&
    succeeds train "${counted[@]}" --steps 4 --vocabulary-shards 2 --stages 2 --out two.onnx; then
    if alike whole.jsonl one.jsonl && cmp -s one.onnx two.onnx; then pass "$name"; else fail "$name" "other losses or weights"; fi
fi

begin "a table that layers index stays whole"
if succeeds plan "$models/codebook.onnx" "${reshaped[@]:1:2}" --batch 8 --micro-batches 4 --vocabulary-shards 2 --stages 2 -o plan.json; then
    if grep -q '"look_up/shard1"' plan.json && grep -q '"codebook"' plan.json; then pass "$name"; else fail "$name" "other shards"; fi
fi

# NAME COUNT: of the reshaped head; what is left to train when it is frozen.
try_frozen() {
    if succeeds train "${reshaped[@]}" --steps 1 --vocabulary-shards 2 --freeze "$1" --out frozen.onnx; then
        count=$(grep -oE '[0-9]+ weights' "$work/stdout" | head -1)
        if [[ $count == "$2 weights" ]]; then pass "$name"; else fail "$name" "$1: $count"; fi
    fi
}
begin "a weight that is frozen by either of its names, and by no shard's"
bytes_below 50 | array ids.npy '<i8' '(16, 3)'
bytes_below 47 | array classes.npy '<i8' '(16, 3)'
try_frozen view_3 232 # 282 less 50
try_frozen head.bias 232
refuses 1 "matches no initialiser" train "${reshaped[@]}" --steps 1 --vocabulary-shards 2 --freeze view_3/shard0 --out frozen.onnx

begin "a plan says where the shards lie, and is simulated and run in the memory that it says"
if succeeds plan "${gpt[@]}" --vocabulary-shards 4 --stages 4 "${micro[@]}" -o plan.json && "$json_check" plan.json >/dev/null &&
    printed '13 stages on 4 devices' && succeeds simulate plan.json && printed '13 stages' &&
    succeeds train "${gpt[@]}" "${data[@]}" "${micro[@]}" --vocabulary-shards 4 --plan plan.json --steps 3 --log-json planned.jsonl; then
    unlike=$(awk '/planned +taken/ { rows = 1; next } rows && /%/ { ++count; if ($(NF - 3) $(NF - 2) != $(NF - 1) $NF) print }
        END { if (count != 4) print count " rows" }' "$work/stdout")
    succeeds train "${gpt[@]}" "${data[@]}" "${micro[@]}" --vocabulary-shards 4 --stages 4 --steps 3 --log-json asked.jsonl &&
        diff <(losses planned.jsonl) <(losses asked.jsonl) >/dev/null || unlike+=" losses"
    if [[ $unlike ]]; then fail "$name" "$unlike"; else pass "$name"; fi
fi

begin "the plan of a sharded model is none of the whole one"
if succeeds plan "${gpt[@]}" --vocabulary-shards 2 --stages 2 "${micro[@]}" -o plan.json; then
    refuses 1 "the plan was made for" train "${gpt[@]}" "${data[@]}" "${micro[@]}" --plan plan.json --steps 1
fi

begin "a checkpoint goes on with another number of devices, to the bit"
options=("${gpt[@]}" "${data[@]}" "${micro[@]}" --vocabulary-shards 4 --checkpoint kept)
if succeeds train "${options[@]}" --stages 1 --steps 6 --out six.onnx && rm -r kept &&
    succeeds train "${options[@]}" --stages 4 --steps 3 --out three.onnx &&
    succeeds train "${options[@]}" --stages 2 --steps 6 --resume --out resumed.onnx; then
    if cmp -s six.onnx resumed.onnx; then pass "$name"; else fail "$name" "other weights"; fi
fi

begin "a checkpoint of another number of shards"
options=("${gpt[@]}" "${data[@]}" --batch 8 --checkpoint kept)
if succeeds train "${options[@]}" --vocabulary-shards 2 --steps 2; then
    refuses 1 "kept" train "${options[@]}" --vocabulary-shards 4 --steps 4 --resume --out never.onnx
fi

begin "validation and metrics read the whole output"
if succeeds train "${gpt[@]}" "${data[@]}" --batch 8 --rows 0:32 --val-rows 32:48 --metric accuracy --steps 2 --log-json whole.jsonl &&
    succeeds train "${gpt[@]}" "${data[@]}" --batch 8 --rows 0:32 --val-rows 32:48 --metric accuracy --steps 2 --log-json two.jsonl \
        --vocabulary-shards 2 --stages 2 --micro-batches 1; then
    accuracy() { grep -oE '"(val_)?accuracy":[0-9.]+' "$1"; }
    if [[ $(accuracy whole.jsonl) && $(accuracy whole.jsonl) == "$(accuracy two.jsonl)" ]]; then pass "$name"
    else fail "$name" "$(accuracy two.jsonl) for $(accuracy whole.jsonl)"; fi
fi

begin "a cap under which no device holds the whole vocabulary"
wide=("$root/tests/agreement/families/gpt2/model.onnx" --loss cross_entropy --batch 8 --micro-batches 4)
if succeeds plan "${wide[@]}" --stages 2 --vocabulary-shards 2 -o sharded.json; then
    cap=$(grep -oE '"arena_bytes":[[:space:]]*[0-9]+' sharded.json | grep -oE '[0-9]+$' | sort -n | tail -1)
    if succeeds plan "${wide[@]}" --stages 2 --vocabulary-shards 2 --memory "$cap"; then
        refuses 6 "$((cap / 2))|too little|no plan fits" plan "${wide[@]}" --stages 2 --vocabulary-shards 2 --memory $((cap / 3)) --memory-strategy none
    fi
fi

begin "a report"
if succeeds plan "${gpt[@]}" --vocabulary-shards 2 --stages 2 "${micro[@]}" --report r.html; then
    if "$html_check" r.html >/dev/null; then pass "$name"; else fail "$name" "no such page"; fi
fi

begin "shards that the devices do not share evenly"
refuses 1 "3 shards.*--vocabulary-shards" plan "${gpt[@]}" --vocabulary-shards 3 --stages 2 --batch 8
begin "a model without a vocabulary"
refuses 1 "neither a table that its data index nor a last layer of classes" plan "${mlp[@]:0:1}" --loss cross_entropy --vocabulary-shards 2 --batch 8
begin "more shards than words"
refuses 1 "neither a table" plan "${gpt[@]}" --vocabulary-shards 8 --batch 8
begin "as many shards as two to the 32nd and two more"
refuses 1 "neither a table" plan "${gpt[@]}" --vocabulary-shards 4294967298 --batch 8
begin "devices that differ"
refuses 1 "--vocabulary-shards takes devices that are alike.*; name one kind" plan "${gpt[@]}" --vocabulary-shards 2 --stages 2 --batch 8 --device-profile a100-40gb,v100-16gb
begin "a schedule of two directions"
refuses 1 "chimera beside --vocabulary-shards" plan "${gpt[@]}" --vocabulary-shards 4 --stages 4 --batch 8 --pipeline chimera
begin "a partition of another kind"
refuses 1 "uniform beside --vocabulary-shards" train "${gpt[@]}" "${data[@]}" --vocabulary-shards 4 --stages 4 --batch 8 --partition uniform --steps 1
begin "a schedule of PyTorch's"
printf '0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n' >s.csv
refuses 1 "vocabulary-shards" train "${gpt[@]}" "${data[@]}" --vocabulary-shards 2 --batch 8 --schedule s.csv --steps 1
begin "an asynchronous schedule"
refuses 1 "pipedream-async beside --vocabulary-shards" plan "${gpt[@]}" --vocabulary-shards 4 --stages 4 --batch 8 --pipeline pipedream-async
begin "no number"
refuses 1 "vocabulary-shards" plan "${gpt[@]}" --vocabulary-shards few --batch 8

report_and_exit
