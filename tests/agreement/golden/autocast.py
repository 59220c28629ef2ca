#!/usr/bin/env python3
"""How far PyTorch's own autocast leaves the golden losses: `autocast.py bfloat16 golden/resnet18 families/clip`.

Some of the models amplify roundings from step to step, most of all those that normalise small batches: the distance then
is another one for weights that differ in their last bits. So the largest of several such runs is printed. golden_test.c
holds these models in lower precision to that, and all others to 1e-2."""

import importlib.util
import json
import pathlib
import sys
import types
import warnings

import numpy
import torch

HERE = pathlib.Path(__file__).resolve().parent
RUNS = 40


def load(folder):
    """The generate.py of a folder of golden models."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location(f"generate_{folder.name}", folder / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_autocast(make, dtype):
    def made():
        module = make()
        forward = module.forward

        def cast(*arguments):
            with torch.autocast("cpu", dtype=dtype):
                return forward(*arguments).float()

        module.forward = cast
        return module

    return made


def golden_losses(name, folder, dtype, perturb):
    import onnx

    generate = load(HERE)
    spec = generate.MODELS[name]
    x, target = (torch.from_numpy(numpy.load(folder / f"{f}.npy")) for f in ("input", "target"))
    seed = spec.get("seed", 1)
    torch.manual_seed(seed)
    module = generate.models.randomise(spec["make"](), seed)
    module.train(spec["export"].get("training") == generate.TRAINING)
    model = onnx.load(folder / "model.onnx")
    found = generate.name_map(model, module)
    spec = dict(spec, make=in_autocast(spec["make"], dtype))
    return generate.train(spec, model, found, x, target, spec["runs"][0], torch.float32, perturb)["losses"]


def family_losses(name, golden, dtype, perturb):
    generate = load(HERE.parent / "families")
    family = next(f for f in generate.FAMILIES if f.name == name)
    torch.manual_seed(family.seed)
    module = generate.randomise(family.make(), family.seed)
    inputs, target = family.data(numpy.random.default_rng(family.seed))
    state = {k: v.clone() for k, v in module.state_dict().items()}
    if perturb:
        generator = torch.Generator().manual_seed(perturb)
        for v in state.values():
            if v.is_floating_point():
                v.mul_(1.0 + 6e-8 * torch.randn(v.shape, generator=generator))
    flags = golden["runs"][0]["flags"]
    settings = dict(family.settings, lr=float(flags[flags.index("--lr") + 1]))
    cast = types.SimpleNamespace(**{k: getattr(family, k) for k in dir(family) if not k.startswith("__")})
    cast.make = in_autocast(family.make, dtype)
    return generate.train(cast, state, inputs, target, settings, torch.float32)[0]


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    dtype = getattr(torch, sys.argv[1])
    for place in sys.argv[2:]:
        folder = HERE.parent / place
        golden = json.loads((folder / "golden.json").read_text())
        should = golden["runs"][0]["losses"]
        far = []
        for perturb in range(RUNS):
            if folder.parent.name == "golden":
                losses = golden_losses(folder.name, folder, dtype, perturb)
            else:
                losses = family_losses(folder.name, golden, dtype, perturb)
            far.append(max(abs(a - b) / abs(b) for a, b in zip(losses, should)))
        print(place, sys.argv[1], f"{max(far):.2g}", "of", " ".join(f"{each:.2g}" for each in far))


if __name__ == "__main__":
    main()
