"""Initialisers that claim much, and constants that grow. Numbers at @hostile: exit codes of check, inspect and plan."""

import struct

from building import FLOAT, ONE, around, filled, floats, hostile, integer, ints, node, number, value, wire


# --------------------------------------------------------------------------------------------------------- initialisers


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


# -------------------------------------------------------------------------------------------------- constants that grow


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


@hostile(3, 3, 3)
def resize_of_a_constant():
    return around([node("Resize", "v  k", "r")], [ONE, floats("k", 2.0**26)])


@hostile(3, 3, 3)
def resize_2_30():
    return around([node("Resize", "h  k", "r", mode="linear")], [floats("k", 2.0**30, 2.0**30)])


@hostile(3, 3, 3)
def resize_of_data_2_26():
    return around([node("Resize", "h  k", "r", mode="cubic")], [floats("k", 1, 2.0**26)])


@hostile(3, 3, 3)
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


@hostile(3, 3, 3)
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
