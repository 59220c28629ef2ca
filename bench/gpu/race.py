#!/usr/bin/env python3
"""Training steps of onstage, PyTorch eager and torch.compile on a GPU, in turns.

    race.py FOLDER STEP_TIME --seconds N [--precision bf16] [--models NAME,...] [--ceiling FLOPS] [--records FILE]

FOLDER holds what models.py makes (graphs, weights, data); STEP_TIME is //bench:step_time. Each model gets an even share of the time
that is left; where that is not enough for all, the first ones get it. A round is so many steps of each of the three, the order changes
from round to round, and the ratio is the median over the rounds. A line is written to FILE for each model as soon as it is known: name, state, detail, numbers, separated by tabs."""

import argparse
import json
import os
import pathlib
import selectors
import statistics
import subprocess
import sys
import time

import models

HERE = pathlib.Path(__file__).resolve().parent
ROUND_SECONDS, ROUNDS_MOST, WARM_UP = 1.0, 7, 3
ANSWER_SECONDS = 150  # of one answer, at most
WORKER_BYTES = 6 << 30  # of the host's memory that one of PyTorch's processes takes at most while it reads weights


class Late(Exception):
    """A side that was too slow or stopped."""

    def __init__(self, side, why, stopped=False):
        super().__init__(f"{side} {why}")
        self.side, self.stopped = side, stopped


class Side:
    """A process that trains when told to. `imports`: it says so when its modules are there, and waits for a word to take the GPU."""

    def __init__(self, name, command, environment, log, imports):
        self.name, self.log, self.imports = name, log, imports
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(log, "wb"),
            env=environment,
        )
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.about = None

    def answer(self, end):
        left = min(end - time.monotonic(), ANSWER_SECONDS)
        if left <= 0 or not self.selector.select(left):
            raise Late(self.name, "took too long")
        line = self.process.stdout.readline()
        if not line:
            last = self.log.read_text(errors="replace").strip().splitlines()[-1:] or ["nothing said"]
            raise Late(self.name, f"stopped with {self.process.wait()}: {last[0][-200:]}", True)
        return json.loads(line)

    def tell(self, words):
        try:
            self.process.stdin.write(f"{words}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer says why

    def await_imports(self, end):
        if self.imports:
            self.answer(end)
            self.imports = False

    def start(self, end):
        taking = self.name != "onstage"
        self.await_imports(end)
        if taking:
            self.tell("start")
        self.about = self.answer(end)

    def run(self, steps, end):
        self.tell(f"run {steps}")
        return self.answer(end)

    def close(self):
        self.process.kill()
        self.process.wait()


def ours_command(options, name, workload):
    path = options.folder / name
    words = [options.step_time, f"{path}.onnx", "--device", options.device, "--precision", options.precision]
    words += ["--input", f"x={path}.x.npy", "--target", f"{path}.target.npy", "--batch", workload.batch]
    words += ["--loss", "cross_entropy", "--optimizer", "adamw", "--lr", "1e-4", "--shuffle", "false", "--steps", 10**9]
    return words


def ours_of(options, name, workload):
    environment = dict(os.environ)
    if options.library_path:
        environment["LD_LIBRARY_PATH"] = options.library_path
    return Side("onstage", ours_command(options, name, workload), environment, options.folder / f"{name}.onstage.log", False)


def torch_of(options, name):
    environment = dict(os.environ, ONSTAGE_BENCH_DEVICE=options.device)
    made = []
    for kind in ("eager", "compile"):
        command = [sys.executable, "-W", "ignore", HERE / "worker.py", name, options.folder, kind, options.precision]
        made.append(Side(kind, command, environment, options.folder / f"{name}.{kind}.log", True))
    return made


def free_bytes():
    try:
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return 0


def workers(options, names, end):
    """PyTorch's processes for each model. Where the host's memory holds them all, modules of all are there before the first time is
    taken, and nobody waits for them later; otherwise a model's are started (`None`) when its turn comes."""
    if free_bytes() < 2 * len(names) * WORKER_BYTES:
        return dict.fromkeys(names)
    torch = {name: torch_of(options, name) for name in names}
    for sides in torch.values():
        for side in sides:
            try:
                side.await_imports(end)
            except Late:
                pass  # its start says it
    return torch


def check_losses(first, precision):
    bar = 2e-2 if precision == "bf16" else 1e-3
    if not abs(first["onstage"] - first["eager"]) <= bar * abs(first["eager"]):
        raise ValueError(f"not the same training: first loss {first['onstage']:.5f} against {first['eager']:.5f}")


def warm(sides, end, precision):
    """Starts all and makes the first steps: who is there, why others are not, and how many steps make a round."""
    alive, failed, first, steps = [], {}, {}, {}
    for side in sides:
        try:
            side.start(end)
            first[side.name] = side.run(1, end)["first_loss"]
            seconds = side.run(WARM_UP, end)["seconds"][-1]
            steps[side.name] = max(2, min(200, int(ROUND_SECONDS / seconds)))
            alive.append(side)
        except Late as late:
            failed[side.name] = str(late)
            side.close()
    if "onstage" in failed:
        raise ValueError(failed["onstage"])
    if "eager" in first:
        check_losses(first, precision)
    return alive, failed, steps


def race(options, name, sides, end):
    """Seconds of a step of each side, by rounds; who failed; PyTorch's count of operations."""
    # A side that is not ready in time leaves enough for a round of the others.
    alive, failed, steps = warm(sides, end - 2 * ROUND_SECONDS * len(sides), options.precision)
    rounds = []
    for index in range(ROUNDS_MOST):
        if rounds and end - time.monotonic() < 1.5 * ROUND_SECONDS * len(alive):
            break
        turn = alive[index % len(alive) :] + alive[: index % len(alive)]
        try:
            rounds.append({side.name: statistics.mean(side.run(steps[side.name], end)["seconds"]) for side in turn})
        except Late as late:
            if not rounds or late.side == "onstage" and late.stopped:
                raise
            failed[late.side] = f"{late} in round {index + 1}"
            break
    flops = next((side.about.get("flops", 0) for side in alive if side.name == "eager"), 0)
    return rounds, failed, flops


def describe(options, name, rounds, failed, flops):
    workload = models.WORKLOADS[name]
    median = {side: statistics.median(r[side] for r in rounds) for side in rounds[0]}
    numbers = {"rounds": len(rounds), "batch": workload.batch}
    if workload.outputs != workload.classes:
        numbers.update(vocabulary=workload.classes, padded_vocabulary=workload.outputs)
    rate = workload.batch * workload.units / median["onstage"]
    numbers["per_second"] = rate
    for side, seconds in median.items():
        numbers[f"{side}_ms"] = 1e3 * seconds
    ratios = {}
    for side in ("eager", "compile"):
        if side in median:
            ratios[side] = statistics.median(r[side] / r["onstage"] for r in rounds)
            numbers[f"speedup_over_{side}"] = ratios[side]
    detail = f"{workload.what}: {rate:.4g} {workload.unit}/s"
    detail += "".join(f", {ratio:.3f} of {side}" for side, ratio in ratios.items())
    if flops > 0 and options.ceiling > 0:
        numbers["utilisation"] = flops / median["onstage"] / options.ceiling
        detail += f", {100 * numbers['utilisation']:.0f} % of the ceiling"
    if workload.outputs != workload.classes:
        detail += f"; vocabulary of {workload.classes} padded to {workload.outputs} on both sides"
    for side, why in failed.items():
        detail += f"; {side}: {why}"
    if "compile" not in ratios:
        return "not run", detail + "; nothing to compare with", numbers
    return "passed" if ratios["compile"] >= 1 else "failed", detail, numbers


def tell(options, name, state, detail, numbers):
    text = " ".join(f"{key}={value:.6g}" for key, value in numbers.items())
    line = "\t".join((f"{name} {options.precision}", state, detail.replace("\t", " ").replace("\n", " "), text))
    print(line, flush=True)
    if options.records:
        with open(options.records, "a") as records:
            records.write(line + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("step_time", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--models", default=",".join(models.BENCHMARKS))
    parser.add_argument("--ceiling", type=float, default=0, help="FLOP/s of matrix products in this precision")
    parser.add_argument("--least", type=float, default=60, help="seconds without which a model is not begun")
    parser.add_argument("--records", help="lines are appended to this file")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--library-path", help="LD_LIBRARY_PATH of onstage")
    return parser.parse_args()


def compare(options, name, torch, end):
    """State, detail, numbers."""
    if not (options.folder / f"{name}.bin").exists():
        return "not run", f"no {name}.bin", {}
    if end - time.monotonic() < 0.9 * options.least:
        return "not run", "no time left", {}
    workload = models.WORKLOADS[name]
    sides = [ours_of(options, name, workload), *(torch or torch_of(options, name))]
    try:
        return describe(options, name, *race(options, name, sides, end))
    except Late as late:
        # Here the time may have been used up by another side.
        return "failed" if late.side == "onstage" and late.stopped else "not run", str(late), {}
    except (ValueError, OSError, IndexError) as error:
        return "failed", str(error), {}
    finally:
        for side in sides:
            side.close()


def run_all(options, torch, end):
    ratios = []
    for index, name in enumerate(torch):
        left = end - time.monotonic()
        share = left / max(1, min(len(torch) - index, int(left / options.least)))
        state, detail, numbers = compare(options, name, torch[name], time.monotonic() + share)
        tell(options, name, state, detail, numbers)
        if "speedup_over_compile" in numbers:
            ratios.append(numbers["speedup_over_compile"])
    if ratios:
        mean = statistics.geometric_mean(ratios)
        state = "not run" if len(ratios) < len(torch) else "passed" if mean >= 1.1 else "failed"
        tell(options, "all models", state, f"{mean:.3f} of torch.compile in the mean of {len(ratios)}", {"speedup": mean})


def main():
    options = arguments()
    end = time.monotonic() + options.seconds
    torch = workers(options, options.models.split(","), time.monotonic() + options.seconds / 4)
    try:
        run_all(options, torch, end)
    finally:
        for sides in torch.values():
            for side in sides or ():
                side.close()


if __name__ == "__main__":
    main()
