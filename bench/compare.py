#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares rill's speed with a peer's on the same file: the two take turns, and each ratio comes with its spread.

    bench/compare.py --model x.gguf --peer 'llama-bench -m {model} -t {threads} -p {prefill} -n {decode} -r 1 -o json'

The peer's command prints llama-bench's JSON: objects with n_prompt, n_gen and avg_ts. Measure on an idle machine: a
peer whose threads spin loses most of its speed beside anything else.
"""
import argparse
import json
import shlex
import statistics
import subprocess
import sys


def run_rill(args):
    command = [args.rill, "bench", "-m", args.model, "-t", str(args.threads), "--prefill", str(args.prefill),
               "--decode", str(args.decode), "--depth", str(args.depth), "--repeat", "1", "--json"]
    if args.no_check:
        command.append("--no-check")
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return (report["prefill"][0]["prefill_tokens_per_s"], report["decode"][0]["decode_tokens_per_s"],
            report["decode_read_share"])


def run_peer(args):
    command = args.peer.format(model=args.model, threads=args.threads, prefill=args.prefill, decode=args.decode,
                               depth=args.depth)
    rows = json.loads(subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout)
    prefill = next(row["avg_ts"] for row in rows if row["n_prompt"] > 0 and row["n_gen"] == 0)
    decode = next(row["avg_ts"] for row in rows if row["n_gen"] > 0)
    return prefill, decode


def describe(name, ours, theirs, unit):
    ratios = [a / b for a, b in zip(ours, theirs)]
    print(f"{name:9} rill {statistics.median(ours):8.2f}  peer {statistics.median(theirs):8.2f} {unit}  "
          f"ratio {statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rill", default="build/release/rill")
    parser.add_argument("--model", required=True)
    parser.add_argument("--peer", required=True, help="command with {model} {threads} {prefill} {decode} {depth}")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prefill", type=int, default=256)
    parser.add_argument("--decode", type=int, default=32)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--no-check", action="store_true", help="skip the comparison with the scalar tier")
    args = parser.parse_args()
    rill, peer = [], []
    for _ in range(args.turns):
        rill.append(run_rill(args))
        peer.append(run_peer(args))
        args.no_check = True  # once is enough
    describe("prefill", [r[0] for r in rill], [p[0] for p in peer], "tokens/s")
    describe("decode", [r[1] for r in rill], [p[1] for p in peer], "tokens/s")
    shares = [r[2] for r in rill]
    print(f"decode reads weights at {statistics.median(shares):.2f} of the read bandwidth "
          f"({min(shares):.2f} to {max(shares):.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
