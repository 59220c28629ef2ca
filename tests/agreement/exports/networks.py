"""Real networks from torchvision, timm, transformers and peft, and a few of torch.nn's modules, with random weights.

Image networks have their architecture, on small images and with few classes; those of transformers are narrow and have two layers.
The packages are imported when a network is made, so that this list is read at once.
"""

import dataclasses
import importlib
import typing

import numpy
import torch
from torch import nn

BATCH = 4
STEPS = 3
SAMPLES = BATCH * STEPS
VOCABULARY = 256
CLASSES = 10


@dataclasses.dataclass
class Network:
    name: str
    make: typing.Callable
    data: typing.Callable  # of a generator of random numbers: the arrays for the inputs by name, and the targets
    loss: str = "cross_entropy"
    class_axis: int = -1
    fresh: bool = False  # equal weights stay equal, as they are in a new network
    arguments: tuple = ()  # more words for onstage


def package(name):
    return importlib.import_module(name)


class Answer(nn.Module):
    """One field of a structured answer."""

    def __init__(self, model, names, field, constants):
        super().__init__()
        self.model, self.names, self.field, self.constants = model, names, field, constants

    def forward(self, *inputs):
        answer = self.model(**dict(zip(self.names, inputs)), **self.constants)
        return answer[self.field] if isinstance(answer, dict) else getattr(answer, self.field)


# Data


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(numpy.float32)


def image(size, name="image", answer=()):
    """Images and one class each, or one class for each place of an answer of that shape."""
    return lambda rng: ({name: floats(rng, SAMPLES, 3, size, size)}, rng.integers(0, CLASSES, (SAMPLES, *answer)))


def tokens(rng, length):
    """None is padding or another special word."""
    return rng.integers(5, VOCABULARY - 1, (SAMPLES, length))


def words(length=16):
    return lambda rng: ({"input_ids": tokens(rng, length)}, tokens(rng, length))


def mask(rng, length):
    return (numpy.arange(length) < rng.integers(length // 2, length + 1, (SAMPLES, 1))).astype(numpy.int64)


def masked_words(length=16, classes=False):
    def data(rng):
        inputs = {"input_ids": tokens(rng, length), "attention_mask": mask(rng, length)}
        return inputs, rng.integers(0, CLASSES, SAMPLES) if classes else tokens(rng, length)

    return data


def laid_out(rng):
    corner = rng.integers(0, 500, (SAMPLES, 16, 2))
    box = numpy.concatenate([corner, corner + rng.integers(1, 500, (SAMPLES, 16, 2))], -1)
    return {"input_ids": tokens(rng, 16), "bbox": box, "attention_mask": mask(rng, 16)}, tokens(rng, 16)


def translation(rng):
    return {"input_ids": tokens(rng, 12), "decoder_input_ids": tokens(rng, 10)}, tokens(rng, 10)


def speech(rng):
    return {"input_features": floats(rng, SAMPLES, 16, 64), "decoder_input_ids": tokens(rng, 10)}, tokens(rng, 10)


def sound(rng):
    return {"input_values": floats(rng, SAMPLES, 800)}, rng.integers(0, 32, (SAMPLES, 39))


def captions(rng):
    text = tokens(rng, 10)
    text[:, -1] = VOCABULARY - 1
    return {"input_ids": text, "pixel_values": floats(rng, SAMPLES, 3, 32, 32)}, numpy.arange(SAMPLES) % BATCH


def film(rng):
    return {"pixel_values": floats(rng, SAMPLES, 4, 3, 32, 32)}, rng.integers(0, CLASSES, SAMPLES)


def series(rng):
    return {"past_values": floats(rng, SAMPLES, 32, 3)}, floats(rng, SAMPLES, 8, 3)


def sequence(rng):
    return {"x": floats(rng, SAMPLES, 20, 24)}, rng.integers(0, CLASSES, (SAMPLES, 20))


def table(rng):
    kinds = numpy.stack([rng.integers(0, n, SAMPLES) for n in CATEGORIES], 1)
    return {"numbers": floats(rng, SAMPLES, NUMBERS), "kinds": kinds}, rng.integers(0, CLASSES, SAMPLES)


# Networks of the packages


def vision(name, **more):
    return lambda: getattr(package("torchvision").models, name)(weights=None, num_classes=CLASSES, **more)


def segmentation(name, argument="x"):
    def make():
        model = getattr(package("torchvision").models.segmentation, name)(weights=None, weights_backbone=None, num_classes=CLASSES)
        return Answer(model, (argument,), "out", {})

    return make


def small_vit():
    return package("torchvision").models.VisionTransformer(
        image_size=64, patch_size=16, num_layers=3, num_heads=4, hidden_dim=192, mlp_dim=384, num_classes=CLASSES)


def small_maxvit():
    return package("torchvision").models.maxvit.MaxVit(
        input_size=(64, 64), stem_channels=16, partition_size=2, block_channels=[16, 32, 64], block_layers=[1, 1, 2], head_dim=16,
        stochastic_depth_prob=0.0, num_classes=CLASSES)


def timm(name, **more):
    return lambda: package("timm").create_model(name, pretrained=False, num_classes=CLASSES, **more)


def unfused(make):
    """PyTorch's exporter fails with the fused attention."""

    def other():
        module = make()
        for child in module.modules():
            if hasattr(child, "fused_attn"):
                child.fused_attn = False
        return module

    return other


def get_biases(self, device):
    return self.attention_biases[:, self.attention_bias_idxs]


def forgetful(make):
    """Without the biases that attention keeps in eval(), through which PyTorch cannot differentiate twice."""

    def other():
        module = make()
        for child in module.modules():
            if hasattr(child, "attention_bias_cache"):
                child.__class__ = type(type(child).__name__, (type(child),), {"get_attention_biases": get_biases})
        return module

    return other


def hugging_face(kind, settings, names=("input_ids",), field="logits", configuration=None, **constants):
    def make():
        transformers = package("transformers")
        model = getattr(transformers, kind)
        config = getattr(transformers, configuration) if configuration else model.config_class
        return Answer(model(config(**settings)), names, field, constants)

    return make


ENCODER = dict(
    vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_position_embeddings=64,
    num_labels=CLASSES)
DECODER = dict(ENCODER, bos_token_id=1, eos_token_id=2, pad_token_id=0)
PICTURE = dict(
    hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8, num_labels=CLASSES)
BOTH = dict(
    vocab_size=VOCABULARY, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=128, decoder_ffn_dim=128, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
SPEECH = dict(
    vocab_size=32, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, conv_dim=(32, 32, 32),
    conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)
SPECIAL = dict(bos_token_id=VOCABULARY - 2, eos_token_id=VOCABULARY - 1, pad_token_id=0)
TOWERS = dict(
    text_config=dict(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=16,
        **SPECIAL),
    vision_config=dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8))
MASK = ("input_ids", "attention_mask")
TRANSLATE = ("input_ids", "decoder_input_ids")
PIXELS = ("pixel_values",)
ALONE = dict(use_cache=False)
EAGER = dict(attn_implementation="eager")  # PyTorch's exporter fails with the usual one


def detector():
    transformers = package("transformers")
    backbone = transformers.ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage4"])
    config = transformers.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, d_model=64, encoder_layers=2,
        decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, num_queries=8,
        num_labels=CLASSES - 1)
    return Answer(transformers.DetrForObjectDetection(config), PIXELS, "logits", {})


def adapted(alone):
    """Adapters of low rank, which begin with a matrix of zeros each; they alone are trained, or all."""
    transformers, peft = package("transformers"), package("peft")
    config = transformers.LlamaConfig(**DECODER, num_key_value_heads=2)
    adapters = peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj", "up_proj", "down_proj"], task_type="CAUSAL_LM")
    model = peft.get_peft_model(transformers.LlamaForCausalLM(config), adapters)
    return Answer(model if alone else model.requires_grad_(True), ("input_ids",), "logits", ALONE)


# Networks of torch.nn's modules


class Recurrent(nn.Module):
    def __init__(self, kind, **more):
        super().__init__()
        self.body = kind(24, 32, num_layers=2, batch_first=True, **more)
        self.head = nn.LazyLinear(CLASSES)
        self(torch.zeros(1, 2, 24))

    def forward(self, x):
        return self.head(self.body(x)[0])


class Encoder(nn.Module):
    """nn.TransformerEncoder copies its layer: all begin alike."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 64)
        self.places = nn.Parameter(0.02 * torch.randn(16, 64))
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(64, VOCABULARY)

    def forward(self, input_ids):
        return self.head(self.body(self.words(input_ids) + self.places))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 64)
        self.body = nn.Transformer(64, 4, 2, 2, 128, batch_first=True)
        self.head = nn.Linear(64, VOCABULARY)

    def forward(self, input_ids, decoder_input_ids):
        causal = nn.Transformer.generate_square_subsequent_mask(decoder_input_ids.shape[1])
        return self.head(self.body(self.words(input_ids), self.words(decoder_input_ids), tgt_mask=causal, tgt_is_causal=True))


CATEGORIES = (7, 20, 50, 100)
NUMBERS = 6


class Recommender(nn.Module):
    """DLRM: products of all pairs of embeddings."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, 16, mode="sum") for n in CATEGORIES)
        self.bottom = nn.Sequential(nn.Linear(NUMBERS, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        pairs = len(CATEGORIES) * (len(CATEGORIES) + 1) // 2
        self.top = nn.Sequential(nn.Linear(16 + pairs, 32), nn.ReLU(), nn.Linear(32, CLASSES))

    def forward(self, numbers, kinds):
        x = self.bottom(numbers)
        rows = torch.stack([x] + [table(kinds[:, i : i + 1]) for i, table in enumerate(self.tables)], 1)
        products = rows @ rows.transpose(1, 2)
        i, j = torch.tril_indices(rows.shape[1], rows.shape[1], -1)
        return self.top(torch.cat([x, products[:, i, j]], 1))


class Features(nn.Module):
    """FT-Transformer: every column of a table is a word."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(0.2 * torch.randn(NUMBERS, 64))
        self.bias = nn.Parameter(0.2 * torch.randn(NUMBERS, 64))
        self.kinds = nn.Embedding(sum(CATEGORIES), 64)
        self.register_buffer("starts", torch.tensor([sum(CATEGORIES[:i]) for i in range(len(CATEGORIES))]))
        self.answer = nn.Parameter(0.2 * torch.randn(1, 1, 64))
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first=True, activation="gelu")
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, CLASSES))

    def forward(self, numbers, kinds):
        columns = torch.cat([numbers[:, :, None] * self.weight + self.bias, self.kinds(kinds + self.starts)], 1)
        x = torch.cat([self.answer.expand(columns.shape[0], -1, -1), columns], 1)
        return self.head(self.body(x)[:, 0])


N = Network
NETWORKS = [
    # torchvision
    N("resnet50", vision("resnet50", zero_init_residual=True), image(64)),
    N("efficientnet_b0", vision("efficientnet_b0"), image(64)),
    N("regnet_y_400mf", vision("regnet_y_400mf"), image(64)),
    N("shufflenet_v2", vision("shufflenet_v2_x1_0"), image(64)),
    N("mobilenet_v3", vision("mobilenet_v3_small"), image(64)),
    N("densenet121", vision("densenet121"), image(64)),
    N("convnext_tiny", vision("convnext_tiny"), image(64)),
    N("swin_t", vision("swin_t"), image(64)),
    N("swin_v2_t", vision("swin_v2_t"), image(64)),
    N("vit", small_vit, image(64)),
    N("maxvit", small_maxvit, image(64)),
    N("deeplabv3", segmentation("deeplabv3_mobilenet_v3_large"), image(64, answer=(64, 64)), class_axis=1),
    N("fcn", segmentation("fcn_resnet50"), image(64, answer=(64, 64)), class_axis=1),
    N("lraspp", segmentation("lraspp_mobilenet_v3_large", "input"), image(64, answer=(64, 64)), class_axis=1),
    N("googlenet", vision("googlenet", aux_logits=False, init_weights=False), image(64)),
    N("inception_v3", vision("inception_v3", aux_logits=False, init_weights=False), image(96)),
    # timm
    N("timm_nfnet_f0", timm("nfnet_f0"), image(64)),
    N("timm_nf_regnet_b0", timm("nf_regnet_b0"), image(64)),
    N("timm_resnetv2_50x1", timm("resnetv2_50x1_bit"), image(64)),
    N("timm_vit", timm("vit_tiny_patch16_224", img_size=64, depth=3), image(64)),
    N("timm_vit_fresh", timm("vit_tiny_patch16_224", img_size=64, depth=3), image(64), fresh=True),
    N("timm_deit_distilled", timm("deit_tiny_distilled_patch16_224", img_size=64, depth=3), image(64)),
    N("timm_eva02", timm("eva02_tiny_patch14_224", img_size=56, depth=3), image(56)),
    N("timm_beit", unfused(timm("beit_base_patch16_224", img_size=64, depth=3, embed_dim=192, num_heads=3)), image(64)),
    N("timm_swin", timm("swin_tiny_patch4_window7_224", img_size=64, window_size=4, embed_dim=48, depths=(2, 2, 2, 2)), image(64)),
    N("timm_swinv2_cr", timm("swinv2_cr_tiny_224", img_size=64, window_size=4, embed_dim=48, depths=(2, 2, 2, 2)), image(64)),
    N("timm_convnextv2", timm("convnextv2_atto"), image(64)),
    N("timm_mobilenetv4", timm("mobilenetv4_conv_small"), image(64)),
    N("timm_efficientnetv2", timm("tf_efficientnetv2_b0"), image(64)),
    N("timm_regnety", timm("regnety_002"), image(64)),
    N("timm_mixer", timm("mixer_s16_224", img_size=64), image(64)),
    N("timm_gmlp", timm("gmlp_ti16_224", img_size=64), image(64)),
    N("timm_resmlp", timm("resmlp_12_224", img_size=64), image(64)),
    N("timm_cait", timm("cait_xxs24_224", img_size=64, depth=3), image(64)),
    N("timm_xcit", timm("xcit_nano_12_p16_224", img_size=64, depth=3), image(64)),
    N("timm_coat", timm("coat_tiny", img_size=64), image(64)),
    N("timm_pit", timm("pit_ti_224", img_size=64), image(64)),
    N("timm_levit", forgetful(timm("levit_128s", img_size=64)), image(64)),
    N("timm_poolformer", timm("poolformer_s12"), image(64)),
    N("timm_maxxvit", unfused(timm("maxvit_rmlp_pico_rw_256", img_size=64)), image(64)),
    N("timm_crossvit", timm("crossvit_tiny_240"), image(240)),
    N("timm_tnt", timm("tnt_s_patch16_224", img_size=64, depth=3), image(64)),
    N("timm_pvt_v2", timm("pvt_v2_b0"), image(64)),
    N("timm_edgenext", timm("edgenext_xx_small"), image(64)),
    N("timm_mobilevit", timm("mobilevit_xxs"), image(64)),
    N("timm_mobilevitv2", timm("mobilevitv2_050"), image(64)),
    N("timm_efficientvit", timm("efficientvit_b0"), image(64)),
    N("timm_fastvit", timm("fastvit_t8"), image(64)),
    N("timm_resnest", timm("resnest14d"), image(64)),
    N("timm_focalnet", timm("focalnet_tiny_srf"), image(64)),
    N("timm_halonet", timm("halonet26t"), image(256)),
    N("timm_mambaout", timm("mambaout_femto"), image(64)),
    # transformers
    N("bert", hugging_face("BertForMaskedLM", ENCODER, MASK), masked_words()),
    N("bert_fresh", hugging_face("BertForMaskedLM", ENCODER, MASK), masked_words(), fresh=True),
    N("roberta", hugging_face("RobertaForMaskedLM", ENCODER, MASK), masked_words()),
    N("distilbert", hugging_face("DistilBertForMaskedLM", dict(vocab_size=VOCABULARY, dim=64, n_layers=2, n_heads=4, hidden_dim=128, max_position_embeddings=64), MASK), masked_words()),
    N("albert", hugging_face("AlbertForMaskedLM", dict(ENCODER, embedding_size=32), MASK), masked_words()),
    N("electra", hugging_face("ElectraForSequenceClassification", dict(ENCODER, embedding_size=32), MASK), masked_words(classes=True)),
    N("deberta_v2", hugging_face("DebertaV2ForMaskedLM", dict(ENCODER, relative_attention=True, position_buckets=8, pos_att_type=["c2p", "p2c"], share_att_key=True, norm_rel_ebd="layer_norm"), MASK), masked_words()),
    N("mpnet", hugging_face("MPNetForMaskedLM", ENCODER, MASK), masked_words()),
    N("roformer", hugging_face("RoFormerForMaskedLM", dict(ENCODER, embedding_size=64), MASK), masked_words()),
    N("convbert", hugging_face("ConvBertForMaskedLM", dict(ENCODER, embedding_size=64), MASK), masked_words()),
    N("esm", hugging_face("EsmForMaskedLM", dict(ENCODER, position_embedding_type="rotary", pad_token_id=0, mask_token_id=4, emb_layer_norm_before=False), MASK), masked_words()),
    N("layoutlm", hugging_face("LayoutLMForMaskedLM", dict(ENCODER, max_2d_position_embeddings=1024), ("input_ids", "bbox", "attention_mask")), laid_out),
    N("longformer", hugging_face("LongformerForMaskedLM", dict(ENCODER, attention_window=8), MASK), masked_words()),
    N("xlnet", hugging_face("XLNetLMHeadModel", dict(vocab_size=VOCABULARY, d_model=64, n_layer=2, n_head=4, d_inner=128), use_mems=False), words()),
    N("gpt2", hugging_face("GPT2LMHeadModel", dict(vocab_size=VOCABULARY, n_positions=64, n_embd=64, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2), **ALONE), words()),
    N("opt", hugging_face("OPTForCausalLM", dict(DECODER, ffn_dim=128, word_embed_proj_dim=64), **ALONE), words()),
    N("gpt_neox", hugging_face("GPTNeoXForCausalLM", DECODER, **ALONE), words()),
    N("llama", hugging_face("LlamaForCausalLM", dict(DECODER, num_key_value_heads=2), **ALONE), words()),
    N("mistral", hugging_face("MistralForCausalLM", dict(DECODER, num_key_value_heads=2, sliding_window=8), **ALONE), words()),
    N("qwen2", hugging_face("Qwen2ForCausalLM", dict(DECODER, num_key_value_heads=2), **ALONE), words()),
    N("qwen3", hugging_face("Qwen3ForCausalLM", dict(DECODER, num_key_value_heads=2, head_dim=16), **ALONE), words()),
    N("gemma", hugging_face("GemmaForCausalLM", dict(DECODER, num_key_value_heads=2, head_dim=16), **ALONE), words()),
    N("gemma2", hugging_face("Gemma2ForCausalLM", dict(DECODER, num_key_value_heads=2, head_dim=16, sliding_window=8), **ALONE), words()),
    N("phi", hugging_face("PhiForCausalLM", DECODER, **ALONE), words()),
    N("falcon", hugging_face("FalconForCausalLM", DECODER, **ALONE), words()),
    N("bloom", hugging_face("BloomForCausalLM", dict(vocab_size=VOCABULARY, hidden_size=64, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2, pad_token_id=0), **ALONE), words()),
    N("mamba", hugging_face("MambaForCausalLM", dict(vocab_size=VOCABULARY, hidden_size=64, state_size=8, num_hidden_layers=2, pad_token_id=0, bos_token_id=1, eos_token_id=2), **ALONE), words()),
    N("t5", hugging_face("T5ForConditionalGeneration", dict(vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0, **EAGER), TRANSLATE, **ALONE), translation),
    N("bart", hugging_face("BartForConditionalGeneration", dict(BOTH, max_position_embeddings=64), TRANSLATE, **ALONE), translation),
    N("pegasus", hugging_face("PegasusForConditionalGeneration", dict(BOTH, max_position_embeddings=64), TRANSLATE, **ALONE), translation),
    N("whisper", hugging_face("WhisperForConditionalGeneration", dict(BOTH, num_mel_bins=16, max_source_positions=32, max_target_positions=32, suppress_tokens=[], begin_suppress_tokens=[]), ("input_features", "decoder_input_ids"), **ALONE), speech),
    N("wav2vec2", hugging_face("Wav2Vec2ForCTC", SPEECH, ("input_values",)), sound),
    N("hubert", hugging_face("HubertForCTC", SPEECH, ("input_values",)), sound),
    N("hf_vit", hugging_face("ViTForImageClassification", PICTURE, PIXELS), image(32, "pixel_values")),
    N("dinov2", hugging_face("Dinov2ForImageClassification", PICTURE, PIXELS), image(32, "pixel_values")),
    N("deit", hugging_face("DeiTForImageClassification", PICTURE, PIXELS), image(32, "pixel_values")),
    N("hf_swin", hugging_face("SwinForImageClassification", dict(image_size=32, patch_size=4, embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=CLASSES, **EAGER), PIXELS), image(32, "pixel_values")),
    N("clip", hugging_face("CLIPModel", dict(TOWERS, projection_dim=32), ("input_ids", "pixel_values"), "logits_per_image"), captions),
    N("siglip", hugging_face("SiglipModel", TOWERS, ("input_ids", "pixel_values"), "logits_per_image"), captions),
    N("detr", detector, image(64, "pixel_values", answer=(8,))),
    N("segformer", hugging_face("SegformerForSemanticSegmentation", dict(depths=[1] * 4, hidden_sizes=[16, 32, 40, 64], num_attention_heads=[1, 2, 5, 8], decoder_hidden_size=32, num_labels=CLASSES), PIXELS), image(64, "pixel_values", answer=(16, 16)), class_axis=1),
    N("videomae", hugging_face("VideoMAEForVideoClassification", dict(PICTURE, num_frames=4, tubelet_size=2), PIXELS), film),
    N("patchtst", hugging_face("PatchTSTForPrediction", dict(num_input_channels=3, context_length=32, patch_length=8, patch_stride=8, d_model=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, prediction_length=8, loss="mse"), ("past_values",), "prediction_outputs"), series, loss="mse"),
    # others
    N("lstm", lambda: Recurrent(nn.LSTM), sequence),
    N("gru", lambda: Recurrent(nn.GRU, bidirectional=True), sequence),
    N("transformer_encoder", Encoder, words(), fresh=True),
    N("transformer", Translator, translation),
    N("lora", lambda: adapted(True), words(), fresh=True, arguments=("--train", "*lora_*")),
    N("lora_all", lambda: adapted(False), words(), fresh=True),
    N("dlrm", Recommender, table),
    N("ft_transformer", Features, table),
]
