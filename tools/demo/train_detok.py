# SPDX-License-Identifier: Apache-2.0
"""Train the detokenizer: speech codes -> log-magnitude and phase of each 320-sample step.

    python3 train_detok.py --data DIR --out CKPT --minutes 10 [--init CKPT]
The targets are the vocoder's own envelope x excitation, so this is plain regression.
"""
import argparse
import math
import os
import random
import time

import numpy as np
import torch

import data as D
import vocoder as V
from model import CODES, Detokenizer

ap = argparse.ArgumentParser()
ap.add_argument("--data", required=True)
ap.add_argument("--out", required=True)
ap.add_argument("--init")
ap.add_argument("--minutes", type=float, default=10)
ap.add_argument("--lr", type=float, default=3e-3)
ap.add_argument("--final-lr", type=float, default=5e-5)
ap.add_argument("--batch", type=int, default=24)
ap.add_argument("--crop", type=int, default=14)
ap.add_argument("--threads", type=int, default=1)
ap.add_argument("--max-steps", type=int, default=1 << 30)
a = ap.parse_args()
torch.set_num_threads(a.threads)
torch.manual_seed(2)
r = random.Random(2)
model = Detokenizer()
torch.nn.init.normal_(model.emb.emb.weight, std=1.0)
with torch.no_grad():
    model.lin.weight.mul_(0.3)
    model.lin.bias[:641] = -3.0
    model.lin.bias[641:].uniform_(-math.pi, math.pi)
if a.init:
    model.load_state_dict(torch.load(a.init)["model"])
sets = []
for name in ("answers", "tts"):
    c = D.Codes(a.data, name)
    env = np.memmap(f"{a.data}/{name}.env", dtype=np.float16, mode="r").reshape(-1, V.POINTS)
    sets.append((c, env))
train = [(c, e, i) for c, e in sets for i in c.items if not i["held"]]
held = [(c, e, i) for c, e in sets for i in c.items if i["held"]]
opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.01, betas=(0.9, 0.98), fused=True)
BINW = torch.ones(V.BINS)
BINW[480:] = 0.3  # above 9 kHz there is almost nothing


def example(c, env, it, n, start):
    codes = c.get(it)[start : start + n]
    o = (it["off"] + start) * V.UP
    e = torch.from_numpy(env[o : o + len(codes) * V.UP].astype(np.float32))
    return codes, e, V.rows_of(codes[:, 1])


def batch(items, crop):
    out = []
    for c, e, it in items:
        n = it["n"]
        s = 0 if r.random() < 0.25 else r.randint(0, max(0, n - crop))
        codes, env, rows = example(c, e, it, crop, s)
        p = crop - len(codes)
        out.append(
            (
                torch.nn.functional.pad(codes, (0, 0, 0, p)),
                torch.nn.functional.pad(env, (0, 0, 0, p * V.UP)),
                torch.nn.functional.pad(rows, (0, p * V.UP)),
                torch.arange(crop * V.UP) < len(codes) * V.UP,
            )
        )
    return [torch.stack(x) for x in zip(*out)]


def losses(codes, env, rows, keep):
    j = torch.arange(rows.shape[1]) % V.UP
    tm = env @ V.TO_BINS + V.EXC_LOG[rows, j]
    tp = V.EXC_PHASE[rows, j]
    with torch.autocast("cpu", torch.bfloat16):
        lm, ph = model.head(codes)
    lm, ph = lm.float()[keep], ph.float()[keep]
    tm, tp = tm[keep], tp[keep]
    mag = ((lm - tm).abs() * BINW).mean() / BINW.mean()
    level = env[keep].amax(1, keepdim=True)
    w = (tm - level + 1.0).clamp(max=1.5).exp() * torch.sigmoid(level + 3.0)
    phase = (w * (1 - torch.cos(ph - tp))).sum() / w.sum()
    return mag, phase


t0 = last = time.time()
step, acc = 0, [0.0, 0.0, 0]
while time.time() - t0 < a.minutes * 60 and step < a.max_steps:
    p = (time.time() - t0) / (a.minutes * 60)
    lr = (a.final_lr + 0.5 * (a.lr - a.final_lr) * (1 + math.cos(math.pi * p))) * min(1, (step + 1) / 100)
    for g in opt.param_groups:
        g["lr"] = lr
    codes, env, rows, keep = batch(r.choices(train, k=a.batch), a.crop)
    # Generated codes are not always exact: teach the detokenizer to live with a few wrong fine codes.
    noise = torch.rand(codes.shape) < torch.tensor([0.0, 0, 0, 0.02, 0.03, 0.04, 0.06, 0.06])
    codes = torch.where(noise, torch.randint_like(codes, CODES), codes)
    mag, phase = losses(codes, env, rows, keep)
    opt.zero_grad(set_to_none=True)
    (mag + phase).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    step += 1
    acc = [acc[0] + mag.item(), acc[1] + phase.item(), acc[2] + 1]
    if step % 50 == 0:
        print(
            f"{step} {p:.2f} lr {lr:.1e} {(time.time() - last) / 50:.2f}s",
            f"mag {acc[0] / acc[2] * 8.686:.2f} dB phase {acc[1] / acc[2]:.3f}",
            flush=True,
        )
        acc, last = [0.0, 0.0, 0], time.time()
    if step % 400 == 0:
        torch.save({"model": model.state_dict()}, a.out + ".tmp")
        os.replace(a.out + ".tmp", a.out)
with torch.no_grad():
    m = [losses(*batch([x], x[2]["n"])) for x in held[:60]]
print(
    f"held out: mag {sum(float(x[0]) for x in m) / len(m) * 8.686:.2f} dB",
    f"phase {sum(float(x[1]) for x in m) / len(m):.3f}",
)
torch.save({"model": model.state_dict()}, a.out)
