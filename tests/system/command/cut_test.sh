#!/usr/bin/env bash
# --cut-outputs: the trained model without its loss, and "-" as the standard output.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
both=$models/loss_and_logits.onnx three=$models/loss_logits_right.onnx

# Six samples of six numbers, and their labels; OPTIONS train on them.
files() {
    repeat 12 '\0\0\x80\x3f\0\0\0\x40\0\0\x80\xbf' | array x.npy '<f4' '(6, 6)'
    printf '\0%.0s' {1..8} | cat - <(printf '\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0') | array labels.npy '<i8' '(6,)'
}
options=(--input x=x.npy --input labels=labels.npy --loss graph --batch 6 --threads 1 --steps 3 --no-shuffle)

begin "the loss and what it alone needs are left out"
files
if succeeds train "$both" "${options[@]}" --out whole.onnx && succeeds train "$both" "${options[@]}" --cut-outputs --out cut.onnx &&
    succeeds inspect cut.onnx; then
    if grep -qE '^ +(loss|labels|t\.weight|t\.bias) ' "$work/stdout"; then fail "$name" "$(grep -E '^ +(loss|labels|t\.)' "$work/stdout" | head -1)"
    elif (($(grep -cE '^ +(x|logits|a\.weight|a\.bias|b\.weight|b\.bias) ' "$work/stdout") != 6)); then fail "$name" "too little is left"
    else pass "$name"; fi
fi
begin "and what is left computes the same, without labels"
files
if succeeds train "$both" "${options[@]}" --out whole.onnx && succeeds train "$both" "${options[@]}" --cut-outputs --out cut.onnx &&
    succeeds eval whole.onnx "${options[@]:0:2}" --output logits=whole.npy && succeeds eval cut.onnx "${options[@]:0:2}" --output cut.npy; then
    if cmp -s whole.npy cut.npy; then pass "$name"; else fail "$name" "other logits"; fi
fi
begin "an output that needs the labels keeps them"
files
if succeeds train "$three" "${options[@]}" --cut-outputs --out cut.onnx && succeeds inspect cut.onnx && printed '^ +labels ' && printed '^ +right '; then
    if grep -qE '^ +loss ' "$work/stdout"; then fail "$name" "so it does the loss"; else pass "$name"; fi
fi
begin "beside the inference form, over a model that is there"
files
cp "$both" model.onnx
if succeeds train model.onnx "${options[@]}" --cut-outputs --export inference --out model.onnx && succeeds check model.onnx; then pass "$name"; fi
begin "the only output"
files
refuses 1 "'loss' is the model's only output; export the model with the outputs that are to stay" train "$models/loss_alone.onnx" "${options[@]}" \
    --cut-outputs --out cut.onnx
begin "another loss than the model's"
refuses 1 "--cut-outputs has no effect here: it leaves out the model's own loss, with --loss graph" train "${mlp[@]}" --cut-outputs --out cut.onnx

# COMMAND...: what it writes to "-" is what it writes to a file, and nothing else is on the standard output.
same_on_output() {
    succeeds "${@/FILE/kept}" || return
    "$onstage" "${@/FILE/-}" >piped 2>"$work/stderr" </dev/null || { fail "$name" "exit code $?"; return; }
    if cmp -s kept piped; then pass "$name"; else fail "$name" "$(head -c 60 piped | tr -c '[:print:]' .)"; fi
}
begin "a model to the standard output";    same_on_output train "${mlp[@]}" --steps 2 --no-shuffle --out FILE
begin "an output to the standard output";  same_on_output eval "${mlp[@]:0:3}" --output FILE
begin "a named output to it";              same_on_output eval "${mlp[@]:0:3}" --output logits=FILE
begin "a plan to it";                      same_on_output plan "$golden/mlp/model.onnx" --stages 2 --reproducible --out FILE
begin "-o - is the same";                  same_on_output plan "$golden/mlp/model.onnx" --stages 2 --reproducible -o FILE
begin "a page to it";                      same_on_output plan "$golden/mlp/model.onnx" --stages 2 --reproducible --report FILE
begin "what is behind >> stays"
echo before >kept
"$onstage" eval "${mlp[@]:0:3}" --output - >>kept 2>/dev/null </dev/null
if [[ $(head -1 kept) == before ]] && (($(stat -c %s kept) > 1000)); then pass "$name"; else fail "$name" "$(head -c 20 kept)"; fi
begin "a log to it, line by line"
if [[ $("$onstage" train "${mlp[@]}" --steps 3 --log-json - 2>/dev/null </dev/null | grep -c '^{"step"') == 3 ]]; then pass "$name"; else fail "$name" "not three steps"; fi
begin "a model with its weights apart to it"
cp "$models/external.onnx" apart.onnx && repeat 64 '\1' >weights.bin
repeat 32 '\0\0\x80\x3f' | array x.npy '<f4' '(8, 4)'
refuses 1 "--out: the model keeps its weights in files of their own, and two files cannot go to one stream" train apart.onnx --input x.npy \
    --target x.npy --loss mse --batch 2 --threads 1 --steps 1 --out -
begin "two results to it"
refuses 1 "--log-json and --out would both go to the standard output" train "${mlp[@]}" --log-json - --out -

report_and_exit
