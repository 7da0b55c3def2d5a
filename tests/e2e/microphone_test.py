#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Microphone and loudspeaker as a user runs them, with ALSA devices that are files."""

import json
import os
import signal
import struct
import subprocess
import time
import unittest

from cli_support import DEMO, RILL, CommandLineCase, clip, clip_samples, errors, main, run, wav_bytes

RATE = 16000  # of the clips and of what the microphone is asked for


class SoundDeviceCase(CommandLineCase):
    def devices(self, samples):
        """An ALSA configuration whose device `mic` gives the samples and whose `speaker` writes spoken.raw."""
        source = self.write("heard.raw", struct.pack(f"<{len(samples)}h", *samples))
        config = self.write("asound.conf", f"""
pcm.nothing {{ type null }}
pcm.mic {{ type file slave.pcm nothing file /dev/null infile "{source}" format raw }}
pcm.speaker {{ type file slave.pcm nothing file "{self.folder}/spoken.raw" format raw }}
ctl.nothing {{ type null }}
""".encode())
        return {"ALSA_CONFIG_PATH": str(config)}

    def skip_without_microphone(self, stderr):
        for part in ("has no microphone", "needs the speech detector"):
            if part in stderr:
                raise unittest.SkipTest(part)

    def run_until_interrupt(self, samples, num_lines, *arguments):
        """Lines on stdout until there are num_lines, then Ctrl-C: after the samples the device is silent for ever."""
        environment = {**os.environ, **self.devices(samples)}
        process = subprocess.Popen([RILL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment)
        lines = [process.stdout.readline().decode() for _ in range(num_lines)]
        if process.poll() is None:
            time.sleep(2.0)
            process.send_signal(signal.SIGINT)
        rest, stderr = process.communicate(timeout=120)
        self.skip_without_microphone(stderr.decode())
        self.assertEqual(process.returncode, 130, stderr.decode())
        return lines + rest.decode().splitlines()


class Microphone(SoundDeviceCase):
    def talk(self, samples, num_lines, *arguments):
        return self.run_until_interrupt(samples, num_lines, "talk", "--mic", "--mic-device", "mic", "--speaker-device",
                                        "speaker", *arguments)

    def test_two_questions_are_answered_aloud(self):
        pause = [0] * int(1.2 * RATE)
        expected = json.loads((DEMO / "expected.json").read_text())["s2s"]
        samples = pause + clip_samples("s2s_0.wav")[1] + pause + clip_samples("s2s_2.wav")[1] + pause
        history = self.folder / "history"
        lines = self.talk(samples, 2, "--history", history)
        self.assertEqual(len(lines), 2, lines)
        self.assertEqual(lines[0], expected[0]["reply"] + "\n")
        self.assertGreater((self.folder / "spoken.raw").stat().st_size, 2 * 24000)
        self.assertTrue((history / "turn-0002.question").exists())
        # The kept question is a sound file that answers the same.
        self.assertEqual(self.expect_ok(run("talk", history / "turn-0001.question")), lines[0])

    def test_silence_gets_no_answer(self):
        self.assertEqual(self.talk([0] * (3 * RATE), 0), [])

    def test_without_a_device_it_says_so(self):
        result = run("talk", "--mic", "--mic-device", "nosuch", env=self.devices([0]))
        self.skip_without_microphone(result.stderr.decode())
        self.assertEqual(result.returncode, 1)
        self.assertIn("microphone nosuch: cannot be opened", errors(result)[-1])

    def test_usage_errors(self):
        self.expect_error(run("talk", "--mic", clip("s2s_0.wav")), 2, "--mic")
        self.expect_error(run("talk", "--mic", "-o", "x.wav"), 2, "--output")


class Dictation(SoundDeviceCase):
    """rill transcribe --mic."""

    def transcribe(self, samples, num_lines, *arguments):
        return self.run_until_interrupt(samples, num_lines, "transcribe", "--mic", "--mic-device", "mic", *arguments)

    def spoken(self):
        pause = [0] * int(1.5 * RATE)
        return pause + clip_samples("asr_00.wav")[1] + pause + clip_samples("asr_01.wav")[1] + pause

    def test_lines_are_those_of_the_file(self):
        path = self.write("spoken.wav", wav_bytes(self.spoken(), RATE))
        offline = self.expect_ok(run("transcribe", "--chunk", "vad", "--format", "verbose_json", path))
        expected = [segment["text"] + "\n" for segment in json.loads(offline)["segments"]]
        self.assertEqual(len(expected), 2)
        self.assertEqual(self.transcribe(self.spoken(), 2), expected)

    def test_partial_results_and_files(self):
        lines = self.transcribe(self.spoken(), 2, "--stream", "--format", "json", "--partial-seconds", "0.5", "-oj",
                                "-of", self.folder / "notes")
        events = [json.loads(line) for line in lines]
        finals = [event["text"] for event in events if event["type"] == "final"]
        self.assertEqual(len(finals), 2)
        notes = json.loads((self.folder / "notes.json").read_text())
        self.assertEqual([segment["text"] for segment in notes["segments"]], finals)

    def test_without_a_device_it_says_so(self):
        result = run("transcribe", "--mic", "--mic-device", "nosuch", env=self.devices([0]))
        self.skip_without_microphone(result.stderr.decode())
        self.assertEqual(result.returncode, 1)
        self.assertIn("microphone nosuch: cannot be opened", errors(result)[-1])

    def test_usage_errors(self):
        self.expect_error(run("transcribe", "--mic", clip("asr_00.wav")), 2, "--mic")
        self.expect_error(run("transcribe", "--mic", "-osrt"), 2, "the microphone has no name")


class Aloud(SoundDeviceCase):
    """rill speak --stream."""

    TEXT = "The cat is brown."

    def test_what_is_heard_is_the_file(self):
        path = self.folder / "speech.wav"
        self.expect_ok(run("speak", self.TEXT, "-o", path))
        result = run("speak", self.TEXT, "--stream", "--speaker-device", "speaker", env=self.devices([0]))
        self.skip_without_microphone(result.stderr.decode())
        self.assertEqual(self.expect_ok(result), "")
        speech = path.read_bytes()[44:]
        heard = (self.folder / "spoken.raw").read_bytes()
        self.assertEqual(heard[: len(speech)], speech)
        self.assertEqual(heard[len(speech) :].strip(b"\0"), b"")  # the device fills its last period

    def test_a_streamed_file_is_the_same(self):
        files = [self.folder / name for name in ("one.wav", "two.wav")]
        self.expect_ok(run("speak", self.TEXT, "-o", files[0]))
        self.expect_ok(run("speak", self.TEXT, "--stream", "-o", files[1]))
        self.assertEqual(files[0].read_bytes(), files[1].read_bytes())
        standard_output = run("speak", self.TEXT, "--stream", "-o", "-")
        self.assertEqual(standard_output.returncode, 0, standard_output.stderr.decode())
        self.assertEqual(standard_output.stdout[44:], files[0].read_bytes()[44:])

    def test_what_cannot_stream_is_refused(self):
        self.expect_error(run("speak", self.TEXT, "--stream", "-o", "x.flac"), 2, "only WAV")
        self.expect_error(run("speak", self.TEXT), 2, "--output is missing")

    def test_without_a_device_it_says_so(self):
        result = run("speak", self.TEXT, "--stream", "--speaker-device", "nosuch", env=self.devices([0]))
        self.skip_without_microphone(result.stderr.decode())
        self.assertEqual(result.returncode, 1)
        self.assertIn("loudspeaker nosuch: cannot be opened", errors(result)[-1])


if __name__ == "__main__":
    main()
