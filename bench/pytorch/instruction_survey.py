#!/usr/bin/env python3
"""Measures how much faster each kind of node is with one set of instructions than with another: a file of planner/cost/surveys/.

    ./bazelw build //tools:onstage
    python3 bench/pytorch/instruction_survey.py [--rounds N] >planner/cost/surveys/MACHINE.inc

The networks below are trained by nobody: they hold the problems that models are made of, in sizes of their own. `onstage profile`
measures their nodes with each set, taking turns; of each node the fastest round counts. A line of the table is the nodes of one
operator that are alike in FLOPs, bytes and bytes written, to within a factor of about 1.4: what they take together. A node that is there
with one set alone, as reorders are, takes nothing with the other.
"""

import argparse
import datetime
import math
import os
import pathlib
import re
import statistics
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
from torch import nn

import other_machine
from compare import cpu_name, model_and_data
from workloads import SGD, Bert, Recurrent, WideMlp, Workload, gpt

SETS = ("v3", "v4")  # variants of kernels/kernels.h
GRAIN = 1  # of a line: powers of 2
BYTES = {"float32": 4, "int64": 8, "int32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "bool": 1, "uint8": 1, "int8": 1}


class Block(nn.Module):
    """Two convolutions with BatchNorm, and a shortcut."""

    def __init__(self, before, after, stride, kernel):
        super().__init__()
        self.first = nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
        self.second = nn.Conv2d(after, after, kernel, 1, kernel // 2, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(after) for _ in range(2))
        self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x):
        y = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(self.norms[1](self.second(y)) + self.shortcut(x))


class Stack(nn.Module):
    """Blocks, each of half as many rows as the one before."""

    def __init__(self, widths, kernel=3, pool=False, stem=(3, 1)):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], stem[0], stem[1], stem[0] // 2)
        self.pool = nn.MaxPool2d(2) if pool else nn.Identity()
        pairs = zip([widths[0], *widths], widths)
        self.blocks = nn.Sequential(*(Block(a, b, 1 if i == 0 else 2, kernel) for i, (a, b) in enumerate(pairs)))
        self.head = nn.Linear(widths[-1], 10)

    def forward(self, x):
        return self.head(self.blocks(self.pool(torch.relu(self.stem(x)))).mean((2, 3)))


class Plain(nn.Module):
    """Convolutions with bias, pooling and a large layer, as before BatchNorm."""

    def __init__(self, channels, widths, size, kernel):
        super().__init__()
        layers = []
        for before, after in zip([channels, *widths], widths):
            layers += [nn.Conv2d(before, after, kernel, padding=kernel // 2), nn.ReLU(), nn.MaxPool2d(2)]
            size //= 2
        self.body = nn.Sequential(*layers, nn.Flatten(), nn.Linear(widths[-1] * size * size, 160), nn.ReLU(), nn.Linear(160, 10))

    def forward(self, x):
        return self.body(x)


class Separable(nn.Module):
    """Convolutions of each channel alone, and of one position."""

    def __init__(self, widths):
        super().__init__()
        layers = [nn.Conv2d(3, widths[0], 3, 2, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()]
        for a, b in zip(widths, widths[1:]):
            layers += [nn.Conv2d(a, a, 3, 2 if b > a else 1, 1, groups=a, bias=False), nn.BatchNorm2d(a), nn.ReLU()]
            layers += [nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
        self.body, self.head = nn.Sequential(*layers), nn.Linear(widths[-1], 10)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def stack(size, batch, widths, **settings):
    return Workload("", lambda: Stack(widths, **settings), (3, size, size), batch, 10, optimizer=SGD)


NETWORKS = {
    # Many positions and few weights, and the other way round.
    "positions": stack(40, 8, [32, 96, 160]),
    "even": stack(24, 12, [64, 96, 192, 384], pool=True),
    "odd": stack(20, 20, [40, 72, 120]),
    "weights": stack(8, 24, [64, 128, 256, 384]),
    "few_positions": stack(4, 20, [160, 320, 640]),
    "many_weights": stack(4, 28, [192, 384, 768]),
    "one_position": stack(2, 40, [256, 448]),
    "large_stem": stack(48, 10, [64, 128, 224], pool=True, stem=(7, 2)),
    "few_images": stack(4, 6, [96, 192, 384]),
    "narrow": stack(20, 40, [10, 20, 40]),
    "wide_window": stack(28, 8, [24, 48], kernel=5, stem=(5, 1)),
    "plain": Workload("", lambda: Plain(1, [8, 24], 36, 5), (1, 36, 36), 48, 10),
    "plain_colour": Workload("", lambda: Plain(3, [20, 40, 80], 32, 3), (3, 32, 32), 24, 10),
    "separable": Workload("", lambda: Separable([20, 40, 80, 160, 160]), (3, 48, 48), 12, 10, optimizer=SGD),
    "separable_small": Workload("", lambda: Separable([12, 16, 32]), (3, 24, 24), 40, 10),
    "products": Workload("", lambda: WideMlp(700), (784,), 80, 10),
    "small_products": Workload("", lambda: WideMlp(90), (784,), 24, 10),
    "transformer": gpt("", 10, 80, vocabulary=200, layers=1, dim=192, heads=6),
    "wide_transformer": gpt("", 6, 160, vocabulary=900, layers=1, dim=512, heads=8),
    "encoder": Workload("", lambda sdpa=False: Bert(4000, 96, 1, 320, 5, sdpa), (96,), 6, 4000, is_transformer=True, reads_tokens=True),
    "recurrent": Workload("", lambda: Recurrent(nn.LSTM, 160, 1), (40,), 20, 65, reads_tokens=True),
}


def written_bytes(key):
    """Of the outputs, by the types in a node's key."""
    types = re.findall(r"([a-z]+\d*)\[([\d,]*)\]", key.rpartition(">")[2])
    return sum(BYTES[t] * math.prod(int(d) for d in dims.split(",") if d) for t, dims in types)


def measure(workload, threads, rounds, repetitions):
    """Of each node what it has to do, and its seconds with each set; and what the sets' machines can do."""
    seconds, devices = {}, {}
    with model_and_data(workload) as folder:
        for _ in range(rounds):
            for variant in SETS:
                options = argparse.Namespace(repetitions=repetitions)
                profile, _ = other_machine.profile_of(variant, workload, folder, threads, options)
                devices[variant] = profile["device"]
                for n in profile["nodes"]:
                    about = n["operator"], int(n["matrix"]), n["flops"], n["bytes"], written_bytes(n["key"])
                    times = seconds.setdefault((n["name"], about), {})
                    times[variant] = min(n["seconds"], times.get(variant, math.inf))
    return [(about, [times.get(s, 0) for s in SETS]) for (_, about), times in seconds.items()], devices


def lines(nodes):
    """Those that are alike: the means of what they have to do, and the sums of their seconds."""
    cells = {}
    for (operator, matrix, *amounts), seconds in nodes:
        cell = operator, matrix, *(round(math.log2(a + 1) / GRAIN) for a in amounts)
        cells.setdefault(cell, []).append((amounts, seconds))
    for (operator, matrix, *_), found in sorted(cells.items()):
        amounts, seconds = zip(*found)
        if sum(map(sum, seconds)) > 0:
            yield operator, matrix, [statistics.mean(x) for x in zip(*amounts)], [sum(x) for x in zip(*seconds)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--onstage", type=pathlib.Path, default=other_machine.ONSTAGE)
    options = parser.parse_args()
    other_machine.ONSTAGE = options.onstage
    load = os.getloadavg()[0]
    nodes, rates = [], {s: [] for s in SETS}
    for name in options.networks.split(","):
        found, devices = measure(NETWORKS[name], options.threads, options.rounds, options.repetitions)
        nodes += found
        for s in SETS:
            rates[s].append((devices[s]["matrix_flops"]["fp32"], devices[s]["memory_bandwidth"]))
        print(f"{name}: {len(found)} nodes, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    print(f"""/* Written by `bench/pytorch/instruction_survey.py` ({datetime.date.today()}): {cpu_name()}, {options.threads} thread(s),
 * {options.rounds} rounds of {options.repetitions} repetitions; load at the start {load:.2f}. */
/* name, FLOP/s of large float32 products, bytes/s of memory */""")
    for s in SETS:
        print("SET({}, {:.4g}, {:.4g})".format(s, *(statistics.median(r) for r in zip(*rates[s]))))
    print("/* operator, whether it is a product or convolution, FLOPs, bytes, bytes written; seconds with " + ", ".join(SETS) + " */")
    for operator, matrix, amounts, seconds in lines(nodes):
        numbers = ", ".join(f"{x:.3g}" for x in (*amounts, *seconds))
        print(f'NODE("{operator}", {matrix}, {numbers})')


if __name__ == "__main__":
    main()
