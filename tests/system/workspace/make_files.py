#!/usr/bin/env python3
"""Writes net.onnx, x.npy and data/y.npy: a matrix that is to become another. Needs the packages onnx and numpy."""
import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent
random = np.random.default_rng(0)


def matrix():
    return random.standard_normal((4, 3)).astype(np.float32)


def main():
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ("batch", size)) for name, size in [("x", 4), ("y", 3)]]
    node = helper.make_node("MatMul", ["x", "weight"], ["y"], name="product")
    graph = helper.make_graph([node], "net", ends[:1], ends[1:], [numpy_helper.from_array(matrix(), "weight")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (FOLDER / "net.onnx").write_bytes(model.SerializeToString())
    x = random.standard_normal((64, 4)).astype(np.float32)
    np.save(FOLDER / "x.npy", x)
    np.save(FOLDER / "data" / "y.npy", x @ matrix())


if __name__ == "__main__":
    main()
