# SPDX-License-Identifier: Apache-2.0
"""Write test clips and what the reference (this model in float32, greedy) makes of them.

    python3 make_vectors.py DATA_DIR CKPT DETOK_CKPT OUT_DIR
"""
import json
import os
import random
import sys
import wave

import torch
from safetensors.torch import save_file

import data as D
import features
import generate as G
import pack
import tokenizer as T
from prep_features import read_set, to_16k, trim

d, ck, dk, out = sys.argv[1:5]
torch.set_num_threads(1)
tk = T.Tokenizer(f"{d}/tokenizer.json")
P = D.Prompts(tk)
m, det = pack.load(ck, dk)
os.makedirs(f"{out}/wav", exist_ok=True)
margins = []


def write_wav(path, x, rate):
    q = (x.clamp(-1, 1) * 32767).round().short()
    with wave.open(path, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(rate)
        w.writeframes(q.numpy().tobytes())
    return q.float() / 32768  # what a reader gets back


class Watch:
    """Smallest gap between the best two logits of a run: how safe its greedy choices are."""

    def __enter__(self):
        self.low = float("inf")
        self.text, self.pick = m.text_logits, m.pick_frame

        def text(h):
            l = self.text(h)
            self.note(l[0])
            return l

        m.text_logits = text
        return self

    def note(self, l):
        a, b = l.topk(2).values.tolist()
        self.low = min(self.low, a - b)

    def choose(self, l):
        self.note(l[0])
        return l.argmax(-1)

    def __exit__(self, *e):
        del m.text_logits


def plain(steps):
    return [x.tolist() if torch.is_tensor(x) else int(x) for x in steps]


r = random.Random(11)
tensors, report = {}, {"asr": [], "tts": [], "s2s": []}
# ---- 20 clips to transcribe: 10 listening voices, 4 of the unseen voice, 6 speaking voices
pick = {"espeak": [], "flite": [], "heldout": []}
for meta, x in read_set(d, "asr"):
    if meta["held"]:
        k = "heldout" if meta["voice"] == "heldout" else meta["voice"].split("-")[0]
        pick[k].append((meta, x))
clips = r.sample(pick["espeak"], 6) + r.sample(pick["flite"], 4) + r.sample(pick["heldout"], 4)
tts = [(meta, x) for meta, x in read_set(d, "tts") if meta["held"]]
for v in T.VOICE_NAMES:
    clips += r.sample([c for c in tts if c[0]["voice"] == v], 2 if v.startswith("us") else 1)
for i, (meta, x) in enumerate(clips):
    name = f"asr_{i:02d}"
    y = write_wav(f"{out}/wav/{name}.wav", trim(to_16k(x, meta["rate"]), 16000), 16000)
    mel = features.log_mel(y)
    with Watch() as w:
        ids = G.asr(m, P, mel)
    report["asr"].append(
        {
            "wav": f"wav/{name}.wav",
            "voice": "unseen espeak voice" if meta["voice"] == "heldout" else meta["voice"],
            "text": meta["text"],
            "ids": ids,
            "heard": tk.decode(ids),
            "right": tk.decode(ids) == meta["text"],
            "smallest_margin": round(w.low, 4),
        }
    )
    if i < 3:
        with torch.no_grad():
            x0, pid = G.prompt_embeddings(m, P, T.PROMPT_ASR, mel=mel)
            tensors[f"{name}.mel"] = mel
            tensors[f"{name}.adapter"] = m.audio_adapter(m.conformer(mel[None], torch.tensor([len(mel)]))[0])[0]
            h = m.lfm(x0)[0, -1]
            tensors[f"{name}.prefill_out"] = h
            tensors[f"{name}.first_logits"] = m.text_logits(h[None])[0]
            report["asr"][-1]["prompt"] = pid
# ---- one sentence per voice to speak: of a few, the one whose greedy choices are the safest
# (fine codes are often nearly ties)
FIRST = {
    "us_female": "The next train leaves in ten minutes.",
    "us_male": "Turn on the light in the kitchen.",
    "uk_male": "It is sunny in London today.",
    "uk_female": "I would like a cup of tea, please.",
}
short = [meta["text"] for meta, _ in read_set(d, "tts") if not meta["held"] and len(meta["text"]) < 30]
for v in T.VOICE_NAMES:
    best = None
    for text in [FIRST[v], "The sky is blue.", "Two plus three is five."] + r.sample(short, 10):
        with Watch() as w:
            steps = G.tts(m, P, text, v, pick=w.choose)
        f = G.speech_frames(steps)
        with torch.no_grad():
            y = det(f)[0]
        heard = tk.decode(G.asr(m, P, G.wave_to_mel(y)))
        if best is None or (heard == text, w.low) > best[0]:
            best = ((heard == text, w.low), text, steps, y, heard)
    (_, low), text, steps, y, heard = best
    write_wav(f"{out}/wav/tts_{v}.wav", y, 24000)
    tensors[f"tts.{v}.wave"] = y
    report["tts"].append(
        {
            "voice": v,
            "text": text,
            "prompt": P.before(T.prompt_tts(v)) + tk.encode(text) + P.after,
            "steps": plain(steps),
            "wave": f"tts.{v}.wave",
            "heard": heard,
            "smallest_margin": round(low, 4),
        }
    )
# ---- four spoken questions
want = [
    "What colour is the sky?",
    "What is two plus three?",
    "How many legs does a spider have?",
    "When does the next train leave?",
]
src = list(read_set(d, "qtest"))
for i, q in enumerate(want):
    meta, x = [c for c in src if c[0]["text"] == q][-1]
    y = write_wav(f"{out}/wav/s2s_{i}.wav", trim(to_16k(x, meta["rate"]), 16000), 16000)
    with Watch() as w:
        steps = G.s2s(m, P, features.log_mel(y), pick=w.choose)
    f = G.speech_frames(steps)
    with torch.no_grad():
        z = det(f)[0]
    tensors[f"s2s.{i}.wave"] = z
    write_wav(f"{out}/wav/s2s_{i}_reply.wav", z, 24000)
    report["s2s"].append(
        {
            "wav": f"wav/s2s_{i}.wav",
            "voice": meta["voice"],
            "question": q,
            "answer": meta["answer"],
            "steps": plain(steps),
            "text": G.text_of(P, steps),
            "wave": f"s2s.{i}.wave",
            "heard": tk.decode(G.asr(m, P, G.wave_to_mel(z))),
            "smallest_margin": round(w.low, 4),
        }
    )
json.dump(report, open(f"{out}/vectors.json", "w"), indent=1)
save_file({k: v.contiguous() for k, v in tensors.items()}, f"{out}/vectors.safetensors")
for k, v in report.items():
    for x in v:
        print(k, {a: b for a, b in x.items() if a in ("text", "heard", "answer", "voice", "smallest_margin")})
