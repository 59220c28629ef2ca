#!/usr/bin/env python3
"""GPT-2 of 124 million parameters on the CPU, against llm.c's trainer in C.

    git clone https://github.com/karpathy/llm.c FOLDER
    python3 bench/pytorch/llm_c.py FOLDER [--rounds 7] [--steps 2] >bench/results/llm_c_cpu.md

Compiles FOLDER/train_gpt2.c with -Ofast -march=native -fopenmp (its T set to 256, nothing else changed), writes the same weights and the same tokens for both, and
lets them take turns; both make AdamW steps of one batch of 4 x 256 tokens. PyTorch is only used to make weights, which are random, and to export the model. The first
losses of both, which llm.c prints with each step, must agree within a thousandth in every round, or it stops.
"""

import argparse
import dataclasses
import datetime
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import warnings

from compare import STEP_TIME, Side, cpu_name, onstage_command, upper_quartile

BATCH, TOKENS, PADDED = 4, 256, 50304
FLAGS = ("-Ofast", "-march=native", "-fopenmp", "-DOMP")
TOLERANCE = 1e-3
BAR = 5  # times as fast


def compile_trainer(sources, folder):
    text, count = re.subn(r"int T = 64;", f"int T = {TOKENS};", (sources / "train_gpt2.c").read_text())
    if count != 1:
        raise SystemExit(f"{sources / 'train_gpt2.c'}: no 'int T = 64;' to replace")
    (folder / "train_gpt2.c").write_text(text)
    program = folder / "train_gpt2"
    subprocess.run(["gcc", *FLAGS, f"-I{sources}", folder / "train_gpt2.c", "-lm", "-o", program], check=True)
    return program


def write_checkpoint(module, path):
    """In llm.c's layout, where the vocabulary is padded with zeros."""
    import numpy
    import torch

    blocks = module.blocks
    stacked = [
        (lambda b: b.ln1.weight), (lambda b: b.ln1.bias), (lambda b: b.attn.qkv.weight), (lambda b: b.attn.qkv.bias),
        (lambda b: b.attn.proj.weight), (lambda b: b.attn.proj.bias), (lambda b: b.ln2.weight), (lambda b: b.ln2.bias),
        (lambda b: b.up.weight), (lambda b: b.up.bias), (lambda b: b.down.weight), (lambda b: b.down.bias),
    ]  # fmt: skip
    embedding = module.wte.weight.detach()
    header = numpy.zeros(256, dtype=numpy.int32)
    header[:8] = [20240326, 3, TOKENS, embedding.shape[0], len(blocks), 12, embedding.shape[1], PADDED]
    with open(path, "wb") as file:
        file.write(header.tobytes())
        padding = torch.zeros(PADDED - embedding.shape[0], embedding.shape[1])
        values = [embedding, padding, module.wpe.weight, *(of(b) for of in stacked for b in blocks), module.ln.weight, module.ln.bias]
        for value in values:
            file.write(value.detach().numpy().astype(numpy.float32).tobytes())


def write_tokens(tokens, path):
    import numpy

    header = numpy.zeros(256, dtype=numpy.int32)
    header[:3] = [20240520, 1, len(tokens)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header.tobytes() + tokens.astype(numpy.uint16).tobytes())


def prepare(folder):
    """The files of both; the workload."""
    import numpy
    import workloads

    workload = dataclasses.replace(
        workloads.WORKLOADS["gpt2"], batch=BATCH,
        optimizer=("adamw", dict(lr=1e-4, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0)),
    )
    tokens = numpy.random.default_rng(1).integers(0, 50257, BATCH * TOKENS + 1)
    (name,) = workloads.data(workload)[0]
    (folder / "inputs").mkdir()
    numpy.save(folder / "inputs" / f"{name}.npy", tokens[:-1].reshape(BATCH, TOKENS))
    numpy.save(folder / "target.npy", tokens[1:].reshape(BATCH, TOKENS))
    for name in ("train", "val"):
        write_tokens(tokens, folder / "dev" / "data" / "tinyshakespeare" / f"tiny_shakespeare_{name}.bin")
    write_checkpoint(workloads.build(workload), folder / "gpt2_124M.bin")
    workloads.export(workload, folder / "model.onnx")
    return workload


def steps_of_trainer(program, folder, threads, steps):
    """Seconds and losses of its first steps; it is stopped after them."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    command = ["stdbuf", "-oL", program]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    seconds, losses = [], []
    for line in process.stdout:
        if found := re.match(r"step \d+: train loss ([\d.]+) \(took ([\d.]+) ms\)", line):
            losses.append(float(found[1]))
            seconds.append(float(found[2]) / 1e3)
        if len(seconds) == steps:
            break
    process.kill()
    process.wait()
    if len(seconds) < steps:
        raise SystemExit(f"{program}: stopped after {len(seconds)} steps")
    return seconds, losses


def our_steps(command, steps):
    side = Side(command)
    answer = side.run(steps)
    side.close()
    return answer["seconds"], (answer["first_loss"], answer["loss"])


def race(program, workload, folder, options):
    """Prints a row for each round as it ends; the ratios, and of the last round first and last losses of either side."""
    command = onstage_command(workload, folder / "model.onnx", folder, options.threads, options)
    turns = [lambda: steps_of_trainer(program, folder, options.threads, options.steps), lambda: our_steps(command, options.steps)]
    ratios, losses = [], {}
    for index in range(options.rounds):
        order = (0, 1) if index % 2 == 0 else (1, 0)
        results = {which: turns[which]() for which in order}
        losses = {which: (results[which][1][0], results[which][1][-1]) for which in order}
        if not abs(losses[0][0] - losses[1][0]) <= TOLERANCE * losses[0][0]:  # also where one is no number
            raise SystemExit(f"first losses do not agree: llm.c {losses[0][0]}, onstage {losses[1][0]}")
        # The first step of each touches memory for the first time.
        theirs, ours = (statistics.median(results[which][0][1:]) for which in (0, 1))
        ratios.append(theirs / ours)
        print(f"| {index + 1} | {theirs:.3f} | {ours:.3f} | {ratios[-1]:.2f} |", flush=True)
    return ratios, losses


def head(options, load):
    return "\n".join([
        "# GPT-2 124M against llm.c", "",
        f"By `bench/pytorch/llm_c.py`, {datetime.date.today().isoformat()}: {cpu_name()}, {options.threads} threads, {options.rounds} rounds by turns, each "
        f"{options.steps - 1} steps behind a first one; load at the start {load:.2f}.",
        f"llm.c's `train_gpt2.c` compiled with `gcc {' '.join(FLAGS)}`, T = {TOKENS}; batch {BATCH}, AdamW, the same random weights and the same tokens.", "",
        "| round | llm.c, s a step | onstage, s a step | times as fast |", "|--:|--:|--:|--:|",
    ])  # fmt: skip


def tail(options, ratios, losses):
    quartile = -upper_quartile([-ratio for ratio in ratios])
    first, last = ([losses[which][at] for which in (0, 1)] for at in (0, 1))
    return (
        f"\nMedian **{statistics.median(ratios):.2f}**, lower quartile {quartile:.2f}; the bar is {BAR}. First losses: llm.c {first[0]:.6f}, onstage {first[1]:.6f}; "
        f"of step {options.steps}: {last[0]:.6f}, {last[1]:.6f}."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=pathlib.Path, help="a checkout of llm.c")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=2, help="of a round of each, behind a first one that does not count")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--step-time", type=pathlib.Path, default=STEP_TIME, help="the program built by //bench:step_time")
    options = parser.parse_args()
    options.steps += 1
    warnings.filterwarnings("ignore")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        program = compile_trainer(options.sources.resolve(), folder)
        workload = prepare(folder)
        print(head(options, load), flush=True)
        print(tail(options, *race(program, workload, folder, options)))


if __name__ == "__main__":
    main()
