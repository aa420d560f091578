"""The options by which every command reads its table: given in one place, the same everywhere."""

import io
import json
import sys

import pytest
import typer

from dptopics import cli
from dptopics.core import tokenizers

READERS = [
    "fit", "vocabulary", "ngrams", "count", "transform", "check", "audit claim", "audit membership",
    "audit poison", "audit monitor",
]  # fmt: skip
READING = {"source", "encoding", "separator", "table_format", "sheet", "header_row", "sql", "database", "drop_missing"}
CSV = "note;patient\n" + "".join(f"{note};p{i}\n" for i, note in enumerate(["knee pain", "new glasses"] * 40))
OPTIONS = ["--text", "note", "--author", "patient", "--epsilon", "9", "--delta", "1e-6"]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(tokenizers, "_named", {})
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run_command(*words, piped=""):
        monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped.encode())))
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        return stop.value.code or 0, printed.out, " ".join(printed.err.split())

    return run_command


@pytest.mark.parametrize("words", READERS)
def test_every_command_that_reads_texts_has_every_option(words):
    command = typer.main.get_command(cli.app)
    for word in words.split():
        command = command.commands[word]
    assert {one.name for one in command.params} >= READING


def test_a_table_by_standard_input(run, tmp_path):
    code, _, said = run("vocabulary", "-", *OPTIONS, "--out", "words", piped=CSV)
    assert code == 0, said
    assert "Read 80 texts of 80 authors." in said
    assert json.loads((tmp_path / "words" / "bundle.json").read_text())


def test_standard_input_of_every_command(run, tmp_path):
    (tmp_path / "words.txt").write_text("knee\npain\nglasses\n")
    small = ["--mechanism", "mixture", "--set", "steps=1", "--topics", "2", "--vocabulary", "words.txt"]
    assert run("fit", "-", *OPTIONS, *small, "--out", "topics", piped=CSV)[0] == 0
    for words in (
        ["ngrams", "-", *OPTIONS, "--n", "2", "--epsilon", "99", "--out", "pairs"],
        ["count", "topics", "-", *OPTIONS, "--out", "counted"],
        ["vocabulary", "-", "--column", "note", *OPTIONS[2:], "--out", "listed"],
        ["transform", "topics", "-", "--text", "note", "--out", "shares.csv"],
        ["audit", "monitor", "-", "--text", "note", "--topics", "2", "--sweeps", "1"],
    ):
        code, _, said = run(*words, piped=CSV)
        assert code == 0, said
        assert "80 texts" in said or "80 rows" in said


def test_a_tokenizer_in_the_folder_where_one_works(run, tmp_path):
    (tmp_path / "halves_of_words.py").write_text("def halves(text):\n    return [w[:3] for w in text.split()]\n")
    (tmp_path / "notes.csv").write_text(CSV)
    (tmp_path / "words.txt").write_text("kne\npai\ngla\n")
    small = ["--mechanism", "mixture", "--set", "steps=1", "--topics", "2", "--vocabulary", "words.txt"]
    own = ["--tokenizer", "halves_of_words:halves"]
    code, _, said = run("fit", "notes.csv", *OPTIONS, *small, *own, "--out", "topics")
    assert code == 0, said
    tokenizers._named.clear()  # a new process
    assert run("show", "topics")[0] == 0
    code, _, said = run("transform", "topics", "notes.csv", "--text", "note", "--out", "shares.csv")
    assert code == 2
    assert "not run unless you name it" in said
    code, _, said = run("transform", "topics", "notes.csv", "--text", "note", *own, "--out", "shares.csv")
    assert code == 0, said
    code, _, said = run("count", "topics", "notes.csv", *OPTIONS, *own, "--out", "counted")
    assert code == 0, said


def test_words_of_chinese_texts(run):
    notes = "note,patient\n" + "".join(f"跑步以后我的膝盖很疼。,p{i}\n" for i in range(80))
    code, out, said = run("vocabulary", "-", *OPTIONS, "--language", "chinese", "--out", "words", piped=notes)
    assert code == 0, said
    assert "膝盖" in out
    code, out, said = run("ngrams", "-", *OPTIONS, "--n", "2", "--epsilon", "99", "--tokenizer", "chinese",
                          "--out", "pairs", piped=notes)  # fmt: skip
    assert code == 0, said
    assert "膝盖 很" in out
