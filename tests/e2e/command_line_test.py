#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the built command line as a user does: transcripts, formats, errors and their exit codes, signals, pipes.

command_line_test.py RILL SOURCE_DIR [unittest arguments]. Only the embedded demo model and its clips are needed.
"""

import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

RILL = ""
SOURCE = Path()
DEMO = Path()
NOTE = "rill: no --model given"


def run(*arguments, stdin=b"", env=None, cwd=None):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RILL_")}
    environment.update(env or {})
    return subprocess.run([RILL, *map(str, arguments)], input=stdin, capture_output=True, env=environment,
                          cwd=cwd, timeout=300, check=False)


def errors(result):
    """The lines on stderr, without the note on the embedded model."""
    lines = result.stderr.decode().splitlines()
    return [line for line in lines if not line.startswith(NOTE)]


def clip(name):
    return DEMO / "wav" / name


def wav_bytes(samples, rate=16000):
    data = struct.pack(f"<{len(samples)}h", *samples)
    header = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, rate, rate * 2,
                         2, 16, b"data", len(data))
    return header + data


def clip_samples(name):
    """The clip's rate and samples; the clips are plain 16-bit mono files."""
    content = clip(name).read_bytes()
    rate = struct.unpack_from("<I", content, 24)[0]
    count = (len(content) - 44) // 2
    return rate, list(struct.unpack_from(f"<{count}h", content, 44))


class CommandLineCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def expect_ok(self, result):
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout.decode()

    def expect_error(self, result, exit_code, *parts):
        """One line on stderr (two for a usage error of the parser) that holds all parts; nothing on stdout."""
        lines = errors(result)
        self.assertEqual(result.returncode, exit_code, result.stderr.decode())
        self.assertEqual(result.stdout, b"")
        self.assertTrue(lines and lines[0].startswith("rill: "), lines)
        self.assertTrue(len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("Try 'rill")), lines)
        self.assertFalse(lines[0].endswith("."), lines)
        for part in parts:
            self.assertIn(str(part), lines[0])

    def long_clip(self, copies):
        """A WAV of the first clips, one after the other, `copies` times."""
        rate, samples = clip_samples("asr_00.wav")
        return self.write("long.wav", wav_bytes(samples * copies, rate))


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


class Failures(CommandLineCase):
    """The table of docs/errors.md."""

    def test_missing_file(self):
        self.expect_error(run("transcribe", "nosuch.wav"), 3, "nosuch.wav", "no such file")

    def test_text_named_wav(self):
        path = self.write("notes.wav", b"This is not audio.\n" * 20)
        self.expect_error(run("transcribe", path), 3, path, "text", "WAV")

    def test_empty_file(self):
        path = self.write("empty.wav", b"")
        self.expect_error(run("transcribe", path), 3, path, "no bytes")

    def test_directory(self):
        self.expect_error(run("transcribe", self.folder), 3, self.folder, "directory")

    def test_one_sample(self):
        path = self.write("one.wav", wav_bytes([1]))
        self.expect_error(run("transcribe", path), 3, path, "too short", "160")

    def test_gguf_as_audio(self):
        path = DEMO / "demo-Q8_0.gguf"
        self.expect_error(run("transcribe", path), 3, path, "GGUF")

    def test_missing_mmproj(self):
        shutil.copy(DEMO / "demo-Q8_0.gguf", self.folder)
        self.expect_error(run("transcribe", "-m", self.folder, clip("asr_10.wav")), 3, "demo-Q8_0.gguf", "mmproj")

    def test_model_is_a_file(self):
        self.expect_error(run("transcribe", "-m", DEMO / "demo-Q8_0.gguf", clip("asr_10.wav")), 2, "demo-Q8_0.gguf",
                          "directory")

    def test_missing_model(self):
        self.expect_error(run("transcribe", "-m", "nosuch", clip("asr_10.wav")), 3, "nosuch")

    def test_cut_model(self):
        for name in ("demo-Q8_0.gguf", "mmproj-demo-Q8_0.gguf"):
            shutil.copy(DEMO / name, self.folder)
        path = self.folder / "demo-Q8_0.gguf"
        path.write_bytes(path.read_bytes()[:100000])
        self.expect_error(run("transcribe", "-m", self.folder, clip("asr_10.wav")), 3, "demo-Q8_0.gguf")

    def test_vad_is_refused_by_name(self):
        self.expect_error(run("transcribe", "--chunk", "vad", clip("asr_10.wav")), 2, "vad", "fixed")

    def test_bad_option_value(self):
        self.expect_error(run("transcribe", "-n", "0", clip("asr_10.wav")), 2, "max_tokens", "0")

    def test_unknown_request_option(self):
        self.expect_error(run("transcribe", "--request-option", "nosuch=1", clip("asr_10.wav")), 2, "nosuch")

    def test_unknown_session_option(self):
        self.expect_error(run("transcribe", "--session-option", "lfm2_audio.nosuch=1", clip("asr_10.wav")), 2,
                          "lfm2_audio.nosuch")

    def test_other_language(self):
        self.expect_error(run("transcribe", "--language", "ja", clip("asr_10.wav")), 2, "en", "ja")

    def test_unknown_tier(self):
        self.expect_error(run("--version", env={"RILL_ISA": "nosuch"}), 2, "nosuch")

    def test_tier_of_another_processor(self):
        other = "neon" if os.uname().machine == "x86_64" else "avx2"
        self.expect_error(run("--version", env={"RILL_ISA": other}), 4, other)

    def test_usage_errors(self):
        for arguments in ((), ("nosuch",), ("--nosuch",), ("transcribe",), ("transcribe", "--nosuch", "a.wav"),
                          ("transcribe", "a.wav", "-t", "x"), ("transcribe", "a.wav", "-t", "-1"),
                          ("transcribe", "a.wav", "--format", "docx"),
                          ("transcribe", "a.wav", "b.wav", "--format", "srt"),
                          ("transcribe", "a.wav", "b.wav", "-otxt", "-of", "x"), ("transcribe", "-", "-otxt"),
                          ("transcribe", "a.wav", "--session-option", "x"), ("verify",), ("inspect",)):
            with self.subTest(arguments):
                result = run(*arguments)
                self.expect_error(result, 2)
                self.assertEqual(len(errors(result)), 2)

    def test_failing_file_does_not_stop_the_others(self):
        result = run("transcribe", clip("asr_10.wav"), "nosuch.wav", self.write("t.wav", b"text"), clip("asr_12.wav"))
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stdout.decode(), "It is five thirty.\nIt is quarter to eight.\n")
        self.assertEqual(len(errors(result)), 2)

    def test_control_characters_in_names_stay_on_one_line(self):
        self.expect_error(run("transcribe", "no\nsuch\x1b[31m.wav"), 3, "no")


class Environment(CommandLineCase):
    def test_flags_from_the_environment(self):
        env = {"RILL_FORMAT": "json", "RILL_MAX_TOKENS": "2", "RILL_MODEL": str(DEMO), "RILL_THREADS": "1"}
        result = run("transcribe", clip("asr_10.wav"), env=env)
        self.assertEqual(json.loads(self.expect_ok(result)), {"text": "It is"})
        self.assertNotIn(NOTE, result.stderr.decode())

    def test_a_flag_wins_over_the_environment(self):
        result = run("transcribe", "--format", "text", clip("asr_10.wav"), env={"RILL_FORMAT": "json"})
        self.assertEqual(self.expect_ok(result), "It is five thirty.\n")

    def test_bad_value_in_the_environment(self):
        self.expect_error(run("transcribe", clip("asr_10.wav"), env={"RILL_THREADS": "many"}), 2, "threads")

    def test_every_flag_has_a_variable(self):
        for command in ("transcribe", "run", "inspect", "verify", "demo"):
            help_text = self.expect_ok(run(command, "--help"))
            flags = re.findall(r"^  (?:-\w,)?--([a-z-]+)", help_text, re.M)
            self.assertGreater(len(flags), 3)
            for flag in set(flags) - {"help"}:
                self.assertIn("RILL_" + flag.upper().replace("-", "_"), help_text)


class Commands(CommandLineCase):
    def test_version(self):
        output = self.expect_ok(run("--version", env={"RILL_ISA": "scalar"}))
        self.assertRegex(output, r"\Arill \d+\.\d+\.\d+ \(scalar, \d+ threads?\)\n\Z")

    def test_help(self):
        for arguments in (("--help",), ("transcribe", "--help"), ("run", "--help"), ("verify", "--help")):
            self.assertIn("rill", self.expect_ok(run(*arguments)))

    def test_inspect_cpu(self):
        self.assertIn("scalar", self.expect_ok(run("inspect", "cpu")))

    def test_inspect_file(self):
        output = self.expect_ok(run("inspect", DEMO / "demo-Q8_0.gguf"))
        self.assertIn("lfm2", output)
        self.assertIn("token_embd.weight", output)

    def test_inspect_json(self):
        json.loads(self.expect_ok(run("inspect", DEMO / "demo-Q8_0.gguf", "--json")))
        json.loads(self.expect_ok(run("inspect", DEMO, "--json")))

    def test_inspect_missing(self):
        self.expect_error(run("inspect", "nosuch.gguf"), 3, "nosuch.gguf")

    def test_verify_missing_set(self):
        self.expect_error(run("verify", "--set", "nosuch"), 3, "nosuch")

    def test_demo(self):
        output = self.expect_ok(run("demo", "--assets", DEMO))
        self.assertIn("19 of 20 exact, 20 as the reference", output)
        self.assertRegex(output, r"WER 0\.83% \(1 of 121 words\)")
        self.assertIn("real-time factor", output)
        self.assertIn("first audio after", output)
        for question in json.loads((DEMO / "expected.json").read_text())["s2s"]:
            line = next(line for line in output.splitlines() if line.startswith(question["question"]))
            self.assertIn(question["reply"], line)

    def test_log_file(self):
        log = self.folder / "log"
        result = run("transcribe", "-n", "2", "--log-file", log, clip("asr_10.wav"))
        self.expect_ok(result)
        self.assertIn("max_tokens", log.read_text())

    def test_run(self):
        text_out = self.folder / "text.txt"
        output = self.expect_ok(run("run", "--task", "asr", "--family", "lfm2_audio", "--model", DEMO, "--backend", "cpu",
                                    "--mode", "offline", "--threads", "2", "--audio", clip("asr_10.wav"),
                                    "--language", "en", "--max-tokens", "100", "--audio-chunk-mode", "none",
                                    "--session-option", "lfm2_audio.cpu_repack=false", "--text-out", text_out))
        self.assertIn("text_output=It is five thirty.\n", output)
        self.assertEqual(text_out.read_text(), "It is five thirty.\n")

    def test_run_sequence(self):
        shutil.copy(clip("asr_10.wav"), self.folder / "a.wav")
        items = [{"id": "first", "audio": "a.wav"}, {"audio": str(clip("asr_12.wav")), "options": {"max_tokens": 2}}]
        sequence = self.write("sequence.json", json.dumps({"requests": items}).encode())
        output = self.expect_ok(run("run", "--task", "asr", "--request-sequence", sequence))
        self.assertEqual(output.splitlines()[3:], ["request_index=0", "request_id=first",
                                                   "text_output=It is five thirty.", "request_index=1",
                                                   "request_id=request_1", "text_output=It is"])

    def test_run_sequence_with_an_id_twice(self):
        items = [{"id": "a/b", "audio": str(clip("asr_10.wav"))}, {"id": "a_b", "audio": str(clip("asr_10.wav"))}]
        sequence = self.write("sequence.json", json.dumps(items).encode())
        self.expect_error(run("run", "--task", "asr", "--request-sequence", sequence), 3, "a_b")

    def test_run_refusals(self):
        audio = ("--audio", clip("asr_10.wav"))
        speak = ("--task", "tts", "--text", "hi")
        for arguments, part in ((("--task", "nosuch", *audio), "nosuch"),
                                (("--task", "asr", "--backend", "cuda", *audio), "cuda"),
                                (("--task", "asr", "--mode", "streaming", *audio), "offline only"),
                                (("--task", "asr", "--family", "whisper", *audio), "whisper"),
                                (("--task", "asr", "--out", "x.wav", *audio), "--out"),
                                (("--task", "asr", "--text", "hi", *audio), "--text"),
                                (("--task", "asr", "--seed", "1", *audio), "seed"), (("--task", "asr"), "--audio"),
                                (("--task", "tts", "--out", "x.wav"), "--text"), (speak, "--out"),
                                ((*speak, "--out", "x.wav", "--text-out", "x.txt"), "--text-out"),
                                ((*speak, "--out", "x.wav", *audio), "--audio"),
                                ((*speak, "--out", "-"), "rill speak"),
                                ((*speak, "--out", "x.wav", "--audio-chunk-mode", "none"), "audio_chunk_mode"),
                                (("--task", "s2s"), "--audio"),
                                (("--task", "s2s", "--voice-id", "us_male", *audio), "--voice-id"),
                                (("--task", "s2s", "--mode", "nosuch", *audio), "nosuch")):
            with self.subTest(arguments):
                self.expect_error(run("run", *arguments), 2, part)


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


class Speech(CommandLineCase):
    """speak, talk, and the tasks of run that speak. Without a seed the embedded model speaks greedily."""

    SENTENCE = "The cat is brown."

    def samples_of(self, path):
        """The sample bytes of a finished 24 kHz mono file; its header has to be right."""
        content = path.read_bytes()
        fields = struct.unpack_from("<4sI4s4sIHHIIHH4sI", content)
        self.assertEqual(fields, (b"RIFF", len(content) - 8, b"WAVE", b"fmt ", 16, 1, 1, 24000, 48000, 2, 16, b"data",
                                  len(content) - 44))
        self.assertGreater(len(content), 44 + 24000)
        return content[44:]

    def speak(self, name, *arguments):
        path = self.folder / name
        self.assertEqual(self.expect_ok(run("speak", *arguments, "-o", path)), "")
        return self.samples_of(path)

    def test_speak_is_understood(self):
        self.speak("cat.wav", self.SENTENCE, "--voice", "uk_male")
        self.assertEqual(self.expect_ok(run("transcribe", self.folder / "cat.wav")), self.SENTENCE + "\n")

    def test_speak_to_standard_output_is_the_same(self):
        output = run("speak", self.SENTENCE, "-o", "-")
        self.assertEqual(output.returncode, 0, output.stderr.decode())
        self.assertEqual(output.stdout[:4], b"RIFF")
        self.assertEqual(output.stdout[44:], self.speak("a.wav", self.SENTENCE))

    def test_speak_from_a_file_and_standard_input(self):
        expected = self.speak("a.wav", self.SENTENCE)
        text = self.write("text.txt", self.SENTENCE.encode())
        self.assertEqual(self.speak("b.wav", "-f", text), expected)
        self.expect_ok(run("speak", "-f", "-", "-o", self.folder / "c.wav", stdin=self.SENTENCE.encode()))
        self.assertEqual(self.samples_of(self.folder / "c.wav"), expected)

    def test_seed_repeats_the_speech(self):
        sampled = (self.SENTENCE, "--temperature", "1")
        first = self.speak("a.wav", *sampled, "--seed", "7")
        self.assertEqual(self.speak("b.wav", *sampled, "--seed", "7", "-t", "1"), first)
        self.assertNotEqual(self.speak("c.wav", *sampled, "--seed", "8"), first)

    def test_voices_differ(self):
        voices = ("us_male", "us_female", "uk_male", "uk_female")
        self.assertEqual(len({self.speak(voice + ".wav", self.SENTENCE, "--voice", voice) for voice in voices}), 4)

    def test_speak_failures(self):
        out = ("-o", self.folder / "x.wav")
        self.expect_error(run("speak", "hi", "--voice", "nosuch", *out), 2, "nosuch", "us_male")
        self.expect_error(run("speak", *out), 2, "TEXT")
        self.expect_error(run("speak", "hi"), 2, "--output")
        self.expect_error(run("speak", "hi", "--top-k", "-1", *out), 2, "top_k")
        self.expect_error(run("speak", "-f", "nosuch.txt", *out), 3, "nosuch.txt")
        self.expect_error(run("speak", "hi", "-o", "/nosuch/x.wav"), 1, "/nosuch/x.wav")
        self.assertFalse((self.folder / "x.wav").exists())

    def test_talk_answers_as_the_reference(self):
        for item in json.loads((DEMO / "expected.json").read_text())["s2s"]:
            path = self.folder / "reply.wav"
            self.assertEqual(self.expect_ok(run("talk", DEMO / item["wav"], "-o", path)), item["reply"] + "\n")
            self.samples_of(path)

    def test_talk_to_standard_output_is_the_same(self):
        path = self.folder / "reply.wav"
        self.expect_ok(run("talk", clip("s2s_0.wav"), "-o", path))
        output = run("talk", "-", "-o", "-", stdin=clip("s2s_0.wav").read_bytes())
        self.assertEqual(output.returncode, 0, output.stderr.decode())
        self.assertEqual(output.stdout[44:], self.samples_of(path))

    def test_talk_failures(self):
        self.expect_error(run("talk", "nosuch.wav"), 3, "nosuch.wav")
        self.expect_error(run("talk"), 2, "AUDIO")
        self.expect_error(run("talk", clip("s2s_0.wav"), "--request-option", "nosuch=1"), 2, "nosuch")

    def test_history_of_two_turns_equals_a_sequence_with_artifacts(self):
        history = self.folder / "history"
        self.expect_ok(run("talk", clip("s2s_0.wav"), "--history", history))
        second = self.expect_ok(run("talk", clip("s2s_1.wav"), "--history", history, "-o", self.folder / "talk.wav"))
        self.assertEqual(sorted(path.name for path in history.iterdir()),
                         [f"turn-000{turn}.{part}" for turn in (1, 2) for part in ("json", "question", "reply")])
        self.assertEqual((history / "turn-0001.question").read_bytes(), clip("s2s_0.wav").read_bytes())

        output = self.expect_ok(run("run", "--task", "s2s", "--audio", clip("s2s_0.wav"), "--request-option",
                                    "return_codes=true"))
        line = next(line for line in output.splitlines() if line.startswith("artifact="))
        reply = json.loads(line.removeprefix("artifact="))
        payload = bytes.fromhex(reply.pop("payload_hex"))
        self.assertEqual(payload, (history / "turn-0001.reply").read_bytes())
        self.assertEqual(reply["meta"], json.loads((history / "turn-0001.json").read_text()))
        self.write("reply.bin", payload)
        artifacts = [{"id": "lfm2_audio.question", "kind": "custom", "path": str(clip("s2s_0.wav"))},
                     {**reply, "path": "reply.bin"}]
        item = {"id": "turn2", "audio": str(clip("s2s_1.wav")), "artifacts": artifacts}
        sequence = self.write("sequence.json", json.dumps([item]).encode())
        output = self.expect_ok(run("run", "--task", "s2s", "--request-sequence", sequence, "--out",
                                    self.folder / "run.wav"))
        self.assertIn("text_output=" + second, output)
        self.assertIn(f"audio_out={self.folder / 'run_turn2.wav'}\n", output)
        self.assertEqual(self.samples_of(self.folder / "run_turn2.wav"), self.samples_of(self.folder / "talk.wav"))

    def test_broken_history(self):
        history = self.folder / "history"
        self.expect_ok(run("talk", clip("s2s_0.wav"), "--history", history))
        reply = history / "turn-0001.reply"
        reply.write_bytes(reply.read_bytes()[:-3])
        result = run("talk", clip("s2s_1.wav"), "--history", history)
        self.expect_error(result, result.returncode, "reply")
        self.assertIn(result.returncode, (2, 3))

    def test_run_tts_in_both_modes_as_speak(self):
        expected = self.speak("speak.wav", self.SENTENCE, "--voice", "us_female")
        for mode in ("offline", "streaming"):
            path = self.folder / f"{mode}.wav"
            output = self.expect_ok(run("run", "--task", "tts", "--family", "lfm2_audio", "--mode", mode, "--text",
                                        self.SENTENCE, "--voice-id", "us_female", "--out", path))
            self.assertEqual(output.splitlines(), ["family=lfm2_audio", "task=tts", f"mode={mode}",
                                                   f"audio_out={path}"])
            self.assertEqual(self.samples_of(path), expected)

    def test_run_tts_refuses_an_unknown_voice(self):
        for mode in ("offline", "streaming"):
            path = self.folder / "x.wav"
            result = run("run", "--task", "tts", "--mode", mode, "--text", "hi", "--out", path, "--voice-id", "nosuch")
            self.assertEqual(result.returncode, 2)
            self.assertIn("us_male, us_female, uk_male, uk_female", errors(result)[0])
            self.assertNotIn(b"audio_out", result.stdout)
            self.assertFalse(path.exists())

    def test_run_s2s_in_both_modes(self):
        speech = set()
        for mode in ("offline", "streaming"):
            path = self.folder / f"{mode}.wav"
            text = self.folder / f"{mode}.txt"
            output = self.expect_ok(run("run", "--task", "s2s", "--mode", mode, "--audio", "-", "--out", path,
                                        "--text-out", text, stdin=clip("s2s_2.wav").read_bytes()))
            self.assertIn("text_output=A spider has eight legs.\n", output)
            self.assertEqual(text.read_text(), "A spider has eight legs.\n")
            speech.add(self.samples_of(path))
        self.assertEqual(len(speech), 1)

    def test_run_tts_sequence(self):
        items = [{"id": "a", "text": self.SENTENCE, "voice": "uk_male"},
                 {"id": "b", "text": self.SENTENCE, "options": {"seed": 3, "temperature": 0.5}}]
        sequence = self.write("sequence.json", json.dumps(items).encode())
        self.expect_ok(run("run", "--task", "tts", "--request-sequence", sequence, "--out", self.folder / "x.wav"))
        self.assertEqual(self.samples_of(self.folder / "x_a.wav"),
                         self.speak("a.wav", self.SENTENCE, "--voice", "uk_male"))
        self.assertEqual(self.samples_of(self.folder / "x_b.wav"),
                         self.speak("b.wav", self.SENTENCE, "--seed", "3", "--temperature", "0.5"))

    def test_run_sequence_refusals(self):
        question = str(clip("s2s_0.wav"))
        for task, item, part in (("asr", {"audio": question, "text": "hi"}, "text"), ("tts", {"id": "a"}, "text"),
                                 ("tts", {"text": "hi", "audio": question}, "audio"),
                                 ("s2s", {"audio": question, "voice": "us_male"}, "voice"),
                                 ("s2s", {"audio": question, "artifacts": {}}, "artifacts"),
                                 ("s2s", {"audio": question, "artifacts": [{"payload_hex": "00"}]}, "payload_hex"),
                                 ("s2s", {"audio": question, "artifacts": [{"id": "x", "path": "x"}]}, "kind")):
            with self.subTest(item):
                sequence = self.write("sequence.json", json.dumps([item]).encode())
                out = ("--out", self.folder / "x.wav") if task == "tts" else ()
                self.expect_error(run("run", "--task", task, "--request-sequence", sequence, *out), 3, "request 0", part)


class Signals(CommandLineCase):
    def start(self, *arguments, **options):
        return subprocess.Popen([RILL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def interrupt(self, process, number, after_s):
        time.sleep(after_s)
        self.assertIsNone(process.poll(), "the run ended before the signal")
        process.send_signal(number)
        begin = time.monotonic()
        output, _ = process.communicate(timeout=60)
        return output, time.monotonic() - begin

    def test_signals_end_a_long_run(self):
        audio = self.long_clip(300)
        for number, exit_code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.start("transcribe", "-t", "1", "--chunk", "fixed", "--chunk-seconds", "30", audio,
                                 env={**os.environ, "RILL_ISA": "scalar"})
            _, seconds = self.interrupt(process, number, after_s=1.0)
            self.assertEqual(process.returncode, exit_code)
            self.assertLess(seconds, 30)

    def test_ctrl_c_while_waiting_for_standard_input(self):
        process = self.start("transcribe", "-", stdin=subprocess.PIPE)
        _, seconds = self.interrupt(process, signal.SIGINT, after_s=1.0)
        self.assertEqual(process.returncode, 130)
        self.assertLess(seconds, 5)

    def test_closed_pipe_is_quiet(self):
        process = self.start("transcribe", clip("asr_10.wav"), clip("asr_12.wav"))
        process.stdout.close()
        stderr = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(len(stderr.splitlines()), 1)

    def test_full_disk_is_reported(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([RILL, "transcribe", clip("asr_10.wav")], stdout=full, stderr=subprocess.PIPE,
                                    timeout=60, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output", result.stderr.decode())


class Terminal(CommandLineCase):
    def run_on_terminal(self, *arguments):
        """Runs with stderr on a terminal; returns what appeared there."""
        main_end, terminal = pty.openpty()
        process = subprocess.Popen([RILL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=terminal,
                                   env={**os.environ, "RILL_ISA": "scalar"})
        os.close(terminal)
        shown = b""
        while True:
            ready, _, _ = select.select([main_end], [], [], 120)
            try:
                piece = os.read(main_end, 4096) if ready else b""
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                break
            shown += piece
        process.communicate(timeout=60)
        os.close(main_end)
        return shown.decode()

    def test_progress_bar_only_for_long_work_on_a_terminal(self):
        audio = self.long_clip(60)
        arguments = ("transcribe", "-t", "1", "--chunk", "fixed", "--chunk-seconds", "2", audio)
        shown = self.run_on_terminal(*arguments)
        self.assertRegex(shown, r"long\.wav \[[#.]{30}\] +\d+%")
        self.assertTrue(shown.endswith("\r\x1b[K"))
        self.assertNotIn("%", self.run_on_terminal("transcribe", clip("asr_17.wav")))
        self.assertNotIn("%", run(*arguments).stderr.decode())


if __name__ == "__main__":
    RILL = str(Path(sys.argv[1]).resolve())
    SOURCE = Path(sys.argv[2]).resolve()
    DEMO = SOURCE / "assets/demo"
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
