# SPDX-License-Identifier: Apache-2.0
"""Datasets and batches: every sample becomes one sequence of text, audio-in and audio-out positions."""
import json
import os

import numpy as np
import torch

import tokenizer as T
from model import CODEBOOKS, EOA

SPECIAL_AUDIO_START, TEXT_END, IM_END = 128, 130, 7
N_TEXT, N_AUDIO = 6, 12  # interleaving


class Mels:
    """log-mel clips of one set."""

    def __init__(self, d, name):
        self.mel = np.memmap(f"{d}/{name}.mel", dtype=np.float16, mode="r").reshape(-1, 128)
        self.items = [json.loads(l) for l in open(f"{d}/{name}.mel.jsonl")]
        self.lab = np.fromfile(f"{d}/{name}.lab", dtype=np.int16) if os.path.exists(f"{d}/{name}.lab") else None
        off = 0
        for i in self.items:
            i["lab"] = off
            off += enc_len(i["n"])

    def get(self, item):
        return torch.from_numpy(self.mel[item["off"] : item["off"] + item["n"]].astype(np.float32))

    def labels(self, item):
        """The token spoken in each encoder frame; -100 where it is not known."""
        n = enc_len(item["n"])
        if self.lab is None:
            return torch.full((n,), -100)
        return torch.from_numpy(self.lab[item["lab"] : item["lab"] + n].astype(np.int64))


class Codes:
    """Speech codes [T,8] of one set, with the end-of-audio frame left out."""

    def __init__(self, d, name):
        self.codes = np.memmap(f"{d}/{name}.codes", dtype=np.uint8, mode="r").reshape(-1, CODEBOOKS)
        self.items = [json.loads(l) for l in open(f"{d}/{name}.codes.jsonl")]

    def get(self, item):
        return torch.from_numpy(self.codes[item["off"] : item["off"] + item["n"]].astype(np.int64))


class Prompts:
    def __init__(self, tk):
        self.tk = tk
        self.after = tk.encode("<|im_end|>\n<|im_start|>assistant\n")

    def before(self, system):
        return self.tk.encode("<|startoftext|>") + self.tk.encode(
            f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n"
        )


def spoken_tokens(tk, text, at):
    """For every code frame, the text token being spoken (-100: silence).  `at` holds character offsets."""
    ids, owner = tk.encode(text), []
    for i in ids:
        owner += [i] * len(tk.tokens[i])  # the world is ASCII: one byte per character
    return [owner[c] if c >= 0 else -100 for c in at]


# A sequence is a list of ("t", id, supervised) | ("i", n_frames) | ("o", frame, spoken token).
def asr_sequence(p, n_in, text):
    s = [("t", i, False) for i in p.before(T.PROMPT_ASR)] + [("i", n_in)] + [("t", i, False) for i in p.after]
    return s + [("t", i, True) for i in p.tk.encode(text) + [IM_END]]


def tts_sequence(p, text, voice, codes, at):
    s = [("t", i, False) for i in p.before(T.prompt_tts(voice)) + p.tk.encode(text) + p.after]
    s.append(("t", SPECIAL_AUDIO_START, True))
    s += [("o", c, w) for c, w in zip(codes, spoken_tokens(p.tk, text, at))] + [
        ("o", torch.full((CODEBOOKS,), EOA), -100)
    ]
    return s + [("t", IM_END, True)]


def s2s_sequence(p, n_in, answer, codes, at):
    s = [("t", i, False) for i in p.before(T.PROMPT_S2S)] + [("i", n_in)] + [("t", i, False) for i in p.after]
    text = p.tk.encode(answer) + [TEXT_END]
    frames = list(zip(codes, spoken_tokens(p.tk, answer, at))) + [(torch.full((CODEBOOKS,), EOA), -100)]
    while text:
        s += [("t", i, True) for i in text[:N_TEXT]]
        text = text[N_TEXT:]
        k = N_AUDIO if text else len(frames)
        s += [("o", f, w) for f, w in frames[:k]]
        frames = frames[k:]
    assert not frames
    return s + [("t", IM_END, True)]


def collate(seqs):
    """-> token ids [B,L] (0 where not text), text targets [B,L], and where audio goes in and comes out."""
    rows = []
    for s in seqs:
        n = sum(x[1] if x[0] == "i" else 1 for x in s)
        rows.append((n, s))
    L = max(n for n, _ in rows)
    B = len(rows)
    tok = torch.zeros(B, L, dtype=torch.long)
    tgt = torch.full((B, L), -100)
    in_b, in_t, out_b, out_t, frames, spoken = [], [], [], [], [], []
    for b, (_, s) in enumerate(rows):
        t = 0
        for x in s:
            if x[0] == "i":
                in_b += [b] * x[1]
                in_t += range(t, t + x[1])
                t += x[1]
                continue
            if x[0] == "t":
                tok[b, t] = x[1]
                if x[2]:
                    tgt[b, t - 1] = x[1]
            else:
                out_b.append(b)
                out_t.append(t)
                frames.append(x[1])
                spoken.append(x[2])
            t += 1
    return {
        "tok": tok,
        "tgt": tgt,
        "in": (torch.tensor(in_b), torch.tensor(in_t)),
        "out": (torch.tensor(out_b), torch.tensor(out_t)),
        "frames": torch.stack(frames) if frames else None,
        "spoken": torch.tensor(spoken),
    }


def pad_mels(mels):
    n = torch.tensor([len(m) for m in mels])
    return torch.nn.utils.rnn.pad_sequence(mels, batch_first=True), n


def spec_augment(mel, n, r):
    for b in range(len(mel)):
        for _ in range(2):
            f = r.randint(0, 18)
            a = r.randint(0, 128 - f)
            mel[b, :, a : a + f] = 0
            t = r.randint(0, max(1, min(16, int(n[b]) // 10)))
            a = r.randint(0, max(0, int(n[b]) - t))
            mel[b, a : a + t] = 0
    return mel


def batches(lengths, size, r):
    """Endless shuffled batches of indices of similar length."""
    while True:
        order = sorted(range(len(lengths)), key=lambda i: lengths[i] * r.uniform(0.92, 1.08))
        groups = [order[i : i + size] for i in range(0, len(order) - size + 1, size)]
        r.shuffle(groups)
        yield from groups


def enc_len(n):
    return -(-n // 8)
