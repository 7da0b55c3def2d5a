# SPDX-License-Identifier: Apache-2.0
"""The NeMo log-mel front end of LFM2.5-Audio: 128 slaney mel bins, 25 ms window, 10 ms hop,
per-feature normalisation."""
import math

import torch

SR, N_FFT, WIN, HOP, MELS, PREEMPH = 16000, 512, 400, 160, 128, 0.97


def slaney_filterbank(n_mels=MELS, n_fft=N_FFT, sr=SR):
    step, knee, log_step = 200.0 / 3, 1000.0, math.log(6.4) / 27.0

    def to_mel(f):
        return f / step if f < knee else knee / step + math.log(f / knee) / log_step

    def to_hz(m):
        return m * step if m < knee / step else knee * math.exp(log_step * (m - knee / step))

    top = to_mel(sr / 2)
    edges = [to_hz(top * i / (n_mels + 1)) for i in range(n_mels + 2)]
    f = torch.arange(n_fft // 2 + 1, dtype=torch.float64) * sr / n_fft
    fb = torch.zeros(n_mels, n_fft // 2 + 1, dtype=torch.float64)
    for m in range(n_mels):
        lo, mid, hi = edges[m : m + 3]
        fb[m] = torch.clamp(torch.minimum((f - lo) / (mid - lo), (hi - f) / (hi - mid)), min=0) * 2 / (hi - lo)
    return fb.float()


FB = slaney_filterbank()
WINDOW = torch.hann_window(WIN, periodic=False)


def log_mel(wave):
    """16 kHz mono samples -> [frames, 128].  The last frame is masked to zero, as in the reference."""
    n = wave.numel()
    x = torch.cat([wave[:1], wave[1:] - PREEMPH * wave[:-1]])
    spec = torch.stft(x, N_FFT, HOP, WIN, WINDOW, center=True, pad_mode="constant", return_complex=True).abs().pow(2)
    x = torch.log(FB @ spec + 2.0**-24)
    valid = n // HOP
    v = x[:, :valid]
    mean = v.mean(1, keepdim=True)
    std = v.std(1, keepdim=True) + 1e-5
    x = (x - mean) / std
    x[:, valid:] = 0
    return x.T.contiguous()
