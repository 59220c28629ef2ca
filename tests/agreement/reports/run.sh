#!/usr/bin/env bash
# run.sh ONSTAGE FOLDER: runs every case below FOLDER (README.md) and counts them.
set -uo pipefail

onstage=$(realpath "$1") folder=$2
passed=0 failed=0

# Prints why the losses of log.json differ from those of the file `losses`; nothing where they agree.
compare_losses() {
    local tolerance=1e-5
    [[ ! -e tolerance ]] || tolerance=$(<tolerance)
    # What is no number ("nan", "null") never agrees.
    sed -nE 's/.*"loss":([^,}]*).*/\1/p' log.json 2>/dev/null | paste -d' ' losses - | awk -v tolerance="$tolerance" '
        { steps++
          number = "^-?[0-9]+([.][0-9]*)?([eE][-+]?[0-9]+)?$"
          difference = $1 - $2; if (difference < 0) difference = -difference
          scale = $1 < 0 ? -$1 : $1; if (scale < 1e-3) scale = 1e-3
          if (NF != 2 || $1 !~ number || $2 !~ number || !(difference <= tolerance * scale))
              print "step " steps ": the loss is " $2 ", and has to be " $1 }
        END { if (!steps) print "no losses" }'
}

# Runs the case in the current folder; prints what is wrong.
run_case() {
    local line code=0 wanted=0 text
    while IFS= read -r line; do
        [[ $line ]] || continue
        eval "\"$onstage\" $line" </dev/null >>output 2>&1
        code=$?
    done <cmd
    [[ ! -e code ]] || wanted=$(<code)
    ((code == wanted)) || echo "exit code $code, not $wanted"
    [[ ! -e losses ]] || compare_losses
    [[ ! -e says ]] || while IFS= read -r text; do
        if [[ $text == '! '* ]]; then
            ! grep -qF -- "${text#! }" output || echo "it says: ${text#! }"
        elif [[ $text ]]; then
            grep -qF -- "$text" output || echo "it does not say: $text"
        fi
    done <says
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for cmd in "$folder"/*/cmd; do
    [[ -e $cmd ]] || continue
    case_folder=${cmd%/cmd}
    name=${case_folder##*/}
    mkdir "$scratch/$name"
    cp -rL "$case_folder/." "$scratch/$name"
    wrong=$(cd "$scratch/$name" && run_case)
    if [[ $wrong ]]; then
        printf '%s: %s\n' "$name" "$wrong"
        sed 's/^/    /' "$scratch/$name/output"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
