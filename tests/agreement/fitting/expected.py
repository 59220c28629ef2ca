#!/usr/bin/env python3
"""Writes what PyTorch computes for the options that say how a model is fitted, for fitting_test.sh to compare.

    python3 tests/agreement/fitting/expected.py

Needs torch, onnx and numpy (versions used last: tests/agreement/golden/requirements.txt); the test needs none of them. The network
is tests/agreement/golden/mlp, in double precision. Beside this script it writes

    weights.npy     a weight for each of the 10 classes
    ignored.npy     the targets of the golden run, some of which are -100
    noisy.npy       the same, of whose validation every fourth is wrong, so that its loss rises in the end
    nll.onnx        the network with LogSoftmax behind it
    expected.txt    for each case a line `case NAME OPTIONS...`, then `loss STEP VALUE` for every step, before its update,
                    and `val STEP VALUE` after every epoch; the last of these lines may be `best STEP VALUE`
"""

import math
import pathlib

import numpy
import onnx
import onnx.helper
import onnx.numpy_helper
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
MLP = HERE.parent / "golden" / "mlp"
BATCH, TRAINED, SAMPLES, EPOCHS = 24, 128, 192, 3  # the last step of an epoch has 8 samples
WEIGHTS = [0.2, 1.5, 1, 3, 0, 0.7, 2, 1, 0.5, 1.2]


def files():
    target = numpy.load(MLP / "target.npy")
    numpy.save(HERE / "weights.npy", numpy.array(WEIGHTS))
    ignored = target.copy()
    ignored[::5] = -100
    numpy.save(HERE / "ignored.npy", ignored)
    noisy = target.copy()
    noisy[TRAINED::4] = (noisy[TRAINED::4] + 1) % 10
    numpy.save(HERE / "noisy.npy", noisy)
    model = onnx.load(MLP / "model.onnx")
    model.graph.node.append(onnx.helper.make_node("LogSoftmax", ["logits"], ["log_probabilities"], axis=1))
    model.graph.output[0].name = "log_probabilities"
    onnx.save(model, HERE / "nll.onnx")
    return target, ignored, noisy


def parameters():
    model = onnx.load(MLP / "model.onnx")
    arrays = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
    return {name: torch.tensor(array, dtype=torch.float64, requires_grad=True) for name, array in arrays.items()}


def forward(p, x):
    hidden = torch.relu(F.linear(x, p["fc1.weight"], p["fc1.bias"]))
    hidden = torch.tanh(F.linear(hidden, p["fc2.weight"], p["fc2.bias"]))
    return F.linear(hidden, p["fc3.weight"], p["fc3.bias"])


def loss_of(output, target, weighted=False, smoothing=0.0, nll=False):
    weight = torch.tensor(WEIGHTS, dtype=torch.float64) if weighted else None
    if nll:
        return F.nll_loss(F.log_softmax(output, 1), target, weight=weight)
    return F.cross_entropy(output, target, weight=weight, label_smoothing=smoothing)


def scheduled(step, steps, warmup):
    if step <= warmup:
        return step / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def record(out, name, options, target, optimizer, warmup=None, epochs=EPOCHS, best=False, **loss):
    x, target = torch.tensor(numpy.load(MLP / "input.npy"), dtype=torch.float64), torch.tensor(target)
    p = parameters()
    optimizer = optimizer(p)
    steps = epochs * math.ceil(TRAINED / BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: scheduled(k + 1, steps, warmup) if warmup else 1)
    found, step = (math.inf, 0), 0
    out.append(f"case {name} {options} --epochs {epochs}")
    for _ in range(epochs):
        for first in range(0, TRAINED, BATCH):
            rows = slice(first, min(first + BATCH, TRAINED))
            step += 1
            optimizer.zero_grad()
            value = loss_of(forward(p, x[rows]), target[rows], **loss)
            out.append(f"loss {step} {value.item():.9g}")
            value.backward()
            optimizer.step()
            schedule.step()
        with torch.no_grad():
            value = loss_of(forward(p, x[TRAINED:]), target[TRAINED:], **loss).item()
        out.append(f"val {step} {value:.9g}")
        found = min(found, (value, step))
    if best:
        out.append(f"best {found[1]} {found[0]:.9g}")


def sgd(p):
    return torch.optim.SGD(p.values(), lr=0.1)


def losses(out, target, ignored):
    weights, rate = "--class-weights weights.npy", "--optimizer sgd --lr 0.1"
    record(out, "weighted", f"--loss cross_entropy {weights} {rate}", target, sgd, weighted=True)
    record(out, "smoothed", f"--loss cross_entropy --label-smoothing 0.1 {rate}", target, sgd, smoothing=0.1)
    both = f"--loss cross_entropy {weights} --label-smoothing 0.2 {rate}"
    record(out, "smoothed_weighted", both, target, sgd, weighted=True, smoothing=0.2)
    record(out, "smoothed_weighted_ignored", f"--target ignored.npy {both}", ignored, sgd, weighted=True, smoothing=0.2)
    record(out, "nll_weighted", f"--loss nll {weights} {rate}", target, sgd, weighted=True, nll=True)


def rates(out, target):
    """The rate of each group, first match wins: the head, then all other biases, then the rest."""
    makers = {
        "sgd": lambda groups: torch.optim.SGD(groups, lr=0.02, momentum=0.9, weight_decay=0.01),
        "adam": lambda groups: torch.optim.Adam(groups, lr=0.02, weight_decay=0.01),
        "adamw": lambda groups: torch.optim.AdamW(groups, lr=0.02, weight_decay=0.01),
        "adagrad": lambda groups: torch.optim.Adagrad(groups, lr=0.02, weight_decay=0.01),
        "rmsprop": lambda groups: torch.optim.RMSprop(groups, lr=0.02, momentum=0.9, weight_decay=0.01),
    }
    for name, make in makers.items():
        momentum = " --momentum 0.9" if name in ("sgd", "rmsprop") else ""
        scale = 0.1 if name == "rmsprop" else 1  # of its rates: momentum makes its steps ten times as long

        def optimizer(p, make=make, scale=scale):
            head = [v for n, v in p.items() if n.startswith("fc3")]
            biases = [v for n, v in p.items() if n.endswith("bias") and not n.startswith("fc3")]
            rest = [v for n, v in p.items() if not n.endswith("bias") and not n.startswith("fc3")]
            groups = make([{"params": head, "lr": 0.05 * scale}, {"params": biases, "lr": 0.001 * scale}, {"params": rest, "lr": 0.02 * scale}])
            return groups

        options = f"--loss cross_entropy --optimizer {name}{momentum} --lr {0.02 * scale:g} --weight-decay 0.01 --lr-of fc3*={0.05 * scale:g} --lr-of *.bias={0.001 * scale:g} --lr-schedule cosine --warmup 4"
        record(out, f"rates_{name}", options, target, optimizer, warmup=4)


def best(out, target):
    adam = lambda p: torch.optim.Adam(p.values(), lr=0.01)
    options = "--target noisy.npy --loss cross_entropy --optimizer adam --lr 0.01"
    record(out, "best", options, target, adam, epochs=9, best=True)


def main():
    torch.set_num_threads(1)
    target, ignored, noisy = files()
    out = []
    losses(out, target, ignored)
    rates(out, target)
    best(out, noisy)
    (HERE / "expected.txt").write_text("\n".join(out) + "\n")


main()
