#!/usr/bin/env python3
"""Runs that are right: PyTorch's losses, and not one note. python3 tests/agreement/reports/right/generate.py [CASE ...]"""

import io
import math
import pathlib
import sys
import warnings

import numpy
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import making

BATCH, STEPS, RATE = 4, 3, 0.1
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


class Run:
    """A module, its inputs, and how it is trained. `arguments` of `onstage train` beside those that every run has."""

    def __init__(self, module, inputs, target=None, loss="mse", arguments="", exporter="plain", batch=BATCH, optimizer=None, commands=()):
        self.module, self.inputs, self.target, self.loss = module, inputs, target, loss
        self.arguments, self.exporter, self.batch = arguments, exporter, batch
        self.optimizer, self.commands, self.arrays = optimizer, commands, {}


def floats(*shape):
    return torch.randn(*shape)


def integers(high, *shape):
    return torch.randint(0, high, shape)


SAMPLES = BATCH * STEPS
LOSSES = {"mse": F.mse_loss, "l1": F.l1_loss, "huber": F.huber_loss, "bce_with_logits": F.binary_cross_entropy_with_logits,
          "cross_entropy": F.cross_entropy, "nll": F.nll_loss}


# Modules


class Attention(nn.Module):
    def __init__(self, width=8, heads=2, causal=False):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, 3)
        self.heads, self.causal = heads, causal

    def forward(self, x, mask=None):
        b, t, c = x.shape
        q, k, v = (p.view(b, t, self.heads, c // self.heads).transpose(1, 2) for p in self.qkv(x).split(c, 2))
        a = q @ k.transpose(2, 3) / math.sqrt(c // self.heads)
        if self.causal:
            a = a.masked_fill(torch.triu(torch.ones(t, t, dtype=torch.bool), 1), float("-inf"))
        if mask is not None:
            a = a + (1 - mask.float())[:, None, None, :] * -1e9
        return self.out((a.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c).mean(1))


class Sines(nn.Module):
    """Fixed positions, as a buffer."""

    def __init__(self):
        super().__init__()
        position, scale = torch.arange(6).float()[:, None], torch.exp(torch.arange(0, 8, 2) * (-math.log(10000.0) / 8))
        table = torch.zeros(6, 8)
        table[:, 0::2], table[:, 1::2] = torch.sin(position * scale), torch.cos(position * scale)
        self.register_buffer("table", table)
        self.emb, self.out = nn.Embedding(11, 8), nn.Linear(8, 3)

    def forward(self, i):
        return self.out((self.emb(i) * math.sqrt(8) + self.table).mean(1))


class Anchors(nn.Module):
    """Boxes around fixed anchors, of pictures that are normalised inside."""

    def __init__(self):
        super().__init__()
        self.register_buffer("anchors", torch.tensor([[1.25, 1.625], [2.0, 3.75], [4.125, 2.875]]))
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406])[:, None, None])
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225])[:, None, None])
        self.conv = nn.Conv2d(3, 6, 4)

    def forward(self, x):
        sizes = self.conv((x - self.mean) / self.std).reshape(-1, 3, 2)
        return torch.exp(sizes * 0.1) * self.anchors


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.mid, self.out = nn.Embedding(11, 8), nn.Linear(8, 8), nn.Linear(8, 11, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, i):
        return self.out(torch.tanh(self.mid(self.emb(i))).mean(1))


class Lora(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(6, 6)
        self.base.requires_grad_(False)
        self.down, self.up, self.out = nn.Linear(6, 2, bias=False), nn.Linear(2, 6, bias=False), nn.Linear(6, 3)

    def forward(self, x):
        return self.out(torch.relu(self.base(x) + 2.0 * self.up(self.down(x))))


class Temperature(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.logit_scale = nn.Linear(6, 3), nn.Parameter(torch.tensor([1.375]))

    def forward(self, x):
        return self.body(x) * self.logit_scale.exp()


class LayerScale(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down, self.gamma = nn.LayerNorm(6), nn.Linear(6, 12), nn.Linear(12, 6), nn.Parameter(0.1 * torch.rand(6))

    def forward(self, x):
        return (x + self.gamma * self.down(F.gelu(self.up(self.norm(x)), approximate="tanh"))).sum(1, keepdim=True)


class Rms(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.out = nn.Parameter(1 + 0.1 * torch.randn(6)), nn.Linear(6, 2)

    def forward(self, x):
        return self.out(self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.body, self.out = kind(5, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        return self.out(self.body(x)[0][:, -1])


class OwnLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = mlp(5, 8, 3)

    def forward(self, x, label):
        return F.cross_entropy(self.body(x), label)


class Features(nn.Module):
    """Two outputs, of which one fits the targets."""

    def __init__(self):
        super().__init__()
        self.body, self.out = nn.Linear(5, 7), nn.Linear(7, 3)

    def forward(self, x):
        features = torch.relu(self.body(x))
        return self.out(features), features


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.first, self.second = nn.Linear(5, 2), nn.Linear(5, 3), nn.Linear(5, 3)

    def forward(self, x):
        g = self.gate(x).softmax(-1)
        return g[:, :1] * self.first(x) + g[:, 1:] * self.second(x)


def mlp(*widths):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def distinct(module):
    """Weights that are equal would be merged, or tell nothing of what they are."""
    with torch.no_grad():
        for p in module.parameters():
            if p.numel() > 1 and (p == p.flatten()[0]).all():
                p.add_(0.05 * torch.randn(p.shape))
    return module


def convolutions(mode):
    module = distinct(nn.Sequential(nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)))
    module[1].running_mean.normal_()
    module[1].running_var.uniform_(0.5, 1.5)
    return module.train(mode)


# Cases


@case
def perceptron():
    return Run(mlp(5, 8, 3), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy")


@case
def perceptron_traced():
    return Run(mlp(5, 8, 3), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy", exporter="traced")


@case
def perceptron_by_default_export():
    return Run(mlp(5, 8, 3), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy", exporter="default")


@case
def micro_batches():
    return Run(mlp(5, 8, 3), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy", "--micro-batches 2")


@case
def two_stages():
    return Run(mlp(5, 8, 8, 3), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy", "--stages 2 --memory 1MiB")


@case
def two_replicas():
    return Run(mlp(5, 8, 3), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy", "--replicas 2")


@case
def short_last_batch():
    return Run(mlp(5, 8, 3), [floats(SAMPLES - 1, 5)], integers(3, SAMPLES - 1), "cross_entropy")


@case
def regression_huber():
    return Run(mlp(5, 8, 2), [floats(SAMPLES, 5)], floats(SAMPLES, 2), "huber")


@case
def regression_l1():
    return Run(mlp(5, 8, 2), [floats(SAMPLES, 5)], floats(SAMPLES, 2), "l1")


@case
def several_labels():
    return Run(mlp(5, 8, 4), [floats(SAMPLES, 5)], integers(2, SAMPLES, 4).float(), "bce_with_logits")


@case
def smooth_labels():
    return Run(mlp(5, 8, 4), [floats(SAMPLES, 5)], torch.rand(SAMPLES, 4), "bce_with_logits")


@case
def log_probabilities():
    return Run(nn.Sequential(mlp(5, 8, 3), nn.LogSoftmax(1)), [floats(SAMPLES, 5)], integers(3, SAMPLES), "nll")


@case
def squashed_regression():
    return Run(nn.Sequential(mlp(5, 8, 2), nn.Sigmoid()), [floats(SAMPLES, 5)], torch.rand(SAMPLES, 2), "mse")


@case
def ignored_labels():
    target = integers(3, SAMPLES)
    target[::3] = -100
    return Run(mlp(5, 8, 3), [floats(SAMPLES, 5)], target, "cross_entropy")


@case
def batchnorm_in_training():
    return Run(convolutions(True), [floats(SAMPLES, 2, 6, 6)], integers(3, SAMPLES), "cross_entropy", "--batchnorm train", exporter="plain")


@case
def batchnorm_fixed():
    return Run(convolutions(False), [floats(SAMPLES, 2, 6, 6)], integers(3, SAMPLES), "cross_entropy")


@case
def batchnorm_of_one_sample():
    return Run(convolutions(False), [floats(3, 2, 6, 6)], integers(3, 3), "cross_entropy", batch=1)


@case
def dropout_of_nothing():
    return Run(nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5), nn.Linear(8, 3)).eval(), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy")


@case
def attention():
    return Run(Attention(), [floats(SAMPLES, 6, 8)], integers(3, SAMPLES), "cross_entropy")


@case
def attention_causal():
    return Run(Attention(causal=True), [floats(SAMPLES, 6, 8)], integers(3, SAMPLES), "cross_entropy")


@case
def attention_masked():
    mask = torch.ones(SAMPLES, 6, dtype=torch.int64)
    mask[::2, 4:] = 0
    return Run(Attention(), [floats(SAMPLES, 6, 8), mask], integers(3, SAMPLES), "cross_entropy")


@case
def sines():
    return Run(Sines(), [integers(11, SAMPLES, 6)], integers(3, SAMPLES), "cross_entropy")


@case
def anchors():
    return Run(Anchors(), [torch.rand(SAMPLES, 3, 4, 4)], 3 * torch.rand(SAMPLES, 3, 2), "mse")


@case
def tied():
    return Run(Tied(), [integers(11, SAMPLES, 6)], integers(11, SAMPLES), "cross_entropy")


@case
def adapter():
    return Run(Lora(), [floats(SAMPLES, 6)], integers(3, SAMPLES), "cross_entropy", "--freeze 'base.*'")


@case
def temperature():
    return Run(Temperature(), [floats(SAMPLES, 6)], integers(3, SAMPLES), "cross_entropy")


@case
def layer_scale():
    return Run(LayerScale(), [floats(SAMPLES, 6)], floats(SAMPLES, 1), "mse")


@case
def root_mean_square():
    return Run(Rms(), [floats(SAMPLES, 6)], floats(SAMPLES, 2), "mse")


@case
def lstm():
    return Run(Recurrent(nn.LSTM), [floats(SAMPLES, 4, 5)], integers(3, SAMPLES), "cross_entropy")


@case
def gru():
    return Run(Recurrent(nn.GRU), [floats(SAMPLES, 4, 5)], integers(3, SAMPLES), "cross_entropy", exporter="traced")


@case
def own_loss():
    return Run(OwnLoss(), [floats(SAMPLES, 5), integers(3, SAMPLES)], loss="graph")


@case
def own_loss_in_parts():
    return Run(OwnLoss(), [floats(SAMPLES, 5), integers(3, SAMPLES)], loss="graph", arguments="--micro-batches 2")


@case
def features_beside_logits():
    return Run(Features(), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy")


@case
def experts():
    return Run(Experts(), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy")


@case
def adam():
    return Run(mlp(5, 8, 3), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy", optimizer=("adam", torch.optim.Adam))


@case
def validation_rows_of_a_file():
    run = Run(mlp(5, 8, 3), [floats(SAMPLES, 5)], integers(3, SAMPLES), "cross_entropy", "--val-input x=later.npy --val-target answers.npy --val-rows 0:4")
    run.arrays = {"later": floats(6, 5).numpy(), "answers": integers(3, 6).numpy()}
    return run


@case
def evaluated():
    run = perceptron()
    run.commands = ["eval model.onnx --input x=x.npy --target target.npy --loss cross_entropy --metric accuracy"]
    return run


@case
def planned():
    run = perceptron()
    run.commands = ["plan model.onnx --loss cross_entropy --batch 4 --stages 2 -o plan.json"]
    return run


# Making them


def names(run):
    return ["x", "second", "third"][: len(run.inputs)]


def export(run):
    buffer = io.BytesIO()
    training = run.module.training
    module = run.module.eval()
    sample = tuple(each[: run.batch if run.batch > 1 else 2] for each in run.inputs)
    outputs = ["y", "features"][: 2 if isinstance(module(*sample), tuple) else 1]
    if run.exporter == "traced":
        axes = {name: {0: "batch"} for name in names(run)}
        torch.onnx.export(module, sample, buffer, input_names=names(run), output_names=outputs, dynamic_axes=axes, dynamo=False, do_constant_folding=False, opset_version=17)
    else:
        more = {} if run.exporter == "default" else {"optimize": False}
        shapes = tuple({0: torch.export.Dim("batch")} for _ in sample)
        program = torch.onnx.export(module, sample, input_names=names(run), output_names=outputs, dynamo=True, dynamic_shapes=shapes, **more)
        buffer.write(program.model_proto.SerializeToString())
    run.module.train(training)
    return buffer.getvalue()


def train(run):
    optimizer = (run.optimizer[1] if run.optimizer else torch.optim.SGD)([p for p in run.module.parameters() if p.requires_grad], lr=RATE)
    losses = []
    count = len(run.inputs[0])
    for begin in range(0, count, run.batch):
        rows = slice(begin, begin + run.batch)
        output = run.module(*(each[rows] for each in run.inputs))
        output = output[0] if isinstance(output, tuple) else output
        loss = output if run.loss == "graph" else LOSSES[run.loss](output, run.target[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def make(name, function):
    torch.manual_seed(sum(map(ord, name)))
    run = function()
    distinct(run.module)
    model = export(run)
    losses = train(run)
    arrays = {**run.arrays, **{n: each.numpy() for n, each in zip(names(run), run.inputs)}}
    words = ["train model.onnx"] + [f"--input {n}={n}.npy" for n in names(run)]
    if run.target is not None:
        arrays["target"] = run.target.numpy()
        words.append("--target target.npy")
    optimizer = run.optimizer[0] if run.optimizer else "sgd"
    words += [f"--loss {run.loss} --batch {run.batch} --optimizer {optimizer} --lr {RATE} --no-shuffle --threads 1 --log-json log.json --out trained.onnx --strict", run.arguments]
    check = "check model.onnx" + (" --batchnorm train" if "--batchnorm train" in run.arguments else "")
    making.write_case(__file__, name, model, arrays, [" ".join(words).strip(), check, *run.commands], losses, ["! note:"])


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    for name, function in CASES.items():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, function)
