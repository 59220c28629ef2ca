"""Sequences, strings, and files that are odd as a whole. Numbers at @hostile: exit codes of check, inspect and plan."""

from building import FLOAT, STRING, WEIGHT, Graph, around, filled, hostile, integer, ints, model, node, number, untyped, value, wire


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


# --------------------------------------------------------------------------------------------------------- whole models


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
