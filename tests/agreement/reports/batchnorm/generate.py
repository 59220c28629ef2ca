"""BatchNorm: a single value for each channel, statistics of a new layer, and statistics that are frozen."""
import pathlib
import sys

import numpy
import onnx
import torch
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from making import write_case

FEATURES, CLASSES, RATE = 5, 3, 0.1
LONE = "Expected more than 1 value per channel when training"
FRESH = "of the layers that normalise by running statistics"


def norm(channels, generator, fresh=False):
    """Scale, bias, mean and variance."""
    scale = generator.uniform(0.5, 1.5, channels)
    bias = generator.normal(size=channels)
    mean = numpy.zeros(channels) if fresh else generator.normal(size=channels)
    variance = numpy.ones(channels) if fresh else generator.uniform(0.5, 2, channels)
    return [each.astype("f") for each in (scale, bias, mean, variance)]


class Net:
    """fc, bn1, relu, head: or with `spatial` a convolution in the place of fc, whose output has `spatial` pixels."""

    def __init__(self, generator, training, fresh=(False, False), spatial=None, fixed=None, dtype="f"):
        self.training, self.spatial = training, spatial
        shape = (4, FEATURES, 1, 1) if spatial else (FEATURES, 4)
        self.weights = {"w1": generator.normal(size=shape).astype("f"), "w2": generator.normal(size=(4, 4)).astype("f"),
                        "w3": generator.normal(size=(4, CLASSES)).astype("f")}
        for name, is_fresh in zip(("bn1", "bn2"), fresh):
            for part, value in zip(("weight", "bias", "running_mean", "running_var"), norm(4, generator, is_fresh)):
                self.weights[f"{name}.{part}"] = value
        self.batch = "N" if fixed is None else fixed

    def make(self):
        def normalise(name, x, y):
            names = [f"{name}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
            outputs = [y] + ([f"{name}.mean_out", f"{name}.var_out"] if self.training else [])
            return helper.make_node("BatchNormalization", [x, *names], outputs, name=name, training_mode=int(self.training))

        side = self.spatial or 1
        if self.spatial:
            nodes = [helper.make_node("Conv", ["x", "w1"], ["h1"], name="conv"), normalise("bn1", "h1", "n1"),
                     helper.make_node("GlobalAveragePool", ["n1"], ["p1"], name="pool"), helper.make_node("Flatten", ["p1"], ["f1"], name="flat")]
            shape = [self.batch, FEATURES, side, side]
        else:
            nodes = [helper.make_node("MatMul", ["x", "w1"], ["h1"], name="fc1"), normalise("bn1", "h1", "f1")]
            shape = [self.batch, FEATURES]
        nodes += [helper.make_node("Relu", ["f1"], ["r1"], name="relu"), helper.make_node("MatMul", ["r1", "w2"], ["h2"], name="fc2")]
        nodes += [normalise("bn2", "h2", "n2")] if not self.spatial else []
        nodes += [helper.make_node("MatMul", ["h2" if self.spatial else "n2", "w3"], ["logits"], name="fc3")]
        used = {each for node in nodes for each in node.input}
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [self.batch, CLASSES])],
                                  [onnx.numpy_helper.from_array(value, name) for name, value in self.weights.items() if name in used])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    def losses(self, x, y, batches, trains=lambda layer: True, frozen=()):
        """Of plain SGD in PyTorch; `trains`: whether a layer normalises by the batch; `frozen`: weights that stay."""
        weights = {name: torch.tensor(value, dtype=torch.float32) for name, value in self.weights.items()}
        learnt = [name for name in weights if "running" not in name and name not in frozen]
        for name in learnt:
            weights[name].requires_grad_(True)
        optimizer = torch.optim.SGD([weights[name] for name in learnt], lr=RATE)

        def normalise(name, value):
            return torch.nn.functional.batch_norm(value, weights[name + ".running_mean"], weights[name + ".running_var"],
                                                  weights[name + ".weight"], weights[name + ".bias"], trains(name), 0.1, 1e-5)

        losses = []
        for rows in batches:
            value = torch.tensor(x[rows])
            if self.spatial:
                value = normalise("bn1", torch.nn.functional.conv2d(value, weights["w1"])).mean((2, 3))
                value = value.relu() @ weights["w2"]
            else:
                value = normalise("bn1", value @ weights["w1"]).relu() @ weights["w2"]
                value = normalise("bn2", value)
            loss = torch.nn.functional.cross_entropy(value @ weights["w3"], torch.tensor(y[rows]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


COMMON = ("train model.onnx --input x.npy --target y.npy --loss cross_entropy --optimizer sgd --lr 0.1 --no-shuffle --threads 1 "
          "--log-json log.json --epochs 2 ")


def batches_of(count, batch, epochs=2):
    return [list(range(begin, min(begin + batch, count))) for _ in range(epochs) for begin in range(0, count, batch)]


def main():
    generator = numpy.random.default_rng(7)
    data = {"x": generator.normal(size=(9, FEATURES)).astype("f"), "y": generator.integers(0, CLASSES, 9)}
    images = {"x": generator.normal(size=(9, FEATURES, 2, 2)).astype("f"), "y": data["y"]}
    pixels = {"x": generator.normal(size=(9, FEATURES, 1, 1)).astype("f"), "y": data["y"]}

    def case(name, net, arrays, options, batches=None, says=(), code=0, **more):
        losses = None if batches is None else net.losses(arrays["x"], arrays["y"], batches, **more)
        write_case(__file__, name, net.make(), arrays, COMMON + options, losses, says, code, 2e-5)

    training, inference = Net(generator, True), Net(generator, False)
    whole = [rows for rows in batches_of(9, 4) if len(rows) > 1]
    dropped = "would normalise one value for each channel in what is left of an epoch, 1 sample: it is left out of every epoch"

    # One value for each channel.
    case("ragged_batch_of_one", training, data, "--batch 4", whole, [f"note: 2 of the layers, first 'bn1', {dropped}"])
    case("ragged_batch_of_one_by_option", inference, data, "--batch 4 --batchnorm train", whole, [dropped])
    case("ragged_batch_of_one_in_two_replicas", training, data, "--batch 8 --replicas 2 --sync-batchnorm",
         [list(range(8))] * 2, ["samples left out at the end of every epoch: 1"])
    case("ragged_batch_of_one_strict", training, data, "--batch 4 --strict", None, ["--strict: 2 of the layers, first 'bn1'"], 3)
    case("ragged_batch_of_two", training, {k: v[:6] for k, v in data.items()}, "--batch 4", batches_of(6, 4), ["! note:"])
    case("ragged_batch_of_one_in_eval", inference, data, "--batch 4", batches_of(9, 4), ["! note:"], trains=lambda layer: False)
    case("ragged_batch_of_one_by_batchnorm_eval", training, data, "--batch 4 --batchnorm eval", batches_of(9, 4), ["! note:"],
         trains=lambda layer: False)
    case("ragged_batch_of_one_with_pixels", Net(generator, True, spatial=2), images, "--batch 4", batches_of(9, 4), ["! note:"])
    lone_pixel = Net(generator, True, spatial=1)
    case("ragged_batch_of_one_pixel", lone_pixel, pixels, "--batch 4", whole, [f"note: 1 of the layers, first 'bn1', {dropped}"])
    case("batch_of_one", training, data, "--batch 1", None, [LONE, "'bn1'", "larger --batch, or --batchnorm-of 'bn1=eval'"], 1)
    case("batch_of_one_with_pixels", Net(generator, True, spatial=2), images, "--batch 1", batches_of(9, 1), ["! note:"])
    case("batch_of_one_in_eval", inference, data, "--batch 1", batches_of(9, 1), ["! note:"], trains=lambda layer: False)
    case("micro_batches_of_one", training, data, "--batch 4 --micro-batches 4", None, [LONE, "fewer --micro-batches"], 1)
    case("shorter_micro_batches_of_one", training, data, "--batch 3 --micro-batches 2", None, [LONE, "fewer --micro-batches"], 1)
    case("one_sample", training, {k: v[:1] for k, v in data.items()}, "--batch 4", None, [LONE], 1)
    case("fixed_batch_of_one", Net(generator, True, fixed=1), data, "", None, [LONE], 1)
    write_case(__file__, "plan_of_one", training.make(), data,
               "plan model.onnx --input x.npy --target y.npy --loss cross_entropy --batch 1 --out plan.json", None, [LONE], 1)
    write_case(__file__, "eval_of_one", training.make(), data, "eval model.onnx --input x.npy --target y.npy --loss cross_entropy --batch 1",
               None, ["! note:", "! " + LONE])

    # Statistics of a new layer.
    fresh = Net(generator, False, fresh=(True, True))
    case("fresh_statistics", fresh, data, "--batch 3", batches_of(9, 3), [f"note: 2 {FRESH}, first 'bn1', have still those of a new layer"],
         trains=lambda layer: False)
    case("fresh_statistics_of_one_layer", Net(generator, False, fresh=(False, True)), data, "--batch 3", None,
         [f"note: 1 {FRESH}, first 'bn2', has still those", "--batchnorm train"])
    case("fresh_statistics_strict", fresh, data, "--batch 3 --strict", None, ["--strict: 2 of the layers"], 3)
    case("fresh_statistics_that_move", fresh, data, "--batch 3 --batchnorm train", batches_of(9, 3), ["! note:"])
    case("fresh_statistics_in_training_form", Net(generator, True, fresh=(True, True)), data, "--batch 3", batches_of(9, 3), ["! note:"])
    case("moved_statistics", inference, data, "--batch 3", batches_of(9, 3), ["! note:"], trains=lambda layer: False)
    almost = Net(generator, False, fresh=(True, True))
    for name in ("bn1", "bn2"):
        almost.weights[name + ".running_mean"][3] = 1e-3
    case("almost_fresh_statistics", almost, data, "--batch 3", batches_of(9, 3), ["! note:"], trains=lambda layer: False)
    case("fresh_statistics_one_layer_moves", fresh, data, "--batch 3 --batchnorm-of bn1=train", batches_of(9, 3),
         [f"note: 1 {FRESH}, first 'bn2'"], trains=lambda layer: layer == "bn1")
    write_case(__file__, "fresh_statistics_evaluated", fresh.make(), data, "eval model.onnx --input x.npy --target y.npy --loss cross_entropy",
               None, ["! note:"])

    # Frozen statistics.
    by_eval = "normalises by them instead, as in eval()"
    first = {"trains": lambda layer: layer != "bn1"}
    case("frozen_mean", training, data, "--batch 3 --freeze bn1.running_mean", batches_of(9, 3),
         ["note: --freeze 'bn1.running_mean' keeps running statistics: 1 of the layers", by_eval], **first)
    case("frozen_variance", training, data, "--batch 3 --freeze '*1.running_var'", batches_of(9, 3), [by_eval], **first)
    case("frozen_layer", training, data, "--batch 3 --freeze 'bn1.*'", batches_of(9, 3), [by_eval, "! scale or bias"],
         frozen=("bn1.weight", "bn1.bias"), **first)
    case("frozen_statistics_of_all", inference, data, "--batch 3 --batchnorm train --freeze '*running*'", batches_of(9, 3),
         ["2 of the layers that normalise by the batch, first 'bn1', normalise by them instead"], trains=lambda layer: False)
    case("frozen_statistics_in_eval", inference, data, "--batch 3 --freeze 'bn1.running_mean'", batches_of(9, 3), ["! note:"],
         trains=lambda layer: False)
    case("frozen_and_trained_again", training, data, "--batch 3 --freeze '*running*' --train 'bn1.*' --train 'bn2.*'", batches_of(9, 3), ["! note:"])
    all_but_head = tuple(name for name in training.weights if name != "w3")
    case("frozen_everything_but_the_head", training, data, "--batch 3 --freeze '*' --train w3", batches_of(9, 3), ["! note:"], frozen=all_but_head)
    case("trained_head_alone", training, data, "--batch 3 --train w3", batches_of(9, 3), ["! note:"], frozen=all_but_head)
    case("frozen_scale", training, data, "--batch 3 --freeze bn1.weight", batches_of(9, 3),
         ["note: --freeze 'bn1.weight' keeps the scale or bias of 1 of the layers", "--batchnorm-of 'bn1=eval'"], frozen=("bn1.weight",))
    case("frozen_biases", training, data, "--batch 3 --freeze '*.bias'", batches_of(9, 3),
         ["keeps the scale or bias of 2 of the layers that normalise by the batch, first 'bn1'"], frozen=("bn1.bias", "bn2.bias"))
    case("frozen_scale_in_eval", inference, data, "--batch 3 --freeze bn1.weight", batches_of(9, 3), ["! note:"],
         trains=lambda layer: False, frozen=("bn1.weight",))
    case("frozen_scale_that_says_train", training, data, "--batch 3 --freeze bn1.weight --batchnorm-of bn1=train", batches_of(9, 3),
         ["! note:"], frozen=("bn1.weight",))

    # --batchnorm-of.
    case("form_of_one_layer", training, data, "--batch 3 --batchnorm-of bn1=eval", batches_of(9, 3), ["! note:"], **first)
    case("form_by_initialiser", training, data, "--batch 3 --batchnorm-of 'bn1.running_*=eval'", batches_of(9, 3), ["! note:"], **first)
    case("form_last_match_wins", training, data, "--batch 3 --batchnorm-of '*=eval' --batchnorm-of bn2=graph", batches_of(9, 3), ["! note:"], **first)
    case("form_of_one_layer_trains", inference, data, "--batch 3 --batchnorm-of bn2=train", batches_of(9, 3), ["! note:"], **first)
    case("form_beside_freeze", training, data, "--batch 3 --freeze 'bn1.*' --batchnorm-of bn1=eval", batches_of(9, 3), ["! note:"],
         frozen=("bn1.weight", "bn1.bias"), **first)
    case("form_against_freeze", training, data, "--batch 3 --freeze 'bn1.*' --batchnorm-of bn1=train", None,
         ["--freeze 'bn1.*' keeps the running statistics of 'bn1', and --batchnorm-of 'bn1=train' moves them"], 1)
    case("form_of_no_layer", training, data, "--batch 3 --batchnorm-of bm1=eval", None, ["--batchnorm-of 'bm1'", "did you mean 'bn1'"], 1)
    case("form_that_is_none", training, data, "--batch 3 --batchnorm-of bn1=evil", None, ["'evil' is not one of graph, train, eval"], 1)
    case("form_ragged_batch", training, data, "--batch 4 --batchnorm-of '*=eval'", batches_of(9, 4), ["! note:"], trains=lambda layer: False)
    write_case(__file__, "form_of_a_plan", training.make(), data,
               ["plan model.onnx --input x.npy --target y.npy --loss cross_entropy --optimizer sgd --lr 0.1 --batch 3 --stages 2 --micro-batches 1 "
                "--batchnorm-of bn1=eval --out plan.json", COMMON + "--batch 3 --plan plan.json"], None, ["--plan plan.json"], 4)
    write_case(__file__, "form_of_a_checkpoint", training.make(), data,
               [COMMON + "--batch 3 --checkpoint kept --batchnorm-of bn1=eval", COMMON + "--batch 3 --checkpoint kept --resume --epochs 4"], None,
               ["now --batchnorm-of left out instead of bn1=eval"], 1)

    # A profile of such a micro-batch, and planes of one position.
    write_case(__file__, "profile_of_one", training.make(), data,
               "profile model.onnx --input x.npy --target y.npy --loss cross_entropy --batch 1 --repetitions 1 --out profile.json", None, [LONE], 1)
    instances(generator)
    branches(generator)


LONE_PLANE = "Expected more than 1 spatial element when training"


def instances(generator):
    """Instance normalisation of one position is refused; of two it is not, nor is a GroupNorm as exporters write it."""
    x, y = generator.normal(size=(9, FEATURES, 1, 1)).astype("f"), generator.integers(0, CLASSES, 9)
    scale, bias, head = generator.uniform(0.5, 1.5, FEATURES).astype("f"), generator.normal(size=FEATURES).astype("f"), generator.normal(size=(FEATURES, CLASSES)).astype("f")

    def make(side, groups=None):
        node = helper.make_node
        if groups is None:
            nodes = [node("InstanceNormalization", ["x", "scale", "bias"], ["n"], name="norm")]
        else:
            nodes = [node("Reshape", ["x", "grouped"], ["g"]), node("InstanceNormalization", ["g", "ones", "zeros"], ["h"], name="norm"),
                     node("Shape", ["x"], ["s"]), node("Reshape", ["h", "s"], ["i"]), node("Mul", ["i", "scale4"], ["j"]), node("Add", ["j", "bias4"], ["n"])]
        nodes += [node("GlobalAveragePool", ["n"], ["p"]), node("Flatten", ["p"], ["f"]), node("MatMul", ["f", "head"], ["logits"])]
        weights = {"scale": scale, "bias": bias, "head": head, "scale4": scale[:, None, None], "bias4": bias[:, None, None],
                   "grouped": numpy.int64([0, groups or 1, -1]), "ones": numpy.ones(groups or 1, "f"), "zeros": numpy.zeros(groups or 1, "f")}
        used = {each for item in nodes for each in item.input}
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", FEATURES, side, side])],
                                  [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])],
                                  [onnx.numpy_helper.from_array(value, name) for name, value in weights.items() if name in used])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    for name, command, code in (("instance_of_one_position", COMMON + "--batch 3", 1),
                                ("instance_of_one_position_profiled", "profile model.onnx --batch 3 --repetitions 1 --out profile.json", 1),
                                ("instance_of_one_position_evaluated", "eval model.onnx --input x.npy --target y.npy --loss cross_entropy --batch 3", 0)):
        write_case(__file__, name, make(1), {"x": x, "y": y}, command, None, [LONE_PLANE if code else "! " + LONE_PLANE, *(["'norm'"] if code else [])], code)
    more = generator.normal(size=(9, FEATURES, 2, 2)).astype("f")
    write_case(__file__, "instance_of_four_positions", make(2), {"x": more, "y": y}, COMMON + "--batch 3", None, ["! note:", "! " + LONE_PLANE])
    write_case(__file__, "groups_of_one_value", make(1, FEATURES), {"x": x, "y": y}, COMMON + "--batch 3", None, ["! " + LONE_PLANE])


def branches(generator):
    """In a branch, statistics are no weights either; those of a new layer are noted, with what helps."""
    x, y = generator.normal(size=(9, 4)).astype("f"), generator.integers(0, CLASSES, 9)
    weight, head = generator.normal(size=(4, 4)).astype("f"), generator.normal(size=(4, CLASSES)).astype("f")

    def make(parts, stated, inside):
        def branch(name):
            names = [name + part for part in ("scale", "bias", "mean", "variance")]
            tensors = [onnx.numpy_helper.from_array(value, each) for each, value in zip(names, parts)]
            constants = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in tensors] if stated else []
            nodes = [*constants, helper.make_node("MatMul", ["x", "weight"], [name + "h"]),
                     helper.make_node("BatchNormalization", [name + "h", *names], [name], name=name + "norm")]
            return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
                                     tensors if inside and not stated else []), tensors
        (yes, given), (no, others) = branch("yes"), branch("no")
        initialisers = [onnx.numpy_helper.from_array(value, name) for name, value in (("weight", weight), ("head", head), ("zero", numpy.float32(0)))]
        nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", "zero"], ["up"]),
                 helper.make_node("If", ["up"], ["n"], then_branch=yes, else_branch=no), helper.make_node("MatMul", ["n", "head"], ["logits"])]
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
                                  [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])],
                                  initialisers + ([] if inside else given + others))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    def losses(parts):
        learnt = [torch.tensor(each, requires_grad=True) for each in (weight, head, *parts[:2], *parts[:2])]
        mean, variance = (torch.tensor(each) for each in parts[2:])
        result = []
        for rows in batches_of(9, 3):
            value = torch.tensor(x[rows])
            scale, bias = learnt[2:4] if value.sum() > 0 else learnt[4:6]
            value = torch.nn.functional.batch_norm(value @ learnt[0], mean, variance, scale, bias, False, 0.1, 1e-5) @ learnt[1]
            loss = torch.nn.functional.cross_entropy(value, torch.tensor(y[rows]))
            result.append(loss.item())
            for each, gradient in zip(learnt, torch.autograd.grad(loss, learnt, materialize_grads=True)):
                each.data -= RATE * gradient
        return result

    moved, fresh = norm(4, generator), norm(4, generator, True)
    for name, stated, inside in (("in_branches", False, True), ("in_branches_in_nodes", True, True), ("of_the_graph_in_branches", False, False)):
        write_case(__file__, "moved_statistics_" + name, make(moved, stated, inside), {"x": x, "y": y}, COMMON + "--batch 3", losses(moved), ["! note:"])
    write_case(__file__, "fresh_statistics_in_branches", make(fresh, False, True), {"x": x, "y": y}, COMMON + "--batch 3", losses(fresh),
               ["note: 2 of the layers inside of branches and bodies that normalise by running statistics, first 'yesnorm', have still those"])


main()
