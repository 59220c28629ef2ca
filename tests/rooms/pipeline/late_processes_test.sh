#!/usr/bin/env bash
# Processes that are late by chance: no bit changes.
# What Open MPI keeps until the end is not our leak.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
tests/rooms/pipeline/late_processes
