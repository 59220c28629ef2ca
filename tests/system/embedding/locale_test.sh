#!/usr/bin/env bash
# A program that uses the library keeps its locale, and the library reads and writes the same as without one: numbers with decimal
# commas (German), other letters (Turkish), each set before the first call and between calls.
set -uo pipefail
program=$1 model=$2 input=$3 target=$4
passed=0 failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Runs the program in locale $1, set at time $2; what it wrote goes to folder $3.
run() {
    mkdir -p "$3"
    (cd "$3" && env LOCPATH="$scratch/locales" LC_ALL="$1" "$program" "$2" "$model" "$input" "$target" . >stdout 2>stderr)
}

program=$PWD/$program model=$PWD/$model input=$PWD/$input target=$PWD/$target
mkdir "$scratch/locales"
run C EARLY "$scratch/C" || { cat "$scratch/C/stdout" && echo "0 passed, 1 failed" && exit 1; }
for language in de_DE tr_TR; do
    if ! localedef -i "$language" -f UTF-8 "$scratch/locales/$language.UTF-8" 2>/dev/null; then
        echo "not run: localedef makes no $language here"
        continue
    fi
    for time in EARLY LATE; do
        out=$scratch/$language.$time problem=''
        run "$language.UTF-8" "$time" "$out" || problem="exit code $?: $(tail -n1 "$out/stdout")"
        for file in stdout trained.onnx plan.json; do
            # Folders stand in no file; times of this machine in none of these.
            cmp -s "$scratch/C/$file" "$out/$file" || problem+=" $file differs"
        done
        [[ $(sed -E 's/.*"loss":([^,]*).*/\1/' "$scratch/C/log.json") == "$(sed -E 's/.*"loss":([^,]*).*/\1/' "$out/log.json")" ]] || problem+=" log.json differs"
        grep -q '1,5$' "$out/stderr" || problem+=" the program's own numbers have no comma"
        if [[ $problem ]]; then
            echo "$language, $time: $problem"
            failed=$((failed + 1))
        else
            passed=$((passed + 1))
        fi
    done
done
echo "$passed passed, $failed failed"
((failed == 0))
