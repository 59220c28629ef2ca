#!/usr/bin/env bash
# Two replicas on two cores against two runs that know nothing of each other, one on each core, each with one replica's batch:
#     ./bazelw build //tools:onstage && bench/replicas.sh >bench/results/replicas_cpu.md
# Replicas as threads of one process, and as two processes. In each of ROUNDS rounds all are run by turns; of a run's steps the
# median counts, of the rounds' ratios the median again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
rounds=${ROUNDS:-9} steps=${STEPS:-30}
mpi=(mpirun -n 2 --oversubscribe --bind-to none)
if ((EUID == 0)); then mpi+=(--allow-run-as-root); fi

# name, batch of one replica
models=("char_gpt|16" "char_gpt|64" "mnist_cnn|128" "plain|64")

train() { # LOG BATCH COMMAND...
    "${@:3}" train "$model" "${data[@]}" "${common[@]}" --threads 1 --batch "$2" --steps "$steps" --log-json "$work/$1.jsonl" "${more[@]}" >/dev/null
}
steps_of() { sed -n 's/.*"step_seconds":\([0-9.e+-]*\).*/\1/p' "$work/$1.jsonl" | tail -n +3 | median; } # LOG

# Sets alone: the slower one of two runs side by side.
run_alone() {
    more=()
    train first "$batch" taskset -c 0 "$onstage" &
    train second "$batch" taskset -c 1 "$onstage"
    wait
    alone=$(printf '%s\n' "$(steps_of first)" "$(steps_of second)" | sort -g | tail -1)
}

cat <<END
# Two replicas on two cores

Written by \`bench/replicas.sh\` ($(date +%F)): $(machine); one thread each, $steps steps a run, $rounds rounds; medians; $(load).
Kept: a step of two runs side by side that know nothing of each other, each with one replica's batch, ÷ a step of the two replicas (the bar: 0.95).

| model | batch of a replica | weights | two runs ms | threads ms | kept | least, most | processes ms | kept | least, most |
|---|---|---|---|---|---|---|---|---|---|
END
for line in "${models[@]}"; do
    IFS='|' read -r name batch <<<"$line"
    choose "$name"
    if [[ $name == mnist_cnn ]]; then model=examples/mnist/mnist_cnn.onnx; fi
    rm -f "$work"/*.times
    for ((round = 0; round < rounds; ++round)); do
        run_alone
        more=(--replicas 2)
        train threads $((2 * batch)) "$onstage"
        train processes $((2 * batch)) "${mpi[@]}" "$onstage"
        echo "$alone" >>"$work/alone.times"
        for kind in threads processes; do
            steps_of $kind >>"$work/$kind.times"
            awk -v a="$alone" -v r="$(steps_of $kind)" 'BEGIN { print a / r }' >>"$work/kept.$kind.times"
        done
    done
    weights=$("$onstage" train "$model" "${data[@]}" "${common[@]}" --batch 4 --steps 1 | sed -nE 's/.* ([0-9]+) weights.*/\1/p')
    printf '| %s | %d | %s | %.2f |' "$name" "$batch" "$weights" "$(median <"$work/alone.times" | awk '{ print 1e3 * $1 }')"
    for kind in threads processes; do
        printf ' %.2f | %.3f | %.3f, %.3f |' "$(median <"$work/$kind.times" | awk '{ print 1e3 * $1 }')" "$(median <"$work/kept.$kind.times")" \
            "$(sort -g "$work/kept.$kind.times" | head -1)" "$(sort -g "$work/kept.$kind.times" | tail -1)"
    done
    echo
done
