"""Plans, previews and exit codes at the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dptopics import Ledger, PrivateTopics, Vocabulary, cli
from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.plan import Plan
from dptopics.preview import expected
from dptopics.release import bundle, report

TEXTS = ["knee pain after running", "knee hurts when running", "glasses for reading", "eyes need reading glasses"] * 60


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rows = "".join(f"{text},p{i}\n" for i, text in enumerate(TEXTS))
    (tmp_path / "notes.csv").write_text("note,patient\n" + rows)
    (tmp_path / "words.txt").write_text("knee\npain\nrunning\nglasses\nreading\neyes\n")

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["dptopics", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return stop.value.code or 0, printed.out, " ".join(printed.err.split())

    return run_command


DATA = ["notes.csv", "--text", "note", "--author", "patient"]
FIT = ["fit", *DATA, "--topics", 2, "--epsilon", 20, "--delta", 1e-6, "--mechanism", "mixture", "--set", "steps=3"]


def test_a_release_can_be_run_again_from_its_plan(run, tmp_path):
    code, _, _ = run(*FIT, "--vocabulary", "words.txt", "--max-docs", 2, "--out", "r")
    assert code == 0
    plan = json.loads((tmp_path / "r" / "bundle.json").read_text("utf-8"))["record"]["plan"]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    code, out, err = run("fit", *DATA, "--plan", "plan.json", "--out", "again", "--json")
    assert code == 0
    assert err.startswith("Read 240 texts of 240 authors. At this size expect about 2 topics")
    assert err.endswith("enough. Written to again. Look again with: dptopics show again")
    assert json.loads(out)["record"]["plan"] == plan
    assert bundle.load("again").guarantee.events == bundle.load("r").guarantee.events
    (tmp_path / "words.txt").write_text("knee\npain\n")
    code, _, err = run("fit", *DATA, "--plan", "plan.json", "--out", "third")
    assert code == 2
    assert "have changed since the plan was made" in err


def test_a_plan_and_options_do_not_mix(run, tmp_path):
    (tmp_path / "plan.toml").write_text(
        'job = "topics"\nmechanism = "mixture"\nn_topics = 2\nepsilon = 9.0\ndelta = 1e-6\nunit = "author"\n'
        'vocabulary = "weighted"\nvocabulary_share = 0.4\n'
    )
    code, _, err = run("fit", *DATA, "--plan", "plan.toml", "--topics", 3, "--max-docs", 2, "--out", "r")
    assert code == 2
    assert "leave --max-docs, --topics out" in err
    code, _, err = run("fit", *DATA, "--out", "r")
    assert code == 2
    assert "--epsilon and --delta (or give --plan FILE)" in err
    code, _, _ = run("fit", *DATA, "--plan", "plan.toml", "--title", "By hand", "--out", "r")
    assert code == 0
    code, out, _ = run("show", "r")
    assert "Title: By hand" in out


def test_audits_attack_the_plan_of_the_release(run, tmp_path):
    """The settings that an audit could not know: all of them are the release's now."""
    run(*FIT, "--vocabulary", "words.txt", "--max-docs", 2, "--max-words", 5, "--out", "r")
    small = ["--trials", 64]
    code, _, err = run("audit", "claim", *DATA, "--release", "r", *small, "--out", "a")
    assert code in (0, 6), err  # 6: so few trials say little
    audit = json.loads((tmp_path / "a" / "audit.json").read_text("utf-8"))
    assert audit["settings"]["plan"] == json.loads((tmp_path / "r/bundle.json").read_text("utf-8"))["record"]["plan"]
    code, _, _ = run("report", "r", "--audit", "a", "--out", "page.html")
    assert code == 0
    run(*FIT[:-2], "--set", "steps=5", "--vocabulary", "words.txt", "--max-docs", 2, "--max-words", 5, "--out", "other")
    code, _, err = run("report", "other", "--audit", "a", "--out", "wrong.html")
    assert code == 2
    assert "settings.steps is 3, not 5" in err
    code, _, err = run("audit", "claim", *DATA, "--release", "r", "--mechanism", "mixture", *small, "--out", "b")
    assert (code, "both say what to attack" in err) == (2, True)
    code, _, err = run("audit", "claim", *DATA[:3], "--release", "r", *small, "--out", "b")
    assert (code, "the plan protects authors" in err) == (2, True)


def test_a_release_without_a_plan_cannot_be_audited_as_it_was(run, tmp_path):
    run(*FIT, "--vocabulary", "words.txt", "--out", "r")
    release = bundle.load("r")
    bundle.save(type(release)(value=release.value, guarantee=release.guarantee, settings=release.settings), "old")
    code, _, err = run("audit", "claim", *DATA, "--release", "old", "--out", "a")
    assert code == 2
    assert "made before plans were kept" in err


def test_a_lambda_in_a_release(run, tmp_path):
    learner = {"learner": lambda counts: [[0.5, 0.5], [0.5, 0.5]]}
    words = Vocabulary.public(["knee", "eyes"])
    model = PrivateTopics(2, epsilon=20.0, mechanism="laplace", vocabulary=words, settings=learner).fit(
        TEXTS, authors=range(len(TEXTS))
    )
    model.save(tmp_path / "r")
    code, _, err = run("audit", "claim", *DATA, "--release", "r", "--out", "a")
    assert code == 2
    assert "a function without a name of its own" in err
    with pytest.raises(InputError, match="there is no audit"):
        report.read_audit(tmp_path / "a")


def test_a_preview_reads_nothing_and_spends_nothing(run, tmp_path):
    ledger = Ledger.create(tmp_path / "l", epsilon=100, delta=1e-3)
    (tmp_path / "notes.csv").unlink()
    ask = ["fit", *DATA, "--epsilon", 1, "--delta", 1e-6, "--mechanism", "mixture", "--ledger", "l", "--out", "r"]
    code, out, err = run(*ask, "--preview", "--people", 1000)
    assert code == 0
    assert "That is little" in out
    assert "Nothing was read and nothing was spent" in err
    code, out, _ = run(*ask, "--preview", "--people", 1000, "--json")
    small = json.loads(out)
    code, out, _ = run(*ask, "--preview", "--people", 1_000_000, "--json")
    large = json.loads(out)
    assert small["words"] < 20 < 1000 < large["words"]
    assert small["topics"] < large["topics"] == 20
    code, _, err = run(*ask, "--preview")
    assert (code, "--people N" in err) == (2, True)
    assert ledger.receipts() == []
    assert not (tmp_path / "r").exists()


def test_spent_for_nothing_is_told_by_the_exit_code(run, tmp_path):
    ledger = Ledger.create(tmp_path / "l", epsilon=100, delta=1e-3)
    few = ["fit", *DATA, "--epsilon", 0.01, "--delta", 1e-6, "--mechanism", "mixture", "--vocabulary", "weighted"]
    code, _, err = run(*few, "--ledger", "l", "--out", "r")
    assert code == 4
    assert "the budget was charged" in err
    assert len(ledger.receipts()) == 1


def test_the_same_column_twice(run):
    code, _, err = run(*FIT[:2], "--text", "note", "--author", "note", *FIT[6:], "--out", "r")
    assert (code, "name the same column" in err) == (2, True)


def test_a_folder_that_looks_like_markup(run, tmp_path):
    code, _, err = run(*FIT, "--vocabulary", "words.txt", "--out", "q[red]")
    assert code == 0
    assert "Written to q[red]" in err
    assert (tmp_path / "q[red]" / "bundle.json").exists()


def test_a_terminal_that_cannot_print_epsilon(run, tmp_path):
    command = [sys.executable, "-m", "dptopics", *map(str, FIT), "--vocabulary", "words.txt", "--out", "r"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONIOENCODING": "cp1252"}, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert bundle.load(tmp_path / "r").value.n_topics == 2


def test_a_preview_of_the_usual_topics_agrees_with_what_was_measured():
    """The stored releases of public corpora: what the preview says lies within a quarter of what was found, or two."""
    for path in sorted((Path(__file__).parents[2] / "benchmarks" / "results" / "utility").glob("*.json")):
        stored = json.loads(path.read_text("utf-8"))
        for epsilon in (1.0, 3.0):
            runs = [run for name, run in stored.items() if name.startswith(f"embedded | usual | {epsilon} |")]
            plan = Plan.topics(
                mechanism="embedded", n_topics=runs[0]["asked"], epsilon=epsilon, delta=1e-6, unit="author",
                text=TextSettings(),
            )  # fmt: skip
            said, found = expected(plan, runs[0]["units"]).topics, np.mean([run["found"] for run in runs])
            if runs[0]["units"] < 8000:  # themes, by now
                assert said is None
                continue
            assert abs(said - found) <= max(2, found / 4), path.name


@pytest.mark.parametrize("units", [50, 300, 3000, 30_000, 10**6])
@pytest.mark.parametrize("mechanism", ["embedded", "mixture", "variational"])
def test_a_preview_never_advises_to_protect_less(mechanism, units):
    settings = {"n_topics": 20, "epsilon": 1.0, "delta": 1e-6, "unit": "author", "text": TextSettings()}
    card = expected(Plan.topics(mechanism=mechanism, **settings), units).card()
    assert "epsilon" not in card
    assert ("outside the public list" in card) is (mechanism == "embedded")
    assert "rough" in card


def test_a_preview_says_how_far_it_can_be_trusted_and_what_sizes_will_be_worth():
    settings = {"n_topics": 10, "epsilon": 1.0, "delta": 1e-6, "unit": "author", "text": TextSettings()}
    few, many = (expected(Plan.topics(mechanism="embedded", **settings), units) for units in (800, 20_000))
    assert "themes of the public atlas" in few.card()
    assert "example sentence" not in few.card()
    said = expected(Plan.topics(mechanism="embedded", **settings), 3000)
    assert f"about {said.votes_of_an_example:,.0f} vote for it" in said.card()
    assert 50 < said.votes_of_an_example < 200
    assert "outside of that range" not in many.card()
    assert 10 < few.size_noise_std < many.size_noise_std
    for one in (few, many):
        assert f"± {1.96 * one.size_noise_std:,.0f} " in one.card()
    assert "enough" in many.sentence("author")
    assert "authors (95 %)" in many.sentence("author")
    # Two topics are not enough, however few were asked for; nor are sizes that are little more than noise.
    assert "enough" not in expected(Plan.topics(mechanism="embedded", **settings | {"n_topics": 50}), 8_100).card()


def test_fewer_words_than_topics_give_fewer_topics():
    """The budget is spent by then: topics are no reason to lose it."""
    texts = ["asthma cough", "skin rash", "asthma skin"] * 400
    fitted = PrivateTopics(
        n_topics=9, epsilon=2.0, delta=1e-6, unit="document", mechanism="mixture", vocabulary="weighted"
    ).fit(texts)
    assert 2 <= fitted.n_topics_ <= len(fitted.vocabulary_) == 4
    assert fitted.guarantee_.epsilon == pytest.approx(2.0)
