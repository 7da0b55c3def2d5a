# SPDX-License-Identifier: Apache-2.0
"""A small pitch-and-envelope vocoder that defines what the demo's speech codes mean.

Recorded (flite, espeak-ng) speech is reduced to, every 320 samples at 24 kHz,
    a smooth spectral envelope (48 points), voiced or not, and a pitch;
and put back together as envelope x excitation.  The excitation is chosen so that a tiny network can
learn it exactly: the pitch is rounded to a multiple of 12.5 Hz, so every 80 ms code frame holds a
whole number of pitch periods and its phases depend only on the pitch and on the step (0..5) within
the frame; noise is one frozen 80 ms pattern.  The price is a slightly robotic voice.
"""
import math

import torch

SR, HOP, NFFT, UP = 24000, 320, 1280, 6
FRAME = HOP * UP  # 1920 samples, 80 ms
BINS, POINTS = NFFT // 2 + 1, 48
M_MIN, M_MAX = 6, 20  # pitch in units of 12.5 Hz: 75..250 Hz
PITCH_RANGE = {"us_female": (10, 19), "us_male": (6, 12), "uk_male": (6, 14), "uk_female": (10, 20)}
FLOOR = -4.0  # deepest valley of the excitation pattern, in nepers
LEVEL = 0.47  # loudness of the coded voices against the recordings, in nepers
HANN = torch.hann_window(NFFT)


def mel_points():
    top = 2595 * math.log10(1 + 11500 / 700)
    hz = 700 * (10 ** (torch.linspace(0, top, POINTS).double() / 2595) - 1)
    return (hz / (SR / NFFT)).float()  # in bins


POINT_BINS = mel_points()


def points_to_bins():
    """[POINTS,BINS] linear interpolation."""
    w = torch.zeros(POINTS, BINS)
    for b in range(BINS):
        i = int(torch.searchsorted(POINT_BINS, torch.tensor(float(b)), right=True)) - 1
        i = min(max(i, 0), POINTS - 2)
        t = min(max((b - float(POINT_BINS[i])) / float(POINT_BINS[i + 1] - POINT_BINS[i]), 0.0), 1.0)
        w[i, b], w[i + 1, b] = 1 - t, t
    return w


TO_BINS = points_to_bins()


def smooth_power(p, width):
    """Mean of p [T,BINS] over `width` [T] bins around each bin, mirrored at 0."""
    T = p.shape[0]
    ext = torch.cat([p[:, 1:41].flip(1), p, p[:, -41:-1].flip(1)], 1)
    c = torch.cat([torch.zeros(T, 1), ext.double().cumsum(1)], 1)

    def at(pos):
        i = pos.floor().clamp(0, c.shape[1] - 2)
        f = pos - i
        i = i.long()
        return c.gather(1, i) * (1 - f) + c.gather(1, i + 1) * f

    b = torch.arange(BINS).double()[None] + 40.5
    h = (width.double() / 2)[:, None]
    return ((at(b + h) - at(b - h)) / (2 * h)).float()


def excitation():
    """[M+1, 6, BINS] complex: row 0 is noise, row m-M_MIN+1 is pitch m.  Mean local power 1."""
    g = torch.Generator().manual_seed(7)
    n = torch.arange(FRAME).double()
    half = torch.polar(torch.ones(FRAME // 2 + 1), torch.rand(FRAME // 2 + 1, generator=g) * 2 * math.pi)
    noise = torch.fft.irfft(half, FRAME).double() * FRAME / 2**0.5
    freq = torch.arange(FRAME // 2 + 1) * 12.5
    hi = torch.sigmoid((freq - 4500) / 250)
    rows = [noise]
    for m in range(M_MIN, M_MAX + 1):
        x = torch.zeros(FRAME).double()
        for k in range(1, int(8000 / (12.5 * m)) + 1):
            f = 12.5 * m * k
            gain = float((1 - torch.sigmoid(torch.tensor((f - 4500) / 250))).sqrt())
            x += gain * torch.cos(2 * math.pi * m * k * n / FRAME - math.pi * 0.4 * (f / 1000) ** 2) * (2 * m) ** 0.5
        x += torch.fft.irfft(torch.fft.rfft(noise.float()) * hi.sqrt(), FRAME).double()
        rows.append(x)
    out = []
    for x in rows:
        idx = (torch.arange(UP)[:, None] * HOP - (NFFT - HOP) // 2 + torch.arange(NFFT)[None]) % FRAME
        out.append(torch.fft.rfft(x[idx].float() * HANN))
    e = torch.stack(out)
    widths = torch.tensor([8.0] + [12.5 * m / (SR / NFFT) for m in range(M_MIN, M_MAX + 1)])
    for i in range(len(e)):
        p = smooth_power(e[i].abs() ** 2, widths[i].expand(UP)).mean(0)
        e[i] /= p.mean().sqrt()
    return e


EXC = excitation()
EXC_LOG = EXC.abs().clamp(min=math.exp(FLOOR)).log()
EXC_PHASE = EXC.angle()
# How one 80 ms frame can be voiced: not at all, from step j on, or up to step j.
PATTERNS = [[1] * 6] + [[0] * j + [1] * (6 - j) for j in range(1, 6)] + [[1] * j + [0] * (6 - j) for j in range(1, 6)]
PAT = torch.tensor([[0] * 6] + PATTERNS)


def track_pitch(x, voice):
    """x at 24 kHz -> (pitch in Hz or 0) every hop, by a Viterbi search over the autocorrelation."""
    lo, hi = PITCH_RANGE[voice]
    import torchaudio

    y = torchaudio.functional.resample(x, 24000, 8000)
    T = math.ceil(x.numel() / HOP)
    W = 400
    centre = ((torch.arange(T) * HOP + HOP / 2) / 3).long()
    y = torch.nn.functional.pad(y, (W, W + 400))
    fr = y[(centre[:, None] + torch.arange(W)[None] + W - W // 2)]
    fr = (fr - fr.mean(1, keepdim=True)) * torch.hann_window(W)
    ac = torch.fft.irfft(torch.fft.rfft(fr, 1024).abs() ** 2)[:, :200]
    w0 = torch.fft.irfft(torch.fft.rfft(torch.hann_window(W), 1024).abs() ** 2)[:200]
    nac = ac / (ac[:, :1] + 1e-7) / (w0 / w0[0])
    f = torch.arange(lo * 12.5 - 6, hi * 12.5 + 7, 3.0)
    lag = 8000 / f
    i = lag.floor().long()
    s = nac[:, i] * (1 - (lag - i)) + nac[:, i + 1] * (lag - i)
    energy = ac[:, 0]
    loud = (energy > 2e-4 * energy.max()).float()
    s = s * loud[:, None] + 0.02 * (f / f[0]).log()[None]  # slight preference against sub-octaves
    uv = torch.full((T, 1), 0.45)
    s = torch.cat([uv, s], 1)
    K = s.shape[1]
    lf = f.log()
    trans = torch.zeros(K, K)
    trans[1:, 1:] = 2.5 * (lf[:, None] - lf[None]).abs()
    trans[0, 1:] = trans[1:, 0] = 0.25
    score, back = s[0], []
    for t in range(1, T):
        v, j = (score[:, None] - trans).max(0)
        back.append(j)
        score = v + s[t]
    k = int(score.argmax())
    path = [k]
    for j in reversed(back):
        k = int(j[k])
        path.append(k)
    path = torch.tensor(path[::-1])
    return torch.where(path > 0, f[(path - 1).clamp(min=0)], torch.zeros(()))


def analyse(x, voice):
    """x at 24 kHz -> pitch [T], log envelope [T,POINTS]."""
    f0 = track_pitch(x, voice)
    T = len(f0)
    win = 800  # 33 ms
    fr = torch.nn.functional.pad(x, ((win - HOP) // 2, NFFT)).unfold(0, win, HOP)[:T] * torch.hann_window(win)
    p = torch.fft.rfft(fr, NFFT).abs() ** 2
    width = torch.where(f0 > 0, f0, torch.full((), 150.0)) / (SR / NFFT)
    env = 0.5 * (smooth_power(p, width) + 1e-9).log() - LEVEL
    i = POINT_BINS.floor().long().clamp(max=BINS - 2)
    t = POINT_BINS - i
    return f0, env[:, i] * (1 - t) + env[:, i + 1] * t


def snap(f0, env, x, ends):
    """Stretch each word to a whole number of code frames.

    -> pitch [6n], env [6n,POINTS], and for every frame the index of its word in `ends` (-1: silence)."""
    loud = (x.abs() > 0.02 * x.abs().max()).nonzero()
    a, b = int(loud[0]) / SR, (int(loud[-1]) + 1) / SR
    inner = [(e, i) for i, (_, e) in enumerate(ends) if e > a + 0.03 and e < b - 0.04]
    cuts = [a] + [e for e, _ in inner] + [b]
    which = [i for _, i in inner] + [len(ends) - 1]
    pos = [torch.linspace(a - 0.08, a, UP + 1)[:UP] + 0.0067]
    words = [-1]
    for s, e, i in zip(cuts, cuts[1:], which):
        n = max(1, round((e - s) / 0.08)) * UP
        words += [i] * (n // UP)
        pos.append(s + (torch.arange(n) + 0.5) / n * (e - s))
    pos.append(b + (torch.arange(UP) + 0.5) * 0.0133)
    pos = torch.cat(pos) * SR / HOP - 0.5  # in hops
    T = len(f0)
    i = pos.floor().clamp(0, T - 2).long()
    t = (pos - i).clamp(0, 1)[:, None]
    return f0[pos.round().clamp(0, T - 1).long()], env[i] * (1 - t) + env[i + 1] * t, words + [-1]


def excitation_codes(f0, voice):
    """[6n] pitch -> per frame: code (0 unvoiced, else 1 + (m-M_MIN)*11 + pattern), and per step the excitation row."""
    lo, hi = PITCH_RANGE[voice]
    f = f0.view(-1, UP)
    v = (f > 0).long()
    best = ((v[:, None] - PAT[None]).abs().sum(-1)).argmin(1)  # 0 = unvoiced
    m = ((f.sum(1) / v.sum(1).clamp(min=1)) / 12.5).round().clamp(lo, hi).long()
    code = torch.where(best > 0, 1 + (m - M_MIN) * len(PATTERNS) + best - 1, 0)
    return code, rows_of(code)


def rows_of(code):
    """Per-step excitation rows [6n] of excitation codes [n]."""
    c = (code - 1).clamp(min=0)
    m, pat = c // len(PATTERNS), c % len(PATTERNS)
    voiced = PAT[1:][pat] * (code > 0).long()[:, None]
    return (voiced * (m + 1)[:, None]).flatten()


def target(env, rows):
    """Log-magnitude and phase [6n,BINS] of envelope x excitation."""
    j = torch.arange(len(rows)) % UP
    return env @ TO_BINS + EXC_LOG[rows, j], EXC_PHASE[rows, j]


def synthesise(log_mag, phase):
    spec = torch.polar(log_mag.exp(), phase)
    y = torch.fft.irfft(spec, NFFT) * HANN
    T = len(y)
    out = torch.zeros((T - 1) * HOP + NFFT)
    den = torch.zeros_like(out)
    for t in range(T):
        out[t * HOP : t * HOP + NFFT] += y[t]
        den[t * HOP : t * HOP + NFFT] += HANN**2
    pad = (NFFT - HOP) // 2
    return (out / den.clamp(min=1e-8))[pad:-pad]
