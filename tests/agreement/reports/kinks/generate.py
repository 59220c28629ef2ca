"""Derivatives at a kink: each case adds a trained vector to its input, with which it lies on the kinks of its operators, so that the
losses from the second step on follow from the derivatives that docs/kinks.md lists. PyTorch 2.15 computes them."""
import io
import pathlib
import sys
import warnings

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from making import write_case  # noqa: E402

functional = torch.nn.functional
BATCH, STEPS = 4, 3


class Kinks(torch.nn.Module):
    """Each function takes the columns of its points, less a shift of its own that is added here, and gives as many columns or fewer.
    No shift is like another: exporters merge equal weights."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions
        self.shifts = torch.nn.ParameterList(torch.nn.Parameter(torch.full((1, len(points)), i + 1.)) for i, (_, points) in enumerate(functions))

    def forward(self, x):
        parts, at = [], 0
        for (function, points), shift in zip(self.functions, self.shifts):
            parts.append(function(x[:, at:at + len(points)] + shift))
            at += len(points)
        return torch.cat(parts, 1)


def export(module, x, dynamo, opset):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dynamo:
            torch.onnx.export(module, (x,), dynamo=True, opset_version=opset, input_names=["x"], verbose=False).save(file)
        else:
            torch.onnx.export(module, (x,), file, dynamo=False, opset_version=opset, input_names=["x"])
    return file.getvalue()


def losses_of(module, x, target, rate):
    optimizer = torch.optim.SGD(module.parameters(), rate)
    losses = []
    for _ in range(STEPS):
        loss = functional.mse_loss(module(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def case(name, functions, dynamo=True, opset=18, rate=0.5):
    torch.manual_seed(1)
    module = Kinks(functions)
    x = torch.tensor([[point - i - 1 for i, (_, points) in enumerate(functions) for point in points]] * BATCH)
    target = torch.rand_like(module(x).detach()) * 2 - 1
    model = export(module, x, dynamo, opset)
    command = (f"train model.onnx --input x=x.npy --target t.npy --loss mse --optimizer sgd --lr {rate} --batch {BATCH} "
               f"--steps {STEPS} --no-shuffle --threads 1 --log-json log.json")
    write_case(__file__, name, model, {"x": x.numpy(), "t": target.numpy()}, command, losses_of(module, x, target, rate))


# clamp at numbers is Clip: 0 at its bounds.
BOUNDS = [(functional.relu6, [0., 6., 3.]), (functional.hardtanh, [-1., 1., .5]), (lambda x: torch.clamp(x, -.5, .5), [-.5, .5, 0.]),
          (lambda x: torch.clamp(x, max=2.), [2., 1., 3.]), (lambda x: functional.hardtanh(x, -2., 3.), [-2., 3., 1.])]
case("clip", BOUNDS)
case("clip_traced", BOUNDS, dynamo=False, opset=12)
case("clip_opset_9", BOUNDS, dynamo=False, opset=9)
SLOPES = [(torch.relu, [0., -0., 1.]), (lambda x: functional.leaky_relu(x, .1), [0., 1., -1.]), (torch.abs, [0., -0., 2.]),
          (functional.hardswish, [-3., 3., 1.]), (functional.hardsigmoid, [-3., 3., 1.]), (lambda x: functional.elu(x, 2.), [0., -1., 1.]),
          (functional.selu, [0., -1., 1.]), (lambda x: functional.celu(x, 2.), [0., -1., 1.]), (functional.softsign, [0., 1., -1.]),
          (lambda x: functional.threshold(x, 1., 0.), [1., 2., 0.]), (lambda x: functional.hardshrink(x, .5), [.5, -.5, 1.]),
          (lambda x: functional.softshrink(x, .5), [.5, -.5, 1.]), (functional.softplus, [20., 21., 0.]),
          (lambda x: x * functional.relu6(x + 3) / 6, [-3., 3., 0.])]
case("activations", SLOPES)
case("activations_traced", [SLOPES[i] for i in (0, 1, 2, 3, 4, 5, 6, 7, 13)], dynamo=False, opset=17)
STEPPED = [(lambda x: x * torch.sign(x), [0., 1.]), (lambda x: x + torch.round(x), [.5, 1.5]), (lambda x: x - torch.floor(x), [1., 2.]),
           (lambda x: x + torch.ceil(x), [1., 2.]), (lambda x: torch.fmod(x, 2.), [2., 1.])]
case("steps", STEPPED)
CHOSEN = [(lambda x: torch.maximum(x, torch.zeros_like(x)), [0., 1.]), (lambda x: torch.minimum(x[:, :2], x[:, 2:]), [1., 1., 1., 2.]),
          (lambda x: torch.maximum(x[:, :2], x[:, 2:]), [1., 1., 1., 2.])]
case("max_min", CHOSEN)
REDUCED = [(lambda x: x.amax(1, keepdim=True), [1., 1., 0.]), (lambda x: x.amin(1, keepdim=True), [1., 1., 2.]),
           (lambda x: x.norm(dim=1, keepdim=True), [0., 0., 0.]), (lambda x: x.norm(p=1, dim=1, keepdim=True), [0., 2., -0.]),
           (lambda x: x.prod(1, keepdim=True), [0., 2., 3.]), (lambda x: x.prod(1, keepdim=True), [0., 0., 3.]),
           (lambda x: torch.logsumexp(x, 1, keepdim=True), [500., 500., 500.])]
case("reductions", REDUCED)
POOLED = [(lambda x: functional.max_pool1d(x.unsqueeze(1), 3, 2).flatten(1), [1., 1., 0., 1., 1.]),
          (lambda x: functional.max_pool2d(x.view(-1, 1, 2, 4), 2).flatten(1), [0., 0., 2., 1., 0., 0., 2., 2.]),
          (lambda x: functional.adaptive_max_pool2d(x.view(-1, 1, 2, 2), 1).flatten(1), [1., 1., 1., 0.]),
          (lambda x: functional.relu(functional.max_pool1d(x.unsqueeze(1), 2)).flatten(1), [0., 0., 0., -1.])]
case("pools", POOLED[:2] + POOLED[3:])  # adaptive_max_pool2d becomes amax there
case("pools_traced", POOLED, dynamo=False, opset=17)
ORDERED = [(lambda x: x.topk(2).values, [1., 1., 1.]), (lambda x: x.topk(1, largest=False).values, [1., 1., 2.]),
           (lambda x: torch.gather(x, 1, x.argmax(1, keepdim=True)), [2., 2., 1.]),
           (lambda x: torch.gather(x, 1, x.argmin(1, keepdim=True)), [2., 1., 1.])]
case("order", ORDERED)
POWERS = [(lambda x: x ** 2, [0., 1.]), (lambda x: x ** 1.5, [0., 1.]), (lambda x: x ** 3, [0., -1.]), (lambda x: x ** 1, [0., -1.])]
case("powers", POWERS)


class Exponent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shift, self.exponent = torch.nn.Parameter(torch.zeros(1, 4)), torch.nn.Parameter(torch.tensor([[2., 3., 1., 3.]]))

    def forward(self, x):
        return torch.pow(x + self.shift, self.exponent)


class Slope(torch.nn.Module):
    """PRelu of points at 0, over a slope that is trained as well."""

    def __init__(self):
        super().__init__()
        self.shift, self.prelu = torch.nn.Parameter(torch.zeros(1, 4)), torch.nn.PReLU(4)
        self.prelu.weight.data = torch.tensor([.1, .2, .3, .4])

    def forward(self, x):
        return self.prelu(x + self.shift)


class Relu6AfterNorm(torch.nn.Module):
    """Batch normalisation of a constant channel: its result is its bias, 0, which is a bound of the relu6 behind it."""

    def __init__(self):
        super().__init__()
        self.norm, self.out = torch.nn.BatchNorm2d(2), torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.out(functional.relu6(self.norm(x)).flatten(1))


def module_case(name, module, x, width, extra="", dynamo=True, rate=0.5):
    torch.manual_seed(2)
    target = torch.rand(BATCH, width) * 2 - 1
    model = export(module.train(), x, dynamo, 18) if dynamo else training_export(module, x)
    command = (f"train model.onnx --input x=x.npy --target t.npy --loss mse --optimizer sgd --lr {rate} --batch {BATCH} "
               f"--steps {STEPS} --no-shuffle --threads 1 --log-json log.json{extra}")
    write_case(__file__, name, model, {"x": x.numpy(), "t": target.numpy()}, command, losses_of(module, x, target, rate))


def training_export(module, x):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x,), file, dynamo=False, opset_version=17, input_names=["x"], training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False)
    return file.getvalue()


torch.manual_seed(3)
module_case("exponent", Exponent(), torch.tensor([[0., 0., 0., 2.]] * BATCH), 4, rate=0.01)
module_case("prelu", Slope(), torch.tensor([[0., -1., 1., -0.]] * BATCH), 4)
module_case("prelu_traced", Slope(), torch.tensor([[0., -1., 1., -0.]] * BATCH), 4, dynamo=False)
image = torch.rand(BATCH, 2, 2, 2)
image[:, 1] = 0.25
module_case("relu6_after_norm", Relu6AfterNorm(), image, 2, dynamo=False)
