#!/usr/bin/env python3
"""Writes the golden training runs: ONNX models, their data, and what PyTorch makes of them.

    python3 tests/agreement/golden/generate.py [MODEL ...]

Needs torch, torchvision, onnx, onnxruntime and numpy (versions used last: requirements.txt);
nothing that runs or tests onstage needs any of them. Without arguments every model is made
again. Seeds are fixed, so the same versions on the same machine give the same files.

For each model a folder is written:
    model.onnx     as exported, with parameters at their initial values
    input.npy      the samples of all steps, in order (step s uses rows (s-1)*batch .. s*batch-1)
    target.npy     their targets
    golden.json    what a trainer must reproduce; its fields are described in README.md

The reference starts from the values in the exported file, not from the module before export,
because tracing a BatchNorm in training mode moves its running statistics. Every run is
repeated in double precision, and in float32 from parameters a last bit away; `noise` in
golden.json tells how far float32 strayed from double at most, and generation fails where
that is more than the golden values can bear.
"""

import gzip
import json
import math
import pathlib
import sys
import warnings

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime
import torch
import torch.nn.functional as F

import models

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parents[2] / "examples" / "data"
STEPS = 12
LOSS_NOISE = 2e-5  # relative, float32 against float64, every step
GRADIENT_NOISE = 2e-5  # relative, norm of each parameter's step-0 gradient
FINAL_NOISE = 2e-5  # relative, norm of each parameter after all steps; noisier ones are left out
PERTURBED = 3  # float32 runs from parameters that are off by about half a last bit

# The learning rate of step 1 .. total; flags: --lr-schedule cosine --warmup W --steps TOTAL.
SCHEDULE = (
    "lr(step), step from 1: lr * step / warmup while step <= warmup, then "
    "lr * 0.5 * (1 + cos(pi * (step - warmup) / (total - warmup)))"
)


def scheduled(lr, step, total, warmup):
    if step <= warmup:
        return lr * step / warmup
    return lr * 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / (total - warmup)))


# ---------------------------------------------------------------- data


def vectors(features, classes, count, seed):
    """Noisy points around one centre per class."""
    rng = numpy.random.default_rng(seed)
    target = rng.integers(0, classes, count)
    centres = rng.standard_normal((classes, features))
    x = centres[target] + 0.7 * rng.standard_normal((count, features))
    return x.astype(numpy.float32), target


def regression(features, outputs, count, seed):
    """A smooth function of random points, with a little noise."""
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal((count, features))
    y = numpy.sin(x @ rng.standard_normal((features, outputs)) / 4) + 0.05 * rng.standard_normal((count, outputs))
    return x.astype(numpy.float32), y.astype(numpy.float32)


def images(channels, size, classes, count, seed):
    """A fixed coarse pattern per class under noise."""
    rng = numpy.random.default_rng(seed)
    target = rng.integers(0, classes, count)
    coarse = rng.standard_normal((classes, channels, 4, 4))
    pattern = coarse.repeat(size // 4, axis=2).repeat(size // 4, axis=3)
    x = pattern[target] + 0.5 * rng.standard_normal((count, channels, size, size))
    return x.astype(numpy.float32), target


def digits(count):
    """The first MNIST test digits, scaled to 0..1 and centred."""
    pixels = gzip.open(DATA / "mnist" / "t10k-images-idx3-ubyte.gz").read()[16 : 16 + count * 784]
    labels = gzip.open(DATA / "mnist" / "t10k-labels-idx1-ubyte.gz").read()[8 : 8 + count]
    x = numpy.frombuffer(pixels, numpy.uint8).reshape(count, 1, 28, 28)
    return ((x / 255.0 - 0.1307) / 0.3081).astype(numpy.float32), numpy.frombuffer(labels, numpy.uint8).astype(numpy.int64)


def text(block, count):
    """Windows of tiny Shakespeare and the same windows one character on."""
    stream = numpy.fromfile(DATA / "shakespeare" / "train.bin", "<u2").astype(numpy.int64)
    x = numpy.stack([stream[i * block : (i + 1) * block] for i in range(count)])
    y = numpy.stack([stream[i * block + 1 : (i + 1) * block + 1] for i in range(count)])
    return x, y


# ---------------------------------------------------------------- models and runs


def sgd(lr, **more):
    return "sgd", {"lr": lr, "momentum": 0.9, **more}


def adam(lr, **more):
    return "adam", {"lr": lr, **more}


def adamw(lr, **more):
    return "adamw", {"lr": lr, "weight_decay": 0.01, **more}


TRAINING = torch.onnx.TrainingMode.TRAINING
PRESERVE = torch.onnx.TrainingMode.PRESERVE
EVAL = torch.onnx.TrainingMode.EVAL

# exporter "torchscript" is torch.onnx.export(dynamo=False), "dynamo" the one on torch.export.
# What is exported is the module in training mode for TRAINING, else in inference mode; trained
# is always the module in training mode. `seed` picks the initial values: with some of them a
# ReLU of resnet18 sits so near its kink that the last bit decides the loss some steps later.
MODELS = {
    "mlp": dict(
        make=models.Mlp, data=lambda n: vectors(20, 10, n, 1), batch=16, loss="cross_entropy", opset=12,
        exporter="torchscript", export=dict(training=EVAL, do_constant_folding=True), dynamic=True,
        names=("x", "logits"), runs=[sgd(0.05, nesterov=True), adam(2e-3), adamw(2e-3)],
    ),
    "mlp_frozen": dict(
        make=models.MlpFrozen, data=lambda n: regression(16, 4, n, 2), batch=16, loss="mse", opset=9,
        exporter="torchscript", export=dict(training=EVAL, do_constant_folding=True), dynamic=False,
        names=("x", "y"), runs=[sgd(0.02), adam(2e-3), adamw(2e-3)],
        options=[["--freeze", "encoder.*"], ["--train", "encoder.2.*"]],
        frozen=lambda name: name.startswith("encoder.") and not name.startswith("encoder.2."),
    ),
    "lenet": dict(
        make=models.LeNet, data=digits, batch=16, loss="cross_entropy", opset=11,
        exporter="torchscript", export=dict(training=EVAL, do_constant_folding=True), dynamic=True,
        names=("image", "logits"), runs=[sgd(0.01), adam(1e-3), adamw(1e-3), adamw(2e-3, schedule=3)],
    ),
    "resnet18": dict(
        make=models.ResNet18, data=lambda n: images(3, 32, 10, n, 3), batch=8, loss="cross_entropy", opset=15,
        exporter="torchscript", export=dict(training=TRAINING, do_constant_folding=False), dynamic=False,
        names=("image", "logits"), runs=[sgd(1e-3), adam(1e-4), adamw(1e-4)], seed=4,
    ),
    "cnn_dynamic": dict(
        make=models.CnnDynamic, data=lambda n: images(3, 16, 10, n, 4), batch=16, loss="cross_entropy", opset=13,
        exporter="torchscript", export=dict(training=PRESERVE, do_constant_folding=True), dynamic=True,
        names=("image", "logits"), runs=[sgd(0.02), adam(1e-3), adamw(1e-3)], options=[["--batchnorm", "train"]],
    ),
    "gpt_tied": dict(
        make=lambda: models.Gpt(tied=True, dropout=0.1), data=lambda n: text(24, n), batch=4, loss="cross_entropy",
        opset=17, exporter="torchscript", export=dict(training=TRAINING, do_constant_folding=False), dynamic=False,
        names=("tokens", "logits"), runs=[sgd(0.05), adam(1e-3), adamw(1e-3), sgd(0.05, clip=1.0)],
        options=[["--dropout", "off"]],
    ),
    "gpt_decomposed": dict(
        make=lambda: models.Gpt(gelu=models.gelu_tanh), data=lambda n: text(24, n), batch=4, loss="cross_entropy",
        opset=14, exporter="torchscript", export=dict(training=EVAL, do_constant_folding=True), dynamic=True,
        names=("tokens", "logits"), runs=[sgd(0.05), adam(1e-3), adamw(1e-3)],
    ),
    "dynamo_gpt": dict(
        make=lambda: models.Gpt(sdpa=True, gelu=lambda x: F.gelu(x, approximate="tanh")), data=lambda n: text(24, n),
        batch=4, loss="cross_entropy", opset=18, exporter="dynamo", export=dict(), dynamic=True,
        names=("tokens", "logits"), runs=[sgd(0.05), adam(1e-3), adamw(1e-3)],
    ),
    "dynamo_cnn": dict(
        make=models.LeNet, data=digits, batch=8, loss="cross_entropy", opset=20, exporter="dynamo", export=dict(),
        dynamic=True, names=("image", "logits"), runs=[sgd(0.01), adam(1e-3), adamw(1e-3)],
    ),
}


def flags(optimizer, options):
    """The onstage flags of one run."""
    spelled = {
        "lr": "--lr", "momentum": "--momentum", "weight_decay": "--weight-decay", "clip": "--clip-norm", "schedule": "--warmup",
    }
    words = ["--optimizer", optimizer]
    for key, value in options.items():
        if key == "nesterov":
            words += ["--nesterov"]
            continue
        if key == "schedule":
            words += ["--lr-schedule", "cosine"]
        words += [spelled[key], format(value, "g")]
    return words


# ---------------------------------------------------------------- export


def export(spec, module, sample, path):
    """Writes the ONNX file and takes out of it what names the machine it was made on."""
    x, y = spec["names"]
    if spec["exporter"] == "torchscript":
        torch.onnx.export(
            module, (sample,), str(path), dynamo=False, opset_version=spec["opset"], input_names=[x], output_names=[y],
            dynamic_axes={x: {0: "batch"}, y: {0: "batch"}} if spec["dynamic"] else None, **spec["export"],
        )
    else:
        shapes = ({0: torch.export.Dim("batch", min=1, max=4096)},) if spec["dynamic"] else None
        torch.onnx.export(
            module, (sample,), str(path), dynamo=True, opset_version=spec["opset"], input_names=[x], output_names=[y],
            dynamic_shapes=shapes, external_data=False, verbose=False, **spec["export"],
        )
    model = onnx.load(path)
    for node in model.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    for value in (*model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer):
        value.doc_string = ""
        del value.metadata_props[:]
    del model.graph.metadata_props[:]
    del model.metadata_props[:]
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return model


def name_map(model, module):
    """Initialiser name -> (torch name, transposed), by value; every parameter exactly once."""
    tensors = {k: v.detach().numpy() for k, v in module.named_parameters()}
    tensors |= {k: v.numpy() for k, v in module.named_buffers() if k.endswith(("running_mean", "running_var"))}
    found = {}
    for initialiser in model.graph.initializer:
        value = onnx.numpy_helper.to_array(initialiser)
        for name, tensor in tensors.items():
            if "running_" in name:  # a trace in training mode has moved these: only the name can tell
                if initialiser.name == name:
                    found[initialiser.name] = (name, False)
            elif value.dtype == numpy.float32 and value.shape == tensor.shape and (value == tensor).all():
                found[initialiser.name] = (name, False)
            elif value.dtype == numpy.float32 and value.shape == tensor.T.shape and (value == tensor.T).all():
                found[initialiser.name] = (name, True)
    got = sorted(name for name, _ in found.values())
    if got != sorted(tensors):
        raise SystemExit(f"initialisers and parameters differ: {sorted(set(tensors) ^ set(got))}, {len(got)} found")
    return found


def adopt(module, model, found):
    """Gives the module the values that the file holds."""
    state = module.state_dict()
    for initialiser in model.graph.initializer:
        if initialiser.name in found:
            name, transposed = found[initialiser.name]
            value = torch.from_numpy(onnx.numpy_helper.to_array(initialiser).copy())
            state[name].copy_(value.T if transposed else value)


def forward_loss(model, spec, module, x, target):
    """The loss of step 1 by another engine on the exported file, and by torch in the same mode."""
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    for node in plain.graph.node:  # an inference engine runs these in inference form only
        if node.op_type == "Dropout":
            del node.input[1:]
        if node.op_type == "BatchNormalization":
            del node.output[1:]
            for i in reversed(range(len(node.attribute))):
                if node.attribute[i].name == "training_mode":
                    del node.attribute[i]
    session = onnxruntime.InferenceSession(plain.SerializeToString(), providers=["CPUExecutionProvider"])
    b = spec["batch"]
    theirs = torch.from_numpy(session.run(None, {spec["names"][0]: x[:b].numpy()})[0])
    module.eval()
    with torch.no_grad():
        ours = module(x[:b])
    difference = (loss_of(spec, theirs, target[:b]) - loss_of(spec, ours, target[:b])).abs() / loss_of(spec, ours, target[:b])
    if difference > 1e-5:
        raise SystemExit(f"exported file and module disagree on the loss by {difference:g}")
    return loss_of(spec, ours, target[:b]).item()


# ---------------------------------------------------------------- training


def loss_of(spec, output, target):
    if spec["loss"] == "mse":
        return F.mse_loss(output, target)
    if output.dim() == 3:  # [N, T, V]: the class axis is the one that the target lacks
        return F.cross_entropy(output.reshape(-1, output.shape[-1]), target.reshape(-1))
    return F.cross_entropy(output, target)


def norm(tensor):
    return tensor.detach().double().norm().item()


def train(spec, model, found, x, target, run, dtype, perturb=0):
    """Twelve steps from the file's values; returns what golden.json records."""
    name, options = run
    module = spec["make"]()
    adopt(module, model, found)
    if perturb:
        generator = torch.Generator().manual_seed(perturb)
        with torch.no_grad():
            for p in module.parameters():
                p.mul_(1.0 + 6e-8 * torch.randn(p.shape, generator=generator))
    for child in module.modules():
        if isinstance(child, torch.nn.Dropout):
            child.p = 0.0
    module.to(dtype).train()
    if x.is_floating_point():
        x = x.to(dtype)
    if target.is_floating_point():
        target = target.to(dtype)
    frozen = spec.get("frozen", lambda name: False)
    for parameter_name, p in module.named_parameters():
        p.requires_grad_(not frozen(parameter_name))
    parameters = [p for p in module.parameters() if p.requires_grad]
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    optimizer = kind(parameters, **{k: v for k, v in options.items() if k not in ("clip", "schedule")})

    counts = {}  # elements per channel that each BatchNorm averages over
    for layer, child in module.named_modules():
        if isinstance(child, torch.nn.BatchNorm2d):
            child.register_forward_hook(lambda m, i, o, layer=layer: counts.update({layer: o.numel() // o.shape[1]}))
    before = {k: v.clone() for k, v in module.named_buffers()}

    losses, first = [], None
    for step in range(1, STEPS + 1):
        if "schedule" in options:
            for group in optimizer.param_groups:
                group["lr"] = scheduled(options["lr"], step, STEPS, options["schedule"])
        rows = slice((step - 1) * spec["batch"], step * spec["batch"])
        optimizer.zero_grad()
        loss = loss_of(spec, module(x[rows]), target[rows])
        loss.backward()
        if first is None:
            first = {k: norm(p.grad) for k, p in module.named_parameters() if p.requires_grad}
        if "clip" in options:
            torch.nn.utils.clip_grad_norm_(parameters, options["clip"])
        optimizer.step()
        losses.append(loss.item())

    tensors = dict(module.named_parameters())
    result = {
        "losses": losses,
        "grad_norm": math.sqrt(sum(v * v for v in first.values())),
        "grad_norms": {i: first[t] for i, (t, _) in found.items() if t in first},
        "final_norms": {i: norm(tensors[t]) for i, (t, _) in found.items() if t in tensors},
    }
    buffers = dict(module.named_buffers())
    statistics = {i: t for i, (t, _) in found.items() if t in buffers}
    if statistics:
        result["final_statistics_norms"] = {i: norm(buffers[t]) for i, t in statistics.items()}
        # The ONNX specification moves the running variance by the variance over n, PyTorch by that over n - 1.
        population = {}
        for i, t in statistics.items():
            if t.endswith("running_var"):
                layer = t.rpartition(".")[0]
                n, momentum = counts[layer], module.get_submodule(layer).momentum
                kept = (1.0 - momentum) ** STEPS * before[t]
                population[i] = norm(kept + (buffers[t] - kept) * ((n - 1) / n))
        result["final_statistics_norms_over_n"] = population
    return result


def distances(single, double):
    """Relative distances of a float32 run from the float64 run."""
    far = [{}, {}, {}]
    for table, key in zip(far, ("losses", "grad_norms", "final_norms")):
        a, b = single[key], double[key]
        for i in range(len(b)) if isinstance(b, list) else b:
            table[i] = abs(a[i] - b[i]) / abs(b[i])
    return far


def record(spec, model, found, x, target, run):
    """One run for golden.json, with its noise; names too noisy to compare are set apart."""
    double = train(spec, model, found, x, target, run, torch.float64)
    single = train(spec, model, found, x, target, run, torch.float32)
    others = [train(spec, model, found, x, target, run, torch.float32, 1 + i) for i in range(PERTURBED)]
    losses, gradients, finals = (
        {key: max(table[key] for table in tables) for key in tables[0]}
        for tables in zip(*(distances(each, double) for each in (single, *others)))
    )
    left_out = [name for name, value in finals.items() if value > FINAL_NOISE]
    for name in left_out:
        del single["final_norms"][name]
        del finals[name]
    noise = {"losses": losses, "grad_norms": gradients, "final_norms": finals}
    noise = {key: float(f"{max(values.values()):.1e}") for key, values in noise.items()}
    if noise["losses"] > LOSS_NOISE or noise["grad_norms"] > GRADIENT_NOISE:
        raise SystemExit(f"too noisy for golden values, lower the learning rate: {noise}")
    extra = {"schedule": SCHEDULE} if "schedule" in run[1] else {}
    print(f"    {run[0]:6} {single['losses'][0]:.4f} -> {single['losses'][-1]:.4f} {noise} {left_out}")
    return {"flags": flags(*run), **extra, "noise": noise, **single, "final_norms_left_out": left_out}


def generate(name, spec):
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    seed = spec.get("seed", 1)
    torch.manual_seed(seed)
    arrays = spec["data"](STEPS * spec["batch"])
    numpy.save(folder / "input.npy", arrays[0])
    numpy.save(folder / "target.npy", arrays[1])
    x, target = (torch.from_numpy(a) for a in arrays)

    module = models.randomise(spec["make"](), seed)
    module.train(spec["export"].get("training") == TRAINING)
    model = export(spec, module, x[: spec["batch"]], folder / "model.onnx")
    found = name_map(model, module)
    adopt(module, model, found)

    golden = {
        "model": name,
        "torch": torch.__version__.partition("+")[0],
        "exporter": spec["exporter"],
        "opset": next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx")),
        "batch": spec["batch"],
        "steps": STEPS,
        "inputs": {spec["names"][0]: "input.npy"},
        "target": "target.npy",
        "output": spec["names"][1],
        "loss": spec["loss"],
        "options": [word for option in spec.get("options", []) for word in option],
        "inference_loss": forward_loss(model, spec, module, x, target),
        "initialisers": {i: {"torch": t, "transposed": tr} for i, (t, tr) in found.items()},
        "runs": [],
    }
    print(name)
    for run in spec["runs"]:
        golden["runs"].append(record(spec, model, found, x, target, run))
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")


def main():
    unknown = set(sys.argv[1:]) - set(MODELS)
    if unknown:
        sys.exit(f"unknown models {sorted(unknown)}; there are {sorted(MODELS)}")
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    onnxruntime.set_default_logger_severity(3)
    print(f"torch {torch.__version__}, onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}")
    for name, spec in MODELS.items():
        if not sys.argv[1:] or name in sys.argv[1:]:
            generate(name, spec)


if __name__ == "__main__":
    main()
