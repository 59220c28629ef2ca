#!/usr/bin/env python3
"""Compares the time of a training step, and memory, between onstage and PyTorch on this machine's CPU.

    ./bazelw build //bench:step_time
    python3 bench/pytorch/compare.py [--models NAME,...] [--rounds N] [--write]

The two take turns, round by round, on the same model, data, batch, optimiser and threads; while one runs, the other
waits for input. The ratio is the median over the rounds of the ratio of the rounds' median step times. See bench/README.md.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STEP_TIME = ROOT / "bazel-bin" / "bench" / "step_time"
# What keeps a process to the instructions of a variant of kernels/kernels.h: of ours, and of PyTorch with its libraries.
# torch.compile takes what it once compiled for other instructions, and computes nonsense: what is held back has a cache of its own.
CAPS = {
    "v3": {
        "ONSTAGE_CPU": "v3", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "TORCHINDUCTOR_CACHE_DIR": str(pathlib.Path(tempfile.gettempdir()) / "torchinductor_v3"),
    },
    "v4": {"ONSTAGE_CPU": "v4"},
}
# What a variant's words may be: worker.py.
WORDS = {"default", "foreach", "fused", "sdpa", "channels_last", "compile"}
# Steps of well under a millisecond here, where PyTorch's are its calls: no bar is about them.
TINY = {"mlp_small", "resnet18_small", "gpt_small", "lstm_small", "mlp_frozen", "cnn_dynamic"}
PAUSE = 0.3  # seconds: threads that spin for the next piece of work have gone to sleep by then


class Stopped(SystemExit):
    """A process that ended by itself."""


class Side:
    """A process that trains when told to."""

    def __init__(self, command):
        self.command = [str(word) for word in command]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Stopped(f"{' '.join(self.command)}: stopped, exit code {self.process.wait()}")
        return json.loads(line)

    def ask(self, line, pause=PAUSE):
        time.sleep(pause)
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self._answer()

    def run(self, steps):
        return self.ask(f"run {steps}")

    def peak_bytes(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) * 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def steps_for(seconds, step):
    """As many steps as fill the time, at least 3."""
    return max(3, min(5000, int(seconds / step)))


def variants_of(workload, channels_last, compiled):
    """The ways to run it in PyTorch that are tried, so that the fastest is compared."""
    attentions = [[], ["sdpa"]] if workload.is_transformer else [[]]
    if channels_last and len(workload.shape) == 3:
        attentions.append(["channels_last"])
    eager = [a + o for a in attentions for o in ([], ["foreach"], ["fused"])]
    return eager + [a + o + ["compile"] for a in attentions for o in ([], ["fused"]) if compiled]


def try_variant(name, variant, threads, options):
    """The median step time, the first loss and the growth of memory of a variant."""
    side = Side([sys.executable, HERE / "worker.py", name, threads, *variant])
    first = side.run(3)
    count = steps_for(options.seconds / 2, min(first["seconds"]))
    # Twice, and the better one: a moment's disturbance must not decide.
    answers = [side.run(count) for _ in range(2)]
    side.close()
    return {
        "seconds": min(statistics.median(answer["seconds"]) for answer in answers),
        "first_loss": first["first_loss"],
        "growth_bytes": answers[-1]["peak_bytes"] - answers[-1]["before_bytes"],
    }


def is_same(loss, other):
    return abs(loss - other) <= 1e-4 * abs(other)  # false for NaN


def fastest(name, workload, threads, options, first_loss=None):
    """The variant with the least median step time, and what was measured of each. Where a first loss is given, a variant that
    has another one is out: it trains another model, which has happened to compiled ones (see CAPS)."""
    if options.variant is None:
        variants = variants_of(workload, options.channels_last, options.compile)
    else:
        variants = [v.split("+") for v in options.variant.split(",")]
        unknown = {word for variant in variants for word in variant} - WORDS
        if unknown:
            raise SystemExit(f"unknown words {sorted(unknown)} in --variant; there are {', '.join(sorted(WORDS))}")
        if len(variants) == 1:
            return " ".join(variants[0]), {}
    # One at a time: each has the memory to itself.
    tried = {}
    for variant in variants:
        try:
            tried[" ".join(variant) or "default"] = try_variant(name, variant, threads, options)
        except Stopped as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
    right = {v: r for v, r in tried.items() if first_loss is None or is_same(r["first_loss"], first_loss)}
    for variant in set(tried) - set(right):
        print(f"{name}, {variant}: first loss {tried[variant]['first_loss']} against {first_loss}", file=sys.stderr, flush=True)
    if not right:
        raise SystemExit("no variant trains the same model")
    return min(right, key=lambda variant: right[variant]["seconds"]), tried


def growth_of(tried, first_loss, raced, growth):
    """What PyTorch's memory is taken to be: that of the fastest variant that is not compiled, since a compiled one's is the
    compiler's, too."""
    eager = [result for variant, result in tried.items() if "compile" not in variant.split() and is_same(result["first_loss"], first_loss)]
    if "compile" not in raced.split() or not eager:
        return growth
    return min(eager, key=lambda result: result["seconds"])["growth_bytes"]


def onstage_command(workload, model, folder, threads, options):
    kind, settings = workload.optimizer
    words = [options.step_time, model, "--target", folder / "target.npy"]
    for array in sorted((folder / "inputs").iterdir()):
        words += ["--input", f"{array.stem}={array}"]
    words += ["--batch", workload.batch, "--loss", workload.loss, "--optimizer", kind, "--threads", threads]
    words += ["--shuffle", "false", "--steps", 10**9, "--dropout", "off"]
    for key, value in settings.items():
        words += ["--" + key.replace("_", "-"), value]
    return words + list(workload.flags)


@contextlib.contextmanager
def model_and_data(workload):
    """A folder with model.onnx, inputs/NAME.npy and target.npy, for as long as it is used."""
    import numpy
    import workloads

    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        inputs, target = workloads.data(workload)
        (folder / "inputs").mkdir()
        for name, x in inputs.items():
            numpy.save(folder / "inputs" / f"{name}.npy", x.numpy())
        numpy.save(folder / "target.npy", target.numpy())
        workloads.export(workload, folder / "model.onnx")
        yield folder


def compare(name, workload, threads, options):
    with model_and_data(workload) as folder:
        return compare_in(folder, name, workload, threads, options)


def compare_in(folder, name, workload, threads, options):
    ours = Side(onstage_command(workload, folder / "model.onnx", folder, threads, options))
    first_loss = ours.run(1)["first_loss"]
    ours.close()
    chosen, tried = fastest(name, workload, threads, options, first_loss)
    theirs = Side([sys.executable, HERE / "worker.py", name, threads, *chosen.split()])
    ours = Side(onstage_command(workload, folder / "model.onnx", folder, threads, options))
    result = race(ours, theirs, options)
    ours.close()
    theirs.close()
    result["pytorch_growth_bytes"] = growth_of(tried, first_loss, chosen, result["pytorch_growth_bytes"])
    result["memory_ratio"] = result["onstage_resident_bytes"] / result["pytorch_growth_bytes"]
    return {
        "model": name, "what": workload.what, "batch": workload.batch, "optimizer": workload.optimizer[0],
        "loss": workload.loss, "pytorch_variant": chosen, "pytorch_variants": tried, **result,
    }


def upper_quartile(numbers):
    return statistics.quantiles(numbers, n=4, method="inclusive")[2] if len(numbers) > 1 else numbers[0]


def race(ours, theirs, options):
    first = ours.run(1)["first_loss"], theirs.run(1)["first_loss"]
    if not is_same(*first):
        raise SystemExit(f"not the same training: first loss {first[0]} against {first[1]}")
    steps = steps_for(options.seconds, theirs.run(5)["seconds"][-1])
    ours.run(5)
    rounds = []
    for index in range(options.rounds):
        order = (ours, theirs) if index % 2 == 0 else (theirs, ours)
        answers = {side: side.run(steps) for side in order}
        rounds.append([statistics.median(answers[side]["seconds"]) for side in (ours, theirs)])
    ratios = [mine / other for mine, other in rounds]
    last = answers[theirs]
    memory = {
        "onstage_arena_bytes": ours.about["arena_bytes"],
        "onstage_resident_bytes": ours.peak_bytes(),
        "pytorch_growth_bytes": last["peak_bytes"] - last["before_bytes"],
        "pytorch_resident_bytes": last["peak_bytes"],
    }
    return {
        "first_losses": first, "steps_a_round": steps, "rounds": rounds, "onednn": ours.about["onednn"],
        "onstage_seconds": statistics.median(r[0] for r in rounds),
        "pytorch_seconds": statistics.median(r[1] for r in rounds),
        "time_ratio": statistics.median(ratios), "upper_time_ratio": upper_quartile(ratios),
        **memory,
    }


# ---------------------------------------------------------------- report


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown CPU"


def environment(threads):
    import torch

    found = re.search(r"MKL-DNN v([\d.]+)", torch.__config__.show())
    return {
        "cpu": cpu_name(), "threads": threads, "date": datetime.date.today().isoformat(),
        "torch": torch.__version__.partition("+")[0], "torch_onednn": found[1] if found else "none",
        "torch_capability": torch.backends.cpu.get_cpu_capability(),
        "command": re.sub(r" --step-time[ =]\S+", "", " ".join(["python3", "bench/pytorch/compare.py", *sys.argv[1:]])),
    }


HEADER = (
    "| model | batch, optimiser | onstage ms | PyTorch ms | time ratio | upper quartile | onstage arena, resident MB | PyTorch MB | memory ratio |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def row(r):
    ms, mb = (lambda seconds: f"{1e3 * seconds:.3g}"), (lambda size: f"{size / 1e6:.1f}")
    variant = "" if r["pytorch_variant"] == "default" else f" ({r['pytorch_variant']})"
    return (
        f"| {r['what']} | {r['batch']}, {r['optimizer']} | {ms(r['onstage_seconds'])} | {ms(r['pytorch_seconds'])}{variant} "
        f"| **{r['time_ratio']:.2f}** | {r['upper_time_ratio']:.2f} | {mb(r['onstage_arena_bytes'])}, {mb(r['onstage_resident_bytes'])} "
        f"| {mb(r['pytorch_growth_bytes'])} | {r['memory_ratio']:.2f} |"
    )


def summary(results):
    """Of the models that are not tiny, what bars are about."""
    large = [r for r in results if r["model"] not in TINY]
    if not large:
        return []
    times, memory = [r["upper_time_ratio"] for r in large], [r["memory_ratio"] for r in large]
    return [
        f"Of the {len(large)} models that are not tiny: upper quartiles of time {statistics.geometric_mean(times):.2f} in the geometric mean, "
        f"{max(times):.2f} at most; memory {statistics.geometric_mean(memory):.2f}, {max(memory):.2f} at most.", "",
    ]


def report(about, results):
    onednn = results[0]["onednn"] if results else "?"
    return "\n".join([
        "# onstage and PyTorch, training steps on the CPU", "",
        f"{about['cpu']}, {about['threads']} threads, {about['date']}. onstage with oneDNN {onednn}; PyTorch {about['torch']} "
        f"with oneDNN {about['torch_onednn']} ({about['torch_capability']}).",
        *(f"`{command}`" for command in dict.fromkeys(r["command"] for r in results)),
        "What is measured and how: [bench/README.md](../README.md).", "",
        HEADER, *(row(r) for r in results), "", *summary(results),
    ])


def write(about, results, cpu):
    """Keeps table and numbers; those of models that are on the day's page already, and not measured now, stay."""
    kind = re.sub(r"[^a-z0-9]+", "-", about["cpu"].lower()).strip("-")
    stem = ROOT / "bench" / "results" / "-".join(filter(None, (kind, cpu, about["date"])))
    page = stem.with_suffix(".json")
    before = json.loads(page.read_text())["results"] if page.exists() else []
    new = {r["model"]: r for r in results}
    joined = [new.pop(r["model"], r) for r in before] + list(new.values())
    stem.with_suffix(".md").write_text(report(about, joined))
    page.write_text(json.dumps({**about, "results": joined}, indent=1) + "\n")
    print(f"wrote {stem.with_suffix('.md').relative_to(ROOT)} and .json")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help="names, separated by commas; default: all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a round of either side")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu", choices=sorted(CAPS), help="keep both sides to these instructions; default: all of the machine's")
    parser.add_argument("--channels-last", action="store_true", help="also try this memory format in PyTorch")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True,
                        help="also try torch.compile, which needs a C++ compiler and up to a minute a variant")
    parser.add_argument("--variant", help="PyTorch's that are tried, like default,sdpa+fused,sdpa+compile; left out: all that the model can have")
    parser.add_argument("--step-time", type=pathlib.Path, default=STEP_TIME, help="the program built by //bench:step_time")
    parser.add_argument("--write", action="store_true", help="keep the table and the numbers in bench/results; models that are on the day's page already stay")
    return parser.parse_args()


def main():
    options = arguments()
    if not options.step_time.exists():
        sys.exit("build it first: ./bazelw build //bench:step_time")
    warnings.filterwarnings("ignore")
    sys.path.insert(0, str(HERE))
    os.environ.update(CAPS.get(options.cpu, {}))
    from workloads import WORKLOADS

    names = options.models.split(",") if options.models else list(WORKLOADS)
    unknown = set(names) - set(WORKLOADS)
    if unknown:
        sys.exit(f"unknown models {sorted(unknown)}; there are {', '.join(WORKLOADS)}")
    about, results, failed = environment(options.threads), [], []
    print(HEADER, flush=True)
    for name in names:
        try:
            results.append({**compare(name, WORKLOADS[name], options.threads, options), "command": about["command"]})
            print(row(results[-1]), flush=True)
        except SystemExit as error:
            failed.append(name)
            print(f"{name}: {error}", file=sys.stderr, flush=True)
    if options.write and results:
        write(about, results, options.cpu)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
