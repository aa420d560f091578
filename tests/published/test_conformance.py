"""What every reproduction must do, whatever its strength, and its refusals: a short tests/privacy/test_mechanism.py."""

import json
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from charging import charged
from dptopics import Corpus, PrivateTopics
from dptopics.core import progress
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.ledger.ledger import Ledger, Unrecorded
from dptopics.mechanisms.mechanism import calibrate
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Strength, Unit
from dptopics.privacy.rng import secure_rng
from dptopics.published.fdptm import ZhaoTopics, ZhuTopics
from dptopics.published.gibbs import LaplaceCountsTopics
from dptopics.published.spectral import (
    SpectralComponentsTopics,
    SpectralMomentsTopics,
    SpectralOutputTopics,
    SpectralTensorTopics,
)
from dptopics.registry import catalogue, mechanisms
from dptopics.release import bundle

DELTA = 1e-3
TEXTS = ["fracture knee", "fracture knee cast", "rash skin", "rash skin cream", "rash skin knee"] * 12
AUTHORS = [f"author {row // 2}" for row in range(len(TEXTS))]
WORDS = Vocabulary.of(["cast", "cream", "fracture", "knee", "rash", "skin"])
MECHANISMS = {
    "zhu": lambda unit: ZhuTopics(n_topics=2, epsilon=1.0, delta=DELTA, unit=unit, steps=3),
    "zhao": lambda unit: ZhaoTopics(
        n_topics=2, epsilon_noise=1.0, epsilon_draws=1.0, delta=DELTA, unit=unit, steps=3
    ),
    "laplace-counts": lambda unit: LaplaceCountsTopics(n_topics=2, scale=2.0, delta=DELTA, unit=unit, steps=3),
    "spectral-1": lambda unit: SpectralMomentsTopics(n_topics=2, scale=0.01, delta=DELTA, unit=unit),
    "spectral-2": lambda unit: SpectralTensorTopics(**LITTLE_NOISE, unit=unit),
    "spectral-3": lambda unit: SpectralComponentsTopics(**LITTLE_NOISE, unit=unit),
    "spectral-4": lambda unit: SpectralOutputTopics(**LITTLE_NOISE, unit=unit),
}  # fmt: skip
LITTLE_NOISE = {"n_topics": 2, "scale": 1e-3, "delta": DELTA, "tail": 1e-4}  # with more, so few texts are refused
STRENGTH = dict.fromkeys(MECHANISMS, Strength.NONE) | {"zhao": Strength.CLAIMED, "spectral-1": Strength.CLAIMED}
refuted = pytest.mark.parametrize("name", [name for name in MECHANISMS if STRENGTH[name] is Strength.NONE])
EPSILON = {"spectral-2": 1e5, "spectral-3": 1e5, "spectral-4": 1e5}
every = pytest.mark.parametrize("name", MECHANISMS)
units = pytest.mark.parametrize("unit", Unit)


def corpus_for(unit, rows=None):
    rows = range(len(TEXTS)) if rows is None else rows
    authors = [AUTHORS[row] for row in rows] if unit is Unit.AUTHOR else None
    return Corpus.from_texts([TEXTS[row] for row in rows], authors).bounded(unit=unit).limited(vocabulary=WORDS)


def test_all_reproductions_are_here():
    """Those of published/ that work by themselves; noise on the output of learners has tests of its own."""
    reproductions = {name for name, kind in mechanisms("topics").items() if ".published." in kind.__module__}
    assert reproductions == {*MECHANISMS, "laplace", "mvg"}


@every
@units
def test_fields_and_guarantee(name, unit):
    mechanism = MECHANISMS[name](unit)
    assert all(field.kw_only for field in fields(mechanism))
    with pytest.raises(FrozenInstanceError):
        mechanism.delta = 0.5
    guarantee = mechanism.guarantee
    assert (guarantee.unit, guarantee.delta, guarantee.strength) == (unit, DELTA, STRENGTH[name])
    assert guarantee.assumptions
    assert mechanism.rescaled(1) == replace(mechanism) == mechanism
    assert mechanism.rescaled(2).guarantee.epsilon < guarantee.epsilon < mechanism.rescaled(0.5).guarantee.epsilon


@every
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_calibration_hits_the_claim_from_below(name, epsilon):
    mechanism = calibrate(MECHANISMS[name](Unit.AUTHOR), epsilon=epsilon)
    assert epsilon * (1 - 1e-6) <= mechanism.guarantee.epsilon <= epsilon


@every
@units
def test_release(name, unit):
    mechanism = MECHANISMS[name](unit)
    release = mechanism(corpus_for(unit), secure_rng())
    assert release.guarantee == mechanism.guarantee  # a secure generator adds nothing
    np.testing.assert_allclose(release.value.topic_word.sum(axis=1), 1)
    assert release.value.topic_share.sum() == pytest.approx(1)
    text = json.dumps(release.settings, allow_nan=False)
    assert json.loads(text)["mechanism"] == name
    assert not [word for word in (*WORDS.words, "author 1") if word in text]


@every
@units
def test_same_seed_same_release_in_any_order_of_rows(name, unit):
    mechanism = MECHANISMS[name](unit)
    shuffled = np.random.default_rng(3).permutation(len(TEXTS)).tolist()
    first, second = (mechanism(corpus_for(unit, rows), np.random.default_rng(11)) for rows in (None, shuffled))
    np.testing.assert_array_equal(first.value.topic_word, second.value.topic_word)
    other = mechanism(corpus_for(unit), np.random.default_rng(12))
    assert (first.value.topic_word != other.value.topic_word).any()


@every
def test_progress_ends_at_one(name):
    shares = []
    with progress.shown_by(shares.append):
        MECHANISMS[name](Unit.AUTHOR)(corpus_for(Unit.AUTHOR), np.random.default_rng(0))
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


@every
def test_what_it_cannot_run_on(name):
    mechanism = MECHANISMS[name](Unit.AUTHOR)
    with pytest.raises(PrivacyError, match="bounded per document"):
        mechanism.check(corpus_for(Unit.DOCUMENT))
    with pytest.raises(PrivacyError, match="words of this corpus are private"):
        mechanism.check(Corpus.from_texts(TEXTS, AUTHORS).bounded())
    with pytest.raises(InputError, match="7 topics need at least as many words"):
        replace(mechanism, n_topics=7).check(corpus_for(Unit.AUTHOR))


# --- nobody gets them by accident ---


@every
def test_without_consent_nothing_runs(name):
    with pytest.raises(PrivacyError, match=rf"'{STRENGTH[name]}', not 'proved'.*--accept-unproven"):
        charged(Unrecorded(), MECHANISMS[name](Unit.AUTHOR), corpus_for(Unit.AUTHOR), secure_rng())


@refuted
def test_a_ledger_never_records_what_promises_nothing(name, tmp_path):
    mechanism = MECHANISMS[name](Unit.AUTHOR)
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=100, delta=1e-2, relation=mechanism.guarantee.relation)
    with pytest.raises(PrivacyError, match="guarantees nothing"):
        charged(ledger, mechanism, corpus_for(Unit.AUTHOR), secure_rng(), accept_unproven=True)
    assert ledger.receipts() == []


@refuted
def test_card_says_that_nobody_is_protected_and_why(name):
    guarantee = MECHANISMS[name](Unit.AUTHOR).guarantee
    card = " ".join(guarantee.card().split())
    assert "Protected nobody" in card
    assert "Nothing is guaranteed. Do not publish this." in card
    assert f"Beware - {'The topics are made from exact counts' if name == 'zhu' else 'The claim is refuted: '}" in card
    assert "every author" not in card
    assert guarantee.to_dict()["epsilon"] is None  # machines read no price either


@pytest.mark.parametrize("vocabulary", ["weighted", WORDS])
def test_whole_pipeline_of_zhu_is_none(vocabulary):
    pipeline = Plan.topics(
        mechanism="zhu", vocabulary=vocabulary, n_topics=2, epsilon=3.0, delta=DELTA, unit=Unit.AUTHOR
    ).build()
    assert pipeline.guarantee.strength is Strength.NONE
    assert 3 * (1 - 1e-6) <= pipeline.guarantee.epsilon <= 3
    if vocabulary == "weighted":  # the split is by ε alone of either part, as for other mechanisms
        assert 1 < pipeline.topics.epsilon < 3


def test_zhao_takes_public_words_only():
    settings = {"n_topics": 2, "epsilon": 3.0, "delta": DELTA, "unit": Unit.AUTHOR}
    with pytest.raises(PrivacyError, match="list of public words"):
        Plan.topics(mechanism="zhao", vocabulary="weighted", **settings).build()
    mechanism = Plan.topics(mechanism="zhao", vocabulary=WORDS, steps=4, **settings).build()
    assert (mechanism.vocabulary, mechanism.steps) == (WORDS, 4)
    assert mechanism.guarantee.epsilon == pytest.approx(3)


def test_catalogue_tells_their_strength():
    rows = {row["name"]: row for row in catalogue()}
    assert (rows["zhu"]["strength"], rows["zhao"]["strength"]) == ("none", "claimed")
    assert rows["zhu"]["unit"] == "nobody"
    assert (rows["zhao"]["unit"], rows["zhao"]["relation"]) == ("single words", "replace-word")
    assert {rows[name]["unit"] for name in MECHANISMS if STRENGTH[name] is Strength.NONE} == {"nobody"}
    assert {rows[name]["unit"] for name in ("bits", "pair", "three-words")} == {"document"}


@every
def test_estimator(name, tmp_path):
    settings = {"epsilon": EPSILON.get(name, 3.0), "delta": DELTA, "mechanism": name, "vocabulary": WORDS}
    settings |= {} if name.startswith("spectral") else {"settings": {"steps": 3}}
    with pytest.raises(PrivacyError, match="accept_unproven=True"):
        PrivateTopics(2, **settings).fit(TEXTS, authors=AUTHORS)
    model = PrivateTopics(2, **settings, accept_unproven=True).fit(TEXTS, authors=AUTHORS)
    assert model.guarantee_.strength is STRENGTH[name]
    again = bundle.load(model.save(tmp_path / "release"))
    assert again.guarantee == model.guarantee_
    readme = (tmp_path / "release" / "README.txt").read_text("utf-8")
    assert ("Nothing is guaranteed" in readme) == (STRENGTH[name] is Strength.NONE)
    assert ("single words; NOT documents" in readme) == (name == "zhao")


@every
def test_command_line(name, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from dptopics.cli import app

    monkeypatch.chdir(tmp_path)
    lines = ["patient,note", *(f"{author},{text}" for author, text in zip(AUTHORS, TEXTS, strict=True))]
    (tmp_path / "notes.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "words.txt").write_text("\n".join(WORDS.words) + "\n", "utf-8")
    options = {
        "text": "note",
        "author": "patient",
        "epsilon": EPSILON.get(name, 3),
        "delta": DELTA,
        "topics": 2,
        "vocabulary": "words.txt",
    }
    command = ["fit", "notes.csv", "--mechanism", name, "--out", "r"]
    command += [str(part) for key, value in options.items() for part in (f"--{key}", value)]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code != 0
    assert not (tmp_path / "r").exists()
    done = CliRunner().invoke(app, [*command, "--accept-unproven"])
    assert done.exit_code == 0, done.output
    shown = " ".join(done.output.replace("│", " ").split())
    assert ("Nothing is guaranteed" if STRENGTH[name] is Strength.NONE else "If the claim is true") in shown
