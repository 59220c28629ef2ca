"""Shapes and attributes of operators. Numbers at @hostile: exit codes of check, inspect and plan."""

from building import FLOAT, INT64, UINT8, around, filled, floats, hostile, integer, ints, node, number, value, wire


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
