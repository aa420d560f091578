"""Settings of a mechanism's own at the command line, and options that are declared once for all commands."""

import json

import pytest
import typer
from typer.testing import CliRunner

from dptopics import cli
from dptopics.cli import options as o
from dptopics.cli.settings import read_settings, settings_of
from dptopics.core.errors import InputError
from dptopics.mechanisms.mechanism import Job
from dptopics.registry import mechanism_class, mechanisms

EVERY = [(job, name) for job in Job for name in mechanisms(job)]


def commands(command=None, name=""):
    """Every command with its words."""
    command = command or typer.main.get_command(cli.app)
    if not hasattr(command, "commands"):
        return {name: command}
    return {
        words: found
        for word, below in command.commands.items()
        for words, found in commands(below, f"{name} {word}".strip()).items()
    }


def run(*words):
    return CliRunner().invoke(cli.app, [str(word) for word in words], env={"COLUMNS": "200"})


@pytest.mark.parametrize("job, name", EVERY)
def test_a_default_can_be_written_and_read(job, name):
    for setting, one in settings_of(mechanism_class(job, name)).items():
        default = one.default
        text = ",".join(map(str, default)) if isinstance(default, tuple) else str(default).lower()
        if default is not None:
            assert one.read(setting, text) == default
            assert type(one.read(setting, text)) is one.kind


@pytest.mark.parametrize("job, name", EVERY)
def test_noise_and_budget_are_no_settings(job, name):
    kind = mechanism_class(job, name)
    of_noise = {"sigma", "scale", "epsilon", "delta", "unit", "noise", getattr(kind, "noise_parameter", "sigma")}
    assert not settings_of(kind).keys() & of_noise
    assert getattr(kind, "noise_parameter", "") not in kind.accepts()


def test_values_are_of_the_kind_that_is_declared():
    given = ["gamma=0.2", "sample-size=dkw", "top=3", "learner=gibbs"]
    found = read_settings(given, "topics", "output")
    assert found == {"gamma": 0.2, "sample_size": "dkw", "top": 3, "learner": "gibbs"}
    assert type(found["top"]) is int
    assert read_settings(["shares=0.5,0.25,0.25"], "topics", "spectral-1") == {"shares": (0.5, 0.25, 0.25)}
    assert read_settings(None, "topics", "no such") == {}


@pytest.mark.parametrize(
    "given, message",
    [
        (
            ["gamma=0.2"],
            "'mixture' has no setting gamma that --set could take. It has: alpha, sharpness, size_share, s",
        ),
        (["sigma=0.01"], "has no setting sigma"),
        (["max_words=3"], "has no setting max_words"),
        (["steps=three"], "--set steps must be a whole number; got 'three'."),
        (["steps=2.5"], "--set steps must be a whole number; got '2.5'."),
        (["alpha=much"], "--set alpha must be a number; got 'much'."),
        (["steps"], "takes NAME=VALUE, as steps=20; got 'steps'."),
        (["steps=3", "steps=4"], "--set steps is given twice"),
    ],
)
def test_what_cannot_be_set(given, message):
    with pytest.raises(InputError) as told:
        read_settings(given, "topics", "mixture")
    assert message in str(told.value)


def test_names_to_choose_from_and_several_mechanisms():
    with pytest.raises(InputError, match="--set post must be simplex, clip or none; got 'zero'"):
        read_settings(["post=zero"], "topics", "laplace")
    assert read_settings(["steps=3"], "topics", "mixture, variational") == {"steps": 3}
    with pytest.raises(InputError, match="has no setting sharpness"):
        read_settings(["sharpness=3"], "topics", "mixture, variational")


def test_a_mechanism_lists_its_settings():
    done = run("mechanisms", "laplace")
    assert done.exit_code == 0
    assert "topics: laplace" in done.stdout
    assert "n-grams: laplace" in done.stdout
    rows = json.loads(run("mechanisms", "spectral-1", "--json").stdout)["settings"]
    (shares,) = (row for row in rows if row["name"] == "shares")
    assert shares["default"] == [0.4, 0.3, 0.3]
    assert shares["help"]
    assert "there is no mechanism 'magic'" in str(run("mechanisms", "magic").exception)


@pytest.mark.parametrize("words", commands())
def test_every_command_has_help(words):
    done = run(*words.split(), "--help")
    assert done.exit_code == 0
    assert commands()[words].help.split("\n")[0][:40] in " ".join(done.stdout.split())
    names = [name for one in commands()[words].params for name in one.opts]
    assert len(names) == len(set(names))


def test_what_a_plan_says_follows_from_where_an_option_is_declared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text('job = "topics"\n')
    fit = ["fit", "notes.csv", "--text", "note", "--author", "who", "--plan", "plan.toml", "--people", 9, "--out", "r"]
    beside = ["--tokenizer", "thai", "--title", "T", "--encoding", "ascii", "--drop-missing", "--sensitivity", "s"]
    both = run(*fit, *beside, "--set", "steps=3", "--language", "german", "--epsilon", 1, "--no-sampling-limit")
    assert "leave --epsilon, --language, --no-sampling-limit, --set out" in str(both.exception)
    alone = run(*fit, *beside).exception  # all of these go with a plan
    assert isinstance(alone, InputError)
    assert "incomplete" in str(alone)


def test_a_group_may_leave_options_out():
    from dptopics.cli.source import MemoryTable, Table, Texts

    names = [{one.name for one in group.options()} for group in (Table, MemoryTable, Texts)]
    assert names[0] - names[1] == {"engine", "master", "embedding_column"}
    assert names[1] - names[2] == {"author", "author_is"}
    assert "secret" not in repr(Table(source="a", text="b", sql=None, database="secret"))
    assert issubclass(Texts, o.Group)
