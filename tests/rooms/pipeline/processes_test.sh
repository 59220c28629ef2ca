#!/usr/bin/env bash
# Programs whose parts mpirun starts.
#   processes_test.sh PROGRAM
# What Open MPI keeps until the end is not our leak.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
"$1"
