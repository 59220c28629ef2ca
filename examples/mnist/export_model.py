#!/usr/bin/env python3
"""Exports mnist_cnn.onnx, the untrained digit classifier that onstage trains.

    python3 export_model.py            writes mnist_cnn.onnx beside this script
    python3 export_model.py --train    also trains it in PyTorch as the example does, for comparison

Needs torch, onnx and numpy. Input `image` [batch, 1, 28, 28], output `logits` [batch, 10]; the batch
is a symbolic dimension. Three convolutions and two dense layers, 132,330 parameters.

The settings of the example, and of --train: rows 0:9000 of the MNIST test files to train, rows
9000:10000 to test, pixels normalised by their mean and deviation (33.3184, 78.5675),
    --normalize image=33.3184,78.5675 --loss cross_entropy --optimizer adamw --lr 2e-3
    --lr-schedule cosine --warmup 50 --batch 64 --epochs 5 --shuffle
PyTorch reaches 98.6 to 98.8 % with these.
"""

import gzip
import math
import pathlib
import sys
import time

import torch
from torch import nn

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "data" / "mnist"
MEAN, DEVIATION = 33.3184, 78.5675


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 24, 5, padding=2)
        self.conv2 = nn.Conv2d(24, 48, 5, padding=2)
        self.conv3 = nn.Conv2d(48, 64, 3, padding=1)
        self.fc1 = nn.Linear(64 * 3 * 3, 128)
        self.fc2 = nn.Linear(128, 10)
        self.pool = nn.MaxPool2d(2)

    def forward(self, image):
        x = self.pool(torch.relu(self.conv1(image)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = self.pool(torch.relu(self.conv3(x)))
        return self.fc2(torch.relu(self.fc1(torch.flatten(x, 1))))


def export(model, path):
    torch.onnx.export(
        model, (torch.zeros(1, 1, 28, 28),), str(path), dynamo=False, opset_version=17,
        input_names=["image"], output_names=["logits"],
        dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
    )


def read_idx(name, header):
    return torch.frombuffer(bytearray(gzip.open(DATA / name).read()[header:]), dtype=torch.uint8)


def train(model, epochs=5, batch=64, lr=2e-3, warmup=50):
    images = (read_idx("t10k-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28).float() - MEAN) / DEVIATION
    labels = read_idx("t10k-labels-idx1-ubyte.gz", 8).long()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    total, step, start = epochs * math.ceil(9000 / batch), 0, time.time()
    for epoch in range(1, epochs + 1):
        for rows in torch.randperm(9000).split(batch):
            step += 1
            factor = step / warmup if step <= warmup else 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
            optimizer.param_groups[0]["lr"] = lr * factor
            loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(images[9000:]).argmax(1) == labels[9000:]).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.4f}, test accuracy {accuracy:.2%}, {time.time() - start:.1f} s")


def main():
    torch.manual_seed(0)
    model = DigitNet()
    export(model, HERE / "mnist_cnn.onnx")
    if sys.argv[1:] == ["--train"]:
        train(model)
    elif sys.argv[1:]:
        sys.exit("usage: export_model.py [--train]")


if __name__ == "__main__":
    main()
