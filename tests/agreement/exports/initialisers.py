#!/usr/bin/env python3
"""Tells, of what exports.py --keep kept, where the weights of a file are not the parameters of PyTorch.

    python3 tests/agreement/exports/initialisers.py --keep DIR [--way default] [NETWORK ...]

For each network: what onstage trains though no parameter has that name, with what it holds, who reads it, and what it was
made of (where the plain export computes a value of that name); the parameters that PyTorch trains and onstage does not; and the
number of those that are in the file under another name.
"""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess

import numpy
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[3]


def inspect(onstage, model):
    """Name and what it is taken for, of every initialiser; and the remarks at the end."""
    text = subprocess.run([str(onstage), "inspect", str(model)], capture_output=True, text=True).stdout
    taken = {}
    for line in text.partition("\ninitialisers\n")[2].splitlines():
        found = re.match(r"  (\S+)\s+[a-z]\w*\[[\d,]*\]\s+(.*)", line)
        if not found:
            break
        taken[found[1]] = found[2]
    return taken, [line.strip() for line in text.partition("\nassumed\n")[2].splitlines()]


def signature(array):
    return hashlib.sha1(numpy.sort(array.astype(numpy.float32), axis=None).tobytes()).hexdigest()[:16]


def contents(a):
    values = numpy.unique(a)
    if len(values) == 1:
        return f"all {values[0]:g}"
    words = []
    if len(values) <= 4:
        words.append("only " + ", ".join(f"{v:g}" for v in values))
    words += [f"equal slices along axis {i}" for i in range(a.ndim) if a.shape[i] > 1 and (a == a.take([0], i)).all()]
    steps = numpy.diff(values)
    if len(values) > 2 and numpy.allclose(steps, steps[0], rtol=1e-3):
        words.append("evenly spaced")
    if a.ndim >= 2 and a.shape[-1] == a.shape[-2] and (a == a.swapaxes(-1, -2)).all():
        words.append("symmetric")
    words.append(f"{len(values)} values of {a.size}, {values[0]:.3g} to {values[-1]:.3g}")
    return "; ".join(words)


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def origin(graph, name):
    """Operators and initialisers that a value is computed from; empty where there is no such value."""
    makers = {out: node for node in nodes_of(graph) for out in node.output}
    kept = {t.name for t in graph.initializer}
    operators, sources, queue, seen = [], [], [name], set()
    while queue:
        value = queue.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in kept:
            sources.append(value)
        elif value in makers:
            if makers[value].op_type != "Constant":
                operators.append(makers[value].op_type)
            queue += makers[value].input
        elif value:
            return ""  # an input of the graph: not the same value
    if not operators:
        return ""
    named = [s for s in sources if not re.fullmatch(r"val_\d+|scalar\w*", s)]
    return f"{', '.join(dict.fromkeys(reversed(operators)))} of {', '.join(named) or 'constants'}"


def said(graph):
    """What the file itself says: of each tensor of the program PARAMETER or BUFFER, and of each folded tensor what it was made of."""
    kinds, made = {}, {}
    signature_text = next((p.value for p in graph.metadata_props if p.key == "pkg.torch.export.ExportedProgram.graph_signature"), "")
    for line in signature_text.splitlines():
        found = re.match(r"\w+: (PARAMETER|BUFFER|CONSTANT_TENSOR) target='(.*?)'", line)
        if found:
            kinds[found[2]] = found[1]
    for value in graph.value_info:
        for p in value.metadata_props:
            if p.key == "pkg.onnxscript.optimizer.folded_from":
                made[value.name] = p.value
    return kinds, made


def readers(graph, name):
    found = []
    for node in nodes_of(graph):
        if name in node.input:
            others = ", ".join("-" if n != name else "*" for n in node.input)
            namespace = next((p.value for p in node.metadata_props if p.key == "namespace"), "")
            stack = next((p.value for p in node.metadata_props if p.key == "pkg.torch.onnx.stack_trace"), "").strip().splitlines()
            found.append(f"{node.op_type}({others}) {node.name}" + (f" [{node.doc_string}]" if node.doc_string else "") + (f" <{stack[-1].strip()}>" if stack else f" <{namespace[-80:]}>"))
    return found


def kind(text):
    """The same for texts that differ in numbers only."""
    return re.sub(r"-?\d[\d.]*(e-?\d+)?", "#", text)


def print_groups(groups, all_of_them):
    """One of each group of alike lines, and how many there are."""
    for texts in groups.values():
        for text in texts if all_of_them else texts[:1]:
            print("  " + text)
        if len(texts) > 1 and not all_of_them:
            print(f"      and {len(texts) - 1} more alike")


def folded_biases(names, tensors):
    """Biases that the exporter made where it folded a BatchNorm."""
    return {name for name in names if name.endswith("_bias") and name.removesuffix("_bias") in tensors}


def report(options, folder):
    path = folder / options.way / "model.onnx"
    if not path.exists():
        return
    expected = json.loads((folder / "expected.json").read_text())
    taken, remarks = inspect(options.onstage, path)
    model = onnx.load(str(path))
    plain_path = folder / "plain" / "model.onnx"
    plain = onnx.load(str(plain_path), load_external_data=False).graph if plain_path.exists() else None
    arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    kinds, folded_from = said(model.graph)
    tensors, buffers = expected["tensors"], expected["buffers"]
    by_values = {mark: "buffer " + name for name, (_, mark) in buffers.items()}
    by_values.update({mark: name for name, (_, _, mark) in tensors.items()})
    trained = {name for name, what in taken.items() if what.endswith("weight")}
    folded = folded_biases(trained, tensors)
    print(f"== {folder.name}, {options.way}: {len(trained)} trained, PyTorch trains {sum(t[1] for t in tensors.values())} of {len(tensors)}")
    present, places, groups = set(), {}, {}
    for name in sorted(trained - folded):
        if name in tensors:
            present.add(name)
            places.setdefault(name, []).append(name)
            if not tensors[name][1]:
                groups.setdefault("no gradient " + kind(name), []).append(f"trained, though PyTorch gives it no gradient: {name}")
            continue
        a = arrays[name]
        same = by_values.get(signature(a)) or by_values.get(signature(numpy.unique(a)))
        if same and not same.startswith("buffer "):
            present.add(same)
            if a.size == numpy.prod(tensors[same][0]):
                places.setdefault(same, []).append(name)
                continue
        made = origin(plain, name) if plain is not None else ""
        text = f"+ {name} {list(a.shape)}: " + (f"values of {same}; " if same else "") + contents(a) + (f"; made by {made}" if made else "")
        about = [f"the file says: {kinds[name]}"] if name in kinds else [f"the file says: folded from {folded_from[name]}"] if name in folded_from else []
        lines = [text] + about + [f"read by {reader}" for reader in readers(model.graph, name)[:3]]
        groups.setdefault(kind(" ".join([name, made] + lines[1:])), []).append("\n        ".join(lines))
    print_groups(groups, options.all)
    renamed = sum(names != [parameter] for parameter, names in places.items())
    print(f"  {renamed} parameters under another name, transposed or not; {len(folded)} BatchNorms folded")
    groups = {}
    for parameter, names in places.items():
        if len(names) > 1:
            groups.setdefault(kind(parameter), []).append(f"{len(names)} copies of {parameter}: {', '.join(names)}")
    for name, (shape, reached, _) in tensors.items():
        if name not in present and reached:
            why = taken.get(name, "not in the file")
            groups.setdefault(kind(name + why), []).append(f"- {name} {shape}: {why}")
    print_groups(groups, options.all)
    groups = {}
    for line in remarks:
        groups.setdefault(kind(line), []).append(f"remark: {line}")
    print_groups(groups, options.all)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--keep", type=pathlib.Path, required=True)
    parser.add_argument("--way", default="default")
    parser.add_argument("--all", action="store_true", help="every tensor, instead of one of those whose names differ in numbers only")
    parser.add_argument("--onstage", default=ROOT / "bazel-bin" / "tools" / "onstage")
    options = parser.parse_args()
    for folder in sorted(options.keep.iterdir()):
        if (folder / "expected.json").exists() and (not options.networks or folder.name in options.networks):
            report(options, folder)


if __name__ == "__main__":
    main()
