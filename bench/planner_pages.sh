#!/usr/bin/env bash
# All pages of measurements about the planner, written anew, on a machine with nothing else to do:
#     ./bazelw build //bench/... //tools:onstage && bench/planner_pages.sh [PART...]
# Parts, in this order, with about how long each takes: gap (1 minute), golden (1), autopipe (none), profiles (2), speed (3), series (3), step (10), tables (15).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=bazel-bin/bench results=bench/results
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# Puts the table of $new into the page $1, in place of the one with the same head.
put_table() {
    local page
    page=$(awk -v new="$new" '
        BEGIN { while ((getline line < new) > 0) if (line ~ /^\|/) table[count++] = line }
        $0 == table[0] { for (i = 0; i < count; ++i) print table[i]; skipping = 1; replaced = 1; next }
        skipping && /^\|/ { next }
        { skipping = 0; print }
        END { exit !replaced }' "$1") || { echo "$1 has no such table" >&2; return 1; }
    printf '%s\n' "$page" >"$1"
}

run_part() {
    case $1 in
    gap) "$bin/planner_gap" 1 200 >"$new" && put_table "$results/planner_partition_gap.md" ;;
    golden) bench/planner_golden.sh >"$new" && cp "$new" "$results/planner_golden_gap.md" ;;
    autopipe) "$bin/autopipe" >"$new" && cp "$new" "$results/autopipe.md" ;;
    profiles) "$bin/planner_profiles" >"$new" && cp "$new" "$results/planner_profiles.md" ;;
    speed)
        for what in table plans refusals; do
            "$bin/planner_speed" "$what" >"$new" && put_table "$results/planner_speed.md"
        done
        ;;
    series)
        "$bin/planner_speed" series >"$new" && cp "$new" "$results/planner_speed.txt"
        if command -v gnuplot >/dev/null; then gnuplot bench/planner_speed.gnuplot; else echo "no gnuplot: the plot is not drawn" >&2; fi
        ;;
    step) bench/predicted_step.sh >"$new" && cp "$new" "$results/predicted_step_cpu.md" ;;
    tables) ./bazelw run //bench:paper_tables ;;
    *)
        echo "planner_pages.sh: no part '$1'" >&2
        return 2
        ;;
    esac
}

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(gap golden autopipe profiles speed series step tables)
for part in "${parts[@]}"; do
    SECONDS=0
    run_part "$part"
    echo "$part: $SECONDS s" >&2
done
