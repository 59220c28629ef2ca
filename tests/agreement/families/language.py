"""Networks for text, tables and pairs. The transformers are Hugging Face's own code with tiny configurations."""

import torch
import torch.nn.functional as F
import transformers
from torch import nn


class Only(nn.Module):
    """One field of a Hugging Face model's answer, inputs by position; `mask`: a mask of ones for that input is given."""

    def __init__(self, model, names, field="logits", mask=None):
        super().__init__()
        self.model, self.names, self.field, self.mask = model, names, field, mask

    def forward(self, *inputs):
        named = dict(zip(self.names, inputs))
        if self.mask:
            named[self.mask] = torch.ones_like(inputs[-1])
        return getattr(self.model(**named, return_dict=True), self.field)


def eager(kind, config, names, field="logits", mask=None):
    config._attn_implementation = "eager"
    return Only(kind(config), names, field, mask)


SMALL = dict(vocab_size=48, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)


def bert():
    config = transformers.BertConfig(**SMALL, max_position_embeddings=24, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=5)
    return eager(transformers.BertForSequenceClassification, config, ["input_ids", "attention_mask"])


def gpt2():
    config = transformers.GPT2Config(vocab_size=48, n_positions=24, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False, tie_word_embeddings=False)
    return eager(transformers.GPT2LMHeadModel, config, ["input_ids"], mask="attention_mask")


def gpt2_tied():
    config = transformers.GPT2Config(vocab_size=48, n_positions=24, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False)
    return eager(transformers.GPT2LMHeadModel, config, ["input_ids"], mask="attention_mask")


def llama():
    """RMSNorm, rotary embedding, grouped queries, SwiGLU."""
    config = transformers.LlamaConfig(**SMALL, num_key_value_heads=2, max_position_embeddings=24, use_cache=False, tie_word_embeddings=False)
    return eager(transformers.LlamaForCausalLM, config, ["input_ids"], mask="attention_mask")


def t5():
    """Encoder and decoder, relative position bias, RMSNorm."""
    config = transformers.T5Config(vocab_size=48, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, relative_attention_num_buckets=8, relative_attention_max_distance=16, dropout_rate=0.0, use_cache=False, tie_word_embeddings=False, feed_forward_proj="gated-gelu")
    return eager(transformers.T5ForConditionalGeneration, config, ["input_ids", "decoder_input_ids"])


def whisper():
    """A convolutional front end on a spectrogram, encoder and decoder."""
    config = transformers.WhisperConfig(
        vocab_size=48, num_mel_bins=8, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=16, max_target_positions=12, dropout=0.0, attention_dropout=0.0,
        activation_dropout=0.0, use_cache=False, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        suppress_tokens=[], begin_suppress_tokens=[], tie_word_embeddings=False,
    )
    return eager(transformers.WhisperForConditionalGeneration, config, ["input_features", "decoder_input_ids"], mask="decoder_attention_mask")


def clip():
    """Two towers; the logits are the similarities of all pairs of the batch."""
    text = dict(vocab_size=48, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, max_position_embeddings=12, eos_token_id=47, bos_token_id=46, pad_token_id=0)
    image = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, image_size=16, patch_size=8)
    config = transformers.CLIPConfig(text_config=text, vision_config=image, projection_dim=16)
    model = eager(transformers.CLIPModel, config, ["input_ids", "pixel_values"], "logits_per_image")
    model.model.logit_scale.requires_grad_(False)  # a single number: onstage trains it when told to
    return model


class Contrastive(nn.Module):
    """Two towers of plain layers; the logits are the similarities of all pairs of the batch, of any size."""

    def __init__(self):
        super().__init__()
        self.left, self.right = (
            nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, 24), nn.GELU(), nn.Linear(24, 8)) for width in (12, 10)
        )

    def forward(self, a, b):
        a, b = (nn.functional.normalize(x, dim=1) for x in (self.left(a), self.right(b)))
        return 5 * a @ b.T


class Recurrent(nn.Module):
    """A sequence classifier: LSTM, GRU or plain recurrence."""

    def __init__(self, kind, layers=1, bidirectional=False):
        super().__init__()
        self.embedding = nn.Embedding(30, 12)
        self.cell = getattr(nn, kind)(12, 16, layers, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(32 if bidirectional else 16, 7)

    def forward(self, tokens):
        y, _ = self.cell(self.embedding(tokens))
        return self.head(y[:, -1])


class Dlrm(nn.Module):
    """Dense features and four tables, pairwise dot products of all, a click's logit."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, 8) for n in (20, 30, 40, 10))
        self.bottom = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(18, 16), nn.ReLU(), nn.Linear(16, 1))
        rows, columns = torch.tril_indices(5, 5, -1)
        self.register_buffer("pairs", rows * 5 + columns, persistent=False)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        vectors = torch.stack([x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([x, products[:, self.pairs]], 1)).squeeze(1)


class MultiBranch(nn.Module):
    """Three inputs, branches of their own, joined by addition, concatenation and gating."""

    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(10, 16), nn.SELU(), nn.Linear(16, 12))
        self.b = nn.Sequential(nn.Linear(6, 16), nn.Softplus(), nn.Linear(16, 12))
        self.c = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 12), nn.Tanh())
        self.gate = nn.Linear(24, 12)
        self.head = nn.Linear(24, 5)

    def forward(self, a, b, c):
        a, b, c = self.a(a), self.b(b), self.c(c)
        gate = torch.sigmoid(self.gate(torch.cat([a, c], 1)))
        return self.head(torch.cat([gate * a + (1 - gate) * b, torch.maximum(b, c)], 1))


class TwoTowers(nn.Module):
    """Two long branches of one stem, joined at their ends: they can be stages that compute at the same time."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(24, 32), nn.Tanh())
        self.left = nn.Sequential(*(layer for _ in range(5) for layer in (nn.Linear(32, 32), nn.SELU())))
        self.right = nn.Sequential(*(layer for _ in range(5) for layer in (nn.Linear(32, 32), nn.Softplus())))
        self.head = nn.Linear(64, 5)

    def forward(self, x):
        x = self.stem(x)
        left = self.left(x)
        return self.head(torch.cat([left, self.right(x)], 1))


class Experts(nn.Module):
    """A mixture of experts whose routing keeps its shapes: the best two of four by a mask over all of them."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 16)
        self.router = nn.Linear(16, 4, bias=False)
        self.up = nn.Parameter(torch.zeros(4, 16, 32))
        self.down = nn.Parameter(torch.zeros(4, 32, 16))
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 30)

    def forward(self, tokens):
        x = self.embedding(tokens)
        weights = torch.softmax(self.router(self.norm(x)), -1)
        best, chosen = torch.topk(weights, 2, -1)
        routed = torch.zeros_like(weights).scatter(-1, chosen, best / best.sum(-1, keepdim=True))
        hidden = F.silu(torch.einsum("ntd,edh->nteh", self.norm(x), self.up))
        y = torch.einsum("nteh,ehd->nted", hidden, self.down)
        return self.head(x + (routed[..., None] * y).sum(2))
