#!/usr/bin/env python3
"""Tries to break onstage: damaged models, arrays, JSON files and checkpoints, runs that are killed, calls that fail, and thirteen
faults that it once had. A crash, a hang, a file half written, a wrong result without a word is a finding.

  python3 tests/robust/attack/attack.py --onstage bazel-bin/tools/onstage                        everything, some hours
  python3 tests/robust/attack/attack.py --onstage BIN --scale 0.01                               a hundredth of it
  python3 tests/robust/attack/attack.py --onstage BIN --only models --first 371 --count 1 --keep DIR     one case again; its files stay in DIR
  python3 tests/robust/attack/attack.py --build --against a01839b --write bench/results/attack.md      builds all it needs, and an older state to compare with
  FAULTS=100 python3 tests/robust/attack/attack.py ...                                           calls that fail at 100 places of each kind, not at all places

A build with --config=sanitize sees more. Needs python3 alone. Prints "N passed, N failed" and exits with 1 where something was found.
"""

import argparse
import collections
import datetime
import multiprocessing
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import probes
import random_cases
import runner

COUNTS = {"models": 10_000, "arrays": 3_000, "json": 2_000, "checkpoints": 1_500, "kills": 200}


class Attack:
    def __init__(self, arguments, root):
        self.arguments, self.root = arguments, root
        self.setting = random_cases.Setting(root)
        self.program = runner.Program(arguments.onstage)

    def in_folder(self, what, *more):
        """Calls what(..., program, a new folder) and removes the folder, or keeps it where something was found."""
        folder = tempfile.mkdtemp(prefix="attack.")
        try:
            return what(*more, self.setting, self.program, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def prepare(self, folder):
        for name in ("json", "checkpoints"):
            os.makedirs(os.path.join(folder, name))
        self.setting.texts = random_cases.json_cases_of(self.setting, self.program, os.path.join(folder, "json"))
        random_cases.prepare_checkpoints(self.setting, self.program, os.path.join(folder, "checkpoints"))

    def case(self, place):
        kind, index = place
        folder = tempfile.mkdtemp(prefix="attack.")
        wrong, result = random_cases.run_case(kind, index, self.arguments.seed, self.setting, self.program, folder)
        if self.arguments.keep and (wrong or self.arguments.count == 1):
            kept = os.path.join(self.arguments.keep, f"{kind}-{index}")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, symlinks=True)
            with open(os.path.join(kept, "ended"), "wb") as file:
                file.write(f"{wrong}\n{shlex.join(self.program.last)}\nexit code {result.code}\n".encode() + result.stdout + b"\n" + result.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        return kind, index, wrong, result.code


def run_cases(attack, kinds):
    """kind -> (cases, findings, counts of exit codes, seconds)"""
    global shared
    shared = attack
    arguments, table = attack.arguments, {}
    for kind in kinds:
        count = arguments.count or max(1, round(COUNTS[kind] * arguments.scale))
        begin, codes, found = time.time(), collections.Counter(), []
        with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool:
            places = [(kind, index) for index in range(arguments.first, arguments.first + count)]
            for number, (_, index, wrong, code) in enumerate(pool.imap_unordered(run_one, places), 1):
                codes[code] += 1
                if wrong:
                    found.append((index, wrong))
                    print(f"FAILED  {kind} {index}: {wrong}", flush=True)
                if sys.stderr.isatty():
                    print(f"\r{kind}: {number} of {count}, {len(found)} found", end="", file=sys.stderr)
        seconds = time.time() - begin
        print(f"{'FAILED' if found else 'ok    '}  {kind}: {count} tried, {len(found)} found, {seconds:.0f} s; exit codes "
              + ", ".join(f"{code}: {n}" for code, n in sorted(codes.items())), flush=True)  # fmt: skip
        table[kind] = (count, found, codes, seconds)
    return table


def run_one(place):
    return shared.case(place)


def is_found(wrong):
    return bool(wrong) and not wrong.startswith("not run: ")


def run_probes(programs, only):
    """name -> what was found, None, or "not run: …" """
    table = {}
    for name, probe in probes.PROBES.items():
        if only and name not in only:
            continue
        with tempfile.TemporaryDirectory(prefix="attack.") as folder:
            try:
                table[name] = probe(programs, folder)
            except Exception as error:  # A probe that cannot be made has found nothing, and nobody may think that it held.
                table[name] = f"the probe itself failed: {error!r}"
        print(f"{'FAILED' if is_found(table[name]) else 'ok    '}  {name}: {table[name] or 'holds'}", flush=True)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onstage", help="the program")
    parser.add_argument("--sanitized", help="the program with sanitizers, for the probes that need them [--onstage]")
    parser.add_argument("--null-test", help="//tests/robust/attack:null_test")
    parser.add_argument("--fault", help="//tests/robust/faults:fault.so")
    parser.add_argument("--build", action="store_true", help="build these four here")
    parser.add_argument("--against", metavar="COMMIT", help="the probes on this commit, too, built in a folder of its own")
    parser.add_argument("--only", nargs="*", default=[], help=f"of {' '.join(COUNTS)} faults {' '.join(probes.PROBES)}; default: all")
    parser.add_argument("--scale", type=float, default=1, help="share of the cases [1]")
    parser.add_argument("--count", type=int, default=0, help="cases of each kind, instead")
    parser.add_argument("--first", type=int, default=0, help="number of the first case [0]")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", metavar="DIR", help="where the files of what was found are left")
    parser.add_argument("--write", metavar="FILE", help="write the tables there")
    arguments = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    if arguments.build:
        built = probes.build(root)
        for name, path in built.items():
            setattr(arguments, name, getattr(arguments, name) or path)
    if not arguments.onstage:
        parser.error("--onstage or --build is needed")
    programs = probes.Programs(root, arguments)
    begin = time.time()
    print(f"seed {arguments.seed}", flush=True)
    chosen = [kind for kind in COUNTS if not arguments.only or kind in arguments.only]
    wanted = [name for name in arguments.only if name in probes.PROBES]
    held = run_probes(programs, wanted) if wanted or not arguments.only else {}
    table = {}
    if chosen:
        attack = Attack(arguments, root)
        with tempfile.TemporaryDirectory(prefix="attack.") as folder:
            attack.prepare(folder)
            table = run_cases(attack, chosen)
    faults = probes.run_faults(programs, arguments) if "faults" in arguments.only or (not arguments.only and arguments.scale == 1) else None
    before = None
    if arguments.against:
        before = run_probes(probes.older(root, arguments), wanted)
    passed = sum(count - len(found) for count, found, _, _ in table.values()) + sum(wrong is None for wrong in held.values())
    failed = sum(len(found) for _, found, _, _ in table.values()) + sum(map(is_found, held.values()))
    if faults:
        passed, failed = passed + faults[0], failed + faults[1]
    if arguments.write:
        write(arguments, table, held, before, faults, time.time() - begin)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


def write(arguments, table, held, before, faults, seconds):
    version = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    lines = ["# What an attack found", "",
             f"{datetime.date.today()}, {version}, {seconds / 60:.0f} minutes on {os.cpu_count()} processors: `python3 tests/robust/attack/attack.py "
             + " ".join(word for word in sys.argv[1:]) + "`", "",
             f"Seed {arguments.seed}. " + ("The cases ran with the address and undefined-behaviour sanitizers."
                                           if runner.Program(arguments.onstage).sanitized else "The cases ran on the program as users have it."), "",
             "| kind | tried | found | exit codes |", "|---|---|---|---|"]  # fmt: skip
    for kind, (count, found, codes, _) in table.items():
        lines.append(f"| {kind} | {count} | {len(found)} | " + ", ".join(f"{code}: {n}" for code, n in sorted(codes.items())) + " |")
    if faults:
        places = "at every place" if os.environ.get("FAULTS", "all") == "all" else f"at most {os.environ['FAULTS']} places of each kind and command"
        lines.append(f"| one failing call, {places} | {sum(faults)} | {faults[1]} | |")
    lines += ["", "A killed run ends with the code of the run that was resumed; the other codes are those of `onstage --help`.", ""]
    if held:
        lines += ["| | what was wrong once | now |" + (f" on {arguments.against} |" if before else ""), "|---|---|---|" + ("---|" if before else "")]
        for name, wrong in held.items():
            row = f"| {name} | {probes.PROBES[name].__doc__} | {wrong or 'holds'} |"
            lines.append(row + (f" {before[name] or 'holds'} |" if before else ""))
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    with open(arguments.write, "w") as file:
        file.write("\n".join(lines).replace(root + "/", "") + "\n")


if __name__ == "__main__":
    sys.exit(main())
