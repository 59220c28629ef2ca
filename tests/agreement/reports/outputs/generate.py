"""Several outputs, of which more than one fits the targets."""
import io
import pathlib
import sys

import numpy
import onnx
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from making import write_case

RATE = 0.1


class Net(nn.Module):
    """Layers by name, and the outputs that `forward` makes of them."""

    def __init__(self, outputs, **layers):
        super().__init__()
        self.outputs = outputs
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, x):
        return self.outputs(self, x)


def export(module, x, names):
    buffer = io.BytesIO()
    torch.onnx.export(module.eval(), torch.tensor(x[:2]), buffer, input_names=["x"], output_names=names, opset_version=17,
                      dynamic_axes={"x": {0: "N"}, **{name: {0: "N"} for name in names}}, dynamo=False)
    return onnx.load_from_string(buffer.getvalue())


def main():
    torch.manual_seed(12)
    generator = numpy.random.default_rng(12)
    x = generator.normal(size=(8, 6)).astype("f")
    classes = generator.integers(0, 4, 8)
    values = generator.normal(size=(8, 4)).astype("f")
    words = {"cross_entropy": nn.functional.cross_entropy, "mse": nn.functional.mse_loss, "nll": nn.functional.nll_loss}

    def case(name, module, names, y, says, options="", word="cross_entropy", taken=0, code=0, trained=None):
        model = export(module, x, names)
        losses = None
        if code == 0:
            optimizer = torch.optim.SGD([p for n, p in module.named_parameters() if trained is None or trained(n)], lr=RATE)
            losses = []
            for begin in (0, 4, 0, 4):
                loss = words[word](module(torch.tensor(x[begin:begin + 4]))[taken], torch.tensor(y[begin:begin + 4]))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        write_case(__file__, name, model, {"x": x, "y": y},
                   f"train model.onnx --input x.npy --target y.npy --loss {word} --optimizer sgd --lr {RATE} --no-shuffle --threads 1 --epochs 2 --batch 4 "
                   "--log-json log.json " + options, losses, says, code, 2e-5)

    heads = dict(body=nn.Linear(6, 5), one=nn.Linear(5, 4), two=nn.Linear(5, 4))

    def both(net, x):
        hidden = net.body(x).relu()
        return net.one(hidden), net.two(hidden)

    def note(first, count, other):
        return (f"note: the loss is taken of the first output, '{first}', and the targets fit {count} other{'' if count == 1 else 's'} as well, "
                f"first '{other}', which the loss leaves out; --loss-output '{first}' or --loss-output '{other}' says which")

    two = Net(both, **heads)
    case("boxes_and_classes", two, ["boxes", "classes"], classes, [note("boxes", 1, "classes")])
    case("boxes_and_classes_strict", two, ["boxes", "classes"], classes, ["--strict: the loss is taken of the first output, 'boxes'"], "--strict", code=3)
    case("boxes_and_classes_by_name", two, ["boxes", "classes"], classes, ["! note:"], "--loss-output classes", taken=1)
    case("boxes_and_classes_by_first_name", two, ["boxes", "classes"], classes, ["! note:"], "--loss-output boxes --strict")
    case("two_regressions", two, ["mean", "scale"], values, [note("mean", 1, "scale")], word="mse")
    case("other_numbers_of_classes", Net(both, body=nn.Linear(6, 5), one=nn.Linear(5, 7), two=nn.Linear(5, 4)), ["fine", "coarse"], classes,
         [note("fine", 1, "coarse")])

    def auxiliary(net, x):
        hidden = net.body(x).relu()
        return net.two(net.more(hidden).relu()), net.one(hidden)

    case("auxiliary_classifier", Net(auxiliary, more=nn.Linear(5, 5), **heads), ["logits", "auxiliary"], classes, [note("logits", 1, "auxiliary")])

    def start_and_end(net, x):
        return net.one(net.body(x).relu()).split(2, dim=-1)

    pairs = values[:, :2]
    case("start_and_end_of_one_layer", Net(start_and_end, body=nn.Linear(6, 5), one=nn.Linear(5, 4)), ["start", "end"], pairs,
         [note("start", 1, "end")], word="mse")

    def three(net, x):
        hidden = net.body(x).relu()
        return net.one(hidden), net.two(hidden), net.three(hidden)

    case("three_heads", Net(three, three=nn.Linear(5, 4), **heads), ["a", "b", "c"], classes, [note("a", 2, "b")])

    # One output alone is meant.
    def with_probabilities(net, x):
        logits = net.one(net.body(x).relu())
        return logits, logits.softmax(-1)

    one = dict(body=nn.Linear(6, 5), one=nn.Linear(5, 4))
    case("logits_and_probabilities", Net(with_probabilities, **one), ["logits", "probabilities"], classes, ["! note:"])

    def log_and_plain(net, x):
        logits = net.one(net.body(x).relu())
        return logits.log_softmax(-1), logits.softmax(-1)

    case("two_forms_of_the_same_logits", Net(log_and_plain, **one), ["logarithms", "probabilities"], classes, ["! note:"], word="nll")

    def with_features(net, x):
        hidden = net.body(x).relu()
        return net.one(hidden), hidden

    case("logits_and_features", Net(with_features, **one), ["logits", "features"], classes, ["! note:"])

    def with_value(net, x):
        hidden = net.body(x).relu()
        return net.one(hidden), net.two(hidden).mean(-1)

    case("an_output_of_another_shape", Net(with_value, **heads), ["logits", "value"], classes, ["! note:"])
    case("another_number_of_values", Net(both, body=nn.Linear(6, 5), one=nn.Linear(5, 4), two=nn.Linear(5, 3)), ["four", "three"], values, ["! note:"],
         word="mse")

    def value_first(net, x):
        hidden = net.body(x).relu()
        return net.two(hidden).mean(-1), net.one(hidden)

    case("first_output_does_not_fit", Net(value_first, **heads), ["value", "logits"], classes,
         ["the targets fit 'logits': --loss-output 'logits'"], code=4)

    def with_choice(net, x):
        logits = net.one(net.body(x).relu())
        return logits, logits.argmax(-1)

    case("logits_and_their_class", Net(with_choice, **one), ["logits", "class"], classes, ["! note:"])

    def teacher(net, x):
        return net.one(net.body(x).relu()), net.teacher(x)

    case("a_frozen_teacher", Net(teacher, teacher=nn.Linear(6, 4), **one), ["student", "teacher"], classes, ["! note:"], "--freeze 'teacher.*'",
         trained=lambda name: not name.startswith("teacher"))

    def transposed(net, x):
        left, right = net.body(x), net.one(net.body(x).relu())
        scores = left @ right.T
        return scores, scores.T

    y = numpy.arange(8) % 4
    case("scores_and_their_transpose", Net(transposed, body=nn.Linear(6, 4), one=nn.Linear(4, 4)), ["by_row", "by_column"], y, ["! note:"])
    # A model's own loss, beside which other numbers stand.
    def own(name, outputs, names, says, **layers):
        module = Net(lambda net, pair: outputs(net, *pair), **layers)

        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = module

            def forward(self, x, y):
                return self.net((x, y))

        both_inputs = Two()
        buffer = io.BytesIO()
        torch.onnx.export(both_inputs.eval(), (torch.tensor(x[:2]), torch.tensor(classes[:2])), buffer, input_names=["x", "y"], output_names=names,
                          opset_version=17, dynamic_axes={"x": {0: "N"}, "y": {0: "N"}}, dynamo=False)
        model = onnx.load_from_string(buffer.getvalue())
        optimizer = torch.optim.SGD(both_inputs.parameters(), lr=RATE)
        losses = []
        for begin in (0, 4, 0, 4):
            loss = both_inputs(torch.tensor(x[begin:begin + 4]), torch.tensor(classes[begin:begin + 4]))[0]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        write_case(__file__, name, model, {"x": x, "y": classes},
                   f"train model.onnx --input x=x.npy --input y=y.npy --loss graph --optimizer sgd --lr {RATE} --no-shuffle --threads 1 --epochs 2 "
                   "--batch 4 --log-json log.json", losses, says, 0, 2e-5)

    def loss_and_accuracy(net, x, y):
        logits = net.one(net.body(x).relu())
        return nn.functional.cross_entropy(logits, y), (logits.argmax(-1) == y).float().mean()

    def loss_and_confidence(net, x, y):
        logits = net.one(net.body(x).relu())
        return nn.functional.cross_entropy(logits, y), logits.softmax(-1).amax(-1).mean()

    def sum_and_parts(net, x, y):
        hidden = net.body(x).relu()
        one, two = nn.functional.cross_entropy(net.one(hidden), y), nn.functional.cross_entropy(net.two(hidden), y)
        return one + two, one, two

    def two_losses(net, x, y):
        hidden = net.body(x).relu()
        return nn.functional.cross_entropy(net.one(hidden), y), nn.functional.cross_entropy(net.two(hidden), y)

    own("own_loss_and_accuracy", loss_and_accuracy, ["loss", "accuracy"], ["! note: the loss is"], **one)
    own("own_loss_and_confidence", loss_and_confidence, ["loss", "confidence"], ["! note: the loss is"], **one)
    own("own_loss_and_its_parts", sum_and_parts, ["loss", "first_part", "second_part"], ["! note: the loss is"], **heads)
    own("two_own_losses", two_losses, ["first_loss", "second_loss"], [note("first_loss", 1, "second_loss")], **heads)

    write_case(__file__, "two_heads_evaluated", export(two, x, ["boxes", "classes"]), {"x": x, "y": classes},
               "eval model.onnx --input x.npy --target y.npy --loss cross_entropy", None, ["! note:"])


main()
