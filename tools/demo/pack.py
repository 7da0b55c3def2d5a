# SPDX-License-Identifier: Apache-2.0
"""Pack the trained demo: a liquid-audio style checkpoint and the four GGUF files.

    python3 pack.py DATA_DIR CKPT DETOK_CKPT OUT_DIR
Matrices are first rounded to half precision, so that the F32 and F16 files hold the same values.
gguf/ has everything the published files have; gguf-lean/ leaves out the tensors no engine uses.
"""
import json
import math
import os
import re
import sys

import torch
from safetensors.torch import save_file

import gguf_write as W
from model import CODEBOOKS, AUDIO_VOCAB, CONFIG, DETOK_CONFIG, AudioModel, Detokenizer
from tokenizer import N_SPECIAL, PATTERN

NAME = "demo"


def rounded(sd):
    return {k: (v.half().float() if v.is_floating_point() and v.dim() > 1 else v).contiguous() for k, v in sd.items()}


def load(ck, dk):
    m, d = AudioModel(), Detokenizer()
    m.load_state_dict(torch.load(ck)["model"])
    d.load_state_dict(torch.load(dk)["model"])
    m.load_state_dict(rounded(m.state_dict()))
    d.load_state_dict(rounded(d.state_dict()))
    return m.eval(), d.eval()


def checkpoint(out, m, d, tk):
    os.makedirs(f"{out}/audio_detokenizer", exist_ok=True)
    sd = dict(m.state_dict())
    # Tensors the reference class owns but does not use when it generates.
    sd["codebook_offsets"] = torch.arange(CODEBOOKS) * AUDIO_VOCAB
    sd["audio_loss_weights"] = (torch.linspace(1, 0, CODEBOOKS) * math.log(CONFIG["semantic_codebook_factor"])).exp()
    sd["audio_embedding.embedding_norm.weight"] = torch.ones(CONFIG["lfm"]["hidden_size"])
    sd["audio_embedding.to_logits.weight"] = sd["audio_embedding.embedding.weight"].clone()
    save_file({k: v.contiguous() for k, v in sd.items()}, f"{out}/model.safetensors")
    dd = dict(d.state_dict())
    dd["istft.window"] = d.window
    save_file({k: v.contiguous() for k, v in dd.items()}, f"{out}/audio_detokenizer/model.safetensors")
    json.dump(CONFIG, open(f"{out}/config.json", "w"), indent=1)
    json.dump(DETOK_CONFIG, open(f"{out}/audio_detokenizer/config.json", "w"), indent=1)
    special = [i for i, t in enumerate(tk["tokens"]) if i < N_SPECIAL or t.startswith("<|unused_")]
    added = [
        {
            "id": i,
            "content": tk["tokens"][i],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for i in special
    ]
    vocab = {t: i for i, t in enumerate(tk["tokens"])}
    json.dump(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Split", "pattern": {"Regex": PATTERN.pattern}, "behavior": "Isolated", "invert": False},
                    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
                ],
            },
            "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": True,
                "vocab": vocab,
                "merges": [m.split(" ") for m in tk["merges"]],
            },
        },
        open(f"{out}/tokenizer.json", "w"),
        ensure_ascii=False,
    )
    json.dump(
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<|startoftext|>",
            "eos_token": "<|im_end|>",
            "pad_token": "<|pad|>",
            "add_bos_token": True,
            "clean_up_tokenization_spaces": False,
        },
        open(f"{out}/tokenizer_config.json", "w"),
        indent=1,
    )


LAYER = {
    "operator_norm.weight": "attn_norm.weight",
    "ffn_norm.weight": "ffn_norm.weight",
    "feed_forward.w1.weight": "ffn_gate.weight",
    "feed_forward.w2.weight": "ffn_down.weight",
    "feed_forward.w3.weight": "ffn_up.weight",
    "self_attn.q_proj.weight": "attn_q.weight",
    "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.out_proj.weight": "attn_output.weight",
    "self_attn.q_layernorm.weight": "attn_q_norm.weight",
    "self_attn.k_layernorm.weight": "attn_k_norm.weight",
    "conv.conv.weight": "shortconv.conv.weight",
    "conv.in_proj.weight": "shortconv.in_proj.weight",
    "conv.out_proj.weight": "shortconv.out_proj.weight",
}
BLOCK = {
    "norm_feed_forward1": "ffn_norm",
    "feed_forward1.linear1": "ffn_up",
    "feed_forward1.linear2": "ffn_down",
    "norm_self_att": "ln1",
    "self_attn.linear_q": "attn_q",
    "self_attn.linear_k": "attn_k",
    "self_attn.linear_v": "attn_v",
    "self_attn.linear_out": "attn_out",
    "self_attn.linear_pos": "linear_pos",
    "norm_conv": "norm_conv",
    "conv.pointwise_conv1": "conv_pw1",
    "conv.pointwise_conv2": "conv_pw2",
    "conv.depthwise_conv": "conv_dw",
    "norm_feed_forward2": "ffn_norm_1",
    "feed_forward2.linear1": "ffn_up_1",
    "feed_forward2.linear2": "ffn_down_1",
    "norm_out": "ln2",
}


def general(w, kind, name, q):
    w.add("general.type", "str", kind)
    w.add("general.name", "str", name)
    w.add("general.basename", "str", "rill-demo")
    w.add("general.size_label", "str", "11M")
    w.add("general.tags", ["str"], ["lfm2.5", "audio", "demo"])
    w.add("general.languages", ["str"], ["en"])
    w.add("general.file_type", "u32", W.FILE_TYPE[q])
    w.add("general.quantization_version", "u32", 2)


def lfm2_meta(w, c):
    w.add("lfm2.block_count", "u32", c["num_hidden_layers"])
    w.add("lfm2.context_length", "u32", c["max_position_embeddings"])
    w.add("lfm2.embedding_length", "u32", c["hidden_size"])
    w.add("lfm2.feed_forward_length", "u32", c["intermediate_size"])
    w.add("lfm2.attention.head_count", "u32", c["num_attention_heads"])
    w.add(
        "lfm2.attention.head_count_kv",
        ["i32"],
        [0 if t == "conv" else c["num_key_value_heads"] for t in c["layer_types"]],
    )
    w.add("lfm2.rope.freq_base", "f32", c["rope_theta"])
    w.add("lfm2.attention.layer_norm_rms_epsilon", "f32", c["norm_eps"])
    w.add("lfm2.vocab_size", "u32", c["vocab_size"])
    w.add("lfm2.shortconv.l_cache", "u32", c["conv_L_cache"])


def lfm2_tensors(w, sd, t):
    for k, v in sd.items():
        if k == "embed_tokens.weight":
            name = "token_embd.weight"
        elif k == "embedding_norm.weight":
            name = "token_embd_norm.weight"
        else:
            m = re.match(r"layers\.(\d+)\.(.*)", k)
            name = f"blk.{m[1]}.{LAYER[m[2]]}"
        if name.endswith("shortconv.conv.weight"):
            w.tensor(name, v.squeeze(1), W.F32)
        elif name == "token_embd.weight" and t == W.Q4_0:
            w.tensor(name, v, W.Q8_0)  # the tied text head keeps more bits
        else:
            w.tensor(name, v, W.F32 if v.dim() < 2 else t)


def part(sd, prefix):
    return {k[len(prefix) :]: v for k, v in sd.items() if k.startswith(prefix)}


def backbone(path, m, tk, q):
    w = W.Writer(path, "lfm2")
    general(w, "model", "Rill demo", q)
    # The model speaks best greedily; docs/portable-format.md has these keys.
    for task in ("tts", "s2s"):
        w.add(f"rill.generation.{task}.temperature", "f32", 0.0)
    lfm2_meta(w, CONFIG["lfm"])
    w.add("tokenizer.ggml.model", "str", "gpt2")
    w.add("tokenizer.ggml.pre", "str", "lfm2")
    w.add("tokenizer.ggml.tokens", ["str"], tk["tokens"])
    kind = [
        5 if t.startswith(("<|unused_", "<|reserved_")) else 3 if i < N_SPECIAL else 1
        for i, t in enumerate(tk["tokens"])
    ]
    w.add("tokenizer.ggml.token_type", ["i32"], kind)
    w.add("tokenizer.ggml.merges", ["str"], tk["merges"])
    for key, v in (("bos", 1), ("eos", 7), ("padding", 0)):
        w.add(f"tokenizer.ggml.{key}_token_id", "u32", v)
    w.add("tokenizer.ggml.add_bos_token", "bool", True)
    w.add(
        "tokenizer.chat_template",
        "str",
        "{{- bos_token -}}{%- for message in messages -%}"
        "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' -}}"
        "{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}",
    )
    lfm2_tensors(w, part(m.state_dict(), "lfm."), W.TYPE[q])
    w.close()


UNUSED = ("a.position_embd_norm", "a.embd_to_logits", "audio_embedding.")  # published, but no engine needs them


def mmproj(path, m, q, lean):
    c = CONFIG["encoder"]
    w = W.Writer(path, "clip")
    general(w, "mmproj", "Rill demo", q)
    w.add("clip.has_audio_encoder", "bool", True)
    w.add("clip.projector_type", "str", "lfm2a")
    w.add("clip.audio.projection_dim", "u32", CONFIG["lfm"]["hidden_size"])
    w.add("clip.audio.embedding_length", "u32", c["d_model"])
    w.add(
        "clip.audio.feed_forward_length", "u32", c["d_model"]
    )  # the published files hold the width here, not the feed-forward size
    w.add("clip.audio.block_count", "u32", c["n_layers"])
    w.add("clip.audio.attention.head_count", "u32", c["n_heads"])
    w.add("clip.audio.num_mel_bins", "u32", c["feat_in"])
    w.add("clip.audio.attention.layer_norm_epsilon", "f32", 1e-5)
    sd = m.state_dict()
    e = sd["audio_embedding.embedding.weight"]
    rows = {
        "a.position_embd.weight": e,
        "a.position_embd_norm.weight": torch.ones(e.shape[1]),
        "a.embd_to_logits.weight": e,
    }
    for k, v in part(sd, "audio_adapter.model.").items():
        rows["mm.a.mlp." + k] = v
    for k, v in part(sd, "conformer.pre_encode.conv.").items():
        rows["a.conv1d." + k] = v[:, None, None] if k.endswith("bias") else v
    for k, v in part(sd, "conformer.pre_encode.out.").items():
        rows["a.pre_encode.out." + k] = v
    for i in range(c["n_layers"]):
        L = part(sd, f"conformer.layers.{i}.")
        bn = part(L, "conv.batch_norm.")
        scale = bn["weight"] / torch.sqrt(bn["running_var"] + 1e-5)
        rows[f"a.blk.{i}.conv_norm.weight"] = scale
        rows[f"a.blk.{i}.conv_norm.bias"] = bn["bias"] - bn["running_mean"] * scale
        for k, v in L.items():
            if k.startswith("conv.batch_norm."):
                continue
            if "pos_bias" in k:
                rows[f"a.blk.{i}.{k.split('.')[1]}"] = v
                continue
            base, suffix = k.rsplit(".", 1)
            if base == "conv.depthwise_conv" and suffix == "weight":
                v = v.squeeze(1)
            if base.startswith("conv.pointwise") and suffix == "weight":
                v = v.squeeze(2)
            rows[f"a.blk.{i}.{BLOCK[base]}.{suffix}"] = v
    for name in sorted(rows):
        if lean and name.startswith(UNUSED):
            continue
        v = rows[name]
        conv = name.startswith("a.conv1d.") or ".conv_dw." in name or ".conv_pw" in name
        if v.dim() < 2 or not name.endswith(".weight") or name == "a.position_embd.weight":
            t = W.F32
        elif conv and (q in ("F32", "F16") or v.shape[-1] % 32 or v.dim() > 2):
            t = W.F32
        else:
            t = W.TYPE[q]
        w.tensor(name, v, t)
    w.close()


def vocoder(path, m, d, q, lean):
    w = W.Writer(path, "this model cannot be used as LLM, use it via --model-vocoder in TTS examples")
    w.add("depthformer_n_layer", "u32", CONFIG["depthformer"]["layers"])
    w.add("depthformer_n_embd", "u32", CONFIG["depthformer"]["dim"])
    sd = {"emb.emb.weight": d.state_dict()["emb.emb.weight"], "istft.window": d.window}
    sd |= {
        k: v
        for k, v in m.state_dict().items()
        if k.startswith(("depthformer.", "depth_embeddings.", "depth_linear.", "audio_embedding."))
    }
    sd["audio_embedding.embedding_norm.weight"] = torch.ones(CONFIG["lfm"]["hidden_size"])
    sd["audio_embedding.to_logits.weight"] = sd["audio_embedding.embedding.weight"]
    for k, v in sd.items():
        if lean and k.startswith(UNUSED):
            continue
        w.tensor(
            k.replace("bounded_attention", "attention"), v, W.F32 if v.dim() == 1 or k.endswith(".bias") else W.TYPE[q]
        )
    w.close()


def detokenizer(path, d, q):
    w = W.Writer(path, "lfm2")
    general(w, "model", "Rill demo detokenizer", q)
    lfm2_meta(w, DETOK_CONFIG)
    w.add("lfm2.attention.sliding_window", "u32", DETOK_CONFIG["sliding_window"])
    w.add("lfm2.embedding_length_out", "u32", DETOK_CONFIG["output_size"])
    w.add("tokenizer.ggml.model", "str", "none")
    sd = d.state_dict()
    lfm2_tensors(w, part(sd, "lfm."), W.TYPE[q])
    w.tensor("dense_2.weight", sd["lin.weight"], W.TYPE[q])
    w.tensor("dense_2.bias", sd["lin.bias"], W.F32)
    w.close()


if __name__ == "__main__":
    data, ck, dk, out = sys.argv[1:5]
    torch.set_num_threads(1)
    tk = json.load(open(f"{data}/tokenizer.json"))
    m, d = load(ck, dk)
    checkpoint(f"{out}/checkpoint", m, d, tk)
    for folder, q in (("gguf", "F32"), ("gguf", "F16"), ("gguf", "Q8_0"), ("gguf-lean", "Q8_0"), ("gguf-lean", "Q4_0")):
        os.makedirs(f"{out}/{folder}", exist_ok=True)
        n, lean = f"{NAME}-{q}.gguf", folder == "gguf-lean"
        backbone(f"{out}/{folder}/{n}", m, tk, q)
        mmproj(f"{out}/{folder}/mmproj-{n}", m, q, lean)
        vocoder(f"{out}/{folder}/vocoder-{n}", m, d, q, lean)
        detokenizer(f"{out}/{folder}/tokenizer-{n}", d, q)
    for folder in ("gguf", "gguf-lean"):
        total = {}
        for f in sorted(os.listdir(f"{out}/{folder}")):
            n = os.path.getsize(f"{out}/{folder}/{f}")
            total[f.rsplit("-", 1)[1]] = total.get(f.rsplit("-", 1)[1], 0) + n
            print(folder, f, n)
        print(folder, total)
