"""The best of several mechanisms: all are charged, scores are noisy and bounded, the better model wins."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spectral_theorems import recommended

from dptopics import Corpus, Unit
from dptopics.core.errors import InputError, NothingReleased, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.kernels.doc_topics import doc_shares, log_likelihoods
from dptopics.mechanisms.queries import grid_for
from dptopics.mechanisms.topics.best_of import BestOf, _Scores
from dptopics.mechanisms.topics.spectral import SpectralTopics
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.plan import Plan
from dptopics.privacy import noise
from dptopics.privacy.events import Gaussian, Relation
from dptopics.privacy.guarantee import Guarantee, Strength
from dptopics.privacy.rng import secure_rng
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

DELTA = 1e-3
WORDS = Vocabulary.of(["cast", "cream", "knee", "rash"])
GOOD = np.array([[0.5, 0.0, 0.5, 0.0], [0.0, 0.5, 0.0, 0.5]])
BAD = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
TEXTS = ["cast knee cast knee", "cream rash rash"] * 40
draw_gaussian = noise.gaussian


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """A mechanism that releases given topics, or nothing."""

    rows: tuple[tuple[float, ...], ...] | None
    sigma: float = 2.0
    delta: float = DELTA
    unit: Unit = Unit.DOCUMENT
    relation: Relation = Relation.ADD_OR_REMOVE
    strength: Strength = Strength.PROVED
    name: ClassVar[str] = "fixed"
    paper: ClassVar[str] = ""

    @property
    def guarantee(self):
        events = (Gaussian(self.sigma, relation=self.relation),)
        return Guarantee(events=events, delta=self.delta, unit=self.unit, strength=self.strength)

    def rescaled(self, factor):
        return replace(self, sigma=self.sigma * factor)

    def check(self, corpus):
        pass

    def __call__(self, corpus, rng):
        if self.rows is None:
            raise NothingReleased("nothing")
        topics = np.array(self.rows)
        model = TopicModel(topic_word=topics, vocabulary=WORDS, topic_share=np.ones(2) / 2, alpha=0.1)
        return Release.of(model, self, rng)


def fixed(topics, **more):
    return Fixed(rows=None if topics is None else tuple(map(tuple, topics)), **more)


def corpus_for(texts=TEXTS):
    return Corpus.from_texts(texts).bounded().limited(vocabulary=WORDS)


def test_better_model_wins_and_all_are_charged():
    for candidates in ((fixed(GOOD), fixed(BAD)), (fixed(BAD), fixed(None), fixed(GOOD))):
        mechanism = BestOf(candidates=candidates, sigma=3.0, delta=DELTA)
        release = mechanism(corpus_for(), secure_rng())
        np.testing.assert_array_equal(release.value.topic_word, GOOD)
        assert release.guarantee.events == (*[Gaussian(2.0)] * len(candidates), Gaussian(3.0))
        assert release.guarantee.strength is Strength.PROVED


def test_a_whole_is_as_strong_as_its_weakest_candidate():
    mechanism = BestOf(candidates=(fixed(GOOD), fixed(BAD, strength=Strength.CLAIMED)), sigma=1.0, delta=DELTA)
    assert mechanism.guarantee.strength is Strength.CLAIMED


def test_nothing_released_by_anyone():
    mechanism = BestOf(candidates=(fixed(None), fixed(None)), sigma=1.0, delta=DELTA)
    with pytest.raises(NothingReleased, match=r"none of the 2 candidates.*the budget was charged"):
        mechanism(corpus_for(), secure_rng())


@pytest.mark.parametrize(("relation", "times"), [(Relation.ADD_OR_REMOVE, 1), (Relation.REPLACE, 2)])
def test_scores_have_the_noise_that_is_priced(relation, times, monkeypatch):
    calls = []
    monkeypatch.setattr(noise, "gaussian", lambda rng, s, size: calls.append((s, size)) or draw_gaussian(rng, s, size))
    candidates = fixed(GOOD, relation=relation), fixed(BAD, relation=relation)
    BestOf(candidates=candidates, sigma=3.0, delta=DELTA, clip=0.5)(corpus_for(), np.random.default_rng(0))
    ((sigma, size),) = calls
    assert size == (1, 2)
    assert sigma * grid_for(0.5, 3.0 * times) == pytest.approx(3.0 * 0.5 * times)


DOCUMENT = st.lists(st.sampled_from(WORDS.words), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=50, deadline=None)
@given(st.lists(DOCUMENT, min_size=1, max_size=4), DOCUMENT)
def test_scores_move_by_at_most_the_clip(texts, more):
    alphas = 0.1, 0.1
    topics = tuple(np.ascontiguousarray((0.999 * rows + 0.001 / 4).T) for rows in (GOOD, BAD))
    sums = [
        corpus_for(rows).bounded_sum(_Scores(topics, alphas), bound=0.25, grid=2.0**-20)
        for rows in (texts, [*texts, more])
    ]
    moved = (sums[0] - sums[1]).ravel().tolist()
    assert sum(step * step for step in moved) <= (0.25 * 2**20) ** 2


RUNS, SIGMA = 800, 0.5
ERROR = 6 * np.sqrt(2 / RUNS + SIGMA**-2 / (4 * RUNS))  # six standard errors of the distance below


def apart(relation, first, second):
    """How far apart the scores on two corpora are, along the line between them, in deviations of the noise."""
    candidates = tuple(fixed(rows, relation=relation) for rows in (GOOD, BAD))
    mechanism = BestOf(candidates=candidates, sigma=SIGMA, delta=DELTA, clip=0.1)
    rng = np.random.default_rng(7)
    models = [candidate(None, rng).value for candidate in candidates]
    corpora = corpus_for(first), corpus_for(second)
    runs = [np.array([mechanism._scores(corpus, models, rng) for _ in range(RUNS)]) for corpus in corpora]
    line = runs[0].mean(axis=0) - runs[1].mean(axis=0)
    one, other = (run @ line for run in runs)
    return (one.mean() - other.mean()) / np.sqrt((one.var() + other.var()) / 2)


# Documents that only the good, and only the bad model explains: at the clip, in opposite directions.
LIKED, DISLIKED = "cast knee cast knee", "cast cream cast cream"


@pytest.mark.parametrize(
    ("relation", "first", "second"),
    [(Relation.ADD_OR_REMOVE, [LIKED], []), (Relation.REPLACE, [LIKED], [DISLIKED])],
)
def test_scores_of_neighbours_are_as_near_as_is_claimed(relation, first, second, monkeypatch):
    others = ["cast rash"] * 3
    near = apart(relation, others + first, others + second)
    assert abs(near - 1 / SIGMA) < ERROR < 0.2 / SIGMA
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: draw_gaussian(rng, sigma / 8, size))  # muted
    assert apart(relation, others + first, others + second) > 1 / SIGMA + ERROR


def test_log_likelihoods_against_a_slow_twin():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.ones(5), 3).T.copy()
    unit_start, doc_start = np.array([0, 2, 3, 4]), np.array([0, 2, 5, 5, 6])
    word, count = np.array([0, 3, 1, 2, 4, 4], np.int32), np.array([2.0, 1, 1, 5, 1, 3])
    shares = doc_shares(doc_start, word, count, topics, 0.5, 50, 1e-9)
    each = []
    for d in range(4):
        w, c = word[doc_start[d] : doc_start[d + 1]], count[doc_start[d] : doc_start[d + 1]]
        each.append(c @ np.log(topics[w] @ shares[d]) / c.sum() if c.size else np.nan)
    found = log_likelihoods(unit_start, doc_start, word, count, topics, 0.5, 50, 1e-9)
    np.testing.assert_allclose(found, [np.mean(each[:2]), 0.0, each[3]])


def test_calibration_splits_the_budget():
    settings = {"n_topics": 2, "delta": DELTA, "unit": Unit.DOCUMENT}
    templates = [SpectralTopics.template(**settings), VariationalTopics.template(**settings, steps=3)]
    mechanism = BestOf.calibrated(templates, epsilon=2.0, delta=DELTA, score_share=0.1)
    assert mechanism.guarantee.epsilon == pytest.approx(2.0, rel=1e-6)
    first, second = (sum(e.sigma**-2 * e.count for e in c.guarantee.events) for c in mechanism.candidates)
    assert first == pytest.approx(second)
    assert mechanism.sigma**-2 / (2 * first + mechanism.sigma**-2) == pytest.approx(0.1)
    assert mechanism.rescaled(2).guarantee.epsilon < 2


def test_refusals():
    two = fixed(GOOD), fixed(BAD)
    with pytest.raises(InputError, match="at least two candidates, got 1"):
        BestOf(candidates=two[:1], sigma=1.0, delta=DELTA)
    with pytest.raises(InputError, match="clip and sigma must be positive"):
        BestOf(candidates=two, sigma=1.0, delta=DELTA, clip=0.0)
    with pytest.raises(InputError, match="score_share must lie strictly"):
        BestOf.calibrated(two, epsilon=1.0, delta=DELTA, score_share=1.0)
    with pytest.raises(PrivacyError, match="same unit under the same relation"):
        BestOf(candidates=(two[0], fixed(BAD, relation=Relation.REPLACE)), sigma=1.0, delta=DELTA)
    words = tuple(fixed(rows, relation=Relation.REPLACE_WORD) for rows in (GOOD, BAD))
    with pytest.raises(PrivacyError, match="scores hide whole units"):
        BestOf(candidates=words, sigma=1.0, delta=DELTA)


def test_by_name():
    settings = {"n_topics": 2, "epsilon": 50.0, "delta": DELTA, "unit": Unit.DOCUMENT}
    mechanism = Plan.topics(mechanism="spectral, variational", vocabulary=WORDS, **settings).build()
    assert mechanism.guarantee.strength is Strength.PROVED
    assert mechanism.guarantee.epsilon == pytest.approx(50.0, rel=1e-6)
    model = mechanism(Corpus.from_texts(TEXTS).bounded(), np.random.default_rng(0)).value
    assert {frozenset(top) for top in model.top_words(2)} == {frozenset(("cast", "knee")), frozenset(("cream", "rash"))}
    with pytest.raises(InputError, match="one list of public words"):
        Plan.topics(mechanism="spectral,variational", **settings).build()
    with pytest.raises(InputError, match="one list of public words"):  # each would choose other words
        Plan.topics(mechanism="embedded,mixture", vocabulary="common+weighted", **settings).build()
    with pytest.raises(PrivacyError, match="same unit under the same relation"):
        Plan.topics(mechanism="spectral,spectral-1", vocabulary=WORDS, **settings).build()
    published = Plan.topics(mechanism="spectral-1,spectral-2", vocabulary=WORDS, **settings).build()
    assert published.guarantee.strength is Strength.NONE


@pytest.mark.parametrize(
    ("n_units", "n_words", "n_topics", "alpha0", "name"),
    [
        (100_000, 100, 5, 1.0, "spectral-1"),
        (1_000, 100, 5, 0.1, "spectral-1"),
        (1_000, 100, 5, 10.0, "spectral-2"),
        (100_000, 100, 100, 1.0, "spectral-3"),
        (10, 1_000, 5, 1.0, "spectral-4"),
    ],
)
def test_recommendation(n_units, n_words, n_topics, alpha0, name):
    found = recommended(n_units=n_units, n_words=n_words, n_topics=n_topics, alpha0=alpha0)
    assert found.name == name
    assert found.reason


def test_recommendation_needs_positive_numbers():
    with pytest.raises(InputError, match="must be positive"):
        recommended(n_units=0, n_words=1, n_topics=1, alpha0=1.0)
