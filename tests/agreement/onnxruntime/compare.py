#!/usr/bin/env python3
"""Runs a trained file in onnxruntime and compares with what `onstage eval` wrote.

    compare.py trained.onnx --input NAME=F.npy ... --output NAME=F.npy ... [--tolerance 1e-5]

The --output arrays come from `onstage eval trained.onnx ... --output NAME=F.npy` on the same inputs.
Every element must satisfy |onstage - onnxruntime| <= tolerance * max(1, |onnxruntime|).
A model with a static batch runs in pieces of it, and rows that do not fill one are dropped, as
onstage does; others run in pieces of --batch (default 256). Files that kept BatchNorm or Dropout in
training form (`--export same`) are brought to inference form in memory, as evaluation does.
Exit status: 0 all equal within the tolerance, 1 not, 2 wrong usage. Needs numpy, onnx, onnxruntime.
"""

import argparse
import sys

import numpy
import onnx
import onnxruntime


def named(word):
    name, equals, path = word.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"'{word}' is not NAME=FILE.npy")
    return name, path


def inference_form(model):
    """Takes the training form of BatchNorm and Dropout out of the graph."""
    for node in model.graph.node:
        if node.op_type == "Dropout":
            del node.input[1:]
            kept = [a for a in node.attribute if a.name not in ("ratio", "seed", "is_test")]
        elif node.op_type == "BatchNormalization":
            del node.output[1:]
            kept = [a for a in node.attribute if a.name != "training_mode"]
        else:
            continue
        del node.attribute[:]
        node.attribute.extend(kept)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--input", type=named, action="append", required=True, metavar="NAME=F.npy")
    parser.add_argument("--output", type=named, action="append", required=True, metavar="NAME=F.npy")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--batch", type=int, default=256)
    arguments = parser.parse_args()

    model = inference_form(onnx.load(arguments.model))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    inputs = {name: numpy.load(path, mmap_mode="r") for name, path in arguments.input}
    expected = {name: numpy.load(path) for name, path in arguments.output}

    rows = min(len(array) for array in inputs.values())
    static = [i.shape[0] for i in session.get_inputs() if i.shape and isinstance(i.shape[0], int)]
    batch = static[0] if static else arguments.batch
    if static:
        rows -= rows % batch
    if rows == 0:
        parser.error(f"the inputs hold less than one batch of {batch}")
    pieces = []
    for first in range(0, rows, batch):
        feed = {name: numpy.ascontiguousarray(array[first : first + batch][: rows - first]) for name, array in inputs.items()}
        pieces.append(session.run(list(expected), feed))

    failed = False
    for index, name in enumerate(expected):
        theirs = numpy.concatenate([piece[index] for piece in pieces])
        ours = expected[name]
        if ours.shape != theirs.shape:
            print(f"{name}: shape {ours.shape} from onstage, {theirs.shape} from onnxruntime")
            failed = True
            continue
        absolute = numpy.abs(ours.astype(numpy.float64) - theirs)
        scaled = absolute / numpy.maximum(1.0, numpy.abs(theirs))
        good = bool((scaled <= arguments.tolerance).all())  # false for NaN
        print(f"{name}: {ours.shape}, largest difference {absolute.max():.2e}, scaled {scaled.max():.2e}: {'ok' if good else 'TOO FAR'}")
        failed |= not good
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
