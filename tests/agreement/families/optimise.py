#!/usr/bin/env python3
"""Writes families once more as ONNX Runtime's optimiser leaves them.

    python3 tests/agreement/families/optimise.py [FAMILY ...]

FAMILY_optimised is the model of FAMILY with ONNX Runtime's fused operators (com.microsoft) in it and
the same golden values: fusing does not change what a network computes.
"""

import collections
import json
import pathlib
import shutil
import sys

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime

HERE = pathlib.Path(__file__).parent
FAMILIES = ["audio", "convnext", "llama", "multi_branch", "unet_transposed", "vit_dynamo"]


def optimise(source, target):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def elements(tensor):
    return numpy.sort(onnx.numpy_helper.to_array(tensor), axis=None).tobytes()


def kept_norms(norms, before, after):
    """Under the optimiser's names: it transposes and renames, which changes no norm."""
    names = {elements(before[name]): name for name in norms}
    found = {name: names.get(elements(tensor)) for name, tensor in after.items()}
    return {name: norms[name if name in norms else old] for name, old in found.items() if name in norms or old}


def initialisers(path):
    return {tensor.name: tensor for tensor in onnx.load(path).graph.initializer}


def write(family):
    source, target = HERE / family, HERE / f"{family}_optimised"
    target.mkdir(exist_ok=True)
    for path in source.glob("*.npy"):
        shutil.copy(path, target / path.name)
    optimise(source / "model.onnx", target / "model.onnx")
    golden = json.loads((source / "golden.json").read_text())
    before, after = initialisers(source / "model.onnx"), initialisers(target / "model.onnx")
    golden["model"] = target.name
    golden["what"] += f", after ONNX Runtime {onnxruntime.__version__}'s optimiser"
    nodes = onnx.load(target / "model.onnx").graph.node
    golden["operators"] = sorted({(node.domain + "." if node.domain else "") + node.op_type for node in nodes})
    for run in golden["runs"]:
        run["grad_norms"] = kept_norms(run["grad_norms"], before, after)
    (target / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    fused = collections.Counter(node.op_type for node in nodes if node.domain == "com.microsoft")
    print(target.name, dict(fused), f"{len(golden['runs'][0]['grad_norms'])} of {len(before)} initialisers kept")


if __name__ == "__main__":
    for name in sys.argv[1:] or FAMILIES:
        write(name)
