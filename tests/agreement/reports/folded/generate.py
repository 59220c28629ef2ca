"""Numbers of one parameter that PyTorch's newer exporter writes in several places when it folds. python3 generate.py"""
import io
import pathlib
import sys
import warnings

import numpy
import onnx
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from making import write_case  # noqa: E402

torch.manual_seed(11)
F = nn.functional


class Shared(nn.Module):
    """One layer applied three times; large enough that the exporter transposes it beforehand."""

    def __init__(self):
        super().__init__()
        self.l, self.o = nn.Linear(36, 36), nn.Linear(36, 3)

    def forward(self, x):
        for _ in range(3):
            x = torch.tanh(self.l(x))
        return self.o(x).mean(1)


class Part(nn.Module):
    """The whole of a matrix, and some of its columns."""

    def __init__(self):
        super().__init__()
        self.w, self.o = nn.Parameter(torch.rand(8, 8) - 0.5), nn.Linear(8, 3)

    def forward(self, x):
        return self.o(torch.tanh(torch.tanh(x @ self.w.T) @ self.w[2:6].T @ self.w[2:6]))


class Circulant(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.o = nn.Parameter(torch.rand(8) - 0.5), nn.Linear(8, 3)

    def forward(self, x):
        i = torch.arange(8)
        return self.o(torch.tanh(x @ self.c[(i[:, None] - i[None]) % 8]))


class Padded(nn.Module):
    """A margin of zeros that stays zero."""

    def __init__(self):
        super().__init__()
        self.w, self.o = nn.Parameter(torch.rand(6, 5) - 0.5), nn.Linear(8, 3)

    def forward(self, x):
        return self.o(torch.tanh(x @ F.pad(self.w, (1, 2, 2, 0)) + x))


class Symmetric(nn.Module):
    """A matrix and its transpose, added: no number of it is one of the parameter's."""

    def __init__(self):
        super().__init__()
        self.w, self.o = nn.Parameter(torch.rand(8, 8) - 0.5), nn.Linear(8, 3)

    def forward(self, x):
        return self.o(torch.tanh(x @ (self.w + self.w.T)))


class Looked(nn.Module):
    """A symmetric matrix that is looked up in a triangle."""

    def __init__(self):
        super().__init__()
        self.t, self.o = nn.Parameter(torch.rand(36) - 0.5), nn.Linear(8, 3)
        a, b = torch.arange(8)[:, None], torch.arange(8)[None]
        low, high = torch.minimum(a, b), torch.maximum(a, b)
        self.places = (high * (high + 1) // 2 + low).tolist()

    def forward(self, x):
        return self.o(torch.tanh(x @ self.t[torch.tensor(self.places)]))


class Queries(nn.Module):
    """One query in two places."""

    def __init__(self):
        super().__init__()
        self.q, self.o = nn.Parameter(torch.rand(3, 8) - 0.5), nn.Linear(4, 3)

    def forward(self, x):
        return self.o(torch.tanh(x @ self.q[torch.tensor([0, 1, 0, 2])].T))


class Table(nn.Module):
    """A table of relative positions of two heads."""

    def __init__(self, start=None):
        super().__init__()
        self.t, self.q, self.o = nn.Parameter(torch.rand(9, 2) - 0.5 if start is None else torch.full((9, 2), start)), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        q = self.q(x).view(-1, 5, 2, 4).transpose(1, 2)
        i = torch.arange(5)
        bias = self.t[(i[:, None] - i[None] + 4).view(-1)].view(5, 5, 2).permute(2, 0, 1)
        y = torch.softmax(q @ q.mT + bias, -1) @ q
        return self.o(y.transpose(1, 2).reshape(-1, 5, 8)).mean(1)


class Rotated(nn.Module):
    """Four rotations of a kernel."""

    def __init__(self):
        super().__init__()
        self.k, self.o = nn.Parameter(torch.rand(2, 1, 3, 3) - 0.5), nn.Linear(2, 3)

    def forward(self, x):
        y = sum(torch.tanh(F.conv2d(x, torch.rot90(self.k, r, (2, 3)))) for r in range(4))
        return self.o(y.mean((2, 3)))


class Function(nn.Module):
    """Of one parameter."""

    def __init__(self, function, start):
        super().__init__()
        self.function, self.w, self.o = function, nn.Parameter(start), nn.Linear(8, 3)

    def forward(self, x):
        return self.o(torch.tanh(self.function(x, self.w)))


class Attention(nn.Module):
    """Nothing is there twice: one matrix in three pieces, biases of zeros."""

    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(32, 4, batch_first=True)
        self.f, self.g, self.n, self.o = nn.Linear(32, 32), nn.Linear(32, 32), nn.LayerNorm(32), nn.Linear(32, 3)
        nn.init.uniform_(self.a.out_proj.bias)

    def forward(self, x):
        x = self.n(x + self.a(x, x, x, need_weights=False)[0])
        return self.o(torch.tanh(self.g(torch.tanh(self.f(x))))).mean(1)


def case(name, module, *shape, says=("! note:",), told=True, **options):
    x, y = torch.rand(12, *shape) - 0.5, torch.randint(0, 3, (12,))
    file = io.BytesIO()
    module.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x[:4],), file, dynamo=True, verbose=False, input_names=["x"], dynamic_shapes=({0: torch.export.Dim("batch")},), **options)
    model = onnx.load_from_string(file.getvalue())
    for node in model.graph.node:  # where the program stands on the machine that exports it
        kept = [entry for entry in node.metadata_props if not entry.key.endswith("stack_trace")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    optimizer, losses = torch.optim.SGD(module.parameters(), lr=0.5), []
    for step in range(6):
        rows = slice(4 * step % 12, 4 * step % 12 + 4)
        loss = F.cross_entropy(module(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    # The second run reads what the first has written: equal numbers are still equal in the file.
    command = "train {} --input x.npy --target y.npy --loss cross_entropy --batch 4 --optimizer sgd --lr 0.5 --no-shuffle --threads 1 --log-json log.json --steps 3 --out {}"
    write_case(__file__, name, model, {"x": x, "y": y}, [command.format("model.onnx", "half.onnx"), command.format("half.onnx", "out.onnx")],
               losses[3:] if told else None, says)


UNTOLD = ("the exporter may have written numbers of one parameter in several places", "optimize=False")
case("layer_applied_three_times", Shared(), 5, 36)
case("whole_and_part", Part(), 8)
case("circulant", Circulant(), 8)
case("padded", Padded(), 8)
case("symmetric_sum", Symmetric(), 8, says=("note:", "optimize=False"), told=False)
case("symmetric_looked_up", Looked(), 8)
case("query_in_two_places", Queries(), 8)
case("relative_positions", Table(), 5, 8)
case("relative_positions_of_zeros", Table(0.0), 5, 8, says=UNTOLD, told=False)
case("kernel_rotated", Rotated(), 1, 6, 6)
case("stacked", Function(lambda x, w: x @ torch.stack([w, w]).reshape(8, 8), torch.rand(4, 8) - 0.5), 8)
case("repeated", Function(lambda x, w: x @ w.repeat_interleave(2, 0), torch.rand(4, 8) - 0.5), 8)
case("scale_used_again", Function(lambda x, w: torch.tanh(x * w[None]) * w[None], torch.ones(8)), 8)
case("started_as_one", Function(lambda x, w: torch.tanh(x @ w.T) @ w.T, torch.eye(8)), 8)
case("slices_of_zeros", Function(lambda x, w: torch.tanh(x + w[:8]) + w[8:], torch.zeros(16)), 8, says=UNTOLD, told=False)
case("slices_that_overlap", Function(lambda x, w: torch.tanh(x @ w[:8]) @ w[4:], torch.rand(12, 8) - 0.5), 8, says=UNTOLD, told=False)
case("attention", Attention(), 5, 32)


class Several(nn.Module):
    """Of several parameters."""

    def __init__(self, function, **starts):
        super().__init__()
        self.function, self.o = function, nn.Linear(8, 3)
        for key, start in starts.items():
            setattr(self, key, nn.Parameter(start))

    def forward(self, x):
        return self.o(torch.tanh(self.function(x, self)))


rows = lambda n: torch.rand(n, 8) - 0.5
COMPUTED = ("the exporter has computed 1 tensor from parameters", "optimize=False")
case("complement", Function(lambda x, w: torch.tanh(x) * w + x * (1 - w), torch.rand(8)), 8, says=UNTOLD, told=False)
case("complement_of_one", Function(lambda x, w: torch.tanh(x) * w + x * (1 - w), torch.ones(8)), 8, says=UNTOLD, told=False)
case("complement_alone", Function(lambda x, w: torch.tanh(x * (1 - w)) * (1 - w), torch.rand(8)), 8)
case("shifted_slices", Function(lambda x, w: torch.tanh(x * (1 + w[:8])) * w[8:], torch.rand(16)), 8)
case("slices_with_one_number_in_common", Function(lambda x, w: torch.tanh(x + w[:8]) * w[7:], torch.rand(15)), 8, says=UNTOLD, told=False)
case("slices_with_two_numbers_in_common", Function(lambda x, w: torch.tanh(x + w[:8]) * w[6:], torch.rand(14)), 8, says=UNTOLD, told=False)
case("long_slices_that_touch", Function(lambda x, w: (torch.tanh(x.repeat(1, 125) * w[:1000]) * w[999:]).view(-1, 125, 8).sum(1), torch.rand(1999) - 0.5), 8, says=UNTOLD, told=False)
case("slices_apart", Function(lambda x, w: torch.tanh(x + w[:8]) * w[8:], torch.rand(16)), 8)
case("number_of_a_vector_and_the_rest", Function(lambda x, w: torch.tanh(x * w[0]) * w[1:], torch.rand(9)), 8)
case("number_of_a_vector_and_the_whole", Function(lambda x, w: torch.tanh(x * w[0]) * w, torch.rand(8)), 8, says=UNTOLD, told=False)
case("joined_with_itself", Function(lambda x, w: x @ torch.cat([w, w]), rows(4)), 8, says=COMPUTED, told=False)
case("blocks", Several(lambda x, s: x @ torch.cat([torch.cat([s.a, s.b], 1), torch.cat([s.b, s.a], 1)]), a=rows(4)[:, :4], b=rows(4)[:, :4]), 8, says=UNTOLD, told=False)
case("joined_twice_in_one", Several(lambda x, s: x * torch.cat([s.a, s.b, s.a]), a=torch.rand(3), b=torch.rand(2)), 8, says=UNTOLD, told=False)
case("joined_in_two_orders", Several(lambda x, s: torch.tanh(x @ torch.cat([s.a, s.b])) @ torch.cat([s.b, s.a]), a=rows(4), b=rows(4)), 8, says=UNTOLD, told=False)
case("joined_and_alone", Several(lambda x, s: torch.tanh(x @ torch.cat([s.a, s.b]))[:, :4] @ s.a, a=rows(4), b=rows(4)), 8, says=UNTOLD, told=False)
case("joined_with_zeros", Several(lambda x, s: x + torch.cat([s.a, torch.zeros(2), s.b]), a=torch.rand(3), b=torch.rand(3)), 8, says=COMPUTED, told=False)
case("blocks_on_a_diagonal", Several(lambda x, s: x @ torch.block_diag(s.a, s.b), a=rows(4)[:, :4], b=rows(4)[:, :4]), 8, says=COMPUTED, told=False)
case("joined", Several(lambda x, s: x @ torch.cat([s.a, s.b]), a=rows(4), b=rows(4)), 8)
case("joined_biases_of_zeros", Several(lambda x, s: x + torch.cat([s.a, s.b]), a=torch.zeros(4), b=torch.zeros(4)), 8)
case("joined_slices", Several(lambda x, s: torch.tanh(x @ torch.cat([s.a[:4], s.b[:4]])) @ torch.cat([s.a[4:], s.b[4:]]), a=rows(8), b=rows(8)), 8)
