"""Weights that are no initialisers of the model's graph: in Constant nodes, bodies of If, Loop and Scan, functions. python3 generate.py"""
import pathlib
import sys

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from making import write_case  # noqa: E402

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
FLAGS = "--batch 4 --optimizer sgd --no-shuffle --threads 1 --log-json log.json"
generator = numpy.random.default_rng(5)


def draw(*shape):
    return generator.uniform(-0.5, 0.5, shape).astype(numpy.float32)


def constant(name, array=None, **attributes):
    if array is not None:
        attributes = {"value": numpy_helper.from_array(numpy.asarray(array), "")}
    return helper.make_node("Constant", [], [name], **attributes)


def initialisers(**arrays):
    return [numpy_helper.from_array(numpy.asarray(array), name) for name, array in arrays.items()]


def model_of(nodes, inputs, output, weights=(), functions=(), producer="", opset=17, more=()):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(output, FLOAT, ["batch", 3])], list(weights))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in more],
        functions=list(functions), producer_name=producer, ir_version=8)
    onnx.checker.check_model(model)
    return model


def train(forward, weights, x, y, steps, lr=0.5, batch=4):
    """PyTorch's losses, cross entropy, SGD."""
    parameters = {name: torch.tensor(array, requires_grad=True) for name, array in weights.items()}
    losses = []
    for step in range(steps):
        rows = slice(step * batch % len(x), step * batch % len(x) + batch)
        loss = torch.nn.functional.cross_entropy(forward(torch.tensor(x[rows]), **parameters), torch.tensor(y[rows]))
        losses.append(loss.item())
        for parameter, gradient in zip(parameters.values(), torch.autograd.grad(loss, parameters.values(), materialize_grads=True)):
            parameter.data -= lr * gradient
    return losses


def case(name, model, x, forward, weights, says=(), options="", before=(), classes=3, lr=0.5):
    """Trains 3 steps, writes the model, reads it and trains 2 more: what was trained stands where it stood."""
    y = generator.integers(0, classes, len(x)).astype(numpy.int64)
    losses = train(forward, weights, x, y, 6, lr)
    command = f"train {{}} --input x.npy --target y.npy --loss cross_entropy {FLAGS} --lr {lr} {options} --steps 3 --out {{}}"
    write_case(__file__, name, model, {"x": x, "y": y},
               list(before) + [command.format("model.onnx", "half.onnx"), command.format("half.onnx", "out.onnx")],
               losses[3:], says)


X = draw(12, 6)
rows = [("x", FLOAT, ["batch", 6])]
relu = torch.relu


def constants():
    w1, b1, w2, b2 = draw(6, 5), draw(5), draw(5, 3), draw(3)
    nodes = [constant("fc1.weight", w1), constant("fc1.bias", value_floats=b1.tolist()), constant("fc2.weight", w2), constant("fc2.bias", b2),
             helper.make_node("MatMul", ["x", "fc1.weight"], ["a"]), helper.make_node("Add", ["fc1.bias", "a"], ["b"]),
             helper.make_node("Relu", ["b"], ["c"]), helper.make_node("Gemm", ["c", "fc2.weight", "fc2.bias"], ["d"])]
    model = model_of(nodes, rows, "d")
    forward = lambda x, w1, b1, w2, b2: relu(x @ w1 + b1) @ w2 + b2  # noqa: E731
    case("constant_nodes", model, X, forward, dict(w1=w1, b1=b1, w2=w2, b2=b2), ["fc1.bias", "of a Constant node", "! note:"],
         before=["inspect model.onnx"])
    case("constant_nodes_frozen", model, X, lambda x, w2, b2: forward(x, torch.tensor(w1), torch.tensor(b1), w2, b2), dict(w2=w2, b2=b2),
         ["! note:"], "--freeze 'fc1.*'")
    case("constant_nodes_of_pytorch", model_of(
        [constant("/Constant_output_0", w1), helper.make_node("MatMul", ["x", "/Constant_output_0"], ["a"]), helper.make_node("Relu", ["a"], ["c"]),
         helper.make_node("Gemm", ["c", "fc2.weight", "fc2.bias"], ["d"])], rows, "d", initialisers(**{"fc2.weight": w2, "fc2.bias": b2}), producer="pytorch"),
        X, lambda x, w2, b2: relu(x @ torch.tensor(w1)) @ w2 + b2, dict(w2=w2, b2=b2), ["! note:"])


def convolution():
    """Kernel, bias, and a normalisation's scale and shift; a mean and a deviation of pixels in front, which stay."""
    k, c, g, s, w = draw(4, 3, 3, 3), draw(4), draw(4) + 1, draw(4), draw(4, 3)
    mean, deviation = numpy.float32([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1), numpy.float32([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1)
    nodes = [constant("mean", mean), constant("deviation", deviation), constant("k", k), constant("c", c), constant("g", g), constant("s", s), constant("w", w),
             helper.make_node("Sub", ["x", "mean"], ["x1"]), helper.make_node("Div", ["x1", "deviation"], ["x2"]),
             helper.make_node("Conv", ["x2", "k", "c"], ["y"], pads=[1] * 4), helper.make_node("InstanceNormalization", ["y", "g", "s"], ["n"]),
             helper.make_node("Relu", ["n"], ["r"]), helper.make_node("GlobalAveragePool", ["r"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("MatMul", ["f", "w"], ["o"])]
    model = model_of(nodes, [("x", FLOAT, ["batch", 3, 6, 6])], "o")

    def forward(x, k, c, g, s, w):
        y = torch.nn.functional.conv2d((x - torch.tensor(mean)) / torch.tensor(deviation), k, c, padding=1)
        return relu(torch.nn.functional.instance_norm(y, weight=g, bias=s)).mean((2, 3)) @ w

    case("constant_nodes_of_a_convolution", model, generator.uniform(0, 1, (12, 3, 6, 6)).astype(numpy.float32), forward,
         dict(k=k, c=c, g=g, s=s, w=w), ["! note:", "! 'mean'"])


def normalisation():
    """Layer normalisation in single steps, all of its numbers in Constant nodes."""
    w, g, s, h = draw(6, 5), draw(5) + 1, draw(5), draw(5, 3)
    nodes = [constant("w", w), constant("g", g), constant("s", s), constant("h", h), constant("eps", value_float=1e-5), constant("two", value_float=2.0),
             helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("ReduceMean", ["a"], ["m"], axes=[-1]),
             helper.make_node("Sub", ["a", "m"], ["d"]), helper.make_node("Pow", ["d", "two"], ["q"]), helper.make_node("ReduceMean", ["q"], ["v"], axes=[-1]),
             helper.make_node("Add", ["v", "eps"], ["v1"]), helper.make_node("Sqrt", ["v1"], ["r"]), helper.make_node("Div", ["d", "r"], ["n"]),
             helper.make_node("Mul", ["n", "g"], ["n1"]), helper.make_node("Add", ["n1", "s"], ["n2"]), helper.make_node("MatMul", ["n2", "h"], ["o"])]
    case("constant_nodes_of_a_normalisation", model_of(nodes, rows, "o"), X,
         lambda x, w, g, s, h: torch.nn.functional.layer_norm(x @ w, (5,), g, s) @ h, dict(w=w, g=g, s=s, h=h), ["! note:"])


def lookup():
    """A table in which data look; a table of sines that is added stays, and so does a mask."""
    table, w = draw(9, 8), draw(8, 3)
    angles = numpy.arange(5)[:, None] / 10 ** (numpy.arange(4)[None] / 2)
    sines = numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1).astype(numpy.float32)
    mask = numpy.tril(numpy.ones((5, 5), numpy.float32))
    nodes = [constant("table", table), constant("sines", sines), constant("mask", mask), constant("w", w), helper.make_node("Gather", ["table", "x"], ["e"]),
             helper.make_node("Add", ["e", "sines"], ["p"]), helper.make_node("Transpose", ["p"], ["t"], perm=[0, 2, 1]),
             helper.make_node("MatMul", ["p", "t"], ["a"]), helper.make_node("Mul", ["a", "mask"], ["b"]), helper.make_node("MatMul", ["b", "p"], ["c"]),
             helper.make_node("ReduceMean", ["c"], ["d"], axes=[1], keepdims=0), helper.make_node("MatMul", ["d", "w"], ["o"])]

    def forward(x, table, w):
        p = table[x] + torch.tensor(sines)
        return (((p @ p.mT) * torch.tensor(mask)) @ p).mean(1) @ w

    case("constant_node_of_an_embedding", model_of(nodes, [("x", INT64, ["batch", 5])], "o"), generator.integers(0, 9, (12, 5)).astype(numpy.int64),
         forward, dict(table=table, w=w), ["! note:"], lr=0.05)


def recurrent():
    """A recurrent layer behind a transposed input; a matrix that is transposed before it is read."""
    W, R, b, h = draw(1, 20, 6), draw(1, 20, 5), numpy.zeros((1, 40), numpy.float32), draw(3, 5)
    nodes = [constant("W", W), constant("R", R), constant("b", b), constant("h", h), constant("first", numpy.int64([0])),
             helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0, 2]), helper.make_node("LSTM", ["xt", "W", "R", "b"], ["", "y"], hidden_size=5),
             helper.make_node("Squeeze", ["y", "first"], ["z"]), helper.make_node("Transpose", ["h"], ["ht"], perm=[1, 0]), helper.make_node("MatMul", ["z", "ht"], ["o"])]

    def forward(x, W, R, b, h):
        y = c = torch.zeros(len(x), 5)
        for t in range(4):
            i, o, f, g = (x[:, t] @ W[0].T + y @ R[0].T + b[0, :20] + b[0, 20:]).split(5, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            y = torch.sigmoid(o) * torch.tanh(c)
        return y @ h.T

    case("constant_nodes_of_a_recurrence", model_of(nodes, [("x", FLOAT, ["batch", 4, 6])], "o"), draw(12, 4, 6), forward, dict(W=W, R=R, b=b, h=h), ["! note:"])


def unsure():
    """What may be a weight is said, with what trains it."""
    w, p, h = draw(6, 5), draw(4, 5), draw(5, 3)
    nodes = [constant("places", p), helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Tanh", ["a"], ["t"]), helper.make_node("Mul", ["t", "places"], ["b"]),
             helper.make_node("ReduceMean", ["b"], ["d"], axes=[1], keepdims=0), helper.make_node("MatMul", ["d", "h"], ["o"])]
    model = model_of(nodes, [("x", FLOAT, ["batch", 4, 6])], "o", initialisers(w=w, h=h))
    x = draw(12, 4, 6)
    forward = lambda x, w, h, p: (torch.tanh(x @ w) * p).mean(1) @ h  # noqa: E731
    case("constant_node_that_may_be_a_weight", model, x, lambda x, w, h: forward(x, w, h, torch.tensor(p)), dict(w=w, h=h),
         ["1 tensor of Constant nodes, first 'places', may be a weight: it is not trained", "--train 'places'"])
    case("constant_node_by_name", model, x, forward, dict(w=w, h=h, p=p), ["! note:"], "--train '*' --train places")
    write_case(__file__, "constant_node_strict", model, {"x": x, "y": numpy.zeros(12, numpy.int64)},
               f"train model.onnx --input x.npy --target y.npy --loss cross_entropy {FLAGS} --lr 0.5 --steps 1 --strict", says=["places"], code=3)


def body(name, nodes, inputs, outputs, weights=()):
    info = lambda item: helper.make_tensor_value_info(item[0], item[1], None)  # noqa: E731
    return helper.make_graph(nodes, name, [info(item) for item in inputs], [info(item) for item in outputs], list(weights))


def branches():
    """Both branches run, by a condition that depends on data; each has a matrix 'w' of its own."""
    u, v, b, h = draw(6, 5), draw(6, 5), draw(5), draw(5, 3)
    yes = body("yes", [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["yes_out"])], [], [("yes_out", FLOAT)], initialisers(w=u, b=b))
    no = body("no", [constant("w", v), helper.make_node("MatMul", ["x", "w"], ["no_out"])], [], [("no_out", FLOAT)])
    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", "zero"], ["up"]),
             helper.make_node("If", ["up"], ["i"], then_branch=yes, else_branch=no), helper.make_node("Tanh", ["i"], ["t"]), helper.make_node("MatMul", ["t", "h"], ["o"])]
    model = model_of(nodes, rows, "o", initialisers(h=h, zero=numpy.float32(0)))
    case("branches", model, X, lambda x, u, v, b, h: torch.tanh(x @ u + b if x.sum() > 0 else x @ v) @ h, dict(u=u, v=v, b=b, h=h),
         ["yes/w", "of the body 'no'", "! note:"], before=["inspect model.onnx"])


def loop():
    """The steps of a loop share the body's weights."""
    w, b, h = draw(6, 6), draw(6), draw(6, 3)
    nodes = [constant("w", w), helper.make_node("MatMul", ["s", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Tanh", ["c"], ["s1"]),
             helper.make_node("Identity", ["go"], ["go1"])]
    step = body("step", nodes, [("i", INT64), ("go", TensorProto.BOOL), ("s", FLOAT)], [("go1", TensorProto.BOOL), ("s1", FLOAT)], initialisers(b=b))
    outer = [constant("trips", numpy.int64(3)), helper.make_node("Loop", ["trips", "", "x"], ["y"], body=step), helper.make_node("MatMul", ["y", "h"], ["o"])]

    def forward(x, w, b, h):
        for _ in range(3):
            x = torch.tanh(x @ w + b)
        return x @ h

    case("loop", model_of(outer, rows, "o", initialisers(h=h)), X, forward, dict(w=w, b=b, h=h), ["! note:"])


def scan():
    w, u, h = draw(6, 5), draw(5, 5), draw(5, 3)
    nodes = [helper.make_node("MatMul", ["e", "w"], ["a"]), helper.make_node("MatMul", ["s", "u"], ["c"]), helper.make_node("Add", ["a", "c"], ["d"]),
             helper.make_node("Tanh", ["d"], ["s1"]), helper.make_node("Identity", ["s1"], ["e1"])]
    step = body("step", nodes, [("s", FLOAT), ("e", FLOAT)], [("s1", FLOAT), ("e1", FLOAT)], initialisers(w=w, u=u))
    outer = [helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0, 2]), helper.make_node("ReduceSum", ["x", "axes"], ["x0"], keepdims=0),
             constant("zeros", numpy.zeros((6, 5), numpy.float32)), helper.make_node("MatMul", ["x0", "zeros"], ["s0"]),
             helper.make_node("Scan", ["s0", "xt"], ["y", "all"], body=step, num_scan_inputs=1), helper.make_node("MatMul", ["y", "h"], ["o"])]

    def forward(x, w, u, h):
        state = torch.zeros(len(x), 5)
        for i in range(4):
            state = torch.tanh(x[:, i] @ w + state @ u)
        return state @ h

    model = model_of(outer, [("x", FLOAT, ["batch", 4, 6])], "o", initialisers(h=h, axes=numpy.int64([1])))
    case("scan", model, draw(12, 4, 6), forward, dict(w=w, u=u, h=h), ["may be a weight"])


def functions():
    """A function that is called twice has one weight; one that is handed its matrix has one for each call."""
    w, b, p, q, h = draw(6, 6), draw(6), draw(6, 6), draw(6, 6), draw(6, 3)
    imports = [helper.make_opsetid("", 17)]
    layer = helper.make_function("here", "Layer", ["x"], ["y"], [
        constant("w", w), constant("b", value_floats=b.tolist()), helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Tanh", ["c"], ["y"])], imports)
    given = helper.make_node("Constant", [], ["m"])
    given.attribute.append(onnx.AttributeProto(name="value", ref_attr_name="matrix", type=onnx.AttributeProto.TENSOR))
    product = helper.make_function("here", "Product", ["x"], ["y"], [given, helper.make_node("MatMul", ["x", "m"], ["y"])], imports, ["matrix"])
    call = lambda function, x, y, **attributes: helper.make_node(function, [x], [y], domain="here", **attributes)  # noqa: E731
    case("function_called_twice", model_of([call("Layer", "x", "a"), call("Layer", "a", "c"), helper.make_node("MatMul", ["c", "h"], ["o"])], rows, "o",
                                           initialisers(h=h), [layer], more=["here"]), X,
         lambda x, w, b, h: torch.tanh(torch.tanh(x @ w + b) @ w + b) @ h, dict(w=w, b=b, h=h),
         ["Layer/w", "of the function 'Layer'", "! note:"], before=["inspect model.onnx"])
    tensor = lambda array: numpy_helper.from_array(array, "")  # noqa: E731
    case("function_handed_its_matrix", model_of(
        [call("Product", "x", "a", matrix=tensor(p)), helper.make_node("Tanh", ["a"], ["c"]), call("Product", "c", "d", matrix=tensor(q)),
         helper.make_node("MatMul", ["d", "h"], ["o"])], rows, "o", initialisers(h=h), [product], more=["here"]), X,
        lambda x, p, q, h: torch.tanh(x @ p) @ q @ h, dict(p=p, q=q, h=h), ["! note:"])
    # In the body of a loop, and outside of it: still one.
    step = body("step", [call("Layer", "s", "s1"), helper.make_node("Identity", ["go"], ["go1"])], [("i", INT64), ("go", TensorProto.BOOL), ("s", FLOAT)],
                [("go1", TensorProto.BOOL), ("s1", FLOAT)])
    outer = [constant("trips", numpy.int64(2)), helper.make_node("Loop", ["trips", "", "x"], ["y"], body=step), call("Layer", "y", "z"), helper.make_node("MatMul", ["z", "h"], ["o"])]

    def forward(x, w, b, h):
        for _ in range(3):
            x = torch.tanh(x @ w + b)
        return x @ h

    case("function_in_a_loop", model_of(outer, rows, "o", initialisers(h=h), [layer], more=["here"]), X, forward, dict(w=w, b=b, h=h), ["! note:"])


def cast(x, y, to=FLOAT):
    return helper.make_node("Cast", [x], [y], to=to)


def rounded():
    """Weights that a Cast or a CastLike takes to the layer's type."""
    w, b, v, h = draw(6, 5).astype(numpy.float64), draw(5).astype(numpy.float64), draw(5, 5).astype(numpy.float64), draw(5, 3)
    nodes = [constant("w", w), constant("b", b), constant("v", v), constant("h", h), cast("w", "w1"), cast("b", "b1"), helper.make_node("CastLike", ["v", "x"], ["v1"]),
             helper.make_node("MatMul", ["x", "w1"], ["a"]), helper.make_node("Add", ["a", "b1"], ["c"]), helper.make_node("Tanh", ["c"], ["d"]),
             helper.make_node("MatMul", ["d", "v1"], ["e"]), helper.make_node("Relu", ["e"], ["f"]), helper.make_node("MatMul", ["f", "h"], ["o"])]
    case("constant_nodes_cast", model_of(nodes, rows, "o"), X, lambda x, w, b, v, h: relu(torch.tanh(x @ w.float() + b.float()) @ v.float()) @ h,
         dict(w=w, b=b, v=v, h=h), ["! note:"])


def joined():
    """A kernel and a bias of two halves each."""
    k, l, b, c, w = draw(2, 3, 3, 3), draw(2, 3, 3, 3), draw(2), draw(2), draw(4, 3)
    nodes = [constant("k", k), constant("l", l), constant("b", b), constant("c", c), constant("w", w), helper.make_node("Concat", ["k", "l"], ["kl"], axis=0),
             helper.make_node("Concat", ["b", "c"], ["bc"], axis=0), helper.make_node("Conv", ["x", "kl", "bc"], ["y"]), helper.make_node("Relu", ["y"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["o"])]
    case("constant_nodes_joined", model_of(nodes, [("x", FLOAT, ["batch", 3, 5, 5])], "o"), draw(12, 3, 5, 5),
         lambda x, k, l, b, c, w: relu(torch.nn.functional.conv2d(x, torch.cat([k, l]), torch.cat([b, c]))).mean((2, 3)) @ w,
         dict(k=k, l=l, b=b, c=c, w=w), ["! note:"])


def parted():
    """One matrix and one bias of three layers, and a matrix whose first rows alone are read."""
    w, b, h = draw(6, 15), draw(15), draw(7, 3)
    nodes = [constant("w", w), constant("b", b), constant("h", h), constant("start", numpy.int64([0])), constant("end", numpy.int64([5])), constant("axis", numpy.int64([0])),
             helper.make_node("Split", ["w"], ["q", "k", "v"], axis=1, num_outputs=3), helper.make_node("Split", ["b"], ["qb", "kb", "vb"], axis=0, num_outputs=3)]
    for layer in "qkv":
        nodes += [helper.make_node("MatMul", ["x", layer], [layer + "1"]), helper.make_node("Add", [layer + "1", layer + "b"], [layer + "2"])]
    nodes += [helper.make_node("Tanh", ["q2"], ["q3"]), helper.make_node("Sigmoid", ["k2"], ["k3"]), helper.make_node("Mul", ["q3", "k3"], ["m"]),
              helper.make_node("Add", ["m", "v2"], ["s"]), helper.make_node("Slice", ["h", "start", "end", "axis"], ["h1"]), helper.make_node("MatMul", ["s", "h1"], ["o"])]

    def forward(x, w, b, h):
        q, k, v = (x @ w + b).chunk(3, 1)
        return (torch.tanh(q) * torch.sigmoid(k) + v) @ h[:5]

    case("constant_nodes_split", model_of(nodes, rows, "o", opset=18), X, forward, dict(w=w, b=b, h=h), ["! note:"])


def scaled():
    """Numbers multiply, divide and mask matrices before they are read; a product of two matrices is a layer's matrix."""
    w, v, u, p, q, h = draw(6, 5), draw(5, 5), draw(5, 5), draw(5, 2), draw(2, 5), draw(5, 3)
    mask = numpy.tril(numpy.ones((5, 5), numpy.float32))
    nodes = [constant("w", w), constant("v", v), constant("u", u), constant("p", p), constant("q", q), constant("h", h), constant("mask", mask),
             constant("half", value_float=0.5), constant("two", numpy.float32([2])), helper.make_node("Mul", ["w", "half"], ["w1"]), helper.make_node("MatMul", ["x", "w1"], ["a"]),
             helper.make_node("Tanh", ["a"], ["b"]), helper.make_node("Div", ["v", "two"], ["v1"]), helper.make_node("Gemm", ["b", "v1"], ["c"]),
             helper.make_node("Tanh", ["c"], ["d"]), helper.make_node("Mul", ["mask", "u"], ["u1"]), helper.make_node("MatMul", ["d", "u1"], ["e"]),
             helper.make_node("MatMul", ["p", "q"], ["pq"]), helper.make_node("MatMul", ["e", "pq"], ["f"]), helper.make_node("Add", ["e", "f"], ["g"]),
             helper.make_node("MatMul", ["g", "h"], ["o"])]

    def forward(x, w, v, u, p, q, h):
        e = torch.tanh(torch.tanh(x @ (w * 0.5)) @ (v / 2)) @ (torch.tensor(mask) * u)
        return (e + e @ (p @ q)) @ h

    case("constant_nodes_times_a_number", model_of(nodes, rows, "o"), X, forward, dict(w=w, v=v, u=u, p=p, q=q, h=h), ["! note:", "! 'mask'"])


def tables_stay():
    """Sines, a mask, a mean and a grid that pass the same nodes are no weights, and nothing is said of them."""
    w, h = draw(8, 8), draw(8, 3)
    angles = numpy.arange(7)[:, None] / 10 ** (numpy.arange(4)[None] / 2)
    sines = numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1)
    mask = numpy.triu(numpy.full((7, 7), -1e9, numpy.float32), 1)
    mean, spread = numpy.float64([0.1] * 3 + [0.2] * 5), numpy.float32([0.9, 1.1, 1.3, 0.8, 1.2, 0.7, 1.4, 1.0])
    nodes = [constant("sines", sines), constant("mask", mask), constant("mean", mean), constant("spread", spread), constant("w", w), constant("h", h),
             constant("one", value_float=1.0), constant("start", numpy.int64([0, 0])), constant("end", numpy.int64([5, 5])), constant("five", numpy.int64([5])),
             constant("zero", numpy.int64([0])), cast("mean", "mean1"), helper.make_node("Mul", ["spread", "one"], ["spread1"]), helper.make_node("Sub", ["x", "mean1"], ["x1"]),
             helper.make_node("Div", ["x1", "spread1"], ["x2"]), cast("sines", "sines1"), helper.make_node("Slice", ["sines1", "zero", "five"], ["sines2"]),
             helper.make_node("Slice", ["mask", "start", "end"], ["mask1"]), helper.make_node("MatMul", ["x2", "w"], ["e"]), helper.make_node("Add", ["e", "sines2"], ["p"]),
             helper.make_node("Transpose", ["p"], ["t"], perm=[0, 2, 1]), helper.make_node("MatMul", ["p", "t"], ["a"]), helper.make_node("Add", ["a", "mask1"], ["b"]),
             helper.make_node("Softmax", ["b"], ["s"]), helper.make_node("MatMul", ["s", "p"], ["c"]), helper.make_node("ReduceMean", ["c"], ["d"], axes=[1], keepdims=0),
             helper.make_node("MatMul", ["d", "h"], ["o"])]

    def forward(x, w, h):
        p = ((x - torch.tensor(mean).float()) / torch.tensor(spread)) @ w + torch.tensor(sines).float()[:5]
        return (torch.softmax(p @ p.mT + torch.tensor(mask[:5, :5]), -1) @ p).mean(1) @ h

    case("constant_nodes_that_stay", model_of(nodes, [("x", FLOAT, ["batch", 5, 8])], "o"), draw(12, 5, 8), forward, dict(w=w, h=h), ["! note:"])


def slope():
    """Slopes of a PRelu, one for each channel."""
    k, s, w = draw(4, 3, 3, 3), numpy.abs(draw(4, 1, 1)), draw(4, 3)
    nodes = [constant("k", k), constant("s", s), constant("w", w), helper.make_node("Conv", ["x", "k"], ["y"]), helper.make_node("PRelu", ["y", "s"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["o"])]
    case("constant_node_of_a_slope", model_of(nodes, [("x", FLOAT, ["batch", 3, 5, 5])], "o"), draw(12, 3, 5, 5),
         lambda x, k, s, w: torch.nn.functional.prelu(torch.nn.functional.conv2d(x, k), s.flatten()).mean((2, 3)) @ w, dict(k=k, s=s, w=w), ["! note:"])


def joined_to_data():
    """A token that stands in front of all samples' is a weight or none: it is said."""
    w, cls, h = draw(6, 5), draw(1, 1, 5), draw(5, 3)
    nodes = [constant("w", w), constant("cls", cls), constant("h", h), constant("shape", numpy.int64([4, 1, 5])), helper.make_node("MatMul", ["x", "w"], ["e"]),
             helper.make_node("Expand", ["cls", "shape"], ["c"]), helper.make_node("Concat", ["c", "e"], ["t"], axis=1), helper.make_node("Tanh", ["t"], ["u"]),
             helper.make_node("ReduceMean", ["u"], ["m"], axes=[1], keepdims=0), helper.make_node("MatMul", ["m", "h"], ["o"])]
    forward = lambda x, w, cls, h: torch.tanh(torch.cat([cls.expand(len(x), 1, 5), x @ w], 1)).mean(1) @ h  # noqa: E731
    case("constant_node_joined_to_data", model_of(nodes, [("x", FLOAT, ["batch", 4, 6])], "o"), draw(12, 4, 6), lambda x, w, h: forward(x, w, torch.tensor(cls), h), dict(w=w, h=h),
         ["1 tensor of Constant nodes, first 'cls', may be a weight: it is not trained"])


def inside_of_bodies():
    """The same nodes within a loop's body, a branch and a function; what a body captures is cast outside of it."""
    w, b, u, v, h = draw(6, 6).astype(numpy.float64), draw(6), draw(3, 6), draw(3, 6), draw(6, 3)
    nodes = [constant("two", value_float=2.0), constant("b", b), helper.make_node("Mul", ["b", "two"], ["b1"]), helper.make_node("MatMul", ["s", "w1"], ["a"]),
             helper.make_node("Add", ["a", "b1"], ["c"]), helper.make_node("Tanh", ["c"], ["s1"]), helper.make_node("Identity", ["go"], ["go1"])]
    step = body("step", nodes, [("i", INT64), ("go", TensorProto.BOOL), ("s", FLOAT)], [("go1", TensorProto.BOOL), ("s1", FLOAT)])
    layer = helper.make_function("here", "Layer", ["x"], ["y"], [
        constant("u", u), constant("v", v), helper.make_node("Concat", ["u", "v"], ["uv"], axis=0), helper.make_node("MatMul", ["x", "uv"], ["y"])], [helper.make_opsetid("", 17)])
    yes = body("yes", [constant("third", value_float=3.0), constant("h", h), helper.make_node("Div", ["h", "third"], ["h1"]), helper.make_node("MatMul", ["z", "h1"], ["yes_out"])],
               [], [("yes_out", FLOAT)])
    no = body("no", [constant("g", h + 1), helper.make_node("Cast", ["g"], ["g1"], to=FLOAT), helper.make_node("MatMul", ["z", "g1"], ["no_out"])], [], [("no_out", FLOAT)])
    outer = [constant("trips", numpy.int64(2)), constant("w", w), cast("w", "w1"), helper.make_node("Loop", ["trips", "", "x"], ["y"], body=step),
             helper.make_node("Layer", ["y"], ["z"], domain="here"), helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", "zero"], ["up"]),
             helper.make_node("If", ["up"], ["o"], then_branch=yes, else_branch=no)]

    def forward(x, w, b, u, v, h, g):
        up = x.sum() > 0
        for _ in range(2):
            x = torch.tanh(x @ w.float() + b * 2)
        x = x @ torch.cat([u, v])
        return x @ (h / 3) if up else x @ g

    case("constant_nodes_through_nodes_of_bodies", model_of(outer, rows, "o", initialisers(zero=numpy.float32(0)), [layer], more=["here"]), X, forward,
         dict(w=w, b=b, u=u, v=v, h=h, g=h + 1), ["! note:"])


for write in (constants, convolution, normalisation, lookup, recurrent, unsure, branches, loop, scan, functions, rounded, joined, parted, scaled, tables_stay,
              joined_to_data, inside_of_bodies, slope):
    write()
