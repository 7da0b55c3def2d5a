#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the built command line as a user does: errors and their exit codes, the environment, signals, pipes."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

from cli_support import DEMO, NOTE, RILL, CommandLineCase, clip, errors, main, run, wav_bytes


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
        with open(clip("asr_10.wav"), "rb") as file:
            wav = file.read()
        for arguments in (["transcribe"], ["talk", "-o", "-"]):
            for sent in (b"", wav[:20000]):
                with self.subTest(command=arguments[0], sent=len(sent)):
                    # The writing end stays open: nobody says that the audio is at its end.
                    reading, writing = os.pipe()
                    process = self.start(*arguments, "-", stdin=reading)
                    os.write(writing, sent)
                    _, seconds = self.interrupt(process, signal.SIGINT, after_s=0.7)
                    os.close(reading)
                    os.close(writing)
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
    main()
