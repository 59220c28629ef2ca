#!/usr/bin/env python3
"""Exports the small deep models of the pipeline benchmarks, untrained, with a symbolic batch.

    python3 export_models.py [bert] [resnet] [plain]     all of these where none is named; each FILE.onnx beside this script
    python3 export_models.py vit gpt resnet18 words    too large to be kept

    bert    24 post-norm encoder layers as in BERT-large, but 48 wide; `tokens` int64 [batch, 64], `logits` [batch, 64, 65]
    resnet  residual blocks of two convolutions with batch normalisation, 5 at each of three sizes (ResNet-32 of the paper
            on CIFAR, half as wide); `image` float32 [batch, 1, 28, 28], `logits` [batch, 10]
    plain   16 such blocks of one size, so that it can be cut into equal halves; the same input and output
    vit     6 pre-norm encoder layers, 384 wide, over 49 patches of 4 x 4; the same input and output
    gpt     6 causal layers of 384, as a GPT for characters; `tokens` int64 [batch, 64], `logits` [batch, 64, 65]
    words   2 such layers of 192 before 32,768 words: the table and the head are nine tenths of the model; `tokens` int64
            [batch, 64], `logits` [batch, 64, 32768]
    resnet18  ResNet-18 for small pictures; the same input and output as `resnet`

Deep and narrow: what a pipeline's memory is made of are activations, as in training of large models, and a step takes
fractions of a second. Needs torch and onnx.
"""

import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

HERE = pathlib.Path(__file__).parent
VOCABULARY, TOKENS, WIDTH, HEADS, LAYERS = 65, 64, 48, 4, 24


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.ln1 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.ln2 = nn.LayerNorm(WIDTH)

    def forward(self, x):
        split = lambda t: t.reshape(-1, TOKENS, HEADS, WIDTH // HEADS).transpose(1, 2)
        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        weights = torch.softmax(q @ k.transpose(2, 3) * (1.0 / math.sqrt(WIDTH // HEADS)), dim=-1)
        x = self.ln1(x + self.project((weights @ v).transpose(1, 2).reshape(-1, TOKENS, WIDTH)))
        return self.ln2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Parameter(torch.empty(TOKENS, WIDTH))
        self.ln = nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(EncoderLayer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.ln(self.word(tokens) + self.position)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class PreNormLayer(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.project = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.width, self.heads, self.causal = width, heads, causal

    def attend(self, x, length):
        split = lambda t: t.reshape(-1, length, self.heads, self.width // self.heads).transpose(1, 2)
        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = q @ k.transpose(2, 3) * (1.0 / math.sqrt(self.width // self.heads))
        if self.causal:
            scores = scores + torch.triu(torch.full((length, length), -1e9), diagonal=1)
        mixed = torch.softmax(scores, dim=-1) @ v
        return self.project(mixed.transpose(1, 2).reshape(-1, length, self.width))

    def forward(self, x, length):
        x = x + self.attend(self.ln1(x), length)
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class Vit(nn.Module):
    def __init__(self, width=384, layers=6, heads=6):
        super().__init__()
        self.patches = nn.Conv2d(1, width, 4, 4)
        self.position = nn.Parameter(torch.empty(49, width))
        self.layers = nn.ModuleList(PreNormLayer(width, heads, False) for _ in range(layers))
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2) + self.position
        for layer in self.layers:
            x = layer(x, 49)
        return self.head(self.ln(x).mean(1))


class Gpt(nn.Module):
    def __init__(self, width=384, layers=6, heads=6, words=VOCABULARY):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.position = nn.Parameter(torch.empty(TOKENS, width))
        self.layers = nn.ModuleList(PreNormLayer(width, heads, True) for _ in range(layers))
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        x = self.word(tokens) + self.position
        for layer in self.layers:
            x = layer(x, TOKENS)
        return self.head(self.ln(x))


class Block(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.skip = nn.Conv2d(channels, out, 1, stride, bias=False) if stride > 1 or channels != out else nn.Identity()

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.skip(x))


class ResNet(nn.Module):
    def __init__(self, first_stride, sizes):
        super().__init__()
        channels = sizes[0][0]
        self.stem = nn.Conv2d(1, channels, 3, first_stride, 1, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        blocks = []
        for index, (out, count) in enumerate(sizes):
            for number in range(count):
                blocks.append(Block(channels, out, 2 if index > 0 and number == 0 else 1))
                channels = out
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, 10)

    def forward(self, image):
        x = self.blocks(F.relu(self.bn(self.stem(image))))
        return self.head(x.mean((2, 3)))


def start(model):
    """No two initialisers are equal: the exporter would merge them, and a trainer take them for tied."""
    torch.manual_seed(1)
    for name, p in model.named_parameters():
        if p.dim() > 2:
            nn.init.normal_(p, 0.0, math.sqrt(2.0 / p[0].numel()))
        elif p.dim() == 2:
            nn.init.normal_(p, 0.0, 0.02 if "word" in name or "position" in name else 1.0 / math.sqrt(p.shape[1]))
        else:
            nn.init.normal_(p, 1.0 if ("ln" in name or "bn" in name) and name.endswith("weight") else 0.0, 1e-3)
    for name, buffer in model.named_buffers():
        if buffer.dim() > 0:
            buffer.add_(1e-3 * torch.rand_like(buffer))
    return model


MODELS = {
    "bert": (Bert, "tokens", lambda: torch.zeros(2, TOKENS, dtype=torch.int64)),
    "resnet": (lambda: ResNet(1, [(8, 5), (16, 5), (32, 5)]), "image", lambda: torch.zeros(2, 1, 28, 28)),
    "plain": (lambda: ResNet(2, [(32, 16)]), "image", lambda: torch.zeros(2, 1, 28, 28)),
}
LARGE = {
    "vit": (Vit, "image", lambda: torch.zeros(2, 1, 28, 28)),
    "gpt": (Gpt, "tokens", lambda: torch.zeros(2, TOKENS, dtype=torch.int64)),
    "words": (lambda: Gpt(192, 2, 6, 32768), "tokens", lambda: torch.zeros(2, TOKENS, dtype=torch.int64)),
    "resnet18": (lambda: ResNet(1, [(64, 2), (128, 2), (256, 2), (512, 2)]), "image", lambda: torch.zeros(2, 1, 28, 28)),
}


def main():
    for name in sys.argv[1:] or MODELS:
        make, given, example = {**MODELS, **LARGE}[name]
        torch.onnx.export(
            start(make()).train(), (example(),), str(HERE / f"{name}.onnx"), dynamo=False, opset_version=17,
            training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, input_names=[given],
            output_names=["logits"], dynamic_axes={given: {0: "batch"}, "logits": {0: "batch"}},
        )


if __name__ == "__main__":
    main()
