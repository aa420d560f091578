"""The check command, and what fit and count say before they charge."""

import sys

import pytest

from dptopics import Ledger, cli
from dptopics.release import bundle

OPTIONS = ["--text", "note", "--author", "patient"]
SPEND = ["--epsilon", "1", "--delta", "1e-6", "--ledger", "clinic.ledger"]
SMALL = ["--mechanism", "mixture", "--set", "steps=1", "--topics", "2", "--vocabulary", "words.txt"]


@pytest.fixture
def run(monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    rows = [f"knee pain {i};p{i % 50};{i % 28 + 1}.02.2026;north\n" for i in range(80)]
    (tmp_path / "notes.csv").write_text("Answers of 2026\nnote;patient;seen;ward\n" + "".join(rows))
    (tmp_path / "words.txt").write_text("knee\npain\nglasses\n")
    (tmp_path / "wards.txt").write_text("north\nsouth\n")
    Ledger.create(tmp_path / "clinic.ledger", epsilon=10.0, delta=1e-5)

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capfd.readouterr()
        return stop.value.code or 0, printed.out, " ".join(printed.err.split())

    return run_command


def test_exact_figures_go_to_standard_error(run, tmp_path):
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    by = ["--by", "ward", "--groups", "wards.txt", "--by", "month:seen", "--from", "2026-01-01", "--to", "2026-03-31"]
    code, out, said = run("check", "notes.csv", "--header-row", 2, *OPTIONS, *by, "--epsilon", 1, "--delta", 1e-6)
    assert (code, out) == (0, ""), said
    assert said.startswith("NOT FOR RELEASE")
    assert "4 columns: 'note', 'patient', 'seen', 'ward'" in said
    assert "Read 80 texts of 50 authors." in said
    assert "--date-format %d.%m.%Y (80 of 80)" in said
    assert "80 of 80 rows match, 0% count as 'other'; 1 of the 2 groups on the list occur" in said
    assert "uses the data in a way that no guarantee counts" in said
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_without_columns_it_lists_them(run):
    code, out, said = run("check", "notes.csv", "--header-row", 2)
    assert (code, out) == (0, "")
    assert "- 'patient': could be the authors (--author patient)" in said
    code, out, said = run("check", "notes.csv")
    assert "which row holds them: row 2 looks like one (--header-row)" in said


def test_fit_and_count_say_what_to_expect_before_they_charge(run, tmp_path, monkeypatch):
    reading = ["notes.csv", "--header-row", 2, *OPTIONS, *SPEND]
    code, _, said = run("fit", *reading, *SMALL, "--out", "topics")
    assert code == 0, said
    read, expect = "Read 80 texts of 50 authors.", "At this size expect no topic."
    assert read in said
    assert expect in said
    bundle.load("topics")

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "charge", stop)
    for words in (["fit", *reading, *SMALL], ["count", "topics", *reading, "--by", "ward", "--groups", "wards.txt"]):
        code, _, said = run(*words, "--out", "more")
        assert code == 130
        assert "Read 80 texts of 50 authors." in said
        assert "At this size expect" in said
    assert "counts to within ±" in said
    assert "authors (95 %)" in said


def test_an_expectation_that_fails_stops_nothing(run, monkeypatch):
    """Whether anybody is there would decide, if it could refuse."""

    def fail(*_):
        raise ValueError("no idea")

    monkeypatch.setattr("dptopics.preview.expected", fail)
    code, _, said = run("fit", "notes.csv", "--header-row", 2, *OPTIONS, *SPEND, *SMALL, "--out", "topics")
    assert code == 0, said
    assert "At this size" not in said
