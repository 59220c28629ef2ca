#!/usr/bin/env python3
"""Compares the training steps of two builds of onstage on networks of torchvision.

    ./bazelw build //bench:step_time, once for each build; keep the program of the first
    python3 bench/pytorch/before_after.py BEFORE AFTER [--networks NAME,...] [--rounds N] >PAGE.md

BEFORE and AFTER are programs of //bench:step_time. They take turns, round by round, on the same files; the ratio is the
median over the rounds of AFTER's step ÷ BEFORE's. See bench/README.md.
"""

import argparse
import datetime
import pathlib
import statistics
import sys
import tempfile
import warnings

import numpy
import torch
import torchvision

import compare

BATCH = 8
STEPS = 3  # of a round
# Networks whose convolutions stand beside branches, scales and shuffles.
NETWORKS = (
    "densenet121,efficientnet_b0,regnet_y_400mf,mobilenet_v3_large,googlenet,inception_v3,mnasnet1_0,shufflenet_v2_x1_0,"
    "squeezenet1_1,convnext_tiny"
)
CLASSIFIERS_ALONE = {"googlenet", "inception_v3"}  # without the losses beside the network


def export(name, folder):
    """The network, and samples for it."""
    torch.manual_seed(0)
    size = 299 if name == "inception_v3" else 224
    options = {"aux_logits": False, "init_weights": False} if name in CLASSIFIERS_ALONE else {}
    network = getattr(torchvision.models, name)(weights=None, **options).train()
    samples = numpy.random.default_rng(0)
    files = [folder / "model.onnx", folder / "x.npy", folder / "y.npy"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network, (torch.randn(BATCH, 3, size, size),), str(files[0]), dynamo=False,
            training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17, input_names=["x"],
            output_names=["y"], dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
        )
    numpy.save(files[1], samples.standard_normal((2 * BATCH, 3, size, size), dtype=numpy.float32))
    numpy.save(files[2], samples.integers(0, 1000, 2 * BATCH))
    return files


def start(program, files):
    model, x, y = files
    words = ["--input", f"x={x}", "--target", y, "--loss", "cross_entropy", "--batch", BATCH, "--optimizer", "sgd",
             "--epochs", 1000000]
    side = compare.Side([program, model, *words])
    side.run(1)  # what is done once
    return side


def run_round(side):
    return statistics.median(side.run(STEPS)["seconds"])


def compare_builds(programs, files, rounds):
    """Medians of both, and the rounds' ratios."""
    sides = [start(program, files) for program in programs]
    times = ([], [])
    for number in range(rounds):
        for which in (0, 1) if number % 2 else (1, 0):
            times[which].append(run_round(sides[which]))
    for side in sides:
        side.close()
    return [statistics.median(each) for each in times], sorted(after / before for before, after in zip(*times))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", metavar="PROGRAM", nargs=2)
    parser.add_argument("--networks", default=NETWORKS, help="names, separated by commas")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(f"{compare.cpu_name()}, {datetime.date.today()}, batch {BATCH}, SGD, {options.rounds} rounds of {STEPS} steps by turns.\n")
    print("| network | before, ms | after, ms | ratio | least | most |\n|---|--:|--:|--:|--:|--:|")
    for name in options.networks.split(","):
        with tempfile.TemporaryDirectory() as folder:
            medians, ratios = compare_builds(options.programs, export(name, pathlib.Path(folder)), options.rounds)
        before, after = (f"{1000 * seconds:.3g}" for seconds in medians)
        print(f"| {name} | {before} | {after} | **{statistics.median(ratios):.2f}** | {ratios[0]:.2f} | {ratios[-1]:.2f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
