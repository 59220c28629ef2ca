"""Models of at most 1 KiB that ask for far more than they hold, with the exit codes of check, inspect and plan. No library is needed."""

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


# ------------------------------------------------------------------------------------------------------------ messages


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


# --------------------------------------------------------------------------------------------------------------- loops

ADD = [node("Add", "a a", "b")]
ONE = floats("v", 1)


@hostile(3, 3, 3)
def loop_2_62():
    return around([loop(ADD, "b")], [integer("n", 2**62), ONE])


@hostile(3, 3, 3)
def loop_of_data_2_62():
    return around([loop(ADD, "b", state="h")], [integer("n", 2**62)])


@hostile(0, 0, 0)
def loop_negative():
    return around([loop(ADD, "b")], [integer("n", -(2**63)), ONE])


@hostile(3, 3, 3)
def loop_empty_body():
    return around([loop([], "a")], [integer("n", 2**62), ONE])


@hostile(3, 3, 3)
def loop_longest():
    """As many steps as may be, each with one node that trains."""
    return around([loop([node("Mul", "a w", "b")], "b", state="h")], [integer("n", 4096)])


@hostile(3, 3, 3)
def loop_many_nodes():
    """Nearly as many nodes as may be."""
    nodes = [node("Mul", "a w" if k == 0 else f"b{k - 1} w", f"b{k}") for k in range(15)]
    return around([loop(nodes, "b14", state="h")], [integer("n", 4096)])


@hostile(0, 0, 0)
def loop_within_budget():
    """As many nodes as a file of this size may have."""
    nodes = [node("Mul", "a w" if k == 0 else f"b{k - 1} w", f"b{k}") for k in range(15)]
    return around([loop(nodes, "b14", state="h")], [integer("n", 145)])


@hostile(0, 0, 0)
def loop_collects_within_budget():
    return around([loop([node("Mul", "a w", "b")], "b", state="h", outputs="q r", more=["b"])], [integer("n", 740)])


@hostile(0, 0, 0)
def scan_within_budget():
    return around([scan([node("Mul", "a w", "b")], "h")], shape=(555, 2))


@hostile(3, 3, 3)
def loop_collects():
    """Each step's result is kept."""
    return around([loop([node("Mul", "a w", "b")], "b", state="h", outputs="q r", more=["b"])], [integer("n", 4096)])


@hostile(3, 3, 3)
def loops_nested_2():
    inner = loop([node("Add", "d d", "e")], "e", trips="n", state="a", inner="d", outputs="b")
    return around([loop([inner], "b")], [integer("n", 2**40), ONE])


@hostile(3, 3, 3)
def loops_nested_3():
    inmost = loop([node("Add", "k k", "l")], "l", trips="n", state="d", inner="k", outputs="e")
    inner = loop([inmost], "e", trips="n", state="a", inner="d", outputs="b")
    return around([loop([inner], "b")], [integer("n", 60), ONE])


@hostile(3, 3, 3)
def loops_nested_3_of_data():
    inmost = loop([node("Mul", "k w", "l")], "l", trips="n", state="d", inner="k", outputs="e")
    inner = loop([inmost], "e", trips="n", state="a", inner="d", outputs="b")
    return around([loop([inner], "b", state="h")], [integer("n", 39)])


@hostile(3, 3, 3)
def loops_nested_empty():
    inmost = loop([], "k", trips="n", state="d", inner="k", outputs="e")
    inner = loop([inmost], "e", trips="n", state="a", inner="d", outputs="b")
    return around([loop([inner], "b")], [integer("n", 4096), ONE])


@hostile(3, 3, 3)
def loop_trips_by_arithmetic():
    return around([node("Mul", "m m", "n"), loop(ADD, "b")], [integer("m", 2**31), ONE])


@hostile(3, 3, 3)
def loop_trips_by_shape():
    nodes = [node("Shape", "z", "s0"), node("ReduceMax", "s0", "n", keepdims=0), loop(ADD, "b")]
    return around(nodes, [ONE], inputs=[value("z", [2**40], UINT8)])


@hostile(3, 3, 3)
def loop_forever():
    return around([loop(ADD, "b", trips="", condition="t")], [yes(), ONE])


@hostile(3, 3, 3)
def loop_forever_by_condition():
    nodes = [*ADD, node("Less", "o i", "z"), node("Not", "z", "p")]
    return around([loop(nodes, "b", trips="", condition="t", kept="p")], [yes(), ONE, integer("o", 2**62)])


@hostile(3, 2, 2)
def loop_doubles_by_concat():
    return around([loop([node("Concat", "a a", "b", axis=0)], "b")], [integer("n", 4000), ONE])


@hostile(3, 2, 2)
def loop_doubles_data_by_concat():
    return around([loop([node("Concat", "a a", "b", axis=0)], "b", state="h")], [integer("n", 4000)])


@hostile(3, 2, 2)
def loop_doubles_by_tile():
    return around([loop([node("Tile", "a m", "b")], "b")], [integer("n", 4000), ints("m", 2), ONE])


@hostile(3, 2, 2)
def loop_doubles_by_expand():
    nodes = [node("Shape", "a", "s0"), node("Concat", "m s0", "s1", axis=0), node("Expand", "a s1", "q"), node("Reshape", "q k", "b")]
    return around([loop(nodes, "b")], [integer("n", 4000), ints("m", 2), ints("k", -1), ONE])


@hostile(3, 2, 2)
def loop_doubles_by_pad():
    return around([loop([node("Shape", "a", "s0"), node("Concat", "z s0", "p", axis=0), node("Pad", "a p", "b")], "b")],
                  [integer("n", 4000), ints("z", 0), ONE])  # fmt: skip


@hostile(3, 2, 2)
def loop_doubles_by_resize():
    return around([loop([node("Resize", "a  k", "b")], "b")], [integer("n", 4000), floats("k", 2), ONE])


@hostile(3, 3, 3)
def loop_doubles_by_range():
    nodes = [node("Size", "a", "z"), node("Add", "z z", "e"), node("Range", "o e q", "b")]
    return around([loop(nodes, "b")], [integer("n", 4000), integer("o", 0), integer("q", 1), ints("v", 1)])


@hostile(3, 2, 2)
def loop_doubles_by_gather_nd():
    nodes = [node("Concat", "a a", "p", axis=0), node("Unsqueeze", "p m", "e"), node("GatherND", "a e", "b")]
    return around([loop(nodes, "b")], [integer("n", 4000), ints("m", 1), ints("v", 0)])


@hostile(3, 3, 3)
def loop_inserts():
    """A sequence grows with each step."""
    body = Graph([node("SequenceInsert", "a h", "b")], [value("i", [], INT64), value("c", [], BOOL), untyped("a")], [untyped("c"), untyped("b")])
    nodes = [node("SequenceEmpty", "", "e"), node("Loop", "n  e", "q", body=body), node("ConcatFromSequence", "q", "r", axis=0)]
    return around(nodes, [integer("n", 4096)])


@hostile(0, 0, 0)
def loop_of_none_collects_much():
    body = Graph([node("ConstantOfShape", "k", "b", value=filled())], [value("i", [], INT64), value("c", [], BOOL), untyped("a")],
                 [untyped("c"), untyped("a"), untyped("b")])  # fmt: skip
    return around([node("Loop", "n  v", "q r", body=body)], [integer("n", 0), ints("k", 2**26), ONE])


@hostile(3, 3, 3)
def loop_of_functions():
    functions = [function(f"f{k}", [node(f"f{k - 1}", "a", "c", domain="f"), node(f"f{k - 1}", "c", "b", domain="f")]) for k in range(1, 7)]
    functions.append(function("f0", [node("Mul", "a a", "b")]))
    return around([loop([node("f6", "a", "b", domain="f")], "b", state="h")], [integer("n", 1000)], functions=functions)


# --------------------------------------------------------------------------------------------------------------- scans


def scan(body_nodes, inputs, outputs="r", scanned=1, body_inputs="a", result="b", axis=0):
    body = Graph(body_nodes, [untyped(i) for i in body_inputs.split(" ")], [untyped(r) for r in result.split(" ")])
    return node("Scan", inputs, outputs, body=body, num_scan_inputs=scanned, scan_input_axes=[axis] * scanned)


@hostile(3, 3, 3)
def scan_huge_axis():
    return around([scan(ADD, "z")], inputs=[value("z", [2**40, 2])])


@hostile(3, 3, 3)
def scan_longest():
    return around([scan([node("Mul", "a w", "b")], "h")], shape=(4096, 2))


@hostile(3, 3, 3)
def scan_within_scan():
    inner = scan([node("Mul", "d w", "e")], "a", "b", body_inputs="d", result="e")
    return around([scan([inner], "h")], shape=(4096, 4096, 2))


@hostile(3, 3, 3)
def scan_of_none_is_wide():
    return around([scan(ADD, "z")], inputs=[value("z", [0, 2**28])])


@hostile(3, 3, 3)
def scan_of_samples():
    body = Graph([node("Mul", "a w", "b")], [untyped("a")], [untyped("b")])
    return around([node("Scan", " h", "r", body=body, num_scan_inputs=1)], shape=(4096, 4096, 2), opset=8)


# ----------------------------------------------------------------------------------------------- functions and branches


def tower(depth, calls, leaf):
    """Functions of which each calls the next `calls` times."""
    functions = [function("0", [leaf])]
    for k in range(1, depth):
        inner = [node(str(k - 1), "a" if c == 0 else f"c{c}", "b" if c == calls - 1 else f"c{c + 1}", domain="f") for c in range(calls)]
        functions.append(function(str(k), inner))
    return functions, node(str(depth - 1), "h", "r", domain="f")


@hostile(3, 3, 3)
def functions_twice():
    functions, call = tower(13, 2, node("Mul", "a a", "b"))
    return around([call], functions=functions)


@hostile(0, 0, 0)
def functions_within_budget():
    functions, call = tower(11, 2, node("Mul", "a a", "b"))
    del functions[-1]
    call = node("9", "h", "r", domain="f")
    return around([call], functions=functions)


@hostile(3, 3, 3)
def functions_many_times():
    functions, call = tower(5, 10, node("Mul", "a a", "b"))
    return around([call], functions=functions)


@hostile(3, 3, 3)
def functions_eight_times():
    functions, call = tower(5, 8, node("Mul", "a a", "b"))
    return around([call], functions=functions)


@hostile(3, 3, 3)
def functions_of_nothing():
    functions, call = tower(6, 8, node("Identity", "a", "b"))
    return around([call], functions=functions)


@hostile(3, 3, 3)
def functions_unread():
    """What the calls make is not read."""
    functions, call = tower(6, 8, node("Identity", "a", "b"))
    return around([call, node("Mul", "h h", "y")], functions=functions, result="y")


@hostile(2, 2, 2)
def function_calls_itself():
    return around([node("0", "h", "r", domain="f")], functions=[function("0", [node("0", "a", "b", domain="f")])])


@hostile(2, 2, 2)
def functions_call_each_other():
    functions = [function("0", [node("1", "a", "b", domain="f")]), function("1", [node("0", "a", "b", domain="f")])]
    return around([node("0", "h", "r", domain="f")], functions=functions)


@hostile(0, 0, 0)
def functions_of_branches():
    """Both branches of each function call the next."""
    functions = [function("0", [node("Mul", "a a", "b")], "a t")]
    for k in range(1, 7):
        branch = Graph([node(str(k - 1), "a t", "e", domain="f")], outputs=[untyped("e")])
        functions.append(function(str(k), [node("If", "t", "b", then_branch=branch, else_branch=branch)], "a t"))
    nodes = [node("ReduceMax", "x", "q", keepdims=0), node("Less", "q q", "t"), node("6", "h t", "r", domain="f")]
    return around(nodes, functions=functions)


@hostile(0, 0, 0)
def branches_deep():
    graph = Graph([node("Mul", "h h", "r")], outputs=[untyped("r")])
    other = Graph([], outputs=[untyped("h")])
    while len(wire.write(graph.fields)) < 800:
        graph = Graph([node("If", "t", "r", then_branch=graph, else_branch=other)], outputs=[untyped("r")])
    return around(graph_nodes(graph), [yes()])


def graph_nodes(graph):
    return [f[2] for f in graph.fields if f[0] == 1]


@hostile(2, 2, 2)
def graphs_100_deep():
    """Nothing but graphs in attributes of nodes."""
    data = b""
    for _ in range(100):
        for field in (6, 5, 1):
            data = wire.write([wire.text(field, data)])
    return wire.write([wire.number(1, 8), wire.text(7, data)])


@hostile(2, 2, 2)
def types_deep():
    data = wire.write([wire.inside(1, wire.number(1, FLOAT))])
    for _ in range(200):
        data = wire.write([wire.inside(4, wire.text(1, data))])
        if len(data) > 800:
            break
    return around([node("Relu", "h", "r")], inputs=[[wire.text(1, "z"), wire.text(2, data)]])


# -------------------------------------------------------------------------------------------------------- initialisers


@hostile(2, 2, 2)
def initialiser_overflows():
    return around([], [wire.tensor("r", [2**32, 2**32], b"")])


@hostile(2, 2, 2)
def initialiser_overflows_to_little():
    return around([], [wire.tensor("r", [2**62 + 1, 4], struct.pack("<4f", 1, 2, 3, 4))])


@hostile(2, 2, 2)
def initialiser_2_62():
    return around([], [wire.tensor("r", [2**62], b"")])


@hostile(2, 2, 2)
def initialiser_negative():
    return around([], [wire.tensor("r", [-(2**63), -1], b"")])


@hostile(2, 2, 2)
def initialiser_empty_but_wide():
    return around([], [wire.tensor("r", [0, 2**62, 2**62], b"")])


@hostile(3, 3, 3)
def initialiser_of_100_dims():
    return around([], [wire.tensor("r", [1] * 100, struct.pack("<f", 1))])


def sparse(dims, index):
    return wire.inside(15, wire.inside(1, *floats("r", 1)), wire.inside(2, *ints("", index)), *[wire.number(3, d) for d in dims])


@hostile(3, 3, 3)
def sparse_2_28():
    return around([], more=[sparse([2**28], 5)])


@hostile(3, 3, 3)
def sparse_2_62():
    return around([], more=[sparse([2**62], 2**61)])


@hostile(3, 3, 3)
def sparse_overflows():
    return around([], more=[sparse([2**33, 2**33], 5)])


@hostile(3, 3, 3)
def sparse_constant_2_26():
    fields = [f for f in sparse([2**26], 5)[2]]
    constant = node("Constant", "", "r") + [wire.inside(5, wire.text(1, "sparse_value"), wire.inside(22, *fields), wire.number(20, 11))]
    return around([constant])


def external(dims, **entries):
    fields = [f for f in wire.tensor("r", dims) if f[0] != 9]
    return fields + [wire.inside(13, wire.text(1, k), wire.text(2, str(v))) for k, v in entries.items()] + [wire.number(14, 1)]


@hostile(2, 2, 2)
def external_far_offset():
    return around([], [external([4], location="hostile.onnx", offset=2**63 - 1, length=16)])


@hostile(2, 2, 2)
def external_long():
    return around([], [external([2**40], location="hostile.onnx", offset=0, length=2**42)])


@hostile(2, 2, 2)
def external_device():
    return around([], [external([2**24], location="/dev/zero", offset=0, length=2**26)])


@hostile(5, 5, 4)
def external_missing_and_huge():
    return around([node("Gather", "e j", "r")], [external([2**40, 64], location="none.bin")[:2] + [wire.number(2, FLOAT), wire.text(8, "e")]
                  + [wire.inside(13, wire.text(1, "location"), wire.text(2, "none.bin")), wire.number(14, 1)], ints("j", 1)])  # fmt: skip


# ------------------------------------------------------------------------------------------------ constants that grow


@hostile(3, 0, 3)
def constant_of_2_40():
    return around([node("ConstantOfShape", "k", "r", value=filled())], [ints("k", 2**40)])


@hostile(3, 0, 3)
def constant_of_2_27():
    return around([node("ConstantOfShape", "k", "r", value=filled())], [ints("k", 2**27)])


@hostile(3, 0, 3)
def constant_of_2_26():
    return around([node("ConstantOfShape", "k", "r", value=filled())], [ints("k", 2**26 - 1)])


@hostile(3, 0, 3)
def constants_of_2_26():
    nodes = [node("ConstantOfShape", "k", f"r{k}", value=filled()) for k in range(7)]
    return around([*nodes, node("Concat", " ".join(f"r{k}" for k in range(7)), "r", axis=0)], [ints("k", 2**26 - 1)])


@hostile(3, 2, 2)
def constant_dims_overflow():
    return around([node("ConstantOfShape", "k", "r", value=filled())], [ints("k", 2**32, 2**32, 2**32)])


@hostile(3, 0, 3)
def constant_takes_part():
    """A constant of 16 M elements through a dozen nodes."""
    nodes = [node("ConstantOfShape", "k", "a0", value=filled())] + [node("Sqrt", f"a{k}", f"a{k + 1}") for k in range(12)]
    return around([*nodes, node("Cos", "a12", "r")], [ints("k", 2**24)])


@hostile(3, 2, 2)
def range_to_1e18():
    return around([node("Range", "o e q", "r")], [number("o", 0), number("e", 1e18), number("q", 1)])


@hostile(3, 0, 3)
def range_of_integers():
    return around([node("Range", "o e q", "i"), node("Cast", "i", "r", to=FLOAT)], [integer("o", 0), integer("e", 2**26), integer("q", 1)])


@hostile(3, 2, 2)
def range_of_small_steps():
    return around([node("Range", "o e q", "r")], [number("o", 0), number("e", 1), number("q", 1e-38)])


@hostile(3, 2, 2)
def range_backwards():
    return around([node("Range", "o e q", "i"), node("Cast", "i", "r", to=FLOAT)],
                  [integer("o", 2**63 - 1), integer("e", -(2**63)), integer("q", -1)])  # fmt: skip


@hostile(3, 2, 2)
def expands_multiply():
    nodes = [node("Unsqueeze", "h m", "b0")]
    nodes += [node("Expand", f"b{k} e{k % 3}", f"b{k + 1}") for k in range(6)]
    tensors = [ints("m", 0, 1, 2, 3), ints("e0", 2**20, 1, 1, 1, 1, 1), ints("e1", 2**20, 1, 1, 1, 1), ints("e2", 2**20, 1, 1, 1)]
    return around([*nodes, node("Relu", "b6", "r")], tensors)


@hostile(0, 0, 0)
def expand_of_a_constant():
    return around([node("Expand", "v k", "r")], [ONE, ints("k", 2**26)])


@hostile(3, 2, 2)
def expand_to_2_62():
    return around([node("Expand", "h k", "r")], [ints("k", 2**61, 1, 1)])


@hostile(0, 0, 0)
def tile_of_a_constant():
    return around([node("Tile", "v k", "r")], [ONE, ints("k", 2**26)])


@hostile(3, 2, 2)
def tile_2_62():
    return around([node("Tile", "h k", "r")], [ints("k", 2**62, 2**62)])


@hostile(0, 0, 0)
def concat_of_itself():
    nodes = [node("Concat", " ".join(["v"] * 45), "b0", axis=0)]
    nodes += [node("Concat", " ".join([f"b{k}"] * 45), f"b{k + 1}", axis=0) for k in range(3)]
    return around([*nodes, node("Sqrt", "b3", "r")], [ONE])


@hostile(3, 3, 3)
def eye_2_13():
    return around([node("ConstantOfShape", "k", "z", value=filled()), node("EyeLike", "z", "r")], [ints("k", 2**13, 2**12)])


@hostile(0, 0, 0)
def eye_of_a_product():
    """Two small constants, multiplied."""
    return around([node("ConstantOfShape", "k", "z", value=filled()), node("Transpose", "z", "q"), node("MatMul", "z q", "r")],
                  [ints("k", 8000, 8)])  # fmt: skip


@hostile(0, 0, 0)
def one_hot_2_26():
    return around([node("OneHot", "j k v", "r")], [ints("j", 1), integer("k", 2**26), floats("v", 0, 1)])


@hostile(3, 2, 2)
def one_hot_2_62():
    return around([node("OneHot", "j k v", "r")], [ints("j", 1), integer("k", 2**62), floats("v", 0, 1)])


@hostile(3, 2, 2)
def pad_2_62():
    return around([node("Pad", "h k", "r")], [ints("k", 2**62, 2**62, 2**62, 2**62)])


@hostile(0, 0, 0)
def pad_of_a_constant():
    return around([node("Pad", "v k", "r")], [ONE, ints("k", 2**25, 2**25)])


@hostile(0, 0, 3)
def resize_of_a_constant():
    return around([node("Resize", "v  k", "r")], [ONE, floats("k", 2.0**26)])


@hostile(3, 2, 2)
def resize_2_30():
    return around([node("Resize", "h  k", "r", mode="linear")], [floats("k", 2.0**30, 2.0**30)])


@hostile(0, 0, 3)
def resize_of_data_2_26():
    return around([node("Resize", "h  k", "r", mode="cubic")], [floats("k", 1, 2.0**26)])


@hostile(0, 0, 3)
def resize_of_a_long_axis():
    """Each of few results sees most of what is there."""
    return around([node("Mul", "q o", "p"), node("Resize", "p  k", "r", mode="cubic", antialias=1)],
                  [floats("k", 1, 2.0**-20), number("o", 2)], inputs=[value("q", [2, 2**26])], opset=18)  # fmt: skip


@hostile(0, 0, 0)
def pad_edge_2_26():
    return around([node("Pad", "h k", "r", mode="edge")], [ints("k", 0, 2**25, 0, 2**25)])


@hostile(0, 0, 0)
def pad_wrap_2_26():
    return around([node("Pad", "h k", "r", mode="wrap")], [ints("k", 0, 2**25, 0, 2**25)], opset=19)


@hostile(0, 0, 6)
def center_pad_2_40():
    return around([node("CenterCropPad", "h k", "r", axes=[1])], [ints("k", 2**40)], opset=18)


@hostile(0, 0, 0)
def triangle_2_62():
    return around([node("Trilu", "h k", "r")], [integer("k", 2**62)])


@hostile(0, 0, 3)
def upsample_2_26():
    return around([node("Upsample", "v k", "r")], [ONE, floats("k", 2.0**26)], opset=9)


@hostile(3, 0, 3)
def cum_sum_2_25():
    return around([node("ConstantOfShape", "k", "z", value=filled()), node("CumSum", "z m", "r")], [ints("k", 2**25), integer("m", 0)])


@hostile(3, 2, 2)
def top_k_2_60():
    return around([node("TopK", "h k", "r i")], [ints("k", 2**60)])


@hostile(0, 0, 0)
def top_k_of_a_constant():
    nodes = [node("ConstantOfShape", "k", "z", value=filled()), node("TopK", "z k", "r i")]
    return around(nodes, [ints("k", 2**21)])


@hostile(3, 2, 2)
def non_zero_2_25():
    nodes = [node("ConstantOfShape", "k", "z", value=filled()), node("NonZero", "z", "i"), node("Cast", "i", "r", to=FLOAT)]
    return around(nodes, [ints("k", 2**25)])


@hostile(3, 2, 2)
def unique_2_22():
    nodes = [node("ConstantOfShape", "k", "z", value=filled()), node("Unique", "z", "r")]
    return around(nodes, [ints("k", 2**22)])


@hostile(0, 0, 6)
def random_2_40():
    return around([node("RandomNormal", "", "r", shape=[2**40])])


@hostile(0, 0, 0)
def random_2_26():
    return around([node("RandomUniform", "", "r", shape=[2**26])])


@hostile(0, 0, 0)
def window_2_26():
    return around([node("HannWindow", "k", "r")], [integer("k", 2**26)])


@hostile(0, 0, 0)
def mel_weights_2_26():
    return around([node("MelWeightMatrix", "k l m n p", "r")],
                  [integer("k", 2**13), integer("l", 2**14), integer("m", 2**14), number("n", 0), number("p", 8000)])  # fmt: skip


@hostile(0, 0, 0)
def reference_is_slow():
    """A product of constants of few elements and many operations."""
    nodes = [node("ConstantOfShape", "k", "z", value=filled()), node("MatMul", "z z", "r")]
    return around(nodes, [ints("k", 500, 500)])


# ------------------------------------------------------------------------------------------------ shapes and attributes


@hostile(3, 3, 3)
def reshape_to_rank_100():
    return around([node("Reshape", "h k", "r")], [ints("k", *[1] * 98, 2, 2)])


@hostile(3, 2, 2)
def transpose_of_rank_100():
    return around([node("Transpose", "h", "r", perm=list(range(99, -1, -1)))])


@hostile(3, 2, 2)
def unsqueeze_2_62():
    return around([node("Unsqueeze", "h k", "r")], [ints("k", 2**62)])


@hostile(0, 0, 0)
def slice_of_huge_steps():
    return around([node("Slice", "h o e m q", "r")], [ints("o", 2**63 - 1), ints("e", -(2**63)), ints("m", 0), ints("q", -(2**63))])


@hostile(3, 2, 2)
def conv_kernel_2_31():
    return around([node("Conv", "q k", "r", kernel_shape=[2**31, 2**31])], [wire.tensor("k", [1, 1, 1, 1], b"\0" * 4)],
                  inputs=[value("q", [2, 1, 8, 8])])  # fmt: skip


@hostile(3, 2, 2)
def conv_pads_2_62():
    return around([node("Conv", "q k", "r", pads=[2**62] * 4)], [wire.tensor("k", [1, 1, 1, 1], b"\0" * 4)], inputs=[value("q", [2, 1, 8, 8])])


@hostile(3, 2, 2)
def conv_dilations_2_62():
    return around([node("Conv", "q k", "r", dilations=[2**62, 2**62], strides=[2**62, 2**62])], [wire.tensor("k", [1, 1, 2, 2], b"\0" * 16)],
                  inputs=[value("q", [2, 1, 8, 8])])  # fmt: skip


@hostile(3, 2, 2)
def conv_transpose_2_40():
    return around([node("ConvTranspose", "q k", "r", strides=[2**40, 2**40], output_padding=[2**39, 2**39])],
                  [wire.tensor("k", [1, 1, 1, 1], b"\0" * 4)], inputs=[value("q", [2, 1, 8, 8])])  # fmt: skip


@hostile(3, 2, 2)
def max_pool_kernel_2_40():
    return around([node("MaxPool", "q", "r", kernel_shape=[2**40, 2**40], pads=[2**39] * 4)], inputs=[value("q", [2, 1, 8, 8])])


@hostile(0, 0, 0)
def average_pool_of_a_constant():
    """Few elements and a window of many."""
    nodes = [node("ConstantOfShape", "k", "z", value=filled())]
    nodes.append(node("AveragePool", "z", "r", kernel_shape=[1001, 1001], pads=[500] * 4, count_include_pad=1))
    return around(nodes, [ints("k", 1, 1, 400, 400)])


@hostile(3, 2, 2)
def lp_pool_dilated():
    return around([node("LpPool", "q", "r", kernel_shape=[3, 3], dilations=[2**62, 2**62], pads=[2**62] * 4)], inputs=[value("q", [2, 1, 8, 8])],
                  opset=18)  # fmt: skip


@hostile(2, 2, 2)
def recurrent_hidden_2_40():
    weights = [wire.tensor("k", [1, 2**42, 2], b""), wire.tensor("l", [1, 2**42, 2**40], b"")]
    return around([node("LSTM", "q k l", "r", hidden_size=2**40)], weights, inputs=[value("q", [3, 2, 2])])


@hostile(0, 0, 6)
def recurrent_long():
    """An LSTM of 2^30 steps, with weights as constants."""
    weights = [wire.tensor("k", [1, 4, 2], b"\0" * 32), wire.tensor("l", [1, 4, 1], b"\0" * 16)]
    return around([node("LSTM", "q k l", "r", hidden_size=1, layout=1)], weights, inputs=[value("q", [2, 2**30, 2])])


@hostile(0, 0, 6)
def product_2_40():
    return around([node("MatMul", "q k", "r")], [], inputs=[value("q", [1, 2**40]), value("k", [2**40, 1])])


@hostile(3, 2, 2)
def product_outer_2_62():
    return around([node("MatMul", "q k", "r")], [], inputs=[value("q", [2**40, 1]), value("k", [1, 2**40])])


@hostile(0, 0, 6)
def gemm_2_40():
    return around([node("Gemm", "q k h", "r", alpha=0.5)], [], inputs=[value("q", [2, 2**40]), value("k", [2**40, 2])])


@hostile(2, 2, 2)
def batch_norm_2_40():
    names = ["k", "l", "m", "n"]
    return around([node("BatchNormalization", "q k l m n", "r")], [wire.tensor(n, [2**40], b"") for n in names], inputs=[value("q", [2, 2**40])])


@hostile(0, 0, 6)
def batch_norm_of_inputs():
    names = ["k", "l", "m", "n"]
    return around([node("BatchNormalization", "q " + " ".join(names), "r")], [],
                  inputs=[value("q", [2, 2**40])] + [value(n, [2**40]) for n in names])  # fmt: skip


@hostile(3, 2, 2)
def einsum_long():
    equation = ",".join(["ab"] * 100) + "->ab"
    return around([node("Einsum", " ".join(["h"] * 100), "r", equation=equation)])


@hostile(3, 2, 2)
def einsum_of_many_letters():
    """26 letters, each of size 2: 2^52 products for a sum."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    pairs = [letters[k : k + 2] for k in range(0, 26, 2)]
    return around([node("Einsum", " ".join(["h"] * 13), "r", equation=",".join(pairs) + "->" + letters)])


@hostile(0, 0, 0)
def einsum_of_constants():
    pairs = [f"{a}{b}" for a, b in zip("abcdefgh", "ijklmnop")]
    nodes = [node("ConstantOfShape", "k", "z", value=filled()), node("Einsum", " ".join(["z"] * 8), "r", equation=",".join(pairs) + "->a")]
    return around(nodes, [ints("k", 16, 16)])


@hostile(3, 2, 2)
def einsum_with_bad_letters():
    return around([node("Einsum", "h", "r", equation="." * 700)])


@hostile(3, 2, 2)
def attention_2_40():
    return around([node("Attention", "q q q", "r")], [], inputs=[value("q", [2, 1, 2**31, 4])], opset=23)


@hostile(3, 2, 2)
def gather_of_a_huge_table():
    return around([node("Gather", "q j", "r")], [ints("j", 2**62)], inputs=[value("q", [2**40, 8])])


@hostile(3, 2, 2)
def space_to_depth_2_40():
    return around([node("SpaceToDepth", "q", "r", blocksize=2**40)], inputs=[value("q", [2, 1, 8, 8])])


@hostile(2, 2, 2)
def depth_to_space_2_31():
    return around([node("DepthToSpace", "q", "r", blocksize=2**31)], inputs=[value("q", [2, 2**62, 8, 8])])


@hostile(3, 2, 2)
def roi_align_2_40():
    return around([node("RoiAlign", "q k j", "r", output_height=2**40, output_width=2**40, sampling_ratio=2**40)],
                  [wire.tensor("k", [1, 4], b"\0" * 16), ints("j", 0)], inputs=[value("q", [2, 1, 8, 8])])  # fmt: skip


@hostile(3, 2, 2)
def grid_2_30():
    return around([node("AffineGrid", "q k", "r")], [ints("k", 2, 1, 2**30, 2**30)], inputs=[value("q", [2, 2, 3])], opset=20)


@hostile(0, 0, 0)
def local_response_2_62():
    return around([node("LRN", "q", "r", size=2**62 + 1)], inputs=[value("q", [2, 3, 8, 8])])


@hostile(3, 2, 2)
def fourier_2_40():
    return around([node("DFT", "q k", "r", axis=1)], [integer("k", 2**40)], inputs=[value("q", [2, 8, 1])])


@hostile(2, 2, 2)
def inputs_of_2_62():
    inputs = [value(f"z{k}", [2**62, 4, 2**62]) for k in range(8)]
    return around([node("Sum", " ".join(f"z{k}" for k in range(8)), "r")], inputs=inputs)


@hostile(3, 3, 3)
def batch_of_2_40():
    return around([node("Relu", "h", "r")], shape=(2**40, 2))


@hostile(3, 2, 2)
def split_2_30():
    return around([node("Split", "q", "r r1", num_outputs=2**30)], inputs=[value("q", [2**30])], opset=18)


@hostile(3, 3, 3)
def fourier_of_a_long_axis():
    return around([node("DFT", "q", "r", axis=1)], inputs=[value("q", [2, 2**26, 1])])


@hostile(3, 3, 3)
def fourier_of_short_times():
    return around([node("STFT", "q m  n", "r")], [integer("m", 1), integer("n", 2**25)], inputs=[value("q", [2, 2**26, 1])])


@hostile(0, 0, 0)
def fourier_of_frames_within():
    """As many as a table of their places may hold."""
    return around([node("STFT", "q m  n", "r")], [integer("m", 1), integer("n", 2**10)], inputs=[value("q", [2, 2**12, 1])])


@hostile(0, 0, 0)
def resize_within():
    return around([node("Resize", "h  k", "r", mode="linear")], [floats("k", 1, 2.0**18)])


@hostile(0, 0, 0)
def resize_within_by_cubes():
    return around([node("Resize", "h  k", "r", mode="cubic")], [floats("k", 1, 2.0**17)])


@hostile(0, 0, 0)
def pad_edge_within():
    return around([node("Pad", "h k", "r", mode="edge")], [ints("k", 0, 2**19 - 2, 0, 2**19)])


@hostile(0, 0, 0)
def fourier_within():
    return around([node("Mul", "q o", "p"), node("DFT", "p", "r", axis=1)], [number("o", 2)], inputs=[value("q", [2, 2**22, 1])])


@hostile(0, 0, 0)
def fourier_within_no_power():
    return around([node("Mul", "q o", "p"), node("DFT", "p", "r", axis=1)], [number("o", 2)], inputs=[value("q", [2, 2**19 - 1, 1])])


@hostile(0, 0, 0)
def recurrent_of_many_steps():
    weights = [wire.tensor("k", [1, 3, 2], b"\0" * 24), wire.tensor("l", [1, 3, 1], b"\0" * 12)]
    return around([node("GRU", "q k l", "r", hidden_size=1, layout=1)], weights, inputs=[value("q", [2, 2**20, 2])])


@hostile(0, 0, 0)
def shape_of_much():
    """A Shape reads nothing of the tensor."""
    nodes = [node("Shape", "q", "s0"), node("Cast", "s0", "r", to=FLOAT)]
    return around(nodes, inputs=[value("q", [2, 2**24])])


@hostile(3, 2, 2)
def unpool_2_62():
    return around([node("MaxPool", "q", "p i", kernel_shape=[2, 2]), node("MaxUnpool", "p i k", "r", kernel_shape=[2, 2])],
                  [ints("k", 2, 1, 2**31, 2**31)], inputs=[value("q", [2, 1, 8, 8])])  # fmt: skip


@hostile(0, 0, 6)
def conv_of_a_wide_map():
    return around([node("Conv", "q k", "r", pads=[2**20] * 4)], [wire.tensor("k", [1, 1, 3, 3], b"\0" * 36)], inputs=[value("q", [2, 1, 8, 8])])


@hostile(3, 2, 2)
def groups_2_40():
    return around([node("GroupNormalization", "q k l", "r", num_groups=2**40)], [wire.tensor("k", [2], b"\0" * 8), wire.tensor("l", [2], b"\0" * 8)],
                  inputs=[value("q", [2, 2, 4])], opset=21)  # fmt: skip


@hostile(0, 0, 6)
def loss_of_2_40_classes():
    nodes = [node("Cast", "j", "i", to=INT64), node("SoftmaxCrossEntropyLoss", "q i", "r")]
    return around(nodes, inputs=[value("q", [2, 2**40]), value("j", [2], INT64)])


@hostile(3, 0, 3)
def quantised_table():
    nodes = [node("ConstantOfShape", "k", "z", value=wire.write(wire.tensor("", [1], b"\1", UINT8))), node("DequantizeLinear", "z c", "r")]
    return around(nodes, [ints("k", 2**26), number("c", 1)])


@hostile(3, 0, 3)
def quantised_table_of_blocks():
    nodes = [node("ConstantOfShape", "k", "z", value=wire.write(wire.tensor("", [1], b"\1", UINT8))),
             node("DequantizeLinear", "z c", "r", block_size=2**25, axis=0)]  # fmt: skip
    return around(nodes, [ints("k", 2**26), floats("c", 1, 2)], opset=21)


# ------------------------------------------------------------------------------------------------ sequences and strings


@hostile(3, 2, 2)
def sequence_of_2_30():
    return around([node("SplitToSequence", "q", "z"), node("ConcatFromSequence", "z", "r", axis=0)], inputs=[value("q", [2**30])])


@hostile(3, 2, 2)
def sequence_of_zeros():
    nodes = [node("ConstantOfShape", "k", "z", value=filled()), node("SplitToSequence", "z", "p"), node("ConcatFromSequence", "p", "r", axis=0)]
    return around(nodes, [ints("k", 2**26)])


@hostile(2, 2, 2)
def sequence_of_parts():
    nodes = [node("SplitToSequence", "q k", "z"), node("ConcatFromSequence", "z", "r", axis=0)]
    return around(nodes, [integer("k", 1)], inputs=[value("q", [2**62])])


@hostile(3, 3, 3)
def sequence_map():
    body = Graph([node("Mul", "a w", "b")], [untyped("a")], [untyped("b")])
    nodes = [node("SplitToSequence", "h", "z"), node("SequenceMap", "z", "p", body=body), node("ConcatFromSequence", "p", "r", axis=0)]
    return around(nodes, shape=(4096, 2))


@hostile(3, 2, 2)
def sequence_at_2_62():
    nodes = [node("SequenceConstruct", "h h", "z"), node("SequenceAt", "z j", "r")]
    return around(nodes, [integer("j", 2**62)])


@hostile(3, 3, 3)
def strings():
    fields = [wire.number(1, 200), wire.number(2, STRING), wire.text(8, "u")] + [wire.text(6, "")] * 200
    return around([node("StringNormalizer", "u", "p"), node("Size", "p", "i"), node("Cast", "i", "r", to=FLOAT)], [fields])


@hostile(3, 3, 3)
def strings_claimed():
    fields = [wire.number(1, 2**40), wire.number(2, STRING), wire.text(8, "u"), wire.text(6, "a")]
    return around([node("Size", "u", "i"), node("Cast", "i", "r", to=FLOAT)], [fields])


@hostile(3, 3, 3)
def strings_tiled():
    fields = [wire.number(1, 1), wire.number(2, STRING), wire.text(8, "u"), wire.text(6, "a" * 100)]
    nodes = [node("Tile", "u k", "p"), node("StringConcat", "p p", "q"), node("Size", "q", "i"), node("Cast", "i", "r", to=FLOAT)]
    return around(nodes, [fields, ints("k", 2**26)], opset=20)


# -------------------------------------------------------------------------------------------------------- whole models


@hostile(0, 0, 0)
def opsets_odd():
    graph = Graph([node("Mul", "x w", "y")], [value("x", [2, 2])], [value("y", [2, 2])], [WEIGHT])
    return model(graph, opsets=[("", 2**62), ("", -1), ("ai.onnx", 0), ("ai.onnx.ml", 2**63 - 1)])


@hostile(3, 3, 3)
def opset_of_2_62():
    return around([node("Relu", "h", "r")], opset=2**62)


@hostile(0, 0, 0)
def outputs_repeat():
    graph = Graph([node("Mul", "x w", "y")], [value("x", [2, 2])], [untyped("y")] * 100, [WEIGHT])
    return model(graph)


@hostile(2, 2, 2)
def names_repeat():
    return around([node("Relu", "h", "r")] * 20 + [node("Relu", "r", "h")] * 20)


@hostile(2, 2, 2)
def inputs_repeat():
    return around([node("Relu", "h", "r")], inputs=[value("x", [2, 2])] * 40)


@hostile(2, 2, 2)
def cycle():
    nodes = [node("Add", f"a{(k + 1) % 20} h", f"a{k}") for k in range(20)]
    return around([*nodes, node("Relu", "a0", "r")])


@hostile(3, 3, 3)
def empty_nodes():
    return wire.write([wire.number(1, 8), wire.inside(7, *[wire.text(1, b"")] * 480), wire.inside(8, wire.number(2, 17))])


@hostile(2, 2, 2)
def empty_parts():
    return wire.write([wire.number(1, 8), wire.inside(7, *[wire.text(f, b"") for f in (1, 5, 11, 12, 13, 15)] * 50),
                       *[wire.text(25, b"")] * 40, wire.inside(8, wire.number(2, 17))])  # fmt: skip


@hostile(0, 0, 0)
def name_of_700():
    return around([node("Relu", "h", "n" * 700), node("Relu", "h", "r")])


@hostile(0, 0, 2)
def fans_out():
    """Each value is added to itself by many nodes."""
    nodes = [node("Sum", " ".join(["h" if k == 0 else f"b{k - 1}"] * 72), f"b{k}") for k in range(3)]
    return around([*nodes, node("Relu", "b2", "r")])


@hostile(0, 0, 0)
def products_of_itself():
    nodes = [node("Mul", "h h" if k == 0 else f"b{k - 1} b{k - 1}", f"b{k}") for k in range(35)]
    return around([*nodes, node("Relu", "b34", "r")])


@hostile(2, 2, 2)
def length_claims_2_31():
    """A field that says it is longer than the file."""
    return around([node("Relu", "h", "r")]) + wire.write_varint(7 << 3 | 2) + wire.write_varint(2**31)


if __name__ == "__main__":
    for each, build in MODELS.items():
        size = len(build())
        print(each, size, "" if size <= 1024 else "TOO LARGE")
