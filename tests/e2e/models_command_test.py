#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `rill models` against a hub on this machine: names, cache layout, resuming, every way in which a hub disappoints.

models_command_test.py RILL SOURCE_DIR [unittest arguments]. The hub speaks what Hugging Face's does, as far as rill asks.
"""

import hashlib
import http.server
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

RILL = ""
SOURCE = Path()
COMMIT = "7d525f883a077e20afb782f2ff618edcae0e39e4"  # the one that the catalog pins
OTHER_COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "secret-of-the-test"
SPEECH = "LiquidAI/LFM2.5-Audio-1.5B-GGUF"
TEXT = "someone/tiny-text"


def can_download():
    """False for a build without libcurl."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([RILL, "models", "install", "a/b", "--offline"], capture_output=True, check=False, timeout=60,
                                env={"HOME": folder, "PATH": os.environ["PATH"]})
    return b"libcurl" not in result.stderr


def content(name, size):
    """Bytes that do not repeat in a pattern."""
    out = b""
    block = name.encode()
    while len(out) < size:
        block = hashlib.sha256(block).digest()
        out += block
    return out[:size]


class Hub:
    """A hub, and a second server on another port where the bytes lie. `files` maps (repo, name) to bytes.

    The lists say what goes wrong, one item per request: `statuses` before anything else, `cuts` after how many bytes
    the connection breaks.
    """

    def __init__(self):
        self.files = {}
        self.commits = {}
        self.branches = {}
        self.statuses = []
        self.cuts = []
        self.headers = {}
        self.hash_of = lambda data: hashlib.sha256(data).hexdigest()
        self.size_of = len
        self.sent_bytes = bytes
        self.redirect = True
        self.needs_token = False
        self.slow_s = 0
        self.etag = "strong"
        self.requests = []
        self.servers = []
        for storage in (False, True):
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler(storage))
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.servers.append(server)
        self.endpoint, self.storage = (f"http://127.0.0.1:{server.server_address[1]}" for server in self.servers)

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def add(self, repo, commit, files, branch="main"):
        self.commits[repo] = commit
        self.branches[(repo, branch)] = commit
        for name, data in files.items():
            self.files[(repo, name)] = data

    def handler(self, storage):
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def do_HEAD(self):
                self.answer(head=True)

            def do_GET(self):
                self.answer(head=False)

            def plain(self, status, headers=None, body=b""):
                self.send_response(status)
                for key, value in (headers or {}).items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def answer(self, head):
                hub.requests.append((self.command, "storage" if storage else "hub", self.path, dict(self.headers)))
                if hub.statuses:
                    status, headers = hub.statuses.pop(0)
                    if status is not None:
                        self.plain(status, headers)
                        return
                if storage:
                    repo, name = self.path[1:].split("!")
                    self.send_bytes(hub.files[(repo, name)])
                    return
                if hub.needs_token and self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    self.plain(401)
                    return
                parts = self.path.strip("/").split("/")
                if parts[:2] == ["api", "models"]:
                    self.listing("/".join(parts[2:4]), parts[5])
                else:
                    self.file("/".join(parts[:2]), parts[3], "/".join(parts[4:]), head)

            def listing(self, repo, revision):
                commit = revision if hub.commits.get(repo) == revision else hub.branches.get((repo, revision))
                if commit is None:
                    self.plain(404)
                    return
                names = [{"rfilename": name} for (owner, name) in hub.files if owner == repo]
                self.plain(200, body=json.dumps({"sha": commit, "siblings": names}).encode())

            def file(self, repo, commit, name, head):
                data = hub.files.get((repo, name))
                if data is None or commit != hub.commits[repo]:
                    self.plain(404)
                    return
                headers = {"X-Repo-Commit": commit, "X-Linked-Etag": f'"{hub.hash_of(data)}"',
                           "X-Linked-Size": str(hub.size_of(data))}
                if hub.redirect:
                    self.plain(302, headers | {"Location": f"{hub.storage}/{repo}!{name}"})
                elif head:
                    self.plain(200, headers)
                else:
                    self.send_bytes(data)

            def send_bytes(self, data):
                data = hub.sent_bytes(data)
                start = 0
                wanted = self.headers.get("Range")
                etag = f'"{hub.etag}"'
                if wanted and self.headers.get("If-Range", etag) == etag:
                    start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
                else:
                    self.send_response(200)
                self.send_header("ETag", etag)
                self.send_header("Content-Length", str(len(data) - start))
                self.end_headers()
                rest = data[start:]
                cut = hub.cuts.pop(0) if hub.cuts else None
                if hub.slow_s:
                    self.wfile.write(rest[:len(rest) // 2])
                    self.wfile.flush()
                    time.sleep(hub.slow_s)
                    rest = rest[len(rest) // 2:]
                self.wfile.write(rest if cut is None else rest[:cut])
                if cut is not None:
                    self.close_connection = True

        return Handler


class HubCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cache = self.folder / "hub"
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "HF_HUB_CACHE": str(self.cache),
                    "HF_ENDPOINT": self.hub.endpoint}
        self.model = content("model", 300000)
        self.hub.add(TEXT, OTHER_COMMIT, {"tiny-Q8_0.gguf": self.model, "tiny-Q4_0.gguf": content("q4", 1000),
                                          "README.md": b"read me"})

    def run_rill(self, *arguments, env=None, **options):
        return subprocess.run([RILL, *map(str, arguments)], capture_output=True, env=self.env | (env or {}), timeout=120,
                              check=False, stdin=subprocess.DEVNULL, **options)

    def models(self, *arguments, **options):
        return self.run_rill("models", *arguments, **options)

    def expect_ok(self, result):
        self.assertEqual((result.returncode, result.stderr.decode()), (0, ""))
        return result.stdout.decode()

    def expect_error(self, result, exit_code, *parts):
        lines = result.stderr.decode().splitlines()
        self.assertEqual(result.returncode, exit_code, lines)
        self.assertEqual(result.stdout, b"")
        self.assertEqual([line[:6] for line in lines], ["rill: "] * len(lines))
        for part in parts:
            self.assertIn(part, lines[-1])
        self.assertNotIn(TOKEN, result.stderr.decode())

    def repo(self, name=TEXT):
        return self.cache / ("models--" + name.replace("/", "--"))

    def blob(self, data):
        return self.repo() / "blobs" / hashlib.sha256(data).hexdigest()

    def partial(self, data):
        blob = self.blob(data)
        return blob.with_name(blob.name + ".incomplete")

    def ranges(self):
        return [headers.get("Range") for command, where, _, headers in self.hub.requests
                if command == "GET" and where == "storage"]


class Install(HubCase):
    def test_layout_is_that_of_the_hub_s_own_tools(self):
        path = Path(self.expect_ok(self.models("install", f"{TEXT}:Q8_0")).strip())
        self.assertEqual(path, self.repo() / "snapshots" / OTHER_COMMIT / "tiny-Q8_0.gguf")
        self.assertTrue(path.is_symlink())
        self.assertEqual(path.resolve(), self.blob(self.model).resolve())
        self.assertFalse(Path(os.readlink(path)).is_absolute())
        self.assertEqual(path.read_bytes(), self.model)
        self.assertEqual((self.repo() / "refs/main").read_text(), OTHER_COMMIT)
        self.assertEqual([entry.name for entry in (self.repo() / "blobs").iterdir()], [self.blob(self.model).name])

    def test_name_of_a_package_brings_its_four_files_at_the_pinned_commit(self):
        base = "LFM2.5-Audio-1.5B"
        roles = ["", "mmproj-", "vocoder-", "tokenizer-"]
        files = {f"{role}{base}-{kind}.gguf": content(role + kind, 500) for role in roles for kind in ("Q8_0", "F16")}
        self.hub.add(SPEECH, COMMIT, files)
        path = Path(self.expect_ok(self.models("install", "lfm2.5-audio-1.5b")).strip())
        self.assertEqual(path, self.repo(SPEECH) / "snapshots" / COMMIT)
        self.assertEqual(sorted(entry.name for entry in path.iterdir()), sorted(f"{role}{base}-Q8_0.gguf" for role in roles))
        # A commit never changes: nothing is asked again.
        self.hub.requests.clear()
        self.assertEqual(self.expect_ok(self.models("install", "lfm2_audio_1_5b_q8_0")).strip(), str(path))
        self.assertEqual(self.hub.requests, [])

    def test_directory_of_a_checkpoint(self):
        files = {"config.json": b"{}", "model.safetensors": content("weights", 700), "tokenizer.json": b"{ }",
                 "chat_template.jinja": b"x", "README.md": b"no", "other/model.safetensors": b"no"}
        self.hub.add("someone/checkpoint", OTHER_COMMIT, files)
        # Small files have git's hash.
        self.hub.hash_of = lambda data: (hashlib.sha256(data).hexdigest() if len(data) > 100
                                         else hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest())
        path = Path(self.expect_ok(self.models("install", "someone/checkpoint")).strip())
        self.assertEqual(sorted(entry.name for entry in path.iterdir()),
                         ["chat_template.jinja", "config.json", "model.safetensors", "tokenizer.json"])
        self.assertIn("ok", self.expect_ok(self.models("verify", "someone/checkpoint")))

    def test_branch_that_moves_is_asked_for_again(self):
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0"))
        self.hub.add(TEXT, COMMIT, {"tiny-Q8_0.gguf": content("newer", 4000)})
        path = Path(self.expect_ok(self.models("install", f"{TEXT}:Q8_0")).strip())
        self.assertEqual(path.parent.name, COMMIT)
        self.assertEqual(path.read_bytes(), content("newer", 4000))

    def test_same_bytes_are_not_fetched_twice(self):
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0"))
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0"))
        self.assertEqual(self.ranges(), [None])

    def test_type_that_is_not_there_names_those_that_are(self):
        self.expect_error(self.models("install", f"{TEXT}:Q6_K"), 3, "Q6_K", "tiny-Q8_0.gguf", "tiny-Q4_0.gguf")

    def test_unknown_name(self):
        self.expect_error(self.models("install", "nosuch"), 2, "nosuch", "rill models list")
        self.assertEqual(self.hub.requests, [])

    def test_file_name_that_leaves_the_cache_is_ignored(self):
        self.hub.add("evil/repo", OTHER_COMMIT, {"../../../x-Q8_0.gguf": b"evil"})
        self.expect_error(self.models("install", "evil/repo:Q8_0"), 3, "no GGUF file")
        self.assertEqual(list(self.folder.rglob("x-Q8_0.gguf")), [])


class Trouble(HubCase):
    def test_cut_connection_is_resumed(self):
        self.hub.cuts = [100000, 50000]
        path = Path(self.expect_ok(self.models("install", f"{TEXT}:Q8_0")).strip())
        self.assertEqual(path.read_bytes(), self.model)
        self.assertEqual(self.ranges(), [None, "bytes=100000-", "bytes=150000-"])

    def test_bytes_of_an_earlier_run_are_used(self):
        self.hub.cuts = [120000] + [0] * 10
        self.expect_error(self.models("install", f"{TEXT}:Q8_0"), 1, "tiny-Q8_0.gguf", "gave up after 5 tries")
        self.assertEqual(self.partial(self.model).read_bytes(), self.model[:120000])
        self.hub.cuts = []
        self.hub.requests.clear()
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0"))
        self.assertEqual(self.ranges(), ["bytes=120000-"])
        self.assertEqual(self.blob(self.model).read_bytes(), self.model)

    def test_file_that_changes_between_pieces_is_fetched_anew(self):
        self.hub.cuts = [100000]
        hub = self.hub
        plain = hub.sent_bytes
        hub.sent_bytes = lambda data: (setattr(hub, "etag", hub.etag + "x"), plain(data))[1]
        path = Path(self.expect_ok(self.models("install", f"{TEXT}:Q8_0")).strip())
        self.assertEqual(path.read_bytes(), self.model)
        self.assertEqual(len(self.ranges()), 2)

    def test_damaged_bytes_of_an_earlier_run_are_thrown_away(self):
        self.partial(self.model).parent.mkdir(parents=True)
        self.partial(self.model).write_bytes(b"\0" * 1000)
        path = Path(self.expect_ok(self.models("install", f"{TEXT}:Q8_0")).strip())
        self.assertEqual(path.read_bytes(), self.model)
        self.assertEqual(self.ranges(), ["bytes=1000-", None])

    def test_wrong_hash_removes_the_file(self):
        self.hub.sent_bytes = lambda data: data[:-1] + bytes([data[-1] ^ 1])
        self.expect_error(self.models("install", f"{TEXT}:Q8_0"), 3, "wrong hash", "removed", "tiny-Q8_0.gguf")
        self.assertEqual(list((self.repo() / "blobs").iterdir()), [])
        self.assertFalse((self.repo() / "snapshots").exists())

    def test_wrong_sizes(self):
        for sent in (lambda data: data[:-7], lambda data: data + b"more"):
            self.hub.sent_bytes = sent
            self.expect_error(self.models("install", f"{TEXT}:Q8_0"), 3, "wrong size", str(len(self.model)))
            self.assertEqual(list((self.repo() / "blobs").iterdir()), [])

    def test_refusals(self):
        for status, exit_code, part in ((401, 1, "HF_TOKEN"), (403, 1, "terms"), (404, 3, "no such"), (418, 1, "418")):
            self.hub.statuses = [(status, {})]
            self.expect_error(self.models("install", f"{TEXT}:Q8_0"), exit_code, part, TEXT)

    def test_too_many_requests_waits_as_long_as_asked(self):
        self.hub.statuses = [(429, {"Retry-After": "1"})]
        start = time.monotonic()
        result = self.models("install", f"{TEXT}:Q8_0")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(time.monotonic() - start, 1.0)
        self.assertIn("trying again in 1 s", result.stderr.decode())

    def test_too_many_requests_for_too_long(self):
        self.hub.statuses = [(429, {"Retry-After": "4000"})]
        self.expect_error(self.models("install", f"{TEXT}:Q8_0"), 1, "429", "4000 s")

    def test_server_that_stays_broken(self):
        self.hub.statuses = [(503, {"Retry-After": "0"})] * 20
        self.expect_error(self.models("install", f"{TEXT}:Q8_0"), 1, "503", "5 tries")
        self.assertEqual(len(self.hub.requests), 5)

    def test_broken_moments_are_survived(self):
        self.hub.statuses = [(500, {"Retry-After": "0"}), (None, {}), (502, {"Retry-After": "0"}), (None, {}), (None, {}),
                             (504, {"Retry-After": "0"})]
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0"))

    def test_no_server(self):
        self.expect_error(self.models("install", f"{TEXT}:Q8_0", env={"HF_ENDPOINT": "http://127.0.0.1:1"}), 1, "5 tries")

    def test_answer_that_makes_no_sense(self):
        self.hub.hash_of = lambda data: "nonsense"
        self.expect_error(self.models("install", f"{TEXT}:Q8_0"), 3, "no hash")
        self.hub.branches[(TEXT, "main")] = "../../.."
        self.expect_error(self.models("install", f"{TEXT}:Q8_0"), 3, "commit")

    def test_disk_that_is_too_full(self):
        self.hub.size_of = lambda data: 10**17
        self.expect_error(self.models("install", f"{TEXT}:Q8_0"), 1, "disk is too full", "100000000000000000")

    def test_write_that_fails(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

        result = self.models("install", f"{TEXT}:Q8_0", preexec_fn=limit, restore_signals=False)
        self.expect_error(result, 1, "write", ".incomplete", "File too large")
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0"))
        self.assertEqual(self.blob(self.model).read_bytes(), self.model)

    def test_ctrl_c_keeps_what_came(self):
        self.hub.slow_s = 5
        process = subprocess.Popen([RILL, "models", "install", f"{TEXT}:Q8_0"], env=self.env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        while not self.ranges():
            time.sleep(0.02)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (130, b""))
        self.hub.slow_s = 0
        self.hub.requests.clear()
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0"))
        self.assertEqual(self.ranges(), [f"bytes={len(self.model) // 2}-"])

    def test_two_processes_fetch_a_file_once(self):
        self.hub.slow_s = 1
        command = [RILL, "models", "install", f"{TEXT}:Q8_0"]
        processes = [subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                     for _ in range(2)]
        results = [process.communicate(timeout=60) for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0], results)
        self.assertEqual(results[0][0], results[1][0])
        self.assertEqual(self.ranges(), [None])
        self.assertIn(b"another process", results[0][1] + results[1][1])


class Tokens(HubCase):
    def authorizations(self, where):
        return {headers.get("Authorization") for _, place, _, headers in self.hub.requests if place == where}

    def test_token_goes_to_the_hub_and_to_nobody_else(self):
        self.hub.needs_token = True
        self.expect_error(self.models("install", f"{TEXT}:Q8_0"), 1, "401")
        self.hub.requests.clear()
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0", env={"HF_TOKEN": TOKEN}))
        self.assertEqual(self.authorizations("hub"), {f"Bearer {TOKEN}"})
        self.assertEqual(self.authorizations("storage"), {None})

    def test_token_file(self):
        (self.folder / "home").mkdir()
        (self.folder / "home/token").write_text(TOKEN + "\n")
        self.hub.needs_token = True
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0", env={"HF_HOME": str(self.folder / "home")}))

    def test_wrong_token(self):
        self.hub.needs_token = True
        self.expect_error(self.models("install", f"{TEXT}:Q8_0", env={"HF_TOKEN": "wrong"}), 1, "does not take this HF_TOKEN")


class Cache(HubCase):
    def install(self):
        return self.expect_ok(self.models("install", f"{TEXT}:Q8_0")).strip()

    def test_path_needs_no_network(self):
        path = self.install()
        self.hub.requests.clear()
        self.assertEqual(self.expect_ok(self.models("path", f"{TEXT}:Q8_0")).strip(), path)
        for offline in ({"HF_HUB_OFFLINE": "1"}, {}):
            arguments = ["install", f"{TEXT}:Q8_0"] + ([] if offline else ["--offline"])
            self.assertEqual(self.expect_ok(self.models(*arguments, env=offline)).strip(), path)
        self.assertEqual(self.hub.requests, [])

    def test_offline_without_the_model(self):
        self.expect_error(self.models("install", f"{TEXT}:Q8_0", "--offline"), 3, "offline", str(self.cache))
        self.expect_error(self.models("path", f"{TEXT}:Q8_0"), 3, "not in the cache", "rill models install")
        self.assertEqual(self.hub.requests, [])

    def test_folders_of_the_environment(self):
        for name, folder in (("HF_HOME", "a/hub"), ("XDG_CACHE_HOME", "a/huggingface/hub")):
            env = {key: value for key, value in self.env.items() if key != "HF_HUB_CACHE"} | {name: str(self.folder / "a")}
            result = subprocess.run([RILL, "models", "install", f"{TEXT}:Q8_0"], capture_output=True, env=env, timeout=60,
                                    check=False)
            self.assertTrue(self.expect_ok(result).startswith(str(self.folder / folder)), result.stdout)

    def test_plain_files_instead_of_links(self):
        path = Path(self.install())
        blob = path.resolve()
        path.unlink()
        shutil.move(blob, path)
        self.hub.requests.clear()
        self.install()
        self.assertEqual(self.ranges(), [])
        self.assertIn("no recorded hash", self.expect_ok(self.models("verify", f"{TEXT}:Q8_0")))

    def test_verify_finds_damage_and_force_mends_it(self):
        path = Path(self.install())
        self.assertTrue(self.expect_ok(self.models("verify", f"{TEXT}:Q8_0")).startswith("ok"))
        with open(path.resolve(), "r+b") as file:
            file.write(b"\xff")
        result = self.models("verify", f"{TEXT}:Q8_0")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.startswith(b"damaged"))
        self.assertIn(b"--force", result.stderr)
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0", "--force"))
        self.expect_ok(self.models("verify", f"{TEXT}:Q8_0"))

    def test_remove_keeps_what_another_snapshot_needs(self):
        self.install()
        self.hub.add(TEXT, COMMIT, {"other-Q8_0.gguf": self.model, "tiny-Q8_0.gguf": content("newer", 4000)})
        self.hub.files.pop((TEXT, "tiny-Q8_0.gguf"))
        self.expect_ok(self.models("install", f"{TEXT}:Q8_0"))
        self.assertIn("other snapshots keep", self.expect_ok(self.models("remove", f"{TEXT}:Q8_0")))
        self.assertTrue(self.blob(self.model).exists())
        self.assertIn(str(len(self.model)), self.expect_ok(self.models("remove", f"{TEXT}:Q8_0@{OTHER_COMMIT}")))
        self.assertFalse(self.repo().exists())
        self.expect_error(self.models("remove", f"{TEXT}:Q8_0"), 3, "not in the cache")

    def test_list(self):
        self.install()
        listing = json.loads(self.expect_ok(self.models("list", "--json")))
        self.assertEqual(listing["other"], [TEXT])
        entries = {entry["name"]: entry for entry in listing["models"]}
        self.assertEqual(entries["lfm2.5-audio-1.5b"]["revision"], COMMIT)
        self.assertTrue(entries["lfm2.5-audio-1.5b"]["pinned"])
        self.assertFalse(entries["lfm2.5-1.2b-instruct"]["pinned"])
        text = self.expect_ok(self.models("list"))
        self.assertIn("unpinned", text)
        self.assertIn(f"also in the cache: {TEXT}", text)


class Opening(HubCase):
    """Models of the cache where a command takes one."""

    def setUp(self):
        super().setUp()
        demo = SOURCE / "assets/demo"
        self.clip = demo / "wav/asr_00.wav"
        self.hub.add("someone/demo", OTHER_COMMIT, {path.name: path.read_bytes() for path in demo.glob("*.gguf")})

    def test_hf_fetches_and_opens(self):
        expected = self.run_rill("transcribe", self.clip).stdout
        result = self.run_rill("transcribe", "-hf", "someone/demo:Q8_0", self.clip)
        self.assertEqual((result.returncode, result.stdout), (0, expected), result.stderr)
        self.hub.requests.clear()
        for arguments in (["-hf", "someone/demo:Q8_0"], ["-m", "someone/demo:Q8_0"]):
            result = self.run_rill("transcribe", *arguments, self.clip)
            self.assertEqual((result.returncode, result.stdout), (0, expected), result.stderr)
        self.assertEqual(self.hub.requests, [])

    def test_name_that_is_not_installed(self):
        self.expect_error(self.run_rill("transcribe", "-m", "lfm2.5-audio-1.5b", self.clip), 3,
                          "rill models install lfm2.5-audio-1.5b")
        self.expect_error(self.run_rill("transcribe", "-hf", "someone/demo:Q8_0", "--offline", self.clip), 3, "offline")
        self.expect_error(self.run_rill("transcribe", "-hf", "nonsense", self.clip), 2, "ORG/REPO")


if __name__ == "__main__":
    RILL, SOURCE = sys.argv[1], Path(sys.argv[2])
    if not can_download():
        print("this build does not download: nothing to test")
        sys.exit(0)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
