"""What commands say: the thing that is wrong, in the words of what was asked."""

import io
import sys

import numpy as np
import pytest

from dptopics import Client, TopicModel, Vocabulary, cli
from dptopics.core.text import TextSettings
from dptopics.local.client import InMemory
from dptopics.local.collection import Collection
from dptopics.local.hashing import HashedPair
from dptopics.release import bundle
from dptopics.release.labels import label
from dptopics.release.report import unprotected


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rows = "".join(f"knee pain,p{i},{'north' if i % 2 else 'south'}\n" for i in range(200))
    (tmp_path / "notes.csv").write_text("note,patient,ward\n" + rows + "knee,p0,\n" * 7)

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        return stop.value.code or 0, printed.out, " ".join(printed.err.split())

    return run_command


PRICE = ("--epsilon", 8, "--delta", 1e-6)
DATA = ("notes.csv", "--text", "note", "--author", "patient", *PRICE)


def test_a_public_list_that_is_not_there(run):
    code, _, said = run("ngrams", *DATA, "--public", "nothere.csv", "--out", "r")
    assert code == 2
    assert "there is no file 'nothere.csv'" in said
    code, _, said = run("fit", *DATA, "--vocabulary", "nothere.csv", "--mechanism", "variational", "--out", "r")
    assert code == 2
    assert "is a table" not in said


@pytest.mark.parametrize("number, told", [("-3", "between 2 and 10,000, got -3"), ("many", "or auto, got 'many'")])
def test_a_number_of_topics_that_is_none(run, number, told):
    code, _, said = run("fit", *DATA, "--topics", number, "--mechanism", "variational", "--out", "r")
    assert code == 2
    assert told in said


@pytest.mark.parametrize("command", ["fit", "vocabulary"])
def test_a_preview_needs_no_folder_and_a_release_does(run, command):
    more = ("--mechanism", "mixture") if command == "fit" else ()
    code, out, _ = run(command, *DATA, *more, "--preview", "--people", 5000)
    assert code == 0
    assert "About 5,000 units" in out
    code, _, said = run(command, *DATA, *more)
    assert code == 2
    assert "--out FOLDER" in said


def test_groups_are_called_groups(run):
    code, out, said = run(
        "vocabulary", "notes.csv", "--column", "ward", "--author", "patient", *PRICE, "--out", "wards"
    )
    assert code == 0
    assert "2 groups may be published" in out
    assert "Read 207 rows of 200 authors; 7 of them have no value in this column." in said


def test_topics_of_noise_alone_are_not_named(run, tmp_path):
    weight = np.array([[0.9, 0.1], [0.5, 0.5]])
    model = TopicModel(topic_word=weight, vocabulary=Vocabulary.of(["knee", "skin"]), topic_share=np.array([0.5, 0.5]),
                       alpha=0.1, noise_std=np.array([0.1, 0.4]))  # fmt: skip
    asked = []
    found = label(unprotected(model), by=lambda prompt: asked.append(prompt) or "Knees")
    assert [one.label for one in found.labels] == ["Knees", ""]
    assert len(asked) == 1  # nobody is asked to name nothing
    bundle.save(unprotected(model), tmp_path / "topics")
    code, out, _ = run("label", "topics")
    assert code == 0
    assert "none: this topic is mostly noise" in out


def survey():
    words = Vocabulary.of(["knee", "skin"])
    return Collection(
        name="s", randomizer=HashedPair(vocabulary=words, topics=(("knee",),), epsilon=4.0), text=TextSettings()
    )


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_card_of_a_collection_fits_the_terminal(width):
    lines = Client(InMemory(), max_epsilon=4.0).card(survey(), width).splitlines()
    assert max(map(len, lines)) <= min(width, 88)
    assert any(line.startswith("Counted") for line in lines)


def test_nobody_there_to_agree(run, monkeypatch, tmp_path):
    class Quiet:
        def __init__(self, *_where, **_how):
            pass

        def collection(self):
            return survey()

    monkeypatch.setattr("dptopics.local.client.Collector", Quiet)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    (tmp_path / "note.txt").write_text("knee")
    code, _, said = run("local", "send", "http://nowhere", "note.txt", "--state", "sent", "--max-epsilon", 4)
    assert code == 2
    assert "nobody is there to ask" in said
    assert "Nothing was sent" in said
