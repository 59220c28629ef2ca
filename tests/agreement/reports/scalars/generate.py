"""Single numbers: parameters among the constants of a computation. python3 generate.py"""
import io
import math
import pathlib
import sys
import warnings

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from making import write_case  # noqa: E402

FLAGS = "--batch 4 --optimizer sgd --lr 0.5 --no-shuffle --threads 1 --log-json log.json"
COMMAND = "train model.onnx --input x.npy --target y.npy --loss cross_entropy " + FLAGS
generator = numpy.random.default_rng(3)
torch.manual_seed(3)


def draw(*shape):
    return generator.uniform(-0.5, 0.5, shape).astype(numpy.float32)


X, Y = draw(12, 6), generator.integers(0, 3, 12).astype(numpy.int64)


def train(forward, weights, steps=3, lr=0.5):
    parameters = [torch.tensor(weight, requires_grad=True) for weight in weights]
    losses = []
    for step in range(steps):
        rows = slice(4 * step, 4 * step + 4)
        loss = nn.functional.cross_entropy(forward(torch.tensor(X[rows]), *parameters), torch.tensor(Y[rows]))
        losses.append(loss.item())
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
            parameter.data -= lr * gradient
    return losses


def model_of(nodes, weights):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6])],
                              [helper.make_tensor_value_info("o", TensorProto.FLOAT, ["batch", 3])],
                              [numpy_helper.from_array(numpy.asarray(array, numpy.float32), name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def case(name, model, losses, says, options=""):
    write_case(__file__, name, model, {"x": X, "y": Y}, f"{COMMAND} {options}", losses, says)


def by_hand():
    """Evidence, not spelling: 't' is noted as 'temperature' is, and neither is trained unless it is asked for."""
    w, v = draw(6, 5), draw(5, 3)
    for name in "t", "temperature":
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Tanh", ["a"], ["b"]), helper.make_node("MatMul", ["b", "v"], ["c"]),
                 helper.make_node("Mul", ["c", name], ["o"])]
        model = model_of(nodes, {"w": w, "v": v, name: numpy.float32(1.37)})
        forward = lambda x, w, v, t: torch.tanh(x @ w) @ v * t  # noqa: E731
        case(f"number_{name}", model, train(lambda x, w, v: forward(x, w, v, 1.37), [w, v]), f"1 single number without a shape, first '{name}', may be a parameter: it is not trained")
        case(f"number_{name}_by_name", model, train(forward, [w, v, numpy.float32(1.37)]), "! note:", f"--train '*' --train {name}")
    # Behind an exponential, as CLIP has it, and in a quotient.
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Exp", ["s"], ["e"]), helper.make_node("Mul", ["a", "e"], ["b"]),
             helper.make_node("Div", ["b", "q"], ["o"])]
    case("numbers_of_logits", model_of(nodes, {"w": draw(6, 3), "s": math.log(1 / 0.07), "q": 3.3}), None, "2 single numbers without a shape, first 's'")


def constants():
    """Numbers that sizes give, epsilons, counts, ones, logarithms and those of GELU are no parameters, and nothing is said."""
    w, v = draw(6, 5), draw(5, 3)
    numbers = {"scale": 1 / math.sqrt(6), "root": math.sqrt(5), "d": 6, "count": 1 / 12, "eps": 1e-5, "momentum": 0.9, "one": 1, "minus_one": -1, "two": 2,
               "half": 0.5, "ln2": math.log(2), "log2pi": math.log(2 * math.pi), "k0": 0.044715, "k1": 0.7978845608, "k2": 1.702, "mask": -1e9}
    nodes, last = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Tanh", ["a"], ["h0"])], "h0"
    for i, name in enumerate(numbers):
        operator = "Mul" if abs(numbers[name]) > 0.04 and name != "mask" else "Add"
        if name == "mask":
            nodes.append(helper.make_node("Max", [last, name], ["h_mask"]))
        else:
            nodes.append(helper.make_node(operator, [last, name], [f"h_{name}"]))
        last = f"h_{name}"
    nodes.append(helper.make_node("MatMul", [last, "v"], ["o"]))

    def forward(x, w, v):
        h = torch.tanh(x @ w)
        for name, number in numbers.items():
            number = torch.tensor(number, dtype=torch.float32)
            h = torch.maximum(h, number) if name == "mask" else h * number if abs(number) > 0.04 else h + number
        return h @ v

    case("constants", model_of(nodes, {"w": w, "v": v, **numbers}), train(forward, [w, v]), "! note:")


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3)
        self.t = nn.Parameter(torch.tensor(1.37))
        self.gate = nn.Parameter(torch.tensor(0.93))
        self.register_buffer("scale", torch.tensor(1 / math.sqrt(8)))

    def forward(self, x):
        h = torch.tanh(self.a(x)) * self.gate
        return self.b(h * self.scale + 0.3 * h) * self.t


def exported(dynamo, **options):
    module = Scaled()
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dynamo:
            torch.onnx.export(module, (torch.tensor(X[:4]),), file, dynamo=True, verbose=False, input_names=["x"], **options)
        else:
            torch.onnx.export(module, (torch.tensor(X[:4]),), file, dynamo=False, input_names=["x"], opset_version=15, **options)
    optimizer, losses = torch.optim.SGD(module.parameters(), lr=0.5), []
    for step in range(3):
        loss = nn.functional.cross_entropy(module(torch.tensor(X[4 * step:4 * step + 4])), torch.tensor(Y[4 * step:4 * step + 4]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return file.getvalue(), losses


def exports():
    case("exported", *exported(True), ["! note:"])
    case("exported_as_it_is", *exported(True, optimize=False), ["! note:"])
    case("traced", *exported(False), ["2 single numbers without a shape", "are trained"])


def clip():
    import transformers

    text = dict(vocab_size=16, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=4, eos_token_id=15,
                bos_token_id=14, pad_token_id=0)
    image = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=4, patch_size=2)
    config = transformers.CLIPConfig(text_config=text, vision_config=image, projection_dim=4)
    config._attn_implementation = "eager"

    class Pairs(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = transformers.CLIPModel(config)

        def forward(self, input_ids, pixel_values):
            return self.model(input_ids=input_ids, pixel_values=pixel_values).logits_per_image

    for name, module in ("clip", transformers.CLIPModel(config)), ("clip_inside", Pairs()):
        module.eval()
        ids, pixels = torch.randint(1, 14, (12, 4)), torch.randn(12, 3, 4, 4)
        ids[:, 3] = 15
        take = lambda s: (ids[4 * s:4 * s + 4], pixels[4 * s:4 * s + 4])  # noqa: E731
        logits = (lambda i, p: module(input_ids=i, pixel_values=p).logits_per_image) if name == "clip" else module
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrapped = module
            if name == "clip":
                wrapped.config.return_dict = True
                original = module.forward
                module.forward = lambda input_ids, pixel_values: original(input_ids=input_ids, pixel_values=pixel_values).logits_per_image
            torch.onnx.export(wrapped, take(0), file, dynamo=False, opset_version=15, input_names=["input_ids", "pixel_values"], output_names=["logits"])
            if name == "clip":
                module.forward = original
        optimizer, losses = torch.optim.SGD(module.parameters(), lr=0.05), []
        for step in range(3):
            loss = nn.functional.cross_entropy(logits(*take(step)), torch.arange(4))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        write_case(__file__, name, file.getvalue(), {"ids": ids, "pixels": pixels, "y": numpy.tile(numpy.arange(4), 3)},
                   "train model.onnx --input input_ids=ids.npy --input pixel_values=pixels.npy --target y.npy --loss cross_entropy --batch 4 --optimizer sgd --lr 0.05 "
                   "--no-shuffle --threads 1 --log-json log.json --untie '*'", losses, "logit_scale", tolerance=5e-5)


for write in (by_hand, constants, exports, clip):
    write()
