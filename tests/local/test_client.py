"""The client: it shows what is asked, refuses what is too much, keeps a total, and never draws a report twice."""

import hashlib
import os
import sqlite3
from dataclasses import replace
from math import inf, log, nan

import numpy as np
import pytest

from dptopics import Vocabulary
from dptopics.core.errors import BudgetExceeded, InputError, PrivacyError
from dptopics.local import client as client_module
from dptopics.local.client import Client, InMemory, SentFolder
from dptopics.local.collection import Collection
from dptopics.local.hashing import HashedPair, ThreeWords
from dptopics.local.randomizer import BitFlips
from dptopics.privacy.rng import secure_rng

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
WORDS = Vocabulary.of([f"w{i:02d}" for i in range(40)])
PAIR = HashedPair(vocabulary=WORDS, topics=(("w01",),), epsilon=1.0)
RNG = secure_rng()


def collection(name="survey", randomizer=PAIR):
    return Collection(name=name, randomizer=randomizer)


@pytest.fixture(params=["memory", "disk"])
def memory(request, tmp_path):
    return InMemory() if request.param == "memory" else SentFolder(tmp_path / "state")


# --- what is counted ---


def test_what_a_collection_asks_is_about_whole_documents_without_delta():
    def asks(**settings):
        return collection(randomizer=BitFlips(vocabulary=WORDS, f=0.5, max_words=5, **settings)).asks

    assert asks() == pytest.approx(10 * log(3))
    assert asks(per="word") == pytest.approx(40 * log(3))  # the headline is ln 3
    assert asks(delta=0.9) == asks()  # stated at a large δ the headline is next to nothing
    assert collection().asks == pytest.approx(1.0)
    assert collection(randomizer=ThreeWords(vocabulary=WORDS, epsilon=6.0, delta=0.5)).asks == pytest.approx(6.0)


@pytest.mark.parametrize("randomizer", [
    BitFlips(vocabulary=WORDS, f=1e-12, max_words=5),
    BitFlips(vocabulary=WORDS, f=1e-12, max_words=5, per="word"),
    BitFlips(vocabulary=WORDS, f=1e-12, max_words=5, delta=0.99),
    HashedPair(vocabulary=WORDS, topics=(("w01",),), epsilon=19.0),
])  # fmt: skip
def test_a_collection_that_asks_too_much_is_refused(randomizer, memory):
    one = Client(memory, max_epsilon=4.0)
    with pytest.raises(BudgetExceeded, match=r"'survey' asks for ε = .*more than the limit of 4\. Nothing was sent"):
        one.report(collection(randomizer=randomizer), "w01", RNG)
    assert (one.total, memory.sent()) == (0.0, ())
    one.report(collection(), "w01", RNG)  # the refused one left no trace


def test_the_total_of_all_collections_is_limited(memory):
    one = Client(memory, max_epsilon=4.0)
    for number in range(4):
        one.report(collection(f"survey {number}"), "w01", RNG)
    assert one.total == pytest.approx(4.0)
    with pytest.raises(BudgetExceeded, match=r"ε = 4 was sent before: more than the limit of 4"):
        one.report(collection("one more"), "w01", RNG)
    assert len(memory.sent()) == 4
    Client(memory, max_epsilon=5.0).report(collection("one more"), "w01", RNG)  # said by the client, not by a collector


@pytest.mark.parametrize("limit", [0.0, -1.0, nan, inf])
def test_the_limit_is_a_number(limit):
    with pytest.raises(InputError, match="max_epsilon must be a positive number"):
        Client(InMemory(), max_epsilon=limit)


def test_there_is_no_default_limit():
    with pytest.raises(TypeError, match="max_epsilon"):
        Client(InMemory())


def test_card_says_what_is_asked_and_what_was_sent(memory):
    one = Client(memory, max_epsilon=50.0)
    flips = collection(randomizer=BitFlips(vocabulary=WORDS, f=0.5, max_words=5, per="word"))
    card = " ".join(one.card(flips).split())
    assert "Protected single words; NOT documents" in card
    assert "Counted ε = 44 for a whole document at δ = 0; sent so far: ε = 0 of at most 50." in card
    one.report(flips, "w01", RNG)
    assert "sent so far: ε = 44 of at most 50." in one.card(flips)
    assert "Asked survey Counted" in card
    assert "Asked survey: What hurts? Counted" in " ".join(one.card(replace(flips, question="What hurts?")).split())


# --- one report for each collection ---


def test_a_collection_gets_the_same_report_again(memory):
    one = Client(memory, max_epsilon=1.0)
    assert not one.answered(collection())
    first = one.report(collection(), "w01 and w02", RNG)
    assert one.answered(collection())
    assert not one.answered(collection("another"))
    assert all(one.report(collection(), text, RNG) == first for text in ("w01 and w02", "w03", "", "w01 and w02"))
    assert one.total == pytest.approx(1.0)


def test_other_settings_are_refused(memory):
    one = Client(memory, max_epsilon=100.0)
    one.report(collection(), "w01", RNG)
    with pytest.raises(PrivacyError, match="sent already, for other words or settings"):
        one.report(collection(randomizer=replace(PAIR, epsilon=0.5)), "w01", RNG)
    assert one.total == pytest.approx(1.0)


def test_seeds_are_refused(memory):
    with pytest.raises(PrivacyError, match="cryptographic"):
        Client(memory, max_epsilon=9.0).report(collection(), "w01", np.random.default_rng(0))
    assert memory.sent() == ()


# --- on disk ---


def test_a_client_remembers_on_disk(tmp_path):
    first = Client(SentFolder(tmp_path / "state"), max_epsilon=2.0).report(collection(), "w01 zanzibar", RNG)
    again = Client(SentFolder(tmp_path / "state"), max_epsilon=2.0)
    assert again.report(collection(), "w01 zanzibar", RNG) == first
    assert again.total == pytest.approx(1.0)
    (file,) = (tmp_path / "state").iterdir()
    content = file.read_bytes()
    assert b"zanzibar" not in content
    assert b"w01" not in content
    for keyed in (hashlib.blake2b(b"w01 zanzibar", key=first.number, digest_size=32), hashlib.sha256(b"w01 zanzibar")):
        assert keyed.digest() not in content  # nothing that a guess can be compared with
    with sqlite3.connect(file) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(sent)")]
    connection.close()
    assert columns == ["collection", "version", "epsilon", "number", "data"]  # only the last one depends on the text
    assert file.stat().st_mode & 0o077 == 0


def test_a_keyed_hash_of_the_text_is_forgotten(tmp_path):
    """Development versions kept one beside its key: whoever read the file could test guesses."""
    first = Client(SentFolder(tmp_path), max_epsilon=2.0).report(collection(), "w01", RNG)
    hashed = hashlib.blake2b(b"w01", key=first.number, digest_size=32).digest()
    with sqlite3.connect(tmp_path / "sent.sqlite") as connection:
        connection.execute("ALTER TABLE sent RENAME TO new")
        connection.execute("CREATE TABLE sent (collection PRIMARY KEY, version, epsilon, digest, number, data)")
        connection.execute("INSERT INTO sent SELECT collection, version, epsilon, ?, number, data FROM new", (hashed,))
        connection.execute("DROP TABLE new")
    connection.close()
    assert hashed in (tmp_path / "sent.sqlite").read_bytes()
    one = Client(SentFolder(tmp_path), max_epsilon=2.0)
    assert one.report(collection(), "w01", RNG) == first
    assert hashed not in (tmp_path / "sent.sqlite").read_bytes()
    assert one.total == pytest.approx(1.0)


def test_what_was_sent_by_version_0_1_is_not_sent_again(tmp_path):
    (tmp_path / f"{hashlib.sha256(b'survey').hexdigest()}.sent").touch()
    memory = SentFolder(tmp_path)
    with pytest.raises(PrivacyError, match=r"sent already, by version 0\.1"):
        Client(memory, max_epsilon=9.0).report(collection(), "w01", RNG)
    assert (memory.sent(), memory.uncounted) == ((), 1)
    Client(memory, max_epsilon=9.0).report(collection("another"), "w01", RNG)


def test_a_damaged_memory_sends_nothing(tmp_path):
    (tmp_path / "sent.sqlite").write_bytes(b"not a database at all, and long enough to be one" * 100)
    with pytest.raises(PrivacyError, match=r"what was sent before is not known\. Nothing was sent"):
        Client(SentFolder(tmp_path), max_epsilon=9.0).report(collection(), "w01", RNG)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="Without a memory nothing is sent"):
        Client(SentFolder(tmp_path / "file"), max_epsilon=9.0).report(collection(), "w01", RNG)


def test_nothing_is_handed_out_that_is_not_on_disk(tmp_path, monkeypatch):
    memory = SentFolder(tmp_path)
    one = Client(memory, max_epsilon=9.0)
    one.report(collection("first"), "w01", RNG)
    connect = sqlite3.connect

    class Full(sqlite3.Connection):
        def execute(self, command, *rest):
            if command == "COMMIT":
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(command, *rest)

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Full))
    with pytest.raises(PrivacyError, match="disk is full"):
        one.report(collection(), "w01", RNG)
    monkeypatch.undo()
    assert [sent.report.collection for sent in memory.sent()] == ["first"]


def in_child(work):
    """Run in a process of its own; its exit code."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = work() or 0
        finally:
            os._exit(code)
    return child


def wait(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@posix
def test_a_crash_before_the_charge_leaves_nothing(tmp_path, monkeypatch):
    memory = SentFolder(tmp_path)
    monkeypatch.setattr(client_module, "Sent", lambda *_: os._exit(7))  # drawn, not yet on disk
    one = Client(memory, max_epsilon=1.0)
    assert wait(in_child(lambda: one.report(collection(), "w01", secure_rng()) and 0)) == 7
    monkeypatch.undo()
    assert memory.sent() == ()
    one.report(collection(), "w02", RNG)


@posix
def test_a_crash_between_charge_and_report_loses_nothing(tmp_path):
    memory = SentFolder(tmp_path)
    one = Client(memory, max_epsilon=1.0)

    def work():
        one.report(collection(), "w01", secure_rng())
        os._exit(7)  # on disk, never shown to anybody

    assert wait(in_child(work)) == 7
    assert one.total == pytest.approx(1.0)
    (kept,) = memory.sent()
    for text in ("w01", "w02"):
        assert one.report(collection(), text, RNG) == kept.report  # the same draw, not a second one


@posix
def test_processes_at_once_share_one_limit(tmp_path):
    memory = SentFolder(tmp_path)

    def work(number):
        try:
            Client(memory, max_epsilon=3.0).report(collection(f"survey {number}"), "w01", secure_rng())
        except BudgetExceeded:
            return 3
        return 0

    children = [in_child(lambda n=number: work(n)) for number in range(8)]
    assert sorted(map(wait, children)) == [0] * 3 + [3] * 5
    assert len(memory.sent()) == 3


@posix
def test_processes_at_once_draw_one_report(tmp_path):
    memory = SentFolder(tmp_path / "state")

    def work(number):
        report = Client(memory, max_epsilon=1.0).report(collection(), "w01", secure_rng())
        (tmp_path / str(number)).write_bytes(report.number + report.data)

    children = [in_child(lambda n=number: work(n)) for number in range(8)]
    assert [wait(child) for child in children] == [0] * 8
    assert len({(tmp_path / str(number)).read_bytes() for number in range(8)}) == 1
    assert len(memory.sent()) == 1
