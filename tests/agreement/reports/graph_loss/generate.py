"""The model's own loss (--loss graph) in parts of a batch: micro-batches, stages, replicas, a short last step, evaluation."""
import io
import pathlib
import sys

import numpy
import onnx
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from making import write_case  # noqa: E402

SAMPLES, BATCH, EPOCHS, RATE = 20, 8, 2, 0.1  # the last step of an epoch has four samples
WAYS = ["--micro-batches 2", "--micro-batches 3", "--stages 2", "--stages 2 --micro-batches 4", "--replicas 2",
        "--replicas 2 --micro-batches 2"]


class Net(nn.Module):
    def __init__(self, out=3, features=5):
        super().__init__()
        self.a = nn.Linear(features, 6)
        self.b = nn.Linear(6, out)

    def body(self, x):
        return self.b(torch.tanh(self.a(x)))


class Sum(Net):
    def forward(self, x, t):
        return ((self.body(x) - t) ** 2).sum() * 0.05


class Mean(Net):
    def forward(self, x, t):
        return ((self.body(x) - t) ** 2).mean()


class Ignored(Net):
    def forward(self, x, y):
        return F.cross_entropy(self.body(x), y, ignore_index=-100)


class Weighted(Net):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.tensor([0.2, 1.0, 3.0]))

    def forward(self, x, y):
        return F.cross_entropy(self.body(x), y, weight=self.w, ignore_index=-1)


class LogSoftmaxLoss(Net):
    def forward(self, x, y):
        return F.nll_loss(F.log_softmax(self.body(x), 1), y, ignore_index=2)


class MaskedMean(Net):
    def forward(self, x, t, mask):
        return (mask * (self.body(x) - t) ** 2).sum() / mask.sum()


class Tokens(Net):
    """Labels of tokens, some of them padding."""

    def forward(self, x, y):
        return F.cross_entropy(self.body(x).flatten(0, 1), y.flatten(), ignore_index=-100)


class Focal(Net):
    """CenterNet's: divided by the number of positives, by nothing where there are none."""

    def forward(self, x, t):
        p = torch.sigmoid(self.body(x)).clamp(1e-4, 1 - 1e-4)
        positive = t.eq(1).float()
        of_positive = (torch.log(p) * (1 - p) ** 2 * positive).sum()
        of_negative = (torch.log(1 - p) * p ** 2 * (1 - t) ** 4 * (1 - positive)).sum()
        count = positive.sum()
        return torch.where(count > 0, -(of_positive + of_negative) / count.clamp(min=1), -of_negative)


class MeanAndSum(Net):
    def forward(self, x, t):
        e = (self.body(x) - t) ** 2
        return e.mean() + 0.1 * e.abs().sum()


class Regularised(Net):
    """A term of the weights alone beside a mean, and one beside a sum."""

    def forward(self, x, t):
        decay = (self.a.weight ** 2).sum() + (self.b.weight ** 2).sum()
        return F.mse_loss(self.body(x), t) + 0.01 * decay


class RegularisedSum(Net):
    def forward(self, x, t):
        return 0.05 * ((self.body(x) - t) ** 2).sum() + 0.01 * (self.a.weight ** 2).sum()


class Lengths(Net):
    """A mean over samples of sums over as many places as each sample has."""

    def forward(self, x, t, length):
        places = torch.arange(t.shape[1])[None] < length[:, None]
        each = ((self.body(x) - t) ** 2 * places).sum(1) / length
        return each.mean()


class TwoCounts(Net):
    def forward(self, x, y, t, mask):
        z = self.body(x)
        return F.cross_entropy(z, y) + 0.5 * (mask * (z - t) ** 2).sum() / mask.sum().clamp(min=1)


class ByBatchSize(Net):
    def forward(self, x, t):
        return ((self.body(x) - t) ** 2).sum() / (2 * x.shape[0])


class EachByBatchSize(Net):
    def forward(self, x, t):
        return ((self.body(x) - t) ** 2 / x.shape[0]).sum()


class ByRootOfBatchSize(Net):
    def forward(self, x, t):
        return ((self.body(x) - t) ** 2).sum() / x.shape[0] ** 0.5


class OneElement(Net):
    def forward(self, x, t):
        return ((self.body(x) - t) ** 2).sum().reshape(1) * 0.05


class LastToken(Net):
    """What a classifier of sequences takes: the last token of each, by the number of its sample."""

    def forward(self, x, y, last):
        z = self.body(x)
        return F.cross_entropy(z[torch.arange(x.shape[0]), last], y)


class LastTokenTraced(LastToken):
    """By the older exporter: the place in all tokens of the batch."""

    traced = True


class FocalTraced(Focal):
    traced = True


class ByBatchSizeTraced(ByBatchSize):
    traced = True


class Balanced(Net):
    """Labels are weighted by how often their class is in the batch."""

    def forward(self, x, y):
        hot = F.one_hot(y, 3).float()
        weight = (1 / (hot.sum(0) + 1))[y]
        return (weight * F.cross_entropy(self.body(x), y, reduction="none")).mean()


class BalancedTraced(Balanced):
    traced = True


class Standardised(Net):
    """The targets are put in units of their spread over the batch, which no weight changes."""

    def forward(self, x, t):
        mean = t.mean(0)
        square = (t * t).mean(0)
        return F.mse_loss(self.body(x), (t - mean) / (square - mean * mean + 0.1).sqrt())


class Negatives(Net):
    def forward(self, x, t):
        a, b = F.normalize(self.body(x), dim=1), F.normalize(t, dim=1)
        return F.cross_entropy(a @ b.T * 4, torch.arange(x.shape[0]))


class HardTriplets(Net):
    def forward(self, x, y):
        z = self.body(x)
        distance = ((z[:, None] - z[None]) ** 2).sum(2)
        same = (y[:, None] == y[None]).float()
        return F.relu((distance * same).amax(1) - (distance + 9 * same).amin(1) + 0.3).mean()


class OwnCount(Net):
    """Divided by a sum of what the weights make."""

    def forward(self, x, t):
        z = self.body(x)
        w = torch.sigmoid(z)
        return (w * (z - t) ** 2).sum() / w.sum()


class Spread(Net):
    def forward(self, x, t):
        z = self.body(x)
        return F.mse_loss(z, t) + 0.1 * F.relu(1 - z.var(0).add(1e-4).sqrt()).mean()


class Root(Net):
    def forward(self, x, t):
        return ((self.body(x) - t) ** 2).mean().sqrt()


class HardestExample(Net):
    def forward(self, x, t):
        return ((self.body(x) - t) ** 2).mean(1).amax(0)


class HardMine(Net):
    """The five worst samples of a batch: a part of four has no such shape."""

    samples = 2 * BATCH

    def forward(self, x, t):
        return ((self.body(x) - t) ** 2).mean(1).topk(5).values.mean()


class PickedSamples(Net):
    """Three samples by their places, of which a part of four has two."""

    samples = 2 * BATCH

    def forward(self, x, t):
        return ((self.body(x) - t) ** 2).mean(1).index_select(0, torch.tensor([0, 3, 6])).mean()


class AlongBatch(Net):
    def forward(self, x, y):
        return F.nll_loss(F.log_softmax(F.softmax(self.body(x), 0), 1), y)


def arrays_for(model):
    g = numpy.random.default_rng(7)
    x = g.normal(size=(SAMPLES, 5)).astype("float32")
    t = g.normal(size=(SAMPLES, 3)).astype("float32")
    y = g.integers(0, 3, SAMPLES)
    mask = (g.random((SAMPLES, 3)) < 0.4).astype("float32")
    mask[:4] = [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]  # a part of them counts nothing
    if isinstance(model, (Ignored,)):
        y[[1, 2, 3, 9, 12, 16, 17]] = -100
    if isinstance(model, (Weighted,)):
        y[[0, 1, 5, 18]] = -1
    if isinstance(model, (Tokens, LastToken)):
        x = g.normal(size=(SAMPLES, 4, 5)).astype("float32")
    if isinstance(model, Tokens):
        y = g.integers(0, 3, (SAMPLES, 4))
        y[numpy.arange(4)[None] >= g.integers(0, 5, SAMPLES)[:, None]] = -100
    if isinstance(model, Focal):
        t = g.random((SAMPLES, 3)).astype("float32")
        t[[0, 5, 6, 13], [1, 2, 0, 1]] = 1  # none among the last four
    full = {"x": x, "t": t, "y": y, "mask": mask, "length": g.integers(1, 4, SAMPLES).astype("float32"),
            "last": g.integers(0, 4, SAMPLES)}
    names = model.forward.__code__.co_varnames[1:model.forward.__code__.co_argcount]
    return {name: full[name][:getattr(model, "samples", SAMPLES)] for name in names}


def export(model, arrays):
    inputs = tuple(torch.tensor(a[:8 if hasattr(model, "samples") else 3]) for a in arrays.values())
    names = {"input_names": list(arrays), "output_names": ["loss"]}
    if getattr(model, "traced", False):
        file = io.BytesIO()
        torch.onnx.export(model, inputs, file, dynamo=False, opset_version=17, dynamic_axes={name: {0: "batch"} for name in arrays}, **names)
        return onnx.load_model_from_string(file.getvalue())
    shapes = {name: {0: torch.export.Dim("batch")} for name in arrays}
    fold = not isinstance(model, (Regularised, RegularisedSum))  # which would lose the squares of weights
    proto = torch.onnx.export(model, inputs, dynamo=True, dynamic_shapes=shapes, verbose=False, optimize=fold, **names).model_proto
    for node in list(proto.graph.node) + [n for f in proto.functions for n in f.node]:
        del node.metadata_props[:]
    return proto


def train(model, arrays, batch=BATCH):
    tensors = [torch.tensor(a) for a in arrays.values()]
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for _ in range(EPOCHS):
        for at in range(0, len(tensors[0]), batch):
            loss = model(*[t[at:at + batch] for t in tensors])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def command(arrays, way, out="o.onnx"):
    inputs = " ".join(f"--input {name}={name}.npy" for name in arrays)
    return (f"train model.onnx {inputs} --loss graph --optimizer sgd --lr {RATE} --batch {BATCH} --epochs {EPOCHS} --no-shuffle "
            f"--threads 1 {way} --log-json one.json --out {out}")


def adds_up(name, make):
    torch.manual_seed(3)
    model = make()
    arrays = arrays_for(model)
    proto = export(model, arrays)
    with torch.no_grad():
        whole = model(*[torch.tensor(a) for a in arrays.values()]).item()
    losses = train(model, arrays)
    inputs = " ".join(f"--input {n}={n}.npy" for n in arrays)
    commands = [command(arrays, way) + " && cat one.json >>log.json" for way in ["--micro-batches 1"] + WAYS]
    # An evaluation over batches gives the loss of all samples.
    commands.append(f"eval model.onnx {inputs} --loss graph --batch 8 --threads 1 >eval.txt; sed -E 's/.*loss ([-0-9.]+).*/\"loss\":\\1,/' "
                    "eval.txt >>log.json")
    write_case(__file__, name, proto, arrays, commands, losses * (1 + len(WAYS)) + [round(whole, 6)], says=["! note:"],
               tolerance=3e-5)


def does_not(name, make, operator):
    """Refused in parts, by the node's name; right in one part, also by default over stages."""
    torch.manual_seed(3)
    model = make()
    arrays = arrays_for(model)
    proto = export(model, arrays)
    losses = train(model, arrays)
    ways = ("--micro-batches 2", "--micro-batches 3", "--replicas 2", "--stages 2 --micro-batches 2")
    refused = [command(arrays, way) + "; echo code $?" for way in ways]
    right = [command(arrays, way) + " && cat one.json >>log.json" for way in ("", "--stages 2")]
    write_case(__file__, name, proto, arrays, refused + right, losses * 2,
               says=["is not put together from the losses of its parts", operator, "--micro-batches 1", "code 3", "! code 2", "! note:"])


def of_fixed_batch(name, make):
    """Exported for four samples, of which a constant in the file is the number: a batch of eight is the mean of two, and that is said."""
    torch.manual_seed(3)
    model = make()
    arrays = {n: a[:16] for n, a in arrays_for(model).items()}
    inputs = tuple(torch.tensor(a[:4]) for a in arrays.values())
    proto = torch.onnx.export(model, inputs, dynamo=True, verbose=False, input_names=list(arrays), output_names=["loss"]).model_proto
    tensors, optimizer, losses = [torch.tensor(a) for a in arrays.values()], torch.optim.SGD(model.parameters(), lr=RATE), []
    with torch.no_grad():
        whole = model(*tensors).item()
    for at in (0, 8):
        loss = model(*[t[at:at + 8] for t in tensors])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    names = " ".join(f"--input {n}={n}.npy" for n in arrays)
    commands = [f"train model.onnx {names} --loss graph --optimizer sgd --lr {RATE} --batch 8 --no-shuffle --threads 1 --log-json log.json --out o.onnx",
                f"eval model.onnx {names} --loss graph --threads 1 >eval.txt; sed -E 's/.*loss ([-0-9.]+).*/\"loss\":\\1,/' eval.txt >>log.json"]
    write_case(__file__, name, proto, arrays, commands, losses + [round(whole, 6)], says=["is taken for their number, 4 in the file"], tolerance=3e-5)


only = sys.argv[1:]  # names of classes; none: all
for kind in (ByBatchSize, EachByBatchSize):
    if not only or "Fixed" in only:
        of_fixed_batch("".join("_" + c.lower() if c.isupper() else c for c in kind.__name__)[1:] + "_of_a_fixed_batch", kind)
for kind in (Sum, Mean, Ignored, Weighted, LogSoftmaxLoss, MaskedMean, Tokens, Focal, MeanAndSum, Regularised, RegularisedSum,
             Lengths, TwoCounts, ByBatchSize, EachByBatchSize, OneElement, LastToken, LastTokenTraced,
             FocalTraced, ByBatchSizeTraced, Balanced, BalancedTraced, Standardised):
    if not only or kind.__name__ in only:
        adds_up("".join("_" + c.lower() if c.isupper() else c for c in kind.__name__)[1:], kind)
for kind, operator in ((Negatives, "MatMul"), (HardTriplets, "Sub"), (OwnCount, "Div"), (Spread, "Sub"), (Root, "Sqrt"),
                       (HardestExample, "ReduceMax"), (HardMine, "TopK"), (PickedSamples, "Gather"), (AlongBatch, "Softmax"), (ByRootOfBatchSize, "Div")):
    if not only or kind.__name__ in only:
        does_not("".join("_" + c.lower() if c.isupper() else c for c in kind.__name__)[1:], kind, operator)
