#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""speak, talk, and the tasks of run that speak, as a user runs them."""

import json
import struct

from cli_support import DEMO, CommandLineCase, clip, errors, main, run


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

    def test_the_extension_decides_the_kind_of_file(self):
        self.speak("a.wav", self.SENTENCE)
        wav = (self.folder / "a.wav").stat().st_size
        for name, magic in (("a.flac", b"fLaC"), ("a.opus", b"OggS"), ("a.OGG", b"OggS")):
            path = self.folder / name
            self.expect_ok(run("speak", self.SENTENCE, "-o", path))
            self.assertEqual(path.read_bytes()[:4], magic)
            self.assertLess(path.stat().st_size, wav)
            self.assertEqual(self.expect_ok(run("transcribe", path)), self.SENTENCE + "\n")
        self.assertIn(b"OpusHead", (self.folder / "a.opus").read_bytes()[:100])
        self.expect_ok(run("run", "--task", "s2s", "--audio", clip("s2s_0.wav"), "--out", self.folder / "reply.flac"))
        self.assertEqual((self.folder / "reply.flac").read_bytes()[:4], b"fLaC")

    def test_unknown_kinds_of_files_are_usage_errors(self):
        for arguments in (("speak", "hi", "-o"), ("talk", clip("s2s_0.wav"), "-o"),
                          ("run", "--task", "tts", "--text", "hi", "--out")):
            path = self.folder / "a.mp3"
            self.expect_error(run(*arguments, path), 2, path, ".wav, .flac, .opus or .ogg")
            self.assertFalse(path.exists())

    def test_the_models_own_defaults_hold_until_a_request_says_otherwise(self):
        greedy = self.speak("a.wav", self.SENTENCE)
        self.assertEqual(self.speak("b.wav", self.SENTENCE, "--temperature", "0"), greedy)
        self.assertEqual(self.speak("c.wav", self.SENTENCE, "--top-k", "64"), greedy)
        self.assertNotEqual(self.speak("d.wav", self.SENTENCE, "--temperature", "0.8", "--seed", "1"), greedy)
        summary = self.expect_ok(run("inspect", DEMO / "demo-Q8_0.gguf", "--detail", "summary"))
        self.assertIn("defaults:\n  tts.temperature: 0", summary)

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

    def test_run_takes_raw_samples_while_they_come(self):
        path = self.folder / "file.wav"
        question = clip("s2s_2.wav").read_bytes()
        rate = struct.unpack_from("<I", question, 24)[0]
        self.expect_ok(run("run", "--task", "s2s", "--audio", clip("s2s_2.wav"), "--out", path))
        raw = self.folder / "raw.wav"
        live = ("run", "--task", "s2s", "--mode", "streaming", "--audio", "-", "--sample-rate", rate, "--out", raw)
        output = self.expect_ok(run(*live, stdin=question[44:]))
        self.assertIn("text_output=A spider has eight legs.\n", output)
        self.assertEqual(self.samples_of(raw), self.samples_of(path))
        samples = struct.unpack(f"<{(len(question) - 44) // 2}h", question[44:])
        floats = struct.pack(f"<{len(samples)}f", *(sample / 32768 for sample in samples))
        self.expect_ok(run(*live, "--sample-format", "f32le", stdin=floats))
        self.assertEqual(self.samples_of(raw), self.samples_of(path))
        for part, stdin in (("1 bytes are left over", question[44:-1]), ("audio", b"")):
            result = run(*live, stdin=stdin)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(part, errors(result)[0])

    def test_run_describes_itself_and_the_model(self):
        output = self.expect_ok(run("run", "--list-loaders"))
        self.assertEqual(output.splitlines()[:2], ["loader=lfm2_audio", "tasks=asr,tts,s2s"])
        self.assertIn("rill.generation.tts.temperature", self.expect_ok(run("run", "--inspect", "--model", DEMO)))
        self.expect_error(run("run", "--inspect"), 2, "--model")
        self.expect_error(run("run"), 2, "--task")

    def test_log_says_what_a_session_keeps(self):
        history = self.folder / "history"
        self.expect_ok(run("talk", clip("s2s_0.wav"), "--history", history))
        log = run("talk", clip("s2s_1.wav"), "--history", history, "-v").stderr.decode()
        self.assertRegex(log, r"lfm2_audio\.prefill\.kept_prompts=\d+ lfm2_audio\.prefill\.kept_mib=\d+")

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


if __name__ == "__main__":
    main()
