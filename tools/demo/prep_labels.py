# SPDX-License-Identifier: Apache-2.0
"""Frame labels for the encoder: which text token is being spoken in each 80 ms (from the synthesizers' word times).

    python3 prep_labels.py DATA_DIR SET...
writes SET.lab (int16, one value per encoder frame; 0 silence, -100 unknown)
Replays the random choices of prep_features.py to know how much each clip was shifted.
"""
import json
import random
import sys

import numpy as np

import tokenizer as T

d = sys.argv[1]
tk = T.Tokenizer(f"{d}/tokenizer.json")
JOINED = {
    "in the",
    "of the",
    "on the",
    "to the",
    "for the",
    "at the",
    "is the",
    "in a",
    "of a",
    "is a",
    "to a",
    "are in",
    "will be",
    "has a",
    "and a",
}


def letters(s):
    return "".join(c for c in s.lower() if c.isalpha())


def word_spans(text, ends, voice):
    """[(char start, char end, t0, t1)] or None where the synthesizer's words cannot be matched."""
    out, pos, t = [], 0, 0.0
    low = text.lower()
    flite = voice.startswith(("flite", "us_", "uk_m"))
    names = [n for n, _ in ends]
    if not flite:
        parts = text.split()
        if voice == "uk_female":
            names = [n for n, _ in ends]
        elif len(parts) != len(ends):
            return None
        else:
            names = parts
    for name, (_, e) in zip(names, ends):
        n = len(letters(name))
        while pos < len(text) and not low[pos].isalpha():
            pos += 1
        a, k = pos, 0
        while pos < len(text) and k < n:
            k += low[pos].isalpha()
            pos += 1
        out.append((a, pos, t, e))
        t = e
    return out


known = total = 0
for name in sys.argv[2:]:
    pcm = np.memmap(f"{d}/{name}.pcm", dtype=np.int16, mode="r")
    src = [json.loads(l) for l in open(f"{d}/{name}.jsonl")]
    mels = [json.loads(l) for l in open(f"{d}/{name}.mel.jsonl")]
    r = random.Random(name)
    with open(f"{d}/{name}.lab", "wb") as f:
        for m, it in zip(src, mels):
            x = pcm[m["off"] : m["off"] + m["n"]].astype(np.float32)
            loud = np.nonzero(np.abs(x) > 0.02 * np.abs(x).max())[0]
            start, stop = loud[0] / m["rate"], loud[-1] / m["rate"]
            shift = max(0.0, start - 0.12)
            pad = 0.0
            if not m["held"] and m.get("voice") != "heldout":
                r.randrange(1 << 30)
                pad = int(r.uniform(0, 0.25) * 16000) / 16000
                r.uniform(0, 0.25)
                p = r.random()
                r.uniform(12, 30) if p < 0.4 else r.uniform(30, 70)
                if r.random() < 0.5:
                    r.uniform(500, 4000)
            n = -(-it["n"] // 8)
            lab = np.zeros(n, np.int16)
            spans = (
                None if (name == "tts" and m["voice"] == "uk_female") else word_spans(m["text"], m["ends"], m["voice"])
            )
            if spans is None:
                lab[:] = -100
            else:
                ids = tk.encode(m["text"])
                at, c = [], 0
                for i in ids:
                    at.append((c, c + len(tk.tokens[i]), i))
                    c += len(tk.tokens[i])
                for a, b, t0, t1 in spans:
                    t1 = stop if t1 < 0 else min(t1, stop + 0.02)
                    t0 = max(t0, start)
                    toks = [i for s, e, i in at if s < b and e > a and any(ch.isalpha() for ch in tk.tokens[i])]
                    if not toks or t1 <= t0:
                        continue
                    for k, i in enumerate(toks):
                        u0 = t0 + (t1 - t0) * k / len(toks) - shift + pad
                        u1 = t0 + (t1 - t0) * (k + 1) / len(toks) - shift + pad
                        j0, j1 = round(u0 / 0.08), max(round(u1 / 0.08), round(u0 / 0.08) + 1)
                        lab[max(0, j0) : j1] = i
                known += 1
            total += 1
            f.write(lab.tobytes())
    print(name, known, total, flush=True)
