#!/usr/bin/env python3
"""Trains the TorchBench models of Pfeife's appendix C for three steps, with onstage and with PyTorch, and compares.

    ./bazelw build //tools:onstage
    python3 tests/coverage/coverage.py [--write] [MODEL ...]      # --write: docs/coverage.md

Packages: torch, torchvision, timm, transformers, onnx, numpy. A model counts as trained where the losses of all three steps
agree within 1e-4 relative. See models.py for the models.
"""

import argparse
import copy
import json
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
ROOT = HERE.parent.parent
STEPS = 3
TOLERANCE = 1e-4


def make_distinct(module):
    """Exporters merge parameters that are equal in value, as fresh biases and scales are, and so tie them."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in module.parameters():
            if p.numel() > 1 and p.std() == 0:
                p.add_(0.02 * torch.randn(p.shape, generator=generator))


def export(entry, module, inputs, path):
    sample = tuple(torch.from_numpy(a[: models.BATCH]) for a in inputs.values())
    names = list(inputs)
    if entry.exporter == "dynamo":
        torch.onnx.export(module, sample, str(path), dynamo=True, opset_version=entry.opset, input_names=names, output_names=["output"], external_data=False, verbose=False)
        return
    mode = torch.onnx.TrainingMode.TRAINING if entry.statistics else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(
        module, sample, str(path), dynamo=False, opset_version=entry.opset, input_names=names, output_names=["output"], training=mode,
        do_constant_folding=not entry.statistics,
    )


def train_torch(entry, module, inputs, target):
    """Losses in float32 and how far they stray from float64."""
    state = copy.deepcopy(module.state_dict())
    runs = []
    for dtype in (torch.float32, torch.float64):
        module.float()
        module.load_state_dict(state)
        module.to(dtype).train(entry.statistics)
        tensors = [torch.from_numpy(a) for a in inputs.values()]
        tensors = [t.to(dtype) if t.is_floating_point() else t for t in tensors]
        answer = torch.from_numpy(target)
        optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=entry.lr, momentum=0.9)
        losses = []
        for step in range(STEPS):
            rows = slice(step % 2 * models.BATCH, (step % 2 + 1) * models.BATCH)
            optimizer.zero_grad()
            output = module(*(t[rows] for t in tensors))
            loss = F.cross_entropy(output.reshape(-1, output.shape[-1]), answer[rows].reshape(-1))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        runs.append(losses)
    module.float()
    return runs[1], max(abs(a - b) / abs(b) for a, b in zip(*runs))


def train_onstage(onstage, folder, inputs):
    words = [onstage, "train", folder / "model.onnx", "--target", folder / "target.npy", "--loss", "cross_entropy", "--class-axis", "-1"]
    for name in inputs:
        words += ["--input", f"{name}={folder / name}.npy"]
    words += ["--batch", models.BATCH, "--steps", STEPS, "--no-shuffle", "--optimizer", "sgd", "--lr", "1e-3", "--momentum", "0.9"]
    words += ["--log-json", folder / "log.jsonl", "--out", folder / "trained.onnx"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return None, " ".join(done.stderr.split())[-300:]
    return [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()], ""


def measure(entry, onstage):
    """State, detail, losses."""
    if entry.reason:
        return {"state": "not exported", "detail": entry.reason}
    torch.manual_seed(1)
    inputs, target = entry.data(numpy.random.default_rng(1))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        try:
            module = entry.make()
            make_distinct(module)
            count = sum(p.numel() for p in module.parameters())
            state = copy.deepcopy(module.state_dict())
            module.train(entry.statistics)
            export(entry, module, inputs, folder / "model.onnx")
            module.load_state_dict(state)
        except Exception as error:
            return {"state": "not exported", "detail": f"PyTorch: {type(error).__name__}: {str(error).splitlines()[0][:160]}"}
        for name, array in inputs.items():
            numpy.save(folder / f"{name}.npy", array)
        numpy.save(folder / "target.npy", target)
        theirs, noise = train_torch(entry, module, inputs, target)
        ours, problem = train_onstage(onstage, folder, inputs)
    result = {"parameters": count, "noise": noise, "exporter": f"{entry.exporter}, {entry.opset}", "pytorch": theirs, "onstage": ours}
    if ours is None:
        return {**result, "state": "refused", "detail": problem}
    distance = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))
    good = distance <= TOLERANCE
    return {**result, "distance": distance, "state": "trains" if good else "differs", "detail": ""}


def table(results):
    trained = sum(r["state"] == "trains" for r in results.values())
    exported = sum(r["state"] != "not exported" for r in results.values())
    lines = [
        "# Model coverage", "",
        "The 49 TorchBench models that the Pfeife paper names in its appendix C (Pfeife itself runs 37 of them): those whose code is in a",
        "package are built with random weights, exported by PyTorch, and trained for three steps by onstage and by PyTorch. A model trains",
        f"where all losses agree within {TOLERANCE:g} relative. Made by `python3 tests/coverage/coverage.py --write` with PyTorch {torch.__version__.partition('+')[0]}.", "",
        f"**{trained} of {exported} exported models train.**", "",
        "| model | parameters | exporter, opset | state | largest distance | PyTorch float32 to float64 |", "|---|---|---|---|---|---|",
    ]
    for name, r in results.items():
        if r["state"] == "not exported":
            lines.append(f"| {name} | | | not exported: {r['detail']} | | |")
            continue
        detail = f": {r['detail']}" if r["detail"] else ""
        distance = f"{r['distance']:.1e}" if "distance" in r else ""
        lines.append(f"| {name} | {r['parameters']:,} | {r['exporter']} | {r['state']}{detail} | {distance} | {r['noise']:.1e} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--onstage", default=ROOT / "bazel-bin" / "tools" / "onstage")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    results = {}
    for entry in models.ENTRIES:
        if options.models and entry.name not in options.models:
            continue
        start = time.time()
        result = results[entry.name] = measure(entry, options.onstage)
        print(f"{entry.name:30} {result['state']:13} {result.get('distance', float('nan')):8.1e} {result.get('noise', float('nan')):8.1e} {time.time() - start:5.0f} s  {result['detail'][:200]}", flush=True)
    if options.write:
        (ROOT / "docs" / "coverage.md").write_text(table(results))
    else:
        print(table(results).splitlines()[6])


if __name__ == "__main__":
    main()
