"""Which products and convolutions the nodes of a profile are made of, from what `onstage profile` says of them."""

import math
import re

# Heads first, positions first, size first, positions outer: where batch, heads, positions and size lie in an operand of Attention.
ORDERS = {0: (0, 1, 2, 3), 1: (0, 2, 1, 3), 2: (0, 1, 3, 2), 3: (1, 2, 0, 3)}


class Node:
    """A node of the profile, its types read from its key."""

    def __init__(self, entry):
        self.entry = entry
        self.operator, self.phase, self.flops = entry["operator"], entry["phase"], entry["flops"]
        before, _, after = entry["key"].rpartition(" #")[0].partition(" >")
        self.inputs = [shape_of(word) for word in before.split()[1:]]
        self.outputs = [shape_of(word) for word in after.split()]
        words = re.findall(r'(\w+)=(\[[^]]*\]|"[^"]*"|\S+)', entry.get("attributes", ""))
        self.attributes = {name: value_of(text) for name, text in words}

    def attribute(self, name, default=0):
        return self.attributes.get(name, default)


def shape_of(word):
    """The dims, or None where the operand is left out."""
    found = re.match(r"\w+\[([\d,]*)\]", word)
    return [int(d) for d in found[1].split(",") if d] if found else None


def value_of(text):
    if text.startswith("["):
        return [float(x) if "." in x else int(x) for x in re.findall(r"[-\w.+]+", text) if re.match(r"-?\d", x)]
    if text.startswith('"'):
        return text[1:-1]
    return float(text) if re.search(r"[.enai]", text) else int(text)


def product(batch, m, n, k, times=1.0):
    return f"product {batch} {m} {n} {k}", times


# ---------------------------------------------------------------- operators


def matrix_product(node, transpose_a=False, transpose_b=False, fold=False):
    a, b = node.inputs[:2]
    if fold:
        a, b = [math.prod(a[:-1]), a[-1]], [math.prod(b[:-1]), b[-1]]
    if len(a) < 2 or len(b) < 2:
        return None
    n, k = b[-2] if transpose_b else b[-1], b[-1] if transpose_b else b[-2]
    if math.prod(b[:-2]) == 1 and not transpose_a:  # one matrix for all rows
        return [product(1, math.prod(a) // k, n, k)]
    rows, outputs = a[-1] if transpose_a else a[-2], math.prod(node.outputs[0])
    return [product(outputs // (rows * n), rows, n, k)]


def linear(node):
    n, k = node.outputs[0][-1], node.inputs[0][-1]
    return [product(1, math.prod(node.outputs[0]) // n, n, k)]


def weight_gradient(node):
    m, n = node.inputs[0][-1], node.inputs[1][-1]
    return [product(1, m, n, math.prod(node.inputs[0]) // m)]


def attention_sizes(node, query, key):
    q, k = (
        [shape[at] for at in ORDERS[node.attribute(order)]] for shape, order in ((query, "query_order"), (key, "key_order"))
    )
    heads = q[1] // 3 if node.attribute("packed") else q[1]  # those of keys and values lie behind them
    return q[0] * heads, q[2], k[2], q[3]


def attention(node):
    """Pairs that a causal mask hides are not computed: products count by the share of the others."""
    batch, queries, keys, size = attention_sizes(node, node.inputs[0], node.inputs[1])
    share = node.flops / (batch * queries * keys * (4 * size + 5))
    return [product(batch, queries, keys, size, share), product(batch, queries, size, keys, share)]


def attention_gradient(node):
    """Probabilities are not kept but computed again: five products."""
    batch, queries, keys, size = attention_sizes(node, node.inputs[1], node.inputs[2])
    share = node.flops / (batch * queries * keys * (10 * size + 8))
    return [
        product(batch, queries, keys, size, 2 * share),
        product(batch, keys, size, queries, 2 * share),
        product(batch, queries, size, keys, share),
    ]


def recurrent_sizes(node):
    x, w, r = node.inputs[:3]
    steps, batch = (x[1], x[0]) if node.attribute("layout") else (x[0], x[1])
    return w[0], steps, batch, w[1], w[2], r[2]


def recurrent(node):
    """What goes in, for all steps at once; what comes back, step by step."""
    directions, steps, batch, rows, inputs, hidden = recurrent_sizes(node)
    return [product(1, steps * batch, rows, inputs, directions), product(1, batch, rows, hidden, directions * steps)]


def recurrent_gradient(node):
    directions, steps, batch, rows, inputs, hidden = recurrent_sizes(node)
    parts = [
        product(1, batch, hidden, rows, directions * steps),
        product(1, rows, inputs, steps * batch, directions),
        product(1, rows, hidden, steps * batch, directions),
    ]
    return parts + [product(1, steps * batch, inputs, rows, directions)] * (node.outputs[0] is not None)


def convolution(kind, x, w, node):
    if len(x) != 4 or node.attribute("auto_pad", "NOTSET") not in ("", "NOTSET"):
        return None
    strides, pads, dilations = (node.attribute(n, d) for n, d in (("strides", [1, 1]), ("pads", [0] * 4), ("dilations", [1, 1])))
    numbers = [*x, w[0], *w[2:], *strides, *pads, *dilations, node.attribute("group", 1)]
    return [(" ".join(map(str, [kind, *numbers])), 1.0)]


OPERATORS = {
    "MatMul": matrix_product,
    "MatMulTransposed": lambda n: matrix_product(n, n.attribute("transpose_a"), n.attribute("transpose_b"), n.attribute("fold")),
    "Gemm": lambda n: matrix_product(n, n.attribute("transA"), n.attribute("transB")),
    "Linear": linear, "LinearAdd": linear, "LinearGelu": linear, "LinearGeluGradient": linear, "LinearWeightGradient": weight_gradient,
    "Attention": attention, "AttentionGradient": attention_gradient,
    "LSTM": recurrent, "GRU": recurrent, "RNN": recurrent, "RecurrentGradient": recurrent_gradient,
    "Conv": lambda n: convolution("forward", n.inputs[0], n.inputs[1], n),
    "ConvInputGradient": lambda n: convolution("input", n.attribute("input_shape"), n.inputs[1], n),
    "ConvWeightGradient": lambda n: convolution("weight", n.inputs[0], n.outputs[0], n),
}  # fmt: skip


def parts_of(node):
    """[(line of roofline_worker.py without form and seconds, how many of them)]; None: no product, or none that is known."""
    return OPERATORS[node.operator](node) if node.operator in OPERATORS else None


def part_flops(line):
    """Of what a line says, taps in the padding included."""
    kind, *words = line.split()
    sizes = [int(word) for word in words]
    if kind == "product":
        return 2 * math.prod(sizes)
    n, _, h, w, o, kh, kw, sh, sw, pt, pl, pb, pr, dh, dw, groups = sizes
    rows, columns = ((size + pad - d * (k - 1) - 1) // s + 1 for size, pad, d, k, s in ((h, pt + pb, dh, kh, sh), (w, pl + pr, dw, kw, sw)))
    return 2 * n * o * rows * columns * kh * kw * sizes[1] // groups


def check(node, parts):
    """Fails where the parts are not what the node computes, by its own count: beside products that has biases, softmax
    and gradients that nobody wants, and of convolutions it leaves out taps in the padding."""
    if not parts or node.flops == 0:
        return
    ratio = sum(part_flops(line) * times for line, times in parts) / node.flops
    padded = not parts[0][0].startswith("product")
    if ratio < 0.7 or (ratio > 1.01 and not padded):
        raise SystemExit(f"{node.entry['name']} ({node.operator}): its products have {ratio:.2f} times its FLOPs: {parts}")
