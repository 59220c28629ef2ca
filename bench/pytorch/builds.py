#!/usr/bin/env python3
"""Compares this tree's build with one of the same sources for this machine's processor alone (-march=native).

    python3 bench/pytorch/builds.py [--models NAME,...] >bench/results/native_build_cpu.md

Builds //bench:step_time here, and in a copy with -march=native for the kernels' variants and for everything else. For each
model of workloads.py: the time of a step, taking turns, of both and of this build once more, against itself; and the instructions of a
step, of two samples, counted by callgrind, of variant v3 (valgrind knows no AVX-512) against -march=native without AVX-512. See bench/README.md.
"""

import argparse
import dataclasses
import datetime
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import warnings

from compare import ROOT, STEP_TIME, Side, cpu_name, model_and_data, onstage_command, steps_for

NATIVE = ("-march=native",)
NATIVE_WITHOUT_AVX512 = ("-march=native", "-mno-avx512f")
LIMIT = 1.03
# Valgrind computes a multiply-add of eight numbers by eight calls, so a whole batch takes hours. Two samples are the least that BatchNorm
# trains with; those of the largest models are smaller as well (`counted` in workloads.py).
COUNTED_BATCH = 2


def build_native(flags, folder):
    """step_time of the sources that are checked in, compiled with `flags` instead of the variants' own; its path."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    variants = folder / "kernels" / "variants.bzl"
    words = ", ".join(f'"{flag}"' for flag in flags)
    text, count = re.subn(r'VARIANTS = \{.*?\n\}\n', f'VARIANTS = {{"v3": [{words}], "v4": [{words}, "-mprefer-vector-width=512"]}}\n',
                          variants.read_text(), flags=re.S)
    if count != 1:
        raise SystemExit("kernels/variants.bzl: no VARIANTS to replace")
    variants.write_text(text)
    everything = [f"--copt={flag}" for flag in flags]
    subprocess.run(["./bazelw", "build", *everything, "//bench:step_time"], cwd=folder, check=True, stdout=sys.stderr)
    program = folder.with_suffix(".step_time")
    shutil.copy(folder / "bazel-bin" / "bench" / "step_time", program)
    subprocess.run(["./bazelw", "clean", "--expunge"], cwd=folder, check=True, stdout=sys.stderr)
    return program


def command_of(program, workload, folder, threads, options):
    options = argparse.Namespace(**{**vars(options), "step_time": program})
    return onstage_command(workload, folder / "model.onnx", folder, threads, options)


def times(programs, workload, folder, options):
    """Of each program after the first: its steps' time over the first one's, of every round."""
    sides = [Side(command_of(program, workload, folder, options.threads, options)) for program in programs]
    steps = max(steps_for(options.seconds, side.run(5)["seconds"][-1]) for side in sides)
    ratios = [[] for _ in sides[1:]]
    for index in range(options.rounds):
        order = sides[index % len(sides):] + sides[: index % len(sides)]
        seconds = {side: statistics.median(side.run(steps)["seconds"]) for side in order}
        for ratio, side in zip(ratios, sides[1:]):
            ratio.append(seconds[sides[0]] / seconds[side])
    for side in sides:
        side.close()
    return ratios


def instructions(program, workload, folder, options):
    """Of one step on one thread, by callgrind: what two steps take more than one."""
    counts, words = folder / "callgrind.out", command_of(program, workload, folder, 1, options)
    totals = []
    for steps in (1, 2):
        side = Side(["env", "GOMP_SPINCOUNT=3000", "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}", *words])
        side.run(steps)
        side.close()
        totals.append(int(re.search(r"^(?:summary|totals): (\d+)", counts.read_text(), re.M)[1]))
    return totals[1] - totals[0]


def spread(ratios):
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f}, {max(ratios):.3f})"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help="names, separated by commas; default: all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a round of each")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--native", type=pathlib.Path, help="a step_time built with -march=native, instead of building one")
    parser.add_argument("--native-without-avx512", type=pathlib.Path, help="the same without AVX-512, for callgrind")
    parser.add_argument("--no-times", action="store_true", help="count instructions alone")
    parser.add_argument("--no-counts", action="store_true", help="take times alone")
    return parser.parse_args()


def main():
    options = arguments()
    warnings.filterwarnings("ignore")
    from workloads import WORKLOADS

    names = options.models.split(",") if options.models else list(WORKLOADS)
    subprocess.run(["./bazelw", "build", "//bench:step_time"], cwd=ROOT, check=True, stdout=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        native = options.native or options.no_times or build_native(NATIVE, folder / "native")
        plain = options.native_without_avx512 or options.no_counts or build_native(NATIVE_WITHOUT_AVX512, folder / "plain")
        print(
            f"# The default build against -march=native\n\nWritten by `bench/pytorch/builds.py` ({datetime.date.today()}): {cpu_name()}, "
            f"{options.threads} threads; {options.rounds} rounds.\nTimes: this build over the native one, and over itself, "
            f"median of the rounds (least, most). Instructions: of one step of {COUNTED_BATCH} samples on one\nthread (those of the largest "
            "models smaller: `counted` in workloads.py), callgrind, v3 over -march=native without AVX-512.\n"
            f"The bar: {LIMIT}, or the spread of the build against itself.\n\n"
            "| model | time | against itself | instructions |\n|---|---|---|---|", flush=True,
        )
        for name in names:
            workload, row = WORKLOADS[name], ["", "", ""]
            if not options.no_times:
                with model_and_data(workload) as files:
                    row[:2] = map(spread, times([STEP_TIME, native, STEP_TIME], workload, files, options))
            if not options.no_counts:
                workload = dataclasses.replace(workload, batch=COUNTED_BATCH, shape=workload.counted or workload.shape)
                with model_and_data(workload) as files:
                    counts = [instructions(program, workload, files, options) for program in (STEP_TIME, plain)]
                    row[2] = f"{counts[0] / counts[1]:.4f}"
            print("|", " | ".join([workload.what, *row]), "|", flush=True)


if __name__ == "__main__":
    main()
