#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of its own speech the demo model understands: speaks held-out sentences of its world in each voice, greedily,
transcribes them, and prints the word error rate and the number of exact sentences per voice.

The sentences are those that the reference was measured with; --seed draws others.

speech_word_errors.py RILL [--sentences 40] [--model DIR] [--threads N] [--seed N] [--verbose]
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools/demo"))
import sentences as training_sentences  # noqa: E402
import world  # noqa: E402

VOICES = ("us_male", "us_female", "uk_male", "uk_female")


def words(text):
    """Lower case, without punctuation, as tools/demo/generate.py counts them: twenty-one is one word."""
    return "".join(c if c.isalnum() or c in "'-" else " " for c in text.lower()).split()


def edits(said, heard):
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1]


def new_sentences(count, seed):
    source = random.Random(seed)
    sentences = []
    while len(sentences) < count:
        sentence = world.statement(source)
        if world.is_held_out(sentence) and sentence not in sentences:
            sentences.append(sentence)
    return sentences


def run(options, *arguments):
    command = [options.rill, *map(str, arguments), "-t", str(options.threads)]
    if options.model:
        command += ["-m", options.model]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout


def run_sequence(options, task, requests, *arguments):
    """Runs requests in one session: what each prints as text_output, if the task does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requests.json"
        path.write_text(json.dumps(requests))
        output = run(options, "run", "--task", task, "--request-sequence", path, *arguments)
    return [line.partition("=")[2] for line in output.splitlines() if line.startswith("text_output=")]


def measure(options, voice, sentences):
    """(word errors, words, exact sentences)"""
    with tempfile.TemporaryDirectory() as folder:
        spoken = [{"id": str(i), "text": text, "voice": voice} for i, text in enumerate(sentences)]
        run_sequence(options, "tts", spoken, "--temperature", "0", "--out", Path(folder) / "s.wav")
        files = [{"id": str(i), "audio": f"{folder}/s_{i}.wav"} for i in range(len(sentences))]
        heard = run_sequence(options, "asr", files)
    if options.verbose:
        for said, got in zip(sentences, heard, strict=True):
            print(f"{voice:10} {said:56} {got}")
    errors = sum(edits(words(a), words(b)) for a, b in zip(sentences, heard, strict=True))
    exact = sum(a == b for a, b in zip(sentences, heard, strict=True))
    return errors, sum(len(words(text)) for text in sentences), exact


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rill")
    parser.add_argument("--sentences", type=int, default=40)
    parser.add_argument("--model", help="package directory (default: the embedded demo model)")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seed", type=int, help="draw other sentences from the grammar")
    parser.add_argument("--verbose", action="store_true", help="print each sentence and what was heard")
    options = parser.parse_args()
    totals = [0, 0, 0, 0]
    known = training_sentences.held_out_to_speak() if options.seed is None else {}
    for number, voice in enumerate(VOICES):
        if options.seed is None:
            sentences = known[voice][: options.sentences]
        else:
            sentences = new_sentences(options.sentences, options.seed * len(VOICES) + number)
        errors, count, exact = measure(options, voice, sentences)
        print(f"{voice:10} WER {100 * errors / count:5.2f}%  exact {exact} of {len(sentences)}", flush=True)
        totals = [a + b for a, b in zip(totals, (errors, count, exact, len(sentences)))]
    print(f"{'all':10} WER {100 * totals[0] / totals[1]:5.2f}%  exact {totals[2]} of {totals[3]}")


if __name__ == "__main__":
    main()
