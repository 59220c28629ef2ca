"""Modules as PyTorch exports them, and PyTorch's own losses of them. Used by KIND/generate.py."""
import copy
import io
import warnings

import numpy
import onnx
import torch
import torch.nn.functional as F

LOSSES = {
    "mse": F.mse_loss,
    "cross_entropy": lambda y, t: F.cross_entropy(y, t),
    "graph": lambda y, t: y,
}


def export(module, samples, way, names=("x",)):
    """`way`: "plain" (newer exporter, optimize=False), "default" (newer exporter) or "tracing" (the older one)."""
    warnings.filterwarnings("ignore")
    module = copy.deepcopy(module).eval()
    samples = samples if isinstance(samples, tuple) else (samples,)
    file = io.BytesIO()
    if way == "tracing":
        torch.onnx.export(module, samples, file, dynamo=False, input_names=list(names), output_names=["y"])
        model = onnx.load_from_string(file.getvalue())
    else:
        program = torch.onnx.export(
            module, samples, dynamo=True, optimize=way == "default", verbose=False, input_names=list(names), output_names=["y"])
        model = program.model_proto
    for node in model.graph.node:  # where the program stands on the machine that exports it
        kept = [entry for entry in node.metadata_props if not entry.key.endswith("stack_trace")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    return model


def losses_of(module, inputs, targets, loss, lr, batch, steps, double=False):
    """PyTorch's losses of plain SGD, batch by batch in the order of the arrays."""
    module = copy.deepcopy(module).train()
    convert = lambda array: torch.from_numpy(numpy.ascontiguousarray(array))
    if double:
        module = module.double()
        raise_to = lambda tensor: tensor.double() if tensor.is_floating_point() else tensor
    else:
        raise_to = lambda tensor: tensor
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=lr)
    losses = []
    for step in range(steps):
        rows = slice(step * batch, (step + 1) * batch)
        given = [raise_to(convert(array[rows])) for array in inputs]
        target = None if targets is None else raise_to(convert(targets[rows]))
        value = LOSSES[loss](module(*given), target)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def command(loss, lr, batch, steps, names=("x",), target=True, more=""):
    inputs = " ".join(f"--input {name}={name}.npy" for name in names)
    target = " --target t.npy" if target else ""
    return (f"train model.onnx {inputs}{target} --loss {loss} --optimizer sgd --lr {lr} --batch {batch} --steps {steps} --no-shuffle "
            f"--threads 1 --log-json log.json --out out.onnx{more}")
