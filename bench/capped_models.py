"""The networks of bench/capped_training.sh at the size in which people train them, as PyTorch exports them.
    python3 bench/capped_models.py FOLDER
Weights are random, data too: neither speed nor memory depends on them. Needs torch, torchvision and transformers."""

import pathlib
import sys

import numpy
import torch
import torchvision
import transformers

SEED = 1
SAMPLES = 64
TOKENS = 128


class Logits(torch.nn.Module):
    """A language model that takes tokens alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1])[None]
        return self.model(input_ids=tokens, attention_mask=torch.ones_like(tokens), position_ids=positions).logits


def language(folder, name, model, vocabulary):
    tokens, target = torch.randint(vocabulary, (2, SAMPLES, TOKENS))
    export(folder, name, Logits(model), tokens, target)


def export(folder, name, module, x, target):
    torch.onnx.export(
        module.train(), (x[:1],), str(folder / f"{name}.onnx"), dynamo=False, opset_version=17,
        training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, input_names=["x"], output_names=["y"],
        dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}},
    )
    numpy.save(folder / f"{name}.x.npy", x.numpy())
    numpy.save(folder / f"{name}.target.npy", target.numpy())


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    export(folder, "resnet18", torchvision.models.resnet18(), torch.randn(SAMPLES, 3, 224, 224),
           torch.randint(1000, (SAMPLES,)))
    bert = transformers.BertConfig(attn_implementation="eager")
    language(folder, "bert_base", transformers.BertForMaskedLM(bert), bert.vocab_size)
    gpt2 = transformers.GPT2Config(attn_implementation="eager", n_positions=TOKENS, use_cache=False)
    language(folder, "gpt2_small", transformers.GPT2LMHeadModel(gpt2), gpt2.vocab_size)


main()
