"""The families: a network, its data, and how it is exported."""

import dataclasses
import typing

import language
import numpy
import vision


@dataclasses.dataclass
class Family:
    name: str
    what: str
    make: typing.Callable
    data: typing.Callable  # of a random generator -> {input name: array}, target
    exporter: str = "torchscript"
    opset: int = 17
    training: bool = False  # exported in training form
    statistics: bool = False  # BatchNorm normalises by the batch
    folding: bool = True
    dynamic: bool = True
    batch: int = 4
    loss: str = "cross_entropy"
    class_axis: int = -1
    optimizer: str = "adamw"
    settings: dict = dataclasses.field(default_factory=lambda: dict(lr=1e-3))
    options: list = dataclasses.field(default_factory=list)
    seed: int = 1


SAMPLES = 8
SGD = dict(optimizer="sgd", settings=dict(lr=0.02, momentum=0.9))
ADAM = dict(optimizer="adam")
STATISTICS_BACK = dict(statistics=True, options=["--batchnorm", "train"])
TRAINED_STATISTICS = dict(training=True, statistics=True, folding=False, dynamic=False)


def image(size=32, classes=10, channels=3):
    def data(rng):
        target = rng.integers(0, classes, SAMPLES)
        x = rng.standard_normal((SAMPLES, channels, size, size)) + target[:, None, None, None] / classes
        return {"image": x.astype(numpy.float32)}, target

    return data


def segmentation(size, classes):
    def data(rng):
        x = rng.standard_normal((SAMPLES, 3, size, size)).astype(numpy.float32)
        return {"image": x}, rng.integers(0, classes, (SAMPLES, size, size))

    return data


def tokens(length, vocabulary, name="input_ids"):
    def data(rng):
        x = rng.integers(0, vocabulary, (SAMPLES, length + 1))
        return {name: x[:, :-1].copy()}, x[:, 1:].copy()

    return data


def sentences(rng):
    x = rng.integers(1, 48, (SAMPLES, 12))  # PyTorch gives the row of the padding token, 0, no gradient: a file cannot say so
    mask = (numpy.arange(12)[None] < rng.integers(6, 13, SAMPLES)[:, None]).astype(numpy.int64)
    return {"input_ids": x, "attention_mask": mask}, rng.integers(0, 5, SAMPLES)


def translation(rng):
    x, y = rng.integers(1, 48, (SAMPLES, 10)), rng.integers(1, 48, (SAMPLES, 9))
    return {"input_ids": x, "decoder_input_ids": y[:, :-1].copy()}, y[:, 1:].copy()


def speech(rng):
    x, y = rng.standard_normal((SAMPLES, 8, 32)).astype(numpy.float32), rng.integers(3, 48, (SAMPLES, 9))
    return {"input_features": x, "decoder_input_ids": y[:, :-1].copy()}, y[:, 1:].copy()


def pairs(rng):
    text = rng.integers(1, 46, (SAMPLES, 10))
    text[:, -1] = 47
    pixels = rng.standard_normal((SAMPLES, 3, 16, 16)).astype(numpy.float32)
    return {"input_ids": text, "pixel_values": pixels}, numpy.arange(SAMPLES) % 4


def matches(rng):
    a, b = (rng.standard_normal((SAMPLES, width)).astype(numpy.float32) for width in (12, 10))
    return {"a": a, "b": b}, numpy.arange(SAMPLES)


def sequence(rng):
    return {"tokens": rng.integers(0, 30, (SAMPLES, 9))}, rng.integers(0, 7, SAMPLES)


def clicks(rng):
    dense = rng.standard_normal((SAMPLES, 6)).astype(numpy.float32)
    return {"dense": dense, "sparse": rng.integers(0, 10, (SAMPLES, 4))}, rng.integers(0, 2, SAMPLES).astype(numpy.float32)


def branches(rng):
    arrays = {n: rng.standard_normal((SAMPLES, w)).astype(numpy.float32) for n, w in (("a", 10), ("b", 6), ("c", 8))}
    return arrays, rng.integers(0, 5, SAMPLES)


def points(rng):
    return {"x": rng.standard_normal((SAMPLES, 24)).astype(numpy.float32)}, rng.integers(0, 5, SAMPLES)


def waves(rng):
    return {"wave": rng.standard_normal((SAMPLES, 1, 400)).astype(numpy.float32)}, rng.integers(0, 6, SAMPLES)


def digits(rng):
    x = rng.random((SAMPLES, 1, 28, 28)).astype(numpy.float32)
    return {"image": x}, x


def noise(rng):
    x = rng.standard_normal((SAMPLES, 1, 16, 16)).astype(numpy.float32)
    return {"image": x, "time": (rng.random(SAMPLES) * 10).astype(numpy.float32)}, rng.standard_normal(x.shape).astype(numpy.float32)


F = Family
FAMILIES = [
    F("resnext", "residual, grouped bottleneck", vision.ResNeXt, image(), **TRAINED_STATISTICS, opset=14, **SGD),
    F("resnext_dynamo", "the same", vision.ResNeXt, image(), exporter="dynamo", opset=18, folding=False, **STATISTICS_BACK, **SGD),
    F("mobilenet_v2", "depthwise", vision.mobilenet_v2, image(), **TRAINED_STATISTICS, opset=13, **SGD, seed=4),
    F("mobilenet_v3", "depthwise, squeeze-and-excite, HardSwish", vision.mobilenet_v3, image(), **TRAINED_STATISTICS, opset=17),
    F("efficientnet", "squeeze-and-excite, SiLU", vision.efficientnet, image(), exporter="dynamo", opset=20, folding=False, **STATISTICS_BACK),
    F("densenet", "dense", vision.densenet, image(), **TRAINED_STATISTICS, opset=15, **SGD),
    F("inception", "inception, LRN", vision.InceptionNet, image(), **TRAINED_STATISTICS, opset=12, **ADAM),
    F("squeezenet", "fire modules, ceil pooling", vision.SqueezeNet, image(), opset=11),
    F("shufflenet", "channel shuffle", vision.shufflenet, image(), **TRAINED_STATISTICS, opset=16, settings=dict(lr=3e-4), seed=6),
    F("siamese", "filters that are used twice", vision.Siamese, image(16, channels=6), opset=17, settings=dict(lr=3e-3)),
    F("regnet", "residual groups, squeeze-and-excite", vision.regnet, image(), **TRAINED_STATISTICS, opset=18),
    F("unet_transposed", "U-Net, ConvTranspose", lambda: vision.UNet(True), segmentation(16, 5), **TRAINED_STATISTICS, opset=11, class_axis=1),
    F("unet_resized", "U-Net, Resize", lambda: vision.UNet(False), segmentation(16, 5), **TRAINED_STATISTICS, opset=13, class_axis=1),
    F("deeplab", "segmentation, dilated convolutions", vision.DeepLab, segmentation(24, 4), **TRAINED_STATISTICS, opset=17, class_axis=1, **SGD),
    F("vit", "vision transformer", vision.vit, image(16), opset=17, dynamic=False),
    F("vit_dynamo", "the same", vision.vit, image(16), exporter="dynamo", opset=18),
    F("vit_default", "the newer exporter as its page shows it: the class token is repeated over the batch", vision.vit, image(16), exporter="default", dynamic=False),
    F("swin", "windows, relative position bias", vision.swin, image(16), opset=17, folding=False, dynamic=False),
    F("convnext", "ConvNeXt, layer scale", vision.convnext, image(16), opset=16),
    F("nfnet_default", "standardised convolutions: a BatchNormalization of the kernels, with zeros of the exporter", vision.StandardisedNet, image(16), exporter="default", dynamic=False, **SGD),
    F("convnext_dynamo", "the same", vision.convnext, image(16), exporter="dynamo", opset=18),
    F("audio", "convolutions of one dimension, group and instance norm", vision.AudioNet, waves, **TRAINED_STATISTICS, opset=15),
    F("autoencoder", "autoencoder", vision.Autoencoder, digits, opset=13, loss="mse", **ADAM),
    F("diffusion", "diffusion U-Net with attention", vision.DiffusionUNet, noise, opset=17, loss="mse", dynamic=False),
    F("diffusion_dynamo", "the same", vision.DiffusionUNet, noise, exporter="dynamo", opset=18, loss="mse"),
    F("bert", "BERT", language.bert, sentences, opset=14, dynamic=False),
    F("bert_dynamo", "the same", language.bert, sentences, exporter="dynamo", opset=18, dynamic=False, folding=False),
    F("bert_default", "positions picked from their table, repeated over the batch", language.bert, sentences, exporter="default", dynamic=False),
    F("gpt2", "GPT-2", language.gpt2, tokens(12, 48), opset=13, dynamic=False),
    F("gpt2_dynamo", "the same", language.gpt2, tokens(12, 48), exporter="dynamo", opset=18, dynamic=False),
    F("gpt2_default", "head and embedding are one weight, transposed in the file", language.gpt2_tied, tokens(12, 48), exporter="default", dynamic=False),
    F("llama", "RMSNorm, rotary embedding, SwiGLU", language.llama, tokens(12, 48), opset=17, dynamic=False),
    F("llama_dynamo", "the same", language.llama, tokens(12, 48), exporter="dynamo", opset=18, dynamic=False),
    F("t5", "T5, relative bias, encoder and decoder", language.t5, translation, opset=17, folding=False, dynamic=False),
    F("whisper", "spectrogram to text", language.whisper, speech, opset=17, dynamic=False),
    F("clip", "two towers", language.clip, pairs, opset=17, dynamic=False),
    F("contrastive", "two towers whose loss compares all samples of a batch", language.Contrastive, matches, opset=17, batch=8, **SGD),
    F("lstm", "LSTM", lambda: language.Recurrent("LSTM"), sequence, opset=14, dynamic=False),
    F("lstm_stack", "two layers both ways", lambda: language.Recurrent("LSTM", 2, True), sequence, opset=17, folding=False, dynamic=False),
    F("gru", "GRU", lambda: language.Recurrent("GRU", 1, True), sequence, opset=14, dynamic=False),
    F("rnn", "plain recurrence", lambda: language.Recurrent("RNN"), sequence, opset=11, dynamic=False),
    F("lstm_dynamo", "the same", lambda: language.Recurrent("LSTM"), sequence, exporter="dynamo", opset=18),
    F("gru_dynamo", "two layers both ways", lambda: language.Recurrent("GRU", 2, True), sequence, exporter="dynamo", opset=20),
    F("rnn_dynamo", "plain recurrence, step by step", lambda: language.Recurrent("RNN"), sequence, exporter="dynamo", opset=18),
    F("dlrm", "tables and dot products", language.Dlrm, clicks, opset=16, loss="bce_with_logits"),
    F("multi_branch", "three inputs, gates", language.MultiBranch, branches, opset=17),
    F("two_towers", "two long branches", language.TwoTowers, points, opset=17),
    F("experts", "mixture of experts, static routing", language.Experts, tokens(8, 30, "tokens"), opset=17, dynamic=False),
    F("experts_dynamo", "the same", language.Experts, tokens(8, 30, "tokens"), exporter="dynamo", opset=20, dynamic=False),
]
