"""The best rate that any library reaches on a product or convolution, and the memory's, the libraries taking turns."""

import math
import os
import statistics
import sys

import compare

RATES = compare.ROOT / "bazel-bin" / "bench" / "product_rates"
LADDER = [2**n for n in range(15, 28, 2)]  # sizes of streams, bytes
# What a library's time is: which of the times that it answers with, and what of the rounds.
STATISTICS = {"median": ("seconds", statistics.median), "fast": ("fast", statistics.median), "least": ("least", min)}
PAUSE = 0.05  # seconds, between libraries whose threads spin
# Which libraries have what a line begins with.
LIBRARIES = {"product": ("oneDNN", "PyTorch", "OpenBLAS"), "stream": ("oneDNN", "PyTorch"), "pass": ("oneDNN",)}


class Rates:
    def __init__(self, threads, seconds):
        worker = [sys.executable, compare.HERE / "roofline_worker.py"]
        os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
        self.sides = {
            "oneDNN": compare.Side([RATES, threads]),
            "PyTorch": compare.Side([*worker, "torch", threads]),
            "OpenBLAS": compare.Side([*worker, "numpy", threads]),
        }
        self.seconds = seconds
        self.answers = {}  # line: {library: [answer, ...]}

    def round(self, lines):
        """Every library makes each of the lines once; who begins changes from call to call."""
        for line in dict.fromkeys(lines):
            answers = self.answers.setdefault(line, {})
            names = LIBRARIES.get(line.split()[0], ("PyTorch",))
            turn = len(answers.get(names[0], ())) % len(names)
            for name in names[turn:] + names[:turn]:
                found = answers.setdefault(name, [])
                form = found[0]["form"] if found else -1
                found.append(self.sides[name].ask(f"{line} {form} {self.seconds}", PAUSE))

    def best(self, line, statistic):
        """(seconds, library, form) of the fastest; `statistic`: one of STATISTICS."""
        key, middle = STATISTICS[statistic]
        return min(
            (middle([a[key] for a in found]), name, found[0]["form"]) for name, found in self.answers[line].items()
        )

    def bandwidth(self, size, statistic):
        """Bytes a second, read and written, of arrays of so many bytes: between the two of those measured that lie around it."""
        sizes = sorted(int(line.split()[1]) for line in self.answers if line.startswith("stream"))
        size = min(max(size, sizes[0]), sizes[-1])
        above = next(s for s in sizes if s >= size)
        below = max((s for s in sizes if s <= size), default=above)
        low, high = self._bandwidth(below, statistic), self._bandwidth(above, statistic)
        return low if above == below else low + (high - low) * math.log(size / below) / math.log(above / below)

    def _bandwidth(self, size, statistic):
        key, middle = STATISTICS[statistic]
        return max(found[0]["bytes"] / middle([a[key] for a in found]) for found in self.answers[f"stream {size}"].values())

    def close(self):
        for side in self.sides.values():
            side.close()
