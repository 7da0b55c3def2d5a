#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs rill chat, rill complete and rill tokenize as a user does, on a tiny model of random weights.

chat_command_test.py RILL SOURCE_DIR [unittest arguments].
"""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

RILL = ""
MODEL = Path()
FLAGS = ("--temp", "0.9", "--seed", "7", "-n", "12", "--chat-template", "lfm2.5")


def run(*arguments, stdin=b"", env=None):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RILL_")}
    environment.update(env or {})
    return subprocess.run([RILL, *map(str, arguments)], input=stdin, capture_output=True, env=environment,
                          timeout=300, check=False)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ok(self, *arguments, **keywords):
        result = run(*arguments, **keywords)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout.decode()

    def fails(self, exit_code, *arguments, parts=(), **keywords):
        result = run(*arguments, **keywords)
        message = result.stderr.decode()
        self.assertEqual(result.returncode, exit_code, message)
        self.assertTrue(message.startswith("rill: "), message)
        for part in parts:
            self.assertIn(part, message)


class Chat(Case):
    def test_one_question_from_flag_and_from_standard_input(self):
        reply = self.ok("chat", "-m", MODEL, *FLAGS, "-p", "Hello")
        self.assertEqual(self.ok("chat", "-m", MODEL, *FLAGS, stdin=b"Hello\n"), reply)
        self.assertEqual(self.ok("chat", "-m", MODEL, *FLAGS, "-t", "3", "-p", "Hello"), reply)
        self.assertTrue(reply.endswith("\n"))

    def test_streamed_text_is_the_json_answers(self):
        reply = self.ok("chat", "-m", MODEL, *FLAGS, "-p", "Hello")
        answer = json.loads(self.ok("chat", "-m", MODEL, *FLAGS, "-p", "Hello", "--json"))
        self.assertEqual(answer["choices"][0]["message"]["content"].rstrip("\n"), reply.rstrip("\n"))
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")
        self.assertEqual(answer["usage"]["completion_tokens"], 12)

    def test_schema_is_followed(self):
        schema = self.folder / "schema.json"
        schema.write_text('{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}')
        reply = self.ok("chat", "-m", MODEL, "-p", "Hello", "--schema", schema, "--seed", "1", "--think", "off",
                        "-n", "60")
        self.assertIsInstance(json.loads(reply)["ok"], bool)

    def test_required_tool_is_called(self):
        tools = self.folder / "tools.json"
        tools.write_text(json.dumps([{"type": "function", "function": {
            "name": "light", "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}},
                                            "required": ["on"]}}}]))
        reply = self.ok("chat", "-m", MODEL, "-p", "Hello", "--tools", tools, "--tool-choice", "light", "--seed", "1",
                        "--think", "off", "-n", "60")
        call = json.loads(reply.splitlines()[-1])
        self.assertEqual(call["name"], "light")
        self.assertIsInstance(call["arguments"]["on"], bool)

    def test_state_file_continues_the_conversation(self):
        state = self.folder / "talk.json"
        system = "word " * 100
        self.ok("chat", "-m", MODEL, *FLAGS, "--system", system, "--state", state, "-p", "Hello")
        self.assertEqual([message["role"] for message in json.loads(state.read_text())],
                         ["system", "user", "assistant"])
        answer = json.loads(self.ok("chat", "-m", MODEL, *FLAGS, "--state", state, "-p", "More", "--json"))
        self.assertGreater(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 60)
        self.assertEqual(len(json.loads(state.read_text())), 5)

    def test_cache_folder_survives_the_program(self):
        cache = self.folder / "cache"
        flags = ("chat", "-m", MODEL, *FLAGS, "--cache-dir", cache, "--system", "word " * 200, "-p", "Hello", "--json")
        first = json.loads(self.ok(*flags))
        second = json.loads(self.ok(*flags))
        self.assertEqual(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        self.assertGreater(second["usage"]["prompt_tokens_details"]["cached_tokens"], 60)
        self.assertEqual(first["choices"], second["choices"])

    def test_without_a_model_it_says_where_one_comes_from(self):
        self.fails(2, "chat", "-p", "Hello", parts=("--model is missing", "rill models install"))

    def test_faults_are_named(self):
        self.fails(2, "chat", "-m", MODEL, "-p", "x", "--temp", "hot", parts=("temperature", "hot"))
        self.fails(3, "chat", "-m", MODEL, "-p", "x", "--chat-template", "nosuch", parts=("lfm2.5",))
        self.fails(1, "chat", "-m", MODEL, "-p", "word " * 50, "-c", "20", parts=("20 of the context",))
        self.fails(3, "chat", "-m", self.folder / "nosuch.gguf", "-p", "x", parts=("nosuch.gguf",))
        self.fails(2, "transcribe", "-m", MODEL, "x.wav", parts=("directory",))
        self.fails(2, "chat", "-m", MODEL, parts=("standard input",))


class Terminal(Case):
    """The conversation on a terminal."""

    def start(self, *arguments):
        primary, secondary = pty.openpty()
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RILL_")}
        environment.update({"XDG_STATE_HOME": str(self.folder), "TERM": "dumb", "NO_COLOR": "1"})
        process = subprocess.Popen([RILL, "chat", "-m", str(MODEL), *arguments], stdin=secondary, stdout=secondary,
                                   stderr=secondary, env=environment, start_new_session=True)
        os.close(secondary)
        self.addCleanup(os.close, primary)
        self.addCleanup(process.kill)
        return process, primary

    def read_until(self, primary, text, seconds=120):
        seen = ""
        end = time.monotonic() + seconds
        while text not in seen:
            self.assertLess(time.monotonic(), end, seen)
            if select.select([primary], [], [], 1)[0]:
                try:
                    seen += os.read(primary, 4096).decode(errors="replace")
                except OSError:
                    break
        return seen

    def test_commands_and_history(self):
        process, primary = self.start("--seed", "7", "-n", "4", "--request-option", "ignore_eos=true")
        self.read_until(primary, "> ")
        os.write(primary, b"/help\n")
        self.assertIn("/regen", self.read_until(primary, "Ctrl-C ends a reply"))
        saved = self.folder / "saved.json"
        os.write(primary, b"Hello \\\nthere\n")
        os.write(primary, b"/stats\n")
        self.read_until(primary, "reply 4 tokens")
        os.write(primary, f"/save {saved}\n".encode())
        self.read_until(primary, "saved ")
        self.assertEqual(json.loads(saved.read_text())[0], {"role": "user", "content": "Hello \nthere"})
        os.write(primary, b"/undo\n")
        self.read_until(primary, "taken back")
        os.write(primary, b"/nosuch\n")
        self.read_until(primary, "unknown command")
        os.write(primary, b"/quit\n")
        self.assertEqual(process.wait(60), 0)

    def test_interrupt_ends_the_reply_and_not_the_program(self):
        process, primary = self.start("--temp", "1", "--seed", "3", "-c", "100000", "--request-option",
                                      "ignore_eos=true", "--request-option", "top_k=0")
        self.read_until(primary, "> ")
        os.write(primary, b"Hello\n")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        os.write(primary, b"/stats\n")
        self.assertIn("cancelled", self.read_until(primary, "cancelled"))
        os.write(primary, b"/quit\n")
        self.assertEqual(process.wait(60), 0)


class Complete(Case):
    def test_goes_on_with_the_text(self):
        flags = ("complete", "-m", MODEL, "--temp", "0", "-n", "6")
        plain = self.ok(*flags, "Once upon a time")
        self.assertEqual(self.ok(*flags, stdin=b"Once upon a time"), plain)
        echoed = self.ok(*flags, "--echo", "Once upon a time")
        self.assertEqual(echoed, "Once upon a time" + plain)

    def test_stop_text_is_left_out(self):
        flags = ("complete", "-m", MODEL, "--temp", "0", "-n", "12", "Once upon a time")
        whole = self.ok(*flags).rstrip("\n")
        stop = whole[3:6]
        self.assertEqual(self.ok(*flags, "--stop", stop).rstrip("\n"), whole[:whole.index(stop)].rstrip("\n"))

    def test_regex_is_followed(self):
        out = self.ok("complete", "-m", MODEL, "--seed", "2", "--temp", "1", "-n", "20", "--regex", "[ab]{3}", "x")
        self.assertRegex(out, r"^[ab]{3}\n$")


class Tokenize(Case):
    def test_there_and_back(self):
        ids = self.ok("tokenize", "-m", MODEL, "--ids", "Hello world <|im_end|>").split()
        self.assertEqual(ids[0], "1")
        self.assertEqual(ids[-1], "7")
        self.assertEqual(self.ok("tokenize", "-m", MODEL, "--decode", *ids), "<|startoftext|>Hello world <|im_end|>")
        self.assertEqual(self.ok("tokenize", "-m", MODEL, "--decode", "--no-special", *ids), "Hello world ")

    def test_flags(self):
        plain = self.ok("tokenize", "-m", MODEL, "--ids", "--no-bos", "--no-special", "<|im_end|>").split()
        self.assertNotIn("7", plain)
        self.assertNotEqual(plain[0], "1")
        self.assertIn('"<|startoftext|>"', self.ok("tokenize", "-m", MODEL, "a"))
        self.fails(2, "tokenize", "-m", MODEL, "--decode", "x", parts=("token ids",))
        self.fails(2, "tokenize", "-m", MODEL, "--decode", "99999", parts=("token id",))


if __name__ == "__main__":
    RILL = sys.argv[1]
    MODEL = Path(sys.argv[2]) / "tests/data/models/text/gguf/dense_a-mixed.gguf"
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
