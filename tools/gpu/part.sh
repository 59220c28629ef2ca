#!/usr/bin/env bash
# The parts of gpu_check.sh run, which starts each by itself:
#   PART=NAME PART_SECONDS=N gpu/part.sh NAME
# What a part finds it writes into records/PART (see gpu_check.sh), and of the smoke test also into $SMOKE_TABLE.
set -euo pipefail

PART_SECONDS=${PART_SECONDS:-60}
DEVICE=${DEVICE:-cuda} # "cpu" tries these scripts where there is no GPU
put() { # NAME STATE DETAIL [KEY=NUMBER...]
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$(tr -d '\t\n' <<<"$3")" "${*:4}" >>"records/$PART"
    [[ $PART != smoke ]] || printf '%s\t%s\t%s\t%s\t%s\n' "$SECONDS" "$1" "$2" "$(tr -d '\t\n' <<<"$3")" "${*:4}" >>"$SMOKE_TABLE"
}

# Seconds; never none, since that is no limit to `timeout`.
time_left() { echo $((PART_SECONDS - SECONDS > 3 ? PART_SECONDS - SECONDS - 2 : 1)); }

# So many seconds, or what the part or the step at hand has left.
LIMIT=''
at_most() { # SECONDS
    local left=${LIMIT:-$(time_left)}
    echo $(($1 < left ? $1 : left))
}

finds_torch() { python3 -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2>/dev/null; }

# A python3 with torch that sees the device.
has_torch() { python3 -c 'import torch, numpy, sys; sys.exit(sys.argv[1] == "cuda" and not torch.cuda.is_available())' "$DEVICE" 2>/dev/null; }

# Ours alone see the folders of NVIDIA's libraries.
ours() { LD_LIBRARY_PATH=${ONSTAGE_LIBRARIES:-} "$@"; }

# The first number under a name in a JSON file; all of them, from lines of objects.
number() { grep -oE "\"$1\":[[:space:]]*[0-9.e+-]+" "$2" | head -1 | grep -oE '[0-9.e+-]+$'; }
numbers() { grep -oE "\"$1\":[[:space:]]*[0-9.e+-]+" "$2" | grep -oE '[0-9.e+-]+$'; }
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
calculate() { awk -v a="$1" -v b="${2:-0}" -v c="${3:-0}" "BEGIN { printf \"%.9g\", $4 }"; }
holds() { awk -v a="$1" -v b="$2" "BEGIN { exit !($3) }"; }

# A program of Criterion's tests: how many of how many. One that tests nothing has not passed, nor one that says so.
put_criterion() { # NAME LOG STATUS
    local line tested said
    line=$(sed 's/\x1b\[[0-9;]*m//g' "$2" | grep -E 'Synthesis' | tail -1 | sed 's/.*Synthesis: //' || true)
    tested=$(grep -oE 'Tested: [0-9]+' <<<"$line" | grep -oE '[0-9]+' || echo 0)
    said=$(grep -aoE 'not run: .*' "$2" | head -1 || true)
    if [[ $3 == 124 || $3 == 137 ]]; then
        put "$1" failed "exit $3: not done in time; the last it said: $(grep -a . "$2" | tail -n 1 | tr -cd '[:print:]' | cut -c 1-160)" "tested=$tested"
    elif [[ $3 != 0 ]]; then
        put "$1" failed "exit $3; $line; first: $(grep -aE 'FAIL|CRASH|Assertion' "$2" | head -1 | tr -cd '[:print:]' | cut -c 1-160)" "tested=$tested"
    elif [[ $DEVICE == cuda && $said == 'not run: no GPU'* ]]; then
        put "$1" failed "${said#not run: }; but nvidia-smi names one" "tested=$tested"
    elif ((tested == 0)) || [[ -n $said ]]; then
        put "$1" 'not run' "${said:-$line}"
    else
        line+=$(grep -aoE 'CUDA[a-z ]*: [0-9]+ [a-z]+, [0-9]+ [a-z]+' "$2" | head -1 | sed 's/CUDA[^:]*:/;/' || true)
        put "$1" passed "$line" "tested=$tested"
    fi
}

run_criterion() { # NAME COMMAND...
    local name=$1 status=0 log
    log="logs/$PART.${name//[ ,\/]/_}"
    shift
    ours timeout -k 2 "$(time_left)" "$@" >"$log" 2>&1 || status=$?
    put_criterion "$name" "$log" "$status"
}

# Calls a function for each argument, all at once. One that ends early has failed.
side_by_side() { # FUNCTION ARGUMENT...
    local each children=() i
    for each in "${@:2}"; do
        "$1" "$each" &
        children+=($!)
    done
    for i in "${!children[@]}"; do
        wait "${children[i]}" || put "${*:2+i:1}" failed "it ended early: $(tail -n 1 "logs/$PART" 2>/dev/null | tr -cd '[:print:]' | cut -c 1-200)"
    done
}

# So many at once that the parts that run side by side leave no processor to two of them.
at_once() { echo $(($(nproc) < 10 ? 2 : $(nproc) / 5)); }

# Small models, whose steps differ in nothing but what is looked at. Sets `golden` to model, data and options.
GOLDEN=${GOLDEN:-mlp cnn_dynamic gpt_tied}
PRECISION=fp32
WORK=work # the folder of what they write
choose_golden() { # MODEL
    local folder=tests/agreement/golden/$1
    golden=("$folder/model.onnx" --device "$DEVICE" --input "$folder/input.npy" --target "$folder/target.npy" --loss cross_entropy --optimizer adamw
        --batch 16 --micro-batches 4 --precision "$PRECISION")
}

# One that hangs leaves time to others.
train_golden() { # MODEL NAME OPTIONS...
    local golden model=$1 name=$2 status=0 limit
    limit=$(at_most 45)
    shift 2
    choose_golden "$model"
    ours timeout -k 2 "$limit" bin/onstage train "${golden[@]}" --lr 0.01 --threads 1 --seed 1 --steps 3 --out "$WORK/$name.onnx" --log-json "$WORK/$name.jsonl" "$@" \
        >"logs/$PART.$name" 2>&1 || status=$?
    ((status != 124 && status != 137)) || echo "not done in $limit seconds" >>"logs/$PART.$name"
    return "$status"
}

# What failed, in its own words.
say() { tail -n 1 "$1" | tr -cd '[:print:]' | cut -c 1-200; }

gpu=${BASH_SOURCE[0]%/*}
# shellcheck source=tools/gpu/checks.sh
source "$gpu/checks.sh"
# shellcheck source=tools/gpu/networks.sh
source "$gpu/networks.sh"
# shellcheck source=tools/gpu/smoke.sh
source "$gpu/smoke.sh"

if [[ $(type -t "part_${1:-}") != function ]]; then
    sed -n '2,4s/^# //p' "${BASH_SOURCE[0]}"
    exit 2
fi
"part_$1"
