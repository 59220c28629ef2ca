#!/usr/bin/env python3
"""Runs check, inspect and plan on each model of models.py, and fails where one takes too much or ends in another way than is listed.

The bars hold for processor time and resident memory, so that a slow or busy machine changes nothing. --write makes bench/results/hostile.md.
"""

import argparse
import datetime
import os
import re
import resource
import subprocess
import sys
import tempfile
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../attack"))
import models  # noqa: E402
import runner  # noqa: E402

BYTES_MOST = 1024
SECONDS_MOST = 5  # of the processor: five times what is promised
MEMORY_MOST = 100 << 20  # above what a trivial model takes
ADDRESSES_MOST = 4 << 30
PLACE = re.compile(r"hostile\.onnx|'[^']+'|the model|no plan fits")
COMMANDS = {"check": [], "inspect": [], "plan": ["--stages", "2", "--loss", "mse", "--threads", "1", "--memory", "8GiB"]}


def run(program, command, model):
    """The command in a folder that holds the model alone: the result, and what is wrong with its end."""
    with tempfile.TemporaryDirectory(prefix="hostile.") as folder:
        with open(os.path.join(folder, "hostile.onnx"), "wb") as file:
            file.write(model)
        limits = [(resource.RLIMIT_CPU, 60 if program.sanitized else 20)]
        if not program.sanitized:  # which take terabytes of addresses
            limits.append((resource.RLIMIT_AS, ADDRESSES_MOST))
        result = program.run([command, "hostile.onnx", *COMMANDS[command]], folder, seconds=120, limits=limits)
        return result, runner.judge(program, result, folder)


def find_faults(program, model, result, end, code, baseline):
    """What is wrong with one run; an empty list: nothing."""
    faults = [end] if end else []
    if len(model) > BYTES_MOST:
        faults.append(f"the model has {len(model)} bytes")
    if result.code != code:
        faults.append(f"exit code {result.code} instead of {code}")
    said = result.message or result.stdout.decode(errors="replace")
    if result.code != 0 and end is None and not PLACE.search(said):
        faults.append(f"the message names no place: {result.message}")
    if program.sanitized:
        return faults
    if result.seconds > SECONDS_MOST:
        faults.append(f"{result.seconds:.1f} s of the processor, more than {SECONDS_MOST}")
    if result.resident > baseline + MEMORY_MOST:
        faults.append(f"{(result.resident - baseline) >> 20} MiB above a trivial model, more than {MEMORY_MOST >> 20}")
    return faults


def trivial():
    return models.around([models.node("Relu", "h", "r")])


def check_the_test(program):
    """The bars catch what they are for: results as of a program that is slow, large, killed or ends otherwise."""

    def made(code=3, message=b"onstage: hostile.onnx: no", seconds=0.1, memory=1 << 20, late=False):
        usage = types.SimpleNamespace(ru_maxrss=memory >> 10, ru_utime=seconds, ru_stime=0)
        return runner.Result(code, b"", message, usage, late)

    cases = {"good": (made(), 0), "code": (made(code=0), 1), "killed": (made(code=-9), 2), "late": (made(late=True), 1), "no place": (made(message=b"onstage: no"), 1)}
    if not program.sanitized:
        cases |= {"slow": (made(seconds=SECONDS_MOST + 1), 1), "large": (made(memory=MEMORY_MOST + (2 << 20)), 1)}
    with tempfile.TemporaryDirectory() as folder:
        wrong = {name: find_faults(program, b"", result, runner.judge(program, result, folder), 3, 1 << 20) for name, (result, _) in cases.items()}
    return [f"the test itself: '{name}' gives {wrong[name]}" for name, (_, count) in cases.items() if len(wrong[name]) != count]


def write_table(path, rows, baselines):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    most = {c: (max(r[2].seconds for r in rows if r[1] == c), max(r[2].resident for r in rows if r[1] == c)) for c in COMMANDS}
    with open(path, "w") as file:
        print("# Small hostile models\n", file=file)
        print(f"{datetime.date.today()}, {commit}: `python3 tests/robust/hostile/hostile.py --onstage bazel-bin/tools/onstage --write bench/results/hostile.md`\n", file=file)
        print(f"{len(rows) // len(COMMANDS)} models of at most 1 KiB ([models.py](../../tests/robust/hostile/models.py)). Each command should take at most 1 s of the", file=file)
        print("processor and 100 MiB above what it takes for a trivial model. Exit codes as in `onstage --help`.\n", file=file)
        print("| | trivial model, MiB | most processor time, s | most memory above trivial, MiB | over a bar |\n|---|---|---|---|---|", file=file)
        for c in COMMANDS:
            over = sum(r[2].seconds > 1 or r[2].resident > baselines[c] + MEMORY_MOST for r in rows if r[1] == c)
            print(f"| {c} | {baselines[c] >> 20} | {most[c][0]:.2f} | {max(0, most[c][1] - baselines[c]) >> 20} | {over} |", file=file)
        print("\n| model | bytes | check: code, s, MiB above | inspect | plan |\n|---|---|---|---|---|", file=file)
        for name, model in {r[0]: r[3] for r in rows}.items():
            cells = [f"{r[2].code}, {r[2].seconds:.2f}, {max(0, r[2].resident - baselines[r[1]]) >> 20}" for r in rows if r[0] == name]
            print(f"| {name} | {len(model)} | " + " | ".join(cells) + " |", file=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--onstage", required=True, help="the program")
    parser.add_argument("--only", default=".*", help="models with such names (a regular expression)")
    parser.add_argument("--write", help="write the table to this file")
    parser.add_argument("--keep", help="write the models into this folder, and run nothing")
    arguments = parser.parse_args()
    chosen = {name: build() for name, build in models.MODELS.items() if re.fullmatch(arguments.only, name)}
    if arguments.keep:
        for name, model in chosen.items():
            with open(os.path.join(arguments.keep, name + ".onnx"), "wb") as file:
                file.write(model)
        return 0
    program = runner.Program(arguments.onstage)
    failures = check_the_test(program)
    baselines, rows = {}, []
    for command in COMMANDS:
        result, end = run(program, command, trivial())
        baselines[command] = result.resident
        if end or result.code != 0:
            failures.append(f"trivial model, {command}: exit code {result.code} {end}")
    for name, model in chosen.items():
        for command, code in zip(COMMANDS, models.CODES[name]):
            result, end = run(program, command, model)
            rows.append((name, command, result, model))
            faults = find_faults(program, model, result, end, code, baselines[command])
            print(f"{name:32} {command:8}{result.code:3}{result.seconds:7.2f} s{(result.resident - baselines[command]) >> 20:6} MiB  {'; '.join(faults)}", flush=True)
            failures += [f"{name}, {command}: {fault}" for fault in faults]
    if arguments.write:
        write_table(arguments.write, rows, baselines)
    print("\n".join(["", *failures, f"{len(rows)} runs of {len(chosen)} models, {len(failures)} failures"]))
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
