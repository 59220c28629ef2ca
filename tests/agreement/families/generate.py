#!/usr/bin/env python3
"""Writes golden training runs of many architecture families, as PyTorch's two exporters emit them.

    python3 tests/agreement/families/generate.py [FAMILY ...]

Needs the packages of requirements.txt; nothing that runs or tests onstage does. Each family gives a folder with
model.onnx, its arrays and golden.json, whose fields tests/agreement/golden/README.md describes. The weights of the file are found in
the module element by element: exporters transpose, permute, pack and slice them, and a norm does not mind.
"""

import json
import math
import pathlib
import sys
import warnings

import numpy
import onnx
import onnx.numpy_helper
import torch
import torch.nn.functional as F

from families import FAMILIES

HERE = pathlib.Path(__file__).parent
STEPS = 10
NOISE = 2e-5  # relative, float32 against float64: a golden loss must be known better than it is compared
GRADIENT_NOISE = 2e-4
ROUNDINGS = 20
TOLD = (
    "pkg.torch.export.ExportedProgram.graph_signature", "pkg.torch.export.graph_signature.InputSpec.kind",
    "pkg.onnxscript.optimizer.folded_from", "pkg.torch.onnx.name_scopes", "pkg.onnxscript.rewriter.rule_name",
)


def randomise(module, seed):
    """Distinct values everywhere: exporters merge equal initialisers, and elements are recognised by value."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            noise = torch.randn(p.shape, generator=generator)
            old = p.std() if p.numel() > 1 else torch.zeros(())
            if p.dim() > 1 and (old == 0 or not torch.isfinite(old) or old > 0.5):
                p.copy_(noise / math.sqrt(max(p[0].numel(), 8)))  # as after a fresh start
            else:
                p.add_(0.05 * noise)
    return module


def keep_metadata(item, keys):
    """Of what the exporter notes, that alone: the rest are paths and code of the machine that exported."""
    kept = [entry for entry in item.metadata_props if entry.key in keys]
    del item.metadata_props[:]
    item.metadata_props.extend(kept)


def export(family, module, inputs, path):
    names = list(inputs)
    sample = tuple(torch.from_numpy(a[: family.batch]) for a in inputs.values())
    if family.exporter == "torchscript":
        axes = {n: {0: "batch"} for n in names + ["output"]} if family.dynamic else None
        mode = torch.onnx.TrainingMode.TRAINING if family.training else torch.onnx.TrainingMode.EVAL
        torch.onnx.export(
            module, sample, str(path), dynamo=False, opset_version=family.opset, input_names=names, output_names=["output"],
            dynamic_axes=axes, training=mode, do_constant_folding=family.folding,
        )
    elif family.exporter == "default":
        torch.onnx.export(module, sample, str(path), input_names=names, output_names=["output"], external_data=False, verbose=False)
    else:
        batch = torch.export.Dim("batch", min=1, max=4096)
        shapes = tuple({0: batch} for _ in names) if family.dynamic else None
        torch.onnx.export(
            module, sample, str(path), dynamo=True, opset_version=family.opset, input_names=names, output_names=["output"],
            dynamic_shapes=shapes, external_data=False, verbose=False, optimize=family.folding,
        )
    model = onnx.load(path)
    for item in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer, model.graph):
        item.doc_string = ""
        keep_metadata(item, TOLD if family.exporter == "default" else ())
    for function in model.functions:
        for node in function.node:
            node.doc_string = ""
            del node.metadata_props[:]
    del model.metadata_props[:]
    model.producer_version = ""
    onnx.save(model, path)
    return model


def elements_of(model, module):
    """Initialiser name -> list of (parameter name, its flat indices), for initialisers made of parameters' elements."""
    parameters = [(n, p.detach().numpy().ravel()) for n, p in module.named_parameters()]
    values = numpy.concatenate([v for _, v in parameters])
    owners = numpy.repeat(numpy.arange(len(parameters)), [len(v) for _, v in parameters])
    places = numpy.concatenate([numpy.arange(len(v)) for _, v in parameters])
    order = numpy.argsort(values, kind="stable")
    found = {}
    for initialiser in model.graph.initializer:
        array = onnx.numpy_helper.to_array(initialiser)
        if array.dtype != numpy.float32 or array.size == 0:
            continue
        flat = array.ravel()
        whole = [n for n, v in parameters if len(v) == len(flat) and (numpy.sort(v) == numpy.sort(flat)).all()]
        if whole:  # as it is, transposed or permuted
            found[initialiser.name] = [(whole[0], numpy.arange(len(flat)))]
            continue
        at = numpy.minimum(numpy.searchsorted(values[order], flat), len(values) - 1)
        hit = values[order][at] == flat
        if hit.mean() < 0.99:
            continue
        owner, place = owners[order[at]], places[order[at]]
        counts = {k: int((owner[hit] == k).sum()) for k in numpy.unique(owner[hit])}
        members = [k for k, count in counts.items() if count > len(parameters[k][1]) // 2]
        if sum(len(parameters[k][1]) for k in members) == len(flat):  # several parameters packed into one
            found[initialiser.name] = [(parameters[k][0], numpy.arange(len(parameters[k][1]))) for k in members]
        else:
            found[initialiser.name] = [(parameters[k][0], place[hit & (owner == k)]) for k in counts]
    return found


def one_for_each_parameter(found):
    """Elements that a file repeats, or has a second time transposed, are one weight."""
    kept, seen = {}, set()
    for name, parts in sorted(found.items(), key=lambda item: "val_" in item[0]):
        if all(p in seen for p, _ in parts):
            continue
        seen.update(p for p, _ in parts)
        kept[name] = [(p, numpy.unique(places)) for p, places in parts]
    return kept


def loss_of(family, output, target):
    if family.loss == "mse":
        return F.mse_loss(output, target)
    if family.loss == "bce_with_logits":
        return F.binary_cross_entropy_with_logits(output, target)
    if family.class_axis == 1 or output.dim() == 2:
        return F.cross_entropy(output, target)
    return F.cross_entropy(output.reshape(-1, output.shape[-1]), target.reshape(-1))


OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def train(family, state, inputs, target, settings, dtype):
    """The losses of all steps and the gradients of the first."""
    module = family.make()
    module.load_state_dict(state)
    module.to(dtype)
    module.train() if family.statistics else module.eval()
    tensors = [torch.from_numpy(a) for a in inputs.values()]
    tensors = [t.to(dtype) if t.is_floating_point() else t for t in tensors]
    answer = torch.from_numpy(target)
    answer = answer.to(dtype) if answer.is_floating_point() else answer
    optimizer = OPTIMIZERS[family.optimizer](module.parameters(), **settings)
    losses, gradients = [], None
    batches = len(target) // family.batch
    for step in range(STEPS):
        rows = slice(step % batches * family.batch, (step % batches + 1) * family.batch)
        optimizer.zero_grad()
        loss = loss_of(family, module(*(t[rows] for t in tensors)), answer[rows])
        loss.backward()
        if gradients is None:
            gradients = {n: p.grad.detach().double().numpy().ravel().copy() for n, p in module.named_parameters() if p.grad is not None}
        optimizer.step()
        losses.append(loss.item())
    return losses, gradients


def norms_of(found, gradients):
    norms = {}
    for name, parts in found.items():
        if all(p in gradients for p, _ in parts):
            norms[name] = math.sqrt(sum(float((gradients[p][places] ** 2).sum()) for p, places in parts))
    return norms


def spelled(family, settings):
    words = ["--optimizer", family.optimizer]
    for key, value in settings.items():
        words += ["--" + key.replace("_", "-"), format(value, "g")]
    return words


def rounded(state, seed):
    """The weights as another order of additions might have left them: each off by about one rounding of float32."""
    generator = torch.Generator().manual_seed(seed)
    return {
        n: v + v.abs() * 2**-24 * torch.randn(v.shape, generator=generator) if v.is_floating_point() else v
        for n, v in state.items()
    }


def quiet_run(family, state, inputs, target):
    """Halves the learning rate until float32 follows float64 closely enough, whichever way it rounds: where an
    activation is within a rounding of a kink, some ways follow for a while and then leave."""
    for attempt in range(8):
        settings = dict(family.settings, lr=family.settings["lr"] * 0.5**attempt)
        double, exact = train(family, state, inputs, target, settings, torch.float64)
        single, gradients = train(family, state, inputs, target, settings, torch.float32)
        runs = [single] + [train(family, rounded(state, k), inputs, target, settings, torch.float32)[0] for k in range(ROUNDINGS)]
        noise = max(abs(a - b) / abs(b) for run in runs for a, b in zip(run, double))
        if noise <= NOISE:
            return settings, double, exact, gradients, noise
    raise SystemExit(f"{family.name}: too noisy for golden values: {noise:g}")


def generate(family):
    folder = HERE / family.name
    folder.mkdir(exist_ok=True)
    torch.manual_seed(family.seed)
    module = randomise(family.make(), family.seed)
    inputs, target = family.data(numpy.random.default_rng(family.seed))
    module.train(family.training)
    state = {k: v.clone() for k, v in module.state_dict().items()}
    model = export(family, module, inputs, folder / "model.onnx")
    module.load_state_dict(state)
    found = elements_of(model, module)
    if family.exporter == "default":
        found = one_for_each_parameter(found)
    settings, losses, exact, single, noise = quiet_run(family, state, inputs, target)
    norms, rough = norms_of(found, exact), norms_of(found, single)
    noisy = [n for n in norms if abs(norms[n] - rough[n]) > GRADIENT_NOISE * max(norms[n], 1e-3)]
    if noisy:
        raise SystemExit(f"{family.name}: gradients too noisy: {noisy}")
    frozen = [n for n in found if n not in norms]  # fixed tables that PyTorch does not train either
    for name, array in inputs.items():
        numpy.save(folder / f"{name}.npy", array)
    numpy.save(folder / "target.npy", target)
    golden = {
        "model": family.name, "what": family.what, "torch": torch.__version__.partition("+")[0], "exporter": family.exporter,
        "opset": next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx")),
        "folding": family.folding, "dynamic": family.dynamic, "training": family.training,
        "batch": family.batch, "steps": STEPS, "inputs": {n: f"{n}.npy" for n in inputs}, "target": "target.npy",
        "output": model.graph.output[0].name, "loss": family.loss, "options": family.options + [word for name in frozen for word in ("--freeze", name)],
        "operators": sorted({n.op_type for n in model.graph.node} | {n.op_type for f in model.functions for n in f.node}),
        "runs": [{
            "flags": spelled(family, settings), "noise": float(f"{noise:.1e}"), "losses": losses, "grad_norms": norms,
            "grad_norm": math.sqrt(sum(v * v for v in norms.values())), "final_norms": {},
        }],
    }
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    missing = sorted({n for n in exact} - {p for parts in found.values() for p, _ in parts})
    print(f"{family.name:18} {family.exporter:11} {golden['opset']:3} {losses[0]:.4f} -> {losses[-1]:.4f} {settings} noise {noise:.1e}", missing)


def main():
    unknown = set(sys.argv[1:]) - {f.name for f in FAMILIES}
    if unknown:
        sys.exit(f"unknown families {sorted(unknown)}; there are {[f.name for f in FAMILIES]}")
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    failures = []
    for family in FAMILIES:
        if sys.argv[1:] and family.name not in sys.argv[1:]:
            continue
        try:
            generate(family)
        except (Exception, SystemExit) as error:  # all families are tried, then the failures are named together
            failures.append(f"{family.name}: {type(error).__name__}: {str(error)[:400]}")
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
