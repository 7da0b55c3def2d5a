# SPDX-License-Identifier: Apache-2.0
"""The LFM2.5-Audio architecture at demo size, written for training on a CPU.

Parameter names are those of the liquid-audio checkpoint, so the state dict loads into the reference:
    conformer.*, audio_adapter.*      FastConformer encoder and adapter (audio in)
    lfm.*                             LFM2 backbone, tied text head
    audio_embedding.*                 sum of code embeddings fed back to the backbone
    depth_linear.*, depthformer.*, depth_embeddings.*   8 codes per frame, one codebook at a time
Detokenizer is the separate audio_detokenizer checkpoint: codes -> log-magnitude and phase -> ISTFT.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

CODEBOOKS, CODES = 8, 256
AUDIO_VOCAB = CODES + 1  # the last code ends the audio
EOA = CODES

CONFIG = {
    "architectures": ["Lfm2AudioForConditionalGeneration"],
    "codebooks": CODEBOOKS,
    "tie_audio_embeddings": False,
    "semantic_codebook_factor": 100,
    "codebook_weight": "log",
    "interleaved_n_text": 6,
    "interleaved_n_audio": 12,
    "preprocessor": {
        "sample_rate": 16000,
        "normalize": "per_feature",
        "window_size": 0.025,
        "window_stride": 0.01,
        "window": "hann",
        "features": 128,
        "n_fft": 512,
        "log": True,
        "frame_splicing": 1,
        "dither": 1e-05,
        "pad_to": 0,
        "pad_value": 0.0,
    },
    "encoder": {
        "feat_in": 128,
        "feat_out": -1,
        "n_layers": 4,
        "d_model": 160,
        "subsampling": "dw_striding",
        "subsampling_factor": 8,
        "subsampling_conv_channels": 32,
        "causal_downsampling": False,
        "reduction": None,
        "reduction_position": None,
        "reduction_factor": 1,
        "ff_expansion_factor": 4,
        "self_attention_model": "rel_pos",
        "n_heads": 4,
        "att_context_size": [-1, -1],
        "xscaling": False,
        "untie_biases": True,
        "pos_emb_max_len": 5000,
        "conv_kernel_size": 9,
        "conv_norm_type": "batch_norm",
        "conv_context_size": None,
        "dropout": 0.1,
        "dropout_pre_encoder": 0.1,
        "dropout_emb": 0.0,
        "dropout_att": 0.1,
    },
    "lfm": {
        "vocab_size": 1024,
        "hidden_size": 256,
        "num_hidden_layers": 5,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "layer_types": ["conv", "full_attention", "conv", "full_attention", "conv"],
        "conv_L_cache": 3,
        "conv_bias": False,
        "intermediate_size": 512,
        "block_ff_dim": 512,
        "block_multiple_of": 64,
        "block_ffn_dim_multiplier": 1.0,
        "block_auto_adjust_ff_dim": False,
        "max_position_embeddings": 128000,
        "norm_eps": 1e-05,
        "rope_theta": 1000000.0,
        "theta": 1000000.0,
        "tie_embedding": True,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 7,
    },
    "depthformer": {"layers": 2, "dim": 128, "tie": False},
}
DETOK_CONFIG = {
    "architectures": ["Lfm25AudioTokenizer"],
    "model_type": "lfm2",
    "vocab_size": 64,
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "layer_types": ["conv", "conv", "sliding_attention", "conv"],
    "conv_L_cache": 3,
    "conv_bias": False,
    "intermediate_size": 384,
    "block_auto_adjust_ff_dim": False,
    "block_multiple_of": 64,
    "block_ffn_dim_multiplier": 1.0,
    "max_position_embeddings": 128000,
    "norm_eps": 1e-05,
    "rope_theta": 1000000.0,
    "sliding_window": 30,
    "output_size": 1282,
}


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x.float(), x.shape[-1:], self.weight, self.eps)


# ------------------------------------------------------------------------------------------ LFM2
def rope_tables(n, dim, theta, start=0):
    inv = 1.0 / theta ** (torch.arange(0, dim, 2).float() / dim)
    a = torch.outer(torch.arange(start, start + n).float(), inv)
    return a.cos(), a.sin()


def rope_half(x, cos, sin):
    """x [B,H,T,d]: rotate (x_i, x_{i+d/2})."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def rope_pairs(x, cos, sin):
    """x [...,T,d]: rotate adjacent pairs, as the depthformer does."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


class ShortConv(nn.Module):
    def __init__(self, c):
        super().__init__()
        d = c["hidden_size"]
        self.in_proj = nn.Linear(d, 3 * d, bias=False)
        self.conv = nn.Conv1d(d, d, c["conv_L_cache"], groups=d, bias=False)
        self.out_proj = nn.Linear(d, d, bias=False)

    def forward(self, x, rope=None, mask=None, cache=None):
        b, c, x = self.in_proj(x).chunk(3, -1)
        bx = b * x
        past = bx.new_zeros(bx.shape[0], 2, bx.shape[2]) if cache is None or "tail" not in cache else cache["tail"]
        z = torch.cat([past, bx], 1)
        if cache is not None:
            cache["tail"] = z[:, -2:]
        w = self.conv.weight[:, 0].T  # [3, d]
        n = bx.shape[1]
        y = z[:, 0:n] * w[0] + z[:, 1 : n + 1] * w[1] + z[:, 2 : n + 2] * w[2]
        return self.out_proj(c * y)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, self.h, self.kv = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
        self.hd = d // self.h
        self.q_proj = nn.Linear(d, d, bias=False)
        self.k_proj = nn.Linear(d, self.kv * self.hd, bias=False)
        self.v_proj = nn.Linear(d, self.kv * self.hd, bias=False)
        self.out_proj = nn.Linear(d, d, bias=False)
        self.q_layernorm = RMSNorm(self.hd)
        self.k_layernorm = RMSNorm(self.hd)

    def forward(self, x, rope, mask=None, cache=None):
        B, T, _ = x.shape
        q = self.q_layernorm(self.q_proj(x).view(B, T, self.h, self.hd)).transpose(1, 2)
        k = self.k_layernorm(self.k_proj(x).view(B, T, self.kv, self.hd)).transpose(1, 2)
        v = self.v_proj(x).view(B, T, self.kv, self.hd).transpose(1, 2)
        q, k = rope_half(q, *rope), rope_half(k, *rope)
        if cache is not None:
            if "k" in cache:
                k, v = torch.cat([cache["k"], k], 2), torch.cat([cache["v"], v], 2)
            cache["k"], cache["v"] = k, v
        g = self.h // self.kv
        k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
        q, k = q.to(v.dtype), k.to(v.dtype)
        s = torch.matmul(q, k.transpose(-2, -1)).float() / math.sqrt(self.hd)
        if T > 1:
            if mask is None:
                mask = torch.ones(T, k.shape[2], dtype=torch.bool).tril(k.shape[2] - T)
            s = s.masked_fill(~mask, -math.inf)
        o = torch.matmul(s.softmax(-1).to(v.dtype), v)
        return self.out_proj(o.transpose(1, 2).reshape(B, T, -1))


class SwiGLU(nn.Module):
    def __init__(self, d, ff):
        super().__init__()
        self.w1 = nn.Linear(d, ff, bias=False)
        self.w3 = nn.Linear(d, ff, bias=False)
        self.w2 = nn.Linear(ff, d, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Lfm2Layer(nn.Module):
    def __init__(self, c, kind):
        super().__init__()
        if kind == "conv":
            self.conv = ShortConv(c)
        else:
            self.self_attn = Attention(c)
        self.kind = kind
        self.feed_forward = SwiGLU(c["hidden_size"], c["intermediate_size"])
        self.operator_norm = RMSNorm(c["hidden_size"])
        self.ffn_norm = RMSNorm(c["hidden_size"])

    def forward(self, x, rope, mask, cache):
        op = self.conv if self.kind == "conv" else self.self_attn
        x = x + op(self.operator_norm(x), rope, mask, cache)
        return x + self.feed_forward(self.ffn_norm(x))


class Lfm2(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList([Lfm2Layer(c, k) for k in c["layer_types"]])
        self.embedding_norm = RMSNorm(c["hidden_size"])
        nn.init.normal_(self.embed_tokens.weight, std=0.05)
        for n, p in self.named_parameters():
            if p.dim() == 2 and "embed" not in n:
                nn.init.normal_(
                    p, std=1 / math.sqrt(p.shape[1]) * (0.4 if n.endswith(("w2.weight", "out_proj.weight")) else 0.8)
                )

    def forward(self, x, mask=None, caches=None, pos=0):
        rope = rope_tables(
            x.shape[1], self.c["hidden_size"] // self.c["num_attention_heads"], self.c["rope_theta"], pos
        )
        for i, layer in enumerate(self.layers):
            x = layer(x, rope, mask, None if caches is None else caches[i])
        return self.embedding_norm(x)


# ------------------------------------------------------------------------------------ FastConformer
class Subsampling(nn.Module):
    def __init__(self, c):
        super().__init__()
        ch, d = c["subsampling_conv_channels"], c["d_model"]
        self.conv = nn.Sequential(
            nn.Conv2d(1, ch, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(ch, ch, 3, 2, 1, groups=ch),
            nn.Conv2d(ch, ch, 1),
            nn.ReLU(),
            nn.Conv2d(ch, ch, 3, 2, 1, groups=ch),
            nn.Conv2d(ch, ch, 1),
            nn.ReLU(),
        )
        self.out = nn.Linear(ch * (c["feat_in"] // 8), d)

    def forward(self, x, lengths):
        """x [B,T,128] zero beyond each length; every stage masks what lies beyond the clip, as the reference does."""
        x = x.unsqueeze(1)
        n = lengths
        for i, layer in enumerate(self.conv):
            x = layer(x)
            if i in (0, 2, 5):
                n = (n - 1) // 2 + 1
            if i in (1, 4, 7) or i == 3:
                mask = (torch.arange(x.shape[2]) < n[:, None])[:, None, :, None]
                x = x * mask
        B, C, T, Fq = x.shape
        return self.out(x.transpose(1, 2).reshape(B, T, C * Fq)), n


class ConvModule(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.pointwise_conv1 = nn.Conv1d(d, 2 * d, 1)
        self.depthwise_conv = nn.Conv1d(d, d, k, padding=k // 2, groups=d)
        self.batch_norm = nn.BatchNorm1d(d)
        self.pointwise_conv2 = nn.Conv1d(d, d, 1)

    def forward(self, x, pad):
        # The 1x1 convolutions run as matrix products over [B,T,d].
        x = F.glu(F.linear(x, self.pointwise_conv1.weight[:, :, 0], self.pointwise_conv1.bias), -1)
        x = x.masked_fill(pad[:, :, None], 0.0).float()
        k = self.depthwise_conv.weight.shape[-1]
        n = x.shape[1]
        z = F.pad(x, (0, 0, k // 2, k // 2))
        w = self.depthwise_conv.weight[:, 0].T
        y = self.depthwise_conv.bias
        for i in range(k):
            y = y + z[:, i : i + n] * w[i]
        bn = self.batch_norm
        if self.training:
            keep = ~pad
            flat = y[keep]
            mean, var = flat.mean(0), flat.var(0, unbiased=False)
            with torch.no_grad():
                bn.running_mean.lerp_(mean, 0.05)
                bn.running_var.lerp_(var * len(flat) / (len(flat) - 1), 0.05)
        else:
            mean, var = bn.running_mean, bn.running_var
        y = (y - mean) * ((var + bn.eps).rsqrt() * bn.weight) + bn.bias
        return F.linear(F.silu(y), self.pointwise_conv2.weight[:, :, 0], self.pointwise_conv2.bias)


class FeedForward(nn.Module):
    def __init__(self, d, ff, p):
        super().__init__()
        self.linear1 = nn.Linear(d, ff)
        self.linear2 = nn.Linear(ff, d)
        self.p = p

    def forward(self, x):
        return self.linear2(F.silu(self.linear1(x)))


class RelAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.linear_q = nn.Linear(d, d)
        self.linear_k = nn.Linear(d, d)
        self.linear_v = nn.Linear(d, d)
        self.linear_out = nn.Linear(d, d)
        self.linear_pos = nn.Linear(d, d, bias=False)
        self.pos_bias_u = nn.Parameter(torch.zeros(h, self.dk))
        self.pos_bias_v = nn.Parameter(torch.zeros(h, self.dk))

    def forward(self, x, pos, pad):
        B, T, D = x.shape
        q = self.linear_q(x).view(B, T, self.h, self.dk)
        k = self.linear_k(x).view(B, T, self.h, self.dk).transpose(1, 2)
        v = self.linear_v(x).view(B, T, self.h, self.dk).transpose(1, 2)
        p = self.linear_pos(pos).view(-1, self.h, self.dk).transpose(0, 1)  # [h, 2T-1, dk]
        qu = (q + self.pos_bias_u).transpose(1, 2).to(v.dtype)
        qv = (q + self.pos_bias_v).transpose(1, 2).to(v.dtype)
        bd = torch.matmul(qv, p.transpose(-2, -1).to(v.dtype))  # [B,h,T,2T-1]
        bd = F.pad(bd, (1, 0)).view(B, self.h, 2 * T, T)[:, :, 1:].reshape(B, self.h, T, 2 * T - 1)[..., :T]
        s = ((torch.matmul(qu, k.transpose(-2, -1)) + bd) / math.sqrt(self.dk)).float()
        s = s.masked_fill(pad[:, None, None, :], -10000.0).softmax(-1)
        o = torch.matmul(s.to(v.dtype), v).transpose(1, 2).reshape(B, T, D)
        return self.linear_out(o)


class ConformerLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, p = c["d_model"], c["dropout"]
        self.p = p
        self.norm_feed_forward1 = nn.LayerNorm(d)
        self.feed_forward1 = FeedForward(d, d * c["ff_expansion_factor"], p)
        self.norm_conv = nn.LayerNorm(d)
        self.conv = ConvModule(d, c["conv_kernel_size"])
        self.norm_self_att = nn.LayerNorm(d)
        self.self_attn = RelAttention(d, c["n_heads"])
        self.norm_feed_forward2 = nn.LayerNorm(d)
        self.feed_forward2 = FeedForward(d, d * c["ff_expansion_factor"], p)
        self.norm_out = nn.LayerNorm(d)

    def forward(self, x, pos, pad):
        def drop(y):
            return F.dropout(y, self.p, self.training)

        x = x + 0.5 * drop(self.feed_forward1(self.norm_feed_forward1(x)))
        x = x + drop(self.self_attn(self.norm_self_att(x), pos, pad))
        x = x + drop(self.conv(self.norm_conv(x), pad))
        x = x + 0.5 * drop(self.feed_forward2(self.norm_feed_forward2(x)))
        return self.norm_out(x)


class Conformer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.pre_encode = Subsampling(c)
        self.layers = nn.ModuleList([ConformerLayer(c) for _ in range(c["n_layers"])])

    def positions(self, T):
        d = self.c["d_model"]
        p = torch.arange(T - 1, -T, -1).float()[:, None] * torch.exp(
            torch.arange(0, d, 2).float() * -(math.log(10000.0) / d)
        )
        return torch.stack([p.sin(), p.cos()], -1).flatten(1)

    def forward(self, mel, lengths):
        """mel [B,T,128] -> ([B,T',d], lengths')."""
        x, n = self.pre_encode(mel, lengths)
        x = F.dropout(x.float(), self.c["dropout_pre_encoder"], self.training)
        pos = self.positions(x.shape[1])
        pad = torch.arange(x.shape[1]) >= n[:, None]
        for layer in self.layers:
            x = layer(x, pos, pad)
        return x, n


class Adapter(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.model = nn.Sequential(nn.LayerNorm(i), nn.Linear(i, o), nn.GELU(), nn.Linear(o, o))

    def forward(self, x):
        return self.model(x)


# -------------------------------------------------------------------------------------- depthformer
class DepthAttention(nn.Module):
    HEADS, KV = 32, 8

    def __init__(self, d):
        super().__init__()
        self.hd = d // self.HEADS
        self.qkv_proj = nn.Linear(d, d + 2 * self.KV * self.hd, bias=False)
        self.out_proj = nn.Linear(d, d, bias=False)
        self.bounded_attention = nn.Module()
        self.bounded_attention.q_layernorm = RMSNorm(self.hd)
        self.bounded_attention.k_layernorm = RMSNorm(self.hd)

    def forward(self, x, cache=None):
        N, T, D = x.shape
        q, k, v = self.qkv_proj(x).split([D, self.KV * self.hd, self.KV * self.hd], -1)
        q = self.bounded_attention.q_layernorm(q.reshape(N, T, self.HEADS, self.hd)).transpose(1, 2)
        k = self.bounded_attention.k_layernorm(k.reshape(N, T, self.KV, self.hd)).transpose(1, 2)
        v = v.reshape(N, T, self.KV, self.hd).transpose(1, 2)
        start = 0 if cache is None or "k" not in cache else cache["k"].shape[2]
        rope = rope_tables(T, self.hd, 1000000.0, start)
        q, k = rope_pairs(q, *rope), rope_pairs(k, *rope)
        if cache is not None:
            if "k" in cache:
                k, v = torch.cat([cache["k"], k], 2), torch.cat([cache["v"], v], 2)
            cache["k"], cache["v"] = k, v
        g = self.HEADS // self.KV
        # Grouped heads share keys and values: fold the group into the query axis.
        S = k.shape[2]
        q = q.reshape(N, self.KV, g * T, self.hd).float()
        s = torch.matmul(q, k.float().transpose(-2, -1)) / math.sqrt(self.hd)
        if T > 1:
            m = torch.full((T, S), -math.inf).triu(S - T + 1).repeat(g, 1)
            s = s + m
        o = torch.matmul(s.softmax(-1), v.float())
        o = o.view(N, self.HEADS, T, self.hd).transpose(1, 2).reshape(N, T, D)
        return self.out_proj(o)


class DepthLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.operator = DepthAttention(d)
        self.feed_forward = SwiGLU(d, 256 * ((int(8 * d / 3) + 255) // 256))
        self.operator_norm = RMSNorm(d)
        self.ffn_norm = RMSNorm(d)

    def forward(self, x, cache=None):
        x = x + self.operator(self.operator_norm(x), cache)
        return x + self.feed_forward(self.ffn_norm(x))


class SharedEmbedding(nn.Module):
    def __init__(self, d, n, head=True):
        super().__init__()
        self.embedding = nn.Embedding(n, d)
        nn.init.normal_(self.embedding.weight, std=0.05)
        if head:
            self.embedding_norm = RMSNorm(d)
            self.to_logits = nn.Linear(d, n, bias=False)
            nn.init.normal_(self.to_logits.weight, std=1 / math.sqrt(d))


class Depthformer(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.layers = nn.ModuleList([DepthLayer(d) for _ in range(n)])

    def forward(self, x, caches=None):
        for i, layer in enumerate(self.layers):
            x = layer(x, None if caches is None else caches[i])
        return x


# -------------------------------------------------------------------------------------- whole model
class AudioModel(nn.Module):
    def __init__(self, c=CONFIG):
        super().__init__()
        self.c = c
        h, dd = c["lfm"]["hidden_size"], c["depthformer"]["dim"]
        self.dd = dd
        self.lfm = Lfm2(c["lfm"])
        self.conformer = Conformer(c["encoder"])
        self.audio_adapter = Adapter(c["encoder"]["d_model"], h)
        self.audio_embedding = SharedEmbedding(h, AUDIO_VOCAB * CODEBOOKS, head=False)
        nn.init.normal_(self.audio_embedding.embedding.weight, std=0.02)
        self.depth_linear = nn.Linear(h, dd * CODEBOOKS)
        self.depthformer = Depthformer(dd, c["depthformer"]["layers"])
        self.depth_embeddings = nn.ModuleList([SharedEmbedding(dd, AUDIO_VOCAB) for _ in range(CODEBOOKS)])
        self.register_buffer("offsets", torch.arange(CODEBOOKS) * AUDIO_VOCAB, persistent=False)

    def embed_frames(self, codes):
        """codes [...,8] -> sum of code embeddings."""
        return self.audio_embedding.embedding(codes + self.offsets).sum(-2)

    def depth_logits(self, hidden, codes):
        """hidden [N,256], codes [N,8] (teacher forcing) -> list of 8 [N,257] logits."""
        x = self.depth_linear(hidden).view(-1, CODEBOOKS, self.dd)
        prev = torch.stack([self.depth_embeddings[i].embedding(codes[:, i]) for i in range(CODEBOOKS - 1)], 1)
        x = x + F.pad(prev, (0, 0, 1, 0))
        x = self.depthformer(x)
        return [e.to_logits(e.embedding_norm(x[:, i])) for i, e in enumerate(self.depth_embeddings)]

    @torch.no_grad()
    def pick_frame(self, hidden, pick):
        """hidden [B,256] -> codes [B,8], each codebook picked by pick(logits [B,257]) -> [B]."""
        x = self.depth_linear(hidden).view(-1, CODEBOOKS, self.dd)
        caches = [{} for _ in self.depthformer.layers]
        prev, out = 0, []
        for i in range(CODEBOOKS):
            y = self.depthformer((x[:, i] + prev)[:, None], caches)[:, 0]
            e = self.depth_embeddings[i]
            t = pick(e.to_logits(e.embedding_norm(y)))
            out.append(t)
            prev = e.embedding(t)
        return torch.stack(out, -1)

    def text_logits(self, hidden):
        return F.linear(hidden, self.lfm.embed_tokens.weight)


class Detokenizer(nn.Module):
    N_FFT, HOP, UP = 1280, 320, 6

    def __init__(self, c=DETOK_CONFIG):
        super().__init__()
        self.c = c
        self.emb = nn.Module()
        self.emb.emb = nn.Embedding(CODEBOOKS * CODES, c["hidden_size"])
        self.lfm = Lfm2(c)
        self.lin = nn.Linear(c["hidden_size"], 1282)
        self.register_buffer("window", torch.hann_window(self.N_FFT), persistent=False)

    def head(self, codes):
        """codes [B,T,8] -> log-magnitude and phase [B,6T,641] each."""
        x = self.emb.emb(codes + torch.arange(CODEBOOKS) * CODES).mean(-2).repeat_interleave(self.UP, 1)
        i = torch.arange(x.shape[1])
        d = i[None] - i[:, None]
        mask = (d <= 0) & (d > -self.c["sliding_window"])
        return self.lin(self.lfm(x, mask=mask)).chunk(2, -1)

    def istft(self, log_mag, phase):
        spec = torch.polar(log_mag.float().exp(), phase.float()).transpose(1, 2)  # [B,641,T]
        T = spec.shape[2]
        y = torch.fft.irfft(spec, self.N_FFT, dim=1) * self.window[None, :, None]
        size = (T - 1) * self.HOP + self.N_FFT
        pad = (self.N_FFT - self.HOP) // 2

        def overlap(z):
            return F.fold(z, (1, size), (1, self.N_FFT), stride=(1, self.HOP))[:, 0, 0, pad:-pad]

        env = overlap(self.window.square()[None, :, None].expand(1, -1, T))
        return overlap(y) / env

    def forward(self, codes):
        return self.istft(*self.head(codes))


if __name__ == "__main__":
    m, d = AudioModel(), Detokenizer()
    for n, x in [*m.named_children(), ("detokenizer", d)]:
        print(n, sum(p.numel() for p in x.parameters()))
