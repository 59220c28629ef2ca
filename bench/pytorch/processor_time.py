#!/usr/bin/env python3
"""Compares builds of //bench:step_time, and PyTorch, by the processor's time for a step: for machines with other work to do.

    python3 bench/pytorch/processor_time.py MODEL SIDE... [--cpu v3] [--threads N] [--rounds N] [--steps N]

SIDE is the path of a step_time, or torch:VARIANT+... (worker.py). Sides take turns, in reverse order in every other round;
ratios are medians over the rounds, of a side's time ÷ the last one's.
"""

import argparse
import os
import pathlib
import statistics
import sys
import types
import warnings

import compare


def processor_seconds(pid):
    """Of all threads of a process."""
    tasks = pathlib.Path(f"/proc/{pid}/task")
    return 1e-9 * sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())


def command_of(side, name, workload, folder, options):
    if side.startswith("torch:"):
        words = filter(None, side.removeprefix("torch:").split("+"))
        return [sys.executable, compare.HERE / "worker.py", name, options.threads, *words]
    settings = types.SimpleNamespace(step_time=side)
    return compare.onstage_command(workload, folder / "model.onnx", folder, options.threads, settings)


def measure(side, steps):
    """Processor's seconds, and the clock's, for a step."""
    before = processor_seconds(side.process.pid)
    seconds = statistics.median(side.run(steps)["seconds"])
    return (processor_seconds(side.process.pid) - before) / steps, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("sides", nargs="+", metavar="SIDE")
    parser.add_argument("--cpu", choices=sorted(compare.CAPS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3, help="steps of a round")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    os.environ.update(compare.CAPS.get(options.cpu, {}), OMP_WAIT_POLICY="passive")
    from workloads import WORKLOADS

    workload = WORKLOADS[options.model]
    with compare.model_and_data(workload) as folder:
        sides = [compare.Side(command_of(side, options.model, workload, folder, options)) for side in options.sides]
        for side in sides:
            side.run(2)
        rounds = []
        for index in range(options.rounds):
            order = list(enumerate(sides))[:: -1 if index % 2 else 1]
            times = {at: measure(side, options.steps) for at, side in order}
            rounds.append([times[at] for at in range(len(sides))])
        for side in sides:
            side.close()
    print("| side | processor's ms a step | clock's ms a step | ratio of the processor's |\n|---|---|---|---|")
    for at, side in enumerate(options.sides):
        busy, clock = (1e3 * statistics.median(r[at][k] for r in rounds) for k in (0, 1))
        ratios = sorted(r[at][0] / r[-1][0] for r in rounds)
        print(f"| {side} | {busy:.1f} | {clock:.1f} | {statistics.median(ratios):.2f} ({ratios[0]:.2f}, {ratios[-1]:.2f}) |")


if __name__ == "__main__":
    main()
