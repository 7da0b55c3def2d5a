#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rill talk --mic as a user runs it, with ALSA devices that are files."""

import json
import os
import signal
import struct
import subprocess
import time
import unittest

from cli_support import DEMO, RILL, CommandLineCase, clip, clip_samples, errors, main, run

RATE = 16000  # of the clips and of what the microphone is asked for


class Microphone(CommandLineCase):
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

    def talk(self, samples, num_lines, *arguments):
        """Lines of the conversation until there are num_lines, then Ctrl-C: after the samples the device is silent for ever."""
        environment = {**os.environ, **self.devices(samples)}
        process = subprocess.Popen([RILL, "talk", "--mic", "--mic-device", "mic", "--speaker-device", "speaker",
                                    *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment)
        lines = [process.stdout.readline().decode() for _ in range(num_lines)]
        if process.poll() is None:
            time.sleep(2.0)
            process.send_signal(signal.SIGINT)
        rest, stderr = process.communicate(timeout=60)
        self.skip_without_microphone(stderr.decode())
        self.assertEqual(process.returncode, 130, stderr.decode())
        return lines + rest.decode().splitlines()

    def skip_without_microphone(self, stderr):
        for part in ("has no microphone", "needs the speech detector"):
            if part in stderr:
                raise unittest.SkipTest(part)

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


if __name__ == "__main__":
    main()
