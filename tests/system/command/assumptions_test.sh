#!/usr/bin/env bash
# What a run assumes about a model is told before its first step, with what helps; --strict makes it an error; what is unambiguous is told nothing.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"

repeat 32 '\0\0\200\077' | array x.npy '<f4' '(8, 4)'
repeat 32 '\0\0\0\100' | array y.npy '<f4' '(8, 4)'
arrays=$PWD
told=("$models/told.onnx" --input "x=$arrays/x.npy" --target "$arrays/y.npy" --loss mse --batch 4 --steps 1)

# PATTERN: standard error has such a line.
noted() {
    grep -qE -e "$1" "$work/stderr" && return 0
    fail "$name" "stderr lacks '$1': $(head -c 600 "$work/stderr")"
    return 1
}

begin "weights that the exporter merged, and what it computed of a parameter"
if succeeds train "${told[@]}" --log-json log.jsonl --out trained.onnx &&
    noted "^note: the exporter has merged weights .* first 'a.weight' of 2, .*; --untie '\*' parts them" &&
    noted "^note: the exporter has computed 1 tensor from parameters, first 'exp' from 'scale': those parameters are not trained; export" &&
    grep -q '"assumed":\["the exporter has merged weights' log.jsonl; then
    pass "$name"
fi
begin "the log has it once a run"
if succeeds train "${told[@]}" --steps 2 --log-json log.jsonl --out trained.onnx; then
    if [[ $(grep -c assumed log.jsonl) == 1 && $(wc -l <log.jsonl) == 2 ]]; then pass "$name"; else fail "$name" "$(<log.jsonl)"; fi
fi
begin "check tells the same"
if succeeds check "$models/told.onnx" && printed "can be trained" && printed "^note: .* first 'a.weight'" && printed "^note: .* first 'exp'"; then pass "$name"; fi
begin "inspect tells the same, and where it takes it from"
if succeeds inspect "$models/told.onnx" && printed "first 'a.weight' of 2" && printed "^  exp .* computed by the exporter, from parameters"; then pass "$name"; fi
begin "what --untie parts is written back as initialisers of their own"
if succeeds train "${told[@]}" --untie '*' --out trained.onnx; then
    if grep -q merged "$work/stderr"; then fail "$name" "$(<"$work/stderr")"
    elif succeeds inspect trained.onnx && printed "^  a.weight " && printed "^  b.weight "; then pass "$name"; fi
fi
begin "--untie of what nothing shares"
refuses 1 "--untie 'w': no layers share such a weight" train "${told[@]}" --untie w
for command in train plan profile; do
    begin "$command --strict"
    refuses 3 "--strict: the exporter has merged weights .*; --untie .* \(and 1 more: \`onstage check\` lists them\)" "$command" "${told[@]:0:9}" --strict
done
begin "check --strict"
refuses 3 "--strict: the exporter has merged weights" check "$models/told.onnx" --strict

begin "a BatchNorm that was folded"
if succeeds check "$models/marked_normalisation.onnx" && printed "^note: the exporter has folded a BatchNorm into 1 of the nodes, first 'node_conv': it trains without normalising"; then pass "$name"; fi

targets=("$arrays/classes.npy" --batch 4 --steps 1 --out trained.onnx)
printf '\1\0\0\0\0\0\0\0%.0s' {1..8} | array "$arrays/classes.npy" '<i8' '(8,)'
begin "a loss of probabilities"
if succeeds train "$models/probabilities.onnx" --input "x=$arrays/x.npy" --loss cross_entropy --target "${targets[@]}" &&
    noted "^note: --loss cross_entropy is for logits, and node 'softmax' \(Softmax\) makes probabilities: of them it is another loss; --loss-output 'scores' takes"; then
    pass "$name"
fi
begin "a negative log likelihood of probabilities"
if succeeds train "$models/probabilities.onnx" --input "x=$arrays/x.npy" --loss nll --target "${targets[@]}" &&
    noted "^note: --loss nll is for logarithms of probabilities, .*; --loss cross_entropy --loss-output 'scores' takes"; then
    pass "$name"
fi
begin "what the note of probabilities advises, and other losses, are told nothing"
if succeeds train "$models/probabilities.onnx" --input "x=$arrays/x.npy" --loss cross_entropy --loss-output scores --strict --target "${targets[@]}" &&
    succeeds train "$models/probabilities.onnx" --input "x=$arrays/x.npy" --loss mse --strict --target "$arrays/y.npy" "${targets[@]:1}"; then
    pass "$name"
fi

begin "--batchnorm train and --dropout of a model that has neither"
if succeeds train "$models/good.onnx" --input "x=$arrays/x.npy" --loss mse --target "$arrays/y.npy" "${targets[@]:1}" --batchnorm train --dropout 0.3 &&
    noted "^note: --batchnorm train changes nothing: no node of the model normalises by the batch; " &&
    noted "^note: --dropout 0.3 changes nothing: no node of the model drops; "; then
    pass "$name"
fi
begin "options that have nothing to do and ask for nothing are told nothing"
if succeeds train "$models/good.onnx" --input "x=$arrays/x.npy" --loss mse --target "$arrays/y.npy" "${targets[@]:1}" --batchnorm eval --dropout off --strict; then
    pass "$name"
fi

begin "nothing is said of a model that says everything, and --strict takes it"
if succeeds train "${mlp[@]}" --steps 1 --strict --out trained.onnx; then
    if [[ -s $work/stderr ]]; then fail "$name" "$(<"$work/stderr")"; else pass "$name"; fi
fi

begin "plan --strict of a model whose weights are missing"
if succeeds plan "$examples/plan/bert.onnx" --dim sequence=128 --class-axis -1 --batch 8 --strict; then pass "$name"; fi

begin "a BatchNorm that normalises micro-batches"
bn=("$golden/cnn_dynamic/model.onnx" --input "$golden/cnn_dynamic/input.npy" --target "$golden/cnn_dynamic/target.npy" --loss cross_entropy --batch 8
    --threads 1 --steps 1 --batchnorm train)
if succeeds train "${bn[@]}" --micro-batches 2 --out trained.onnx && noted "^note: BatchNorm \(first '.*'\) normalises by micro-batches of 4 samples, not by the batch of 8; "; then pass "$name"; fi
begin "--strict refuses that, too"
refuses 3 "--strict: BatchNorm \(first" train "${bn[@]}" --micro-batches 2 --strict --out trained.onnx
begin "and nothing where there is one micro-batch"
if succeeds train "${bn[@]}" --out trained.onnx; then
    if grep -q "normalises by" "$work/stderr"; then fail "$name" "$(<"$work/stderr")"; else pass "$name"; fi
fi
begin "nor where replicas normalise the batch together"
if succeeds train "${bn[@]}" --replicas 2 --micro-batches 1 --sync-batchnorm --strict --out trained.onnx; then
    if grep -q "normalises by" "$work/stderr"; then fail "$name" "$(<"$work/stderr")"; else pass "$name"; fi
fi
begin "… but of what they do not, and how they would"
if succeeds train "${bn[@]}" --replicas 2 --micro-batches 2 --sync-batchnorm --out trained.onnx &&
    noted "^note: BatchNorm .* by micro-batches of 4 samples, not by the batch of 8; fewer --micro-batches, or" &&
    succeeds train "${bn[@]}" --replicas 2 --micro-batches 1 --out trained.onnx &&
    noted "^note: BatchNorm .* by micro-batches of 4 samples, not by the batch of 8; .*--sync-batchnorm"; then pass "$name"; fi

report_and_exit
