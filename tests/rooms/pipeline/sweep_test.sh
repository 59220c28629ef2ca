#!/usr/bin/env bash
# Parts of the sweep: a core that is always the same, and a sample of the whole by a seed of the clock, which is printed
# (SWEEP_SEED=N: by that one).
# What Open MPI keeps until the end is not our leak.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
sweep=tests/rooms/pipeline/sweep
bad=0
# Every schedule: in short memory, and with weights that stages share.
"$sweep" --models lenet --devices 2 --cuts capped || bad=1
"$sweep" --models gpt_tied --devices 2 --cuts planned || bad=1
# Replicas, with tensors that are swapped and made again, over both.
"$sweep" --models lenet,gpt_tied --devices 2 --replicas 2 --cuts planned,capped --pipelines 1f1b,interleaved,zb-h1,graphpipe,flexpipe --micro-batches 2 || bad=1
# Cuts that no planner would make, over processes; cuts_test compares threads.
"$sweep" --models mlp,gpt_tied --devices 3 --chunks 1 --pipelines gpipe,1f1b --cuts slices,slices/both \
    --micro-batches 4,3+2 --transports mpi || bad=1
"$sweep" --one-in 120 --seed "${SWEEP_SEED:-0}" || bad=1
exit "$bad"
