"""Commands by rank: what --help shows first, what --help-all adds, and former names."""

import csv
import re
import zipfile

import pytest
import typer
from typer.testing import CliRunner

from dptopics.cli import app


def run(*words, wide=80):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": str(wide)})


def commands():
    """Every command with its name in words."""
    waiting = [("", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop()
        if hasattr(command, "commands"):
            waiting += [(f"{name} {word}".strip(), one) for word, one in command.commands.items()]
        else:
            yield name, command


def test_the_list_of_commands_says_what_each_says_of_itself():
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert " ".join(command.help.split("\n\n")[0].split()) == group.get_command(None, name).help


def test_fit_shows_what_people_use_on_one_screen():
    said = run("fit", "--help").output
    assert len(said.splitlines()) <= 60
    for option in (
        "--text",
        "--author",
        "--topics",
        "--epsilon",
        "--delta",
        "--ledger",
        "--out",
        "--preview",
        "--help-all",
    ):
        assert option in said
    for option in ("--vocabulary-share", "--database", "--max-docs", "--public-corpus"):
        assert option not in said


@pytest.mark.parametrize("name, command", [pytest.param(*one, id=one[0]) for one in commands()])
def test_all_options_by_subject(name, command):
    """No option is lost: what --help leaves out, --help-all has, in a panel."""
    subjects = {getattr(one, "rich_help_panel", None) for one in command.params} - {None, ""}
    short = run(*name.split(), "--help", wide=200).output
    assert ("--help-all" in short) is bool(subjects)
    if subjects:
        whole = run(*name.split(), "--help-all", wide=200).output
        for one in command.params:
            if one.param_type_name == "option":
                assert one.opts[0] in whole
                listed = re.search(rf"^│[ *]+{one.opts[0]} ", short, re.MULTILINE)
                assert bool(listed) is not bool(one.rich_help_panel), one.opts
        assert not [subject for subject in subjects if subject not in whole]
    assert run(*name.split(), "--help", wide=200).output == short  # and the short one is short again


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [("knee pain after a run", f"p{i}", "north" if i % 2 else "south") for i in range(400)]
    with open("notes.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("note", "patient", "ward"), *rows])
    return tmp_path


PRICE = ("--author", "patient", "--epsilon", 5, "--delta", 1e-6)


@pytest.mark.parametrize("words", [[], ["--text", "note", "--column", "ward"]])
def test_words_or_a_column(folder, words):
    done = run("vocabulary", "notes.csv", *words, *PRICE, "--out", "words")
    assert "name the column with the texts (--text), or one whose values are released" in str(done.exception)
    assert not (folder / "words").exists()


def test_a_packed_table(folder):
    with zipfile.ZipFile("notes.zip", "w") as packed:
        packed.write("notes.csv", "answers/notes.csv")
        packed.writestr("answers/.DS_Store", "what a system adds")
        packed.writestr("__MACOSX/answers/._notes.csv", "what a system adds")
    done = run("vocabulary", "notes.zip", "--text", "note", *PRICE, "--out", "words")
    assert done.exit_code == 0, done.output
