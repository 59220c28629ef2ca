#!/usr/bin/env python3
"""Writes what PyTorch computes where only a new head is trained, for new_head_test.sh to compare.

    python3 tests/agreement/fitting/heads.py bazel-bin/tools/onstage

Needs torch, onnx, onnxruntime and numpy; the test needs none of them. onnxruntime computes what the head is given, and PyTorch trains a
linear layer on it that starts with the numbers that onstage draws for the seed. For each model heads.txt has a line `case NAME CLASSES
OPTIONS...`, then `loss STEP VALUE` of every step, before its update. The test makes the targets: sample i is of class i modulo CLASSES.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
TESTS = HERE.parent
CLASSES, BATCH, STEPS, RATE = 5, 4, 6, 0.05
MODELS = {
    "golden/resnet18": ({"image": "input"}, 8),  # a ResNet, for a batch of 8
    "families/vit": ({"image": "image"}, BATCH),
    "families/bert": ({"input_ids": "input_ids", "attention_mask": "attention_mask"}, BATCH),
}


def options_of(arrays, batch):
    inputs = [word for name, file in arrays.items() for word in ("--input", f"{name}={file}.npy")]
    return [*inputs, "--batch", str(batch), "--batchnorm", "eval", "--dropout", "off", "--optimizer", "sgd"]


def fresh_head(onstage, model, target, words, weight, bias):
    """As it is before the first step: one that moves nothing is made."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "trained.onnx"
        subprocess.run([onstage, "train", model, "--target", target, "--loss", "cross_entropy", "--new-head", str(CLASSES), "--lr", "1e-30",
                        "--steps", "1", "--threads", "1", "--out", out, *words], check=True, cwd=model.parent, capture_output=True)
        tensors = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(out).graph.initializer}
    return tensors[weight], tensors[bias]


def features(model, node, arrays):
    """What the last linear layer is given, by running statistics."""
    for each in model.graph.node:
        if each.op_type == "BatchNormalization":
            del each.output[1:]
            for attribute in each.attribute:
                if attribute.name == "training_mode":
                    attribute.i = 0
    model.graph.output.append(onnx.helper.make_empty_tensor_value_info(node.input[0]))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run([node.input[0]], arrays)[0]


def case(onstage, name, arrays, batch):
    path = (TESTS / name / "model.onnx").resolve()
    model = onnx.load(path)
    node = model.graph.node[-1]
    assert node.op_type == "Gemm"
    words = options_of(arrays, batch)
    values = {key: numpy.load(path.parent / f"{file}.npy") for key, file in arrays.items()}
    count = len(next(iter(values.values())))
    target = numpy.arange(count) % CLASSES
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "target.npy"
        numpy.save(file, target)
        weight, bias = (torch.tensor(t, dtype=torch.float64, requires_grad=True)
                        for t in fresh_head(onstage, path, file, words, node.input[1], node.input[2]))
    optimizer = torch.optim.SGD([weight, bias], lr=RATE)
    lines = [f"case {name} {CLASSES} {' '.join(words)} --lr {RATE} --steps {STEPS} --freeze * --train {node.input[1]} --train {node.input[2]}"]
    for step in range(STEPS):
        first = step * batch % (count - count % batch)
        rows = slice(first, first + batch)
        given = torch.tensor(features(onnx.load(path), node, {key: value[rows] for key, value in values.items()}), dtype=torch.float64)
        loss = F.cross_entropy(given @ weight.T + bias, torch.tensor(target[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lines.append(f"loss {step + 1} {loss.item():.9g}")
    return lines


def main():
    onstage = pathlib.Path(sys.argv[1]).resolve()
    lines = [line for name, (arrays, batch) in MODELS.items() for line in case(onstage, name, arrays, batch)]
    (HERE / "heads.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
