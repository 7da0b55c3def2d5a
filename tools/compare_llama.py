#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares rill with llama.cpp on the same GGUF files and prints the tables of docs/compatibility.md.

    compare_llama.py --rill build/release/rill --llama DIR MODEL.gguf [--text FILE] [--types Q8_0,Q4_0]

DIR holds llama-perplexity, llama-quantize, llama-completion and llama-tokenize; --wrapper COMMAND runs them through
another program. MODEL is an F16, BF16 or F32 file. For each type both programs quantize MODEL, both run both files, and
what they predict is compared: between the programs on one file, and between each file and MODEL. With --orders N also
N forms of MODEL that predict the same with their hidden units in other orders are quantized, which tells the quantizers
apart from the chance of which weights share a block. Needs numpy.
"""

import argparse
import json
import shlex
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TYPES = ["F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0"]


class Programs:
    def __init__(self, arguments):
        self.rill_path = arguments.rill
        self.directory = arguments.llama
        self.wrapper = shlex.split(arguments.wrapper)
        self.threads = str(arguments.threads)

    def rill(self, *arguments):
        command = [self.rill_path, *map(str, arguments), "-t", self.threads]
        return subprocess.run(command, check=True, capture_output=True).stdout.decode(errors="replace")

    def llama(self, tool, *arguments):
        name = str(Path(self.directory) / tool) if self.directory else tool
        command = [*self.wrapper, name, *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        if result.returncode != 0:
            sys.exit(f"{shlex.join(command)}: exit code {result.returncode}\n{result.stderr.decode(errors='replace')[-2000:]}")
        return result


def read_base(path):
    """The logarithms of probabilities that llama-perplexity wrote, [positions, vocabulary]; NaN for what it cut off."""
    data = path.read_bytes()
    assert data[:8] == b"_logits_", "not a file of llama-perplexity"
    window, vocabulary, chunks = np.frombuffer(data, np.int32, 3, 8)
    start = 20 + 4 * window * chunks
    width = 2 * ((vocabulary + 1) // 2) + 4
    rows = np.frombuffer(data, np.uint16, offset=start).reshape(-1, width)
    scale, lowest = np.ascontiguousarray(rows[:, :4]).view(np.float32).T
    quants = rows[:, 4:4 + vocabulary].astype(np.float64)
    out = quants * scale[:, None] + lowest[:, None]
    out[quants == 0] = np.nan
    return out


def log_softmax(logits):
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def between_programs(programs, folder, model, text, window):
    """What the two programs predict with one file."""
    base, logits = folder / "llama.base", folder / "rill.logits"
    programs.llama("llama-perplexity", "-m", model, "-f", text, "-c", window, "-t", programs.threads,
                   "--kl-divergence-base", base)
    report = json.loads(programs.rill("perplexity", text, "-m", model, "-c", window, "--logits", logits, "--json",
                                      "--kv-type", "f16"))
    theirs = read_base(base)
    ours = log_softmax(np.fromfile(logits, np.float32).reshape(-1, theirs.shape[1]))
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    kept = ~np.isnan(theirs)
    top = np.where(kept, theirs, -np.inf)
    same = top.argmax(axis=1) == ours.argmax(axis=1)
    ranked = np.sort(top, axis=1)
    margins = (ranked[:, -1] - ranked[:, -2])[~same]
    distance = np.where(kept, ours - theirs, 0.0)
    kl = np.where(kept, np.exp(top) * -distance, 0.0).sum(axis=1)
    return {"scored": report["scored"], "top1": same.mean(), "widest_tie": margins.max() if margins.size else 0.0,
            "rms": np.sqrt((distance ** 2).sum() / kept.sum()), "spread": float(np.nanstd(theirs)),
            "kl": kl.mean()}


def greedy(programs, model, prompt, count):
    """The greedy continuations of both programs: how many characters are the same, and both texts."""
    ours = programs.rill("complete", prompt, "-m", model, "-n", count, "--temp", "0", "--repeat-penalty", "1")
    theirs = programs.llama("llama-completion", "-m", model, "-p", prompt, "-n", count, "--temp", "0", "--repeat-penalty",
                            "1", "-t", programs.threads, "-no-cnv", "--no-warmup", "--no-display-prompt").stdout
    # The programs end differently after a part of a character, and llama.cpp does not print zero bytes.
    theirs = theirs.decode(errors="replace").replace(" [end of text]", "")
    ours, theirs = (text.replace("\0", "").rstrip("\ufffd \n") for text in (ours, theirs))
    same = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    return same, ours, theirs


def quantize(programs, model, kind, folder):
    ours, theirs = folder / f"rill-{kind}.gguf", folder / f"llama-{kind}.gguf"
    programs.rill("quantize", model, ours, "--type", kind, "--overwrite")
    programs.llama("llama-quantize", model, theirs, kind, programs.threads)
    return {"rill": ours, "llama.cpp": theirs}


VALUE_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
PLAIN_TYPES = {0: np.float32, 1: np.float16, 30: np.uint16}


class Cursor:
    """Reads a GGUF header."""

    def __init__(self, data):
        self.data, self.at = data, 8

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values[0] if len(values) == 1 else values

    def text(self):
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size:self.at].decode(errors="replace")

    def skip(self, kind):
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            item, count = self.take("IQ")
            for _ in range(count):
                self.skip(item)
        else:
            self.at += VALUE_BYTES[kind]


def plain_tensors(data):
    """Name to (type, shape, offset) of a file without block types, aligned to 32 bytes as usual."""
    cursor = Cursor(data)
    num_tensors, num_keys = cursor.take("QQ")
    for _ in range(num_keys):
        cursor.text()
        cursor.skip(cursor.take("I"))
    rows = []
    for _ in range(num_tensors):
        name = cursor.text()
        shape = [cursor.take("Q") for _ in range(cursor.take("I"))][::-1]
        rows.append((name, *cursor.take("IQ"), shape))
    start = -(-cursor.at // 32) * 32
    return {name: (PLAIN_TYPES[kind], shape, start + offset) for name, kind, offset, shape in rows}


def reordered(name, values, hidden, inner):
    """A tensor of a dense model with the hidden units, and those inside its feed-forward layers, in another order."""
    last = name.removesuffix(".weight").split(".")[-1]
    if name == "token_embd.weight" or last in ("in_proj", "attn_q", "attn_k", "attn_v"):
        return values[:, hidden]
    if last in ("attn_norm", "ffn_norm", "token_embd_norm", "attn_output", "out_proj"):
        return values[hidden]
    if last in ("ffn_gate", "ffn_up"):
        return values[inner][:, hidden]
    if last == "ffn_down":
        return values[hidden][:, inner]
    if last in ("conv", "attn_q_norm", "attn_k_norm"):
        # The channels of the convolution and of the heads lie inside their layers.
        return values
    sys.exit(f"--orders: no rule for {name}: only dense models with tied embeddings")


def write_order(model, seed, path):
    """The model with its hidden units in the order of a seed; 0: as they are."""
    data = bytearray(model.read_bytes())
    random = np.random.default_rng(seed)
    tensors = plain_tensors(bytes(data))
    hidden, inner = random.permutation(tensors["token_embd.weight"][1][1]), {}
    for name, (dtype, shape, offset) in tensors.items():
        values = np.frombuffer(bytes(data[offset:offset + dtype().itemsize * int(np.prod(shape))]), dtype).reshape(shape)
        layer = name.split(".")[1]
        if "ffn_gate" in name or "ffn_up" in name or "ffn_down" in name:
            units = shape[1] if "ffn_down" in name else shape[0]
            inner.setdefault(layer, random.permutation(units))
        if seed > 0:
            changed = np.ascontiguousarray(reordered(name, values, hidden, inner.get(layer))).tobytes()
            data[offset:offset + len(changed)] = changed
    path.write_bytes(data)
    return path


def compare_orders(programs, arguments, folder):
    print("\n| Type | KL, rill quantize | KL, llama-quantize | Ratio, mean of the orders |")
    print("|---|--:|--:|--:|")
    models = [write_order(arguments.model, seed, folder / f"order-{seed}.gguf") for seed in range(arguments.orders)]
    for kind in arguments.types.split(","):
        values = {"rill": [], "llama.cpp": []}
        for model in models:
            for author, path in quantize(programs, model, kind, folder).items():
                report = programs.rill("perplexity", arguments.text, "-m", path, "--kl", model, "-c", arguments.window, "--json")
                values[author].append(json.loads(report)["mean_kl"])
        ours, theirs = (np.array(values[author]) for author in ("rill", "llama.cpp"))
        ratios = ours / np.maximum(theirs, 1e-12)
        error = ratios.std(ddof=1) / len(ratios) ** 0.5
        print(f"| {kind} | {ours.mean():.3e} | {theirs.mean():.3e} | {ratios.mean():.3f} +- {error:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--rill", required=True)
    parser.add_argument("--llama", default="", help="folder of llama.cpp's programs; default: they are found by name")
    parser.add_argument("--wrapper", default="", help="command that runs llama.cpp's programs")
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--window", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--prompt", default="", help="also compare greedy continuations of this")
    parser.add_argument("--orders", type=int, default=0, help="also quantize so many orders of the hidden units")
    parser.add_argument("--folder", type=Path, help="where files go; default: a temporary folder")
    arguments = parser.parse_args()
    programs = Programs(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        error_rows = []
        print("| Type | Written by | Top-1 agreement | Widest tie | Log-probability RMS distance | of a spread of | KL | Bytes |")
        print("|---|---|--:|--:|--:|--:|--:|--:|")
        for kind in arguments.types.split(","):
            errors = {}
            for author, path in quantize(programs, arguments.model, kind, folder).items():
                row = between_programs(programs, folder, path, arguments.text, arguments.window)
                print(f"| {kind} | {author} | {row['top1']:.4f} of {row['scored']} | {row['widest_tie']:.4f} | "
                      f"{row['rms']:.5f} | {row['spread']:.2f} | {row['kl']:.2e} | {path.stat().st_size} |", flush=True)
                errors[author] = json.loads(programs.rill("perplexity", arguments.text, "-m", path, "--kl", arguments.model,
                                                          "-c", arguments.window, "--json"))
                if arguments.prompt:
                    same, ours, theirs = greedy(programs, path, arguments.prompt, 48)
                    parted = "equal" if ours == theirs else f"part after {same} characters: {ours!r} {theirs!r}"
                    print(f"greedy, {path.name}: {parted}", file=sys.stderr, flush=True)
            error_rows.append((kind, errors))
        print("\n| Type | KL, rill quantize | KL, llama-quantize | Ratio | Perplexity ratio to the original, rill | llama.cpp |")
        print("|---|--:|--:|--:|--:|--:|")
        for kind, errors in error_rows:
            ours, theirs = errors["rill"], errors["llama.cpp"]
            ratio = ours["mean_kl"] / theirs["mean_kl"] if theirs["mean_kl"] > 0 else 1.0
            change = [e["perplexity"] / e["reference_perplexity"] for e in (ours, theirs)]
            print(f"| {kind} | {ours['mean_kl']:.3e} +- {ours['mean_kl_error']:.0e} | {theirs['mean_kl']:.3e} +- "
                  f"{theirs['mean_kl_error']:.0e} | {ratio:.3f} | {change[0]:.5f} | {change[1]:.5f} |")
        if arguments.orders > 1:
            compare_orders(programs, arguments, folder)


if __name__ == "__main__":
    main()
