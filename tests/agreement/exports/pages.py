#!/usr/bin/env python3
"""Runs the examples of a page as they are written, and checks what they train.

    ./bazelw build //tools:onstage
    python3 tests/agreement/exports/pages.py docs/export_pytorch.md       # one page; --keep DIR leaves what it made there

Blocks fenced as python, sh or bash run one after the other in an empty folder, each python block in an interpreter of its own and each other one in
bash, where `onstage` and this python3 are on the PATH. Each must end well. A text block behind one is a sample of its output: its lines must be there, in any
order, with losses that are near (numbers of four decimals); other numbers differ between machines, and lines of "…" stand for any. Blocks that are
indented or have another name are for people alone.

Every file of an --out must be there, pass onnx.checker, and load in ONNX Runtime where that is installed. requirements_pages.txt says what the pages
need; --python runs blocks with another interpreter than this one.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHELLS = ("sh", "bash")
SECONDS = 1800  # for a block
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?")
LOSS = re.compile(r"\d+\.\d{4,}")
SIZE = re.compile(r"\b[KMG]iB\b|\bB\b")
TOLERANCE = 0.05  # of losses in a sample, relative

CHECK = """
import sys, onnx
path = sys.argv[1]
onnx.checker.check_model(path, full_check=True)
try:
    import onnxruntime
except ImportError:
    print("onnx.checker")
else:
    onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    print("onnx.checker, ONNX Runtime", onnxruntime.__version__)
"""


@dataclasses.dataclass
class Block:
    kind: str
    line: int
    text: str


def get_blocks(page):
    blocks, block = [], None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is None and line.startswith("```"):
            block = Block(line[3:].strip(), number + 1, "")
        elif block is not None and line.startswith("```"):
            blocks.append(block)
            block = None
        elif block is not None:
            block.text += line + "\n"
    if block is not None:
        sys.exit(f"{page}:{block.line}: this block does not end")
    return blocks


def single_spaced(text):
    return " ".join(text.split())


def agrees(ours, theirs):
    """Numbers of four decimals or more are losses, which differ little; times, rates and versions may be any."""
    if not LOSS.fullmatch(ours):
        return True
    return LOSS.fullmatch(theirs) is not None and abs(float(ours) - float(theirs)) <= TOLERANCE * abs(float(ours))


def is_in(line, output):
    """Whether the line is somewhere in the output, with other numbers and units of size."""
    parts = [SIZE.sub("[KMG]?i?B", re.escape(part)) for part in NUMBER.split(line)]
    pattern = re.compile(f"({NUMBER.pattern})".join(parts))
    ours = NUMBER.findall(line)
    return any(all(map(agrees, ours, found.groups())) for found in pattern.finditer(output))


def missing_lines(sample, output):
    """Lines of the sample that the output lacks; the output may break its lines elsewhere."""
    output = single_spaced(output)
    return [line for line in sample.splitlines() if line.strip() not in ("", "…") and not is_in(single_spaced(line), output)]


def trained_files(text):
    """What onstage was told to write."""
    words = shlex.split(text.replace("\\\n", " "), comments=True)
    return [b for a, b in zip(words, words[1:]) if a == "--out"] + [w.removeprefix("--out=") for w in words if w.startswith("--out=")]


def run(words, folder, environment):
    try:
        return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"not done in {SECONDS} s\n")


class Page:
    def __init__(self, options, path, folder):
        self.path, self.folder, self.python = path, folder, options.python
        self.verbose, self.failures, self.trained, self.ran, self.samples = options.verbose, 0, [], 0, 0
        binaries = folder.parent / "bin"
        binaries.mkdir(exist_ok=True)
        (binaries / "onstage").unlink(missing_ok=True)
        (binaries / "onstage").symlink_to(pathlib.Path(options.onstage).resolve())
        places = [str(binaries), str(pathlib.Path(options.python).absolute().parent), os.environ.get("PATH", "")]
        self.environment = {**os.environ, "PATH": os.pathsep.join(places)}

    def fail(self, line, message, detail=""):
        self.failures += 1
        print(f"{self.path}:{line}: {message}")
        for text in detail.splitlines()[-40:]:
            print("    " + text)

    def run_block(self, block):
        self.ran += 1
        words = [self.python, "-c", block.text] if block.kind == "python" else ["bash", "-eo", "pipefail", "-c", block.text]
        done = run(words, self.folder, self.environment)
        output = done.stdout + done.stderr
        if self.verbose:
            print(f"--- {self.path}:{block.line}\n{output}", flush=True)
        if done.returncode != 0:
            self.fail(block.line, f"exit code {done.returncode}", output)
        elif block.kind in SHELLS:
            self.trained += [(block.line, name) for name in trained_files(block.text)]
        return output if done.returncode == 0 else None

    def compare(self, sample, output):
        self.samples += 1
        missing = missing_lines(sample.text, output)
        if missing:
            self.fail(sample.line, "the output lacks", "\n".join(missing) + "\nwhich was\n" + output)

    def check(self, line, name):
        done = run([self.python, "-c", CHECK, name], self.folder, self.environment)
        if done.returncode != 0:
            self.fail(line, f"{name} does not load", done.stderr)
        else:
            print(f"{self.path}:{line}: {name}: {done.stdout.strip()}")

    def test(self):
        output = None  # of the block before
        for block in get_blocks(self.path):
            if block.kind == "text":
                if output is not None:
                    self.compare(block, output)
                output = None
            elif block.kind == "python" or block.kind in SHELLS:
                output = self.run_block(block)
        for line, name in self.trained:
            self.check(line, name)
        print(f"{self.path}: {self.ran} blocks, {self.samples} samples of output, {len(self.trained)} trained models, {self.failures} failures")
        return self.failures == 0 and self.ran > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--onstage", default=str(ROOT / "bazel-bin/tools/onstage"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true", help="print what every block prints")
    options = parser.parse_args()
    if not os.access(options.onstage, os.X_OK):
        sys.exit(f"{options.onstage} is not there: ./bazelw build //tools:onstage, or --onstage FILE")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "page"
        folder.mkdir()
        good = Page(options, options.page, folder).test()
        if options.keep:
            shutil.copytree(folder, options.keep, dirs_exist_ok=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
