#!/usr/bin/env python3
"""Exports char_gpt.onnx, the untrained character-level GPT that onstage trains on tiny Shakespeare.

    python3 export_model.py            writes char_gpt.onnx beside this script
    python3 export_model.py --train    also trains it in PyTorch as the example does, for comparison

Needs torch, onnx and numpy. Input `tokens` int64 [batch, 64], output `logits` [batch, 64, 65]; the batch
is a symbolic dimension. Four layers of 128 dimensions and four heads, 818,176 parameters.

The settings of the example, and of --train: windows of 64 characters side by side, shuffled every epoch,
    --tokens train.bin --seq 64 --loss cross_entropy --batch 32 --steps 2000 --shuffle --clip-norm 1.0
    --optimizer adamw --lr 2e-3 --beta2 0.99 --weight-decay 0.1 --lr-schedule cosine --warmup 100
PyTorch reaches a validation loss of 1.66 with these (all of val.bin, windows side by side).
"""

import math
import pathlib
import sys
import time

import numpy
import torch
import torch.nn.functional as F
from torch import nn

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "data" / "shakespeare"
VOCABULARY, BLOCK, DIM, HEADS, LAYERS = 65, 64, 128, 4, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)
        self.ln2 = nn.LayerNorm(DIM)
        self.up = nn.Linear(DIM, 4 * DIM)
        self.down = nn.Linear(4 * DIM, DIM)
        self.register_buffer("future", torch.ones(BLOCK, BLOCK).triu(1).bool(), persistent=False)

    def attend(self, x):
        # Reshapes with a constant shape keep shape arithmetic out of the exported graph.
        q, k, v = (t.reshape(-1, BLOCK, HEADS, DIM // HEADS).transpose(1, 2) for t in self.qkv(x).split(DIM, dim=2))
        scores = (q @ k.transpose(2, 3)) * (1.0 / math.sqrt(DIM // HEADS))
        weights = torch.softmax(scores.masked_fill(self.future, float("-inf")), dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(-1, BLOCK, DIM))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class CharGpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, DIM)
        self.wpe = nn.Parameter(torch.empty(BLOCK, DIM))
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCABULARY, bias=False)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                residual = name.endswith(("proj.weight", "down.weight"))
                nn.init.normal_(p, 0.0, 0.02 / math.sqrt(2 * LAYERS) if residual else 0.02)
            else:
                # Not exactly 0 and 1: the exporter merges initialisers of equal value into one,
                # and a trainer would then have to take them for tied.
                nn.init.normal_(p, 1.0 if "ln" in name and name.endswith("weight") else 0.0, 1e-3)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


def export(model, path):
    torch.onnx.export(
        model, (torch.zeros(2, BLOCK, dtype=torch.int64),), str(path), dynamo=False, opset_version=17,
        input_names=["tokens"], output_names=["logits"],
        dynamic_axes={"tokens": {0: "batch"}, "logits": {0: "batch"}},
    )


def windows(name):
    """All windows of BLOCK characters side by side, and the same one character on."""
    stream = torch.from_numpy(numpy.fromfile(DATA / name, "<u2").astype(numpy.int64))
    count = (len(stream) - 1) // BLOCK
    return stream[: count * BLOCK].view(count, BLOCK), stream[1 : count * BLOCK + 1].view(count, BLOCK)


def evaluate(model, tokens, target):
    total = 0.0
    with torch.no_grad():
        for x, y in zip(tokens.split(128), target.split(128)):
            total += F.cross_entropy(model(x).view(-1, VOCABULARY), y.reshape(-1), reduction="sum").item()
    return total / target.numel()


def train(model, steps=2000, batch=32, lr=2e-3, warmup=100):
    tokens, target = windows("train.bin")
    held_out = windows("val.bin")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.99), weight_decay=0.1)
    step, spent = 0, 0.0
    while step < steps:
        for rows in torch.randperm(len(tokens)).split(batch):
            start = time.time()
            step += 1
            factor = step / warmup if step <= warmup else 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))
            optimizer.param_groups[0]["lr"] = lr * factor
            loss = F.cross_entropy(model(tokens[rows]).view(-1, VOCABULARY), target[rows].view(-1))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            spent += time.time() - start
            if step % 200 == 0 or step == steps:
                print(f"step {step}: loss {loss.item():.3f}, validation {evaluate(model, *held_out):.4f}, {spent:.0f} s", flush=True)
            if step == steps:
                return


def main():
    torch.manual_seed(0)
    model = CharGpt()
    export(model, HERE / "char_gpt.onnx")
    if sys.argv[1:] == ["--train"]:
        train(model)
    elif sys.argv[1:]:
        sys.exit("usage: export_model.py [--train]")


if __name__ == "__main__":
    main()
