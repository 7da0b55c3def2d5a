# SPDX-License-Identifier: Apache-2.0
"""Greedy generation, step for step as liquid-audio's generate_sequential and generate_interleaved do it."""
import torch

import data as D
import features
import tokenizer as T
from model import CODEBOOKS, EOA


def greedy(logits):
    return logits.argmax(-1)


class Session:
    """One conversation turn: feeds embeddings to the backbone and keeps its caches."""

    def __init__(self, model):
        self.m, self.caches, self.pos = model, [{} for _ in model.lfm.layers], 0

    def feed(self, x):
        h = self.m.lfm(x, caches=self.caches, pos=self.pos)
        self.pos += x.shape[1]
        return h[:, -1]

    def text(self, i):
        return self.feed(self.m.lfm.embed_tokens(torch.tensor([[i]])))

    def frame(self, codes):
        return self.feed(self.m.embed_frames(codes)[:, None])


def prompt_embeddings(model, P, system, mel=None, text=None):
    """-> embeddings [1,L,D] and the prompt's ids (-1 where audio goes)."""
    before, after = P.before(system), P.after
    e = model.lfm.embed_tokens
    if mel is None:
        ids = before + P.tk.encode(text) + after
        return e(torch.tensor([ids])), ids
    enc, _ = model.conformer(mel[None], torch.tensor([len(mel)]))
    a = model.audio_adapter(enc)
    x = torch.cat([e(torch.tensor([before])), a, e(torch.tensor([after]))], 1)
    return x, before + [-1] * a.shape[1] + after


@torch.no_grad()
def asr(model, P, mel, limit=96):
    s = Session(model)
    h = s.feed(prompt_embeddings(model, P, T.PROMPT_ASR, mel=mel)[0])
    out = []
    for _ in range(limit):
        i = int(model.text_logits(h)[0].argmax())
        out.append(i)
        if i == D.IM_END:
            break
        h = s.text(i)
    return out


@torch.no_grad()
def tts(model, P, text, voice, pick=greedy, limit=160):
    """-> list of steps: ids (int) and frames ([8])."""
    s = Session(model)
    h = s.feed(prompt_embeddings(model, P, T.prompt_tts(voice), text=text)[0])
    steps, audio = [], False
    for _ in range(limit):
        if not audio:
            i = int(model.text_logits(h)[0].argmax())
            steps.append(i)
            if i == D.IM_END:
                break
            audio = i == D.SPECIAL_AUDIO_START
            h = s.text(i)
        else:
            f = model.pick_frame(h, pick)
            if int(f[0, 0]) == EOA:
                f[:] = EOA
                audio = False
            steps.append(f[0])
            h = s.frame(f)
    return steps


@torch.no_grad()
def s2s(model, P, mel, pick=greedy, limit=220):
    s = Session(model)
    h = s.feed(prompt_embeddings(model, P, T.PROMPT_S2S, mel=mel)[0])
    steps, audio, left, done = [], False, D.N_TEXT, False
    for _ in range(limit):
        left -= 1
        if not audio:
            i = int(model.text_logits(h)[0].argmax())
            if i == D.IM_END:
                break
            steps.append(i)
            if i == D.TEXT_END:
                done = True
            if left == 0 or done:
                audio, left = True, D.N_AUDIO
            h = s.text(i)
        else:
            f = model.pick_frame(h, pick)
            if left == 0 and not done:
                audio, left = False, D.N_TEXT
            if int(f[0, 0]) == EOA:
                f[:] = EOA
                audio = False
            steps.append(f[0])
            h = s.frame(f)
    return steps


def sampler(temperature, top_k, g):
    def pick(logits):
        l = logits / temperature
        low = l.topk(top_k).values[..., -1:]
        return torch.multinomial(l.masked_fill(l < low, -float("inf")).softmax(-1), 1, generator=g)[:, 0]

    return pick


def speech_frames(steps):
    """Frames that have sound: a frame with end-of-audio in any codebook is not decoded."""
    f = [x for x in steps if torch.is_tensor(x) and not (x == EOA).any()]
    return torch.stack(f)[None] if f else torch.zeros(1, 0, CODEBOOKS, dtype=torch.long)


def text_of(P, steps):
    return P.tk.decode([x for x in steps if not torch.is_tensor(x)])


@torch.no_grad()
def wave_to_mel(wave24):
    import torchaudio

    return features.log_mel(torchaudio.functional.resample(wave24, 24000, 16000))


def words(s):
    return "".join(c if c.isalnum() or c in " '-" else " " for c in s.lower()).split()


def edits(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (x != y))
    return row[-1]


def wer(pairs):
    """pairs of (reference, hypothesis) -> word error rate in percent, case and punctuation ignored."""
    e = sum(edits(words(r), words(h)) for r, h in pairs)
    return 100 * e / max(1, sum(len(words(r)) for r, _ in pairs))
