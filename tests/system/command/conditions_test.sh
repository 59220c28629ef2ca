#!/usr/bin/env bash
# Options × conditions: an option that would change nothing beside the others is refused by name, and taken where it changes something.
# conditions.txt says when that is.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
table=$models/../conditions.txt
refusal="^onstage: .*--[a-z0-9-]+ has no effect here: it .*; or leave it out$"

# COMMAND: what it needs besides the options that are tried.
words_for() {
    words=("$1" "$golden/mlp/model.onnx")
    case $1 in
        train) words+=(--input x=x.npy --target target.npy --batch 16 --threads 1 --out out.onnx) ;;
        eval) words+=(--input x=x.npy --target target.npy --batch 16 --threads 1) ;;
        profile) words+=(--no-cache --repetitions 1 --threads 1 --batch 16) ;;
    esac
    [[ "$2" == *--loss\ * || $1 == plan || $1 == profile ]] || words+=(--loss cross_entropy)
    [[ $1 != train || "$2" == *--steps* ]] || words+=(--steps 1)
}

files() {
    cp "$golden/mlp/input.npy" x.npy
    cp "$golden/mlp/target.npy" target.npy
    repeat 10 '\0\0\x80\x3f' | array weights.npy '<f4' '(10,)'
}

# LINE: the fields, without the spaces around them.
fields() {
    local IFS='|' i
    read -ra field <<<"$1|"
    for i in "${!field[@]}"; do field[i]=$(sed 's/^ *//; s/ *$//' <<<"${field[i]}"); done
}

declare -A said=()
while IFS= read -r line; do
    [[ $line == needs* ]] || continue
    fields "${line#needs }"
    read -ra option <<<"${field[1]}"
    name_of=${option[0]#--}
    for command in ${field[0]//,/ }; do
        said[$command,$name_of]=1
        read -ra without <<<"${field[2]:-}"
        begin "$command ${field[1]} without what it needs: ${field[2]:-nothing else}"
        files
        words_for "$command" "${field[1]} ${field[2]:-}"
        refuses 1 "$refusal" "${words[@]}" "${option[@]}" "${without[@]}"
        grep -qF -- "--$name_of has no effect" "$work/stderr" || fail "$name" "another option is named"
        [[ -n ${field[3]:-} && $command != profile ]] || continue # which takes its time to measure
        read -ra with <<<"${field[3]}"
        begin "$command ${field[1]} ${field[3]}"
        files
        words_for "$command" "${field[1]} ${field[3]}"
        run "${words[@]}" "${option[@]}" "${with[@]}"
        if grep -q "has no effect" "$work/stderr"; then fail "$name" "refused"; else pass "$name"; fi
    done
done <"$table"

while IFS= read -r line; do
    [[ $line == always* ]] || continue
    fields "${line#always }"
    for command in ${field[0]//,/ }; do for option in ${field[1]}; do said[$command,$option]=1; done; done
done <"$table"

for command in check inspect train eval profile plan simulate; do
    while IFS= read -r option; do
        begin "$command --$option is in the table"
        if [[ ${said[$command,$option]+set} ]]; then pass "$name"; else fail "$name" "say in conditions.txt when it has an effect"; fi
    done < <("$onstage" "$command" --help | sed -nE 's/^ {0,8}(-., )?--([a-z0-9-]+).*/\2/p' | grep -vxE 'help|usage|version' | sort -u)
done

begin "a default that is said again is no choice"
files
words_for train ""
if succeeds "${words[@]}" --momentum 0 --pipeline 1f1b --val-every 0 --epochs 1 --no-log-grad-norms --no-best --export same; then pass "$name"; fi

# Without a model, nothing that is about one has an effect.
for option in "--lr 0.1" "--loss mse" "--input x.npy" "--freeze fc1.weight" "--seed 3" "--optimizer sgd" "--seq 4"; do
    begin "a cost graph and $option"
    # shellcheck disable=SC2086
    refuses 1 "$refusal" plan --cost-graph "$root/examples/cost_graphs/no-such-file" $option
done
report_and_exit
