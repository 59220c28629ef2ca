#!/usr/bin/env python3
"""Writes the models that hold their own loss, with PyTorch: python3 losses.py. cut_test.sh reads them."""

import pathlib

import onnx
import torch

FOLDER = pathlib.Path(__file__).resolve().parent


class Classifier(torch.nn.Module):
    """Its loss goes through a layer that nothing else reads; `right` needs the labels, too."""

    def __init__(self, right):
        super().__init__()
        self.a, self.b, self.t = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3), torch.nn.Linear(3, 3)
        self.register_buffer("w", torch.tensor([1.0, 2.0, 0.5]))
        self.right = right

    def forward(self, x, labels):
        logits = self.b(torch.relu(self.a(x)))
        loss = torch.nn.functional.cross_entropy(self.t(logits), labels, weight=self.w)
        return (loss, logits, (logits.argmax(-1) == labels).float()) if self.right else (loss, logits)


def write(name, right):
    torch.manual_seed(0)
    outputs = ["loss", "logits", "right"][: 2 + right]
    torch.onnx.export(
        Classifier(right), (torch.randn(12, 6), torch.randint(0, 3, (12,))), FOLDER / name, dynamo=False, opset_version=17,
        input_names=["x", "labels"], output_names=outputs, dynamic_axes={"x": {0: "n"}, "labels": {0: "n"}},
    )


write("loss_and_logits.onnx", False)
write("loss_logits_right.onnx", True)
alone = onnx.load(FOLDER / "loss_and_logits.onnx")
del alone.graph.output[1]
onnx.save(alone, FOLDER / "loss_alone.onnx")
