"""Names that are no UTF-8, as programs of Latin-1 write them: a file of names that a run reads again cannot hold them."""
import pathlib
import sys

import numpy
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from exported import export
from making import write_case


def main():
    torch.manual_seed(7)
    generator = numpy.random.default_rng(7)
    x = generator.normal(size=(8, 4)).astype("f")
    t = generator.integers(0, 3, 8)
    model = export(nn.Linear(4, 3), torch.tensor(x[:4]), "tracing")
    node = model.graph.node[0].name
    plain = model.SerializeToString()
    latin = {"weight": plain.replace(b"weight", b"w\xe9ight"), "node": plain.replace(node.encode(), node.encode()[:-1] + b"\xe9")}
    train = "train model.onnx --input x.npy --target t.npy --loss cross_entropy --optimizer sgd --lr 0.1 --batch 4 --threads 1"
    says = "the model has a name that is no UTF-8"

    for kind, bytes_of_model in latin.items():
        write_case(__file__, kind + "_checkpoint", bytes_of_model, {"x": x, "t": t}, train + " --checkpoint kept", None, [f"--checkpoint: {says}"], 3)
        write_case(__file__, kind + "_plan", bytes_of_model, {"x": x, "t": t}, "plan model.onnx --stages 2 --batch 4 --out plan.json", None, [f"--out: {says}"], 3)
        write_case(__file__, kind + "_trained", bytes_of_model, {"x": x, "t": t}, [train + " --out out.onnx", "check out.onnx"], None, ["out.onnx: can be trained"])
    umlaut = plain.replace(b"weight", "wich\u00fc".encode())
    write_case(__file__, "utf8_resumed", umlaut, {"x": x, "t": t},
               [train + " --steps 2 --checkpoint kept --out out.onnx", train + " --steps 4 --checkpoint kept --resume --out out.onnx"], None, ["step 4/4"])


main()
