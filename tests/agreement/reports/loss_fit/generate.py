"""The loss and what it is taken of: nll of logits, binary cross entropy of targets outside of 0 and 1."""
import pathlib
import sys

import numpy
import onnx
import torch
from onnx import TensorProto, helper
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from making import write_case

RAW = "note: --loss nll is for logarithms of probabilities, and output 'out' is what a layer makes"
OUTSIDE = "note: --loss bce_with_logits is for targets from 0 to 1, and "
RATE = 0.05


class Last(nn.Module):
    """A layer, and what stands behind it."""

    def __init__(self, layer, behind):
        super().__init__()
        self.layer, self.behind = layer, behind

    def forward(self, x):
        return self.behind(self.layer(x))


def export(module, x):
    import io
    buffer = io.BytesIO()
    torch.onnx.export(module.eval(), torch.tensor(x[:2]), buffer, input_names=["x"], output_names=["out"], opset_version=17,
                      dynamic_axes={"x": {0: "N"}, "out": {0: "N"}}, dynamo=False)
    return onnx.load_from_string(buffer.getvalue())


def losses_of(module, loss, x, y, batch, epochs=2):
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    losses = []
    for _ in range(epochs):
        for begin in range(0, len(x), batch):
            value = loss(module(torch.tensor(x[begin:begin + batch])), torch.tensor(y[begin:begin + batch]))
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            losses.append(value.item())
    return losses


def main():
    torch.manual_seed(15)
    generator = numpy.random.default_rng(15)
    rows = generator.normal(size=(8, 6)).astype("f")
    images = generator.normal(size=(8, 2, 4, 4)).astype("f")
    sequences = generator.normal(size=(8, 3, 6)).astype("f")
    classes = generator.integers(0, 4, 8)

    def case(name, module, loss, x, y, says, options="--batch 4", word=None, code=0, compare=True):
        model = export(module, x)
        losses = losses_of(module, loss, x, y, 4) if compare else None
        write_case(__file__, name, model, {"x": x, "y": y},
                   f"train model.onnx --input x.npy --target y.npy --loss {word} --optimizer sgd --lr {RATE} --no-shuffle --threads 1 --epochs 2 "
                   "--log-json log.json " + options, losses, says, code, 2e-5)

    nll = nn.functional.nll_loss
    cross_entropy = nn.functional.cross_entropy
    bce = nn.functional.binary_cross_entropy_with_logits

    # Negative log likelihood of what is no logarithm of probabilities.
    for name, layer, behind, x in (
            ("nll_of_a_linear_layer", nn.Linear(6, 4), nn.Identity(), rows),
            ("nll_of_relu", nn.Linear(6, 4), nn.ReLU(), rows),
            ("nll_of_a_layer_norm", nn.Linear(6, 4), nn.LayerNorm(4), rows),
            ("nll_of_scaled_logits", nn.Linear(6, 4), type("Scale", (nn.Module,), {"forward": lambda self, x: x / 1.7})(), rows),
            ("nll_of_pooled_convolution", nn.Conv2d(2, 4, 3), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), images),
            ("nll_of_a_residual", nn.Sequential(nn.Linear(6, 4)), type("Residual", (nn.Module,), {"forward": lambda self, x: x + x.tanh()})(), rows)):
        case(name, Last(layer, behind), nll, x, classes, [RAW, "--loss cross_entropy is for logits"], word="nll")
    case("nll_of_logits_of_every_pixel", Last(nn.Conv2d(2, 4, 1), nn.Upsample(scale_factor=2)), nll, images,
         generator.integers(0, 4, (8, 8, 8)), [RAW], word="nll")
    case("nll_strict", Last(nn.Linear(6, 4), nn.Identity()), nll, rows, classes, ["--strict: --loss nll is for logarithms"], "--strict", "nll", 3, False)
    case("nll_of_probabilities", Last(nn.Linear(6, 4), nn.Softmax(-1)), nll, rows, classes, ["makes probabilities"], word="nll")
    log_sum = type("LogSum", (nn.Module,), {"forward": lambda self, x: x - torch.logsumexp(x, -1, keepdim=True)})
    by_hand = type("ByHand", (nn.Module,), {"forward": lambda self, x: (x.softmax(-1) + 1e-6).log()})
    binary = type("Binary", (nn.Module,), {"forward": lambda self, x: torch.cat([-nn.functional.softplus(x), -nn.functional.softplus(-x)], -1)})
    for name, layer, behind in (("nll_of_log_softmax", nn.Linear(6, 4), nn.LogSoftmax(-1)), ("nll_of_a_difference", nn.Linear(6, 4), log_sum()),
                                ("nll_of_a_logarithm", nn.Linear(6, 4), by_hand())):
        case(name, Last(layer, behind), nll, rows, classes, ["! note:"], word="nll")
    case("nll_of_two_softplus", Last(nn.Linear(6, 1), binary()), nll, rows, classes % 2, ["! note:"], word="nll")
    reshaped = type("Reshaped", (nn.Module,), {"forward": lambda self, x: x.log_softmax(-1).transpose(1, 2)})
    case("nll_of_moved_log_softmax", Last(nn.Linear(6, 4), reshaped()), nll, sequences, generator.integers(0, 4, (8, 3)), ["! note:"], word="nll")
    case("cross_entropy_of_logits", Last(nn.Linear(6, 4), nn.Identity()), cross_entropy, rows, classes, ["! note:"], word="cross_entropy")
    case("cross_entropy_of_log_softmax", Last(nn.Linear(6, 4), nn.LogSoftmax(-1)), cross_entropy, rows, classes, ["! note:"], word="cross_entropy")
    case("cross_entropy_of_probabilities", Last(nn.Linear(6, 4), nn.Softmax(-1)), cross_entropy, rows, classes, ["makes probabilities"],
         word="cross_entropy")

    # Targets of binary cross entropy.
    one, three = Last(nn.Linear(6, 1), nn.Identity()), Last(nn.Linear(6, 3), nn.Identity())
    signs = numpy.where(generator.random((8, 3)) < 0.5, -1, 1).astype("f")
    case("bce_of_signs", three, bce, rows, signs, [OUTSIDE, "4 samples of the first batch have others, first sample 0: -1", "(t + 1) / 2"], word="bce_with_logits")
    twos = numpy.array([[0], [0], [2], [0], [2], [0], [0], [2]], "f")
    case("bce_of_twos", one, bce, rows, twos, [OUTSIDE + "1 sample of the first batch has others, first sample 2: 2"], word="bce_with_logits")
    masks = (generator.random((8, 1, 4, 4)) < 0.3).astype("u1") * 255
    case("bce_of_bytes", Last(nn.Conv2d(2, 1, 1), nn.Identity()), lambda o, y: bce(o, y.float()), images, masks, [OUTSIDE, ": 255"], word="bce_with_logits")
    case("bce_of_class_numbers", one, lambda o, y: bce(o[:, 0], y.float()), rows, classes, [OUTSIDE], word="bce_with_logits", compare=False)
    case("bce_strict", three, bce, rows, signs, ["--strict: --loss bce_with_logits is for targets from 0 to 1"], "--strict", "bce_with_logits", 3, False)
    case("bce_of_zeros_and_ones", one, bce, rows, (twos > 0).astype("f"), ["! note:"], word="bce_with_logits")
    case("bce_of_shares", three, bce, rows, generator.random((8, 3)).astype("f"), ["! note:"], word="bce_with_logits")
    case("bce_of_booleans", one, lambda o, y: bce(o, y.float()), rows, twos > 0, ["! note:"], word="bce_with_logits")
    late = (twos > 0).astype("f")
    late[6] = -1
    case("bce_of_a_late_sign", one, bce, rows, late, ["! note:", "sample 6 has the target -1, and targets of binary cross entropy lie between 0 and 1"],
         word="bce_with_logits", code=4, compare=False)
    case("bce_of_a_late_sign_in_two_stages", Last(nn.Linear(6, 5), nn.Linear(5, 1)), bce, rows, late, ["sample 6 has the target -1"],
         "--stages 2 --batch 4", "bce_with_logits", 4, False)
    case("bce_of_a_late_sign_in_validation", one, bce, rows, late, ["sample 6 has the target -1"], "--val-rows 6: --batch 3", "bce_with_logits", 4, False)
    case("mse_of_signs", three, nn.functional.mse_loss, rows, signs, ["! note:"], word="mse")
    write_case(__file__, "bce_of_signs_evaluated", export(three, rows), {"x": rows, "y": signs},
               "eval model.onnx --input x.npy --target y.npy --loss bce_with_logits", None, ["! note:"])


main()
