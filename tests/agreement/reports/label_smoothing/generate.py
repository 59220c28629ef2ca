"""Cross entropies inside of the model: the newer exporter leaves label smoothing out. python3 generate.py"""
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from exported import command, export, losses_of  # noqa: E402
from making import write_case  # noqa: E402

BATCH, STEPS, LR = 4, 3, 0.3


class Net(nn.Module):
    def __init__(self, weighted, options):
        super().__init__()
        self.l, self.options = nn.Linear(6, 5), options
        self.register_buffer("w", torch.rand(5) + 0.5 if weighted else None)

    def forward(self, x, t):
        return F.cross_entropy(self.l(x), t, weight=self.w, **self.options)


def case(name, way="plain", weighted=False, **options):
    net = Net(weighted, options)
    x, t = torch.rand(BATCH * STEPS, 6) - 0.5, torch.randint(0, 5, (BATCH * STEPS,))
    smoothed = options.get("label_smoothing", 0) > 0
    losses = losses_of(net, [x.numpy(), t.numpy()], None, "graph", LR, BATCH, STEPS)
    says = ("note:", "--label-smoothing 0.1 --loss-output 'linear'") if smoothed else ("! note:",)
    write_case(__file__, name, export(net, (x[:BATCH], t[:BATCH]), way, names=("x", "t")), {"x": x, "t": t},
               command("graph", LR, BATCH, STEPS, names=("x", "t"), target=False), None if smoothed else losses, says)
    if smoothed and not weighted and len(options) == 1:
        cmd = command("cross_entropy", LR, BATCH, STEPS, names=("x", "t"), more=" --label-smoothing 0.1 --loss-output linear")
        write_case(__file__, name + "_by_option", export(net, (x[:BATCH], t[:BATCH]), way, names=("x", "t")), {"x": x, "t": t},
                   cmd, losses, ("! note:",))


torch.manual_seed(23)
case("smoothed", label_smoothing=0.1)
case("smoothed_default", "default", label_smoothing=0.1)
case("smoothed_sum", label_smoothing=0.1, reduction="sum")
case("smoothed_and_weighted", weighted=True, label_smoothing=0.1, ignore_index=2)
case("weighted", weighted=True)
case("ignored", ignore_index=3)
case("weighted_and_ignored", weighted=True, ignore_index=3)
case("smoothing_of_nothing", label_smoothing=0.0)
