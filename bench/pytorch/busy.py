#!/usr/bin/env python3
"""Times training steps while other programs compute on every processor: with the default of all threads, and with each smaller number.

    ./bazelw build //bench:step_time
    python3 bench/pytorch/busy.py [--models NAME[:BATCH],...] >bench/results/busy_cpu.md

The other programs are loops in sessions of their own, one for each processor. All numbers of threads take turns, round by round.
"""

import argparse
import contextlib
import dataclasses
import datetime
import os
import statistics
import subprocess
import time
import warnings

from compare import STEP_TIME, Side, cpu_name, model_and_data, onstage_command

MODELS = "cnn_dynamic:1,cnn_dynamic,mlp_small,lenet,resnet18_small,resnet18_cifar:8,gpt_small,gpt_char:2,gpt_char,gpt_large:2"
BAR = 0.8


@contextlib.contextmanager
def busy_machine():
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True) for _ in os.sched_getaffinity(0)]
    time.sleep(0.3)
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def seconds_of_a_step(side, seconds):
    """The mean, as turns of other programs are long."""
    steps, begin, took = 1, time.time(), []
    while time.time() - begin < seconds:
        took += side.run(steps)["seconds"]
        steps = max(1, min(2000, int(seconds / 4 / statistics.mean(took))))
    return statistics.mean(took)


def measure(workload, folder, options):
    """Median of the rounds, for every number of threads: seconds of a step on an idle machine, and on a busy one."""
    counts = range(1, options.threads + 1)
    sides = {count: Side(onstage_command(workload, folder / "model.onnx", folder, count, options)) for count in counts}
    for side in sides.values():
        side.run(5)
    idle, busy = ({count: [] for count in counts} for _ in range(2))
    for _ in range(options.rounds):
        for count in counts:
            idle[count].append(seconds_of_a_step(sides[count], options.seconds))
        with busy_machine():
            for count in counts:
                busy[count].append(seconds_of_a_step(sides[count], options.seconds))
    for side in sides.values():
        side.close()
    return [{count: statistics.median(values) for count, values in kind.items()} for kind in (idle, busy)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=MODELS, help="names, separated by commas, each with a batch if it is another")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a round of each")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--step-time", default=STEP_TIME)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    from workloads import WORKLOADS

    print(
        f"# Steps on a busy machine\n\nWritten by `bench/pytorch/busy.py` ({datetime.date.today()}): {cpu_name()}, {options.threads} threads, "
        f"as many other programs that compute all the time; {options.rounds} rounds.\nMilliseconds of a step. The bar: with all threads, the default, "
        f"{BAR} of the speed of the best number of threads.\n\n| model, batch | idle: "
        + ", ".join(map(str, range(1, options.threads + 1))) + " threads | busy | default / best |\n|---|---|---|---|", flush=True,
    )
    for entry in options.models.split(","):
        name, _, batch = entry.partition(":")
        workload = WORKLOADS[name]
        workload = dataclasses.replace(workload, batch=int(batch or workload.batch))
        with model_and_data(workload) as folder:
            idle, busy = measure(workload, folder, options)
        cells = [", ".join(f"{1e3 * value:.3f}" for value in kind.values()) for kind in (idle, busy)]
        print(f"| {workload.what}, {workload.batch} | {cells[0]} | {cells[1]} | {min(busy.values()) / busy[options.threads]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
