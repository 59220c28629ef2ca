"""Parameters that a default export takes out or takes for others, for their numbers at that moment. python3 generate.py"""
import pathlib
import sys

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from exported import command, export, losses_of  # noqa: E402
from making import write_case  # noqa: E402

F = nn.functional
BATCH, STEPS, LR = 4, 4, 0.3


class Between(nn.Module):
    """A function of some parameters between two layers."""

    def __init__(self, function, **parameters):
        super().__init__()
        self.function, self.l, self.o = function, nn.Linear(8, 8), nn.Linear(8, 3)
        for name, start in parameters.items():
            setattr(self, name, nn.Parameter(start))

    def forward(self, x):
        return self.o(torch.tanh(self.function(self, self.l(x))))


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return x * self.gain


class Block(nn.Module):
    """A residual layer with a gate of its own."""

    def __init__(self, start):
        super().__init__()
        self.l, self.gate = nn.Linear(8, 8), nn.Parameter(torch.tensor(start))

    def forward(self, x):
        return x + self.gate * torch.tanh(self.l(x))


class Unused(nn.Module):
    """An embedding with a token for masks that nothing masks."""

    def __init__(self):
        super().__init__()
        self.l, self.mask_token = nn.Linear(8, 8), nn.Parameter(torch.zeros(1, 8))

    def forward(self, x):
        return torch.tanh(self.l(x))


class Multiplied(nn.Module):
    """The configuration has a factor of 1."""

    def __init__(self, first, more=None):
        super().__init__()
        self.first, self.m, self.o, self.more = first, nn.Linear(8, 8), nn.Linear(8, 3), more

    def forward(self, x):
        return self.o(torch.tanh(self.m(self.first(x)) * 1.0))


class Tied(nn.Module):
    """One matrix in the first and the last layer, and a factor of 1 behind the first."""

    def __init__(self):
        super().__init__()
        self.first, self.m, self.last = nn.Linear(8, 8, bias=False), nn.Linear(8, 8), nn.Linear(8, 8, bias=False)
        self.last.weight = self.first.weight

    def forward(self, x):
        return self.last(torch.tanh(self.m(torch.tanh(self.first(x) * 1.0))))


def case(name, module, says=("! note:",), told=True, way="default", more=""):
    x, y = torch.rand(BATCH * STEPS, 8) - 0.5, torch.randint(0, 3, (BATCH * STEPS,))
    model = export(module, x[:BATCH], way)
    losses = losses_of(module, [x.numpy()], y.numpy(), "cross_entropy", LR, BATCH, STEPS)
    write_case(__file__, name, model, {"x": x, "t": y}, command("cross_entropy", LR, BATCH, STEPS, more=more), losses if told else None, says)


def lost(name, module, first, count="1 parameter with them", **options):
    case(name, module, ("optimize=False", f"{count}, first '{first}'"), told=False, **options)


def taken(name, module, result, parameter):
    case(name, module, ("optimize=False", f"first '{result}' for '{parameter}'"), told=False)


torch.manual_seed(19)
one, zero = torch.ones(()), torch.zeros(())
lost("factor", Between(lambda s, x: x * s.g, g=one), "g")
lost("factor_of_a_result", Between(lambda s, x: x + s.g * x, g=one), "g")
lost("divisor", Between(lambda s, x: x / s.g, g=one), "g")
lost("summand", Between(lambda s, x: x + s.b, b=zero), "b")
lost("subtrahend", Between(lambda s, x: x - s.b, b=zero), "b")
lost("factor_and_summand", Between(lambda s, x: x * s.g + s.b, g=one, b=zero), "g", "2 parameters with them")
lost("exponential", Between(lambda s, x: x * torch.exp(s.g), g=zero), "g")
lost("one_more", Between(lambda s, x: x * (1 + s.g), g=zero), "g")
lost("element_of_a_vector", Between(lambda s, x: x + s.b[0], b=torch.zeros(2)), "b")
lost("mixture_of_one", Between(lambda s, x: x * s.a + (1 - s.a) * torch.sin(x), a=one), "a")
lost("layer_of_its_own", nn.Sequential(nn.Linear(8, 8), Scale(), nn.Tanh(), nn.Linear(8, 3)), "1.gain")
lost("last_of_all", nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3), Scale()), "3.gain")
lost("gates_of_two_blocks", nn.Sequential(Block(1.0), Block(1.0), nn.Linear(8, 3)), "0.gate", "2 parameters with them")
case("head_alone_trained", nn.Sequential(Block(1.0), nn.Linear(8, 3)), told=False, more=" --train '1.*'")
case("gates_of_other_numbers", nn.Sequential(Block(0.0), Block(0.3), nn.Linear(8, 3)), says=())
case("factor_plain", Between(lambda s, x: x * s.g, g=one), way="plain")
case("factor_for_each_channel", Between(lambda s, x: x * s.g + s.b, g=torch.ones(8), b=torch.zeros(8)))
case("factor_of_one_element", Between(lambda s, x: x * s.g, g=torch.ones(1)))
case("number_of_the_program", Between(lambda s, x: (x * 1.0 + 0) / 1))
case("sum_of_a_list", Between(lambda s, x: sum([x, x.sin()])))
case("not_used", Between(lambda s, x: x, g=one))
case("not_used_in_another_layer", Multiplied(Unused()))
case("layer_not_used", Multiplied(nn.Linear(8, 8), nn.Linear(8, 8)))
case("tied", Tied(), more=" --strict")
case("batchnorm_of_one", Multiplied(nn.Sequential(nn.Unflatten(1, (2, 4)), nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2).eval(), nn.Flatten())), ("folded a BatchNorm", "! parameter with them"), told=False)
case("bias_of_zeros", Between(lambda s, x: F.linear(x, s.w, s.b), w=torch.rand(8, 8) - 0.5, b=torch.zeros(8)), ("has left out 1 bias of zeros, first 'b'",), told=False)

taken("complement_of_a_half", Between(lambda s, x: x * s.a + (1 - s.a) * torch.sin(x), a=torch.tensor(0.5)), "sub", "a")
taken("complements_of_a_half", Between(lambda s, x: x * s.a + (1 - s.a) * torch.sin(x), a=torch.full((8,), 0.5)), "sub", "a")
taken("root_of_one", Between(lambda s, x: torch.tanh(x * s.a) * torch.sqrt(s.a), a=torch.ones(8)), "sqrt", "a")
case("complement_plain", Between(lambda s, x: x * s.a + (1 - s.a) * torch.sin(x), a=torch.tensor(0.5)), way="plain")
