"""Broken files of every kind through every command: no traceback, no word of the data, the right exit code.

0 done; 1 a fault of ours; 2 usage or bad input, nothing spent; 3 refused by the budget.
"""

import gzip
import io
import json
import random
import sys

import pyarrow as pa
import pytest
from canary import CANARY, NOTE, leaks
from pyarrow import parquet

from dptopics import BitFlips, Collection, Ledger, Vocabulary, cli
from dptopics.local.report_files import write_collection

WORDS = ["glasses", "knee", "pain", "reading", "running", "skin"]
TEXTS = ["knee pain after running", "reading glasses", "skin pain", f"{CANARY} has knee pain"]
FIT = ["--text", "note", "--author", "patient", "--epsilon", 5, "--delta", 1e-9, "--topics", 2, "--out", "out"]
FIT += ["--mechanism", "mixture", "--set", "steps=1", "--vocabulary", "words.txt"]
NGRAMS = ["--text", "note", "--author", "patient", "--epsilon", 5, "--delta", 1e-9, "--n", 2, "--out", "out"]
COMMANDS = {
    "fit": lambda path: ["fit", path, *FIT],
    "ngrams": lambda path: ["ngrams", path, *NGRAMS, "--public", "ngrams.txt"],
    "count": lambda path: ["count", "release", path, *NGRAMS[:8], "--out", "out"],
    "transform": lambda path: ["transform", "release", path, "--text", "note", "--out", "out"],
}
READERS = COMMANDS | {
    "vocabulary": lambda path: ["vocabulary", path, *NGRAMS[:8], "--out", "out"],
    "audit": lambda path: ["audit", "membership", path, "--text", "note", "--author", "patient", "--out", "out"],
    "claim": lambda path: ["audit", "claim", path, "--text", "note", "--mechanism", "weighted", "--out", "out"],
    "monitor": lambda path: ["audit", "monitor", path, "--text", "note"],
    "public texts": lambda path: ["ngrams", "good.csv", *NGRAMS, "--public", path],
    "public corpus": lambda path: ["fit", "good.csv", *FIT, "--mechanism", "output", "--public-corpus", path],
}


def rows():
    return [{"note": text, "patient": f"{CANARY} {i}"} for i, text in enumerate(TEXTS * 10)]


def csv_file(separator=","):
    lines = [separator.join(f'"{cell}"' for cell in row.values()) for row in rows()]
    return "\n".join([separator.join(rows()[0]), *lines, ""])


def json_file(*more):
    return "\n".join(json.dumps(row) for row in [*rows(), *more]) + "\n"


def parquet_file(table=None):
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows()) if table is None else table, out)
    return out.getvalue()


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A folder with public lists, a good table and a release of it."""
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "words.txt").write_text("\n".join(WORDS))
    (folder / "ngrams.txt").write_text("knee pain\nskin pain\nreading glasses\n")
    (folder / "good.csv").write_text(csv_file())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["dptopics", *map(str, COMMANDS["fit"]("good.csv"))])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert not stop.value.code
    (folder / "out").rename(folder / "release")
    return folder


@pytest.fixture
def run(monkeypatch, capfd, caplog, room):
    """Run a command; everything that is said must be free of data."""
    monkeypatch.chdir(room)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("DPTOPICS_DEBUG", raising=False)

    def run_command(words, expected):
        monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, words)])
        try:
            with pytest.raises(SystemExit) as stop:
                cli.main()
        finally:
            out = room / "out"
            written = out.exists()
            for path in [*out.glob("*"), out] if out.is_dir() else [out]:
                path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        printed = capfd.readouterr()
        said = printed.out + printed.err + caplog.text
        assert "Traceback" not in said
        assert not leaks(said), said
        assert (stop.value.code or 0) in expected, said
        assert written == (not stop.value.code)
        assert len(printed.err) < 2000
        return said

    return run_command


WIDE = f"{CANARY} " * 200_000
BROKEN = {
    "no header.csv": f"{CANARY},{CANARY} 2\nx,y\n",
    "close header.csv": f"note {CANARY},patient {CANARY}\nx,y\n",
    "ragged.csv": csv_file() + f"a,b,{CANARY},d\n",
    "short row.csv": csv_file() + f"{CANARY}\n",
    "open quote.csv": csv_file() + f'"{NOTE}\n',
    "note twice.csv": f"note,note,patient\n{NOTE},a,b\n",
    "latin.csv": csv_file().encode() + b"caf\xe9,x\n",
    "utf16.csv": csv_file().encode("utf-16"),
    "half utf16.jsonl": json_file().encode("utf-16-le")[:-1],
    "random.csv": random.Random(1).randbytes(5000),
    "zeros.jsonl": b"\0" * 5000,
    "packed wrong.csv.gz": csv_file(),
    "packed cut.csv.gz": gzip.compress(csv_file().encode())[:-20],
    "not.parquet": csv_file(),
    "cut.parquet": parquet_file()[:-9],
    "middle gone.parquet": parquet_file()[:20] + parquet_file()[60:],
    "numbers.parquet": parquet_file(pa.table({"note": [1, 2], "patient": [CANARY, CANARY]})),
    "lists.parquet": parquet_file(pa.table({"note": [[NOTE]], "patient": [CANARY]})),
    "structs.parquet": parquet_file(pa.table({"note": [{CANARY: NOTE}], "patient": [CANARY]})),
    "bytes.parquet": parquet_file(pa.table({"note": [NOTE.encode()], "patient": [CANARY]})),
    "other names.parquet": parquet_file(pa.table({NOTE: [NOTE], CANARY: [CANARY]})),
    "keys.jsonl": json.dumps({NOTE: NOTE, CANARY: 1}) + "\n",
    "no json.jsonl": json_file() + f"{CANARY}\n",
    "open.jsonl": json_file() + '{"note": "' + NOTE,
    "scalar.jsonl": json_file() + json.dumps(NOTE) + "\n",
    "list.jsonl": json_file() + json.dumps([NOTE]) + "\n",
    "deep.jsonl": json_file() + '{"note":' + '{"a":' * 50_000 + f'"{CANARY}"\n',
    "digits.jsonl": json_file() + '{"note": ' + "7" * 6000 + "}\n",
    "nested note.jsonl": json_file({"note": {CANARY: NOTE}, "patient": "a"}),
    "note a number.jsonl": json_file({"note": 3.5, "patient": CANARY}),
    "note null.jsonl": json_file({"note": None, "patient": CANARY}),
    "other.format": csv_file(),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_tables(run, room, name):
    content = BROKEN[name]
    (room / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for job, command in READERS.items():
        if job != "public texts" or name != "note null.jsonl":  # rows without a text are left out of public texts
            run(command(name), {2})


FINE = {
    "lone surrogate.jsonl": json_file({"note": "\ud800" + NOTE, "patient": "\udfff" + CANARY}),
    "zero byte.jsonl": json_file({"note": f"\0{NOTE}\0", "patient": f"\0{CANARY}"}),
    "zero byte.csv": csv_file() + f"knee \0 {CANARY},\0{CANARY}\n",
    "long field.csv": csv_file() + f'"{WIDE}","{WIDE}"\n',
    "long field.jsonl": json_file({"note": WIDE, "patient": WIDE}),
    "more keys.jsonl": json_file({"note": NOTE, "patient": "a", CANARY: [{NOTE: NOTE}]}),
    "signs.csv": csv_file() + '"=cmd|\' [red]knee[/] \x1b[31m","b\u202e\x07"\n',
    "windows.csv": csv_file().replace("\n", "\r\n"),
    "mark.csv": "\ufeff" + csv_file(),
    "tabs.tsv": csv_file("\t"),
    "good.parquet": parquet_file(),
    "packed.csv.gz": gzip.compress(csv_file().encode()),
}


@pytest.mark.parametrize("name", FINE)
def test_strange_tables_that_are_fine(run, room, name):
    content = FINE[name]
    (room / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for command in COMMANDS.values():
        run(command(name), {0})


def damaged(seed):
    """A good file with some damage that nobody planned: its name and its bytes."""
    rng = random.Random(seed)
    suffix, content = rng.choice(
        [(".csv", csv_file().encode()), (".tsv", csv_file("\t").encode()), (".jsonl", json_file().encode()),
         (".parquet", parquet_file()), (".csv.gz", gzip.compress(csv_file().encode(), mtime=0))]
    )  # fmt: skip
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        place = rng.randrange(len(content) + 1)
        match rng.randrange(6):
            case 0:
                del content[place:]
            case 1:
                content[place:place] = rng.choice([b"\0", b"\xff", b'"', b"\n", b",", b"\t", b"{", b"\\", b"\r"])
            case 2:
                content[place:place] = f'"{NOTE}"'.encode()
            case 3:
                del content[place : place + rng.randrange(1, 40)]
            case 4:
                content[place : place + 1] = rng.randbytes(1)
            case 5:
                content = content[place:] + content[:place]
    return f"damaged {seed}{suffix}", bytes(content)


@pytest.mark.parametrize("seed", range(100))
def test_a_hundred_damaged_tables(run, room, seed):
    name, content = damaged(seed)
    (room / name).write_bytes(content)
    run(COMMANDS["transform" if seed % 4 else "ngrams"](name), {0, 2})


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp037", "hex", "rot13", "zlib", "idna", "nonsense", "\0"])
def test_encodings(run, room, encoding):
    run([*COMMANDS["fit"]("good.csv"), "--encoding", encoding], {0, 2} if encoding in ("cp037", "idna") else {2})


LISTS = {
    "csv.txt": csv_file(),
    "messages.txt": "\n".join(TEXTS),
    "latin.txt": b"caf\xe9\n" + CANARY.encode() + b" x\n",
    "zero.txt": f"{CANARY}\0x\n",
    "binary.txt": random.Random(2).randbytes(2000),
    "json.txt": json_file(),
    "empty.txt": "\n\n",
    "list.csv": f"{CANARY}\n",
    "list.parquet": parquet_file(),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_are_none(run, room, name):
    content = LISTS[name]
    (room / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    run(["fit", "good.csv", *FIT[:-1], name], {2})
    run(["vocabulary", "good.csv", *NGRAMS[:8], "--mechanism", name, "--out", "out"], {2})
    run(
        [
            "audit",
            "claim",
            "good.csv",
            "--text",
            "note",
            "--mechanism",
            "mixture",
            "--vocabulary",
            name,
            "--out",
            "out",
        ],
        {2},
    )
    run(["local", "create", "out", "--name", "a", "--vocabulary", name, "--f", 0.5], {2})
    if name.endswith(".txt"):
        run(["ngrams", "good.csv", *NGRAMS, "--public", name], {2})


FOLDERS = {
    "text": {"bundle.json": NOTE},
    "number": {"bundle.json": "3"},
    "deep": {"bundle.json": "[" * 60_000 + CANARY},
    "schema": {"bundle.json": json.dumps({"schema": NOTE})},
    "sums": {"bundle.json": json.dumps({"schema": 1, "own_sha256": NOTE, "sha256": {CANARY: 1}})},
    "nothing": {},
}


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_that_are_no_release(run, room, name):
    folder = room / f"folder {name}"
    folder.mkdir()
    for file, content in (FOLDERS[name] | {"audit.json": FOLDERS[name].get("bundle.json", NOTE)}).items():
        (folder / file).write_text(content)
    run(["report", folder, "--out", "out"], {2})
    run(["ngrams", folder, "--arpa", "out"], {2})
    run(["transform", folder, "good.csv", "--text", "note", "--out", "out"], {2})
    run(["report", "release", "--audit", folder, "--out", "out"], {2})
    run(
        ["audit", "membership", "good.csv", "--text", "note", "--target", folder, "--models", folder, "--out", "out"],
        {2},
    )
    run(["show", folder], {2})


@pytest.mark.parametrize(
    "content", [NOTE, "", "[" * 60_000, json.dumps({NOTE: NOTE}), "PK\3\4" + NOTE, "SQLite format 3"]
)
def test_files_that_are_something_else(run, room, content):
    (room / "else").write_text(content)
    (room / "else.jsonl").write_text(content + "\n")
    (room / "else.npz").write_text(content)
    run(["ledger", "show", "else"], {2})
    run([*COMMANDS["fit"]("good.csv"), "--ledger", "else"], {2})
    run(["local", "randomize", "else", "good.csv", "--state", "state"], {2})
    run(["local", "fit", "else", "else.jsonl", "--out", "out"], {2})
    run(
        [
            "audit",
            "membership",
            "good.csv",
            "--text",
            "note",
            "--target",
            "else.npz",
            "--models",
            "release",
            "--out",
            "out",
        ],
        {2},
    )


def test_local_reports(run, room):
    flips = BitFlips(vocabulary=Vocabulary.public(WORDS), f=0.5, max_words=2)
    write_collection(Collection(name="s", randomizer=flips), room / "survey.json")
    good, bad = room / "document.txt", room / "bad.txt"
    good.write_text(NOTE)
    bad.write_bytes(NOTE.encode() + b"\xff")
    run(["local", "randomize", "survey.json", bad, "--state", "state"], {2})
    reports = room / "reports.jsonl"
    reports.write_text(
        f'{NOTE}\n{{"collection": "{NOTE}", "version": [], "report": "{NOTE}", "data": 3}}\n"{CANARY}"\n'
    )
    run(["local", "fit", "survey.json", reports, "--topics", 2, "--out", "out"], {2})


def test_refused_by_the_budget(run, room):
    Ledger.create(room / "small.ledger", epsilon=0.1, delta=1e-6)
    run([*COMMANDS["fit"]("good.csv"), "--ledger", "small.ledger"], {3})
    assert Ledger.open(room / "small.ledger").receipts() == []


@pytest.mark.parametrize("wrong", [["--epsilon", NOTE.split()[0]], ["--text"], ["--nothing"], ["--topics", "1.5"]])
def test_wrong_usage(run, room, wrong):
    run([*COMMANDS["fit"]("good.csv"), *wrong], {2})


@pytest.mark.parametrize("error", [ValueError, KeyError, TypeError, RuntimeError, RecursionError, pa.ArrowInvalid])
def test_a_fault_of_ours(run, monkeypatch, error):
    """The control as well: without the last net, the quote would be seen."""

    def broken(*_args, **_named):
        raise error(NOTE)

    monkeypatch.setattr("dptopics.data.corpus.Corpus.bounded", broken)
    said = run(COMMANDS["fit"]("good.csv"), {1})
    assert f"{error.__name__}: this is a fault of dptopics" in said
    monkeypatch.setenv("DPTOPICS_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, COMMANDS["fit"]("good.csv"))])
    with pytest.raises(error) as shown:
        cli.main()
    assert leaks(str(shown.value))


def test_warnings_of_others_stay_inside(run, monkeypatch):
    import warnings

    from dptopics.data.corpus import Corpus

    real = Corpus.bounded

    def noisy(self, **named):
        warnings.warn(NOTE, UserWarning, stacklevel=1)
        return real(self, **named)

    monkeypatch.setattr(Corpus, "bounded", noisy)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        said = run([word for word in COMMANDS["fit"]("good.csv") if word not in ("--author", "patient")], {0})
    assert "no --author given" in said
