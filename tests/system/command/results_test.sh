#!/usr/bin/env bash
# Every file that a command reads is refused as a place to write, under every name that leads to it. Options come from
# the help: what takes a FILE and is not listed as a writer below counts as a reader.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
fixed=$work/fixed
mkdir "$fixed"

declare -A writers=([train]="out log-json trace" [eval]=output [plan]="out report" [profile]=out
    [simulate]="svg trace write-schedule")
# --log-json of `plan` counts the memory of the log, and writes none.
declare -A unread=([plan]=log-json)

# Files of which the content matters before results are checked; all others may hold anything.
prepare() {
    (
        cd "$fixed" || exit 1
        cp "$golden/mlp/model.onnx" mlp.onnx
        "$onstage" train "${mlp[@]}" --steps 4 --checkpoint checkpoints
        "$onstage" plan mlp.onnx --loss cross_entropy --batch 16 --stages 2 --micro-batches 2 -o plan
        "$onstage" simulate plan --write-schedule schedule
        "$onstage" profile "${mlp[@]}" --repetitions 1 --no-cache -o profile
        "$onstage" eval "${mlp[@]:0:3}" --output logits=array.npy
        cp "$models/external.onnx" weights_apart.onnx && repeat 64 '\1' >weights.bin
        repeat 64 '\1' | array x.npy '<f4' '(4, 4)'
    ) >"$work/prepared" 2>&1 && return
    cat "$work/prepared"
    exit 1
}

# OPTION: sets file, which is read, and arguments, which read it; $writer will write.
read_by() {
    file=it.npy
    local source=array.npy target=(--target "$golden/mlp/target.npy") input=(--input "x=$golden/mlp/input.npy")
    [[ $1 != target ]] || target=()
    [[ $1 != input ]] || input=()
    local value=$file more=()
    case $1 in
        input | val-input) value=x=$file ;;
        tokens) input=() target=() ;;
        val-tokens) input=() target=() more=(--tokens "$golden/mlp/input.npy") ;;
        plan | schedule | profile) source=$1 ;;
        device-profile) source=profile ;;
        prices) [[ $writer == report ]] || more=(--report report.html) ;;
        checkpoint) file=checkpoints/step-00000004.safetensors value=checkpoints ;;
    esac
    [[ $1 != schedule ]] || more=(--stages 2 --micro-batches 2)
    [[ $1 != profile && $1 != device-profile || $command != train ]] || more=(--stages 2) # one stage is not planned
    [[ $1 != checkpoint || $command != train ]] || more=(--resume)
    if [[ $1 == checkpoint ]]; then cp -r "$fixed/checkpoints" .; else cp "$fixed/$source" "$file"; fi
    cp "$fixed/mlp.onnx" .
    arguments=("$command" mlp.onnx "${input[@]}" "${target[@]}" "${more[@]}" --loss cross_entropy --batch 16)
    arguments+=("--$1" "$value")
    [[ $command == eval ]] || arguments+=(--threads 1)
}

# KIND: as read_by, for files that no option names.
read_without_option() {
    local data=(--input x=x.npy --target x.npy --loss mse --batch 4)
    cp "$fixed"/{weights_apart.onnx,weights.bin,x.npy} .
    case $1 in
        model) file=weights_apart.onnx arguments=("$command" weights_apart.onnx "${data[@]}") ;;
        weights) file=weights.bin arguments=("$command" weights_apart.onnx "${data[@]}") ;;
        "simulated plan") cp "$fixed/plan" . && file=plan arguments=(simulate plan) ;;
    esac
}

# READER WRITER: all names of $file are refused.
refuses_all_names() {
    local kinds=(plain dotted detour symbolic hard) kind path value
    declare -A names=([plain]=$file [dotted]=./$file [detour]=folder/../$file [symbolic]=symbolic.npy [hard]=hard.npy)
    mkdir folder && ln -s "$file" symbolic.npy && ln "$file" hard.npy
    for kind in "${kinds[@]}"; do
        name="$command: --$2 onto the file of $1, by a $kind name"
        path=${names[$kind]} value=$path
        [[ $2 != output ]] || value=logits=$path
        refuses 1 "--$2: $path would take the place of $reader" "${arguments[@]}" "--$2" "$value"
    done
}

options_with() { "$onstage" "$1" --help | grep -oE -- "--[a-z-]+=[^ ]*($2)" | sed 's/^--//; s/=.*//'; }

prepare
for command in train eval plan profile; do
    for option in $(options_with "$command" FILE) checkpoint; do
        [[ " ${writers[$command]} ${unread[$command]-} " != *" $option "* ]] || continue
        [[ $option != checkpoint ]] || options_with "$command" DIR | grep -qx checkpoint || continue
        [[ $option != cost-graph ]] || continue # instead of a model: below
        for writer in ${writers[$command]}; do
            begin "$command"
            read_by "$option"
            reader="what --$option reads"
            refuses_all_names "--$option" "$writer"
        done
    done
done
for command in train eval plan profile; do
    for writer in ${writers[$command]}; do
        begin "$command"
        read_without_option weights
        reader="'weights.bin', where the model keeps its weights"
        refuses_all_names "the model's weights" "$writer"
        [[ $command == train && $writer == out ]] && continue # training may replace the model
        begin "$command"
        read_without_option model
        reader="what the model reads"
        refuses_all_names "the model" "$writer"
    done
done
command=simulate reader="what the plan reads"
for writer in ${writers[simulate]}; do
    begin "$command"
    read_without_option "simulated plan"
    refuses_all_names "the plan" "$writer"
done
command=plan
for option in cost-graph device-profile prices; do
    for writer in ${writers[plan]}; do
        begin "$command"
        cp "$fixed/profile" it.npy && file=it.npy reader="what --$option reads"
        arguments=(plan --cost-graph "$examples/data/profiles/piper/bert32a100.json" --device-profile a100-40gb)
        arguments+=("--$option" it.npy)
        [[ $option != prices || $writer == report ]] || arguments+=(--report report.html)
        refuses_all_names "--$option of a cost graph" "$writer"
    done
done

# Lists and members of archives.
# NAME READER CONTENT ARGUMENTS...: with the files one and two.
lists() {
    begin "$1"
    for each in one two; do cp "$fixed/$3" $each; done
    refuses 1 "would take the place of what $2 reads" "${@:4}"
}
model=${mlp[0]} planned=(plan "${mlp[0]}" --loss cross_entropy --batch 16 --stages 2)
lists "train: the second file of --profile" --profile profile train "${mlp[@]:0:7}" --profile one,two --out two
lists "plan: the second file of --device-profile" --device-profile profile \
    "${planned[@]}" --device-profile one,two --out two
lists "plan: a file of --device-profile with a number" --device-profile profile \
    "${planned[@]}" --device-profile "one*2" --report one
lists "train: the archive of a member" --input array.npy \
    train "$model" --input x=one:x --loss cross_entropy --out one

# A model that is replaced takes its data files along.
with_apart() {
    begin "$1"
    cp "$fixed"/{weights_apart.onnx,weights.bin,x.npy} .
    apart=(--input x=x.npy --target x.npy --loss mse --batch 4 --steps 1)
    succeeds train weights_apart.onnx "${apart[@]}" --out out.onnx
}
shared="--out: out.onnx would take the place of a model that keeps its weights in"
if with_apart "the data of a renamed copy"; then
    cp out.onnx copy.onnx
    refuses 1 "$shared 'out.onnx.data'" train copy.onnx "${apart[@]}" --out out.onnx
fi
if with_apart "… under its second name" && succeeds train out.onnx "${apart[@]}" --out out.onnx; then
    [[ -e out.onnx.1.data && ! -e out.onnx.data ]] || fail "$name" "the second name is not out.onnx.1.data"
    cp out.onnx copy.onnx
    refuses 1 "$shared 'out.onnx.1.data'" train copy.onnx "${apart[@]}" --out out.onnx
fi
if with_apart "… of a hard link"; then
    ln out.onnx copy.onnx
    refuses 1 "$shared 'out.onnx.data'" train copy.onnx "${apart[@]}" --out out.onnx
fi
if with_apart "… that another option reads"; then
    refuses 1 "$shared 'out.onnx.data', which --class-weights reads" \
        train "${mlp[@]}" --class-weights out.onnx.data --out out.onnx
fi
if with_apart "a file called as the data would be is left alone"; then
    cp x.npy new.onnx.data
    if succeeds train weights_apart.onnx "${apart[@]:2}" --input x=new.onnx.data --out new.onnx; then
        if cmp -s x.npy new.onnx.data && [[ -s new.onnx.1.data ]]; then
            pass "$name"
        else
            fail "$name" "it was written over"
        fi
    fi
fi

begin "two results through a link to a file that is not there yet"
ln -s model link
refuses 1 "--out and --trace would write the same file" train "${mlp[@]}" --out model --trace link
report_and_exit
