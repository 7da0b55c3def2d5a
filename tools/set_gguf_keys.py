#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets metadata keys of a GGUF file in place and leaves every tensor's bytes as they are.

set_gguf_keys.py FILE KEY=TYPE:VALUE... with the types f32, u32 and string, for example
rill.generation.tts.temperature=f32:0. A key that the file has already must have a number or a string.
"""

import argparse
import os
import struct
import sys
from pathlib import Path

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
DEFAULT_ALIGNMENT = 32


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def number(self, layout):
        (value,) = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return value

    def string(self):
        size = self.number("Q")
        self.at += size
        return self.data[self.at - size:self.at]

    def skip_value(self, kind):
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            element = self.number("I")
            for _ in range(self.number("Q")):
                self.skip_value(element)
        else:
            self.at += SIZES[kind]


def encode_string(text):
    return struct.pack("<Q", len(text)) + text


def encode_value(item):
    """KEY=TYPE:VALUE as the key's bytes and the pair's bytes."""
    key, _, typed = item.partition("=")
    kind, colon, value = typed.partition(":")
    if not key or not colon:
        sys.exit(f"{item}: expected KEY=TYPE:VALUE")
    encoders = {
        "f32": lambda: struct.pack("<If", 6, float(value)),
        "u32": lambda: struct.pack("<II", 4, int(value)),
        "string": lambda: struct.pack("<I", STRING) + encode_string(value.encode()),
    }
    if kind not in encoders:
        sys.exit(f"{item}: got the type {kind}, expected f32, u32 or string")
    return key.encode(), encode_string(key.encode()) + encoders[kind]()


def read_keys(reader, count):
    """The bytes of each key/value pair, and the alignment of the tensor data."""
    pairs = {}
    alignment = DEFAULT_ALIGNMENT
    for _ in range(count):
        begin = reader.at
        key = reader.string()
        kind = reader.number("I")
        value_at = reader.at
        reader.skip_value(kind)
        if key == b"general.alignment":
            (alignment,) = struct.unpack_from("<I", reader.data, value_at)
        pairs[key] = reader.data[begin:reader.at]
    return pairs, alignment


def skip_tensor_infos(reader, count):
    for _ in range(count):
        reader.string()
        rank = reader.number("I")
        reader.at += 8 * rank + 12  # dimensions, type, offset


def set_keys(data, items):
    reader = Reader(data)
    if reader.number("I") != 0x46554747 or reader.number("I") not in (2, 3):
        sys.exit("not a GGUF file of version 2 or 3")
    num_tensors = reader.number("Q")
    pairs, alignment = read_keys(reader, reader.number("Q"))
    infos_at = reader.at
    skip_tensor_infos(reader, num_tensors)
    data_at = -(-reader.at // alignment) * alignment
    pairs.update(encode_value(item) for item in items)
    head = data[:16] + struct.pack("<Q", len(pairs)) + b"".join(pairs.values()) + data[infos_at:reader.at]
    return head + bytes(-len(head) % alignment) + data[data_at:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("item", nargs="+", metavar="KEY=TYPE:VALUE")
    options = parser.parse_args()
    changed = set_keys(options.file.read_bytes(), options.item)
    temporary = options.file.with_name(options.file.name + ".part")
    temporary.write_bytes(changed)
    os.replace(temporary, options.file)


if __name__ == "__main__":
    main()
