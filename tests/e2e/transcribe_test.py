#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rill transcribe as a user runs it: transcripts and their formats."""

import json
import shutil
from pathlib import Path

from cli_support import DEMO, NOTE, CommandLineCase, clip, clip_samples, errors, main, run, wav_bytes


class Transcripts(CommandLineCase):
    def test_all_demo_clips_as_the_reference_hears_them(self):
        expected = json.loads((DEMO / "expected.json").read_text())["asr"]
        files = [DEMO / item["wav"] for item in expected]
        output = self.expect_ok(run("transcribe", *files))
        self.assertEqual(output.splitlines(), [item["heard"] for item in expected])

    def test_token_ids_as_the_reference_decodes_them(self):
        expected = json.loads((DEMO / "expected.json").read_text())["asr"]
        output = self.expect_ok(run("transcribe", "--format", "verbose_json", *[DEMO / item["wav"] for item in expected]))
        results = [json.loads(line) for line in output.splitlines()]
        for item, result in zip(expected, results, strict=True):
            # The reference's list ends with the end-of-turn token.
            self.assertEqual(result["segments"][0]["tokens"], item["ids"][:-1])

    def test_threads_do_not_change_the_result(self):
        outputs = {run("transcribe", "--format", "verbose_json", "-t", threads, clip("asr_04.wav")).stdout
                   for threads in (1, 2, 3, 8)}
        self.assertEqual(len(outputs), 1)

    def test_repack_does_not_change_the_result(self):
        outputs = {run("transcribe", "--format", "verbose_json", "--repack", repack, clip("asr_05.wav")).stdout
                   for repack in ("true", "false")}
        self.assertEqual(len(outputs), 1)

    def test_prompt_lookup_does_not_change_the_result(self):
        chunks = ("--chunk", "fixed", "--chunk-seconds", "1", clip("asr_05.wav"))
        outputs = {run("transcribe", "--format", "verbose_json", "--prompt-lookup", tokens, *chunks).stdout for tokens in (0, 8)}
        self.assertEqual(len(outputs), 1)
        self.expect_error(run("transcribe", "--prompt-lookup", "many", *chunks), 2, "prompt_lookup")

    def test_package_directory_equals_embedded_model(self):
        result = run("transcribe", "-m", DEMO, clip("asr_06.wav"))
        self.assertEqual(self.expect_ok(result), run("transcribe", clip("asr_06.wav")).stdout.decode())
        self.assertNotIn(NOTE, result.stderr.decode())

    def test_embedded_model_is_announced_in_one_line(self):
        result = run("transcribe", clip("asr_10.wav"))
        self.assertEqual(result.stderr.decode().count("\n"), 1)
        self.assertTrue(result.stderr.decode().startswith(NOTE))

    def test_standard_input(self):
        output = self.expect_ok(run("transcribe", "-", stdin=clip("asr_10.wav").read_bytes()))
        self.assertEqual(output, "It is five thirty.\n")

    def test_silence_is_an_empty_line(self):
        self.assertEqual(self.expect_ok(run("transcribe", self.write("zero.wav", wav_bytes([0] * 20000)))), "\n")

    def test_fixed_chunks_join(self):
        rate, samples = clip_samples("asr_10.wav")
        half_second = [0] * (rate // 2)
        path = self.write("two.wav", wav_bytes((samples + half_second) * 2, rate))
        seconds = (len(samples) + len(half_second)) / rate
        output = self.expect_ok(run("transcribe", "--chunk", "fixed", "--chunk-seconds", f"{seconds:.6f}",
                                    "--format", "verbose_json", path))
        result = json.loads(output)
        self.assertEqual(len(result["segments"]), 2)
        self.assertEqual(result["text"], "It is five thirty. It is five thirty.")

    def test_max_tokens_cuts_and_warns(self):
        result = run("transcribe", "-n", "2", clip("asr_10.wav"))
        self.assertEqual(self.expect_ok(result), "It is\n")
        self.assertIn("max_tokens", errors(result)[0])


class Formats(CommandLineCase):
    def test_json(self):
        output = self.expect_ok(run("transcribe", "--format", "json", clip("asr_10.wav")))
        self.assertEqual(json.loads(output), {"text": "It is five thirty."})

    def test_srt(self):
        output = self.expect_ok(run("transcribe", "--format", "srt", clip("asr_10.wav")))
        self.assertRegex(output, r"\A1\n00:00:00,000 --> 00:00:0\d,\d{3}\nIt is five thirty\.\n\n?\Z")

    def test_vtt(self):
        output = self.expect_ok(run("transcribe", "--format", "vtt", clip("asr_10.wav")))
        self.assertRegex(output, r"\AWEBVTT\n\n00:00:00\.000 --> 00:00:0\d\.\d{3}\nIt is five thirty\.\n\n?\Z")

    def test_files_beside_the_input(self):
        audio = self.folder / "talk.wav"
        shutil.copy(clip("asr_10.wav"), audio)
        self.expect_ok(run("transcribe", audio, "-otxt", "-osrt", "-ovtt", "-oj"))
        self.assertEqual((self.folder / "talk.wav.txt").read_text(), "It is five thirty.\n")
        self.assertTrue((self.folder / "talk.wav.srt").read_text().startswith("1\n"))
        self.assertTrue((self.folder / "talk.wav.vtt").read_text().startswith("WEBVTT\n"))
        self.assertEqual(json.loads((self.folder / "talk.wav.json").read_text())["text"], "It is five thirty.")

    def test_output_file_names_them(self):
        base = self.folder / "name"
        self.expect_ok(run("transcribe", "-", "-otxt", "-of", base, stdin=clip("asr_10.wav").read_bytes()))
        self.assertEqual(Path(f"{base}.txt").read_text(), "It is five thirty.\n")

    def test_output_file_that_cannot_be_written(self):
        result = run("transcribe", clip("asr_10.wav"), "-otxt", "-of", "/nosuch/name")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nosuch/name.txt", errors(result)[0])


if __name__ == "__main__":
    main()
