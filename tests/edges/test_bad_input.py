"""More than 200 bad inputs: each ends with its exit code and a message that says what to do, and costs nothing."""

import io
import re
import sqlite3
import sys

import numpy as np
import pyarrow as pa
import pytest
from bad_inputs import CSV, EVERYTHING, NOTE, READ, RELEASE, book, damaged_database, table
from canary import CANARY, leaks

from dptopics import Ledger, TopicModel, Vocabulary, cli, release_counts

HUGE = 100 * 2**20  # bytes


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A folder with a good table, a database, folders of texts and lists of words."""
    folder = tmp_path_factory.mktemp("bad")
    (folder / "good.csv").write_text(CSV)
    for name, content in {
        "texts/one.txt": NOTE.encode(),
        "latin/ann/one.txt": b"caf\xe9",
        "public.csv": b"knee\n",
        "other.toml": b"colour = 3",
        "later.toml": b"schema = 99",
        "other/notes.csv": CSV.encode(),
        "words.txt": b"knee\npain\n",
        "wards.txt": b"north\nsouth\n",
        "sentences.txt": NOTE.encode(),
        "empty.txt": b"\n",
        "latin.txt": b"caf\xe9\n",
        "half.db": damaged_database(),
    }.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(content)
    (folder / "nothing").mkdir()
    connection = sqlite3.connect(folder / "notes.db")
    connection.execute("create table notes (note text, patient text)")
    connection.execute("insert into notes values (?, ?)", (NOTE, CANARY))
    connection.commit()
    connection.close()
    words = Vocabulary.of(["knee", "pain"])
    model = TopicModel(topic_word=np.eye(2), topic_share=np.ones(2) / 2, vocabulary=words, alpha=0.1)
    how = {"text": "note", "author": "patient", "epsilon": 1.0, "delta": 1e-9}
    release_counts(model, folder / "good.csv", by=[], out=folder / "counted", **how)
    ledger = Ledger.create(folder / "clinic.ledger", epsilon=40.0, delta=1e-6)
    for column in ("patient", "folder"):
        ledger.same_people(column)
    return folder


@pytest.fixture
def run(room, monkeypatch, capfd):
    monkeypatch.chdir(room)
    monkeypatch.setenv("COLUMNS", "400")
    for name in ("DPTOPICS_DEBUG", "DPTOPICS_DATABASE"):
        monkeypatch.delenv(name, raising=False)

    def run_command(words, piped=None):
        monkeypatch.setattr(sys, "argv", ["dptopics", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped or b"")))
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capfd.readouterr()
        said = printed.out + printed.err
        assert "Traceback" not in said
        assert not leaks(said), said
        return stop.value.code or 0, " ".join(printed.err.split())

    return run_command


def spent(room):
    return len(Ledger.open(room / "clinic.ledger").receipts())


@pytest.mark.parametrize("name", EVERYTHING)
def test_bad_input_is_explained_and_costs_nothing(run, room, name):
    case = EVERYTHING[name]
    if case.content is not None:
        (room / case.name).write_bytes(case.content)
    elif case.name:
        with open(room / case.name, "wb") as file:
            file.write(b'note,patient\n"knee ')
            for _ in range(100):
                file.write(b"pain " * (HUGE // 500))
            file.write(b'",ann\n')
    before = (room / "clinic.ledger").read_bytes()
    code, said = run(case.words, case.piped)
    if case.name:
        (room / case.name).unlink()
    assert code == case.code, said
    assert re.search(case.said, said), said
    assert len(said) < 1500 or not code
    assert (room / "clinic.ledger").read_bytes() == before
    assert not (room / "out").exists()


def test_there_are_enough_of_them():
    assert len(EVERYTHING) >= 200
    assert len({(*case.words, case.name, case.content, case.piped) for case in EVERYTHING.values()}) == len(EVERYTHING)


# What is strange but no mistake, or says nothing about anybody: charged like everything else.
NO_STRINGS = pa.array([], pa.string())
NOBODY = "the data holds no documents"
FINE = {
    "a header alone": ("a.csv", b"note,patient\n", NOBODY),
    "an empty array": ("a.json", b"[]", NOBODY),
    "no lines": ("a.jsonl", b"\n\n", NOBODY),
    "Parquet without rows": ("a.parquet", table(note=NO_STRINGS, patient=NO_STRINGS), NOBODY),
    "names alone in a workbook": ("a.xlsx", book([("note", "patient")]), NOBODY),
    "a macro workbook": ("a.xlsm", book([("note", "patient"), (NOTE, "a")]), "Read 1 text of 1 author"),
    "a zero byte": ("b.csv", CSV.encode() + b"kn\0ee,\0b\n", "Read 3 texts of 3 authors"),
    "empty texts": ("c.csv", b'note,patient\n"",ann\n" ",bob\n', "2 texts are empty"),
    "no words": ("d.csv", b"note,patient\nthe and,ann\n", "no words are left in any document"),
    "a long cell": ("e.csv", b"note,patient\n" + b"knee " * 300_000 + b",ann\n", "one cell is 1,500,000 bytes long"),
    "swallowed rows": (
        "f.csv",
        b'note,patient\n"knee,p\n' + b"pain,p\n" * 50 + b'end",q\n',
        "one cell holds 51 line breaks, and most of its lines look like rows",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_what_is_strange_is_told_and_charged(run, room, name):
    file, content, told = FINE[name]
    (room / file).write_bytes(content)
    charged(run, room, ["vocabulary", file, *READ, *RELEASE], told)
    (room / file).unlink()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--sql", "select note, patient from notes where 1 = 0", "--database", "sqlite:///notes.db", *READ], NOBODY),
        (["nothing", "--text", "text", "--author", "folder"], NOBODY),
    ],
    ids=["a query without rows", "an empty folder"],
)
def test_nobody_is_told_and_charged(run, room, words, told):
    charged(run, room, ["vocabulary", *words, *RELEASE], told)


def charged(run, room, words, told):
    before = spent(room)
    code, said = run(words)
    assert code in (0, 4), said
    assert told in said
    assert spent(room) == before + 1
    for path in (room / "out").glob("*"):
        path.unlink()
    if (room / "out").exists():
        (room / "out").rmdir()
