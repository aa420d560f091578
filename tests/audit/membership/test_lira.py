"""The attack finds members where there is something to find, and nothing where there is not."""

import json

import numpy as np
import pytest

from dptopics.audit.membership import models
from dptopics.audit.membership.models import of_learner, of_mechanism
from dptopics.audit.membership.rates import STATISTICS, Shadows, halves, train_shadows
from dptopics.audit.membership.scores import Attack, attack, threshold_attack
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.data.corpus import Corpus
from dptopics.learners.lda import GibbsLda
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Unit


def leaky_counts(n_documents=120, n_words=400, seed=0):
    """Documents with many rare words: a topic model memorises them."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.multinomial(25, rng.dirichlet(np.full(n_words, 0.05))) for _ in range(n_documents)])
    document, word = np.nonzero(rows)
    start = np.searchsorted(document, np.arange(n_documents + 1)).astype(np.int64)
    keys = np.arange(n_documents, dtype=np.uint64)
    return Counts(start, word.astype(np.int32), rows[document, word].astype(np.int32), n_words, keys)


LEARNER = GibbsLda(n_topics=4, sweeps=15)


def shadows_of(counts, n_shadows, **options):
    return train_shadows(of_learner(LEARNER, counts), counts, n_shadows=n_shadows, **options)


def test_halves():
    member = halves(11, 8, key=3)
    np.testing.assert_array_equal(member.sum(axis=0), np.full(11, 4))
    np.testing.assert_array_equal(member[::2], ~member[1::2])
    assert {5, 6} == set(member.sum(axis=1).tolist())


def test_memorised_documents_are_found():
    shadows = shadows_of(leaky_counts(), 24)
    for online in (True, False):
        found = attack(shadows, targets=12, online=online)
        assert found.area() > 0.8
    assert attack(shadows, targets=12).true_positive_rate(0.01) > 3 * 0.01
    assert attack(shadows, targets=12, statistics=STATISTICS).area() > 0.8
    baseline = threshold_attack(shadows, "negative entropy", targets=12)
    assert attack(shadows, targets=12).area() > baseline.area()


def test_a_model_that_sees_no_data_leaks_nothing():
    counts = leaky_counts(200)

    def blind(documents, seed):
        return np.random.default_rng(seed).dirichlet(np.ones(counts.n_words), 4)

    shadows = train_shadows(blind, counts, n_shadows=24)
    found = attack(shadows, targets=10)
    assert found.score.size == 2000
    # 2,000 documents: the area of a blind attack has a deviation of 0.013; five of those is a false alarm of 6e-7.
    assert abs(found.area() - 0.5) < 0.065


def test_whole_authors_are_in_or_out():
    counts = leaky_counts(120)
    author = np.repeat(np.arange(40, dtype=np.int32), 3)
    shadows = shadows_of(counts, 16, author=author)
    together = shadows.member.reshape(16, 40, 3)
    assert np.all(together.all(axis=2) == together.any(axis=2))
    found = attack(shadows, targets=8, author=author)
    assert found.score.size == 8 * 40
    assert found.area() > 0.8


@pytest.mark.parametrize("n_topics", (2, 9, 19, 32))
def test_models_trained_at_once_are_those_trained_alone(n_topics):
    counts = leaky_counts(30, 60)
    train = of_learner(GibbsLda(n_topics=n_topics, sweeps=4), counts)
    member = np.random.default_rng(n_topics).random((7, 30)) < 0.5
    together = train.together(member, range(5, 12))
    for own, seed, topics in zip(member, range(5, 12), together, strict=True):
        np.testing.assert_array_equal(topics, train(np.flatnonzero(own), seed))


def test_models_too_large_are_trained_alone(monkeypatch):
    counts = leaky_counts(30, 60)
    assert not hasattr(of_learner(GibbsLda(n_topics=33), counts), "together")
    monkeypatch.setattr(models, "_ROOM", 1000)
    assert not hasattr(of_learner(GibbsLda(n_topics=3), counts), "together")


def test_stopped_and_resumed(tmp_path):
    counts = leaky_counts(40)
    trained = []
    train = of_learner(LEARNER, counts)

    def stops(some, seed):
        if len(trained) == 5:
            raise KeyboardInterrupt
        trained.append(seed)
        return train(some, seed)

    with pytest.raises(KeyboardInterrupt):
        train_shadows(stops, counts, n_shadows=12, folder=tmp_path)
    before = len(list(tmp_path.glob("shadow-????.npz")))
    assert 0 < before < 12

    def goes_on(some, seed):
        trained.append(seed)
        return train(some, seed)

    resumed = train_shadows(goes_on, counts, n_shadows=12, folder=tmp_path)
    assert len(trained) == 5 + 12 - before
    whole = shadows_of(counts, 12)
    np.testing.assert_array_equal(resumed.statistics, whole.statistics)
    assert json.loads((tmp_path / "settings.json").read_text())["not_for_release"]
    with pytest.raises(InputError, match="other data or settings"):
        shadows_of(counts, 8, folder=tmp_path)
    with pytest.raises(InputError, match="other data or settings"):
        shadows_of(leaky_counts(41), 12, folder=tmp_path)


def test_rates_by_hand():
    scores = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    member = np.array([True, False, True, True, False, False])
    by_hand = Attack("x", scores, member)
    assert by_hand.true_positive_rate(0.0) == pytest.approx(1 / 3)
    assert by_hand.true_positive_rate(0.34) == pytest.approx(1.0)
    assert by_hand.area() == pytest.approx(7 / 9)
    assert by_hand.to_dict()["not_for_release"] is True
    low, high = by_hand.interval(0.34)
    assert 0 <= low <= high <= 1


def test_known_normals_give_the_log_likelihood_ratio():
    rng = np.random.default_rng(0)
    member = halves(50, 200, key=1)
    values = np.where(member, 2.0, 0.0) + rng.normal(size=member.shape)
    shadows = Shadows(member, np.repeat(values[:, :, None], len(STATISTICS), axis=2))
    found = attack(shadows, targets=200)
    exact = 2 * values.reshape(-1) - 2
    assert np.corrcoef(found.score, exact)[0, 1] > 0.98


def test_several_statistics_are_not_undone_by_one_that_piles_up():
    rng = np.random.default_rng(0)
    member = halves(400, 64, key=1)
    zeta = np.where(member, 3.0, 0.0) + rng.normal(size=member.shape)
    # Like θ̂ at a corner: nearly always the same, now and then far away, whether the document is in or not.
    piled = np.where(rng.random(member.shape) < 0.02, 30.0, 0.0) + 1e-3 * rng.normal(size=member.shape)
    shadows = Shadows(member, np.stack([zeta, piled, piled, piled], axis=2))
    alone, together = attack(shadows, targets=20), attack(shadows, targets=20, statistics=STATISTICS)
    assert together.true_positive_rate(0.001) > 0.7 * alone.true_positive_rate(0.001)


def test_a_single_topic_leaks_by_its_rare_words():
    counts = leaky_counts()

    def unigrams(documents, seed):
        part = counts.take(documents)
        total = np.bincount(part.word, weights=part.count, minlength=counts.n_words) + 0.01
        return (total / total.sum())[None]

    shadows = train_shadows(unigrams, counts, n_shadows=16)
    assert np.all(np.isfinite(shadows.statistics))
    for statistics in (["zeta"], STATISTICS):
        assert attack(shadows, targets=8, statistics=statistics).area() > 0.8
    assert np.all(np.isfinite(attack(shadows, targets=8, statistics=["standard deviation"]).score))


@pytest.mark.parametrize("n_shadows", [0, 2, 3, 5])
def test_too_few_or_odd_shadows(n_shadows):
    with pytest.raises(InputError, match="even and at least 4"):
        shadows_of(leaky_counts(10), n_shadows)


def test_bad_calls():
    with pytest.raises(InputError, match="at least 4 documents"):
        shadows_of(leaky_counts(3), 4)
    shadows = shadows_of(leaky_counts(10), 4)
    with pytest.raises(InputError, match="no statistic"):
        attack(shadows, statistics=["magic"])
    with pytest.raises(InputError, match="one statistic at a time"):
        attack(shadows, statistics=STATISTICS, online=False)
    with pytest.raises(InputError, match="targets must lie"):
        attack(shadows, targets=5)


def test_a_mechanism_can_be_attacked():
    corpus = Corpus.from_texts(
        ["knee pain running", "glasses eyes reading", "knee running shoes", "reading eyes light"] * 30,
        authors=[f"a{i}" for i in range(120)],
    )
    private = Plan.topics(
        mechanism="variational", vocabulary="weighted", n_topics=2, epsilon=8.0, delta=1e-5, unit=Unit.AUTHOR, steps=3
    ).build()
    shadows = train_shadows(of_mechanism(private, corpus), corpus.counts(), n_shadows=8)
    assert np.all(np.isfinite(shadows.statistics))
    assert attack(shadows, targets=8).area() < 0.7
    nothing = Plan.topics(
        mechanism="variational", vocabulary="weighted", n_topics=2, epsilon=0.05, delta=1e-5, unit=Unit.AUTHOR, steps=3
    ).build()
    empty = train_shadows(of_mechanism(nothing, corpus), corpus.counts(), n_shadows=4)
    assert np.all(np.isfinite(empty.statistics))
