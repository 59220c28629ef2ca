"""The networks of the GPU benchmarks, at the size in which people train them; three trainers of any of them fit into 80 GB together.

    models.py graphs FOLDER [NAME...]      FOLDER/NAME.onnx without weights, and NAME.json which says what they are (torch, onnx)
    models.py data FOLDER [NAME...]        NAME.bin, NAME.x.npy, NAME.target.npy: random weights and data (numpy alone)

Neither speed nor memory depends on weights and data. Both sides of a comparison start from the same file.
"""

import json
import math
import pathlib
import sys
from dataclasses import dataclass

import numpy

ROWS = 128  # a head's rows are a multiple of this
BATCHES = 2  # of data; they are gone through again and again
SEED = 1


@dataclass
class Workload:
    what: str
    batch: int
    classes: int
    shape: tuple  # of a sample; integers below `classes` where it is tokens
    tokens: bool
    unit: str  # what is counted a second
    units: int  # of them in a sample
    channels_last: bool = False

    @property
    def outputs(self):
        """Matrix units read rows of numbers only where they begin at aligned addresses, so trainings of such networks pad the
        vocabulary: embedding and head have rows that no token and no target ever names. Both sides of a comparison have them."""
        return -(-self.classes // ROWS) * ROWS if self.tokens else self.classes

    def make(self, name):
        return BUILDERS[name]()


def text(what, batch, tokens, vocabulary):
    return Workload(what, batch, vocabulary, (tokens,), True, "tokens", tokens)


def images(what, batch, channels_last=False):
    return Workload(what, batch, 1000, (3, 224, 224), False, "images", 1, channels_last)


WORKLOADS = {
    "gpt2": text("GPT-2 124M, T = 1024", 16, 1024, 50257),
    "resnet50": images("ResNet-50, 224 x 224", 128, channels_last=True),
    "bert_large": text("BERT-large, T = 512", 16, 512, 30522),
    "vit_l": images("ViT-L/16, 224 x 224", 64),
    "gpt2_medium": text("GPT-2 350M, T = 1024", 8, 1024, 50257),
    # For trying all this where there is no GPU.
    "tiny": text("GPT, 2 layers of 32, T = 16", 4, 16, 65),
    "tiny_vit": Workload("ViT, 2 layers of 32, 32 x 32", 4, 10, (3, 32, 32), False, "images", 1),
    "tiny_resnet": Workload("ResNet of 2 blocks, 32 x 32", 4, 10, (3, 32, 32), False, "images", 1, True),
}
BENCHMARKS = ("gpt2", "resnet50", "bert_large", "vit_l", "gpt2_medium")
BUILDERS = {}


def define():
    """The networks; apart, since numpy alone is needed for data."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, dim, heads, causal):
            super().__init__()
            self.heads, self.causal = heads, causal
            self.qkv = nn.Linear(dim, 3 * dim)
            self.proj = nn.Linear(dim, dim)

        def forward(self, x):
            n, t, dim = x.shape
            q, k, v = (
                part.view(n, t, self.heads, dim // self.heads).transpose(1, 2) for part in self.qkv(x).split(dim, dim=2)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
            return self.proj(y.transpose(1, 2).reshape(n, t, dim))

    class Layer(nn.Module):
        def __init__(self, dim, heads, causal=False, before=True, gelu="none"):
            super().__init__()
            self.before, self.gelu = before, gelu
            self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.attention = Attention(dim, heads, causal)
            self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

        def wide(self, x):
            return self.down(F.gelu(self.up(x), approximate=self.gelu))

        def forward(self, x):
            if self.before:
                x = x + self.attention(self.ln1(x))
                return x + self.wide(self.ln2(x))
            x = self.ln1(x + self.attention(x))
            return self.ln2(x + self.wide(x))

    class Text(nn.Module):
        """GPT (causal, norms before, GELU by tanh as in the original) and BERT (both ways, norms behind, GELU by erf); the head
        shares the embedding's weights."""

        def __init__(self, rows, tokens, dim, layers, heads, causal):
            super().__init__()
            gelu = "tanh" if causal else "none"
            self.word, self.place = nn.Embedding(rows, dim), nn.Parameter(torch.zeros(tokens, dim))
            self.layers = nn.ModuleList(Layer(dim, heads, causal, causal, gelu) for _ in range(layers))
            self.ln = nn.LayerNorm(dim)
            self.head = nn.Linear(dim, rows, bias=False)
            self.head.weight = self.word.weight
            self.causal = causal

        def forward(self, x):
            x = self.word(x) + self.place
            x = x if self.causal else self.ln(x)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.ln(x) if self.causal else x)

    class Vit(nn.Module):
        def __init__(self, size, patch, dim, layers, heads, classes):
            super().__init__()
            self.patches = nn.Conv2d(3, dim, patch, patch)
            self.token = nn.Parameter(torch.zeros(1, 1, dim))
            self.place = nn.Parameter(torch.zeros((size // patch) ** 2 + 1, dim))
            self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
            self.ln = nn.LayerNorm(dim)
            self.head = nn.Linear(dim, classes)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.place
            for layer in self.layers:
                x = layer(x)
            return self.head(self.ln(x)[:, 0])

    class Bottleneck(nn.Module):
        def __init__(self, channels, width, stride):
            super().__init__()
            out = 4 * width
            self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
            self.skip = nn.Sequential()
            if stride > 1 or channels != out:
                self.skip = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x):
            y = F.relu(self.bn1(self.conv1(x)))
            y = F.relu(self.bn2(self.conv2(y)))
            return F.relu(self.bn3(self.conv3(y)) + self.skip(x))

    class ResNet(nn.Module):
        def __init__(self, width, counts, classes):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
            blocks, channels = [], width
            for size, count in enumerate(counts):
                for number in range(count):
                    blocks.append(Bottleneck(channels, width << size, 2 if size > 0 and number == 0 else 1))
                    channels = 4 * (width << size)
            self.blocks = nn.Sequential(*blocks)
            self.head = nn.Linear(channels, classes)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
            return self.head(self.blocks(x).mean((2, 3)))

    BUILDERS.update(
        gpt2=lambda: Text(WORKLOADS["gpt2"].outputs, 1024, 768, 12, 12, True),
        gpt2_medium=lambda: Text(WORKLOADS["gpt2_medium"].outputs, 1024, 1024, 24, 16, True),
        bert_large=lambda: Text(WORKLOADS["bert_large"].outputs, 512, 1024, 24, 16, False),
        vit_l=lambda: Vit(224, 16, 1024, 24, 16, 1000),
        resnet50=lambda: ResNet(64, (3, 4, 6, 3), 1000),
        tiny=lambda: Text(WORKLOADS["tiny"].outputs, 16, 32, 2, 2, True),
        tiny_vit=lambda: Vit(32, 8, 32, 2, 2, 10),
        tiny_resnet=lambda: ResNet(8, (1, 1), 10),
    )


# ---------------------------------------------------------------- graphs


def example(workload):
    """Two samples: the batch is a dimension of the file that has no size."""
    import torch

    shape = (2, *workload.shape)
    return torch.zeros(shape, dtype=torch.int64) if workload.tokens else torch.zeros(shape)


def distinct(module):
    """Exporters join initialisers that are equal."""
    import torch

    torch.manual_seed(SEED)
    with torch.no_grad():
        for tensor in (*module.parameters(), *(b for b in module.buffers() if b.is_floating_point())):
            tensor.uniform_(0.5, 1.5)
    return module


def export(name, folder):
    import onnx
    import torch

    workload = WORKLOADS[name]
    path = folder / f"{name}.onnx"
    module = distinct(workload.make(name)).train()
    torch.onnx.export(
        module, (example(workload),), str(path), dynamo=False, opset_version=17,
        training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, input_names=["x"], output_names=["y"],
        dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}},
    )
    model = onnx.load(str(path))
    for leftover in folder.iterdir():  # weights that the exporter put beside the graph
        if leftover.suffix not in (".onnx", ".json", ".bin", ".npy") and leftover.is_file():
            leftover.unlink()
    strip(model, name, folder, {key for key, value in module.state_dict().items() if value.is_floating_point()})
    onnx.save(model, str(path))


def strip(model, name, folder, names):
    """Weights out of the file, into places in NAME.bin, which `data` fills; constants stay."""
    import onnx

    weights, at = [], 0
    for tensor in model.graph.initializer:
        shape = list(tensor.dims)
        if tensor.name not in names:
            if math.prod(shape) > 4096:
                sys.exit(f"{name}: '{tensor.name}' is no weight, and large")
            continue
        size = 4 * math.prod(shape)
        weights.append({"name": tensor.name, "offset": at, "shape": shape})
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
        tensor.ClearField("external_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", f"{name}.bin"), ("offset", at), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        at += (size + 63) // 64 * 64
    (folder / f"{name}.json").write_text(json.dumps({"batch": WORKLOADS[name].batch, "bytes": at, "weights": weights}))


# ---------------------------------------------------------------- data


def values(generator, name, shape):
    """As networks are initialised; no two are alike, since equal ones are taken for one."""
    count = math.prod(shape)
    if len(shape) == 1:
        around = 1.0 if name.endswith((".weight", "running_var")) else 0.0
        return around + 1e-3 * generator.standard_normal(count, dtype=numpy.float32)
    scale = math.sqrt(2.0 / math.prod(shape[1:])) if len(shape) == 4 else 0.02
    return scale * generator.standard_normal(count, dtype=numpy.float32)


def fill(name, folder):
    about = json.loads((folder / f"{name}.json").read_text())
    generator = numpy.random.default_rng(SEED)
    with open(folder / f"{name}.bin", "wb") as out:
        for weight in about["weights"]:
            out.seek(weight["offset"])
            out.write(numpy.ascontiguousarray(values(generator, weight["name"], weight["shape"]), numpy.float32).data)
        out.truncate(about["bytes"])
    workload = WORKLOADS[name]
    count = BATCHES * workload.batch
    if workload.tokens:
        x = generator.integers(workload.classes, size=(count, *workload.shape))
        target = generator.integers(workload.classes, size=(count, *workload.shape))
    else:
        x = generator.standard_normal((count, *workload.shape), dtype=numpy.float32)
        target = generator.integers(workload.classes, size=count)
    numpy.save(folder / f"{name}.x.npy", x)
    numpy.save(folder / f"{name}.target.npy", target)


def load(module, name, folder):
    """The file's weights into PyTorch's network."""
    import torch

    about = json.loads((folder / f"{name}.json").read_text())
    flat = numpy.fromfile(folder / f"{name}.bin", dtype=numpy.float32)
    places = {weight["name"]: weight for weight in about["weights"]}
    with torch.no_grad():
        for key, tensor in (*module.named_parameters(), *module.named_buffers()):
            if tensor.is_floating_point():
                start = places[key]["offset"] // 4
                tensor.copy_(torch.from_numpy(flat[start : start + tensor.numel()]).view(tensor.shape))
    return module


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("graphs", "data"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[1] == "graphs":
        define()
    for name in sys.argv[3:] or BENCHMARKS:
        export(name, folder) if sys.argv[1] == "graphs" else fill(name, folder)


if __name__ == "__main__":
    main()
