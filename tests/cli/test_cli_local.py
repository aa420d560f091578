"""The commands monitor and local, in process: exit codes, messages, and what lands on disk."""

import json
import re
import sys

import numpy as np
import pytest
from pyarrow import parquet

from dptopics import cli
from dptopics.local.client import Client, InMemory
from dptopics.local.report_files import read_collection, to_line, to_table
from dptopics.privacy.guarantee import Trust
from dptopics.privacy.rng import secure_rng
from dptopics.release import bundle

SECRET = "zanzibarian"
WORDS = ["cast", "cream", "fracture", "itching", "knee", "rash", "running", "skin"]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n", "utf-8")
    (tmp_path / "topics.txt").write_text("fracture, knee\nrash skin\n", "utf-8")

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        assert SECRET not in printed.err
        return stop.value.code or 0, printed.out, " ".join(printed.err.split())

    return run_command


def made(run, *more, kind="bits"):
    code, out, _ = run(
        "local", "create", "c.json", "--name", "survey", "--kind", kind, "--vocabulary", "words.txt", *more
    )
    assert code == 0
    return " ".join(out.replace("│", " ").split())


# --- local ---


def test_from_parameters_to_topics(run, tmp_path):
    card = made(run, "--f", 0.05, "--max-words", 3)
    assert "everyone, including the collector of the data" in card
    assert "For one certain word, there or not: ε = 7.04, δ = 0." in card
    (tmp_path / "note.txt").write_text(f"{SECRET} has a rash, and itching skin", "utf-8")
    ask = ("local", "randomize", "c.json", "note.txt", "--state", "state", "--max-epsilon")
    code, out, message = run(*ask, 20)
    assert (code, out) == (3, "")
    assert "ε = 22, δ = 0 (replace)" in message  # the card comes first
    assert "asks for ε = 22 of a whole document at δ = 0, and ε = 0 was sent before" in message
    code, line, message = run(*ask, 22)
    assert code == 0
    assert SECRET not in line
    assert json.loads(line)["collection"] == "survey"
    assert "sent so far: ε = 0 of at most 22" in message
    code, out, message = run(*ask, 22)
    assert (code, out) == (0, line)  # the same text: the same bytes
    assert "sent so far: ε = 22 of at most 22" in message
    (tmp_path / "note.txt").write_text(f"{SECRET} has a fracture", "utf-8")
    code, out, message = run(*ask, 99)
    assert (code, out) == (0, line)  # another text: still the same bytes, and it is said
    assert "was answered before: it gets the same report again, whatever the document says now" in message
    collection = read_collection("c.json")
    texts = ["knee fracture cast", "rash itching skin"] * 100
    sent = [Client(InMemory(), max_epsilon=99.0).report(collection, text, secure_rng()) for text in texts]
    (tmp_path / "r.jsonl").write_text("\n".join([line.strip(), *map(to_line, sent[:100])]) + "\nnonsense\n", "utf-8")
    parquet.write_table(to_table(sent[90:]), tmp_path / "r.parquet")
    code, out, message = run("local", "fit", "c.json", "r.jsonl", "r.parquet", "--topics", 2, "--out", "release")
    assert code == 0
    assert "201 reports used, 11 left out" in out
    assert "10 reports left out: sent before" in message
    assert "1 reports left out: malformed" in message
    release = bundle.load("release")
    assert release.guarantee == collection.guarantee
    assert release.guarantee.trust is Trust.LOCAL
    assert release.value.transform(["a rash on my skin"]).shape == (1, 2)
    code, out, _ = run("local", "fit", "c.json", "r.jsonl", "--topics", 2, "--method", "published", "--sweeps", 5,
                       "--out", "again", "--json")  # fmt: skip
    assert code == 0
    data = json.loads(out)
    assert (data["reports"], data["rejected"]) == (101, {"malformed": 1})
    assert data["guarantee"]["trust"] == "local"


@pytest.mark.parametrize("kind", ["pair", "three-words"])
def test_hashed_kinds(run, kind, tmp_path):
    more = ("--topics", "topics.txt") if kind == "pair" else ()
    assert "ε = 12, δ = 0 (replace)" in made(run, "--epsilon", 12, *more, kind=kind)
    collection = read_collection("c.json")
    texts = ["knee fracture cast running", "rash itching skin cream"] * 200
    sent = [Client(InMemory(), max_epsilon=99.0).report(collection, text, secure_rng()) for text in texts]
    parquet.write_table(to_table(sent), tmp_path / "r.parquet")
    more = () if kind == "pair" else ("--topics", 2)
    code, _, _ = run("local", "fit", "c.json", "r.parquet", "--out", "release", *more)
    assert code == 0
    settings = bundle.load("release").settings
    assert settings.get("clip") == (1.0 if kind == "pair" else None)  # against liars, unless told otherwise
    if kind == "pair":
        for number, (how, clip) in enumerate({("--no-clip",): None, ("--clip", 2): 2.0}.items()):
            assert run("local", "fit", "c.json", "r.parquet", "--out", f"more{number}", *how)[0] == 0
            assert bundle.load(f"more{number}").settings.get("clip") == clip
        assert run("local", "fit", "c.json", "r.parquet", "--out", "both", "--no-clip", "--clip", 2)[0] == 2
    tops = {frozenset(words) for words in bundle.load("release").value.top_words(4)}
    assert tops == {frozenset(["knee", "fracture", "cast", "running"]), frozenset(["rash", "itching", "skin", "cream"])}


def test_what_local_refuses(run, tmp_path):
    def refused(*words):
        code, _, message = run("local", *words)
        assert code == 2
        return message

    base = ["create", "c.json", "--name", "s", "--vocabulary", "words.txt"]
    assert "either --f or --epsilon" in refused(*base)
    assert "either --f or --epsilon" in refused(*base, "--f", 0.5, "--epsilon", 1)
    assert "must lie in (0, 1]" in refused(*base, "--f", 1.2)
    assert "positive number" in refused(*base, "--epsilon", 0)
    assert "needs --epsilon" in refused(*base, "--kind", "pair")
    assert "needs --topics" in refused(*base, "--kind", "pair", "--epsilon", 1)
    assert "no kind 'moments'" in refused(*base, "--kind", "moments")
    assert not (tmp_path / "c.json").exists()
    made(run, "--f", 0.5)
    assert "never changed" in refused(*base, "--f", 0.5)
    (tmp_path / "r.jsonl").write_text("", "utf-8")
    assert "no valid reports" in refused("fit", "c.json", "r.jsonl", "--out", "release")
    assert not (tmp_path / "release").exists()
    (tmp_path / "note.txt").write_bytes(b"\xff\xfe\xff")
    assert "not valid UTF-8" in refused("randomize", "c.json", "note.txt", "--state", "state", "--max-epsilon", 9)
    assert not (tmp_path / "state").exists()  # nothing was noted
    assert "no file" in refused("randomize", "d.json", "note.txt", "--state", "state", "--max-epsilon", 9)
    assert "--max-epsilon" in refused("randomize", "c.json", "note.txt", "--state", "state")  # no default
    assert "positive number" in refused("randomize", "c.json", "note.txt", "--state", "state", "--max-epsilon", 0)


def test_an_empty_document_reports_too(run, tmp_path):
    made(run, "--epsilon", 4)
    (tmp_path / "note.txt").write_text("", "utf-8")
    code, line, _ = run("local", "randomize", "c.json", "note.txt", "--state", "state", "--max-epsilon", 4)
    assert code == 0
    assert json.loads(line)["report"]


# --- monitor ---


@pytest.fixture
def notes(tmp_path):
    texts = ["knee pain after running", "knee hurts when running", "glasses for reading", SECRET] * 20
    (tmp_path / "notes.csv").write_text("note\n" + "\n".join(texts) + "\n", "utf-8")
    return tmp_path / "notes.csv"


def test_monitor(run, notes):
    code, out, _ = run("audit", "monitor", notes, "--text", "note", "--topics", 3, "--sweeps", 20)
    assert code == 0
    assert "NOT FOR RELEASE" in out
    assert "It does not bound the privacy loss" in out
    code, out, _ = run("audit", "monitor", notes, "--text", "note", "--topics", 3, "--sweeps", 20, "--json")
    data = json.loads(out)
    assert data["not_for_release"] is True
    curve = data["epsilon_by_sweep"]
    assert len(curve["word"]) == len(curve["document"]) == 20
    assert (np.diff(curve["word"]) > 0).all()


def test_monitor_says_what_it_leaves_out_and_how_runs_spread(run, notes):
    command = ("audit", "monitor", notes, "--text", "note", "--topics", 3, "--sweeps", 20, "--runs", 3)
    code, out, _ = run(*command)
    assert code == 0
    assert "Same word missing" in out
    assert re.search(r"A missing token of the same word moves this run's draws [\d,]+ times as far", out)
    assert "Algorithm 1 as printed says" in out
    assert re.search(r"\d \([\d.e+]+ to [\d.e+]+\)", out)
    found = json.loads(run(*command, "--json")[1])
    assert len(found["last_sweep_of_each_run"]) == 3
    assert found["same_word_missing_by_sweep"][-1] > found["epsilon_by_sweep"]["word"][-1]
    assert found["as_printed_by_sweep"]["document"][-1] <= found["epsilon_by_sweep"]["document"][-1] * (1 + 1e-6)


def test_monitor_refusals(run, notes):
    command = ("audit", "monitor", notes, "--text", "note", "--sweeps", 5)
    assert run(*command, "--topics", 3, "--longest-document", 1)[0] == 2
    assert run(*command, "--topics", 1)[0] == 2
    code, _, message = run("audit", "monitor", notes, "--text", "note", "--sweeps", 0)
    assert (code, "at least 1" in message) == (2, True)
