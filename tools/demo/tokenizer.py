# SPDX-License-Identifier: Apache-2.0
"""Byte-level BPE with the LFM2 (Llama-3) split pattern and the special tokens of LFM2.5-Audio.

Special tokens keep the ids of the published checkpoint where the reference code relies on them
(<|im_end|> 7, <|audio_start|> 128, <|text_end|> 130); the 256 bytes and the merges follow.
"""
import collections
import json
import sys

import regex

PATTERN = regex.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = {
    0: "<|pad|>",
    1: "<|startoftext|>",
    2: "<|endoftext|>",
    3: "<|fim_pre|>",
    4: "<|fim_mid|>",
    5: "<|fim_suf|>",
    6: "<|im_start|>",
    7: "<|im_end|>",
    8: "<|tool_list_start|>",
    9: "<|tool_list_end|>",
    10: "<|tool_call_start|>",
    11: "<|tool_call_end|>",
    12: "<|tool_response_start|>",
    13: "<|tool_response_end|>",
    14: "<think>",
    15: "</think>",
    128: "<|audio_start|>",
    129: "<|text_start|>",
    130: "<|text_end|>",
}
N_SPECIAL = 131
PROMPT_ASR = "Perform ASR."
PROMPT_S2S = "Respond with interleaved text and audio."
VOICE_NAMES = {"us_male": "US male", "us_female": "US female", "uk_male": "UK male", "uk_female": "UK female"}


def prompt_tts(voice):
    return f"Perform TTS. Use the {VOICE_NAMES[voice]} voice."


def byte_alphabet():
    """The printable stand-ins GPT-2's byte-level BPE uses for the 256 bytes."""
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    table, extra = {}, 256
    for b in range(256):
        if b in keep:
            table[b] = chr(b)
        else:
            table[b] = chr(extra)
            extra += 1
    return table


B2U = byte_alphabet()
U2B = {u: b for b, u in B2U.items()}


def train(texts, vocab_size):
    """texts: a Counter of strings.  Returns (tokens, merges)."""
    tokens = [SPECIAL.get(i, f"<|reserved_{i}|>") for i in range(N_SPECIAL)]
    tokens += [B2U[b] for b in sorted(B2U, key=lambda b: ord(B2U[b]))]
    words = collections.Counter()
    for t, c in texts.items():
        for w in PATTERN.findall(t):
            words[tuple(B2U[b] for b in w.encode())] += c
    merges = []
    while len(tokens) < vocab_size:
        pairs = collections.Counter()
        for w, c in words.items():
            for p in zip(w, w[1:]):
                pairs[p] += c
        if not pairs:
            break
        a, b = max(sorted(pairs), key=lambda p: pairs[p])
        merges.append(f"{a} {b}")
        tokens.append(a + b)
        new = collections.Counter()
        for w, c in words.items():
            o, i = [], 0
            while i < len(w):
                if i + 1 < len(w) and w[i] == a and w[i + 1] == b:
                    o.append(a + b)
                    i += 2
                else:
                    o.append(w[i])
                    i += 1
            new[tuple(o)] += c
        words = new
    while len(tokens) < vocab_size:
        tokens.append(f"<|unused_{len(tokens)}|>")
    return tokens, merges


class Tokenizer:
    def __init__(self, path):
        d = json.load(open(path))
        self.tokens, self.merges = d["tokens"], d["merges"]
        self.ids = {t: i for i, t in enumerate(self.tokens)}
        self.ranks = {tuple(m.split(" ")): i for i, m in enumerate(self.merges)}
        self.special = {i for i, t in enumerate(self.tokens) if i < N_SPECIAL or t.startswith("<|unused_")}
        self.split = regex.compile("(" + "|".join(regex.escape(self.tokens[i]) for i in sorted(self.special)) + ")")
        self.cache = {}

    def _word(self, w):
        if w not in self.cache:
            p = [B2U[b] for b in w.encode()]
            while len(p) > 1:
                rank, i = min((self.ranks.get(q, 1 << 30), i) for i, q in enumerate(zip(p, p[1:])))
                if rank == 1 << 30:
                    break
                p[i : i + 2] = [p[i] + p[i + 1]]
            self.cache[w] = [self.ids[x] for x in p]
        return self.cache[w]

    def encode(self, text):
        out = []
        for seg in self.split.split(text):
            if seg in self.ids and self.ids[seg] in self.special:
                out.append(self.ids[seg])
            elif seg:
                for w in PATTERN.findall(seg):
                    out += self._word(w)
        return out

    def decode(self, ids):
        b = bytearray()
        for i in ids:
            if i not in self.special:
                b += bytes(U2B[c] for c in self.tokens[i])
        return b.decode("utf-8", errors="replace")


if __name__ == "__main__":
    import random

    import world

    r = random.Random(3)
    texts = collections.Counter(world.statement(r) for _ in range(60000))
    for p in [PROMPT_ASR, PROMPT_S2S, "system\n", "user\n", "assistant\n", "\n"] + [prompt_tts(v) for v in VOICE_NAMES]:
        texts[p] += 6000
    for q in {world.question(r) for _ in range(20000)}:
        texts[q[0]] += 40
        texts[q[1]] += 40
    tokens, merges = train(texts, 1024)
    json.dump({"tokens": tokens, "merges": merges}, open(sys.argv[1], "w"), ensure_ascii=False)
    tk = Tokenizer(sys.argv[1])
    n = [len(tk.encode(world.statement(r))) for _ in range(2000)]
    print(len(tokens), len(merges), "tokens per sentence", sum(n) / len(n))
    for s in [
        "The next train leaves in ten minutes.",
        PROMPT_S2S,
        prompt_tts("uk_female"),
        "It is half past seven o'clock.",
    ]:
        e = tk.encode(s)
        print([tk.tokens[i] for i in e])
        assert tk.decode(e) == s
