# SPDX-License-Identifier: Apache-2.0
"""What the tests of the built command line share.

Each test file is run as FILE RILL SOURCE_DIR [unittest arguments]; only the embedded demo model and its clips are needed.
"""

import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RILL = str(Path(sys.argv[1]).resolve())
SOURCE = Path(sys.argv[2]).resolve()
DEMO = SOURCE / "assets/demo"
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


def main():
    """Runs the tests of the file that was started."""
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]])
