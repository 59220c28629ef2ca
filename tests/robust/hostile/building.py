"""What the hostile models are built of: messages of ONNX as trees, from names and numbers. No library is needed."""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../attack"))
import wire  # noqa: E402

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL = 1, 2, 3, 6, 7, 8, 9
MODELS = {}  # name → what writes it
CODES = {}  # name → exit codes of check, inspect and plan


def hostile(*codes):
    def add(build):
        MODELS[build.__name__], CODES[build.__name__] = build, codes
        return build

    return add


class Graph:
    """A graph inside an attribute, or the model's own."""

    def __init__(self, nodes, inputs=(), outputs=(), tensors=(), more=()):
        self.fields = [wire.inside(1, *n) for n in nodes] + [wire.text(2, "g")]
        self.fields += [wire.inside(5, *t) for t in tensors]
        self.fields += [wire.inside(11, *i) for i in inputs] + [wire.inside(12, *o) for o in outputs] + list(more)


def attribute(name, value):
    if isinstance(value, int):
        return wire.int_attribute(name, value)
    if isinstance(value, float):
        return wire.inside(5, wire.text(1, name), [2, wire.FIXED32, struct.pack("<f", value)], wire.number(20, 1))
    if isinstance(value, str):
        return wire.inside(5, wire.text(1, name), wire.text(4, value), wire.number(20, 3))
    if isinstance(value, Graph):
        return wire.inside(5, wire.text(1, name), wire.inside(6, *value.fields), wire.number(20, 5))
    if isinstance(value, bytes):  # a tensor, written already
        return wire.inside(5, wire.text(1, name), wire.text(5, value), wire.number(20, 4))
    if value and isinstance(value[0], float):
        items = [[7, wire.FIXED32, struct.pack("<f", v)] for v in value]
        return wire.inside(5, wire.text(1, name), *items, wire.number(20, 6))
    return wire.ints_attribute(name, value)


def node(operator, inputs, outputs, domain="", **attributes):
    """Inputs and outputs are names with spaces between."""
    fields = wire.node(operator, inputs.split(" ") if inputs else [], outputs.split(" "))
    fields = [f for f in fields if f[:2] != [3, wire.BYTES]]  # no name
    fields += [attribute(name, value) for name, value in attributes.items()]
    return fields + ([wire.text(7, domain)] if domain else [])


def value(name, dims, data_type=FLOAT):
    return wire.value_info(name, dims, data_type)


def untyped(name):
    return [wire.text(1, name)]


def ints(name, *values):
    return wire.tensor(name, [len(values)], struct.pack(f"<{len(values)}q", *values), INT64)


def integer(name, number):
    return wire.tensor(name, [], struct.pack("<q", number), INT64)


def floats(name, *values):
    return wire.tensor(name, [len(values)], struct.pack(f"<{len(values)}f", *values), FLOAT)


def number(name, x):
    return wire.tensor(name, [], struct.pack("<f", x), FLOAT)


def yes(name="t"):
    return wire.tensor(name, [], b"\1", BOOL)


def filled(x=1.0):
    """The value of ConstantOfShape."""
    return wire.write(wire.tensor("", [1], struct.pack("<f", x), FLOAT))


def function(name, nodes, inputs="a", outputs="b"):
    fields = [wire.text(1, name)] + [wire.text(4, i) for i in inputs.split(" ")] + [wire.text(5, o) for o in outputs.split(" ")]
    return fields + [wire.inside(7, *n) for n in nodes] + [wire.inside(9, wire.text(1, ""), wire.number(2, 17)), wire.text(10, "f")]


def model(graph, functions=(), opset=17, opsets=()):
    fields = [wire.number(1, 8), wire.inside(7, *graph.fields), wire.inside(8, wire.text(1, ""), wire.number(2, opset))]
    fields += [wire.inside(8, wire.text(1, d), wire.number(2, v)) for d, v in opsets]
    if functions:
        fields.append(wire.inside(8, wire.text(1, "f"), wire.number(2, 1)))
    return wire.write(fields + [wire.inside(25, *f) for f in functions])


WEIGHT = floats("w", 1, 2)
ONE = floats("v", 1)


def around(nodes, tensors=(), result="r", shape=(2, 2), inputs=(), functions=(), opset=17, more=()):
    """y = x · w + the sum of `result`: weights that train, beside what is hostile. h = x · w may be read."""
    first = [node("Mul", "x w", "h")]
    last = [node("ReduceSum", result, "s", keepdims=0), node("Add", "h s", "y")]
    if result == "y":
        last = []
    graph = Graph(first + list(nodes) + last, [value("x", shape), *inputs], [untyped("y") if result == "y" else value("y", shape)],
                  [WEIGHT, *tensors], more)  # fmt: skip
    return model(graph, functions, opset)


def loop(body_nodes, body_result, trips="n", condition="", state="v", tensors=(), kept="c", inner="a", outputs="r", more=()):
    """A Loop with one state, named `inner` within; `kept` is the condition that the body hands on."""
    body = Graph(body_nodes, [value("i", [], INT64), value("c", [], BOOL), untyped(inner)],
                 [untyped(kept), untyped(body_result), *[untyped(m) for m in more]], tensors)  # fmt: skip
    return node("Loop", f"{trips} {condition} {state}", outputs, body=body)
