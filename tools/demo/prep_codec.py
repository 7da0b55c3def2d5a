# SPDX-License-Identifier: Apache-2.0
"""Vocode the speaking voices, learn the speech codes (residual k-means) and write codes and training targets.

    python3 prep_codec.py DATA_DIR                 the sets answers and tts: learn the codebooks
    python3 prep_codec.py DATA_DIR SET [SET...]    further sets, with the codebooks that are there
writes tts.codes/.codes.jsonl, answers.codes/.codes.jsonl (uint8 [frames,8]), <set>.env (float16
[6*frames,48]), codebooks.pt
and voc.mel/.mel.jsonl: features of the vocoded clips, so that speech recognition also hears this voice.
"""
import json
import random
import sys

import torch
import torchaudio

import features
import vocoder as V
from prep_features import read_set

torch.set_num_threads(1)
d = sys.argv[1]
DIMS = 72


def kmeans(x, k, g, iters=12):
    c = x[torch.randperm(len(x), generator=g)[:k]].clone()
    for _ in range(iters):
        a = assign(x, c)
        n = torch.zeros(k).index_add_(0, a, torch.ones(len(x)))
        s = torch.zeros_like(c).index_add_(0, a, x)
        c = torch.where(n[:, None] > 0, s / n.clamp(min=1)[:, None], x[torch.randint(len(x), (k,), generator=g)])
    return c


def assign(x, c):
    return torch.cat([((c * c).sum(1) - 2 * y @ c.T).argmin(1) for y in x.split(8192)])


def letters(s):
    return [(c.lower(), i) for i, c in enumerate(s) if c.isalpha()]


def word_starts(text, ends):
    """Character offset in text where each timed word starts (the synthesizers split and join words differently)."""
    flat, pos, out = letters(text), 0, []
    for name, _ in ends:
        out.append(flat[min(pos, len(flat) - 1)][1])
        pos += len(letters(name))
    return out


torch.manual_seed(0)
more = sys.argv[2:]
clips = []  # set, meta, pitch codes, env
for name in more or ("answers", "tts"):
    for i, (m, x) in enumerate(read_set(d, name)):
        if m["voice"] not in V.PITCH_RANGE:
            continue
        x = torchaudio.functional.resample(x, m["rate"], V.SR)
        f0, env = V.analyse(x, m["voice"])
        sf, se, words = V.snap(f0, env, x, m["ends"])
        at = word_starts(m["text"], m["ends"])
        m["at"] = [at[w] if w >= 0 else -1 for w in words]
        code, _ = V.excitation_codes(sf, m["voice"])
        # Everything more than 60 dB below the clip's peak counts as silence.
        se = se.clamp(min=float(se.max()) - 7.0)
        clips.append((name, i, m, code, se.half()))
    print(name, i + 1, flush=True)
g = torch.Generator().manual_seed(1)
X = torch.cat([c[4].float().reshape(-1, V.UP * V.POINTS) for c in clips])
print("frames", len(X), flush=True)
# Levels matter less where the ear and the recognizer hear less: weight the top of the band down.
w = torch.linspace(1.0, 0.5, V.POINTS).repeat(V.UP)
cb = torch.load(f"{d}/codebooks.pt") if more else None
mean = cb["mean"] if more else X.mean(0)
Y = (X - mean) * w
if more:
    v = cb["v"]
else:
    sub = Y[torch.randperm(len(Y), generator=g)[:60000]]
    _, _, v = torch.pca_lowrank(sub, DIMS, center=False, niter=3)
Z = Y @ v
print("pca keeps", float((Z**2).sum() / (Y**2).sum()), flush=True)
res, books, codes = Z.clone(), [], []
for k in range(7):
    c = cb["books"][k] if more else kmeans(res[torch.randperm(len(res), generator=g)[:50000]], 256, g)
    a = assign(res, c)
    res = res - c[a]
    books.append(c)
    codes.append(a)
    print(
        "book", k, "residual rms dB", float((((Z - res) @ v.T / w + mean - X) ** 2).mean().sqrt() * 8.686), flush=True
    )
if not more:
    torch.save({"mean": mean, "w": w, "v": v, "books": books}, f"{d}/codebooks.pt")
exc = torch.cat([c[3] for c in clips])
# codebook 0: coarse envelope, 1: excitation, 2..7: envelope residuals
allcodes = torch.stack([codes[0], exc, *codes[1:]], 1).to(torch.uint8).numpy()
off = 0
files = {}
for name, i, m, code, se in clips:
    if name not in files:
        files[name] = [
            open(f"{d}/{name}.codes", "wb"),
            open(f"{d}/{name}.codes.jsonl", "w"),
            open(f"{d}/{name}.env", "wb"),
            0,
        ]
    f = files[name]
    n = len(code)
    f[0].write(allcodes[off : off + n].tobytes())
    f[2].write(se.numpy().tobytes())
    f[1].write(
        json.dumps(
            {"i": i, "off": f[3], "n": n, "text": m["text"], "voice": m["voice"], "held": m["held"], "at": m["at"]}
        )
        + "\n"
    )
    f[3] += n
    off += n
for f in files.values():
    for x in f[:3]:
        x.close()
print("codes written", flush=True)
if more:
    sys.exit()
r = random.Random(4)
off = 0
with open(f"{d}/voc.mel", "wb") as f, open(f"{d}/voc.mel.jsonl", "w") as idx:
    for name, i, m, code, se in clips:
        if r.random() < (0.35 if not m["held"] else 1.0):
            y = V.synthesise(*V.target(se.float(), V.rows_of(code)))
            y = torchaudio.functional.resample(y, V.SR, 16000)
            y = y + 10 ** r.uniform(-4.5, -2.5) * torch.randn(len(y)) if not m["held"] else y
            mel = features.log_mel(y)
            f.write(mel.half().numpy().tobytes())
            idx.write(
                json.dumps(
                    {
                        "i": i,
                        "off": off,
                        "n": len(mel),
                        "text": m["text"],
                        "answer": None,
                        "voice": "voc-" + m["voice"],
                        "held": m["held"],
                    }
                )
                + "\n"
            )
            off += len(mel)
print("voc done", flush=True)
