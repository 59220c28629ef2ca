"""Values that the program detaches: an Identity of the newer exporter's, or a name among the operands of what reads it."""
import pathlib
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from exported import command, export, losses_of  # noqa: E402
from making import write_case  # noqa: E402

NOTE = "detaches an operand"
BATCH, STEPS = 4, 3


class Net(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.l = nn.Linear(3, 4)
        self.o = nn.Linear(4, 4)
        self.f = f

    def forward(self, x):
        return self.f(self, self.l(x))


def gate(net, y):
    return y * torch.sigmoid(y).detach()


def straight_through(net, y):
    return net.o(y + (torch.round(y) - y).detach())


def own_square(net, y):
    return y * y.detach()


def weight(net, y):
    return F.linear(y, net.o.weight.detach()) + net.o.bias


def joined(net, y):
    return torch.cat([y[:, :2], torch.tanh(y).detach()[:, 2:]], 1)


def before_linear(net, y):
    return net.o(y.detach()) + y


def softmax_target(net, y):
    return torch.log_softmax(y, 1) * torch.softmax(net.o(y), 1).detach()


def twice(net, y):
    return F.layer_norm(y.detach() + torch.exp(y).detach(), [4]) * y


def arc(net, y):
    return net.o(torch.atan2(y, y.detach()))  # several nodes, which read both by one name


def input_alone(net, y):
    return net.o(y)


def mixed_matmul(net, y):
    return torch.einsum("bi,bj->bij", y, torch.sigmoid(y).detach()).sum(2)


def clamped(net, y):
    return net.o(y * y.detach().clamp(0, 1))


def case(name, f, way, says=("! " + NOTE,), more="", losses=True):
    torch.manual_seed(11)
    net = Net(f)
    generator = numpy.random.default_rng(3)
    x = generator.standard_normal((BATCH * STEPS, 3)).astype(numpy.float32)
    t = generator.standard_normal((BATCH * STEPS, 4)).astype(numpy.float32)
    expected = losses_of(net, [x], t, "mse", 0.2, BATCH, STEPS) if losses else None
    write_case(__file__, name, export(net, torch.from_numpy(x[:BATCH]), way), {"x": x, "t": t},
               command("mse", 0.2, BATCH, STEPS, more=more), expected, says)


for each in (gate, straight_through, own_square, weight, joined, before_linear, softmax_target, twice, mixed_matmul):
    case(each.__name__, each, "plain")
for each in (gate, straight_through, own_square, weight, before_linear, softmax_target):
    case(each.__name__ + "_default", each, "default")
case("clamped_default", clamped, "default")
case("unclear", arc, "default", [NOTE, "optimize=False"], losses=False)
case("unclear_kept_clear", arc, "plain")
case("unclear_but_nothing_trained", arc, "default", more=" --train 'o.*' --freeze 'l.*'", losses=False)
case("nothing_detached", input_alone, "plain")
case("inference_form", gate, "plain", more=" --export inference")
