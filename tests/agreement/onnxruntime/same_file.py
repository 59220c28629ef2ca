#!/usr/bin/env python3
"""Checks that a trained file differs from its input in trained values alone.

    same_file.py model.onnx trained.onnx [--golden golden.json] [--freeze GLOB ...]

Compares the two protobufs field by field, unknown fields included. Allowed to differ is the data of
floating-point initialisers of the main graph: their name, type, shape and order must stay. With
--golden exactly the trainable initialisers and running statistics listed there may differ, and each
trainable one must; --freeze names initialisers that must not.
Exit status: 0 as promised, 1 not. Needs onnx and numpy.
"""

import argparse
import fnmatch
import json
import pathlib
import sys

import numpy
import onnx
import onnx.external_data_helper
import onnx.numpy_helper

DATA_FIELDS = ("raw_data", "float_data", "double_data", "int32_data", "external_data", "data_location")
FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


def value_of(tensor, folder):
    """The tensor's bytes in ONNX order, wherever they are kept."""
    copy = onnx.TensorProto()
    copy.CopyFrom(tensor)
    if onnx.external_data_helper.uses_external_data(copy):
        onnx.external_data_helper.load_external_data_for_tensor(copy, str(folder))
    return onnx.numpy_helper.to_array(copy)


def differences(a, b, path):
    """Paths at which two messages of one type differ."""
    fields = {f.name: f for f, _ in (*a.ListFields(), *b.ListFields())}
    found = []
    for name, field in fields.items():
        x, y, here = getattr(a, name), getattr(b, name), f"{path}.{name}"
        if field.message_type is None:
            if x != y:
                found.append(here)
        elif not hasattr(x, "ListFields"):  # repeated
            if len(x) != len(y):
                found.append(f"{here}: {len(x)} against {len(y)} entries")
            for i, (p, q) in enumerate(zip(x, y)):
                found += differences(p, q, f"{here}[{getattr(p, 'name', '') or i}]")
        elif a.HasField(name) != b.HasField(name):
            found.append(here)
        else:
            found += differences(x, y, here)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("trained", type=pathlib.Path)
    parser.add_argument("--golden", type=pathlib.Path)
    parser.add_argument("--freeze", action="append", default=[], metavar="GLOB")
    arguments = parser.parse_args()

    before = onnx.load(arguments.model, load_external_data=False)
    after = onnx.load(arguments.trained, load_external_data=False)
    changed, wrong = [], []
    for a, b in zip(before.graph.initializer, after.graph.initializer):
        if (a.name, a.data_type, list(a.dims)) != (b.name, b.data_type, list(b.dims)):
            continue  # reported below, field by field
        x, y = value_of(a, arguments.model.parent), value_of(b, arguments.trained.parent)
        if x.tobytes() == y.tobytes():
            if onnx.external_data_helper.uses_external_data(a) or onnx.external_data_helper.uses_external_data(b):
                for tensor in (a, b):
                    for field in DATA_FIELDS:
                        tensor.ClearField(field)
            continue
        if a.data_type not in FLOATS:
            wrong.append(f"{a.name}: not a floating-point tensor, yet changed")
        if not numpy.isfinite(y.astype(numpy.float64)).all():
            wrong.append(f"{a.name}: holds infinities or NaN after training")
        changed.append(a.name)
        for tensor in (a, b):
            for field in DATA_FIELDS:
                tensor.ClearField(field)

    wrong += differences(before, after, "model")
    if not wrong and before.SerializeToString(deterministic=True) != after.SerializeToString(deterministic=True):
        wrong.append("model: unknown fields or the order of fields differ")
    for pattern in arguments.freeze:
        wrong += [f"{name}: frozen, yet changed" for name in fnmatch.filter(changed, pattern)]
    if arguments.golden:
        golden = json.loads(arguments.golden.read_text())
        trainable = set(golden["runs"][0]["grad_norms"])
        statistics = set(golden["runs"][0].get("final_statistics_norms", ()))
        wrong += [f"{name}: trainable, yet unchanged" for name in sorted(trainable - set(changed))]
        wrong += [f"{name}: not trainable, yet changed" for name in sorted(set(changed) - trainable - statistics)]

    for line in wrong:
        print(line)
    print(f"{len(changed)} of {len(before.graph.initializer)} initialisers changed, {len(wrong)} other differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
