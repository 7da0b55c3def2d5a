#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns Silero VAD's ONNX file into the safetensors file that rill reads (its 16 kHz branch).

The file is silero_vad_v6.onnx of the npm package @ricky0123/vad-web 0.0.31 (`npm pack
@ricky0123/vad-web@0.0.31`, then package/dist/ in the archive). The weights are Silero's, under the
MIT licence. Needs nothing but Python: ONNX is protobuf, of which a few lines read what is wanted.
"""

import argparse
import hashlib
import json
import struct
import sys

SHA256 = "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"
BRANCH = "If_0_then_branch__Inline_0__"  # taken when the sample rate is 16000
FLOAT = 1  # TensorProto.DataType

# rill's name: (name in the file, shape)
TENSORS = {
    "stft_conv.weight": ("stft.forward_basis_buffer", [258, 1, 256]),
    "conv1.weight": ("encoder.0.reparam_conv.weight", [128, 129, 3]),
    "conv1.bias": ("encoder.0.reparam_conv.bias", [128]),
    "conv2.weight": ("encoder.1.reparam_conv.weight", [64, 128, 3]),
    "conv2.bias": ("encoder.1.reparam_conv.bias", [64]),
    "conv3.weight": ("encoder.2.reparam_conv.weight", [64, 64, 3]),
    "conv3.bias": ("encoder.2.reparam_conv.bias", [64]),
    "conv4.weight": ("encoder.3.reparam_conv.weight", [128, 64, 3]),
    "conv4.bias": ("encoder.3.reparam_conv.bias", [128]),
    "lstm_cell.weight_ih": ("decoder.rnn.weight_ih", [512, 128]),
    "lstm_cell.weight_hh": ("decoder.rnn.weight_hh", [512, 128]),
    "lstm_cell.bias_ih": ("decoder.rnn.bias_ih", [512]),
    "lstm_cell.bias_hh": ("decoder.rnn.bias_hh", [512]),
    "final_conv.weight": ("decoder.decoder.2.weight", [1, 128, 1]),
    "final_conv.bias": ("decoder.decoder.2.bias", [1]),
}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Yields (field number, value) of a protobuf message: int, or bytes for anything longer."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = data[at : at + size], at + size
        else:
            sys.exit(f"protobuf: byte {at}: wire type {wire}")
        yield key >> 3, value


def read_tensor(data):
    """TensorProto -> (name, dims, type, little-endian bytes)."""
    name, dims, dtype, raw, floats = "", [], 0, b"", b""
    for number, value in fields(data):
        if number == 1 and isinstance(value, int):
            dims.append(value)
        elif number == 1:
            at = 0
            while at < len(value):
                dim, at = varint(value, at)
                dims.append(dim)
        elif number == 2:
            dtype = value
        elif number == 4:
            floats += value
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
    return name, dims, dtype, raw or floats


def collect(graph, found):
    """Fills `found` with the constants of a GraphProto and its sub-graphs, by output name."""
    for number, value in fields(graph):
        if number == 5:  # initializer
            tensor = read_tensor(value)
            found[tensor[0]] = tensor
        elif number == 1:  # node
            outputs = [v.decode() for n, v in fields(value) if n == 2]
            for attribute in (v for n, v in fields(value) if n == 5):
                for n, v in fields(attribute):
                    if n == 5 and outputs:
                        found[outputs[0]] = read_tensor(v)
                    elif n == 6:
                        collect(v, found)


def convert(model):
    found = {}
    for number, value in fields(model):
        if number == 7:
            collect(value, found)
    header, body = {}, b""
    for name, (source, shape) in TENSORS.items():
        if BRANCH + source not in found:
            sys.exit(f"no constant {BRANCH}{source}")
        _, dims, dtype, raw = found[BRANCH + source]
        size = 4
        for dim in shape:
            size *= dim
        if dims != shape or dtype != FLOAT or len(raw) != size:
            sys.exit(f"{source}: got shape {dims}, type {dtype}, {len(raw)} bytes, expected floats {shape}")
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + size]}
        body += raw
    header["__metadata__"] = {"source": "silero_vad_v6.onnx, 16 kHz branch", "source_sha256": SHA256, "license": "MIT"}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("onnx", help="silero_vad_v6.onnx")
    parser.add_argument("output", help="silero_vad_16k.safetensors")
    args = parser.parse_args()
    with open(args.onnx, "rb") as file:
        model = file.read()
    digest = hashlib.sha256(model).hexdigest()
    if digest != SHA256:
        sys.exit(f"{args.onnx}: SHA-256 is {digest}, expected {SHA256}")
    with open(args.output, "wb") as file:
        file.write(convert(model))


if __name__ == "__main__":
    main()
