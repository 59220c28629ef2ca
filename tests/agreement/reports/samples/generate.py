"""Inputs whose samples stand along another axis than the first, and inputs that count none."""
import io
import pathlib
import sys
import warnings

import numpy
import onnx
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from making import write_case

RATE, TIME, SAMPLES, BATCH, FEATURES, CLASSES = 0.1, 5, 12, 4, 3, 4


class Net(nn.Module):
    """Layers by name, and what `forward` makes of them."""

    def __init__(self, forward, **layers):
        super().__init__()
        self.make = forward
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, *inputs):
        return self.make(self, *inputs)


def export(module, inputs, axes, way="tracing"):
    """`axes`: input -> {axis: symbol}; none: every size is a number."""
    warnings.filterwarnings("ignore")
    names = list(inputs)
    samples = tuple(torch.tensor(array) for array in inputs.values())
    file = io.BytesIO()
    if way == "tracing":
        torch.onnx.export(module.eval(), samples, file, dynamo=False, opset_version=17, input_names=names, output_names=["y"],
                          dynamic_axes=axes or None)
        return onnx.load_from_string(file.getvalue())
    return torch.onnx.export(module.eval(), samples, dynamo=True, optimize=False, verbose=False, input_names=names,
                             output_names=["y"]).model_proto


def rows(array, axis, begin, end):
    return array if axis is None else torch.tensor(array).movedim(axis, 0)[begin:end].movedim(0, axis)


def train(module, inputs, axes, targets, target_axis, loss, batch, steps):
    """PyTorch's losses, batch by batch along each array's own axis (None: the whole array in every step)."""
    module.train()
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    losses = []
    for step in range(steps):
        begin = step * batch % SAMPLES
        given = [torch.as_tensor(rows(array, axis, begin, begin + batch)) for array, axis in zip(inputs.values(), axes)]
        value = loss(module(*given), rows(targets, target_axis, begin, begin + batch))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def last_step(net, x):
    return net.head(net.rnn(x)[0][-1])


def every_step(net, x):
    return net.head(net.rnn(x)[0])


def of_classes(y, t):
    return F.cross_entropy(y.reshape(-1, CLASSES), t.reshape(-1))


def main():
    generator = numpy.random.default_rng(3)
    torch.manual_seed(3)
    x = generator.normal(size=(TIME, SAMPLES, FEATURES)).astype("f")
    classes = generator.integers(0, CLASSES, SAMPLES)
    every = generator.integers(0, CLASSES, (TIME, SAMPLES))
    tokens = generator.integers(0, 9, (TIME, SAMPLES))
    dynamic = {"x": {0: "a", 1: "b"}}
    options = f"--optimizer sgd --lr {RATE} --no-shuffle --threads 1 --batch {BATCH} --steps 3 --log-json log.json"
    refusal = "onstage: model.onnx: the samples of input 'x' are taken along its first axis, and node"

    def case(name, module, inputs, axes, symbols, targets, target_axis=0, loss=F.cross_entropy, said="", says=("! note:",), code=0, way="tracing",
             whole=None, batch=BATCH, word="cross_entropy", also=(), losses=True):
        shown = {key: array if symbols else numpy.take(array, range(BATCH), axis) if axis is not None else array
                 for (key, array), axis in zip(inputs.items(), axes)}
        model = whole or export(module, shown, symbols, way)
        values = None if code or not losses else train(module, inputs, axes, targets, target_axis, loss, batch, 3)
        given = " ".join(f"--input {key}={key}.npy" for key in inputs)
        write_case(__file__, name, model, {**inputs, "t": targets},
                   [f"train model.onnx {given} --target t.npy --loss {word} {options.replace(f'--batch {BATCH}', f'--batch {batch}')} {said}", *also], values, says, code, 2e-5)
        return model

    def gru(**more):
        return Net(last_step, rnn=nn.GRU(FEATURES, 6, **more), head=nn.Linear(6, CLASSES))

    # What a recurrent node proves.
    case("gru_unsaid", gru(), {"x": x}, [1], dynamic, classes, code=1, says=[refusal, "--batch-axis x=1 takes them"])
    case("gru", gru(), {"x": x}, [1], dynamic, classes, said="--batch-axis x=1")
    case("gru_numbers", gru(), {"x": x}, [1], None, classes, said="--batch-axis x=1")
    case("gru_numbers_unsaid", gru(), {"x": x}, [1], None, classes, code=1, says=[refusal, "--batch-axis x=1 takes them"])
    case("gru_in_parts", gru(), {"x": x}, [1], dynamic, classes, said="--batch-axis x=1 --micro-batches 2")
    case("gru_replicas", gru(), {"x": x}, [1], dynamic, classes, said="--batch-axis x=1 --replicas 2")
    case("gru_newer", gru(), {"x": x}, [1], None, classes, said="--batch-axis x=-2", way="newer")
    case("lstm_two_layers", Net(last_step, rnn=nn.LSTM(FEATURES, 6, 2, bidirectional=True), head=nn.Linear(12, CLASSES)), {"x": x}, [1], dynamic, classes,
         said="--batch-axis x=1")
    embedded = Net(lambda net, x: net.head(net.rnn(net.table(x))[0][-1]), table=nn.Embedding(9, 4), rnn=nn.RNN(4, 6), head=nn.Linear(6, CLASSES))
    case("tokens_unsaid", embedded, {"x": tokens}, [1], dynamic, classes, code=1, says=[refusal, "--batch-axis x=1 takes them"])
    case("tokens", embedded, {"x": tokens}, [1], dynamic, classes, said="--batch-axis x=1")
    behind = Net(lambda net, x: net.head(net.rnn(net.first(x).relu())[0][-1]), first=nn.Linear(FEATURES, 5), rnn=nn.GRU(5, 6), head=nn.Linear(6, CLASSES))
    case("behind_a_layer_unsaid", behind, {"x": x}, [1], dynamic, classes, code=1, says=[refusal, "--batch-axis x=1 takes them"])
    case("behind_a_layer", behind, {"x": x}, [1], dynamic, classes, said="--batch-axis x=1")
    first = Net(lambda net, x: net.head(net.rnn(x)[0][:, -1]), rnn=nn.GRU(FEATURES, 6, batch_first=True), head=nn.Linear(6, CLASSES))
    case("batch_first", first, {"x": x.transpose(1, 0, 2).copy()}, [0], dynamic, classes)
    case("batch_first_numbers", first, {"x": x.transpose(1, 0, 2).copy()}, [0], None, classes)
    turned = Net(lambda net, x: net.head(net.rnn(x.transpose(0, 1))[0][-1]), rnn=nn.GRU(FEATURES, 6), head=nn.Linear(6, CLASSES))
    case("turned_by_hand", turned, {"x": x.transpose(1, 0, 2).copy()}, [0], dynamic, classes)
    case("time_as_samples_all_the_same", gru(), {"x": x.transpose(1, 0, 2).copy()}, [0], dynamic, every[0], said="--batch-axis x=0",
         losses=False, says=["! takes that axis"])

    # Outputs and targets with their samples elsewhere: written as the model gives them.
    tagger = Net(every_step, rnn=nn.GRU(FEATURES, 6), head=nn.Linear(6, CLASSES))
    case("every_step", tagger, {"x": x}, [1], dynamic, every, 1, of_classes, said="--batch-axis x=1 --class-axis 2 --out out.onnx",
         also=["eval model.onnx --input x=x.npy --batch-axis x=1 --batch 5 --output y.npy",
               "train model.onnx --input x=x.npy --batch-axis x=1 --target y.npy --loss mse --steps 1 --lr 0 --optimizer sgd --batch 12 --no-shuffle"])
    case("every_step_targets_turned", tagger, {"x": x}, [1], dynamic, every.T.copy(), 0, lambda y, t: of_classes(y, t.T),
         said="--batch-axis x=1 --batch-axis target=0 --class-axis 2")

    # A state to begin from.
    stateful = Net(lambda net, x, h: net.head(net.rnn(x, h)[0][-1]), rnn=nn.GRU(FEATURES, 6), head=nn.Linear(6, CLASSES))
    h = generator.normal(size=(1, SAMPLES, 6)).astype("f")
    both = {"x": {0: "a", 1: "b"}, "h": {1: "b"}}
    case("state_by_option", stateful, {"x": x, "h": h}, [1, 1], both, classes, said="--batch-axis x=1 --batch-axis h=1")
    stateful_first = Net(lambda net, x, h: net.head(net.rnn(x, h)[0][:, -1]), rnn=nn.GRU(FEATURES, 6, batch_first=True), head=nn.Linear(6, CLASSES))
    case("state_by_symbol", stateful_first, {"x": x.transpose(1, 0, 2).copy(), "h": h}, [0, 1], {"x": {0: "b", 1: "a"}, "h": {1: "b"}}, classes)

    # Inputs that count no samples.
    flat = generator.normal(size=(SAMPLES, FEATURES)).astype("f")
    scaled = Net(lambda net, x, t: net.head(x) / t, head=nn.Linear(FEATURES, CLASSES))
    for name, number, axes in (("temperature", numpy.array([2], "f"), {"x": {0: "n"}}), ("temperature_of_no_axes", numpy.array(2, "f"), {"x": {0: "n"}})):
        case(name, scaled, {"x": flat, "t2": number}, [0, None], axes, classes)
    case("temperature_in_parts", scaled, {"x": flat, "t2": numpy.array([2], "f")}, [0, None], {"x": {0: "n"}}, classes, said="--micro-batches 2")
    one = numpy.array([2], "f")
    model = export(scaled, {"x": flat[:BATCH], "t2": one}, None)
    write_case(__file__, "temperature_by_option", model, {"x": flat, "t2": one, "t": classes},
               f"train model.onnx --input x=x.npy --input t2=t2.npy,once --target t.npy --loss cross_entropy {options}",
               train(scaled, {"x": flat, "t2": one}, [0, None], classes, 0, F.cross_entropy, BATCH, 3), ["! note:"], 0, 2e-5)
    write_case(__file__, "temperature_unsaid", model, {"x": flat, "t2": one, "t": classes},
               f"train model.onnx --input x=x.npy --input t2=t2.npy --target t.npy --loss cross_entropy {options}", None,
               ["'t2.npy' has 1 samples", "--input NAME=FILE,once"], 4)
    condition = generator.normal(size=(7, FEATURES)).astype("f")
    attends = Net(lambda net, x, c: net.head(torch.softmax(x @ c.T, -1) @ c), head=nn.Linear(FEATURES, CLASSES))
    case("condition", attends, {"x": flat, "c": condition}, [0, None], {"x": {0: "n"}}, classes)
    write_case(__file__, "condition_of_other_shape", export(attends, {"x": flat, "c": condition}, {"x": {0: "n"}}), {"x": flat, "c": condition[:2], "t": classes},
               f"train model.onnx --input x=x.npy --input c=c.npy --target t.npy --loss cross_entropy {options}", None,
               ["'c.npy' is float32[2,3]; input 'c' counts no samples", "--batch-axis c=N"], 4)

    # Places in the batch: a graph's edges, its matrix.
    edges = generator.integers(0, SAMPLES, (2, 30))

    def convolve(net, x, e):
        hidden = net.first(x)
        sums = torch.zeros_like(hidden).scatter_add(0, e[1].unsqueeze(1).expand(-1, 5), hidden[e[0]])
        return net.head(sums.relu())

    layers = dict(first=nn.Linear(FEATURES, 5), head=nn.Linear(5, CLASSES))
    graph = Net(convolve, **layers)
    nodes = {"x": {0: "n"}, "e": {1: "edges"}}
    case("edges", graph, {"x": flat, "e": edges}, [0, None], nodes, classes, batch=SAMPLES)
    case("edges_shuffled", graph, {"x": flat, "e": edges}, [0, None], nodes, classes, batch=SAMPLES, said="--shuffle", code=1,
         says=["input 'e' is fed once and meets the samples of a batch in node", "--no-shuffle keeps the order"])
    case("edges_in_parts", graph, {"x": flat, "e": edges}, [0, None], nodes, classes, batch=SAMPLES, said="--micro-batches 2", code=1,
         says=["a step has to take all samples at once; --batch 12 --micro-batches 1"])
    case("edges_in_batches", graph, {"x": flat, "e": edges}, [0, None], nodes, classes, code=1, says=["a step has to take all samples at once"])
    case("edges_in_replicas", graph, {"x": flat, "e": edges}, [0, None], nodes, classes, batch=SAMPLES, said="--replicas 2", code=1,
         says=["a step has to take all samples at once"])
    few = {"v": flat[:4], "w": classes[:4], "f": edges[:, :3]}
    for name, more, says, code in (
            ("edges_evaluated", "", ["12 samples"], 0), ("edges_evaluated_in_batches", "--batch 5", ["a step has to take all samples at once"], 1)):
        write_case(__file__, name, export(graph, {"x": flat, "e": edges}, nodes), {"x": flat, "e": edges, "t": classes},
                   f"eval model.onnx --input x=x.npy --input e=e.npy --target t.npy --loss cross_entropy {more}", None, says, code)
    write_case(__file__, "edges_of_validation", export(graph, {"x": flat, "e": edges}, nodes), {"x": flat, "e": edges, "t": classes, **few},
               f"train model.onnx --input x=x.npy --input e=e.npy --target t.npy --loss cross_entropy {options.replace(f'--batch {BATCH}', '--batch 64')} "
               "--val-input x=v.npy --val-input e=f.npy --val-target w.npy", None, ["--val-input e: the input counts no samples"], 1)
    matrix = (generator.random((SAMPLES, SAMPLES)) < 0.3).astype("f")
    dense = Net(lambda net, x, a: net.head((a @ net.first(x)).relu()), **layers)
    model = export(dense, {"x": flat, "a": matrix}, None)
    told = f"train model.onnx --input x=x.npy --input a=a.npy,once --target t.npy --loss cross_entropy {options.replace(f'--batch {BATCH}', f'--batch {SAMPLES}')}"
    arrays = {"x": flat, "a": matrix, "t": classes}
    write_case(__file__, "matrix_shuffled", model, arrays, told.replace("--no-shuffle", ""), None, ["input 'a' is fed once and meets the samples"], 1)
    write_case(__file__, "matrix", model, arrays, told, train(dense, {"x": flat, "a": matrix}, [0, None], classes, 0, F.cross_entropy, SAMPLES, 3),
               ["! note:"], 0, 2e-5)

    # Arrays in Fortran's order.
    linear = Net(lambda net, x: net.head(x), head=nn.Linear(FEATURES, CLASSES))
    case("fortran_order", linear, {"x": numpy.asfortranarray(flat)}, [0], {"x": {0: "n"}}, classes)
    case("fortran_order_of_three", first, {"x": numpy.asfortranarray(x.transpose(1, 0, 2))}, [0], dynamic, classes)


main()
