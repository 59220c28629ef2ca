"""Attention of which some rows are masked whole: by a finite number the softmax is even there, by -inf PyTorch's exporters write
zeros. And losses of logits that lie far from 0. PyTorch 2.15 computes the losses."""
import io
import pathlib
import sys
import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from making import write_case  # noqa: E402

functional = torch.nn.functional
BATCH, STEPS, POSITIONS, WIDTH, HEADS = 4, 3, 6, 8, 2


class Attention(torch.nn.Module):
    """`way`: a mask that is added, one in the place of scores ("chosen"), that one behind a causal one ("twice"), an added one behind
    that ("both"), or scaled_dot_product_attention; `fill` of masked pairs."""

    def __init__(self, way, fill, causal=False):
        super().__init__()
        self.way, self.fill, self.causal = way, fill, causal
        self.q, self.k, self.v, self.o = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x, m):
        def heads(y):
            return y.view(-1, POSITIONS, HEADS, WIDTH // HEADS).transpose(1, 2)

        q, k, v = heads(self.q(x)), heads(self.k(x)), heads(self.v(x))
        shown = m.view(-1, 1, 1, POSITIONS)
        if self.causal:
            shown = shown * torch.tril(torch.ones(1, 1, POSITIONS, POSITIONS))
        added = (1 - shown) * self.fill if self.fill != float("-inf") else None
        if self.way == "manual":
            scores = q @ k.transpose(2, 3) / (WIDTH // HEADS) ** 0.5
            scores = scores + added if added is not None else scores.masked_fill(shown == 0, self.fill)
            y = torch.softmax(scores, -1) @ v
        elif self.way != "sdpa":
            scores = q @ k.transpose(2, 3) / (WIDTH // HEADS) ** 0.5
            if self.way != "chosen":
                scores = scores.masked_fill(torch.tril(torch.ones(1, 1, POSITIONS, POSITIONS)) == 0, self.fill)
            scores = scores + added if self.way == "both" else scores.masked_fill(shown == 0, self.fill)
            y = torch.softmax(scores, -1) @ v
        else:
            y = functional.scaled_dot_product_attention(q, k, v, attn_mask=added if added is not None else shown > 0)
        return self.o(y.transpose(1, 2).reshape(-1, POSITIONS, WIDTH))


class Classifier(torch.nn.Module):
    """Logits of a hidden set of classes: masked whole in some rows."""

    def __init__(self, fill):
        super().__init__()
        self.fill, self.body, self.head = fill, torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, 5)

    def forward(self, x, m):
        return self.head(torch.tanh(self.body(x))) + (1 - m) * self.fill


def export(module, inputs, dynamo):
    file = io.BytesIO()
    names = ["x", "m"][:len(inputs)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dynamo:
            torch.onnx.export(module, inputs, dynamo=True, opset_version=18, input_names=names, verbose=False).save(file)
        else:
            torch.onnx.export(module, inputs, file, dynamo=False, opset_version=17, input_names=names)
    return file.getvalue()


def losses_of(module, inputs, target, loss_function, rate):
    optimizer = torch.optim.SGD(module.parameters(), rate)
    losses = []
    for _ in range(STEPS):
        with sdpa_kernel(SDPBackend.MATH):  # the one whose formula is exported: others differ where a boolean mask hides a row
            loss = loss_function(module(*inputs), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def case(name, module, inputs, target, loss, loss_function, dynamo=True, rate=1.0, extra="", tolerance=None):
    model = export(module, inputs, dynamo)
    command = (f"train model.onnx --input x=x.npy --input m=m.npy --target t.npy --loss {loss} --optimizer sgd --lr {rate} "
               f"--batch {BATCH} --steps {STEPS} --no-shuffle --threads 1 --log-json log.json{extra}")
    arrays = {"x": inputs[0].numpy(), "m": inputs[1].numpy(), "t": target.numpy()}
    write_case(__file__, name, model, arrays, command, losses_of(module, inputs, target, loss_function, rate), tolerance=tolerance)


def attention(name, way, fill, hidden, causal=False, dynamo=True, **more):
    torch.manual_seed(4)
    x, m = torch.randn(BATCH, POSITIONS, WIDTH), torch.ones(BATCH, POSITIONS)
    for row, keys in hidden:
        m[row, keys] = 0
    target = torch.randn(BATCH, POSITIONS, WIDTH)
    case(name, Attention(way, fill, causal), (x, m), target, "mse", functional.mse_loss, dynamo, **more)


ALL, LEFT = slice(None), slice(0, 3)
LEAST = torch.finfo(torch.float32).min
attention("sdpa_least", "sdpa", LEAST, [(1, ALL), (2, LEFT)])
attention("sdpa_1e9", "sdpa", -1e9, [(0, ALL), (3, ALL)])
attention("manual_least", "manual", LEAST, [(1, ALL)])
attention("manual_1e9_traced", "manual", -1e9, [(1, ALL), (2, LEFT)], dynamo=False)
attention("manual_10000", "manual", -10000., [(1, ALL), (2, LEFT)], tolerance=2e-5)
attention("manual_65504", "manual", -65504., [(1, ALL), (3, LEFT)])
attention("causal_left_padded", "sdpa", LEAST, [(0, LEFT), (2, slice(0, 5))], causal=True)
attention("causal_left_padded_manual", "manual", -1e9, [(0, LEFT), (2, slice(0, 5))], causal=True, dynamo=False)
attention("boolean_left_padded", "sdpa", float("-inf"), [(1, LEFT), (2, slice(4, 6))])
attention("chosen_whole", "manual", float("-inf"), [(2, LEFT)])
attention("chosen_1e9", "chosen", -1e9, [(1, ALL), (2, LEFT)])
attention("chosen_least_causal", "chosen", LEAST, [(1, ALL), (2, LEFT)], causal=True)
attention("chosen_10000", "chosen", -10000., [(1, ALL)])
attention("chosen_twice", "twice", LEAST, [(1, ALL), (2, LEFT)])
attention("chosen_then_added", "both", LEAST, [(1, LEFT), (2, slice(0, 5))])
attention("partly_hidden", "sdpa", -1e9, [(1, LEFT), (2, slice(4, 6))])


def classifier(name, fill, loss, loss_function, extra="", dynamo=True):
    torch.manual_seed(5)
    x, m = torch.randn(BATCH, WIDTH), torch.ones(BATCH, 5)
    m[0], m[2, 1:3] = 0, 0
    target = torch.tensor([1, 4, 0, 2])
    case(name, Classifier(fill), (x, m), target, loss, loss_function, extra=extra, dynamo=dynamo)


class Graph(Classifier):
    """The loss is the model's own output."""

    def forward(self, x, m, t=None):
        return functional.log_softmax(super().forward(x, m), 1)


def log_softmax_case(name, fill):
    torch.manual_seed(6)
    x, m = torch.randn(BATCH, WIDTH), torch.ones(BATCH, 5)
    m[0], m[2, 1:3] = 0, 0
    case(name, Graph(fill), (x, m), torch.tensor([1, 4, 0, 2]), "nll", functional.nll_loss)


def smoothed(y, t):
    return functional.cross_entropy(y, t, label_smoothing=0.1)


classifier("logits_1e9", -1e9, "cross_entropy", functional.cross_entropy)
classifier("logits_5000", -5000., "cross_entropy", functional.cross_entropy)
classifier("logits_5000_traced", -5000., "cross_entropy", functional.cross_entropy, dynamo=False)
log_softmax_case("log_softmax_1e9", -1e9)
