#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `rill perplexity` and `rill inspect --plan` as a user does.

model_tools_test.py RILL SOURCE_DIR [unittest arguments].
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RILL = ""
SOURCE = Path()


def run(*arguments, stdin=b""):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RILL_")}
    return subprocess.run([RILL, *map(str, arguments)], input=stdin, capture_output=True, env=environment, timeout=300,
                          check=False)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.model = SOURCE / "tests/data/models/text/gguf/dense_a-mixed.gguf"
        self.package = SOURCE / "assets/demo"

    def expect_ok(self, result):
        self.assertEqual((result.returncode, result.stderr.decode()), (0, ""))
        return result.stdout.decode()

    def expect_error(self, result, exit_code, *parts):
        lines = result.stderr.decode().splitlines()
        self.assertEqual((result.returncode, result.stdout), (exit_code, b""), lines)
        for part in parts:
            self.assertIn(part, lines[0])


class Perplexity(Case):
    text = b"The quick brown fox jumps over the lazy dog. " * 20

    def test_figures(self):
        report = json.loads(self.expect_ok(run("perplexity", "-", "-m", self.model, "-c", 64, "--json", stdin=self.text)))
        self.assertEqual(report["scored"], report["windows"] * 31)
        self.assertGreater(report["perplexity"], 1)
        table = self.expect_ok(run("perplexity", "-", "-m", self.model, "-c", 64, stdin=self.text))
        self.assertIn("perplexity", table)
        self.assertNotIn("KL", table)

    def test_distance_from_a_coarser_type(self):
        coarse = self.folder / "coarse.gguf"
        fine = self.package / "demo-Q8_0.gguf"
        self.expect_ok(run("quantize", fine, coarse, "--type", "Q4_0", "--allow-requantize"))
        text = self.folder / "text.txt"
        text.write_bytes(self.text)
        report = json.loads(self.expect_ok(run("perplexity", text, "-m", coarse, "--kl", fine, "-c", 64, "--json")))
        self.assertGreater(report["mean_kl"], 0)
        self.assertLess(report["mean_kl"], 1)
        self.assertGreater(report["top1_agreement"], 0.5)

    def test_package_and_threads(self):
        reports = {run("perplexity", "-", "-m", self.package, "-c", 64, "--json", "-t", threads, stdin=self.text).stdout
                   for threads in (1, 3)}
        self.assertEqual(len(reports), 1)
        self.assertIn(b"perplexity", reports.pop())

    def test_refusals(self):
        self.expect_error(run("perplexity", "-", stdin=self.text), 2, "--model")
        self.expect_error(run("perplexity", "nosuch.txt", "-m", self.model), 3, "nosuch.txt")
        self.expect_error(run("perplexity", "-", "-m", "nosuch.gguf", stdin=self.text), 3, "nosuch.gguf")
        other = SOURCE / "tests/data/models/audio/LFM2.5-Audio-Tiny-Q4_0.gguf"
        self.expect_error(run("perplexity", "-", "-m", self.model, stdin=b"a"), 2, "tokens")
        self.expect_error(run("perplexity", "-", "-m", self.model, "--kl", other, stdin=self.text), 2, "vocabulary")


class Plan(Case):
    def test_text_model(self):
        plan = json.loads(self.expect_ok(run("inspect", self.model, "--plan", "ctx=512,batch=2", "--json")))
        memory = plan["memory"]
        self.assertEqual(memory["total_bytes"], sum(memory.values()) - memory["total_bytes"])
        self.assertEqual(plan["kv_type"], "F16")
        self.assertGreater(plan["work"]["decode_flops_at_context"], plan["work"]["decode_flops_first_token"])
        self.assertIn("kv_bytes", self.expect_ok(run("inspect", self.model, "--plan", "ctx=512")))

    def test_package_counts_all_its_files(self):
        plan = json.loads(self.expect_ok(run("inspect", self.package, "--plan", "ctx=512", "--json")))
        self.assertEqual(plan["kv_type"], "F32")
        self.assertEqual(plan["file_bytes"], sum(path.stat().st_size for path in self.package.glob("*.gguf")))

    def test_refusals(self):
        self.expect_error(run("inspect", self.model, "--plan", "batch=2"), 2, "ctx=N")
        self.expect_error(run("inspect", self.model, "--plan", "ctx=99999999"), 2, "context of")
        self.expect_error(run("inspect", "nosuch.gguf", "--plan", "ctx=8"), 3, "nosuch.gguf")


if __name__ == "__main__":
    RILL, SOURCE = sys.argv[1], Path(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
