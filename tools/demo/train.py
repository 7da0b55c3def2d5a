# SPDX-License-Identifier: Apache-2.0
"""Train the demo model.  One script for every stage; each step takes one batch of every task given.

    python3 train.py --data DIR --out CKPT --minutes 30 --asr 24 [--tts 16] [--s2s 8]
        [--init CKPT] [--ctc 0.3] [--lr 2e-3]

With --sync FILE the work is split over two single-threaded processes that add up their gradients every step
(on a busy two-core machine this wastes less than two threads in one process):
    python3 train.py ... --asr 24 --rank 0 --sync FILE &   python3 train.py ... --tts 16 --s2s 8 --rank 1 --sync FILE
"""
import argparse
import math
import os
import random
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import data as D
import tokenizer as T
from model import CODEBOOKS, AudioModel

ap = argparse.ArgumentParser()
ap.add_argument("--data", required=True)
ap.add_argument("--out", required=True)
ap.add_argument("--init")
ap.add_argument("--minutes", type=float, default=10)
ap.add_argument("--asr", type=int, default=0)
ap.add_argument("--tts", type=int, default=0)
ap.add_argument("--s2s", type=int, default=0)
ap.add_argument("--sets", default="questions,answers,tts,asr")
ap.add_argument("--tts-sets", default="")
ap.add_argument("--ctc", type=float, default=0.0)
ap.add_argument("--frame", type=float, default=1.0)
ap.add_argument("--say", type=float, default=0.3)
ap.add_argument("--lr", type=float, default=2e-3)
ap.add_argument("--final-lr", type=float, default=5e-5)
ap.add_argument("--warmup", type=int, default=150)
ap.add_argument("--bf16", type=int, default=1)
ap.add_argument("--max-steps", type=int, default=1 << 30)
ap.add_argument("--seed", type=int, default=1)
ap.add_argument(
    "--tied", type=float, default=0.5, help="weight of the frame loss through the adapter and the tied text head"
)
ap.add_argument(
    "--corrupt",
    type=float,
    default=0.15,
    help="share of transcript tokens replaced in the input, so that the audio is trusted more",
)
ap.add_argument("--augment", type=int, default=0, help="SpecAugment")
ap.add_argument("--dropout", type=float, default=0.0)
ap.add_argument("--eval-every", type=int, default=400)
ap.add_argument("--sync")
ap.add_argument("--rank", type=int, default=0)
a = ap.parse_args()
torch.set_num_threads(1 if a.sync else 2)
if a.sync:
    dist.init_process_group("gloo", init_method="file://" + a.sync, rank=a.rank, world_size=2)
torch.manual_seed(a.seed)
r = random.Random(a.seed + 100 * a.rank)
tk = T.Tokenizer(f"{a.data}/tokenizer.json")
P = D.Prompts(tk)
model = AudioModel()
# Helpers that exist only while training: CTC and the token being heard on the encoder, and
# "which word is being spoken" on the backbone.
ctc_head = nn.Linear(model.c["encoder"]["d_model"], model.c["lfm"]["vocab_size"])
frame_head = nn.Linear(model.c["encoder"]["d_model"], model.c["lfm"]["vocab_size"])
say_head = nn.Linear(model.c["lfm"]["hidden_size"], model.c["lfm"]["vocab_size"])
if a.init:
    ck = torch.load(a.init)
    model.load_state_dict(ck["model"])
    if ck.get("ctc"):
        ctc_head.load_state_dict(ck["ctc"])
    if ck.get("frame"):
        frame_head.load_state_dict(ck["frame"])
    if ck.get("say"):
        say_head.load_state_dict(ck["say"])
for x in model.conformer.modules():
    if hasattr(x, "p"):
        x.p = a.dropout
model.conformer.c = dict(model.conformer.c, dropout_pre_encoder=a.dropout)
params = [*model.parameters(), *ctc_head.parameters(), *say_head.parameters(), *frame_head.parameters()]
decay = [p for p in params if p.dim() > 1]
opt = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.02}, {"params": [p for p in params if p.dim() <= 1], "weight_decay": 0.0}],
    lr=a.lr,
    betas=(0.9, 0.98),
    fused=True,
)
if a.init and ck.get("opt"):
    opt.load_state_dict(ck["opt"])


class AsrTask:
    def __init__(self, size):
        self.items, self.dev = [], []
        for s in a.sets.split(","):
            m = D.Mels(a.data, s)
            for it in m.items:
                (self.dev if it["held"] else self.items).append((m, it))
        self.it = D.batches([i["n"] for _, i in self.items], size, r)
        dev = [x for x in self.dev if x[1]["voice"] != "heldout"]
        self.dev = random.Random(5).sample(dev, min(96, len(dev)))

    def batch(self, items, train):
        mel, n = D.pad_mels([m.get(i) for m, i in items])
        if train and a.augment:
            mel = D.spec_augment(mel, n, r)
        c = D.collate([D.asr_sequence(P, D.enc_len(i["n"]), i["text"]) for _, i in items])
        if train and a.corrupt > 0:
            spot = torch.zeros_like(c["tok"], dtype=torch.bool)
            spot[:, 1:] = (c["tgt"][:, :-1] >= 0) & (torch.rand(c["tok"][:, 1:].shape) < a.corrupt)
            c["tok"] = torch.where(spot, torch.randint(T.N_SPECIAL + 256, 1024, c["tok"].shape), c["tok"])
        return mel, n, c, ([tk.encode(i["text"]) for _, i in items], torch.cat([m.labels(i) for m, i in items]))

    def next(self):
        return self.batch([self.items[j] for j in next(self.it)], True)


class TtsTask:
    def __init__(self, size):
        self.codes = D.Codes(a.data, "tts")
        self.items = [i for i in self.codes.items if not i["held"]]
        ans = D.Codes(a.data, "answers")
        self.src = [(self.codes, i) for i in self.items] + [(ans, i) for i in ans.items if not i["held"]]
        for name in a.tts_sets.split(",") if a.tts_sets else []:
            more = D.Codes(a.data, name)
            self.src += [(more, i) for i in more.items]
        self.dev = [(self.codes, i) for i in self.codes.items if i["held"]][::4]
        self.it = D.batches([i["n"] for _, i in self.src], size, r)

    def batch(self, items):
        return (
            None,
            None,
            D.collate([D.tts_sequence(P, i["text"], i["voice"], c.get(i), i["at"]) for c, i in items]),
            None,
        )

    def next(self):
        return self.batch([self.src[j] for j in next(self.it)])


class S2sTask:
    def __init__(self, size):
        self.mels = D.Mels(a.data, "questions")
        self.codes = D.Codes(a.data, "answers")
        self.by_text = {i["text"]: i for i in self.codes.items}
        self.items = [i for i in self.mels.items if not i["held"] and i["i"] % 12 != 11]
        self.dev = [i for i in self.mels.items if i["i"] % 12 == 11][::6]
        self.it = D.batches([i["n"] + 8 * self.by_text[i["answer"]]["n"] for i in self.items], size, r)

    def batch(self, items, train=True):
        mel, n = D.pad_mels([self.mels.get(i) for i in items])
        if train and a.augment:
            mel = D.spec_augment(mel, n, r)
        ans = [self.by_text[i["answer"]] for i in items]
        c = D.collate(
            [D.s2s_sequence(P, D.enc_len(i["n"]), i["answer"], self.codes.get(o), o["at"]) for i, o in zip(items, ans)]
        )
        return mel, n, c, None

    def next(self):
        return self.batch([self.items[j] for j in next(self.it)])


WEIGHTS = torch.tensor([2.0, 1.5, 1.0, 0.8, 0.7, 0.6, 0.5, 0.5])
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def run(mel, n, c, texts, train=True):
    """Losses of one batch and its counts of right tokens."""
    with torch.autocast("cpu", torch.bfloat16, enabled=bool(a.bf16)):
        x = model.lfm.embed_tokens(c["tok"])
        ctc = frame = tied = torch.zeros(())
        stats = {}
        if mel is not None:
            enc, m = model.conformer(mel, n)
            keep = torch.arange(enc.shape[1]) < m[:, None]
            heard = model.audio_adapter(enc[keep]).float()
            x = x.index_put(c["in"], heard)
            if texts is not None:
                texts, lab = texts
                known = lab >= 0
                seen = enc[keep][known]
                lab = lab[known]
            if texts is not None and a.frame > 0 and len(lab):
                lg = frame_head(seen).float()
                frame = F.cross_entropy(lg, lab)
                tied = F.cross_entropy(model.text_logits(heard[known]).float(), lab)
                stats["tied"] = (tied.item(), 0)
                stats["frame"] = (frame.item(), (lg.argmax(-1) == lab).float().mean().item())
            if texts is not None and a.ctc > 0:
                lp = ctc_head(enc).float().log_softmax(-1).transpose(0, 1)
                t = torch.tensor([i for s in texts for i in s])
                ctc = F.ctc_loss(lp, t, m, torch.tensor([len(s) for s in texts]), zero_infinity=True)
        if c["frames"] is not None:
            x = x.index_put(c["out"], model.embed_frames(c["frames"]))
        h = model.lfm(x)
        sup = c["tgt"] >= 0
        logits = model.text_logits(h[sup]).float()
        want = c["tgt"][sup]
        text = F.cross_entropy(logits, want)
        stats["text"] = (text.item(), (logits.argmax(-1) == want).float().mean().item())
        loss = text + a.ctc * ctc + a.frame * frame + a.tied * tied
        if a.ctc > 0 and texts is not None:
            stats["ctc"] = (ctc.item(), 0)
        if c["frames"] is not None:
            f = c["frames"]
            hp = h[c["out"][0], c["out"][1] - 1]
            lg = model.depth_logits(hp, f)
            say = F.cross_entropy(say_head(hp).float(), c["spoken"])
            ls = torch.stack([F.cross_entropy(lg[i].float(), f[:, i]) for i in range(CODEBOOKS)])
            loss = loss + (ls * WEIGHTS).sum() * 2.0 + a.say * say
            stats["say"] = (say.item(), 0)
            stats["audio"] = (ls.mean().item(), (lg[0].argmax(-1) == f[:, 0]).float().mean().item())
            stats["code0"] = (ls[0].item(), (lg[1].argmax(-1) == f[:, 1]).float().mean().item())
        return loss, stats


tasks = {}
if a.asr:
    tasks["asr"] = AsrTask(a.asr)
if a.tts:
    tasks["tts"] = TtsTask(a.tts)
if a.s2s:
    tasks["s2s"] = S2sTask(a.s2s)


@torch.no_grad()
def evaluate():
    model.eval()
    out = []
    if "asr" in tasks:
        t = tasks["asr"]
        ok = 0
        for j in range(0, len(t.dev), 24):
            mel, n, c, texts = t.batch(t.dev[j : j + 24], False)
            x = model.lfm.embed_tokens(c["tok"])
            enc, m = model.conformer(mel, n)
            x = x.index_put(c["in"], model.audio_adapter(enc[torch.arange(enc.shape[1]) < m[:, None]]))
            good = (model.text_logits(model.lfm(x)).argmax(-1) == c["tgt"]) | (c["tgt"] < 0)
            ok += int(good.all(1).sum())
        out.append(f"asr sentences right (teacher forced) {ok}/{len(t.dev)}")
    if "tts" in tasks:
        _, s = run(*tasks["tts"].batch(tasks["tts"].dev))
        out.append(f"tts dev audio {s['audio'][0]:.3f} code0 {s['code0'][0]:.3f} acc {s['audio'][1]:.3f}")
    if "s2s" in tasks:
        t = tasks["s2s"]
        _, s = run(*t.batch(t.dev, False))
        out.append(f"s2s dev text {s['text'][0]:.3f}/{s['text'][1]:.3f} audio {s['audio'][0]:.3f}")
    model.train()
    return " | ".join(out)


def save():
    torch.save(
        {
            "model": model.state_dict(),
            "ctc": ctc_head.state_dict(),
            "say": say_head.state_dict(),
            "frame": frame_head.state_dict(),
            "opt": opt.state_dict(),
        },
        a.out + ".tmp",
    )
    os.replace(a.out + ".tmp", a.out)


model.train()
t0 = last = time.time()
acc, step, p = {}, 0, 0.0
sizes = [q.numel() for q in params]
flat = torch.zeros(sum(sizes) + 1)
while p < 1 and step < a.max_steps:
    lr = a.final_lr + 0.5 * (a.lr - a.final_lr) * (1 + math.cos(math.pi * p))
    lr *= min(1, (step + 1) / a.warmup)
    for g in opt.param_groups:
        g["lr"] = lr
    opt.zero_grad(set_to_none=True)  # (with --sync the gradients are views of `flat`)
    for name, task in tasks.items():
        loss, stats = run(*task.next())
        loss.backward()
        for k, (l, c) in stats.items():
            s = acc.setdefault(f"{name}.{k}", [0, 0, 0])
            s[0] += l
            s[1] += c
            s[2] += 1
    p = (time.time() - t0) / (a.minutes * 60)
    if a.sync:
        for q, g in zip(params, flat.split([*sizes, 1])):
            g.zero_() if q.grad is None else g.copy_(q.grad.view(-1))
        flat[-1] = p if a.rank == 0 else 0.0
        dist.all_reduce(flat)
        for q, g in zip(params, flat.split([*sizes, 1])):
            q.grad = g.view_as(q)
        p = float(flat[-1])
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    step += 1
    if step % 25 == 0:
        dt = (time.time() - last) / 25
        last = time.time()
        print(
            f"{step} {p:.2f} lr {lr:.1e} {dt:.2f}s "
            + " ".join(f"{k} {v[0] / v[2]:.3f}/{v[1] / v[2]:.2f}" for k, v in acc.items()),
            flush=True,
        )
        acc = {}
    if step % 200 == 0 and a.rank == 0:
        save()
    if step % a.eval_every == 0:
        print("   ", evaluate(), flush=True)
        last = time.time()
print("   ", evaluate(), flush=True)
if a.rank == 0:
    save()
