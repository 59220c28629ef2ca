#!/usr/bin/env python3
"""Recurrent layers on the CPU: a training step against PyTorch's, against the products of its shapes alone and, where an
earlier build is given, against that.

    ./bazelw build //bench:step_time //bench:recurrent_products
    python3 bench/pytorch/recurrent.py [--before STEP_TIME] [--cpu v3] [--threads 1,2] >>bench/results/recurrent_cpu.md

All of them take turns, round by round, and the order is turned by one from round to round. A round's time is the median of
its steps; tables have the median over the rounds, of times and of ratios. Processor time is what all threads of a process
used, waiting that sleeps left out: of one thread it is the time on a machine of its own, whoever else computes.
"""

import argparse
import datetime
import os
import statistics
import sys
import warnings

import compare

PRODUCTS = compare.ROOT / "bazel-bin" / "bench" / "recurrent_products"
# name: gates, steps, batch, inputs, hidden, layers, classes of the workload's products
SHAPES = {
    "lstm": (4, 64, 32, 256, 256, 2, 65),
    "gru": (3, 64, 32, 256, 256, 2, 65),
    "lstm_small": (4, 32, 1, 32, 32, 1, 65),
}


def processor_seconds(side):
    """Of all its threads, in user mode and in the kernel."""
    fields = open(f"/proc/{side.process.pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def take_turns(sides, rounds, steps):
    """For each side, one (seconds, processor seconds) a round, of one step."""
    times = {name: [] for name in sides}
    names = list(sides)
    for turn in range(rounds):
        for name in names[turn % len(names):] + names[: turn % len(names)]:
            before = processor_seconds(sides[name])
            seconds = statistics.median(sides[name].run(steps)["seconds"])
            times[name].append((seconds, (processor_seconds(sides[name]) - before) / steps))
    return times


def sides_of(name, workload, folder, threads, options):
    """The sides, the ready products among them, and which way PyTorch was fastest."""
    variant, _ = compare.fastest(name, workload, threads, options) if options.pytorch else ("", None)
    sides = {}
    for which, program in (("before", options.before), ("onstage", options.step_time)):
        options.step_time = program
        if program:
            sides[which] = compare.Side(compare.onstage_command(workload, folder / "model.onnx", folder, threads, options))
    if options.pytorch:
        sides["PyTorch"] = compare.Side([sys.executable, compare.HERE / "worker.py", name, threads, *variant.split()])
    sides["products"] = compare.Side([options.products, *SHAPES[name], threads])
    return sides, variant


def check_losses(sides):
    """The same training on every side: the first losses agree."""
    losses = [side.run(1)["first_loss"] for name, side in sides.items() if name != "products"]
    if max(losses) - min(losses) > 1e-4 * abs(losses[0]):
        raise SystemExit(f"not the same training: first losses {losses}")
    sides["products"].run(1)


def measure(name, workload, threads, options):
    program = options.step_time
    with compare.model_and_data(workload) as folder:
        sides, variant = sides_of(name, workload, folder, threads, options)
        options.step_time = program
        check_losses(sides)
        for side in sides.values():
            side.run(3)
        steps = compare.steps_for(options.seconds, sides["onstage"].run(3)["seconds"][-1])
        times = take_turns(sides, options.rounds, steps)
        operations = sides["products"].about["operations"]
        for side in sides.values():
            side.close()
    return times, operations, variant


def median_ratio(times, name, part):
    """Of onstage's time ÷ that of another side in the same round; part 0: time, 1: processor time."""
    if name not in times or not all(t[part] for t in times[name]):
        return "-"
    return f"{statistics.median(a[part] / b[part] for a, b in zip(times['onstage'], times[name])):.2f}"


def row(workload, threads, times, operations, variant):
    def ms(name):
        if name not in times:
            return "-"
        wall, processor = (1e3 * statistics.median(t[part] for t in times[name]) for part in (0, 1))
        return f"{wall:.3g} ({processor:.3g})"

    rate = 1e-9 * operations / statistics.median(t[0] for t in times["onstage"])
    ratios = " | ".join(f"{median_ratio(times, name, 0)} ({median_ratio(times, name, 1)})" for name in ("before", "PyTorch", "products"))
    theirs = ms("PyTorch") + (f" {variant}" if variant else "")
    return f"| {workload.what}, batch {workload.batch} | {threads} | {ms('before')} | {ms('onstage')} | {rate:.1f} | {theirs} | {ms('products')} | {ratios} |"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(SHAPES))
    parser.add_argument("--threads", default="2,1")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a round of one side")
    parser.add_argument("--cpu", choices=sorted(compare.CAPS), help="keep all to these instructions; default: all of the machine's")
    parser.add_argument("--before", help="step_time of an earlier build")
    parser.add_argument("--step-time", default=compare.STEP_TIME)
    parser.add_argument("--products", default=PRODUCTS)
    parser.add_argument("--pytorch", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True, help="also try torch.compile")
    parser.set_defaults(channels_last=False, variant=None)
    return parser.parse_args()


def main():
    options = arguments()
    warnings.filterwarnings("ignore")
    sys.path.insert(0, str(compare.HERE))
    os.environ.update(compare.CAPS.get(options.cpu, {}))
    from workloads import WORKLOADS

    about = compare.environment(0)
    print(f"## {options.cpu or 'all instructions'}\n\n{about['cpu']}, {datetime.date.today()}, PyTorch {about['torch']}; "
          f"load at the start {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; {options.rounds} rounds.\n")
    print("| model | threads | before ms | onstage ms | GFLOP/s | PyTorch ms | products ms | ÷ before | ÷ PyTorch | ÷ products |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in options.models.split(","):
        for threads in options.threads.split(","):
            result = measure(name, WORKLOADS[name], int(threads), options)
            print(row(WORKLOADS[name], threads, *result), flush=True)
    print(f"\nLoad at the end {os.getloadavg()[0]:.1f}.\n")


if __name__ == "__main__":
    main()
