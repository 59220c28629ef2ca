"""What is compared: networks, batches, optimisers. Each is trained on random data; speed does not depend on it."""

import dataclasses
import pathlib
import sys
from typing import Callable

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "agreement" / "golden"))
import models  # noqa: E402  (the networks whose training onstage is known to reproduce)

SEED = 1
BATCHES = 4  # batches of data; they are gone through again and again


class WideMlp(nn.Module):
    """Three Linear layers with ReLU on [N, 784], the size usual for MNIST."""

    def __init__(self, width=1024):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
        )

    def forward(self, x):
        return self.layers(x)


class BertLayer(nn.Module):
    """A post-norm encoder layer, every token seeing every other."""

    def __init__(self, dim, heads, sdpa):
        super().__init__()
        self.heads, self.sdpa = heads, sdpa
        self.query, self.key, self.value, self.out = (nn.Linear(dim, dim) for _ in range(4))
        self.attention_norm = nn.LayerNorm(dim, eps=1e-12)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.norm = nn.LayerNorm(dim, eps=1e-12)

    def attend(self, x):
        n, t, dim = x.shape
        q, k, v = (p(x).view(n, t, self.heads, dim // self.heads).transpose(1, 2) for p in (self.query, self.key, self.value))
        if self.sdpa:
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            y = torch.softmax(q @ k.transpose(-2, -1) * (dim // self.heads) ** -0.5, dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(n, t, dim))

    def forward(self, x):
        x = self.attention_norm(x + self.attend(x))
        return self.norm(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    """BERT with the head that predicts words, tied to their embedding: int64 [N, T] -> logits [N, T, vocabulary]."""

    def __init__(self, vocabulary=30522, positions=512, layers=12, dim=768, heads=12, sdpa=False):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, dim)
        self.wpe = nn.Embedding(positions, dim)
        self.kind = nn.Parameter(torch.zeros(dim))
        self.norm = nn.LayerNorm(dim, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(dim, heads, sdpa) for _ in range(layers))
        self.transform, self.transform_norm = nn.Linear(dim, dim), nn.LayerNorm(dim, eps=1e-12)
        self.head = nn.Linear(dim, vocabulary)
        self.head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.norm(self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1])) + self.kind)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.transform_norm(F.gelu(self.transform(x))))


class Recurrent(nn.Module):
    """A language model: int64 [N, T] -> embedding, layers of `cell`, and logits [N, T, vocabulary]."""

    def __init__(self, cell, width, layers, vocabulary=65):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.body = cell(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.head(self.body(self.embedding(tokens))[0])


class Dlrm(nn.Module):
    """Dense features and tables, pairwise dot products of all, a click's logit: [N, 13], int64 [N, tables] -> [N]."""

    def __init__(self, tables=16, rows=10000, dim=32):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, dim) for _ in range(tables))
        self.bottom = nn.Sequential(
            nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, dim), nn.ReLU()
        )
        pairs = tables * (tables + 1) // 2
        self.top = nn.Sequential(nn.Linear(dim + pairs, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))
        rows, columns = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("pairs", rows * (tables + 1) + columns, persistent=False)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        vectors = torch.stack([x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([x, products[:, self.pairs]], 1)).squeeze(1)


def mobilenet_v2():
    return torchvision.models.MobileNetV2(dropout=0.0)


def vit_small():
    """Its attention is PyTorch's own, scaled_dot_product_attention within."""
    return torchvision.models.VisionTransformer(224, 16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536)


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def clicks(workload, count, generator):
    tables, rows = workload.shape[0], workload.classes
    return {
        "dense": torch.randn((count, 13), generator=generator),
        "sparse": torch.randint(rows, (count, tables), generator=generator),
    }


ADAMW = ("adamw", dict(lr=1e-3))
SGD = ("sgd", dict(lr=0.01, momentum=0.9, weight_decay=1e-4))


@dataclasses.dataclass
class Workload:
    what: str
    make: Callable  # of a transformer: takes sdpa
    shape: tuple  # of one sample; of a language model: (tokens,)
    batch: int
    classes: int
    optimizer: tuple = ADAMW
    is_transformer: bool = False
    reads_tokens: bool = False  # a language model
    loss: str = "cross_entropy"
    dynamic: bool = False  # batch axis symbolic in the file
    flags: tuple = ()
    frozen: Callable = lambda name: False
    inputs: Callable = None  # of itself, a count and a generator: arrays by name; default: `shape` and `classes` say what x is
    counted: tuple = None  # the shape of a sample whose instructions are counted, where the whole takes hours


def gpt(what, batch, tokens, vocabulary=65, dynamic=False, counted=None, **sizes):
    def make(sdpa=False):
        return models.Gpt(vocabulary=vocabulary, block=tokens, tied=True, sdpa=sdpa, **sizes)

    return Workload(what, make, (tokens,), batch, vocabulary, is_transformer=True, reads_tokens=True, dynamic=dynamic, counted=counted)


def recurrent(what, cell, batch, tokens, width, layers):
    return Workload(what, lambda: Recurrent(cell, width, layers), (tokens,), batch, 65, reads_tokens=True)


WORKLOADS = {
    "mlp": Workload("MLP 784-1024-1024-10", WideMlp, (784,), 128, 10),
    "mlp_small": Workload("MLP 20-64-48-10", models.Mlp, (20,), 16, 10),
    "lenet": Workload("LeNet-5, 28x28", models.LeNet, (1, 28, 28), 64, 10),
    "resnet18_cifar": Workload(
        "ResNet-18, 32x32", lambda: models.ResNet18(64, 10), (3, 32, 32), 32, 10, optimizer=SGD
    ),
    "resnet18_imagenet": Workload(
        "ResNet-18, 224x224", lambda: models.ResNet18(64, 1000), (3, 224, 224), 16, 1000, optimizer=SGD, counted=(3, 64, 64)
    ),
    "resnet18_small": Workload(
        "ResNet-18 of width 8, 32x32", models.ResNet18, (3, 32, 32), 8, 10, optimizer=SGD
    ),
    "gpt_char": gpt("GPT, 4 layers of 128, tied, T = 64", 32, 64, layers=4, dim=128, heads=4),
    "gpt_large": gpt("GPT, 6 layers of 384, tied, T = 128", 16, 128, counted=(32,), layers=6, dim=384, heads=6),
    "gpt_small": gpt("GPT, 2 layers of 48, tied, T = 24", 4, 24),
    "bert_base": Workload("BERT-base, T = 128", Bert, (128,), 8, 30522, is_transformer=True, reads_tokens=True, counted=(4,)),
    "lstm": recurrent("LSTM, 2 layers of 256, T = 64", nn.LSTM, 32, 64, 256, 2),
    "gru": recurrent("GRU, 2 layers of 256, T = 64", nn.GRU, 32, 64, 256, 2),
    "lstm_small": recurrent("LSTM, 1 layer of 32, T = 32", nn.LSTM, 1, 32, 32, 1),
    "frozen": Workload(
        "ResNet-18, 32x32, layer4 and fc trained", lambda: models.ResNet18(64, 10), (3, 32, 32), 32, 10, optimizer=SGD,
        flags=("--train", "layer4.*", "--train", "fc.*"), frozen=lambda name: not name.startswith(("layer4.", "fc.")),
    ),
    "mlp_frozen": Workload(
        "MLP 16-40-40-24-4, partly frozen, mse", models.MlpFrozen, (16,), 16, 4, loss="mse",
        flags=("--freeze", "encoder.*", "--train", "encoder.2.*"),
        frozen=lambda name: name.startswith("encoder.") and not name.startswith("encoder.2."),
    ),
    "dlrm": Workload(
        "DLRM, 16 tables of 10000 x 32", Dlrm, (16,), 256, 10000, optimizer=("sgd", dict(lr=0.1)), loss="bce_with_logits",
        inputs=clicks,
    ),
    "mobilenet_v2": Workload(
        "MobileNetV2, 224x224", mobilenet_v2, (3, 224, 224), 8, 1000, optimizer=SGD, counted=(3, 64, 64)
    ),
    "gpt2": gpt(
        "GPT-2 124M, T = 256", 4, 256, vocabulary=50257, counted=(8,), layers=12, dim=768, heads=12, gelu=gelu_tanh
    ),
    "vit_small": Workload("ViT-S/16, 224x224", vit_small, (3, 224, 224), 8, 1000),
    "cnn_dynamic": Workload(
        "CNN with BatchNorm, 16x16, dynamic batch", models.CnnDynamic, (3, 16, 16), 64, 10, dynamic=True
    ),
}


def build(workload, sdpa=False):
    """The network with the values that both sides start from."""
    torch.manual_seed(SEED)
    module = workload.make(sdpa=sdpa) if workload.is_transformer else workload.make()
    return models.randomise(module, SEED).train()


def data(workload):
    """Inputs by name, in the order in which the network takes them, and targets, of all batches."""
    generator = torch.Generator().manual_seed(SEED)
    count = BATCHES * workload.batch
    shape = (count, *workload.shape)
    if workload.inputs:
        x = workload.inputs(workload, count, generator)
    elif workload.reads_tokens:
        x = {"x": torch.randint(workload.classes, shape, generator=generator)}
    else:
        x = {"x": torch.randn(shape, generator=generator)}
    return x, targets(workload, count, generator)


def targets(workload, count, generator):
    if workload.loss == "mse":
        return torch.randn((count, workload.classes), generator=generator)
    if workload.loss == "bce_with_logits":
        return torch.randint(2, (count,), generator=generator).float()
    shape = (count, *workload.shape) if workload.reads_tokens else (count,)
    return torch.randint(workload.classes, shape, generator=generator)


def loss_of(workload, output, target):
    if workload.loss == "mse":
        return F.mse_loss(output, target)
    if workload.loss == "bce_with_logits":
        return F.binary_cross_entropy_with_logits(output, target)
    return F.cross_entropy(output.view(-1, output.shape[-1]), target.view(-1))


def export(workload, path):
    """The file as the README tells a user to make it."""
    inputs, _ = data(workload)
    axes = {name: {0: "batch"} for name in [*inputs, "y"]} if workload.dynamic else None
    torch.onnx.export(
        build(workload), tuple(x[: workload.batch] for x in inputs.values()), str(path), dynamo=False, opset_version=17,
        training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
        input_names=list(inputs), output_names=["y"], dynamic_axes=axes,
    )
