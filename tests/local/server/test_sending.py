"""The Python client talks to a collector: card, limit, running total, and the same bytes until they are accepted."""

import json
import os
import threading
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from collector_tools import collection, fresh_schema, running, stored

from dptopics import cli
from dptopics.core import periods
from dptopics.core.errors import BundleError, InputError, StoreError
from dptopics.local.client import Client, Collector, InMemory
from dptopics.local.report_files import read_collection, write_collection
from dptopics.local.server.app import public_description
from dptopics.local.server.store import open_store
from dptopics.privacy.rng import secure_rng

MADE = collection("pair")


@pytest.fixture
def scripted():
    """A collector that answers as it is told, and remembers what it got."""
    answers, bodies = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.reply(*(answers.pop(0) if answers else (200, json.dumps(public_description(MADE)).encode())))

        def do_POST(self):
            bodies.append((self.headers["Authorization"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.reply(*(answers.pop(0) if answers else (200, b'{"accepted": 1, "refused": []}')))

        def reply(self, status, content):
            if status is None:
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Retry-After", "7")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", answers, bodies
    server.shutdown()
    server.server_close()
    thread.join()


def drawn():
    return Client(InMemory(), max_epsilon=4.0).report(MADE, "knee", secure_rng())


def test_retries_bring_the_same_bytes(scripted):
    address, answers, bodies = scripted
    pauses = []
    answers += [(503, b"{}"), (429, b"[]"), (None, b"")]
    Collector(address, token="red", sleep=pauses.append).send([drawn()])
    assert len(bodies) == 4
    assert len(set(bodies)) == 1
    assert bodies[0][0] == "Bearer red"
    assert pauses == [7.0, 7.0, 4.0]


def test_a_collector_that_never_answers(scripted):
    address, answers, bodies = scripted
    answers += [(503, b'{"reason": "full"}')] * 9
    with pytest.raises(StoreError, match=r"cannot be reached: full\. Nothing is lost"):
        Collector(address, sleep=lambda _: None).send([drawn()])
    assert len(bodies) == 5


@pytest.mark.parametrize("content, said", [
    (b'{"reason": "of \\u001b[31m another\\n"}', r"of \[31m another \(status 400\)"),
    (b'{"accepted": 0, "refused": [{"at": 0, "reason": "malformed"}]}', "malformed"),
    (b"<html>", "without a reason"), (b"[1]", "without a reason"), (b'{"refused": 3}', "without a reason"),
])  # fmt: skip
def test_a_refusal_is_not_tried_again(scripted, content, said):
    address, answers, bodies = scripted
    answers.append((400, content))
    with pytest.raises(InputError, match=said):
        Collector(address, sleep=lambda _: None).send([drawn()])
    assert len(bodies) == 1


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"{}", b'{"schema": 99}'])
def test_descriptions_that_are_none(scripted, content):
    address, answers, _ = scripted
    answers.append((200, content))
    with pytest.raises(BundleError):
        Collector(address).collection()


@pytest.mark.parametrize("address", ["http://survey.example", "ftp://x", "file:///etc/passwd", "survey.example", ""])
def test_addresses_without_encryption_are_refused(address):
    with pytest.raises(InputError, match="https://"):
        Collector(address)


# --- the command ---


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run_command(*words):
        monkeypatch.setattr("sys.argv", ["dptopics", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        assert "zanzibar" not in printed.out + printed.err
        return stop.value.code or 0, " ".join((printed.out + printed.err).split())

    return run_command


def test_send_seal_and_fit(run, tmp_path):
    (tmp_path / "note.txt").write_text("zanzibar knee")
    with running(tmp_path, MADE, "reports.db") as server:
        ask = ("local", "send", server.address, "note.txt", "--state", "state", "--yes", "--max-epsilon")
        code, message = run(*ask, 3)
        assert (code, "Nothing was sent" in message) == (3, True)
        code, message = run(*ask, 4)
        assert (code, message.endswith("Accepted.")) == (0, True)
        assert "sent so far: ε = 0 of at most 4." in message
        code, message = run(*ask, 4)  # the same text again: the same bytes, nothing more counted
        assert (code, "sent so far: ε = 4 of at most 4." in message) == (0, True)
        (tmp_path / "note.txt").write_text("another zanzibar")
        code, message = run(*ask, 9)
        assert (code, "answered before: it gets the same report again" in message) == (0, True)
        survey = f"{MADE.version}.json"
        assert run("local", "fit", survey, "reports.db", "--out", "release")[0] == 0  # while it runs
        assert run("local", "seal", survey, "--store", "reports.db", "--out", "sealed.db")[1] == (
            "1 reports sealed in sealed.db."
        )
        server.stop()
    assert run("local", "fit", survey, "sealed.db", "--out", "second")[0] == 0
    code, message = run("local", "fit", survey, "reports.db", "sealed.db", "--out", "third")
    assert (code, "Each report would count twice" in message) == (2, True)
    assert not (tmp_path / "third").exists()
    assert run("local", "seal", survey, "--store", "reports.db", "--out", "sealed.txt")[0] == 2
    assert run("local", "seal", survey, "--store", "none.db", "--out", "more.db")[0] == 2
    assert run("local", "serve", survey, "--store", "sealed.db")[0] == 2
    with open_store("reports.db", MADE, create=False) as store:
        assert len(stored(store)) == 1


def test_weeks_are_kept_and_learned_from_one_by_one(run, tmp_path, monkeypatch):
    (tmp_path / "words.txt").write_text("knee\nskin\n")
    (tmp_path / "note.txt").write_text("zanzibar knee")
    make = ("local", "create", "c.json", "--name", "w", "--vocabulary", "words.txt", "--kind", "three-words")
    assert run(*make, "--epsilon", 4, "--period", "minute")[0] == 2
    assert run(*make, "--epsilon", 4, "--period", "week")[0] == 0
    made = read_collection("c.json")
    with running(tmp_path, made, "reports.db") as server:
        code, message = run("local", "send", server.address, "note.txt", "--state", "s", "--yes", "--max-epsilon", 4)
        assert (code, "Kept the week in which it came." in message) == (0, True)
        server.stop()
    with open_store("reports.db", made) as store:
        (week,) = store.periods()
        monkeypatch.setattr(periods, "_today", lambda: date(2031, 1, 1))
        store.add([(b"\x05" * 16, bytes(36))])
        assert store.periods() == (week, "2031-W01")
    fit = ("local", "fit", "c.json", "reports.db", "--topics", 2, "--json")
    for number, chosen in enumerate([(), ("--period", "2031-W01")]):
        code, message = run(*fit, "--out", f"out{number}", *chosen)
        assert (code, f'"reports": {2 - number}' in message) == (0, True)
    assert '"period": "2031-W01"' in (tmp_path / "out1" / "bundle.json").read_text()
    assert run(*fit, "--out", "out2", "--period", "yesterday")[0] == 2


def test_seal_inside_postgresql(run, tmp_path, postgres):
    address = fresh_schema(postgres, f"sending_{os.getpid()}")
    write_collection(MADE, tmp_path / "c.json")
    with open_store(address, MADE) as store:
        store.add([(bytes(16), bytes(12))])
    ask = ("local", "seal", "c.json", "--store")
    name = f"sending_sealed_{os.getpid()}"
    code, message = run(*ask, address, "--schema", name)
    assert (code, message) == (0, f"1 reports sealed in schema {name}. Its address ends in "
                                  f"?options=-csearch_path%3D{name}")  # fmt: skip
    assert run("local", "fit", "c.json", f"{postgres}&options=-csearch_path%3D{name}", "--out", "release")[0] == 0
    assert run(*ask, address, "--schema", name)[0] == 2
    assert run(*ask, address)[0] == run(*ask, address, "--schema", "x", "--out", "x.db")[0] == 2
    assert run(*ask, "reports.db", "--schema", "x")[0] == 2


def test_send_asks_first(run, tmp_path, monkeypatch, scripted):
    address, _, bodies = scripted
    (tmp_path / "note.txt").write_text("zanzibar knee")
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    code, message = run("local", "send", address, "note.txt", "--state", "state", "--max-epsilon", 4)
    assert (code, bodies, message.endswith("Nothing was sent.")) == (0, [], True)
    assert not (tmp_path / "state").exists()
