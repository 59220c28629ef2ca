"""The 49 TorchBench models that the Pfeife paper names in its appendix C, and where their code is found.

A model whose code is in a package (torchvision, timm, transformers) is built with random weights: vision models as they are,
on small images; language models with fewer and narrower layers. The others have a reason instead.
"""

import dataclasses
import importlib
import typing

import numpy
import timm
import torch
import torchvision
import transformers
from torch import nn

BATCH = 2
SAMPLES = 2 * BATCH


@dataclasses.dataclass
class Entry:
    name: str
    make: typing.Callable = None
    data: typing.Callable = None
    reason: str = ""  # why it is not exported
    exporter: str = "torchscript"
    opset: int = 17
    statistics: bool = False  # it has BatchNorm: exported and trained in training form
    train_form: bool = False  # PyTorch differentiates it in training form only, which computes the same
    freeze: tuple = ()  # patterns of what is no weight in PyTorch, though the file does not say so
    train: tuple = ()  # patterns of weights that onstage trains only when told to
    double: bool = True  # it is trained in double too, by reference kernels, which take a hundred times as long


def image(size, classes=1000, channels=3):
    def data(rng):
        x = rng.standard_normal((SAMPLES, channels, size, size)).astype(numpy.float32)
        return {"image": x}, rng.integers(0, classes, SAMPLES)

    return data


def quiet(module):
    """No Dropout, no dropped paths: PyTorch's random numbers are not ours."""
    for child in module.modules():
        if hasattr(child, "inplace"):
            child.inplace = False
        if "drop" in type(child).__name__.lower() or type(child).__name__ == "StochasticDepth":
            for field in ("p", "drop_prob"):
                if isinstance(getattr(child, field, None), float):
                    setattr(child, field, 0.0)
    return module


def vision(name, size, statistics=True, **more):
    return lambda: quiet(getattr(torchvision.models, name)(weights=None, **more))


def timm_model(name, **more):
    return lambda: quiet(timm.create_model(name, pretrained=False, **more))


class Answer(nn.Module):
    """One field of a Hugging Face answer."""

    def __init__(self, model, names, field="logits", masks=()):
        super().__init__()
        self.model, self.names, self.field, self.masks = model, names, field, masks

    def forward(self, *inputs):
        named = dict(zip(self.names, inputs))
        for mask, like in self.masks:
            named[mask] = torch.ones_like(named[like])
        return getattr(self.model(**named, return_dict=True), self.field)


def hugging_face(kind, config, names=("input_ids",), field="logits", masks=(("attention_mask", "input_ids"),)):
    def make():
        config._attn_implementation = "eager"
        model = getattr(transformers, kind)(config)
        for name, p in model.named_parameters():
            if p.dim() == 0:
                p.requires_grad_(False)  # a single number is trained only when told to
        return quiet(Answer(model, names, field, masks))

    return make


VOCABULARY = 256


def words(length=16, decoder=0):
    def data(rng):
        x = rng.integers(3, VOCABULARY, (SAMPLES, length))
        inputs, target = {"input_ids": x}, rng.integers(3, VOCABULARY, (SAMPLES, length))
        if decoder:
            inputs["decoder_input_ids"] = rng.integers(3, VOCABULARY, (SAMPLES, decoder))
            target = rng.integers(3, VOCABULARY, (SAMPLES, decoder))
        return inputs, target

    return data


def spectrogram(rng):
    x = rng.standard_normal((SAMPLES, 16, 64)).astype(numpy.float32)
    return {"input_features": x, "decoder_input_ids": rng.integers(3, VOCABULARY, (SAMPLES, 10))}, rng.integers(3, VOCABULARY, (SAMPLES, 10))


def pairs(rng):
    text = rng.integers(1, VOCABULARY - 2, (SAMPLES, 10))
    text[:, -1] = VOCABULARY - 1
    return {"input_ids": text, "pixel_values": rng.standard_normal((SAMPLES, 3, 32, 32)).astype(numpy.float32)}, numpy.arange(SAMPLES) % BATCH


def encoder(kind, layers=2, width=64, **more):
    return dict(vocab_size=VOCABULARY, hidden_size=width, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=2 * width, max_position_embeddings=64, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **more)


def gpt2(layers, width):
    return transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=64, n_embd=width, n_layer=layers, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False, tie_word_embeddings=False)


def t5(layers, width):
    return transformers.T5Config(vocab_size=VOCABULARY, d_model=width, d_kv=16, d_ff=2 * width, num_layers=layers, num_heads=4, dropout_rate=0.0, use_cache=False, tie_word_embeddings=False)


def segments(rng):
    """Segments begin at 1: 0 is padding, whose row PyTorch does not train, which ONNX cannot express."""
    return {"input_ids": rng.integers(1, VOCABULARY, (SAMPLES, 16)), "segments": 1 + numpy.arange(SAMPLES * 16).reshape(SAMPLES, 16) // 5 % 2}, rng.integers(1, VOCABULARY, (SAMPLES, 16))


class MaskedWords(nn.Module):
    """The package's model has a second head, for the next sentence."""

    def __init__(self):
        super().__init__()
        package = importlib.import_module("bert_pytorch.model")
        bert = package.BERT(VOCABULARY, hidden=64, n_layers=2, attn_heads=4, dropout=0.0)
        language = package.BERTLM(bert, VOCABULARY)
        self.bert, self.mask_lm = language.bert, language.mask_lm

    def forward(self, words, segments):
        return self.mask_lm(self.bert(words, segments))


class TwoTowers(nn.Module):
    """CLIP of torchmultimodal, with the temperature that its loss begins with."""

    def __init__(self):
        super().__init__()
        torch.backends.mha.set_fastpath_enabled(False)  # its operator cannot be exported
        package = importlib.import_module("torchmultimodal.models.clip.model")
        image = package.CLIPViTEncoder(image_size=32, patch_size=8, layers=2, heads=4, width=64, embedding_dim=32)
        text = package.CLIPTextEncoder(embedding_dim=32, context_length=10, vocab_size=VOCABULARY, width=64, dim_feedforward=128, heads=4, layers=2)
        self.clip = package.CLIP(image, text)

    def forward(self, words, image):
        answer = self.clip(image, words)
        return answer.embeddings_a @ answer.embeddings_b.t() / 0.07


MASK = (("attention_mask", "input_ids"),)
NO_MASK = ()
NOT_PACKAGED = "its code is in the TorchBench repository only"
GENERATES = "it generates text, token by token: there is no loss to train"

bart = transformers.BartConfig(vocab_size=VOCABULARY, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=64, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, use_cache=False, tie_word_embeddings=False)
whisper = transformers.WhisperConfig(vocab_size=VOCABULARY, num_mel_bins=16, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=32, max_target_positions=32, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, use_cache=False, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=[], begin_suppress_tokens=[], tie_word_embeddings=False)
clip = transformers.CLIPConfig(
    text_config=dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=16, eos_token_id=VOCABULARY - 1, bos_token_id=VOCABULARY - 2, pad_token_id=0),
    vision_config=dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8), projection_dim=32)
llama = transformers.LlamaConfig(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, num_key_value_heads=2, max_position_embeddings=64, use_cache=False, tie_word_embeddings=False)
big_bird = transformers.BigBirdConfig(**encoder("big_bird"), attention_type="original_full", use_cache=False, tie_word_embeddings=False)
longformer = transformers.LongformerConfig(**encoder("longformer"), attention_window=8, onnx_export=True, tie_word_embeddings=False)
reformer = transformers.ReformerConfig(vocab_size=VOCABULARY, hidden_size=64, attention_head_size=16, num_attention_heads=4, feed_forward_size=128, attn_layers=["local", "local"], local_attn_chunk_length=8, axial_pos_shape=[4, 8], axial_pos_embds_dim=[32, 32], max_position_embeddings=32, hidden_dropout_prob=0.0, local_attention_probs_dropout_prob=0.0, is_decoder=True, use_cache=False, tie_word_embeddings=False)


def group_norm(channels):
    return nn.GroupNorm(min(32, channels), channels)


E = Entry
BN = dict(statistics=True)
ENTRIES = [
    E("alexnet", vision("alexnet", 224), image(224), double=False),
    E("BERT_pytorch", MaskedWords, segments),
    E("dcgan", reason=NOT_PACKAGED),
    E("densenet121", vision("densenet121", 64), image(64), **BN),
    E("functorch_dp_cifar10", vision("resnet18", 32, norm_layer=group_norm, num_classes=10), image(32, 10)),
    E("hf_Albert", hugging_face("AlbertForMaskedLM", transformers.AlbertConfig(**encoder("albert"), embedding_size=32, tie_word_embeddings=False)), words()),
    E("hf_Bert", hugging_face("BertForMaskedLM", transformers.BertConfig(**encoder("bert"), tie_word_embeddings=False)), words()),
    E("hf_Bert_large", hugging_face("BertForMaskedLM", transformers.BertConfig(**encoder("bert", 4, 128), tie_word_embeddings=False)), words()),
    E("hf_clip", hugging_face("CLIPModel", clip, ("input_ids", "pixel_values"), "logits_per_image", NO_MASK), pairs),
    E("hf_DistilBert", hugging_face("DistilBertForMaskedLM", transformers.DistilBertConfig(vocab_size=VOCABULARY, dim=64, n_layers=2, n_heads=4, hidden_dim=128, max_position_embeddings=64, dropout=0.0, attention_dropout=0.0, tie_word_embeddings=False)), words()),
    E("hf_Roberta_base", hugging_face("RobertaForMaskedLM", transformers.RobertaConfig(**encoder("roberta"), tie_word_embeddings=False)), words()),
    E("hf_GPT2", hugging_face("GPT2LMHeadModel", gpt2(2, 64)), words()),
    E("hf_GPT2_large", hugging_face("GPT2LMHeadModel", gpt2(4, 128)), words()),
    E("hf_Whisper", hugging_face("WhisperForConditionalGeneration", whisper, ("input_features", "decoder_input_ids"), masks=(("decoder_attention_mask", "decoder_input_ids"),)), spectrogram),
    E("LearningToPaint", reason=NOT_PACKAGED),
    E("lennard_jones", reason=NOT_PACKAGED),
    E("llama", hugging_face("LlamaForCausalLM", llama), words()),
    E("mnasnet1_0", vision("mnasnet1_0", 64), image(64), **BN),
    E("mobilenet_v2", vision("mobilenet_v2", 64), image(64), **BN),
    E("mobilenet_v3_large", vision("mobilenet_v3_large", 64), image(64), **BN),
    E("phlippe_densenet", reason=NOT_PACKAGED),
    E("phlippe_resnet", reason=NOT_PACKAGED),
    E("pytorch_unet", reason=NOT_PACKAGED),
    E("resnet152", vision("resnet152", 64), image(64), **BN),
    E("resnet18", vision("resnet18", 64), image(64), double=False, **BN),
    E("resnet50", vision("resnet50", 64), image(64), **BN),
    E("resnext50_32x4d", vision("resnext50_32x4d", 64), image(64), **BN),
    E("shufflenet_v2_x1_0", vision("shufflenet_v2_x1_0", 64), image(64), **BN),
    E("squeezenet1_1", vision("squeezenet1_1", 64), image(64)),
    E("timm_nfnet", timm_model("dm_nfnet_f0", num_classes=10), image(64, 10), train=("*", "*skipinit_gain"), double=False),
    E("timm_regnet", timm_model("regnety_120", num_classes=10), image(64, 10), double=False, **BN),
    E("timm_resnest", timm_model("resnest14d", num_classes=10), image(64, 10), double=False, **BN),
    E("timm_vision_transformer", timm_model("vit_small_patch16_224", num_classes=10, img_size=64), image(64, 10), double=False),
    E("timm_vision_transformer_large", timm_model("vit_giant_patch14_224", num_classes=10, img_size=56, depth=2), image(56, 10), double=False),
    E("timm_vovnet", timm_model("ese_vovnet19b_dw", num_classes=10), image(64, 10), **BN),
    E("torch_multimodal_clip", TwoTowers, pairs),
    E("vgg16", vision("vgg16", 224), image(224), double=False),
    E("hf_BigBird", hugging_face("BigBirdForMaskedLM", big_bird), words()),
    E("hf_Longformer", hugging_face("LongformerForMaskedLM", longformer), words()),
    E("hf_Reformer", hugging_face("ReformerModelWithLMHead", reformer, masks=NO_MASK), words(32), exporter="dynamo", opset=18, train_form=True),
    E("hf_T5_generate", reason=GENERATES),
    E("opacus_cifar10", vision("resnet18", 32, norm_layer=group_norm, num_classes=10), image(32, 10), exporter="dynamo", opset=18),
    E("hf_T5", hugging_face("T5ForConditionalGeneration", t5(2, 64), ("input_ids", "decoder_input_ids"), masks=NO_MASK), words(12, 10)),
    E("hf_T5_base", hugging_face("T5ForConditionalGeneration", t5(3, 96), ("input_ids", "decoder_input_ids"), masks=NO_MASK), words(12, 10)),
    E("hf_T5_large", hugging_face("T5ForConditionalGeneration", t5(4, 128), ("input_ids", "decoder_input_ids"), masks=NO_MASK), words(12, 10)),
    E("dlrm", reason=NOT_PACKAGED),
    E("cm3leon_generate", reason=GENERATES),
    E("hf_Bart", hugging_face("BartForConditionalGeneration", bart, ("input_ids", "decoder_input_ids"), masks=(("attention_mask", "input_ids"), ("decoder_attention_mask", "decoder_input_ids"))), words(12, 10), freeze=("*final_logits_bias",)),
    E("timm_efficientnet", timm_model("efficientnet_b0", num_classes=10), image(64, 10), **BN),
]
