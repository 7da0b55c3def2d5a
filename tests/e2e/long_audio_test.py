#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long audio takes no more memory than short audio, from a file and from a pipe."""

import os
import struct
import subprocess
import unittest
import wave

from cli_support import RILL, CommandLineCase, clip_samples, main

RATE = 16000
MINUTES = 12
# What the samples of the long file alone would take, as 32-bit floats.
WHOLE_MB = MINUTES * 60 * RATE * 4 / 1e6


class Memory(CommandLineCase):
    """Without the speech detector --chunk auto cuts fixed chunks, which has to be as flat."""

    def recording(self, minutes):
        """One sentence each minute. In pieces: a child's peak begins with what this process holds."""
        path = self.folder / f"{minutes}.wav"
        samples = clip_samples("asr_00.wav")[1]
        minute = struct.pack(f"<{len(samples)}h", *samples).ljust(60 * RATE * 2, b"\0")
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            for _ in range(minutes):
                file.writeframes(minute)
        return path

    def peak_mb(self, path, *arguments):
        """Most memory of a run that reads the file by its name, or from a pipe."""
        with (
            subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat,
            subprocess.Popen([RILL, "transcribe", "-t", "1", *arguments], stdin=cat.stdout, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL) as process,
        ):
            cat.stdout.close()
            text = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertTrue(text)
        return usage.ru_maxrss / 1000

    def test_a_long_file_takes_no_more(self):
        short, long = self.recording(2), self.recording(MINUTES)
        for mode in ([], ["--chunk", "fixed"]):
            with self.subTest(mode=mode):
                more = self.peak_mb(long, *mode, long) - self.peak_mb(short, *mode, short)
                self.assertLess(more, WHOLE_MB / 2)

    def test_a_long_pipe_takes_no_more(self):
        short, long = self.recording(2), self.recording(MINUTES)
        for arguments in (["-"], ["--stream", "--chunk", "fixed"]):
            with self.subTest(arguments=arguments):
                more = self.peak_mb(long, *arguments) - self.peak_mb(short, *arguments)
                self.assertLess(more, WHOLE_MB / 2)


if __name__ == "__main__":
    main()
