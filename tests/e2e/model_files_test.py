#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""convert and quantize as a user runs them."""

import shutil

from cli_support import DEMO, SOURCE, CommandLineCase, clip, main, run


class ModelFiles(CommandLineCase):
    """convert and quantize."""

    def text_checkpoint(self):
        source = SOURCE / "tests/data/models/text/models/dense_a"
        folder = self.folder / "dense"
        folder.mkdir()
        shutil.copy(source / "config.json", folder / "config.json")
        shutil.copy(source / "model-bf16.safetensors", folder / "model.safetensors")
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(SOURCE / "tests/data/text/tokenizer" / name, folder / name)
        return folder

    def test_checkpoint_to_gguf_to_smaller_gguf(self):
        report = self.expect_ok(run("convert", self.text_checkpoint(), self.folder / "dense.gguf"))
        self.assertIn("dense.gguf: BF16, ", report)
        self.assertIn("convolution kernel", report)
        summary = self.expect_ok(run("inspect", self.folder / "dense.gguf", "--detail", "metadata"))
        self.assertIn("rill.format_version: 1.0.0", summary)
        report = self.expect_ok(run("quantize", self.folder / "dense.gguf", self.folder / "q4.gguf", "--type", "q4_k_m"))
        self.assertIn("rows of 64 are not a multiple of 256, which Q4_K needs", report)
        self.expect_ok(run("inspect", self.folder / "q4.gguf"))

    def test_quantized_package_hears_the_same(self):
        package = self.folder / "package"
        self.expect_ok(run("quantize", DEMO, package, "--type", "F16", "--allow-requantize"))
        self.assertEqual(sorted(path.name for path in package.iterdir()),
                         ["demo-F16.gguf", "mmproj-demo-F16.gguf", "tokenizer-demo-F16.gguf", "vocoder-demo-F16.gguf"])
        result = run("transcribe", "-m", package, clip("asr_00.wav"))
        self.assertEqual(self.expect_ok(result), run("transcribe", clip("asr_00.wav")).stdout.decode())

    def test_refusals_name_the_reason(self):
        output = self.folder / "out.gguf"
        backbone = DEMO / "demo-Q8_0.gguf"
        self.expect_error(run("quantize", backbone, output, "--type", "Q4_0"), 2, "token_embd.weight: got Q8_0",
                          "allow-requantize")
        self.expect_error(run("quantize", backbone, output, "--type", "Q3_K"), 2, "Q3_K", "Q4_K_M")
        self.expect_error(run("quantize", "nosuch.gguf", output, "--type", "Q8_0"), 3, "nosuch.gguf")
        self.expect_error(run("quantize", backbone, self.folder, "--type", "Q8_0"), 2, "it exists")
        self.expect_error(run("convert", self.folder, output), 3, "config.json")
        self.expect_error(run("convert", self.text_checkpoint(), output, "--type", "Q8_0"), 2, "F32, F16 or BF16")
        self.assertFalse(output.exists())


if __name__ == "__main__":
    main()
