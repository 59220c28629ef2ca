#!/usr/bin/env python3
"""Trains the TorchBench models of Pfeife's appendix C for three steps, with onstage and with PyTorch, and compares.

    ./bazelw build //tools:onstage
    python3 tests/agreement/coverage/coverage.py [--write] [MODEL ...]      # --write: docs/coverage.md

Packages: torch, torchvision, timm, transformers, onnx, numpy, bert-pytorch, and torchmultimodal-nightly with iopath. The last
two packages' stated requirements are older than what they need: pip install --no-deps. See models.py for the models.

Each model is trained in float32 and in double, and each run is compared with PyTorch's in float64. Where the float32 run misses
its bar, the double run tells a wrong gradient from rounding: near zero a ReLU's derivative jumps, and BatchNorm over a few
samples enlarges the jump, so that PyTorch's own float32 run strays from its float64 run.
"""

import argparse
import copy
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
import torch
import torch.nn.functional as F

import models

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
STEPS = 3
LEARNING_RATE = 2**-10  # onstage keeps both in float32: these are the same numbers there
MOMENTUM = 0.875
TOLERANCE = 1e-4  # of float32 losses, relative
DOUBLE_TOLERANCE = 1e-7  # of double losses and of the norms of the whole gradient, relative
SECONDS = 3600  # for one run of onstage


def make_distinct(module):
    """Exporters merge parameters that are equal in value, as fresh biases and copied layers are, and so tie them."""
    generator = torch.Generator().manual_seed(1)
    seen = set()
    with torch.no_grad():
        for p in module.parameters():
            value = (p.shape, p.double().sum().item(), p.double().square().sum().item())
            copied = value in seen
            seen.add(value)
            if p.numel() > 1 and (copied or p.std() == 0):
                p.add_(0.02 * torch.randn(p.shape, generator=generator))


def in_type(inputs, dtype):
    return {name: a.astype(dtype) if a.dtype.kind == "f" else a for name, a in inputs.items()}


def round_epsilons(module):
    """ONNX keeps a normalisation's epsilon in float32."""
    for child in module.modules():
        if isinstance(getattr(child, "eps", None), float):
            child.eps = float(numpy.float32(child.eps))


def export(entry, module, inputs, path):
    sample = tuple(torch.from_numpy(a[: models.BATCH]) for a in inputs.values())
    names = list(inputs)
    if entry.exporter == "dynamo":
        torch.onnx.export(module, sample, str(path), dynamo=True, opset_version=entry.opset, input_names=names, output_names=["output"], external_data=False, verbose=False, optimize=False)
        return
    mode = torch.onnx.TrainingMode.TRAINING if entry.statistics else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(
        module, sample, str(path), dynamo=False, opset_version=entry.opset, input_names=names, output_names=["output"], training=mode,
        do_constant_folding=False,
    )


def train_torch(entry, module, inputs, target):
    """Losses and norms of the whole gradient, step by step, in the module's type. The module is left as it was."""
    state = copy.deepcopy(module.state_dict())
    module.train(entry.statistics or entry.train_form)
    tensors = [torch.from_numpy(a) for a in inputs.values()]
    answer = torch.from_numpy(target)
    weights = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(weights, lr=LEARNING_RATE, momentum=MOMENTUM)
    losses, norms = [], []
    for step in range(STEPS):
        rows = slice(step % 2 * models.BATCH, (step % 2 + 1) * models.BATCH)
        optimizer.zero_grad()
        output = module(*(t[rows] for t in tensors))
        loss = F.cross_entropy(output.reshape(-1, output.shape[-1]), answer[rows].reshape(-1))
        loss.backward()
        norms.append(math.sqrt(sum(p.grad.double().square().sum().item() for p in weights if p.grad is not None)))
        optimizer.step()
        losses.append(loss.item())
    module.load_state_dict(state)
    return losses, norms


def train_onstage(onstage, entry, folder, inputs, target):
    """The same of onstage, and what it says where it fails."""
    for name, array in inputs.items():
        numpy.save(folder / f"{name}.npy", array)
    numpy.save(folder / "target.npy", target)
    words = [onstage, "train", folder / "model.onnx", "--target", folder / "target.npy", "--loss", "cross_entropy", "--class-axis", "-1"]
    for name in inputs:
        words += ["--input", f"{name}={folder / name}.npy"]
    words += ["--batch", models.BATCH, "--steps", STEPS, "--no-shuffle", "--optimizer", "sgd", "--lr", LEARNING_RATE, "--momentum", MOMENTUM]
    for pattern in entry.freeze:
        words += ["--freeze", pattern]
    for pattern in entry.train:
        words += ["--train", pattern]
    words += ["--log-grad-norms", "--log-json", folder / "log.jsonl", "--out", folder / "trained.onnx"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=SECONDS)
    if done.returncode != 0:
        return None, None, " ".join(done.stderr.split())[-300:]
    steps = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [s["loss"] for s in steps], [math.hypot(*s["grad_norms"].values()) for s in steps], ""


def distance(ours, theirs):
    """Largest relative distance; infinite where a number is missing or is none."""
    if len(ours) != len(theirs) or not all(map(math.isfinite, ours)):
        return math.inf
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))


def judge(r):
    """What a reader may conclude from the distances."""
    in_double = "double" in r and max(r["double"], r["norms"]) <= DOUBLE_TOLERANCE
    if "double" in r and not in_double:
        return "differs"
    if r["float"] <= TOLERANCE:
        return "trains"
    return "trains in double" if in_double and r["noise"] > TOLERANCE else "differs"


def measure(entry, onstage):
    """State, and the distances from PyTorch's float64 losses: onstage's in float32 and double, PyTorch's own in float32 (noise)."""
    if entry.reason:
        return {"state": "not exported", "detail": entry.reason}
    torch.manual_seed(1)
    data, target = entry.data(numpy.random.default_rng(1))
    result, runs = {"detail": ""}, {}
    for dtype in ("float32", "float64"):
        inputs = in_type(data, dtype)
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            try:
                if dtype == "float32":
                    module = entry.make()
                    make_distinct(module)
                    round_epsilons(module)
                    state = copy.deepcopy(module.state_dict())
                    result["parameters"] = sum(p.numel() for p in module.parameters())
                    result["exporter"] = f"{entry.exporter}, {entry.opset}"
                module.to(getattr(torch, dtype)).load_state_dict(state)
                module.train(entry.statistics)
                if dtype == "float32" or entry.double:
                    export(entry, module, inputs, folder / "model.onnx")
                module.load_state_dict(state)
            except Exception as error:
                return {"state": "not exported", "detail": f"PyTorch: {type(error).__name__}: {str(error).splitlines()[0][:160]}"}
            runs[dtype] = train_torch(entry, module, inputs, target)
            if dtype == "float32" or entry.double:
                losses, norms, problem = train_onstage(onstage, entry, folder, inputs, target)
                if problem:
                    return {**result, "state": "refused", "detail": f"{dtype}: {problem}"}
                runs["onstage " + dtype] = losses, norms
    theirs, their_norms = runs["float64"]
    result["noise"] = distance(runs["float32"][0], theirs)
    result["float"] = distance(runs["onstage float32"][0], theirs)
    if entry.double:
        losses, norms = runs["onstage float64"]
        result["double"], result["norms"] = distance(losses, theirs), distance(norms, their_norms)
    return {**result, "state": judge(result)}


def table(results):
    states = [r["state"] for r in results.values()]
    exported = len(states) - states.count("not exported") - states.count("not measured")
    trained = states.count("trains") + states.count("trains in double")
    lines = [
        "# Model coverage", "",
        "The 49 TorchBench models that the Pfeife paper names in its appendix C (Pfeife itself runs 37 of them). Those whose code is in a",
        f"package are built with random weights, exported by PyTorch {torch.__version__.partition('+')[0]}, and trained for {STEPS} steps by onstage and by PyTorch.", "",
        f"**{trained} of {exported} exported models train: {states.count('trains')} in float32 within {TOLERANCE:g}, {states.count('trains in double')} more in double.**"
        + (f" {states.count('not measured')} more are not measured yet." if "not measured" in states else ""), "",
        "A distance is the largest of the steps' relative distances from PyTorch's float64 run. \"Trains\": the float32 losses are within",
        f"{TOLERANCE:g}. Some models with BatchNorm cannot be judged so: with {models.BATCH} samples a batch, rounding moves PyTorch's own float32 losses",
        "further than that from its float64 losses. These \"train in double\": the same model, exported in double, has losses and norms of",
        f"the whole gradient within {DOUBLE_TOLERANCE:g} at every step. What is more than rounding there is float32 by ONNX's rules (attributes, the",
        "statistics that LayerNormalization saves) or in the model itself (Llama's RMSNorm). No double figure: those runs use slow reference",
        "kernels and were left out.", "",
        "Made by `python3 tests/agreement/coverage/coverage.py --write`.", "",
        "| model | parameters | exporter, opset | state | float32 losses | PyTorch's float32 losses | double losses | double gradient norms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, r in results.items():
        state = f"{r['state']}: {r['detail']}" if r["detail"] else r["state"]
        figures = " | ".join(f"{r[key]:.1e}" if key in r else "" for key in ("float", "noise", "double", "norms"))
        parameters = f"{r['parameters']:,}" if "parameters" in r else ""
        lines.append(f"| {name} | {parameters} | {r.get('exporter', '')} | {state} | {figures} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--results", type=pathlib.Path, help="JSON lines: models that it has are not measured again, others are added")
    parser.add_argument("--onstage", default=ROOT / "bazel-bin" / "tools" / "onstage")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    known, results = {}, {}
    if options.results and options.results.exists():
        known = {r.pop("name"): r for r in map(json.loads, options.results.read_text().splitlines())}
        for r in known.values():
            r["state"] = judge(r) if "float" in r else r["state"]
    for entry in models.ENTRIES:
        if options.models and entry.name not in options.models:
            continue
        if entry.name in known:
            results[entry.name] = known[entry.name]
            continue
        start = time.time()
        result = results[entry.name] = measure(entry, options.onstage)
        if options.results:
            with options.results.open("a") as file:
                file.write(json.dumps({"name": entry.name, **result}) + "\n")
        figures = " ".join(f"{result.get(key, math.nan):8.1e}" for key in ("float", "noise", "double", "norms"))
        print(f"{entry.name:30} {result['state']:16} {figures} {time.time() - start:5.0f} s  {result['detail'][:200]}", flush=True)
    if options.write:
        (ROOT / "docs" / "coverage.md").write_text(table(results))
    else:
        print(table(results).splitlines()[5])


if __name__ == "__main__":
    main()
