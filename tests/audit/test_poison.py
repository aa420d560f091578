"""Planted documents extract secrets from plain pipelines, and not from a private one."""

import json
import sys

import numpy as np
import pytest

from dptopics import cli
from dptopics.audit.poison import (
    PLAIN,
    Plant,
    PoisonAudit,
    Poisoned,
    Shown,
    Victim,
    _Guessed,
    _right,
    audit_by_poison,
    most_guessed,
    of_plan,
    with_documents,
)
from dptopics.audit.poison import _weights as given_weights
from dptopics.core.errors import InputError
from dptopics.data.corpus import Corpus
from dptopics.plan import Plan
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Unit

RNG = np.random.default_rng(0)
NAMES = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(400)]
TEXTS = [" ".join(RNG.choice(NAMES, 10, p=np.r_[np.full(200, 0.0045), np.full(200, 0.0005)])) for _ in range(300)]
CORPUS = Corpus.from_texts(TEXTS, authors=range(300))
QUICK = {"candidates": 8, "rehearsals": 2, "background": 150}


def private(epsilon):
    return of_plan(
        Plan.topics(
            mechanism="mixture", vocabulary="weighted", n_topics=3, epsilon=epsilon, delta=1e-6, unit=Unit.AUTHOR
        )
    )


@pytest.mark.parametrize("victim", PLAIN, ids=lambda victim: victim.name.split()[0])
def test_plain_pipelines_give_the_secret_away(victim):
    quick = victim._replace(plants=(Plant(10, 8), Plant(30, 8)))
    found = audit_by_poison([quick], CORPUS, runs=20, **QUICK)
    assert found.found[0].success > 0.6
    assert found.found[0].allowed is None
    assert str(found.summary().light) == "red"


def test_ours_stays_within_its_claim():
    victim = private(1.0)
    quick = victim._replace(plants=(Plant(0, 0, lift=400),))
    found = audit_by_poison([quick], CORPUS, runs=40, **QUICK).found[0]
    assert found.allowed == pytest.approx(np.e / 8, abs=1e-3)
    assert found.interval[0] <= found.allowed
    assert str(PoisonAudit((found,)).summary().light) != "red"


def test_the_attack_is_not_blind_to_a_release_without_noise():
    """The control: exact weights, with all candidates lifted into the vocabulary."""

    def exact(corpus, seed):
        weights = given_weights(corpus, np.arange(len(corpus.words)))
        return Shown(corpus.words, weights[None], weights)

    victim = Victim("exact", exact, (Plant(0, 0, lift=50),), private(1.0).claim)
    found = audit_by_poison([victim], CORPUS, runs=40, **QUICK)
    assert found.found[0].interval[0] > found.found[0].allowed
    assert "more than the claim allows" in found.summary().headline


def test_scores_beyond_the_usual_see_what_plain_ones_do_not():
    """Candidates that always score high hide the secret; an attacker who rehearsed takes that away."""
    rng = np.random.default_rng(0)
    runs = []
    for _ in range(60):
        secret = int(rng.integers(10))
        runs.append(
            _Guessed(secret, {"any": 100.0 * np.arange(10) + rng.normal(size=10) + 5 * (np.arange(10) == secret)})
        )
    chances = _right(runs)
    assert np.mean(chances["any"]) < 0.3
    assert np.mean(chances["any, beyond the usual"]) > 0.9


def test_a_target_that_says_nothing_else_is_drawn_out_at_a_large_epsilon():
    quick = private(100.0)._replace(plants=(Plant(0, 0, alone=60),))
    found = audit_by_poison([quick], CORPUS, runs=24, **(QUICK | {"rehearsals": 10})).found[0]
    assert found.success > 0.5


def best_guesser(epsilon, m):
    """Randomized response: the mechanism that attains the replace-one bound."""
    return np.exp(epsilon) / (np.exp(epsilon) + m - 1)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("m", [2, 10])
def test_the_bound_is_reached_and_never_passed(epsilon, m):
    replaced = most_guessed(_Claim(epsilon, 0.0, Relation.REPLACE), m)
    assert replaced == pytest.approx(best_guesser(epsilon, m))
    # Add-or-remove: without the unit a guess is uniform, with it the right one is e^ε times as likely.
    added = most_guessed(_Claim(epsilon, 0.0, Relation.ADD_OR_REMOVE), m)
    right = min(np.exp(epsilon) / m, 1 - np.exp(-epsilon) * (1 - 1 / m))
    assert added == pytest.approx(right)
    assert 1 / m < added <= most_guessed(_Claim(2 * epsilon, 0.0, Relation.REPLACE), m)


class _Claim:
    def __init__(self, epsilon, delta, relation):
        self.epsilon, self.delta, self.relation = epsilon, delta, relation


@pytest.mark.parametrize(
    "right, runs, light", [(9, 10, "red"), (40, 200, "amber"), (20, 200, "green"), (1, 10, "amber"), (0, 5, "amber")]
)
def test_lights(right, runs, light):
    """Green only where an extracted secret would have been detected."""
    found = Poisoned("x", right, runs, 10, Plant(1, 1), "any topic", 0.27)
    assert str(PoisonAudit((found,)).summary().light) == light


def test_planted_documents_are_new_authors():
    more = with_documents(CORPUS, [np.array([3, 1]), np.array([5])])
    assert more.n_documents == 302
    assert more.n_authors == 302
    np.testing.assert_array_equal(more.word[-3:], [1, 3, 5])


def test_what_cannot_be_attacked():
    with pytest.raises(InputError, match="too small for any statement"):
        audit_by_poison(PLAIN, Corpus.from_texts(["one two three four"] * 10))
    with pytest.raises(InputError, match="at least 2 candidates"):
        audit_by_poison(PLAIN, CORPUS, candidates=1)


def test_the_command(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    found = Poisoned("a pipeline", 9, 10, 10, Plant(10, 8), "any topic", None)
    monkeypatch.setattr("dptopics.audit.poison.audit_by_poison", lambda *_, **how: PoisonAudit((found,)))
    (tmp_path / "notes.csv").write_text("note\n" + "\n".join(TEXTS) + "\n")
    monkeypatch.setattr(sys, "argv", ["dptopics", "audit", "poison", "notes.csv", "--text", "note", "--out", "a"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code
    assert capsys.readouterr().out.startswith("RED: planted documents extract secrets")
    data = json.loads((tmp_path / "a" / "audit.json").read_text())
    assert data["not_for_release"] is True
    assert data["poison"][0]["interval"][0] == pytest.approx(0.555, abs=1e-3)
    assert "NOT FOR RELEASE" in (tmp_path / "a" / "audit.html").read_text()
