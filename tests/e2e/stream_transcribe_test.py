#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long and live audio: cut at pauses by the speech detector, from files and from slow pipes.

Without the detector's weights (tools/install_vad.sh) what needs them is skipped, with that reason.
"""

import array
import json
import random
import re
import signal
import subprocess
import threading
import time
import unittest

from cli_support import RILL, CommandLineCase, clip, clip_samples, main, run, wav_bytes

RATE = 16000


def has_detector():
    result = run("transcribe", "--chunk", "vad", clip("asr_00.wav"))
    return result.returncode == 0


HAS_DETECTOR = has_detector()
needs_detector = unittest.skipUnless(HAS_DETECTOR, "this build has no speech detector (tools/install_vad.sh)")


def speech(name):
    """The clip at 16 kHz without resampling: the demo clips are 16 kHz files."""
    rate, samples = clip_samples(name)
    assert rate == RATE
    return samples


def silence(seconds):
    return [0] * int(seconds * RATE)


def quieter(samples, decibels):
    factor = 10 ** (-decibels / 20)
    return [round(sample * factor) for sample in samples]


def noise(seconds, level, seed=1):
    generator = random.Random(seed)
    return [int(generator.gauss(0, level)) for _ in range(int(seconds * RATE))]


def pcm(samples):
    return array.array("h", samples).tobytes()


class LongAudioCase(CommandLineCase):
    def transcribe(self, samples, *arguments):
        path = self.write("long.wav", wav_bytes(samples, RATE))
        output = self.expect_ok(run("transcribe", "--format", "verbose_json", *arguments, path))
        return json.loads(output)

    def expect_segments(self, result, windows, tolerance=0.35):
        """Segments begin and end within `tolerance` seconds of the windows, and are all of them."""
        times = [(segment["start"], segment["end"]) for segment in result["segments"]]
        self.assertEqual(len(times), len(windows), times)
        for (start, end), (want_start, want_end) in zip(times, windows, strict=True):
            self.assertAlmostEqual(start, want_start, delta=tolerance)
            self.assertAlmostEqual(end, want_end, delta=tolerance)


class SpeechDetector(LongAudioCase):
    def build(self, *parts):
        """Joins clips and pauses; returns the samples and the windows of the clips' own loud part."""
        samples, windows = [], []
        for part in parts:
            begin = len(samples)
            samples += part
            threshold = max(map(abs, part), default=0) // 20
            loud = [i for i, sample in enumerate(part) if abs(sample) > threshold]
            if loud:
                windows.append(((begin + loud[0]) / RATE, (begin + loud[-1]) / RATE))
        return samples, windows

    @needs_detector
    def test_clips_with_silence_between_are_one_segment_each(self):
        first, second, third = speech("asr_00.wav"), speech("asr_04.wav"), speech("asr_10.wav")
        samples, windows = self.build(silence(2), first, silence(3), second, silence(2.5), third, silence(4))
        result = self.transcribe(samples, "--chunk", "vad")
        self.expect_segments(result, windows)
        self.assertAlmostEqual(result["duration"], len(samples) / RATE, places=3)

    @needs_detector
    def test_subtitles_have_the_times_of_the_speech(self):
        samples, windows = self.build(silence(3), speech("asr_00.wav"), silence(3))
        path = self.write("cue.wav", wav_bytes(samples, RATE))
        output = self.expect_ok(run("transcribe", "--chunk", "vad", "--format", "srt", path))
        begin, end = re.search(r"00:00:(\d\d,\d{3}) --> 00:00:(\d\d,\d{3})", output).groups()
        self.assertAlmostEqual(float(begin.replace(",", ".")), windows[0][0], delta=0.35)
        self.assertAlmostEqual(float(end.replace(",", ".")), windows[0][1], delta=0.35)

    @needs_detector
    def test_thirty_decibels_quieter_is_still_speech(self):
        clip_00 = speech("asr_00.wav")
        samples, windows = self.build(silence(2), quieter(clip_00, 30), silence(2))
        result = self.transcribe(samples, "--chunk", "vad")
        self.expect_segments(result, [windows[0]], tolerance=0.5)

    @needs_detector
    def test_silence_and_noise_have_no_speech(self):
        for samples in (silence(8), noise(8, 300), noise(8, 3), [8000] * (8 * RATE)):
            result = self.transcribe(samples, "--chunk", "vad")
            self.assertEqual((result["text"], result["segments"]), ("", []))
            self.assertEqual(result["duration"], 8.0)

    @needs_detector
    def test_auto_takes_the_detector_above_a_chunk_only(self):
        samples = silence(2) + speech("asr_00.wav") + silence(3) + speech("asr_04.wav") + silence(2)
        whole = self.transcribe(samples, "--chunk", "auto")
        self.assertEqual([(s["start"], s["end"]) for s in whole["segments"]], [(0, len(samples) / RATE)])
        cut = self.transcribe(samples, "--chunk", "auto", "--chunk-seconds", "6")
        vad = self.transcribe(samples, "--chunk", "vad", "--chunk-seconds", "6")
        self.assertEqual(cut, vad)
        self.assertGreaterEqual(len(cut["segments"]), 2)

    @needs_detector
    def test_run_takes_the_mode(self):
        path = self.write("a.wav", wav_bytes(silence(2) + speech("asr_00.wav") + silence(2), RATE))
        output = self.expect_ok(run("run", "--task", "asr", "--audio", path, "--audio-chunk-mode", "vad"))
        self.assertIn("text_output=" + self.expect_ok(run("transcribe", "--chunk", "vad", path)), output)

    def test_a_missing_file_is_named(self):
        result = run("transcribe", "--chunk", "vad", "--vad-file", self.folder / "none.safetensors", clip("asr_00.wav"))
        self.expect_error(result, 3, "none.safetensors")
        result = run("transcribe", "--vad-file", self.write("bad", b"nonsense"), clip("asr_00.wav"))
        self.expect_error(result, 3, "bad")

    @unittest.skipIf(HAS_DETECTOR, "this build has the speech detector")
    def test_without_weights_vad_says_how_to_get_them(self):
        self.expect_error(run("transcribe", "--chunk", "vad", clip("asr_00.wav")), 3, "tools/install_vad.sh", "fixed")


class Streaming(LongAudioCase):
    def slow_pipe(self, content, *arguments, piece=3200, pause=0.005, stdout=subprocess.PIPE):
        """Feeds the program in small pieces; returns its outputs and exit code."""
        process = subprocess.Popen([RILL, "transcribe", "--stream", *arguments], stdin=subprocess.PIPE, stdout=stdout,
                                   stderr=subprocess.PIPE)

        def feed():
            for begin in range(0, len(content), piece):
                process.stdin.write(content[begin:begin + piece])
                process.stdin.flush()
                time.sleep(pause)
            process.stdin.close()

        feeder = threading.Thread(target=feed)
        feeder.start()
        with process.stdout, process.stderr:
            output = process.stdout.read()
            messages = process.stderr.read()
        feeder.join()
        return process.wait(120), output.decode(), messages.decode()

    @needs_detector
    def test_finals_are_the_bytes_of_the_offline_run(self):
        samples = silence(1) + speech("asr_00.wav") + silence(2) + speech("asr_04.wav") + silence(1)
        offline = self.transcribe(samples, "--chunk", "vad")
        for content, arguments in ((wav_bytes(samples, RATE), []), (pcm(samples), [])):
            code, output, messages = self.slow_pipe(content, "--format", "json", "--partial-seconds", "0", *arguments)
            self.assertEqual(code, 0, messages)
            events = [json.loads(line) for line in output.splitlines()]
            self.assertEqual({event["type"] for event in events}, {"final"})
            self.assertEqual([(e["start"], e["end"], e["text"]) for e in events],
                             [(s["start"], s["end"], s["text"]) for s in offline["segments"]])
        code, output, messages = self.slow_pipe(pcm(samples), "-", piece=777)
        self.assertEqual((code, output), (0, "".join(s["text"] + "\n" for s in offline["segments"])), messages)
        code, output, messages = self.slow_pipe(pcm(samples), "--format", "verbose_json")
        self.assertEqual((code, json.loads(output)), (0, offline), messages)

    @needs_detector
    def test_partial_results_come_before_the_final_one(self):
        samples = silence(1) + speech("asr_00.wav") + silence(2)
        code, output, messages = self.slow_pipe(pcm(samples), "--format", "json", "--partial-seconds", "0.5")
        self.assertEqual(code, 0, messages)
        kinds = [json.loads(line)["type"] for line in output.splitlines()]
        self.assertIn("partial", kinds)
        self.assertEqual(kinds[-1], "final")
        self.assertEqual(kinds.count("final"), 1)

    @needs_detector
    def test_a_segment_is_final_while_the_pipe_is_open(self):
        process = subprocess.Popen([RILL, "transcribe", "--stream"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        process.stdin.write(pcm(silence(1) + speech("asr_00.wav") + silence(2)))
        process.stdin.flush()
        line = process.stdout.readline()  # comes although nothing follows
        self.assertTrue(line.strip())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        process.stdin.close()

    @needs_detector
    def test_nobody_speaks(self):
        for content in (b"", pcm(silence(3)), pcm(noise(3, 200))):
            code, output, messages = self.slow_pipe(content)
            self.assertEqual((code, output), (0, ""), messages)

    @needs_detector
    def test_run_streams_too(self):
        path = self.write("a.wav", wav_bytes(silence(1) + speech("asr_00.wav") + silence(2), RATE))
        output = self.expect_ok(run("run", "--task", "asr", "--mode", "streaming", "--audio", path))
        text = self.expect_ok(run("transcribe", "--chunk", "vad", path))
        self.assertIn("text_output=" + text, output)
        self.assertRegex(output, r"(?m)^segment=\d+\.\d\d-\d+\.\d\d " + re.escape(text.strip()) + "$")
        piped = self.expect_ok(run("run", "--task", "asr", "--mode", "streaming", "--audio", "-",
                                   stdin=path.read_bytes()))
        self.assertEqual(piped, output)

    def test_fixed_chunks_stream_without_a_detector(self):
        samples = speech("asr_00.wav") + speech("asr_04.wav")
        offline = self.transcribe(samples, "--chunk", "fixed", "--chunk-seconds", "2")
        code, output, messages = self.slow_pipe(pcm(samples), "--chunk", "fixed", "--chunk-seconds", "2",
                                                "--format", "verbose_json")
        self.assertEqual((code, json.loads(output)), (0, offline), messages)

    def test_what_makes_no_sense_is_refused(self):
        self.expect_error(run("transcribe", "--stream", "a.wav", "b.wav"), 2, "--stream")
        self.expect_error(run("transcribe"), 2, "AUDIO")
        self.expect_error(run("transcribe", "--stream", "--chunk", "none", stdin=b""), 2, "audio_chunk_mode")
        self.expect_error(run("transcribe", "--stream", "--chunk", "fixed", "nowhere.wav"), 3, "nowhere.wav")


if __name__ == "__main__":
    main()
