#!/usr/bin/env bash
# Replicas as threads, by the command: batches that a model fixes, plans of uneven batches, checkpoints of other runs.

# shellcheck source=tests/system/command/cases.sh
source tests/system/command/cases.sh

losses() { grep -oE '"loss":[^,}]*' "$1"; }

# Numbers that differ from sample to sample: bytes of a float32 each.
# shellcheck disable=SC2059  # the bytes are the format
numbers() { for ((i = 0; i < $1; ++i)); do printf "\\x00\\x$(printf %02x $((i * 37 % 256)))\\x$(printf %02x $((64 + i * 11 % 128)))\\x3e"; done; }

# ------------------------------------------------------------------------------------------------------- batches that are fixed
# The batch cannot be followed, and what is left of an epoch is dropped: the last step has as many micro-batches as there are
# whole ones, whoever computes them.
for case in "8 2 2" "12 3 2" "12 2 3" "8 4 1" "6 3 1" "10 5 1"; do
    read -r batch replicas micro_batches <<<"$case"
    begin "a fixed batch: $batch samples in $replicas replicas of $micro_batches micro-batches"
    numbers 84 | array x.npy '<f4' '(21, 4)'
    numbers 84 | tac -rs '.' | head -c 336 | array y.npy '<f4' '(21, 4)'
    fixed=("$models/mixes_samples.onnx" --input x.npy --target y.npy --loss mse --freeze mix --threads 1 --batch "$batch" --steps 12)
    if succeeds train "${fixed[@]}" --micro-batches $((replicas * micro_batches)) --log-json alone.jsonl &&
        succeeds train "${fixed[@]}" --replicas "$replicas" --micro-batches "$micro_batches" --log-json together.jsonl; then
        # Sums of several micro-batches in each replica have roundings of their own.
        if paste -d ' ' <(losses alone.jsonl | tr -dc '0-9.e\n-') <(losses together.jsonl | tr -dc '0-9.e\n-') |
            awk '{ d = $1 - $2; if (d < 0) d = -d; if (!($1 > 0) || d > 2e-6 * $1) exit 1 } END { exit NR != 12 }'; then pass "$name"
        else fail "$name" "$(losses alone.jsonl | tail -1) $(losses together.jsonl | tail -1)"; fi
    fi
done

begin "a batch that follows from the number of replicas is another run's"
numbers 84 | array x.npy '<f4' '(21, 4)'
cp x.npy y.npy
fixed=("$models/mixes_samples.onnx" --input x.npy --target y.npy --loss mse --freeze mix --threads 1)
if succeeds train "${fixed[@]}" --steps 3 --checkpoint runs; then
    refuses 1 "another model or other data" train "${fixed[@]}" --steps 6 --replicas 3 --checkpoint runs --resume
fi

begin "replicas share the processors"
threads=$(($(nproc) / 3 > 1 ? $(nproc) / 3 : 1))
if succeeds train "${mlp[@]:0:7}" --batch 9 --steps 1 --replicas 3 && printed ", $threads threads?,"; then pass "$name"; fi

# ------------------------------------------------------------------------------------------------------------------ checkpoints

data=("${mlp[@]:1}")
begin "another model under the same name is no checkpoint's"
cp "${mlp[0]}" model.onnx
if succeeds train model.onnx "${data[@]}" --batch 8 --steps 3 --replicas 2 --checkpoint runs; then
    LC_ALL=C sed 's/"\x04Relu/"\x04Tanh/' "${mlp[0]}" >model.onnx # the operator, and no name
    if cmp -s model.onnx "${mlp[0]}"; then fail "$name" "the model has no Relu"
    else refuses 1 "another model or other data" train model.onnx "${data[@]}" --batch 8 --steps 6 --replicas 4 --checkpoint runs --resume; fi
fi

begin "what differs beside the number of replicas is named alone"
if succeeds train "${mlp[@]}" --batch 8 --steps 3 --replicas 2 --checkpoint runs; then
    refuses 1 "other options: now --shuffle false instead of true; resume" train "${mlp[@]}" --batch 8 --steps 6 --replicas 4 --no-shuffle \
        --checkpoint runs --resume
fi

# ------------------------------------------------------------------------------------------------------------------------ plans

begin "an uneven batch is planned as it is"
short=("${mlp[@]:0:7}" --threads 1 --batch 20 --micro-batches 2 --replicas 3 --stages 2)
if succeeds plan "${short[@]}" -o plan.json && printed 'a step of 20 samples'; then
    wrong=""
    for bytes in $(seq 80 4 140); do
        "$onstage" plan "${short[@]}" --memory "${bytes}KiB" -o capped.json >/dev/null 2>&1 || continue
        "$onstage" train "${mlp[@]:0:7}" --threads 1 --plan capped.json --rows 0:180 --steps 2 >output 2>&1 || wrong+=" ${bytes}KiB: $(tail -1 output)"
    done
    if [[ -e capped.json && -z $wrong ]]; then pass "$name"; else fail "$name" "$wrong"; fi
fi

# -------------------------------------------------------------------------------------------------------------- divided updates

divided=("${mlp[@]}" --batch 12 --micro-batches 1 --replicas 3 --optimizer adamw)
begin "divided updates have the bits of whole ones"
if succeeds train "${divided[@]}" --steps 8 --out "$work/whole.onnx" && succeeds train "${divided[@]}" --steps 8 --shard-optimizer --out divided.onnx; then
    if cmp -s "$work/whole.onnx" divided.onnx; then pass "$name"; else fail "$name" "another model"; fi
fi
begin "… on two stages as they are planned"
if succeeds plan "${divided[@]}" --stages 2 -o "$work/whole.json" && succeeds plan "${divided[@]}" --stages 2 --shard-optimizer -o "$work/plan.json" &&
    succeeds train "${mlp[@]:0:7}" --threads 1 --steps 8 --optimizer adamw --plan "$work/plan.json" --out divided.onnx &&
    printed '^ +1 .* ([0-9.]+ [KM]iB) +\1$'; then
    if cmp -s "$work/whole.onnx" divided.onnx; then pass "$name"; else fail "$name" "another model"; fi
fi
begin "… and as train plans them by itself"
if succeeds train "${divided[@]}" --stages 2 --steps 2 --shard-optimizer && printed '^ +0 .* ([0-9.]+ [KM]iB) +\1$' &&
    printed '^ +1 .* ([0-9.]+ [KM]iB) +\1$'; then pass "$name"; fi
begin "a replica has a third of the states, and no more than a slice begins with"
states() { grep -oE '"optimizer_states":[^,]*' "$1" | tr -dc '0-9\n' | awk '{ sum += $1 } END { print sum }'; }
# Two states of six tensors; a slice begins at a multiple of 64 bytes.
if (($(states "$work/plan.json") > 0 && 3 * $(states "$work/plan.json") <= $(states "$work/whole.json") + 12 * 3 * 64)); then pass "$name"
else fail "$name" "$(states "$work/plan.json") of $(states "$work/whole.json") bytes"; fi
begin "a checkpoint of slices goes on, in as many and in others"
if succeeds train "${divided[@]}" --steps 4 --shard-optimizer --checkpoint kept && cp -r kept other &&
    succeeds train "${divided[@]}" --steps 8 --shard-optimizer --checkpoint kept --resume --out resumed.onnx && cp -r other kept-whole &&
    succeeds train "${divided[@]}" --steps 8 --checkpoint kept-whole --resume --out as-whole.onnx &&
    succeeds train "${divided[@]}" --steps 8 --replicas 2 --shard-optimizer --checkpoint other --resume && succeeds train "${divided[@]}" --steps 9 \
    --replicas 4 --checkpoint other --resume; then
    if ! cmp -s "$work/whole.onnx" resumed.onnx; then fail "$name" "other bits"
    elif ! cmp -s "$work/whole.onnx" as-whole.onnx; then fail "$name" "other bits where states are whole again"
    else pass "$name"; fi
fi
begin "… and a checkpoint of whole states is divided"
if succeeds train "${divided[@]}" --steps 4 --checkpoint states &&
    succeeds train "${divided[@]}" --steps 8 --shard-optimizer --checkpoint states --resume --out resumed.onnx; then
    if cmp -s "$work/whole.onnx" resumed.onnx; then pass "$name"; else fail "$name" "other bits"; fi
fi
begin "… whose number of slices is damaged is refused with its place"
if succeeds train "${divided[@]}" --steps 4 --shard-optimizer --checkpoint kept; then
    text=$(head -n -2 kept/*.json | sed '/"grouping"/,$ s/"replicas":[^,]*/"replicas": 0/')
    crc=$(printf %s "${text%,}" | gzip -c | tail -c 8 | head -c 4 | od -An -tu4)
    printf '%s\t"checksum":\t%d\n}\n' "$text"$'\n' "$crc" | tee kept/*.json >/dev/null
    refuses 4 "--resume: kept: the checkpoint says that 0 replicas wrote it; " train "${divided[@]}" --steps 8 --shard-optimizer --checkpoint kept --resume
fi
begin "one replica has nothing to divide"
refuses 1 "give --replicas R" train "${mlp[@]}" --steps 1 --shard-optimizer

begin "one replica has nobody to normalise with"
refuses 1 "give --replicas R" train "${mlp[@]}" --steps 1 --sync-batchnorm

begin "… neither of them where a plan has one replica, or is made for one"
if succeeds plan "${mlp[@]:0:7}" --threads 1 --batch 12 -o "$work/alone.json"; then
    for option in --shard-optimizer --sync-batchnorm; do
        refuses 1 "$option .*give --replicas R" train "${mlp[@]:0:7}" --threads 1 --steps 1 --plan "$work/alone.json" "$option"
        refuses 1 "$option .*give --replicas R" plan "${mlp[@]:0:7}" --threads 1 --batch 12 "$option" -o plan.json
    done
fi

begin "where there are none, that is noted"
if succeeds train "${mlp[@]}" --steps 1 --replicas 2 --sync-batchnorm && grep -q "^note: --sync-batchnorm changes nothing: .*; leave it out" "$work/stderr"; then
    pass "$name"
else fail "$name" "$(head -2 "$work/stderr")"; fi
begin "… and no sample is left out"
odd=("${mlp[@]:0:7}" --threads 1 --batch 20 --rows 0:43 --epochs 2 --replicas 2)
if succeeds train "${odd[@]}" --out without.onnx && succeeds train "${odd[@]}" --sync-batchnorm --out with.onnx; then
    if grep -q "samples left out" "$work/stderr"; then fail "$name" "$(grep "left out" "$work/stderr")"
    elif ! cmp -s without.onnx with.onnx; then fail "$name" "other bits than without the option"
    else pass "$name"; fi
fi
begin "common statistics are trained as planned"
bn=("$golden/cnn_dynamic/model.onnx" --input "image=$golden/cnn_dynamic/input.npy" --target "$golden/cnn_dynamic/target.npy" --loss cross_entropy --threads 1
    --batchnorm train --replicas 2 --sync-batchnorm)
if succeeds plan "${bn[@]}" --batch 16 --micro-batches 2 --stages 2 -o plan.json && succeeds train "${bn[@]}" --steps 4 --plan plan.json &&
    printed '^ +1 .* ([0-9.]+ [KM]iB) +\1$'; then pass "$name"; fi

begin "what is left of an epoch is left out for a reason that is true"
if succeeds train "${bn[@]}" --batch 20 --micro-batches 2 --rows 0:43 --epochs 1; then
    if ! grep -q "samples left out at the end of every epoch: 3; .*--sync-batchnorm" "$work/stderr" || grep -q "was exported for" "$work/stderr"; then
        fail "$name" "$(<"$work/stderr")"
    else pass "$name"; fi
fi

begin "… and where nothing else is there"
refuses 4 "fewer than 12 samples are not computed, and the data has only 5; .*--batch" train "${bn[@]}" --batch 24 --micro-batches 1 --rows 0:5 --steps 1

begin "updates between micro-batches are not planned for replicas"
refuses 3 "asynchronous pipeline" plan "${mlp[@]:0:7}" --stages 2 --replicas 2 --pipeline pipedream-async

report_and_exit
