#!/usr/bin/env python3
"""How long a program takes to be ready for its first step: from its start, libraries and model included, against eager PyTorch.

    ./bazelw build //bench:step_time
    python3 bench/pytorch/start.py [MODEL...] [--first-step] [--threads N] [--rounds N] [--step-time FILE]

The two take turns. Times are those of the clock and of the processor (all threads, the system's part included), medians over
the rounds; ratios are ours ÷ PyTorch's. See bench/README.md.
"""

import argparse
import os
import pathlib
import statistics
import sys
import time
import types
import warnings

import compare

MODELS = ["lenet", "gpt_large", "bert_base", "gpt2", "vit_small", "resnet18_imagenet"]


def processor_seconds(pid):
    """Of a process so far, with the threads that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(command, first_step):
    """The clock's and the processor's seconds until it is ready, or has made a step, and the most memory that it took."""
    begun = time.perf_counter()
    side = compare.Side(command)
    if first_step:
        side.process.stdin.write("run 1\n")
        side.process.stdin.flush()
        side.process.stdout.readline()
    times = time.perf_counter() - begun, processor_seconds(side.process.pid), side.peak_bytes() / 2**20
    side.close()
    return times


def measure(name, options):
    from workloads import WORKLOADS

    workload = WORKLOADS[name]
    settings = types.SimpleNamespace(step_time=options.step_time)
    theirs = [sys.executable, compare.HERE / "worker.py", name, options.threads]
    with compare.model_and_data(workload) as folder:
        ours = compare.onstage_command(workload, folder / "model.onnx", folder, options.threads, settings)
        rounds = []
        for _ in range(options.rounds + 1):
            rounds.append((start(ours, options.first_step), start(theirs, options.first_step)))
    rounds = rounds[1:]  # from the second one on, files are in the system's memory
    cells = [workload.what]
    for k, digits in enumerate((2, 2, 0)):
        cells += [f"{statistics.median(r[side][k] for r in rounds):.{digits}f}" for side in (0, 1)]
        if k < 2:
            cells.append(f"{statistics.median(r[0][k] / r[1][k] for r in rounds):.3f}")
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--first-step", action="store_true", help="until the first step has been made")
    parser.add_argument("--step-time", default=compare.STEP_TIME, metavar="FILE")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    print("| model | clock, s | PyTorch | ratio | processor, s | PyTorch | ratio | most MiB | PyTorch |\n"
          "|---|---|---|---|---|---|---|---|---|")
    for name in options.models:
        measure(name, options)


if __name__ == "__main__":
    main()
