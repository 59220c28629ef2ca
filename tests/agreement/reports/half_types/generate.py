"""Models whose weights have a half type. PyTorch's losses are those of float32 masters: every step reads the masters
rounded to the file's type, computes in that type, and updates the masters with the gradients in float32."""
import pathlib
import sys

import numpy
import onnx
import torch
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from making import write_case  # noqa: E402

TYPES = {torch.float16: TensorProto.FLOAT16, torch.bfloat16: TensorProto.BFLOAT16, torch.float32: TensorProto.FLOAT}
torch.manual_seed(45)
torch.set_num_threads(1)


def tensor(name, value):
    raw = value.contiguous().view(torch.int16 if value.element_size() == 2 else torch.int32).numpy().tobytes()
    return helper.make_tensor(name, TYPES[value.dtype], list(value.shape), raw, raw=True)


def model(nodes, inputs, output, weights, opset=20):
    graph = helper.make_graph(nodes, "half", inputs, [output], [tensor(name, value) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def train(weights, forward, loss, optimizer, steps, batch, data, parts=1, trained=None, clip=None):
    """The loss of each step. `forward(weights, rows of the data)`; `loss(output, rows of the targets)` is a sum."""
    masters = {name: value.float().clone().requires_grad_() for name, value in weights.items() if trained is None or name in trained}
    step_optimizer = optimizer(masters.values())
    losses = []
    inputs, targets = data
    for step in range(steps):
        first = step * batch % len(targets)
        total = 0.0
        step_optimizer.zero_grad()
        for part in range(parts):
            rows = slice(first + part * batch // parts, first + (part + 1) * batch // parts)
            read = {name: masters[name].detach().to(value.dtype).requires_grad_() if name in masters else value
                    for name, value in weights.items()}
            value = loss(forward(read, inputs[rows]), targets[rows]) / batch
            value.backward()
            total += float(value.detach())
            for name, master in masters.items():
                gradient = read[name].grad.float()
                master.grad = gradient if master.grad is None else master.grad + gradient
        if clip:
            torch.nn.utils.clip_grad_norm_(masters.values(), clip)
        step_optimizer.step()
        losses.append(total)
    return losses, {name: value.detach() for name, value in masters.items()}


def cross_entropy(logits, targets):
    return torch.nn.functional.cross_entropy(logits.float(), targets, reduction="sum")


def mean_square(output, targets):
    return ((output.float() - targets) ** 2).sum()


# ---- an embedding whose rows are rarely seen: eps and the second moment are below float16's smallest number

words = {
    "emb": (0.3 * torch.randn(40, 8)).half(),
    "w": (0.3 * torch.randn(8, 5)).half(),
    "b": torch.zeros(5).half(),
}
ids = numpy.random.default_rng(1).integers(0, 40, (64, 6))
labels = numpy.random.default_rng(2).integers(0, 5, 64)
word_model = model(
    [
        helper.make_node("Gather", ["emb", "ids"], ["rows"]),
        helper.make_node("ReduceMean", ["rows", "axes"], ["mean"], keepdims=0),
        helper.make_node("Gemm", ["mean", "w", "b"], ["logits"]),
    ],
    [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", 6])],
    helper.make_tensor_value_info("logits", TensorProto.FLOAT16, ["n", 5]),
    words,
)
word_model.graph.initializer.append(helper.make_tensor("axes", TensorProto.INT64, [1], [1]))


def word_forward(w, rows):
    return torch.addmm(w["b"], w["emb"][rows].mean(1), w["w"])


words_data = torch.from_numpy(ids), torch.from_numpy(labels)
words_command = "train model.onnx --input ids=ids.npy --target y.npy --loss cross_entropy --no-shuffle --threads 1"


def word_case(name, options, optimizer, steps, batch=8, parts=1, commands=(), says=(), tolerance=1e-3, **more):
    losses, _ = train(words, word_forward, cross_entropy, optimizer, steps, batch, words_data, parts, **more)
    first = f"{words_command} --batch {batch} {options} --steps {steps} --log-json log.json --out out.onnx"
    write_case(__file__, name, word_model, {"ids": ids, "y": labels}, [first, *commands], losses, says, tolerance=tolerance)


def adam(weights):
    return torch.optim.Adam(weights, 1e-2)


word_case("fp16_adam", "--optimizer adam --lr 1e-2", adam, 80)
word_case("fp16_adam_two_stages", "--optimizer adam --lr 1e-2 --stages 2 --micro-batches 2", adam, 40, parts=2)
word_case("fp16_adam_micro_batches", "--optimizer adam --lr 1e-2 --micro-batches 4", adam, 40, parts=4)
word_case("fp16_adamw_frozen_embedding", "--optimizer adamw --lr 1e-2 --freeze emb", lambda w: torch.optim.AdamW(w, 1e-2), 40,
          trained={"w", "b"})
word_case("fp16_rmsprop_clipped", "--optimizer rmsprop --lr 1e-3 --clip-norm 0.1", lambda w: torch.optim.RMSprop(w, 1e-3), 40,
          clip=0.1)
word_case("fp16_adagrad", "--optimizer adagrad --lr 1e-1", lambda w: torch.optim.Adagrad(w, 1e-1), 40)
# A step of 2e-5 of a gradient of at most 0.3 changes no float16 number around 0.3, whose neighbours are 2.4e-4 apart.
word_case("fp16_sgd_below_the_resolution", "--optimizer sgd --lr 5e-4", lambda w: torch.optim.SGD(w, 5e-4), 400, batch=64,
          tolerance=2e-4)
# What is resumed has the bits of what was not interrupted.
word_case(
    "fp16_resumed", "--optimizer adam --lr 1e-2", adam, 40,
    commands=[
        f"{words_command} --batch 8 --optimizer adam --lr 1e-2 --steps 17 --checkpoint kept --out early.onnx",
        f"{words_command} --batch 8 --optimizer adam --lr 1e-2 --steps 40 --checkpoint kept --resume --out late.onnx && cmp out.onnx late.onnx",
    ])

# ---- layers in bfloat16

layers = {
    "first.weight": (0.4 * torch.randn(12, 16)).bfloat16(),
    "first.bias": (0.1 * torch.randn(16)).bfloat16(),
    "head.weight": (0.4 * torch.randn(16, 4)).bfloat16(),
    "head.bias": torch.zeros(4).bfloat16(),
}
x = torch.randn(48, 12, generator=torch.Generator().manual_seed(3)).bfloat16().float().numpy()
y = numpy.random.default_rng(4).integers(0, 4, 48)
layer_nodes = [
    helper.make_node("Cast", ["x"], ["x16"], to=TensorProto.BFLOAT16),
    helper.make_node("Gemm", ["x16", "first.weight", "first.bias"], ["a"]),
    helper.make_node("Relu", ["a"], ["r"]),
    helper.make_node("Gemm", ["r", "head.weight", "head.bias"], ["logits"]),
]
x_input = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 12])
layer_model = model(layer_nodes, [x_input], helper.make_tensor_value_info("logits", TensorProto.BFLOAT16, ["n", 4]), layers)
layer_data = torch.from_numpy(x), torch.from_numpy(y)
layer_command = "train model.onnx --input x=x.npy --target y.npy --loss cross_entropy --no-shuffle --threads 1"


def layer_forward(w, rows):
    hidden = torch.relu(torch.addmm(w["first.bias"], rows.bfloat16(), w["first.weight"]))
    return torch.addmm(w["head.bias"], hidden, w["head.weight"])


def adamw(weights):
    return torch.optim.AdamW(weights, 1e-3)


losses, _ = train(layers, layer_forward, cross_entropy, adamw, 240, 8, layer_data)
write_case(__file__, "bf16_adamw", layer_model, {"x": x, "y": y},
           f"{layer_command} --batch 8 --optimizer adamw --lr 1e-3 --epochs 40 --log-json log.json --out out.onnx", losses,
           tolerance=4e-3)
write_case(__file__, "bf16_adamw_two_stages", layer_model, {"x": x, "y": y},
           f"{layer_command} --batch 8 --optimizer adamw --lr 1e-3 --epochs 40 --stages 2 --log-json log.json --out out.onnx",
           train(layers, layer_forward, cross_entropy, adamw, 240, 8, layer_data, 2)[0], tolerance=4e-3)

# ---- a base in bfloat16 that is frozen, and a head in float32 that is trained: no weight has a master

mixed = {**layers, "head.weight": layers["head.weight"].float(), "head.bias": layers["head.bias"].float()}
mixed_nodes = layer_nodes[:3] + [
    helper.make_node("Cast", ["r"], ["r32"], to=TensorProto.FLOAT),
    helper.make_node("Gemm", ["r32", "head.weight", "head.bias"], ["logits"]),
]


def mixed_forward(w, rows):
    hidden = torch.relu(torch.addmm(w["first.bias"], rows.bfloat16(), w["first.weight"]))
    return torch.addmm(w["head.bias"], hidden.float(), w["head.weight"])


losses, _ = train(mixed, mixed_forward, cross_entropy, adamw, 24, 8, layer_data, trained={"head.weight", "head.bias"})
write_case(__file__, "bf16_frozen_base", model(mixed_nodes, [x_input], helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 4]), mixed),
           {"x": x, "y": y},
           [f"{layer_command} --batch 8 --optimizer adamw --lr 1e-3 --freeze 'first.*' --epochs 4 --log-json log.json --out out.onnx",
            "inspect model.onnx --freeze 'first.*'"],
           losses, ["! trained in float32"], tolerance=2e-4)

# ---- weights that are stored in float16 and computed with in float32

stored = {name: value.float().half() for name, value in layers.items()}
stored_nodes = [helper.make_node("Cast", [name], [name + ".32"], to=TensorProto.FLOAT) for name in stored] + [
    helper.make_node("Gemm", ["x", "first.weight.32", "first.bias.32"], ["a"]),
    helper.make_node("Relu", ["a"], ["r"]),
    helper.make_node("Gemm", ["r", "head.weight.32", "head.bias.32"], ["logits"]),
]


def stored_forward(w, rows):
    hidden = torch.relu(torch.addmm(w["first.bias"].float(), rows, w["first.weight"].float()))
    return torch.addmm(w["head.bias"].float(), hidden, w["head.weight"].float())


write_case(__file__, "fp16_storage_alone",
           model(stored_nodes, [x_input], helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 4]), stored),
           {"x": x, "y": y},
           f"{layer_command} --batch 8 --optimizer adam --lr 1e-3 --epochs 10 --log-json log.json --out out.onnx",
           train(stored, stored_forward, cross_entropy, lambda w: torch.optim.Adam(w, 1e-3), 60, 8, layer_data)[0], tolerance=3e-4)

# ---- one matrix as embedding and as head

tied = {"e": (0.3 * torch.randn(24, 8)).bfloat16()}
tokens = numpy.random.default_rng(5).integers(0, 24, (32, 4))
following = numpy.random.default_rng(6).integers(0, 24, 32)
tied_nodes = [
    helper.make_node("Gather", ["e", "ids"], ["rows"]),
    helper.make_node("ReduceSum", ["rows", "axes"], ["sum"], keepdims=0),
    helper.make_node("Transpose", ["e"], ["t"], perm=[1, 0]),
    helper.make_node("MatMul", ["sum", "t"], ["logits"]),
]
tied_model = model(tied_nodes, [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", 4])],
                   helper.make_tensor_value_info("logits", TensorProto.BFLOAT16, ["n", 24]), tied)
tied_model.graph.initializer.append(helper.make_tensor("axes", TensorProto.INT64, [1], [1]))


def tied_forward(w, rows):
    return w["e"][rows].float().sum(1).bfloat16() @ w["e"].T


for name, options, parts in (("bf16_tied", "", 1), ("bf16_tied_two_stages", " --stages 2 --micro-batches 2", 2)):
    losses, _ = train(tied, tied_forward, cross_entropy, lambda w: torch.optim.Adam(w, 3e-3), 40, 8,
                      (torch.from_numpy(tokens), torch.from_numpy(following)), parts)
    write_case(__file__, name, tied_model, {"ids": tokens, "y": following},
               "train model.onnx --input ids=ids.npy --target y.npy --loss cross_entropy --no-shuffle --threads 1 --batch 8 "
               f"--optimizer adam --lr 3e-3 --steps 40{options} --log-json log.json --out out.onnx", losses, tolerance=6e-3)

# ---- running statistics

normal = {
    "c": (0.4 * torch.randn(6, 12)).half(),
    "scale": torch.ones(6).half(),
    "bias": torch.zeros(6).half(),
    "mean": torch.zeros(6).half(),
    "var": torch.ones(6).half(),
    "head": (0.4 * torch.randn(6, 4)).half(),
}
normal_nodes = [
    helper.make_node("Cast", ["x"], ["x16"], to=TensorProto.FLOAT16),
    helper.make_node("Gemm", ["x16", "c"], ["a"], transB=1),
    helper.make_node("BatchNormalization", ["a", "scale", "bias", "mean", "var"], ["n"], epsilon=1e-5, momentum=0.999),
    helper.make_node("Relu", ["n"], ["r"]),
    helper.make_node("MatMul", ["r", "head"], ["logits"]),
]


def normal_forward(w, rows):
    a = rows.half() @ w["c"].T
    n = torch.nn.functional.batch_norm(a.float(), normal_mean, normal_var, w["scale"].float(), w["bias"].float(), True, 0.001).half()
    return torch.relu(n) @ w["head"]


normal_mean, normal_var = torch.zeros(6), torch.ones(6)
losses, masters = train(normal, normal_forward, cross_entropy, lambda w: torch.optim.Adam(w, 1e-3), 120, 16, layer_data,
                        trained={"c", "scale", "bias", "head"})
trained = {name: masters.get(name, value).half() for name, value in normal.items()} | {"mean": normal_mean.half(), "var": normal_var.half()}
a = torch.from_numpy(x).half() @ trained["c"].T
n = torch.nn.functional.batch_norm(a.float(), trained["mean"].float(), trained["var"].float(), trained["scale"].float(), trained["bias"].float()).half()
evaluated = float(cross_entropy(torch.relu(n) @ trained["head"], torch.from_numpy(y))) / len(y)
print("evaluated", evaluated)
write_case(__file__, "fp16_running_statistics",
           model(normal_nodes, [x_input], helper.make_tensor_value_info("logits", TensorProto.FLOAT16, ["n", 4]), normal),
           {"x": x, "y": y},
           [f"{layer_command} --batchnorm train --batch 16 --optimizer adam --lr 1e-3 --steps 120 --log-json log.json --out out.onnx",
            "eval out.onnx --input x=x.npy --target y.npy --loss cross_entropy --threads 1"],
           losses, tolerance=3e-3)

# ---- what says something, and what does not

write_case(__file__, "inspect_says_so", layer_model, {},
           "inspect model.onnx --freeze 'head.*'", says=["first.weight", "weight, trained in float32 and written as bfloat16"])
single = {name: value.float() for name, value in layers.items()}
write_case(__file__, "float32_says_nothing",
           model([helper.make_node("Gemm", ["x", "first.weight", "first.bias"], ["a"]), *layer_nodes[2:]], [x_input],
                 helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 4]), single),
           {"x": x, "y": y}, ["inspect model.onnx", f"{layer_command} --batch 8 --optimizer adamw --lr 1e-3 --steps 2 --strict"],
           says=["! trained in float32", "! float16", "! note:"])
write_case(__file__, "half_types_are_right", layer_model, {"x": x, "y": y},
           f"{layer_command} --batch 8 --optimizer adamw --lr 1e-3 --steps 2 --strict", says=["! note:"])
line = {"w": torch.zeros(1, 1).half()}
write_case(__file__, "fp16_weight_beyond_its_type",
           model([helper.make_node("Cast", ["x"], ["x16"], to=TensorProto.FLOAT16), helper.make_node("MatMul", ["x16", "w"], ["y"])],
                 [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1])],
                 helper.make_tensor_value_info("y", TensorProto.FLOAT16, ["n", 1]), line),
           {"x": numpy.full((4, 1), 0.5, "f4"), "t": numpy.full((4, 1), 100, "f4")},
           "train model.onnx --input x=x.npy --target t.npy --loss mse --optimizer sgd --lr 1000 --batch 4 --steps 1 --threads 1 "
           "--out out.onnx", says=["weight 'w' has reached 100000", "float16", "kept in the checkpoint of out.onnx.checkpoint"], code=3)
# The gradient, 2 · 200 · 1000 / 1, is beyond float16; a scaled loss has a smaller one.
steep = model([helper.make_node("Cast", ["x"], ["x16"], to=TensorProto.FLOAT16), helper.make_node("MatMul", ["x16", "w"], ["y"])],
              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1])],
              helper.make_tensor_value_info("y", TensorProto.FLOAT16, ["n", 1]), line)
steep_arrays = {"x": numpy.full((4, 1), 200, "f4"), "t": numpy.full((4, 1), 1000, "f4")}
steep_command = "train model.onnx --input x=x.npy --target t.npy --loss mse --optimizer sgd --lr 1e-6 --batch 4 --threads 1"
write_case(__file__, "fp16_gradient_beyond_its_type", steep, steep_arrays, f"{steep_command} --steps 3",
           says=["the loss is", "scale the loss by --precision fp16, or"], code=7)
master, scale, losses = torch.zeros(1, 1), 4.0, []
for _ in range(10):
    read = master.half().requires_grad_()
    loss = mean_square(torch.full((4, 1), 200.0).half() @ read, 1000.0) / 4
    (loss * scale).backward()
    losses.append(float(loss.detach()))
    if torch.isfinite(read.grad).all():
        master = master - 1e-6 * read.grad.float() / scale
    else:
        scale /= 2
write_case(__file__, "fp16_gradient_scaled", steep, steep_arrays,
           f"{steep_command} --steps 10 --precision fp16 --loss-scale 4 --log-json log.json", losses, tolerance=1e-3)
print("scaled", losses)
