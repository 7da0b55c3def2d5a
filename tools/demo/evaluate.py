# SPDX-License-Identifier: Apache-2.0
"""Measure the model: python3 evaluate.py DATA_DIR CKPT DETOK_CKPT [asr,codec,tts,s2s] [limit]"""
import random
import sys
import time

import numpy as np
import torch

import data as D
import generate as G
import pack
import tokenizer as T
import vocoder as V
import world

d, ck, dk = sys.argv[1:4]
what = sys.argv[4].split(",") if len(sys.argv) > 4 else ["asr", "codec", "tts", "s2s"]
limit = int(sys.argv[5]) if len(sys.argv) > 5 else 1 << 30
torch.set_num_threads(1)
tk = T.Tokenizer(f"{d}/tokenizer.json")
P = D.Prompts(tk)
model, detok = pack.load(ck, dk)


def report(name, pairs, show=0):
    exact = sum(a == b for a, b in pairs)
    print(f"{name}: WER {G.wer(pairs):.2f}%  exact sentences {exact}/{len(pairs)}", flush=True)
    for a, b in [x for x in pairs if x[0] != x[1]][:show]:
        print("      said:", a, "| heard:", b)


def transcribe(mel):
    return tk.decode(G.asr(model, P, mel))


r = random.Random(9)
t0 = time.time()
if "asr" in what:
    m = D.Mels(d, "asr")
    held = [i for i in m.items if i["held"]]
    groups = {"flite": [], "espeak": [], "unseen": []}
    for i in held:
        groups["unseen" if i["voice"] == "heldout" else i["voice"].split("-")[0]].append(i)
    every = []
    for k, items in groups.items():
        pairs = [(i["text"], transcribe(m.get(i))) for i in items[:limit]]
        report(f"asr held-out sentences, {'the unseen espeak voice' if k == 'unseen' else k + ' voices'}", pairs, 3)
        if k != "unseen":
            every += pairs
    report("asr held-out sentences, all seen voices", every)
    m = D.Mels(d, "tts")
    for v in T.VOICE_NAMES:
        report(
            f"asr held-out sentences, original {v} voice",
            [(i["text"], transcribe(m.get(i))) for i in m.items if i["held"] and i["voice"] == v][:limit],
        )
if "codec" in what:
    c = D.Codes(d, "tts")
    env = np.memmap(f"{d}/tts.env", dtype=np.float16, mode="r").reshape(-1, V.POINTS)
    for v in T.VOICE_NAMES:
        ideal, real, dist = [], [], []
        for i in [i for i in c.items if i["held"] and i["voice"] == v][:limit]:
            codes = c.get(i)
            e = torch.from_numpy(env[i["off"] * 6 : (i["off"] + i["n"]) * 6].astype(np.float32))
            want = V.synthesise(*V.target(e, V.rows_of(codes[:, 1])))
            with torch.no_grad():
                got = detok(codes[None])[0]
            ideal.append((i["text"], transcribe(G.wave_to_mel(want))))
            real.append((i["text"], transcribe(G.wave_to_mel(got))))
            win = torch.hann_window(1024)
            a, b = [torch.stft(x, 1024, 256, 1024, win, return_complex=True).abs() for x in (want, got)]
            loud = a > a.max() * 1e-2
            dist.append(
                (
                    float((a - b).norm() / a.norm()),
                    float(20 * ((a + 1e-4).log10() - (b + 1e-4).log10()).abs()[loud].mean()),
                )
            )
        report(f"codec {v}: vocoder target", ideal)
        report(f"codec {v}: codes through the detokenizer", real, 2)
        print(
            f"      spectral convergence {sum(x[0] for x in dist) / len(dist):.3f}, "
            f"log-spectral distance {sum(x[1] for x in dist) / len(dist):.2f} dB (against the vocoder target)"
        )
if "tts" in what:
    c = D.Codes(d, "tts")
    every = []
    for v in T.VOICE_NAMES:
        pairs, ended = [], 0
        for i in [i for i in c.items if i["held"] and i["voice"] == v][:limit]:
            steps = G.tts(model, P, i["text"], v)
            ended += not torch.is_tensor(steps[-1]) and steps[-1] == D.IM_END
            f = G.speech_frames(steps)
            with torch.no_grad():
                pairs.append((i["text"], transcribe(G.wave_to_mel(detok(f)[0])) if f.shape[1] else ""))
        report(f"tts {v} (greedy), ended by itself {ended}/{len(pairs)}", pairs, 4)
        every += pairs
    report("tts all voices", every)
if "s2s" in what:
    m = D.Mels(d, "qtest")
    for name, items in [
        ("known questions, new recordings", [i for i in m.items if not world.is_held_out(i["text"])]),
        ("unseen questions", [i for i in m.items if world.is_held_out(i["text"])]),
    ]:
        right, spoken, ended = [], [], 0
        items = items[:limit]
        for i in items:
            steps = G.s2s(model, P, m.get(i))
            text = G.text_of(P, steps)
            f = G.speech_frames(steps)
            right.append((i["answer"], text))
            ended += bool(len(steps) and torch.is_tensor(steps[-1]) and int(steps[-1][0]) == 256)
            with torch.no_grad():
                spoken.append((text, transcribe(G.wave_to_mel(detok(f)[0])) if f.shape[1] else ""))
        report(
            f"s2s {name}: reply text against the right answer (audio ended by itself {ended}/{len(items)})", right, 4
        )
        report(f"s2s {name}: what the reply's speech says against its text", spoken, 3)
print(f"{time.time() - t0:.0f} s")
