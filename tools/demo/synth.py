# SPDX-License-Identifier: Apache-2.0
"""Speak the demo world with espeak-ng and flite (through their C libraries) and keep word timings.

Runs on any machine with libespeak-ng and libflite and needs nothing but Python's standard library.
Writes data/<set>.pcm (16-bit mono samples, one clip after another) and data/<set>.jsonl (one line
per clip: text, voice, sample rate, offset, length, and the end of each word in seconds).

    python3 synth.py DATA_DIR
"""
import ctypes as C
import json
import os
import random
import sys
import time

import sentences
import world

# ---------------------------------------------------------------- flite
FL = C.CDLL("libflite.so.1", mode=C.RTLD_GLOBAL)
FL.flite_init()
C.CDLL("libflite_usenglish.so.1", mode=C.RTLD_GLOBAL)
C.CDLL("libflite_cmulex.so.1", mode=C.RTLD_GLOBAL)


class CstWave(C.Structure):
    _fields_ = [
        ("type", C.c_char_p),
        ("sample_rate", C.c_int),
        ("num_samples", C.c_int),
        ("num_channels", C.c_int),
        ("samples", C.POINTER(C.c_short)),
    ]


class CstVoice(C.Structure):
    _fields_ = [("name", C.c_char_p), ("features", C.c_void_p)]


for fn, res, args in [
    ("flite_synth_text", C.c_void_p, [C.c_char_p, C.c_void_p]),
    ("utt_wave", C.POINTER(CstWave), [C.c_void_p]),
    ("delete_utterance", None, [C.c_void_p]),
    ("utt_relation", C.c_void_p, [C.c_void_p, C.c_char_p]),
    ("relation_head", C.c_void_p, [C.c_void_p]),
    ("item_next", C.c_void_p, [C.c_void_p]),
    ("item_feat_string", C.c_char_p, [C.c_void_p, C.c_char_p]),
    ("flite_ffeature_float", C.c_float, [C.c_void_p, C.c_char_p]),
    ("flite_feat_set_float", None, [C.c_void_p, C.c_char_p, C.c_float]),
]:
    f = getattr(FL, fn)
    f.restype, f.argtypes = res, args
FLITE = {}
for v in ("slt", "rms", "awb", "kal16"):
    lib = C.CDLL(f"libflite_cmu_us_{v}.so.1", mode=C.RTLD_GLOBAL)
    reg = getattr(lib, f"register_cmu_us_{v}")
    reg.restype, reg.argtypes = C.c_void_p, [C.c_char_p]
    FLITE[v] = reg(None)


def flite(text, voice, stretch=1.0):
    v = FLITE[voice]
    FL.flite_feat_set_float(C.cast(v, C.POINTER(CstVoice)).contents.features, b"duration_stretch", stretch)
    u = FL.flite_synth_text(text.encode(), v)
    w = FL.utt_wave(u).contents
    pcm = C.string_at(w.samples, w.num_samples * 2)
    ends = []
    it = FL.relation_head(FL.utt_relation(u, b"Word"))
    while it:
        ends.append(
            (
                FL.item_feat_string(it, b"name").decode(),
                round(FL.flite_ffeature_float(it, b"R:SylStructure.daughtern.daughtern.R:Segment.end"), 4),
            )
        )
        it = FL.item_next(it)
    sr = w.sample_rate
    FL.delete_utterance(u)
    return pcm, sr, ends


# ---------------------------------------------------------------- espeak-ng
ES = C.CDLL("libespeak-ng.so.1")


class Event(C.Structure):
    _fields_ = [
        ("type", C.c_int),
        ("uid", C.c_uint),
        ("text_position", C.c_int),
        ("length", C.c_int),
        ("audio_position", C.c_int),
        ("sample", C.c_int),
        ("user", C.c_void_p),
        ("id", C.c_char * 8),
    ]


CALLBACK = C.CFUNCTYPE(C.c_int, C.POINTER(C.c_short), C.c_int, C.POINTER(Event))
ES_RATE = ES.espeak_Initialize(1, 200, None, 0)  # 1: hand the samples to the callback
_pcm, _marks = [], []


def _collect(wav, n, events):
    if wav and n > 0:
        _pcm.append(C.string_at(wav, n * 2))
    i = 0
    while events[i].type != 0:
        if events[i].type == 1:  # start of a word
            _marks.append((events[i].text_position, events[i].sample))
        i += 1
    return 0


_cb = CALLBACK(_collect)
ES.espeak_SetSynthCallback(_cb)


def espeak(text, voice, rate=165, pitch=50, rng=50):
    if ES.espeak_SetVoiceByName(voice.encode()) != 0:
        raise RuntimeError("no voice " + voice)
    ES.espeak_SetParameter(1, rate, 0)
    ES.espeak_SetParameter(3, pitch, 0)
    ES.espeak_SetParameter(4, rng, 0)
    _pcm.clear()
    _marks.clear()
    b = text.encode() + b"\0"
    ES.espeak_Synth(b, C.c_size_t(len(b)), 0, 1, 0, 1, None, None)
    ES.espeak_Synchronize()
    at = [p - 1 for p, _ in _marks] + [len(text)]
    starts = [s / ES_RATE for _, s in _marks]
    ends = [(text[at[i] : at[i + 1]].strip(), round(e, 4)) for i, e in enumerate(starts[1:] + [-1.0])]
    return b"".join(_pcm), ES_RATE, ends


# ---------------------------------------------------------------- voices
# The four speaking voices of the model.
TTS_VOICES = {
    "us_female": ("flite", "slt"),
    "us_male": ("flite", "rms"),
    "uk_male": ("flite", "awb"),
    "uk_female": ("espeak", "en+f2"),
}
HELD_OUT_VOICE = "en-gb-x-rp+f5"  # neither this accent nor this variant is used in training


def speak_tts(text, voice):
    kind, name = TTS_VOICES[voice]
    return flite(text, name, 0.92) if kind == "flite" else espeak(text, name, 175, 52, 45)


def speak_any(text, r):
    """A random listening voice: (pcm, rate, word ends, name)."""
    kind, v, settings = sentences.listening_voice(r)
    return *(flite if kind == "flite" else espeak)(text, v, *settings), f"{kind}-{v}"


class Writer:
    def __init__(self, path):
        self.pcm, self.idx, self.off = open(path + ".pcm", "wb"), open(path + ".jsonl", "w"), 0

    def add(self, pcm, rate, ends, **meta):
        n = len(pcm) // 2
        self.pcm.write(pcm)
        self.idx.write(json.dumps(dict(meta, rate=rate, off=self.off, n=n, ends=ends)) + "\n")
        self.off += n


def main(out, scale=1.0):
    os.makedirs(out, exist_ok=True)
    r = random.Random(sentences.SEED)
    t0 = time.time()
    # 1. Question and answer pairs, each question heard in many voices, each answer spoken once.
    pairs = sentences.question_pairs(r)
    w = Writer(f"{out}/answers")
    for a in sorted(set(pairs.values())):
        w.add(*speak_tts(a, "us_female"), text=a, voice="us_female", held=world.is_held_out(a))
    w = Writer(f"{out}/questions")
    for q in sorted(pairs):
        for k in range(int(sentences.LISTENING_CLIPS * scale)):
            pcm, sr, ends, v = speak_any(q, r)
            w.add(pcm, sr, ends, text=q, answer=pairs[q], voice=v, held=world.is_held_out(q))
    print("questions", time.time() - t0, flush=True)
    # 2. Speaking voices: training and held-out sentences.
    w = Writer(f"{out}/tts")
    for v in sentences.SPEAKING_VOICES:
        for s in sentences.draw(r, int(sentences.TRAINING_SENTENCES * scale), False):
            w.add(*speak_tts(s, v), text=s, voice=v, held=False)
        for s in sentences.draw(r, sentences.HELD_OUT_SENTENCES, True):
            w.add(*speak_tts(s, v), text=s, voice=v, held=True)
    print("tts", time.time() - t0, flush=True)
    # 3. Listening voices.
    w = Writer(f"{out}/asr")
    for s in sentences.draw(r, int(7500 * scale), False):
        pcm, sr, ends, v = speak_any(s, r)
        w.add(pcm, sr, ends, text=s, voice=v, held=False)
    for s in sentences.draw(r, 300, True):
        pcm, sr, ends, v = speak_any(s, r)
        w.add(pcm, sr, ends, text=s, voice=v, held=True)
    for s in sentences.draw(r, 150, True):
        w.add(*espeak(s, HELD_OUT_VOICE, r.randint(150, 190)), text=s, voice="heldout", held=True)
    print("asr", time.time() - t0, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
