"""Nodes of which only some outputs are read, the first one least of all. PyTorch 2.15 computes the losses."""
import pathlib
import sys

import numpy
import torch
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from making import write_case  # noqa: E402

functional = torch.nn.functional
BATCH, STEPS, WIDTH = 4, 3, 6
FLOAT = TensorProto.FLOAT


def model_of(nodes, weights, width, opset=18, shape=(WIDTH,)):
    """x [N, WIDTH] times w plus b is h; `nodes` make y from it."""
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["h"])] + nodes, "unread",
        [helper.make_tensor_value_info("x", FLOAT, ["N", WIDTH])], [helper.make_tensor_value_info("y", FLOAT, ["N", width])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def case(name, nodes, forward, width, constants=(), opset=18, extra=(), always="", rate=0.1):
    """`forward` takes h and the weights by name, all tensors, and gives y."""
    numbers = numpy.random.default_rng(7)
    weights = {"w": numbers.standard_normal((WIDTH, WIDTH)).astype(numpy.float32),
               "b": numbers.standard_normal(WIDTH).astype(numpy.float32)}
    x = numbers.standard_normal((BATCH, WIDTH)).astype(numpy.float32)
    target = numbers.standard_normal((BATCH, width)).astype(numpy.float32)
    trained = {key: torch.tensor(value, requires_grad=True) for key, value in weights.items()}
    losses = []
    for _ in range(STEPS):
        y = forward(torch.tensor(x) @ trained["w"] + trained["b"])
        loss = functional.mse_loss(y, torch.tensor(target))
        losses.append(loss.item())
        if loss.requires_grad:
            for weight, slope in zip(trained.values(), torch.autograd.grad(loss, list(trained.values()), allow_unused=True)):
                with torch.no_grad():
                    weight -= rate * slope if slope is not None else 0
    command = (f"train model.onnx --input x=x.npy --target t.npy --loss mse --optimizer sgd --lr {rate} --batch {BATCH} "
               f"--steps {STEPS} --no-shuffle --threads 1 --log-json log.json{always}")
    commands = ["check model.onnx", "eval model.onnx --input x=x.npy --target t.npy --loss mse --threads 1"]
    commands += [command + more for more in extra] + [command]
    write_case(__file__, name, model_of(nodes, weights | dict(constants), width, opset), {"x": x, "t": target}, commands, losses)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def ints(*values):
    return numpy.array(values, dtype=numpy.int64)


STAGES = (" --stages 2", " --stages 2 --micro-batches 2", " --micro-batches 2")
CAST = node("Cast", ["i"], ["f"], to=FLOAT)
ADD = node("Add", ["h", "f"], ["y"])
case("top_k_indices", [node("TopK", ["h", "k"], ["", "i"]), CAST, node("Slice", ["h", "zero", "three", "one"], ["s"]),
                       node("Add", ["s", "f"], ["y"])],
     lambda h: h[:, :3] + h.topk(3).indices, 3, {"k": ints(3), "zero": ints(0), "three": ints(3), "one": ints(1)}, extra=STAGES)
case("top_k_named", [node("TopK", ["h", "k"], ["values", "i"]), CAST, ADD],
     lambda h: h + h.topk(WIDTH).indices, WIDTH, {"k": ints(WIDTH)})
scale = {"scale": numpy.linspace(.5, 1.5, WIDTH, dtype=numpy.float32)}
case("layer_normalization_mean", [node("LayerNormalization", ["h", "scale"], ["", "f"]), ADD],
     lambda h: h + h.mean(1, keepdim=True), WIDTH, scale, extra=STAGES)
case("layer_normalization_deviation", [node("LayerNormalization", ["h", "scale"], ["n", "mean", "f"]), ADD],
     lambda h: h + 1 / (h.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt(), WIDTH, scale)
IMAGE = {"image": ints(0, 1, 2, 3), "flat": ints(0, -1)}
case("max_pool_indices", [node("Reshape", ["h", "image"], ["m"]), node("MaxPool", ["m"], ["", "i"], kernel_shape=[1, 3]), CAST,
                          node("Reshape", ["f", "flat"], ["r"]), node("Add", ["r", "first"], ["a"]),
                          node("ReduceMean", ["h", "one"], ["mean"]), node("Add", ["a", "mean"], ["y"])],
     lambda h: functional.max_pool2d(h.view(-1, 1, 2, 3), (1, 3), return_indices=True)[1].flatten(1).float()
     + torch.arange(BATCH).view(-1, 1) * 6 + 1 + h.mean(1, keepdim=True), 2,
     IMAGE | {"first": numpy.ones((1, 2), numpy.float32), "one": ints(1)}, always=" --freeze first")
case("log_probabilities", [node("Constant", [], ["labels"], value=numpy_helper.from_array(ints(0, 1, 2, 3))),
                           node("SoftmaxCrossEntropyLoss", ["h", "labels"], ["", "y"])],
     lambda h: functional.log_softmax(h, 1), WIDTH)
case("split_second", [node("Split", ["h"], ["", "y"], axis=1, num_outputs=2)], lambda h: h[:, 3:], 3, extra=STAGES)
case("split_last", [node("Split", ["h"], ["a", "", "y"], axis=1, num_outputs=3)], lambda h: h[:, 4:], 2)
case("dropout_mask", [node("Dropout", ["h"], ["", "k"]), node("Cast", ["k"], ["f"], to=FLOAT), ADD], lambda h: h + 1, WIDTH)
case("dynamic_quantization_scale", [node("DynamicQuantizeLinear", ["h"], ["", "f"]), ADD],
     lambda h: h + ((h.max().clamp(min=0) - h.min().clamp(max=0)) / 255).detach(), WIDTH)
LSTM = {name: numpy.random.default_rng(8).uniform(-.5, .5, size).astype(numpy.float32)
        for name, size in (("lw", (1, 12, 6)), ("lr", (1, 12, 3)))}


def lstm(h, which):
    """ONNX's gates are i, o, f, c; PyTorch's i, f, c, o."""
    order = [0, 2, 3, 1]
    module = torch.nn.LSTM(6, 3, bias=False)
    with torch.no_grad():
        for parameter, value in ((module.weight_ih_l0, LSTM["lw"]), (module.weight_hh_l0, LSTM["lr"])):
            parameter.copy_(torch.tensor(value[0].reshape(4, 3, -1)[order].reshape(12, -1)))
    return module(h.unsqueeze(0))[1][which].squeeze(0)


for index, state in ((1, "hidden"), (2, "cell")):
    outputs = ["", "s"] if index == 1 else ["", "", "s"]
    case(f"lstm_{state}", [node("Unsqueeze", ["h", "zero"], ["u"]), node("LSTM", ["u", "lw", "lr"], outputs, hidden_size=3),
                           node("Squeeze", ["s", "zero"], ["y"])],
         lambda h, which=index - 1: lstm(h, which), 3,
         {"zero": ints(0), **{key: value for key, value in LSTM.items()}}, always=" --freeze lw --freeze lr")
