#!/usr/bin/env python3
"""What bounds the operators that do not reach three quarters of their roofline: each alone, beside what it cannot do without.

    ./bazelw build //bench:operators //bench:product_rates
    python3 bench/pytorch/roofline_exceptions.py [--threads N] [--rounds N] >bench/results/exceptions_cpu.md
    python3 bench/pytorch/roofline_exceptions.py --cpu v3 >bench/results/exceptions_v3_cpu.md

An operator of memory stands beside passes through as many arrays, attention's gradient beside its products; all take turns.
bench/README.md says what counts.
"""

import argparse
import dataclasses
import datetime
import os
import re
import statistics
import subprocess
import sys
import time

import compare
from roofline_rates import RATES, Rates
from roofline_shapes import product

OPERATORS = compare.ROOT / "bazel-bin" / "tests" / "rooms" / "kernels" / "bench"
BLOCK = 32  # queries that the gradient of attention takes together: kernels/attention/attention_operands.h


@dataclasses.dataclass
class Bound:
    what: str
    lines: list  # [(line of product_rates.c without form and seconds, how many of them)]


@dataclasses.dataclass
class Exceptional:
    operator: str
    case: str  # of kernels/NAME/NAME_cases.c
    what: str
    bounds: list
    flags: tuple = ()


def gone_through(elements, read=0, changed=0, written=0, apart=0):
    """A pass: so many arrays of so many floats each."""
    return f"pass {read} {changed} {written} {elements} {apart}", 1.0


def adamw(case, rows, columns):
    arrays = dict(elements=rows * columns, read=1, changed=3)
    return Exceptional("AdamW", case, f"{rows}x{columns}", [
        Bound("a pass that reads the gradient and changes the weight and two states", [gone_through(**arrays)]),
        Bound("the same, arrays beginning at different places of a page", [gone_through(**arrays, apart=1)]),
    ])  # fmt: skip


def batch_normalization(operator, case, shape, inputs):
    """Channels last: statistics, or sums of the gradient, need a pass of their own before the one that writes."""
    elements, image = shape[0] * shape[1] * shape[2] * shape[3], "x".join(map(str, shape))
    sums, result = gone_through(elements, read=inputs), gone_through(elements, read=inputs, written=1)
    arrays = "the input" if inputs == 1 else "both inputs"
    return Exceptional(operator, case, image, [
        Bound(f"a pass that reads {arrays} and writes the result", [result]),
        Bound(f"before it one that reads {arrays}, which the sums need", [sums, result]),
    ], ("--layout", "1"))  # fmt: skip


def passing(operator, case, what, elements, **arrays):
    """An operator that only has to go through its arrays once."""
    verbs = {"read": "reads", "changed": "changes", "written": "writes"}
    counted = " and ".join(f"{verbs[how]} {'one array' if count == 1 else f'{count} arrays'}" for how, count in arrays.items())
    return Exceptional(operator, case, what, [Bound(f"a pass that {counted}", [gone_through(elements, **arrays)])])


def attention(case, batch, positions, heads, size):
    """Causal and packed, as below, forward: of four arrays three are read and one is written."""
    count, share = batch * heads, (positions + 1) / (2 * positions)
    whole = [product(count, positions, positions, size, share), product(count, positions, size, positions, share)]
    blocks = []
    for seen in range(BLOCK, positions + 1, BLOCK):
        blocks += [product(count, BLOCK, seen, size), product(count, BLOCK, size, seen)]
    memory = [gone_through(count * positions * size, read=3, written=1)]
    return Exceptional("Attention", case, f"{batch}x{positions}x{heads}x{size}, causal", [
        Bound("its two products over all positions, by the share that the mask leaves", whole),
        Bound(f"its two products by {BLOCK} queries and the keys that they see", blocks),
        Bound("a pass that reads three arrays and writes one", memory),
        Bound("products by blocks and the pass together", blocks + memory),
    ])  # fmt: skip


def attention_gradient(case, batch, positions, heads, size):
    """Causal, with queries, keys and values in one tensor: of seven arrays four are read and three written."""
    count, share = batch * heads, (positions + 1) / (2 * positions)
    whole = [product(count, positions, positions, size, 2 * share), product(count, positions, size, positions, 3 * share)]
    blocks = []
    for seen in range(BLOCK, positions + 1, BLOCK):
        blocks += [product(count, BLOCK, seen, size, 2), product(count, seen, size, BLOCK, 2), product(count, BLOCK, size, seen, 1)]
    memory = [gone_through(count * positions * size, read=4, written=3)]
    return Exceptional("AttentionGradient", case, f"{batch}x{positions}x{heads}x{size}, causal", [
        Bound("its five products over all positions, by the share that the mask leaves", whole),
        Bound(f"its five products by {BLOCK} queries and the keys that they see", blocks),
        Bound("a pass that reads four arrays and writes three", memory),
        Bound("products by blocks and the pass together", blocks + memory),
    ])  # fmt: skip


EXCEPTIONS = [
    adamw("gpt_large", 1536, 384),
    adamw("mlp", 1024, 1024),
    passing("Sgd", "dlrm", "10000x32", 320000, read=1, changed=1),
    passing("SquareSum", "resnet", "512x512x3x3", 512 * 512 * 9, read=1),
    passing("GatherGradient", "dlrm", "256 rows of 10000x32", 320000, written=1),
    passing("GatherGradient", "pairs", "136 columns of 256x289", 256 * 289, written=1),
    passing("Gelu", "gpt", "32x64x512", 32 * 64 * 512, read=1, written=1),
    passing("GeluGradient", "gpt", "32x64x512", 32 * 64 * 512, read=2, written=1),
    batch_normalization("BatchNormalizationTraining", "relu_imagenet", (16, 64, 112, 112), 1),
    batch_normalization("BatchNormalizationGradient", "relu_imagenet", (16, 64, 112, 112), 2),
    batch_normalization("BatchNormalizationTraining", "clip_mobilenet", (8, 144, 56, 56), 1),
    batch_normalization("BatchNormalizationGradient", "clip_mobilenet", (8, 144, 56, 56), 2),
    batch_normalization("BatchNormalizationTraining", "relu_cifar", (32, 64, 8, 8), 1),
    batch_normalization("BatchNormalizationGradient", "relu_cifar", (32, 64, 8, 8), 2),
    attention("gpt_char_packed", 32, 64, 4, 32),
    attention_gradient("gpt_char_packed", 32, 64, 4, 32),
    attention_gradient("gpt_large_packed", 16, 128, 6, 64),
    attention_gradient("gpt2_packed", 4, 256, 12, 64),
]


def operator_seconds(each, options):
    """The median of what the seconds have time for, its operands not in the caches."""
    command = [OPERATORS, each.operator, "--case", each.case, "--threads", options.threads, "--seconds", options.seconds, "--cold", *each.flags]
    time.sleep(compare.PAUSE)
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    found = re.search(r" ([\d.]+) us ", done.stdout)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}, {done.stdout!r}")
    return float(found[1]) * 1e-6


def best(rates, line, index):
    """Seconds of the fastest library in a round."""
    return min(found[index]["seconds"] for found in rates.answers[line].values())


def measure(each, options):
    """Seconds of the operator, and of each of its bounds, by round."""
    rates, operator = Rates(options.threads, options.product_seconds), []
    lines = [line for bound in each.bounds for line, _ in bound.lines]
    for index in range(options.rounds):
        turns = [lambda: operator.append(operator_seconds(each, options)), lambda: rates.round(lines)]
        for turn in turns if index % 2 == 0 else reversed(turns):
            turn()
    rates.close()
    bounds = [
        [sum(times * best(rates, line, index) for line, times in bound.lines) for index in range(options.rounds)]
        for bound in each.bounds
    ]
    return operator, bounds


def ms(seconds):
    return f"{1e3 * statistics.median(seconds):.3g}"


def rows(each, operator, bounds):
    for at, (bound, seconds) in enumerate(zip(each.bounds, bounds)):
        ratios = sorted(b / o for b, o in zip(seconds, operator))
        first = (f"{each.operator}, {each.what}", ms(operator)) if at == 0 else ("", "")
        yield f"| {first[0]} | {first[1]} | {bound.what} | {ms(seconds)} | **{statistics.median(ratios):.2f}** ({ratios[0]:.2f}, {ratios[-1]:.2f}) |"


def head(options):
    command = " ".join(["python3", "bench/pytorch/roofline_exceptions.py", *sys.argv[1:]])
    return "\n".join([
        "# Operators below three quarters of their roofline, and what bounds them", "",
        f"{compare.cpu_name()}{', held to ' + options.cpu if options.cpu else ''}, {options.threads} threads, {datetime.datetime.now():%F %H:%M}; {options.rounds} rounds by turns, medians, in "
        f"brackets the least and the most; load at the start {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors.",
        f"`{command}`; what is measured and how: [bench/README.md](../README.md). Each operator is alone, with the shape that [the rooflines](roofline_cpu.md) name "
        "([held to AVX2](roofline_v3_cpu.md)); operands are in memory, not in a cache.", "",
        "| operator | ms | what it cannot do without | ms | of the operator's time |", "|---|--:|---|--:|--:|",
    ])  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", choices=sorted(compare.CAPS), help="keep all to these instructions; default: all of the machine's")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of an operator, in a round")
    parser.add_argument("--product-seconds", type=float, default=0.1, help="of a product or pass, in a round and library")
    parser.add_argument("--only", help="operators of such a name alone")
    options = parser.parse_args()
    for program in (OPERATORS, RATES):
        if not program.exists():
            sys.exit("build it first: ./bazelw build //bench:operators //bench:product_rates")
    os.environ.update(compare.CAPS.get(options.cpu, {}))
    print(head(options), flush=True)
    for each in EXCEPTIONS:
        if options.only in (None, each.operator):
            for row in rows(each, *measure(each, options)):
                print(row, flush=True)
    print(f"\nLoad at the end {os.getloadavg()[0]:.2f}.")


if __name__ == "__main__":
    main()
