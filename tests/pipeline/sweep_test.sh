#!/usr/bin/env bash
# Some cases of the sweep: its arguments.
# What Open MPI keeps until the end is not our leak.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
exec tests/pipeline/sweep "$@"
