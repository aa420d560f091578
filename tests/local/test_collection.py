"""Collections and the inbox: public parameters only, and what is rejected."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from dptopics import Vocabulary
from dptopics.core.errors import BundleError, InputError
from dptopics.local.client import Client, InMemory
from dptopics.local.collection import RANDOMIZERS, Collection, Report
from dptopics.local.hashing import HashedPair, ThreeWords
from dptopics.local.randomizer import BitFlips
from dptopics.local.report_files import Inbox, read_collection, to_line, to_table, write_collection
from dptopics.privacy.rng import secure_rng

WORDS = Vocabulary.of(["cast", "knee", "rash", "skin", "zoë"])
KINDS = {
    "bits": BitFlips(vocabulary=WORDS, f=0.5, max_words=2),
    "pair": HashedPair(vocabulary=WORDS, topics=(("knee", "cast"), ("rash",)), epsilon=4.0),
    "three-words": ThreeWords(vocabulary=WORDS, epsilon=4.0),
}
every = pytest.mark.parametrize("kind", KINDS)


def collection(kind="bits", **changes):
    return Collection(name="survey", randomizer=replace(KINDS[kind], **changes))


def reports(made, n):
    return [
        Client(InMemory(), max_epsilon=9.0).report(made, "my knee hurts, a rash too", secure_rng()) for _ in range(n)
    ]


def test_all_kinds_are_here():
    assert set(KINDS) == set(RANDOMIZERS)


@every
def test_file_and_back(kind, tmp_path):
    made = collection(kind)
    write_collection(made, tmp_path / "c.json")
    assert read_collection(tmp_path / "c.json") == made
    with pytest.raises(InputError, match="never changed"):
        write_collection(made, tmp_path / "c.json")
    data = json.loads((tmp_path / "c.json").read_text("utf-8"))
    data["words"][0] = "arm"
    (tmp_path / "d.json").write_text(json.dumps(data), "utf-8")
    with pytest.raises(BundleError, match="version does not fit"):
        read_collection(tmp_path / "d.json")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 99}', '{"schema": 1, "settings": 3}'])
def test_damaged_files(content, tmp_path):
    (tmp_path / "c.json").write_text(content, "utf-8")
    with pytest.raises(BundleError):
        read_collection(tmp_path / "c.json")


def test_the_version_follows_words_and_settings():
    versions = {
        collection().version,
        collection(f=0.4).version,
        collection(max_words=3).version,
        collection(vocabulary=Vocabulary.of(WORDS.words[:4])).version,
        collection("pair").version,
        collection("three-words").version,
    }
    assert len(versions) == 6


@pytest.mark.parametrize("name", ["", " ", " a", "a\n"])
def test_names(name):
    with pytest.raises(InputError, match="printable name"):
        Collection(name=name, randomizer=KINDS["bits"])


def test_a_question_is_part_of_the_version():
    made = collection()
    asked = replace(made, question="What hurts?")
    assert "question" not in made.to_dict()
    assert asked.to_dict()["question"] == "What hurts?"
    assert Collection.from_dict(asked.to_dict()) == asked
    assert asked.version != made.version
    with pytest.raises(BundleError, match="version does not fit"):
        Collection.from_dict(asked.to_dict() | {"question": "What is your name?"})
    for bad in ("two\nlines", "x" * 1001):
        with pytest.raises(InputError, match="one printable line of at most 1000 characters"):
            replace(made, question=bad)
    for bad in (3, None, ["what"]):
        with pytest.raises(BundleError):
            Collection.from_dict(made.to_dict() | {"question": bad})


# --- the inbox ---


def received(made, *, lines=(), table=None, folder=None):
    inbox = Inbox(made)
    inbox.add_lines(lines)
    if table is not None:
        parquet.write_table(table, folder / "r.parquet")
        inbox.read(folder / "r.parquet")
    return inbox.finish(), dict(inbox.rejected)


@every
def test_lines_and_parquet_hold_the_same(kind, tmp_path):
    made = collection(kind)
    sent = reports(made, 20)
    wanted = np.array([list(report.data) for report in sent], np.uint8)
    (tmp_path / "r.jsonl").write_text("\n".join(map(to_line, sent)) + "\n\n", "utf-8")
    parquet.write_table(to_table(sent), tmp_path / "r.parquet")
    for name in ("r.jsonl", "r.parquet"):
        inbox = Inbox(made)
        inbox.read(tmp_path / name)
        np.testing.assert_array_equal(inbox.finish(), wanted)
        assert not inbox.rejected
    kinds = [pa.large_string(), pa.string(), pa.large_binary(), pa.large_binary()]  # as other tools write them
    other = to_table(sent)
    other = other.cast(pa.schema(list(zip(other.column_names, kinds, strict=True))))
    parquet.write_table(other.set_column(1, "version", other["version"].dictionary_encode()), tmp_path / "o.parquet")
    inbox = Inbox(made)
    inbox.read(tmp_path / "o.parquet")
    np.testing.assert_array_equal(inbox.finish(), wanted)
    inbox = Inbox(made)
    inbox.read(tmp_path / "r.jsonl")
    inbox.read(tmp_path / "r.parquet")  # the same reports again
    np.testing.assert_array_equal(inbox.finish(), wanted)
    assert inbox.rejected == {"sent before (same number)": 20}


def test_what_is_rejected_and_counted(tmp_path):
    made = collection()
    good = reports(made, 5)
    other_words = collection(vocabulary=Vocabulary.of(WORDS.words[1:]))
    bad = [
        reports(other_words, 1)[0],
        reports(replace(made, name="another"), 1)[0],
        Report(made.name, made.version, b"x" * 16, b"\x00\x00"),  # two bytes for five bits
        Report(made.name, made.version, b"y" * 16, b"\x01"),  # a bit behind the last word
        Report(made.name, made.version, b"z" * 15, b"\x00"),
        good[0],  # replayed
    ]
    nonsense = ["not json", "3", "{}", '{"collection": 1, "version": 2, "report": 3, "data": 4}', "[" * 100_000,
                '{"collection": "survey", "version": "\\ud800", "report": "00", "data": ""}']  # fmt: skip
    data, rejected = received(made, lines=[*map(to_line, [*good, *bad]), *nonsense])
    np.testing.assert_array_equal(data, np.array([list(report.data) for report in good], np.uint8))
    assert rejected == {
        "of another version of the words or settings": 1,
        "of another collection": 1,
        "of the wrong length": 1,
        "malformed": 2 + len(nonsense),
        "sent before (same number)": 1,
    }
    table = pa.table({  # nulls, and numbers of any length
        "collection": [made.name, None, made.name], "version": [made.version] * 3,
        "report": pa.array([b"a" * 16, b"b" * 16, b"c"], pa.binary()), "data": [None, b"\x00", b"\x00"],
    })  # fmt: skip
    data, rejected = received(made, table=table, folder=tmp_path)
    assert (len(data), rejected) == (0, {"malformed": 3})


@pytest.mark.parametrize("kind", ["pair", "three-words"])
def test_buckets_that_do_not_exist_are_malformed(kind):
    made = collection(kind)
    wrong = Report(made.name, made.version, b"a" * 16, b"\xff" * made.randomizer.n_bytes)
    data, rejected = received(made, lines=[to_line(wrong)])
    assert (len(data), rejected) == (0, {"malformed": 1})


def test_files_that_are_no_reports(tmp_path):
    inbox = Inbox(collection())
    with pytest.raises(InputError, match="no file"):
        inbox.read(tmp_path / "none.jsonl")
    (tmp_path / "r.txt").write_text("x")
    with pytest.raises(InputError, match="cannot tell the format"):
        inbox.read(tmp_path / "r.txt")
    (tmp_path / "r.parquet").write_text("x")
    with pytest.raises(InputError, match="damaged"):
        inbox.read(tmp_path / "r.parquet")
    parquet.write_table(pa.table({"collection": ["survey"]}), tmp_path / "s.parquet")
    with pytest.raises(InputError, match="no column 'version'"):
        inbox.read(tmp_path / "s.parquet")
    parquet.write_table(pa.table({name: [1] for name in ("collection", "version", "report", "data")}),
                        tmp_path / "t.parquet")  # fmt: skip
    with pytest.raises(InputError):
        inbox.read(tmp_path / "t.parquet")
