"""Inputs of a file that nothing needs in this run: no node reads them, or they stand behind another output."""
import io
import pathlib
import sys
import warnings

import numpy
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from making import write_case

RATE, BATCH = 0.1, 4


class Net(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.make = forward
        self.body, self.head, self.side = nn.Linear(3, 5), nn.Linear(5, 4), nn.Linear(2, 4)

    def forward(self, *inputs):
        return self.make(self, *inputs)


def logits(net, x):
    return net.head(net.body(x).relu())


def export(net, inputs, outputs):
    warnings.filterwarnings("ignore")
    file = io.BytesIO()
    torch.onnx.export(net.eval(), tuple(torch.tensor(array) for array in inputs.values()), file, dynamo=False, opset_version=17,
                      input_names=list(inputs), output_names=outputs, dynamic_axes={name: {0: "N"} for name in inputs})
    return onnx.load_from_string(file.getvalue())


def add_input(model, name, kind, shape):
    """An input that no node reads: exporters leave those out, other writers do not."""
    model.graph.input.append(helper.make_tensor_value_info(name, kind, shape))
    return model


def train(net, x, classes):
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    losses = []
    for begin in (0, 4, 8):
        loss = F.cross_entropy(logits(net, torch.tensor(x[begin:begin + BATCH])), torch.tensor(classes[begin:begin + BATCH]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.manual_seed(4)
    generator = numpy.random.default_rng(4)
    x = generator.normal(size=(12, 3)).astype("f")
    side = generator.normal(size=(12, 2)).astype("f")
    classes = generator.integers(0, 4, 12)
    options = f"--optimizer sgd --lr {RATE} --batch {BATCH} --no-shuffle --threads 1 --log-json log.json"
    one = f"train model.onnx --input x=x.npy --target t.npy --loss cross_entropy {options}"
    arrays = {"x": x, "t": classes}

    net = Net(logits)
    model = add_input(export(net, {"x": x}, ["y"]), "token_type_ids", TensorProto.INT64, ["N", 3])
    losses = train(net, x, classes)
    write_case(__file__, "read_by_no_node", model, arrays, one, losses, ["! token_type_ids"], 0, 2e-5)
    write_case(__file__, "read_by_no_node_and_without_a_name", model, arrays, one.replace("x=x.npy", "x.npy"), losses,
               ["! token_type_ids"], 0, 2e-5)
    write_case(__file__, "read_by_no_node_and_given", model, {**arrays, "ids": numpy.zeros((12, 3), "int64")},
               one.replace("--target", "--input token_type_ids=ids.npy --target"), losses, [], 0, 2e-5)
    write_case(__file__, "misspelt", model, arrays, one.replace("--target", "--input token_type=x.npy --target"), None, ["the model has no input named 'token_type'"], 1)

    both = Net(lambda net, x, s: (logits(net, x), net.side(s)))
    model = export(both, {"x": x, "s": side}, ["y", "z"])
    write_case(__file__, "behind_another_output", model, arrays, one, train(both, x, classes), ["! 's'"], 0, 2e-5)
    write_case(__file__, "behind_the_loss", model, {**arrays, "s": side}, one.replace("--loss ", "--loss-output z --loss "), None,
               ["model input 's' has no data"], 1)
    joint = Net(lambda net, x, s: logits(net, x) + net.side(s))
    write_case(__file__, "needed", export(joint, {"x": x, "s": side}, ["y"]), arrays, one, None, ["model input 's' has no data; give --input s=FILE"], 1)

    own = Net(lambda net, x, t: (F.cross_entropy(logits(net, x), t), logits(net, x)))
    model = export(own, {"x": x, "t": classes}, ["loss", "logits"])
    with torch.no_grad():
        y = logits(own, torch.tensor(x)).numpy()
    write_case(__file__, "labels_of_logits", model, {"x": x, "y": y},
               ["eval model.onnx --input x=x.npy --batch 5 --output logits=out.npy",
                "train same.onnx --input x=out.npy --target y.npy --loss mse --optimizer sgd --lr 0 --batch 12 --log-json log.json"], None, ["12 samples"])
    same = Net(lambda net, x: net.same(x))
    same.same = nn.Linear(4, 4)
    with torch.no_grad():
        same.same.weight.copy_(torch.eye(4))
        same.same.bias.zero_()
    pathlib.Path(__file__).resolve().parent.joinpath("labels_of_logits", "same.onnx").write_bytes(export(same, {"x": y}, ["y"]).SerializeToString())
    pathlib.Path(__file__).resolve().parent.joinpath("labels_of_logits", "losses").write_text("0\n")

    # A branch reads the input by its name alone.
    branches = [helper.make_graph([helper.make_node(op, ["s"], ["b"])], "branch", [], [helper.make_tensor_value_info("b", TensorProto.FLOAT, ["N", 3])])
                for op in ("Neg", "Identity")]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3, 4], generator.normal(size=12).astype("f"))
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["i"], then_branch=branches[0], else_branch=branches[1]), helper.make_node("MatMul", ["i", "w"], ["y"])], "main",
        [helper.make_tensor_value_info("s", TensorProto.FLOAT, ["N", 3])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])],
        [weight, helper.make_tensor("c", TensorProto.BOOL, [], [1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    write_case(__file__, "read_by_a_branch", model, arrays, one.replace("x=x.npy", "s=x.npy"), None, ["3 steps of 4"])
    inner = helper.make_node("If", ["c"], ["b"], then_branch=branches[0], else_branch=branches[1])
    outer = helper.make_graph([inner], "outer", [], [helper.make_tensor_value_info("b", TensorProto.FLOAT, ["N", 3])])
    graph.node[0].CopyFrom(helper.make_node("If", ["c"], ["i"], then_branch=outer, else_branch=branches[1]))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    write_case(__file__, "read_by_a_branch_of_a_branch", model, arrays, one.replace("x=x.npy", "s=x.npy"), None, ["3 steps of 4"])
    write_case(__file__, "read_by_a_branch_of_a_branch_on_another_axis", model, arrays, one.replace("x=x.npy", "s=x.npy --batch-axis s=1"), None,
               ["--batch-axis: a branch or body reads 's' itself"], 3)


main()
