#!/usr/bin/env python3
"""Exports real networks with PyTorch as a new user would, trains them for three steps, and compares with PyTorch's own training.

    ./bazelw build //tools:onstage
    pip install -r tests/agreement/exports/requirements.txt
    python3 tests/agreement/exports/exports.py [--keep DIR] [--ways default,plain,dynamic,one] [--speed] [--write] [NETWORK ...]    # --write: docs/exports.md

Ways of exporting, all with torch.onnx.export(dynamo=True) and the module in eval():

    default     nothing else is said: what can be computed is, and what is equal is merged
    plain       optimize=False, external_data=False
    dynamic     plain, and the batch is a symbol
    one         plain, for a batch of 1; onstage computes the whole batch at once where it can follow it

With --speed steps of `one` are timed beside steps of `dynamic`, in turn, with batches of 8.

With --keep a second run exports nothing: it runs onstage alone. DIR/NETWORK has the arrays and expected.json, DIR/NETWORK/WAY the
model or failed.txt, and what onstage wrote. See networks.py for the networks, and initialisers.py for what a file's tensors are.

Every network has noise on weights that are equal (except where it is `fresh`), running statistics that fit the data, and is trained as it
is in eval(): without Dropout, and BatchNorm by its running statistics. Single numbers without a shape are trained by PyTorch.
"""

import argparse
import copy
import hashlib
import json
import math
import multiprocessing
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

import numpy
import torch
import torch.nn.functional as F

import networks
from networks import BATCH, NETWORKS, STEPS

ROOT = pathlib.Path(__file__).resolve().parents[3]
WAYS = ("default", "plain", "dynamic", "one")
LEARNING_RATES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # the first at which losses do not grow, and rounding moves PyTorch's own by NOISE at most
NOISE = 2e-5
SHAKES = 3  # near zero a ReLU's derivative jumps: one run may miss what another meets
TOLERANCE = {"default": 1e-3, "plain": 1e-4, "dynamic": 1e-4, "one": 1e-4}  # of losses, relative
SPEED_BATCH, SPEED_STEPS, SPEED_ROUNDS = 8, 6, 4
SECONDS = 900  # for the exports of one network, and for one run of onstage


# PyTorch


def signature(tensor):
    """The same for a tensor that was transposed or cut otherwise."""
    return hashlib.sha1(numpy.sort(tensor.detach().float().cpu().numpy(), axis=None).tobytes()).hexdigest()[:16]


def make_distinct(module):
    """Exporters merge parameters that are equal in value, as fresh biases and copied layers are, and so tie them."""
    generator = torch.Generator().manual_seed(1)
    seen = set()
    with torch.no_grad():
        for p in module.parameters():
            value = (p.shape, p.double().sum().item(), p.double().square().sum().item())
            constant = p.numel() > 1 and (p == p.flatten()[0]).all()
            if constant or value in seen:
                p.add_(0.02 * torch.randn(p.shape, generator=generator))
            seen.add(value)


def fit_statistics(module, inputs):
    """BatchNorm's running statistics become the means over all batches."""
    normalisations = [m for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm) and m.track_running_stats]
    if not normalisations:
        return
    momenta = [m.momentum for m in normalisations]
    for m in normalisations:
        m.momentum = None
        m.reset_running_stats()
    module.train()
    with torch.no_grad():
        for step in range(STEPS):
            module(*rows(inputs, step))
    for m, momentum in zip(normalisations, momenta):
        m.momentum = momentum


def rows(arrays, step):
    return [torch.from_numpy(a[step * BATCH : (step + 1) * BATCH]) for a in arrays]


def in_type(arrays, dtype):
    return [a.astype(dtype) if a.dtype.kind == "f" else a for a in arrays]


def train(network, module, inputs, target, rate):
    """PyTorch's losses, step by step, and the names of the parameters that have a gradient. The module is left as it was."""
    module = copy.deepcopy(module)
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=rate)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        output = module(*rows(inputs, step))
        (answer,) = rows([target], step)
        if network.loss == "mse":
            loss = F.mse_loss(output, answer)
        else:
            loss = F.cross_entropy(output.movedim(network.class_axis, -1).flatten(0, -2), answer.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [name for name, p in module.named_parameters() if p.grad is not None]


def train_in_double(network, module, inputs, target, rate):
    try:
        losses, _ = train(network, copy.deepcopy(module).double(), in_type(inputs, "float64"), *in_type([target], "float64"), rate)
        return {"float64": losses}
    except Exception as error:
        return {"float64_problem": describe(error)}


def shaken(module, seed):
    """The module with weights that are as far off as rounding puts them."""
    module = copy.deepcopy(module)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.mul_(1 + 2**-23 * torch.randn(p.shape, generator=generator))
    return module


def get_noise(expected):
    """How far rounding moves PyTorch's own losses."""
    exact = expected.get("float64", expected["float32"])
    return max(distance(run, exact) for run in [expected["float32"], *expected["shaken"]])


def describe(error):
    """The first line of the first cause."""
    while error.__cause__:
        error = error.__cause__
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}"[:200]


def export(way, module, inputs, path):
    sample = tuple(torch.from_numpy(a[: 1 if way == "one" else BATCH]) for a in inputs.values())
    more = {} if way == "default" else {"optimize": False, "external_data": False}
    if way == "dynamic":
        shapes = tuple({0: torch.export.Dim("batch")} for _ in sample)
        more["dynamic_shapes"] = (shapes,) if isinstance(module, networks.Answer) else shapes
    torch.onnx.export(module, sample, str(path), input_names=list(inputs), output_names=["output"], dynamo=True, **more)


def prepare(network, folder):
    """The module; what is expected of it is in `folder`."""
    torch.manual_seed(1)
    inputs, target = network.data(numpy.random.default_rng(1))
    module = network.make()
    if not network.fresh:
        make_distinct(module)
    fit_statistics(module, list(inputs.values()))
    module.eval()
    if not (folder / "expected.json").exists():
        arrays = list(inputs.values())
        for rate in LEARNING_RATES:
            losses, reached = train(network, module, arrays, target, rate)
            runs = {"float32": losses, **train_in_double(network, module, arrays, target, rate)}
            runs["shaken"] = [train(network, shaken(module, seed), arrays, target, rate)[0] for seed in range(SHAKES)]
            if get_noise(runs) <= NOISE and all(loss <= 2 * losses[0] for loss in losses):
                break
        expected = {
            "inputs": list(inputs), "loss": network.loss, "class_axis": network.class_axis, "arguments": network.arguments,
            "parameters": sum(p.numel() for p in module.parameters()), "rate": rate, **runs,
            "tensors": {name: [list(p.shape), name in reached, signature(p)] for name, p in module.named_parameters()},
            "buffers": {name: [list(b.shape), signature(b)] for name, b in module.named_buffers()},
        }
        for name, array in inputs.items():
            numpy.save(folder / f"{name}.npy", array)
        numpy.save(folder / "target.npy", target)
        (folder / "expected.json").write_text(json.dumps(expected, indent=1))
    return module, inputs


def export_all(network, ways, folder):
    """Runs in a process of its own, which says why it fails in failed.txt."""
    log = os.open(folder / "export.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        module, inputs = prepare(network, folder)
    except Exception as error:
        traceback.print_exc()
        for way in ways:
            (folder / way / "failed.txt").write_text(f"PyTorch: {describe(error)}\n")
        return
    for way in ways:
        try:
            export(way, module, inputs, folder / way / "model.onnx")
            (folder / way / "failed.txt").unlink()
        except Exception as error:
            traceback.print_exc()
            (folder / way / "model.onnx").unlink(missing_ok=True)
            (folder / way / "failed.txt").write_text(describe(error) + "\n")


def is_exported(folder, way):
    return (folder / way / "failed.txt").exists() or (folder / way / "model.onnx").exists()


def ensure_exported(network, ways, folder):
    missing = [way for way in ways if not is_exported(folder, way)]
    if not missing and ((folder / "expected.json").exists() or all((folder / way / "failed.txt").exists() for way in ways)):
        return
    for name in ("torchvision", "timm", "transformers", "onnxscript"):  # once, for the processes that follow
        networks.package(name)
    for way in missing:
        (folder / way).mkdir(parents=True, exist_ok=True)
        (folder / way / "failed.txt").write_text("the process ended early\n")
    process = multiprocessing.get_context("fork").Process(target=export_all, args=(network, missing, folder))
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()


# onstage


def train_command(options, expected, folder, way, log, out, *further):
    """The words of `onstage train` on a network's own data; its log and model go beside the exported one."""
    words = [options.onstage, "train", folder / way / "model.onnx", "--target", folder / "target.npy", "--loss", expected["loss"]]
    if expected["loss"] == "cross_entropy":
        words += ["--class-axis", expected["class_axis"]]
    for name in expected["inputs"]:
        words += ["--input", f"{name}={folder / name}.npy"]
    words += ["--optimizer", "sgd", "--threads", options.threads, "--log-json", log, "--out", out, *expected["arguments"], *further]
    log.unlink(missing_ok=True)
    return [str(word) for word in words]


def run_onstage(options, expected, folder, way):
    """Losses, what it said, and why it failed."""
    here = folder / way
    log = here / "log.jsonl"
    words = train_command(options, expected, folder, way, log, here / "trained.onnx",
                          "--batch", BATCH, "--steps", STEPS, "--no-shuffle", "--lr", expected["rate"])
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return [], [], f"not done in {SECONDS} s"
    for left in here.glob("trained.onnx*"):
        left.unlink()
    (here / "stdout.txt").write_text(done.stdout)
    (here / "stderr.txt").write_text(done.stderr)
    if done.returncode != 0:
        return [], [], f"exit code {done.returncode}: " + " ".join(done.stderr.replace(f"{here}/", "").split())[-300:]
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()], done.stderr.splitlines(), ""


def get_speed(options, expected, folder, way):
    """Steps a second, at the fastest of a run's steps."""
    here = folder / way
    log, out = here / "speed.jsonl", here / "speed.onnx"
    words = train_command(options, expected, folder, way, log, out, "--batch", SPEED_BATCH, "--rows", f"0:{SPEED_BATCH}", "--steps", SPEED_STEPS, "--lr", 1e-6)
    subprocess.run(words, capture_output=True, timeout=SECONDS, check=True)
    out.unlink()
    return 1 / min(json.loads(line)["step_seconds"] for line in log.read_text().splitlines())


def measure_speed(options, folder):
    """Steps a second of `one` as a share of those of `dynamic`, each at its best in rounds that take turns: what else a machine does only slows."""
    expected = json.loads((folder / "expected.json").read_text())
    best = {"dynamic": 0, "one": 0}
    for _ in range(SPEED_ROUNDS):
        for way in best:
            best[way] = max(best[way], get_speed(options, expected, folder, way))
    return best["one"] / best["dynamic"]


def distance(ours, theirs):
    """Largest relative distance; infinite where a number is missing or is none."""
    if len(ours) != len(theirs) or not all(map(math.isfinite, ours)):
        return math.inf
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))


def measure(options, folder, way):
    failed = folder / way / "failed.txt"
    if failed.exists():
        return {"state": "not exported", "detail": failed.read_text().strip()}
    expected = json.loads((folder / "expected.json").read_text())
    theirs = expected.get("float64", expected["float32"])
    result = {"parameters": expected["parameters"], "noise": get_noise(expected), "detail": ""}
    losses, notes, problem = run_onstage(options, expected, folder, way)
    if problem:
        return {**result, "state": "refused", "detail": problem}
    steps = [distance([a], [b]) for a, b in zip(losses, theirs)]
    far = distance(losses, theirs)
    state = "agrees" if far <= max(TOLERANCE[way], 2 * result["noise"]) else "differs"
    return {**result, "state": state, "distance": far, "steps": steps, "losses": losses, "notes": notes}


def compare(options, network, keep):
    folder = keep / network.name
    folder.mkdir(parents=True, exist_ok=True)
    ensure_exported(network, options.ways, folder)
    results = {}
    for way in options.ways:
        start = time.time()
        r = results[way] = measure(options, folder, way)
        if options.speed and way == "one" and all(results.get(w, {}).get("state") == "agrees" for w in ("dynamic", "one")):
            r["speed"] = measure_speed(options, folder)
        (folder / way / "result.json").write_text(json.dumps(r, indent=1))
        steps = " ".join(f"{d:8.1e}" for d in r.get("steps", []))
        print(f"{network.name:24} {way:8} {r['state']:12} {steps:26} {r.get('noise', math.nan):8.1e} {time.time() - start:5.0f} s  {r.get('speed', '')} {r['detail'][:200]}", flush=True)
        for line in r.get("notes", []):
            print(f"{'':24} {line}", flush=True)
    return results


# Report


def cell(r):
    if "distance" not in r:
        return r["state"]
    figure = f"{r['distance']:.1e}"
    return figure if r["state"] == "agrees" else f"**{figure}**"


def table(results, ways):
    lines = [
        "# Networks as PyTorch exports them", "",
        f"{len(results)} networks of torchvision, timm, transformers and others, exported by PyTorch {torch.__version__.partition('+')[0]} in {len(ways)} ways, and trained for {STEPS} steps",
        "of SGD by onstage and by PyTorch.", "",
    ]
    for way in ways:
        states = [r[way]["state"] for r in results.values()]
        exported = len(states) - states.count("not exported")
        lines.append(f"- `{way}`: {states.count('agrees')} of {exported} that could be exported agree")
    speeds = [r["one"]["speed"] for r in results.values() if "speed" in r.get("one", {})]
    if speeds:
        lines.append(f"- `one` computes the samples of a batch of {SPEED_BATCH} at {statistics.median(speeds):.3f} of the speed of `dynamic` (median of {len(speeds)} networks; "
                     f"{sum(s >= 0.95 for s in speeds)} at 0.95 or more, least {min(speeds):.3f})")
    lines += [
        "", "A figure is the largest of the steps' relative distances from the losses of PyTorch's float64 run; bold where it is more than",
        f"{TOLERANCE['plain']:g} ({TOLERANCE['default']:g} for `default`) and than twice what rounding moves PyTorch's own losses by: the largest distance of its float32 run and of",
        f"{SHAKES} from weights that are off by their rounding.", "",
        "Made by `python3 tests/agreement/exports/exports.py --write`, which says what the ways are.", "",
        "| network | parameters | " + " | ".join(ways) + " | rounding |" + (" speed of `one` |" if speeds else ""),
        "|---|---|" + "---|" * (len(ways) + 1 + bool(speeds)),
    ]
    for name, r in results.items():
        known = next((each for each in r.values() if "parameters" in each), {})
        figures = " | ".join(cell(r[way]) for way in ways)
        speed = f" {r['one']['speed']:.2f} |" if "speed" in r.get("one", {}) else "  |" if speeds else ""
        lines.append(f"| {name} | {known.get('parameters', 0):,} | {figures} | {known.get('noise', math.nan):.1e} |{speed}")
    lines += ["", "What stands in the way, and what onstage says:", ""]
    for name, r in results.items():
        for way in ways:
            said = [r[way]["detail"]] if r[way]["detail"] else r[way]["notes"]
            lines += [f"- {name}, {way}: {line}" for line in said]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for exports, which later runs use again")
    parser.add_argument("--ways", default=",".join(WAYS), type=lambda text: text.split(","))
    parser.add_argument("--onstage", default=ROOT / "bazel-bin" / "tools" / "onstage")
    parser.add_argument("--threads", default=0, type=int, help="of onstage")
    parser.add_argument("--speed", action="store_true", help="time `one` beside `dynamic`")
    parser.add_argument("--write", action="store_true", help="write docs/exports.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    unknown = (set(options.networks) - {n.name for n in NETWORKS}) | (set(options.ways) - set(WAYS))
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))}")
    temporary = None if options.keep else tempfile.mkdtemp()
    results = {}
    for network in NETWORKS:
        if not options.networks or network.name in options.networks:
            results[network.name] = compare(options, network, options.keep or pathlib.Path(temporary))
            if temporary:
                shutil.rmtree(temporary)
    text = table(results, options.ways)
    if options.write:
        (ROOT / "docs" / "exports.md").write_text(text)
    else:
        print("\n".join(line for line in text.splitlines() if line.startswith("- `")))
    return any(r["state"] in ("differs", "refused") for ways in results.values() for r in ways.values())


if __name__ == "__main__":
    sys.exit(main())
