#!/usr/bin/env python3
"""Exports the models that DawnPiper is measured on, at their true size, without weights.

    python3 models.py [bert] [gpt2] [t5] [amoebanet] [gpt3]     all but gpt3 where none is named

Needs torch, transformers and onnx; no memory for weights: every parameter is one number, expanded to its shape, and the
file refers to a weights.bin that does not exist. That is enough for `onstage plan`, not for training.

    bert        336 M   24 layers of width 1024, masked-LM head
    gpt2        774 M   36 layers of width 1280
    t5          738 M   24 + 24 layers of width 1024
    amoebanet    28 M   AmoebaNet-D of 18 normal cells
    gpt3     175,000 M   96 layers of width 12288; not committed: 0.9 MB, a minute or two

Batch and sequence length, or image size, stay open: `onstage plan bert.onnx --batch 32 --dim sequence=512`.
"""

import pathlib
import sys
import warnings

import onnx
import onnx_ir
import torch
import transformers
from torch import nn

import amoebanet

HERE = pathlib.Path(__file__).parent
WEIGHTS = "weights.bin"
KEPT_BYTES = 256  # constants up to this size stay in the file


class Logits(nn.Module):
    """A language model by its token inputs, in their order, and its logits alone."""

    def __init__(self, model, inputs):
        super().__init__()
        self.model = model
        self.inputs = inputs

    def forward(self, *tokens):
        return self.model(**dict(zip(self.inputs, tokens)), use_cache=False, return_dict=True).logits


def without_memory(model):
    """Parameters and buffers of a model made on the meta device, as single numbers expanded to their shapes."""
    thin = {value: nn.Parameter(torch.empty(()).expand(value.shape)) for value in model.parameters()}  # tied ones once
    for module in model.modules():
        for name, value in module._parameters.items():
            if value is not None:
                module._parameters[name] = thin[value]
        for name, value in module._buffers.items():
            if value is None:
                continue
            if name == "position_ids":
                module._buffers[name] = torch.arange(value.shape[-1]).expand(value.shape).clone()
            else:
                module._buffers[name] = torch.zeros((), dtype=value.dtype).expand(value.shape)
    return model.eval()


def causal_mask(inputs_embeds, **_):
    position = torch.arange(inputs_embeds.shape[1])
    later = position[None, :] > position[:, None]
    return torch.where(later, torch.finfo(torch.float32).min, 0.0)[None, None]


def mask_for_full_sequences():
    """The library's masks say for each sample where its padding is; there is none, so that one mask serves all."""
    for module in (transformers.models.bert.modeling_bert, transformers.models.gpt2.modeling_gpt2,
                   transformers.models.t5.modeling_t5):
        module.create_causal_mask = causal_mask
        module.create_bidirectional_mask = lambda **_: None


def language_model(kind):
    t = transformers
    if kind == "bert":
        config = t.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096,
                              max_position_embeddings=1024)
        make = t.BertForMaskedLM
    elif kind == "t5":
        config = t.T5Config(vocab_size=32128, d_model=1024, d_kv=64, d_ff=4096, num_layers=24, num_heads=16)
        make = t.T5ForConditionalGeneration
    else:
        width, layers, heads, length = (1280, 36, 20, 2048) if kind == "gpt2" else (12288, 96, 96, 2048)
        config = t.GPT2Config(n_embd=width, n_layer=layers, n_head=heads, n_positions=length)
        make = t.GPT2LMHeadModel
    config._attn_implementation = "eager"
    mask_for_full_sequences()
    inputs = ["input_ids", "decoder_input_ids"] if kind == "t5" else ["input_ids"]
    with torch.device("meta"):
        model = make(config)
    return Logits(without_memory(model), inputs), inputs


def token_examples(inputs):
    batch = torch.export.Dim("batch")
    lengths = [torch.export.Dim("sequence"), torch.export.Dim("target")]
    examples = tuple(torch.ones(2, 16, dtype=torch.int64) for _ in inputs)
    return examples, (tuple({0: batch, 1: length} for length, _ in zip(lengths, inputs)),)


def image_examples():
    """A side must be a multiple of 32, since it is halved five times; the file then just calls it by its name."""
    dim = torch.export.Dim
    shape = {0: dim("batch"), 2: 32 * dim("rows", min=2, max=64), 3: 32 * dim("columns", min=2, max=64)}
    return (torch.zeros(2, 3, 224, 224),), (shape,)


def drop_weights(program):
    offset = 0
    for name, value in program.model.graph.initializers.items():
        tensor = value.const_value
        if tensor is None or tensor.nbytes <= KEPT_BYTES or tensor.dtype != onnx_ir.DataType.FLOAT:
            continue
        value.const_value = onnx_ir.ExternalTensor(WEIGHTS, offset, tensor.nbytes, tensor.dtype, shape=tensor.shape,
                                                   name=name, base_dir="")
        offset += -(-tensor.nbytes // 64) * 64


def strip(proto):
    """What the exporter notes for its own readers is most of the file."""
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for value in list(proto.graph.input) + list(proto.graph.output):
        del value.metadata_props[:]
    del proto.graph.value_info[:]
    del proto.graph.metadata_props[:]
    del proto.metadata_props[:]


def name_image_sides(proto):
    for axis, name in ((2, "height"), (3, "width")):
        proto.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name


def export(kind):
    if kind == "amoebanet":
        with torch.device("meta"):
            model = amoebanet.AmoebaNet(layers=18, filters=120)
        model, inputs = without_memory(model), ["image"]
        examples, shapes = image_examples()
    else:
        model, inputs = language_model(kind)
        examples, shapes = token_examples(inputs)
    program = torch.onnx.export(model, examples, dynamo=True, optimize=False, opset_version=18, input_names=inputs,
                                output_names=["logits"], dynamic_shapes=shapes, verbose=False)
    drop_weights(program)
    proto = onnx_ir.to_proto(program.model)
    strip(proto)
    if kind == "amoebanet":
        name_image_sides(proto)
    path = HERE / f"{kind}.onnx"
    path.write_bytes(proto.SerializeToString())
    count = sum(p.numel() for p in model.parameters())
    print(f"{path.name}: {count / 1e6:.0f} M parameters, {len(proto.graph.node)} nodes, "
          f"{path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    for each in sys.argv[1:] or ["bert", "gpt2", "t5", "amoebanet"]:
        export(each)
