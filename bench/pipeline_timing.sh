#!/usr/bin/env bash
# Steps of pipelines that are deeper than a machine has processors, beside what the simulator says of them: their layers sleep.
#     ./bazelw build //tests/rooms/timing:steps //tests/system/mpi:all && bench/pipeline_timing.sh >bench/results/pipeline_timing.md
# Every schedule, at 4 and 8 stages over threads, and at 4 over processes on hosts that are network namespaces of this machine
# with DELAY ms between them, where it allows them. Of STEPS steps but for the first the median counts, of ROUNDS rounds the
# median again. Behind them a model of three branches of unequal length, whose stages form a graph: a step of GraphPipe's plan, over
# threads and over processes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/training_runs.sh
. bench/training_runs.sh
steps=$PWD/bazel-bin/tests/rooms/timing/steps
traffic=$PWD/bazel-bin/tests/system/mpi/traffic
rounds=${ROUNDS:-3} count=${STEPS:-7} delay=${DELAY:-10}
forward=${FORWARD:-20} input=${INPUT:-25} weight=${WEIGHT:-22}
read -ra schedules <<<"${SCHEDULES:-gpipe 1f1b pipedream-async interleaved looped zb-h1 v graphpipe}"
low=0.98 high=1.05
columns=16 # of two rows of float32: what a message holds

branches=3,2,1 # layers of each, between a first layer and the last: a stage each

on_hosts() { tests/system/mpi/namespaces.sh --hosts "$1" --delay "$delay" -- "${@:2}" 2>"$work/stderr"; } # HOSTS COMMAND...

devices_of() { case $1 in interleaved | looped | v) echo $(($2 / 2)) ;; *) echo "$2" ;; esac; } # SCHEDULE STAGES

# "DEVICES MICRO-BATCHES SIMULATED MEASURED LEAST" of one run.
run_once() { # threads|processes SCHEDULE STAGES MICRO-BATCHES
    local run=("$steps" "$2" "$3" --micro-batches "$4" --steps "$count" --forward "$forward" --input "$input" --weight "$weight")
    if [[ $2 == graphpipe ]]; then run+=(--branches "$branches"); fi
    if [[ $1 == threads ]]; then
        "${run[@]}"
    else
        on_hosts "$(devices_of "$2" "$3")" "${run[@]}" --columns "$columns" --latency "$latency" --bandwidth "$bandwidth" \
            --eager 32768 --transport mpi
    fi
}

# "SIMULATED MEASURED" in seconds. Updates that do not wait leave a pipeline that is never empty to the simulator; a run empties it
# at the end of a step: what more micro-batches take more is the steady state's.
run_pair() { # threads|processes SCHEDULE STAGES
    local m=$((2 * $3))
    if [[ $2 == pipedream-async ]]; then
        echo "$(run_once "$1" "$2" "$3" "$m") $(run_once "$1" "$2" "$3" $((3 * m)))" | awk '{ print ($8 - $3) / 2, ($9 - $4) / 2 }'
    else
        run_once "$1" "$2" "$3" "$m" | awk '{ print $3, $4 }'
    fi
}

# A row of the table; is_inside is about its ratio.
measure() { # threads|processes SCHEDULE STAGES
    : >"$work/pairs"
    for ((round = 0; round < rounds; ++round)); do run_pair "$@" >>"$work/pairs"; done
    ratio=$(awk '{ print $2 / $1 }' "$work/pairs" | median)
    printf '| %s | %s | %d | %d | %s | %s | %.3f |\n' "$1" "$2" "$3" "$(devices_of "$2" "$3")" \
        "$(awk '{ print $1 }' "$work/pairs" | median | in_ms)" "$(awk '{ print $2 }' "$work/pairs" | median | in_ms)" "$ratio"
}
in_ms() { awk '{ printf "%.1f", 1e3 * $1 }'; }
is_inside() { awk -v r="$ratio" -v l="$low" -v h="$high" 'BEGIN { exit !(r >= l && r <= h) }'; }

outside=0
measure_all() { # threads|processes STAGES
    local schedule
    for schedule in "${schedules[@]}"; do
        measure "$1" "$schedule" "$2"
        is_inside || outside=$((outside + 1))
    done
}

# Milliseconds that a message of so many bytes takes from host to host.
one_way() { on_hosts 2 "$traffic" speed "$1" | sed -n 's/.*there and back: \([0-9.]*\) micro.*/\1/p' | awk '{ print $1 / 2e3 }'; }

header() {
    printf '\n| stages are | schedule | stages | devices | simulated ms | measured ms | measured ÷ simulated |\n|---|---|---|---|---|---|---|\n'
}

cat <<END
# Steps of sleeping layers, simulated and measured

Written by \`bench/pipeline_timing.sh\` ($(date +%F)): $(machine); $(load).
A layer a stage sleeps $forward ms forward, $input ms for the gradient of its input, $weight ms for that of its weight (\`tests/rooms/timing\`);
twice as many micro-batches as stages; graphpipe: of branches of ${branches//,/, } layers between two others, on as many stages; medians of $((count - 1)) steps and $rounds rounds. Of pipedream-async the steady state. The bar: $low to $high.
END
header
measure_all threads 4
measure_all threads 8
if ! why=$(on_hosts 2 true); then
    printf '\nProcesses: %s\n' "${why:-not run: $(tail -1 "$work/stderr")}"
else
    latency=$(one_way 128) bandwidth=1e9 columns=4096
    printf '\nProcesses are on hosts with %s ms between them. A message takes %.1f ms there, half of what one takes there and back; messages of 32 KiB.\n' \
        "$delay" "$latency"
    header
    measure_all processes 4
    bandwidth=$(awk -v t="$(one_way 1048576)" -v l="$latency" 'BEGIN { print 1048576 / ((t > 3 * l + 1 ? t - 3 * l : 1) / 1e3) }') columns=16384
    printf '\nMessages of 128 KiB, for which a sender asks first: three times as long on their way. They are not held to the bar.\n'
    header
    for schedule in gpipe 1f1b zb-h1; do measure processes "$schedule" 4; done
fi
printf '\n%d outside of the bar.\n' "$outside"
((outside == 0))
