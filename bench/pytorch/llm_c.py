#!/usr/bin/env python3
"""GPT-2 of 124 million parameters on the CPU, against llm.c's trainer in C.

    git clone https://github.com/karpathy/llm.c FOLDER
    python3 bench/pytorch/llm_c.py FOLDER [--rounds 7] [--steps 2] >bench/results/llm_c_cpu.md

Compiles FOLDER/train_gpt2.c with -Ofast -march=native -fopenmp (its T set to 256, nothing else changed), writes the same weights and the same tokens for both, and
lets them take turns; both make AdamW steps of one batch of 4 x 256 tokens. PyTorch is only used to make weights and to export the model. The losses of both must agree.
"""

import argparse
import dataclasses
import datetime
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import warnings

from compare import STEP_TIME, Side, cpu_name, onstage_command

BATCH, TOKENS, PADDED = 4, 256, 50304
FLAGS = ("-Ofast", "-march=native", "-fopenmp", "-DOMP")
TOLERANCE = 1e-3


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


def race(program, workload, folder, options):
    command = onstage_command(workload, folder / "model.onnx", folder, options.threads, options)
    ours, theirs, ratios, losses = [], [], [], None
    for index in range(options.rounds):
        turns = [lambda: steps_of_trainer(program, folder, options.threads, options.steps), lambda: our_steps(command, options.steps)]
        order = (0, 1) if index % 2 == 0 else (1, 0)
        results = {which: turns[which]() for which in order}
        losses = (results[0][1][0], results[1][1])
        # The first step of each touches memory for the first time.
        theirs.append(statistics.median(results[0][0][1:]))
        ours.append(statistics.median(results[1][0][1:]))
        ratios.append(theirs[-1] / ours[-1])
        print(f"round {index + 1}: {theirs[-1]:.3f} s, {ours[-1]:.3f} s", file=sys.stderr)
    if abs(losses[0] - losses[1]) > TOLERANCE * losses[0]:
        raise SystemExit(f"first losses do not agree: llm.c {losses[0]}, onstage {losses[1]}")
    return statistics.median(theirs), statistics.median(ours), ratios, losses


def our_steps(command, steps):
    side = Side(command)
    answer = side.run(steps)
    side.close()
    return answer["seconds"], answer["first_loss"]


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
        theirs, ours, ratios, losses = race(program, workload, folder, options)
    print("# GPT-2 124M against llm.c\n")
    print(f"Written by `bench/pytorch/llm_c.py` ({datetime.date.today().isoformat()}): {cpu_name()}, {options.threads} thread(s), {options.rounds} rounds "
          f"by turns, medians; load at the start {load:.2f}.\nllm.c's `train_gpt2.c` compiled with `gcc {' '.join(FLAGS)}`, T = {TOKENS}; batch {BATCH}, AdamW, the same "
          f"weights and tokens. First losses: llm.c {losses[0]:.6f}, onstage {losses[1]:.6f}.\n")
    print("| llm.c, ms a step | onstage, ms a step | times as fast (least, most) | the bar |\n|--:|--:|--:|--:|")
    print(f"| {1e3 * theirs:.0f} | {1e3 * ours:.0f} | **{statistics.median(ratios):.2f}** ({min(ratios):.2f}, {max(ratios):.2f}) | 5 |")


if __name__ == "__main__":
    main()
