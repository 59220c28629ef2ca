#!/usr/bin/env bash
# Stages with micro-batches of different sizes as processes.
# What Open MPI keeps until the end is not our leak.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
tests/rooms/pipeline/stage_sizes_processes
