#!/usr/bin/env bash
# Schedules against 1F1B on two cores, trained and simulated:
#     ./bazelw build //tools:onstage && bench/schedules_trained.sh >bench/results/schedules_trained_cpu.md
# Two devices, one thread each, in one process. In each of ROUNDS rounds every schedule is trained, 1F1B at the beginning and at the
# end: what it takes against itself is the spread. Then `--pipeline auto` against 1F1B in two processes. The models are written by
# `python3 bench/models/export_models.py vit gpt resnet18` (which needs torch).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
rounds=${ROUNDS:-9} steps=${STEPS:-12} micro_batches=${MICRO_BATCHES:-8}
mpi=(mpirun -n 2 --oversubscribe --bind-to none)
if ((EUID == 0)); then mpi+=(--allow-run-as-root); fi

# name, batch
models=("vit|32" "gpt|16")
large=("gpt|16" "resnet18|32")
schedules=("1f1b|--stages 2 --pipeline 1f1b" "looped|--stages 4 --devices 2 --pipeline looped" "zb-h1|--stages 2 --pipeline zb-h1"
    "auto|--stages 2 --pipeline auto" "1f1b again|--stages 2 --pipeline 1f1b")

# Plans every schedule with the times that were measured; sets run.
plan_all() { # BATCH
    local line name options
    run=("$model" --batch "$1" "${data[@]}" "${common[@]}" --threads 1 --micro-batches "$micro_batches")
    "$onstage" profile "${run[@]}" --stages 2 --pipeline gpipe --repetitions 20 --no-cache -o "$work/profile.json" >/dev/null
    for line in "${schedules[@]}"; do
        IFS='|' read -r name options <<<"$line"
        # shellcheck disable=SC2086
        "$onstage" plan "${run[@]}" $options --profile "$work/profile.json" -o "$work/$name.json" >"$work/$name.txt"
    done
}

# Appends seconds of a step to trained.NAME; the weights' digest is in digest.NAME.
train() { # NAME BATCH COMMAND...
    "${@:3}" --steps "$steps" --log-json "$work/log.jsonl" --out "$work/trained.onnx" >/dev/null
    step_seconds "$work/log.jsonl" "$2" >>"$work/trained.$1"
    sha256sum <"$work/trained.onnx" >"$work/digest.$1"
}

# Median of the rounds' ratios of 1F1B to NAME; the least and the most.
gain() { paste -d ' ' "$work/trained.1f1b" "$work/trained.$1" | awk '{ print $1 / $2 }' | median; }
spread() { # of 1F1B against itself: half of what lies between its quartiles
    paste -d ' ' "$work/trained.1f1b" "$work/trained.1f1b again" | awk '{ print $1 / $2 }' | sort -g |
        awk '{ v[NR] = $1 } END { print (v[int(NR * 3 / 4 + 0.75)] - v[int(NR / 4 + 0.75)]) / 2 }'
}

chosen() { sed -n 's/^schedule \(.*\), partition .*/\1/p' "$1" | head -1; }

cat <<END
# Schedules trained on two cores

Written by \`bench/schedules_trained.sh\` ($(date +%F)): $(machine); two devices, one thread each, $micro_batches micro-batches, $steps steps a
run; $rounds rounds in which each schedule is trained, 1F1B first and last; medians; $(load).
A gain is 1F1B's step ÷ the schedule's, median of the rounds' ratios, beside what the simulator says of the plans, made with times of
nodes that were measured before. Spread: half the distance between the quartiles of 1F1B against itself. Bits: the trained model's file is 1F1B's.

| model | batch | schedule | simulated ms | trained ms | simulated gain | trained gain | trained ÷ simulated gain | gain ÷ spread | bits |
|---|---|---|---|---|---|---|---|---|---|
END
for line in "${models[@]}"; do
    IFS='|' read -r name batch <<<"$line"
    choose "$name"
    if [[ ! -f $model ]]; then
        echo "| $name | $batch | not run: no $model | | | | | | | |"
        continue
    fi
    plan_all "$batch"
    rm -f "$work"/trained.* "$work"/digest.*
    for ((round = 0; round < rounds; ++round)); do
        for each in "${schedules[@]}"; do train "${each%%|*}" "$batch" "$onstage" train "${run[@]}" --plan "$work/${each%%|*}.json"; done
    done
    first=$(number step_seconds "$work/1f1b.json")
    for each in "${schedules[@]}"; do
        schedule=${each%%|*}
        title=$schedule
        if [[ $schedule == auto ]]; then title="auto: $(chosen "$work/auto.txt")"; fi
        bits=other
        if cmp -s "$work/digest.1f1b" "$work/digest.$schedule"; then bits=equal; fi
        awk -v n="$name" -v b="$batch" -v s="$title" -v f="$first" -v p="$(number step_seconds "$work/$schedule.json")" \
            -v t="$(median <"$work/trained.$schedule")" -v g="$(gain "$schedule")" -v w="$(spread)" -v bits="$bits" 'BEGIN {
            printf "| %s | %d | %s | %.1f | %.1f | %.3f | %.3f | %.3f | %.1f | %s |\n", n, b, s, 1e3 * p, 1e3 * t, f / p, g, g / (f / p), (g - 1) / w, bits }'
    done
done

cat <<END

\`--pipeline auto\` against \`--pipeline 1f1b\` in two processes (\`mpirun -n 2\`), each with its own plan from the cost model, as a user starts them.

| model | batch | schedule | 1F1B ms | auto ms | 1F1B ÷ auto | least, most | bits |
|---|---|---|---|---|---|---|---|
END
for line in "${large[@]}"; do
    IFS='|' read -r name batch <<<"$line"
    choose "$name"
    if [[ ! -f $model ]]; then
        echo "| $name | $batch | not run: no $model | | | | | |"
        continue
    fi
    run=("$model" --batch "$batch" "${data[@]}" "${common[@]}" --threads 1 --micro-batches "$micro_batches")
    "$onstage" plan "${run[@]}" --stages 2 --pipeline auto >"$work/auto.txt"
    rm -f "$work"/trained.* "$work"/digest.*
    for ((round = 0; round < rounds; ++round)); do
        for schedule in 1f1b auto; do train "$schedule" "$batch" "${mpi[@]}" "$onstage" train "${run[@]}" --pipeline "$schedule"; done
    done
    bits=other
    if cmp -s "$work/digest.1f1b" "$work/digest.auto"; then bits=equal; fi
    paste -d ' ' "$work/trained.1f1b" "$work/trained.auto" | awk '{ print $1 / $2 }' | sort -g >"$work/ratios"
    awk -v n="$name" -v b="$batch" -v s="$(chosen "$work/auto.txt")" -v o="$(median <"$work/trained.1f1b")" -v a="$(median <"$work/trained.auto")" \
        -v r="$(median <"$work/ratios")" -v l="$(head -1 "$work/ratios")" -v m="$(tail -1 "$work/ratios")" -v bits="$bits" 'BEGIN {
        printf "| %s | %d | %s | %.1f | %.1f | %.3f | %.3f, %.3f | %s |\n", n, b, s, 1e3 * o, 1e3 * a, r, l, m, bits }'
done
