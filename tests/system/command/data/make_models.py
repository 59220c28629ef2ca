#!/usr/bin/env python3
"""Writes the small models of this folder, each wrong in a way of its own. Needs the packages onnx and numpy.

    python3 tests/system/command/data/make_models.py
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent


def value(name, kind=TensorProto.FLOAT, shape=("batch", 4)):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name="w", shape=(4, 4)):
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    return numpy_helper.from_array(values, name)


def save(name, nodes, initialisers, output="y", inputs=None, output_shape=("batch", 4)):
    graph = helper.make_graph(nodes, name, inputs or [value("x")], [value(output, shape=output_shape)], initialisers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="make_models.py")
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


def external(name, location):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4, 4], data_location=TensorProto.EXTERNAL)
    for key, text in [("location", location), ("offset", "0"), ("length", "64")]:
        tensor.external_data.add(key=key, value=text)
    save(name, [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], [tensor])


def five_problems():
    """An operator nobody knows, one of a foreign domain, one of classical learning, and strings in and out."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        helper.make_node("Frobnicate", ["a"], ["b"], name="unknown"),
        helper.make_node("FancyAttention", ["b"], ["c"], name="foreign", domain="com.example"),
        helper.make_node("TreeEnsembleRegressor", ["c"], ["d"], name="trees", domain="ai.onnx.ml"),
        helper.make_node("NonZero", ["d"], ["e"], name="shape_by_values"),
        helper.make_node("StringNormalizer", ["words"], ["lower"], name="words"),
        helper.make_node("Relu", ["d"], ["y"], name="last"),
    ]
    inputs = [value("x"), value("words", TensorProto.STRING, (3,))]
    save("five_problems", nodes, [weight()], inputs=inputs)


def odd_names():
    """Names that mean something to HTML, are very long, or turn the direction of the text."""
    long = "/a_layer_whose_name_never_ends" * 40
    names = ["/<script>alert(1)</script>/0/product", '/"x" onload="y"/1/product', "/l'\u00e9t\u00e9 &amp;quot; \u65e5\u672c/2/product",
             f"{long}/3/product", "/\u202etxt.evil/4/product", "/]]>--></style>/5/product"]
    nodes = [helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"], name=name) for i, name in enumerate(names)]
    save("odd_names", nodes, [weight(f"w{i}") for i in range(len(names))], output=f"v{len(names)}",
         inputs=[value("v0")])


def hanging():
    """Behind an operator that nobody knows, a loop as long as the data say."""
    body = helper.make_graph(
        [helper.make_node("Add", ["state", "state"], ["next"]), helper.make_node("Identity", ["goes"], ["on"])],
        "body",
        [value("i", TensorProto.INT64, ()), value("goes", TensorProto.BOOL, ()), value("state", shape=None)],
        [value("on", TensorProto.BOOL, ()), value("next", shape=None)],
    )
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], name="unknown"),
        helper.make_node("MatMul", ["a", "w"], ["b"], name="product"),
        helper.make_node("ReduceSum", ["x"], ["sum"], name="sum", keepdims=0),
        helper.make_node("Cast", ["sum"], ["steps"], name="steps", to=TensorProto.INT64),
        helper.make_node("Loop", ["steps", "", "b"], ["c"], name="loop", body=body),
        helper.make_node("Frobnicate", ["c"], ["y"], name="unknown_too"),
    ]
    save("hanging", nodes, [weight()])


def marked_normalisation():
    """A convolution that says in its metadata what the newer exporter did to it."""
    node = helper.make_node("Conv", ["x", "c.weight", "c.bias"], ["y"], name="node_conv")
    node.metadata_props.add(key="pkg.onnxscript.rewriter.rule_name", value="FuseBatchNormIntoConv")
    save(
        "marked_normalisation",
        [node],
        [weight("c.weight", (2, 3, 3, 3)), weight("c.bias", (2,))],
        inputs=[value("x", shape=("batch", 3, 8, 8))],
        output_shape=("batch", 2, 6, 6),
    )


def reasons():
    """Initialisers of every kind that `onstage inspect` explains."""
    one = np.array([0.5], np.float32)
    head = numpy_helper.to_array(weight()).T
    initialisers = [
        weight(),
        numpy_helper.from_array(np.ascontiguousarray(head), "head"),
        numpy_helper.from_array(one, "temperature"),
        numpy_helper.from_array(one, "/Constant_1_output_0"),
        numpy_helper.from_array(one[0], "epsilon"),
        numpy_helper.from_array(np.arange(4, dtype=np.float32), "threshold"),
        numpy_helper.from_array(np.array([0, -np.inf, 0, 0], np.float32), "mask"),
        numpy_helper.from_array(np.array([0, 1, 2, 3]), "order"),
    ]
    save("reasons", [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Mul", ["a", "temperature"], ["b"]),
        helper.make_node("Mul", ["b", "/Constant_1_output_0"], ["c"]),
        helper.make_node("Add", ["c", "epsilon"], ["d"]),
        helper.make_node("Greater", ["d", "threshold"], ["above"]),
        helper.make_node("Where", ["above", "d", "a"], ["e"]),
        helper.make_node("Add", ["e", "mask"], ["f"]),
        helper.make_node("Gather", ["f", "order"], ["g"], axis=1),
        helper.make_node("MatMul", ["g", "head"], ["y"]),
    ], initialisers)


def told():
    """As PyTorch's newer exporter writes a model that it has optimised: two layers that share merged ones, a scale computed away."""
    initialisers = [
        weight(),
        numpy_helper.from_array(np.ones(4, np.float32), "a.weight"),
        numpy_helper.from_array(np.array(1.5, np.float32), "exp"),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["c"]),
        helper.make_node("Mul", ["c", "a.weight"], ["d"]),
        helper.make_node("Mul", ["d", "a.weight"], ["e"]),
        helper.make_node("Mul", ["e", "exp"], ["y"]),
    ]
    for node, layer in zip(nodes, ("", "a", "b", "")):
        node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=f"['', '{layer}', 'mul']")
    graph = helper.make_graph(nodes, "told", [value("x")], [value("y")], initialisers)
    graph.metadata_props.add(
        key="pkg.torch.export.ExportedProgram.graph_signature",
        value="".join(f"p: PARAMETER target='{name}'\n" for name in ("w", "a.weight", "b.weight", "scale")))
    folded = helper.make_tensor_value_info("exp", TensorProto.FLOAT, ())
    folded.metadata_props.add(key="pkg.onnxscript.optimizer.folded_from", value="['scale']")
    graph.value_info.append(folded)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="make_models.py")
    (FOLDER / "told.onnx").write_bytes(model.SerializeToString())


def reshaped_head():
    """A table of words that is a layer of classes too, whose input and result take shapes by number, and whose bias has a
    name that the exporter gave it."""
    nodes = [
        helper.make_node("Gather", ["table", "x"], ["rows"], name="look_up"),
        helper.make_node("MatMul", ["rows", "w"], ["a"], name="first"),
        helper.make_node("Tanh", ["a"], ["b"], name="first_bent"),
        helper.make_node("MatMul", ["b", "w2"], ["c"], name="second"),
        helper.make_node("Tanh", ["c"], ["d"], name="second_bent"),
        helper.make_node("Reshape", ["d", "flat"], ["e"], name="flat_rows"),
        helper.make_node("Gemm", ["e", "table", "view_3"], ["f"], name="head", transB=1),
        helper.make_node("Reshape", ["f", "whole"], ["y"], name="whole_rows"),
    ]
    shapes = [numpy_helper.from_array(np.array(dims, np.int64), name) for name, dims in (("flat", [-1, 4]), ("whole", [-1, 3, 50]))]
    initialisers = [weight("table", (50, 4)), weight(), weight("w2"), weight("view_3", (50,)), *shapes]
    graph = helper.make_graph(nodes, "reshaped_head", [value("x", TensorProto.INT64, ("batch", 3))],
                              [value("y", shape=("batch", 3, 50))], initialisers)
    graph.metadata_props.add(
        key="pkg.torch.export.ExportedProgram.graph_signature",
        value="".join(f"p: PARAMETER target='{name}'\n" for name in ("table", "w", "w2", "head.bias")))
    moved = helper.make_tensor_value_info("view_3", TensorProto.FLOAT, (50,))
    moved.metadata_props.add(key="pkg.onnxscript.optimizer.folded_from", value="['head.bias']")
    graph.value_info.append(moved)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="make_models.py")
    (FOLDER / "reshaped_head.onnx").write_bytes(model.SerializeToString())


def codebook():
    """Layers choose rows of a second table, in the midst of them."""
    nodes = [
        helper.make_node("Gather", ["table", "x"], ["rows"], name="look_up"),
        helper.make_node("MatMul", ["rows", "w"], ["a"], name="first"),
        helper.make_node("Tanh", ["a"], ["b"], name="first_bent"),
        helper.make_node("ArgMax", ["b"], ["choice"], name="choose", axis=-1, keepdims=0),
        helper.make_node("Gather", ["book", "choice"], ["chosen"], name="codebook"),
        helper.make_node("Add", ["b", "chosen"], ["c"], name="sum"),
        helper.make_node("MatMul", ["c", "w2"], ["d"], name="second"),
        helper.make_node("MatMul", ["d", "head"], ["y"], name="head"),
    ]
    initialisers = [weight("table", (50, 4)), weight(), weight("book", (64, 4)), weight("w2"), weight("head", (4, 50))]
    save("codebook", nodes, initialisers, inputs=[value("x", TensorProto.INT64, ("batch", 3))], output_shape=("batch", 3, 50))


def counted_positions():
    """Positions that count the words in front, as RoBERTa's do: the index of a second table, worked out of data alone."""
    nodes = [
        helper.make_node("Equal", ["x", "one"], ["none"], name="is_none"),
        helper.make_node("Not", ["none"], ["some"], name="is_some"),
        helper.make_node("Cast", ["some"], ["counts"], name="counts", to=TensorProto.INT64),
        helper.make_node("CumSum", ["counts", "one"], ["counted"], name="count"),
        helper.make_node("Gather", ["table", "x"], ["rows"], name="look_up"),
        helper.make_node("Gather", ["places", "counted"], ["at"], name="look_up_places"),
        helper.make_node("Add", ["rows", "at"], ["a"], name="sum"),
        helper.make_node("MatMul", ["a", "w"], ["b"], name="first"),
        helper.make_node("Tanh", ["b"], ["c"], name="bent"),
        helper.make_node("MatMul", ["c", "w2"], ["d"], name="second"),
        helper.make_node("MatMul", ["d", "head"], ["y"], name="head"),
    ]
    initialisers = [weight("table", (50, 4)), weight(), weight("places", (40, 4)), weight("w2"), weight("head", (4, 50)),
                    numpy_helper.from_array(np.array(1, np.int64), "one")]
    save("counted_positions", nodes, initialisers, inputs=[value("x", TensorProto.INT64, ("batch", 3))], output_shape=("batch", 3, 50))


def any_length():
    """Sequences as long as the data are, which the file does not say."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="first"), helper.make_node("Tanh", ["a"], ["b"], name="bend"),
             helper.make_node("MatMul", ["b", "v"], ["c"], name="second"),
             helper.make_node("ReduceMean", ["c"], ["y"], name="mean", axes=[1], keepdims=0)]
    save("any_length", nodes, [weight(), weight("v")], inputs=[value("x", shape=("batch", "length", 4))])


def main():
    counted_positions()
    codebook()
    told()
    reshaped_head()
    save("fixed_batch", [helper.make_node("MatMul", ["x", "w"], ["y"])], [weight()], inputs=[value("x", shape=(3, 4))],
         output_shape=(3, 4))
    save("mixes_samples", [helper.make_node("MatMul", ["mix", "x"], ["mixed"], name="mix"), helper.make_node("MatMul", ["mixed", "w"], ["y"])],
         [weight(), weight("mix", (2, 2))], inputs=[value("x", shape=(2, 4))], output_shape=(2, 4))
    reasons()
    save("probabilities", [helper.make_node("MatMul", ["x", "w"], ["scores"], name="product"),
                           helper.make_node("Softmax", ["scores"], ["shares"], name="softmax"),
                           helper.make_node("Reshape", ["shares", "shape"], ["y"], name="same")],
         [weight(), numpy_helper.from_array(np.array([-1, 4], np.int64), "shape")])
    save("good", [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], [weight()])
    save("unknown_operator", [helper.make_node("Frobnicate", ["x", "w"], ["y"], name="odd")], [weight()])
    save("cycle", [
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("MatMul", ["a", "w"], ["b"], name="second"),
        helper.make_node("Relu", ["b"], ["y"], name="third"),
    ], [weight()])
    many = [helper.make_node("Frobnicate", [f"v{i}"], [f"v{i + 1}"], name=f"odd{i}") for i in range(64)]
    save("many_unknown", [helper.make_node("MatMul", ["x", "w"], ["v0"], name="product"), *many,
                          helper.make_node("Relu", ["v64"], ["y"], name="last")], [weight()])
    two = [helper.make_node("MatMul", ["a", "w"], ["c"], name="product"), helper.make_node("Add", ["c", "b"], ["y"])]
    save("two_inputs", two, [weight()], inputs=[value("a"), value("b")])
    no_float = [helper.make_node("ArgMax", ["x"], ["y"], name="index", axis=1, keepdims=0)]
    graph = helper.make_graph(no_float, "no_float_output", [value("x")], [value("y", TensorProto.INT64, ("batch",))])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (FOLDER / "no_float_output.onnx").write_bytes(model.SerializeToString())
    external("external", "weights.bin")
    external("external_parent", "../secret.bin")
    external("external_absolute", "/etc/passwd")
    external("external_link", "link.bin")
    five_problems()
    hanging()
    odd_names()
    marked_normalisation()
    any_length()


if __name__ == "__main__":
    main()
