#!/usr/bin/env python3
"""What a training process has in memory beside its arena, after two steps: a table for bench/results/resident_cpu.md.

    ./bazelw build //bench:step_time
    python3 bench/pytorch/resident.py [MODEL...] [--threads N] [--step-time FILE]

Parts are those of /proc/PID/smaps; nothing is timed. See bench/README.md.
"""

import argparse
import collections
import pathlib
import re
import types
import warnings

import compare

ROWS = ("arena", "model and data files", "heap", "other anonymous memory", "libraries and program")


def parts_of(pid, arena_bytes, folder):
    """Resident MiB of each of ROWS."""
    parts, row = collections.Counter(), None
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        mapping = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \d+ *(.*)", line)
        if mapping:
            size, name = int(mapping[2], 16) - int(mapping[1], 16), mapping[3]
            row = "other anonymous memory"
            if name == "[heap]":
                row = "heap"
            elif name.startswith(str(folder)):
                row = "model and data files"
            elif name.startswith("/"):
                row = "libraries and program"
            elif not name and 0 <= size - arena_bytes < 4096:
                row = "arena"
        elif line.startswith("Rss:"):
            parts[row] += int(line.split()[1]) / 1024
    return parts


def measure(name, options):
    from workloads import WORKLOADS

    workload = WORKLOADS[name]
    settings = types.SimpleNamespace(step_time=options.step_time)
    with compare.model_and_data(workload) as folder:
        side = compare.Side(compare.onstage_command(workload, folder / "model.onnx", folder, options.threads, settings))
        ready = side.peak_bytes() / 2**20
        side.run(2)
        parts = parts_of(side.process.pid, side.about["arena_bytes"], folder)
        numbers = [ready, side.peak_bytes() / 2**20, side.about["arena_bytes"] / 2**20] + [parts[row] for row in ROWS]
        side.close()
    print(f"| {workload.what} | {' | '.join(f'{number:.1f}' for number in numbers)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["gpt_char", "gpt_large", "resnet18_cifar"], metavar="MODEL")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--step-time", default=compare.STEP_TIME, metavar="FILE")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    names = ("model", "most before the first step, MiB", "most", "arena as planned", *ROWS)
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for name in options.models:
        measure(name, options)


if __name__ == "__main__":
    main()
