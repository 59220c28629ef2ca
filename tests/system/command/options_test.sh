#!/usr/bin/env bash
# The table of options and commands: each option is read by a command, or refused by name; nothing is passed over in silence.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"

commands=(check inspect train eval profile plan simulate)
model=$golden/mlp/model.onnx

# The options in the help of command $1, without their dashes and arguments.
options_of() {
    "$onstage" "$1" --help | sed -nE 's/^ *(-., )?--([a-z0-9-]+).*/\2/p' | grep -vxE 'help|usage|version'
}

declare -A reads=()
all=()
for command in "${commands[@]}"; do
    while IFS= read -r option; do
        reads[$command,$option]=1
        all+=("$option")
    done < <(options_of "$command")
done
mapfile -t all < <(printf '%s\n' "${all[@]}" | sort -u)

begin "there are commands with options, and options"
if ((${#all[@]} > 60 && ${#reads[@]} > 2 * ${#all[@]})); then pass "$name"; else fail "$name" "${#all[@]} options, ${#reads[@]} places"; fi

# A command that reads an option may find fault with the value, not with the option.
for command in "${commands[@]}"; do
    for option in "${all[@]}"; do
        begin "$command --$option"
        if [[ ${reads[$command,$option]+set} ]]; then
            run "$command" no-such-model.onnx "--$option=1"
            if ((status == 0)); then fail "$name" "there is no model, and it succeeds"
            elif grep -qE "does not read|no option" "$work/stderr"; then fail "$name" "it is in the help, and is refused"
            else pass "$name"; fi
        else
            refuses 1 "^onstage: \`onstage $command\` does not read --$option; it is an option of [a-z, ]+$" "$command" "$model" "--$option=1"
        fi
    done
done

# What is chosen from a list is looked up in it by every command that reads it.
for option in batchnorm dropout loss optimizer lr-schedule device precision pipeline partition memory-strategy transport export metric memory; do
    for command in check inspect train eval profile plan; do
        [[ ${reads[$command,$option]+set} ]] || continue
        begin "$command --$option with a word that it does not know"
        words=("$command" "$model")
        [[ $command == train || $command == eval ]] && words=("$command" "${mlp[@]}")
        refuses 1 "--$option: 'nonsense' " "${words[@]}" "--$option" nonsense
    done
done

begin "a word that is nearly an option"
refuses 1 "there is no option --optimiser \(did you mean 'optimizer'\?\); \`onstage train --help\` lists them" train "$model" --optimiser sgd
begin "a word that is nothing like one"
refuses 1 "there is no option --xyzzy; " train "$model" --xyzzy
begin "a beginning that one option has"
refuses 1 "'-1' is not a whole number" train "$model" --micro-b=-1
begin "an argument that looks like an option belongs to the one before it"
refuses 1 "--lr: '--epochs' is not a number" train "$model" --lr --epochs
begin "-o where nothing is written"
refuses 1 "does not read --out" eval "$model" -o x.npy
begin "a glob that is nearly a name"
refuses 1 "matches no initialiser \(did you mean 'fc1.weight'\?\)" train "${mlp[@]}" --freeze fc1.wieght --steps 1
begin "a command that is nearly one"
refuses 1 "there is no command 'tarin' \(did you mean 'train'\?\)" tarin "$model"

report_and_exit
