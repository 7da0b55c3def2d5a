# SPDX-License-Identifier: Apache-2.0
"""Turn the spoken clips into log-mel features (with light noise and silence for training clips).

    python3 prep_features.py DATA_DIR SET [SET...]     
reads SET.pcm/.jsonl, writes SET.mel (float16 [frames,128]) and SET.mel.jsonl
"""
import json
import random
import sys

import numpy as np
import torch
import torchaudio

import features

torch.set_num_threads(1)


def read_set(d, name):
    pcm = np.memmap(f"{d}/{name}.pcm", dtype=np.int16, mode="r")
    for line in open(f"{d}/{name}.jsonl"):
        m = json.loads(line)
        yield m, torch.from_numpy(pcm[m["off"] : m["off"] + m["n"]].astype(np.float32) / 32768)


def to_16k(x, rate):
    return x if rate == 16000 else torchaudio.functional.resample(x, rate, 16000)


def roughen(x, r):
    """A training clip: random pauses at both ends, some background noise."""
    g = torch.Generator().manual_seed(r.randrange(1 << 30))
    a, b = int(r.uniform(0, 0.25) * 16000), int(r.uniform(0, 0.25) * 16000)
    x = torch.cat([torch.zeros(a), x, torch.zeros(b)])
    level = x.abs().max().clamp(min=1e-3) * 0.3
    p = r.random()
    snr = r.uniform(12, 30) if p < 0.4 else r.uniform(30, 70)
    noise = torch.randn(x.numel(), generator=g)
    if r.random() < 0.5:  # low-pass noise
        noise = torchaudio.functional.lowpass_biquad(noise, 16000, r.uniform(500, 4000)) * 2
    return x + noise * level * 10 ** (-snr / 20)


def trim(x, rate, keep=0.12):
    """Cut long silence at both ends."""
    loud = (x.abs() > 0.02 * x.abs().max()).nonzero()
    if len(loud) == 0:
        return x
    k = int(keep * rate)
    return x[max(0, int(loud[0]) - k) : int(loud[-1]) + k]


if __name__ == "__main__":
    d = sys.argv[1]
    for name in sys.argv[2:]:
        r = random.Random(name)
        off = 0
        with open(f"{d}/{name}.mel", "wb") as f, open(f"{d}/{name}.mel.jsonl", "w") as idx:
            for i, (m, x) in enumerate(read_set(d, name)):
                x = trim(to_16k(x, m["rate"]), 16000)
                if not m["held"] and m.get("voice") != "heldout":
                    x = roughen(x, r)
                mel = features.log_mel(x)
                f.write(mel.half().numpy().tobytes())
                idx.write(
                    json.dumps(
                        {
                            "i": i,
                            "off": off,
                            "n": len(mel),
                            "text": m["text"],
                            "answer": m.get("answer"),
                            "voice": m["voice"],
                            "held": m["held"],
                        }
                    )
                    + "\n"
                )
                off += len(mel)
        print(name, i + 1, "clips", off, "frames", flush=True)
