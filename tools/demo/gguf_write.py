# SPDX-License-Identifier: Apache-2.0
"""A minimal GGUF (version 3) writer: metadata, and tensors as F32, F16, Q8_0 or Q4_0."""
import struct

import numpy as np

F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8
TYPE = {"F32": F32, "F16": F16, "Q8_0": Q8_0, "Q4_0": Q4_0}
FILE_TYPE = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 7}
ALIGN = 32


def quantize(a, t):
    a = np.ascontiguousarray(a, np.float32)
    if t == F32:
        return a.tobytes()
    if t == F16:
        return a.astype(np.float16).tobytes()
    b = a.reshape(-1, 32)
    if t == Q8_0:
        d = np.abs(b).max(1) / 127
        inv = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)
        x = b * inv[:, None]
        q = np.trunc(x + np.copysign(0.5, x)).astype(np.int8)
        return np.concatenate([d.astype(np.float16)[:, None].view(np.uint8), q.view(np.uint8)], 1).tobytes()
    if t == Q4_0:
        i = np.abs(b).argmax(1)
        d = np.take_along_axis(b, i[:, None], 1)[:, 0] / -8
        inv = np.divide(1.0, d, out=np.zeros_like(d), where=d != 0)
        q = np.clip(np.floor(b * inv[:, None] + 8.5), 0, 15).astype(np.uint8)
        return np.concatenate([d.astype(np.float16)[:, None].view(np.uint8), q[:, :16] | (q[:, 16:] << 4)], 1).tobytes()
    raise ValueError(t)


def _str(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def _value(kind, v):
    """kind: u32 i32 f32 bool str, or [kind] for an array."""
    code = {"u32": 4, "i32": 5, "f32": 6, "bool": 7, "str": 8}
    fmt = {"u32": "<I", "i32": "<i", "f32": "<f", "bool": "<?"}

    def one(k, x):
        return _str(x) if k == "str" else struct.pack(fmt[k], x)

    if isinstance(kind, list):
        k = kind[0]
        return struct.pack("<IIQ", 9, code[k], len(v)) + b"".join(one(k, x) for x in v)
    return struct.pack("<I", code[kind]) + one(kind, v)


class Writer:
    def __init__(self, path, arch):
        self.path, self.kv, self.tensors = path, [], []
        self.add("general.architecture", "str", arch)

    def add(self, key, kind, value):
        self.kv.append(_str(key) + _value(kind, value))

    def tensor(self, name, a, t):
        a = np.asarray(a)
        if t in (Q8_0, Q4_0) and a.shape[-1] % 32:
            raise ValueError(f"{name} {a.shape} does not divide into blocks of 32")
        self.tensors.append((name, a.shape, t, quantize(a, t)))

    def close(self):
        with open(self.path, "wb") as f:
            f.write(b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.kv)))
            f.write(b"".join(self.kv))
            off = 0
            for name, shape, t, data in self.tensors:
                f.write(
                    _str(name)
                    + struct.pack("<I", len(shape))
                    + b"".join(struct.pack("<Q", n) for n in reversed(shape))
                    + struct.pack("<IQ", t, off)
                )
                off += -(-len(data) // ALIGN) * ALIGN
            f.write(b"\0" * (-f.tell() % ALIGN))
            for _, _, _, data in self.tensors:
                f.write(data + b"\0" * (-len(data) % ALIGN))
