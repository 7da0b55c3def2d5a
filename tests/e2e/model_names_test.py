#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of installed models, wherever a command takes a model: a cache in the layout of Hugging Face's, without a network.

model_names_test.py RILL SOURCE_DIR [unittest arguments].
"""

import json
import sys
import unittest

from cli_support import DEMO, CommandLineCase, run

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "someone/demo:Q8_0"


class ModelNames(CommandLineCase):
    def setUp(self):
        super().setUp()
        repository = self.folder / "hub/models--someone--demo"
        snapshot = repository / "snapshots" / COMMIT
        snapshot.mkdir(parents=True)
        (repository / "refs").mkdir()
        (repository / "refs/main").write_text(COMMIT)
        for path in DEMO.glob("*.gguf"):
            (snapshot / path.name).symlink_to(path)
        self.env = {"HF_HOME": str(self.folder)}
        self.text = self.folder / "text.txt"
        self.text.write_text("The quick brown fox jumps over the lazy dog. " * 8)

    def run_rill(self, *arguments):
        result = run(*arguments, env=self.env)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout.decode()

    def test_a_name_is_the_path(self):
        file = DEMO / "demo-Q8_0.gguf"
        ids = self.run_rill("tokenize", "some words", "-m", file)
        measured = json.loads(self.run_rill("perplexity", self.text, "-c", "64", "--json", "-m", file))
        for model in (["-m", NAME], ["-hf", NAME, "--offline"]):
            self.assertEqual(self.run_rill("tokenize", "some words", *model), ids)
            named = json.loads(self.run_rill("perplexity", self.text, "-c", "64", "--json", *model, "--kl", NAME))
            self.assertEqual(named["mean_nll"], measured["mean_nll"])
            self.assertLess(abs(named["mean_kl"]), 1e-12)
        plan = self.run_rill("inspect", NAME, "--plan", "ctx=512")
        self.assertEqual(plan, self.run_rill("inspect", DEMO, "--plan", "ctx=512"))

    def test_bench_takes_names(self):
        work = ["--prefill", "16", "--decode", "0", "--repeat", "1", "--no-check", "--json"]
        for model in (["-m", NAME], ["-hf", NAME]):
            report = json.loads(self.run_rill("bench", *model, *work))
            self.assertEqual(report["prefill"][0]["tokens"], 16)
        report = json.loads(self.run_rill("bench", "-m", NAME, *work, "--audio-seconds", "1"))
        self.assertIn("encode", report)

    def test_what_is_not_installed_is_named(self):
        for command in (["bench"], ["perplexity", self.text], ["tokenize", "x"], ["verify", "--set", self.folder],
                        ["transcribe", self.text], ["complete", "x"]):
            result = run(*command, "-m", "nobody/nothing:Q4_0", env=self.env)
            self.assertEqual(result.returncode, 3, (command, result.stderr))
            self.assertIn(b"rill models install nobody/nothing:Q4_0", result.stderr)
        result = run("inspect", "nobody/nothing:Q4_0", env=self.env)
        self.assertEqual((result.returncode, b"not in the cache" in result.stderr), (3, True), result.stderr)
        result = run("bench", env=self.env)
        self.assertEqual(result.returncode, 2, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
