"""The networks whose training is recorded as golden values.

Each is small, and each stands for a habit of exported models that a trainer must
understand: tied weights, frozen parts, decomposed normalisation, folded and transposed
weights, dynamic batch, BatchNorm in training and in inference form.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models.resnet import BasicBlock


class Mlp(nn.Module):
    """Three Linear layers with ReLU and Tanh: [N, 20] -> [N, 10]."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 64)
        self.fc2 = nn.Linear(64, 48)
        self.fc3 = nn.Linear(48, 10)

    def forward(self, x):
        return self.fc3(torch.tanh(self.fc2(torch.relu(self.fc1(x)))))


class MlpFrozen(nn.Module):
    """A regression net whose encoder is frozen but for its middle layer: [N, 16] -> [N, 4]."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(16, 40), nn.ReLU(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 24), nn.ReLU()
        )
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        return self.head(self.encoder(x))


class LeNet(nn.Module):
    """LeNet-5 on [N, 1, 28, 28]: one stage with Tanh and AvgPool, one with ReLU and MaxPool."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.avg_pool2d(torch.tanh(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


class ResNet18(nn.Module):
    """torchvision's ResNet-18 (its BasicBlock, its names) with `width` channels instead of 64."""

    def __init__(self, width=8, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._layer(width, width, 1)
        self.layer2 = self._layer(width, width * 2, 2)
        self.layer3 = self._layer(width * 2, width * 4, 2)
        self.layer4 = self._layer(width * 4, width * 8, 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width * 8, classes)

    @staticmethod
    def _layer(fan_in, fan_out, stride):
        shortcut = None
        if stride != 1:
            shortcut = nn.Sequential(
                nn.Conv2d(fan_in, fan_out, 1, stride=stride, bias=False), nn.BatchNorm2d(fan_out)
            )
        return nn.Sequential(BasicBlock(fan_in, fan_out, stride, shortcut), BasicBlock(fan_out, fan_out))

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class CnnDynamic(nn.Module):
    """Conv, BatchNorm, a strided and a depthwise convolution on [N, 3, 16, 16], Dropout of 0."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(12)
        self.depthwise = nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False)
        self.bn2 = nn.BatchNorm2d(12, eps=1e-3, momentum=0.05)
        self.conv2 = nn.Conv2d(12, 24, 3, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(0.0)
        self.fc = nn.Linear(24, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.depthwise(x)))
        x = torch.relu(self.conv2(x))
        x = self.dropout(torch.flatten(self.pool(x), 1))
        return self.fc(x)


def gelu_tanh(x):
    """GELU as GPT-2 wrote it: exports as Pow, Mul, Add and Tanh."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Attention(nn.Module):
    """Causal self-attention; `sdpa` picks PyTorch's fused form, else masked_fill and softmax."""

    def __init__(self, dim, heads, block, sdpa):
        super().__init__()
        self.heads = heads
        self.sdpa = sdpa
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.tril(torch.ones(block, block)).bool(), persistent=False)

    def forward(self, x):
        n, t, dim = x.shape
        q, k, v = self.qkv(x).split(dim, dim=2)
        q = q.view(n, t, self.heads, dim // self.heads).transpose(1, 2)
        k = k.view(n, t, self.heads, dim // self.heads).transpose(1, 2)
        v = v.view(n, t, self.heads, dim // self.heads).transpose(1, 2)
        if self.sdpa:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(dim // self.heads))
            scores = scores.masked_fill(~self.mask[:t, :t], float("-inf"))
            y = torch.softmax(scores, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(n, t, dim))


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, dim, heads, block, gelu, sdpa, dropout):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = Attention(dim, heads, block, sdpa)
        self.ln2 = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)
        self.dropout = nn.Dropout(dropout)
        self.gelu = gelu

    def forward(self, x):
        x = x + self.dropout(self.attn(self.ln1(x)))
        return x + self.dropout(self.down(self.gelu(self.up(self.ln2(x)))))


class Gpt(nn.Module):
    """A decoder with learned positions: int64 [N, T] -> logits [N, T, vocabulary]."""

    def __init__(self, vocabulary=65, block=24, layers=2, dim=48, heads=4, tied=False, gelu=F.gelu, sdpa=False, dropout=0.0):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, dim)
        self.wpe = nn.Embedding(block, dim)
        self.blocks = nn.ModuleList(Block(dim, heads, block, gelu, sdpa, dropout) for _ in range(layers))
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocabulary, bias=False)
        if tied:
            self.head.weight = self.wte.weight

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


def randomise(model, seed):
    """Gives every parameter and running statistic distinct values.

    Exporters merge initialisers that are equal in value (all the ones of LayerNorm, all the
    zero biases), which in the file looks like tying; distinct values keep them apart.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                embedding = name.split(".")[0] in ("wte", "wpe")
                scale = 0.1 if embedding else 1.0 / math.sqrt(p[0].numel())
                p.copy_(scale * torch.randn(p.shape, generator=generator))
            else:
                one = name.endswith("weight")
                p.copy_(float(one) + 0.1 * torch.randn(p.shape, generator=generator))
                if isinstance(model, ResNet18) and name.endswith("bn2.weight"):
                    p.mul_(0.3)  # quiet residual branches: eight blocks on eight samples are chaotic otherwise
        for name, b in model.named_buffers():
            if name.endswith("running_mean"):
                b.copy_(0.1 * torch.randn(b.shape, generator=generator))
            elif name.endswith("running_var"):
                b.copy_(1.0 + 0.2 * torch.rand(b.shape, generator=generator))
    return model
