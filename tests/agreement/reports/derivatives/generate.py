"""Functions whose derivative PyTorch defines where the nodes that exporters write for them have none, or another."""
import pathlib
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from exported import command, export, losses_of  # noqa: E402
from making import write_case  # noqa: E402

BATCH, STEPS = 4, 3


class Net(nn.Module):
    """The first and the last sample of each batch are zeros, and so is what comes to `f`."""

    def __init__(self, f, width=4):
        super().__init__()
        self.l = nn.Linear(3, 4, bias=False)
        self.o = nn.Linear(width, 2)
        self.f = f

    def forward(self, x):
        return self.o(self.f(self.l(x)))


def quotient_of_shifts(y):
    return torch.atan2(y[:, :2], y[:, 2:] * 0)  # straight up and down


FUNCTIONS = {
    "std": (lambda y: y.std(1, keepdim=True), 1),
    "std_of_population": (lambda y: y.std(1, unbiased=False, keepdim=True), 1),
    "normalised_by_std": (lambda y: (y - y.mean(1, keepdim=True)) / (y.std(1, keepdim=True) + 1e-2), 4),
    "norm_2": (lambda y: torch.linalg.vector_norm(y, dim=1, keepdim=True), 1),
    "norm_3": (lambda y: y.norm(p=3, dim=1, keepdim=True), 1),
    "norm_half": (lambda y: torch.linalg.vector_norm(y, ord=0.5, dim=1, keepdim=True), 1),
    "norm_1_and_a_half": (lambda y: torch.linalg.vector_norm(y, ord=1.5, dim=1, keepdim=True), 1),
    "norm_max": (lambda y: torch.linalg.vector_norm(y, ord=float("inf"), dim=1, keepdim=True), 1),
    "normalise_3": (lambda y: F.normalize(y, p=3, dim=1, eps=1e-1), 4),
    "sinc": (torch.sinc, 4),
    "atan2": (lambda y: torch.atan2(y[:, :2], y[:, 2:]), 2),
    "atan2_upright": (quotient_of_shifts, 2),
    "xlogy": (lambda y: torch.xlogy(y, torch.sigmoid(y)), 4),
    "log_sigmoid": (lambda y: F.logsigmoid(y * 200), 4),
    "logaddexp": (lambda y: torch.logaddexp(y[:, :2] * 200, y[:, 2:]), 2),
    "clamp_from_0": (lambda y: y.clamp(min=0), 4),
    "clamp_between": (lambda y: y.clamp(0, 0.3), 4),
    "maximum": (lambda y: torch.maximum(y, torch.zeros(4)), 4),
    "clamp_by_tensor": (lambda y: y.clamp(min=torch.zeros(4)), 4),
    "prelu": (lambda y: F.prelu(y, torch.tensor([0.25])), 4),
    "softplus": (lambda y: F.softplus(y, beta=2, threshold=0.5), 4),
}
TRACED = ("std", "std_of_population", "norm_3", "norm_half", "atan2", "atan2_upright", "log_sigmoid", "logaddexp", "clamp_from_0", "maximum")
DEFAULT = ("std", "std_of_population", "normalised_by_std", "norm_3", "sinc", "atan2", "atan2_upright", "xlogy", "clamp_from_0", "clamp_between")


class CrossEntropyOfProbabilities(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.l = nn.Linear(3, 1)
        self.scale = scale

    def forward(self, x, target):
        return F.binary_cross_entropy(torch.sigmoid(self.l(x) * self.scale), target)


class Distances(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.l = nn.Linear(3, 4)
        self.o = nn.Linear(4, 2)
        self.p = p

    def forward(self, x):
        y = self.l(x).unsqueeze(1)
        return self.o(torch.cdist(y, torch.cat([y, y * 2, y - 1, y + 1], 1), p=self.p).squeeze(1))


def data():
    generator = numpy.random.default_rng(5)
    x = generator.standard_normal((BATCH * STEPS, 3)).astype(numpy.float32)
    x[::BATCH] = 0
    x[BATCH - 1::BATCH] = 0
    return x, generator.standard_normal((BATCH * STEPS, 2)).astype(numpy.float32)


def write(name, net, way, lr=0.1, tolerance=None):
    x, t = data()
    expected = losses_of(net, [x], t, "mse", lr, BATCH, STEPS)
    write_case(__file__, name, export(net, torch.from_numpy(x[:BATCH]), way), {"x": x, "t": t},
               command("mse", lr, BATCH, STEPS), expected, tolerance=tolerance)


for name, (f, width) in FUNCTIONS.items():
    for way, names in (("plain", FUNCTIONS), ("default", DEFAULT), ("tracing", TRACED)):
        if name not in names:
            continue
        torch.manual_seed(2)
        try:
            write(name if way == "plain" else f"{name}_{way}", Net(f, width), way, 0.01 if name.startswith("log") else 0.1)
        except Exception as failure:  # an exporter may lack the function
            print(name, way, str(failure)[:200])

torch.manual_seed(2)
write("cdist_traced", Distances(2.0), "tracing")

for way in ("plain", "default"):
    torch.manual_seed(4)
    net = CrossEntropyOfProbabilities(40.0)
    x, _ = data()
    x[1::BATCH] *= 20
    t = (numpy.arange(len(x)) % 2).astype(numpy.float32).reshape(-1, 1)
    expected = losses_of(net, [x, t], None, "graph", 0.05, BATCH, STEPS)
    model = export(net, (torch.from_numpy(x[:BATCH]), torch.from_numpy(t[:BATCH])), way, ("x", "target"))
    write_case(__file__, f"binary_cross_entropy_{way}", model, {"x": x, "target": t},
               command("graph", 0.05, BATCH, STEPS, ("x", "target"), target=False), expected)
