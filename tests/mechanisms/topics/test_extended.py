"""Topics over more words by one histogram: sensitivity, noise, planted topics, refusals."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from dptopics import Corpus, Unit
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.kernels.doc_topics import doc_shares, words_by_shares
from dptopics.mechanisms.queries import grid_for
from dptopics.mechanisms.topics import spectral_extended
from dptopics.mechanisms.topics.spectral import SpectralTopics
from dptopics.mechanisms.topics.spectral_extended import ExtendedTopics, _WordsByShares
from dptopics.plan import Plan
from dptopics.privacy import noise
from dptopics.privacy.events import Gaussian
from dptopics.privacy.guarantee import Strength
from dptopics.privacy.rng import secure_rng
from dptopics.release.topic_model import TopicModel

DELTA = 1e-6
draw_gaussian = noise.gaussian


def planted(n=4000, d=60, k=3, seed=0):
    """Documents, their topics, and the words with their true weights."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.repeat([1.0, 0.2], [d // 3, d - d // 3]), k)
    counts = rng.multinomial(50, rng.dirichlet(np.full(k, 1 / k), n) @ topics)
    words = [f"w{i:03}" for i in range(d)]
    weighted = Vocabulary(tuple(words), tuple(counts.sum(axis=0).astype(float)))
    return Corpus.from_counts(counts, words).bounded().limited(vocabulary=weighted), topics


def mechanism_for(epsilon, k=3, **settings):
    fields = {"n_topics": k, "epsilon": epsilon, "delta": DELTA, "unit": Unit.DOCUMENT, "core_words": 20}
    return ExtendedTopics.calibrated(**fields | settings)


def distance(topics, found):
    apart = np.abs(topics[:, None] - found[None]).sum(axis=2)
    return apart[linear_sum_assignment(apart)].mean()


def test_planted_topics_come_back_over_all_words():
    corpus, topics = planted()
    bounds = (0.5, 0.25, 0.125)
    for epsilon, allowed in ((1e4, 0.1), (10.0, 0.2)):
        model = mechanism_for(epsilon, bounds=bounds)(corpus, np.random.default_rng(1)).value
        assert model.topic_word.shape == topics.shape
        assert distance(topics, model.topic_word) < allowed
        np.testing.assert_allclose(model.topic_word.sum(axis=1), 1)
        assert (model.topic_word > 0).all()


def test_without_other_words_it_is_the_core():
    corpus, _ = planted()
    mechanism = mechanism_for(10.0, core_words=60)
    whole = mechanism(corpus, np.random.default_rng(2)).value
    core = mechanism.core(corpus, np.random.default_rng(2)).value
    order = np.abs(whole.topic_word[:, None] - core.topic_word).sum(axis=2).argmin(axis=1)  # the largest come first
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(whole.topic_word, core.topic_word[order], atol=1e-5)


def test_histogram_has_the_noise_that_is_priced(monkeypatch):
    corpus, _ = planted(n=100)
    mechanism = replace(mechanism_for(1.0), sigma=3.0, clip=0.25)
    calls = []
    monkeypatch.setattr(noise, "gaussian", lambda rng, s, size: calls.append((s, size)) or draw_gaussian(rng, s, size))
    release = mechanism(corpus, secure_rng())
    sigma, size = calls[-2]
    assert size == (60 + 3, 3)
    assert sigma * grid_for(0.25, 3.0) == pytest.approx(3.0 * 0.25)
    assert len(calls) == len(release.guarantee.events) == 5
    assert release.guarantee.events[-2:] == (
        Gaussian(3.0, nonnegative=True),
        Gaussian(mechanism.size_sigma, nonnegative=True),
    )
    assert release.guarantee.strength is Strength.PROVED


WORDS = ["bone", "cast", "knee", "skin"]
KNOWN = np.array([0, -1, 1, -1], np.int32)
TOPICS = np.array([[0.9, 0.2], [0.1, 0.8]])
DOCUMENT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)


def bounded(documents, authors):
    counts = np.array([[document.count(word) for word in WORDS] for document in documents])
    return Corpus.from_counts(counts, WORDS, authors=authors, public_vocabulary=True).bounded()


@settings(max_examples=50, deadline=None)
@given(st.lists(DOCUMENT, min_size=1, max_size=4), st.lists(DOCUMENT, min_size=1, max_size=3))
def test_histogram_moves_by_at_most_the_clip(documents, more):
    names = [f"x{i}" for i in range(len(documents))]
    first, second = bounded(documents, names), bounded(documents + more, names + ["new"] * len(more))
    statistic = _WordsByShares(KNOWN, TOPICS, 0.1)
    one, two = (c.bounded_sum(statistic, bound=0.1, grid=2.0**-20) for c in (first, second))
    assert sum(step * step for step in (one - two).ravel().tolist()) <= (0.1 * 2**20) ** 2


def test_words_by_shares_against_a_slow_twin():
    unit_start, doc_start = np.array([0, 2, 3, 4]), np.array([0, 3, 5, 5, 6])
    word, count = np.array([0, 1, 2, 1, 3, 2], np.int32), np.array([2.0, 1, 1, 4, 1, 3])
    twin = np.zeros((3, 4 + 2, 2))
    for unit in range(3):
        documents = [d for d in range(unit_start[unit], unit_start[unit + 1]) if doc_start[d] < doc_start[d + 1]]
        for d in documents:
            w, c = word[doc_start[d] : doc_start[d + 1]], count[doc_start[d] : doc_start[d + 1]]
            seen = KNOWN[w] >= 0
            start = np.array([0, seen.sum()])
            theta = doc_shares(start, KNOWN[w][seen], c[seen], TOPICS, 0.1, 50, 1e-9)[0]
            np.add.at(twin[unit], w, np.outer(c / c.sum(), theta) / len(documents))
            twin[unit, 4:] += 0.05 * np.outer(theta, theta) / len(documents)
    start, rows, values = words_by_shares(unit_start, doc_start, word, count, KNOWN, TOPICS, 0.1, 0.05, 50, 1e-9)
    found = np.zeros_like(twin)
    np.add.at(found, (np.repeat(np.arange(3), np.diff(start)), rows), values)
    np.testing.assert_allclose(found, twin)


def watched(monkeypatch, documents, runs):
    """Noisy histograms of runs whose core is given, less the core's own noise."""
    core = TopicModel(
        topic_word=TOPICS.T, vocabulary=Vocabulary.of(["bone", "knee"]), topic_share=np.ones(2) / 2, alpha=0.1
    )
    seen = []

    def extend(sums, known, topics, noise_std):
        np.testing.assert_array_equal(known, KNOWN)
        seen.append(sums.ravel())
        return np.full((2, 4), 0.25), np.zeros(2)

    monkeypatch.setattr(spectral_extended, "_extended", extend)
    monkeypatch.setattr(SpectralTopics, "__call__", lambda self, corpus, rng: SimpleNamespace(value=core))
    mechanism = ExtendedTopics(
        core=SpectralTopics(n_topics=2, sigma=1.0, delta=DELTA), sigma=SIGMA, delta=DELTA, core_words=2
    )
    weighted = Vocabulary(tuple(WORDS), (4.0, 1.0, 3.0, 2.0))
    corpus = bounded(documents, [f"x{i}" for i in range(len(documents))]).limited(vocabulary=weighted)
    rng = np.random.default_rng(len(documents))
    for _ in range(runs):
        mechanism(corpus, rng)
    return np.array(seen)


RUNS, SIGMA = 800, 0.5
ERROR = 6 * np.sqrt(2 / RUNS + SIGMA**-2 / (4 * RUNS))  # six standard errors of the distance


def apart(monkeypatch):
    """How far apart histograms with and without a unit at the clip are, along the line between, in deviations."""
    others, unit = [["bone", "cast"], ["knee"]], ["bone"] * 5
    one, other = (watched(monkeypatch, documents, RUNS) for documents in ([*others, unit], others))
    # Noise in the line itself adds up over 12 numbers: take it from one half, and measure on the other.
    line = one[::2].mean(axis=0) - other[::2].mean(axis=0)
    one, other = one[1::2] @ line, other[1::2] @ line
    return (one.mean() - other.mean()) / np.sqrt((one.var() + other.var()) / 2)


def test_a_unit_is_no_more_visible_than_is_claimed(monkeypatch):
    assert 0.8 / SIGMA < apart(monkeypatch) < 1 / SIGMA + ERROR


def test_muted_twin_is_caught(monkeypatch):
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: draw_gaussian(rng, sigma / 8, size))
    assert apart(monkeypatch) > 1 / SIGMA + ERROR


def test_topics_depend_on_the_data_through_noisy_sums_only(monkeypatch):
    models = []
    for n, seed in ((50, 1), (80, 2)):
        corpus, _ = planted(n=n, seed=seed)
        vocabulary = Vocabulary(corpus.vocabulary.words, tuple(range(60)))  # the same words are the heaviest
        planned = np.random.default_rng(9)
        monkeypatch.setattr(noise, "gaussian", lambda rng, s, size, p=planned: p.integers(10**8, 10**9, size))
        monkeypatch.setattr(
            type(corpus),
            "bounded_sum",
            lambda self, statistic, **how: np.zeros((statistic.height, statistic.width), int),
        )
        models.append(mechanism_for(1.0)(corpus.limited(vocabulary=vocabulary), np.random.default_rng(0)).value)
    np.testing.assert_array_equal(models[0].topic_word, models[1].topic_word)
    np.testing.assert_array_equal(models[0].noise_std, models[1].noise_std)


def test_strange_data_gives_noise_but_no_error():
    vocabulary = Vocabulary(tuple(WORDS), (1.0, 2.0, 3.0, 4.0))
    for texts in (["bone"], ["cast skin"] * 20, ["bone cast knee skin"] * 20):
        corpus = Corpus.from_texts(texts).bounded().limited(vocabulary=vocabulary)
        model = mechanism_for(1.0, k=2, core_words=2)(corpus, np.random.default_rng(0)).value
        assert np.isfinite(model.topic_word).all()
        assert np.isfinite(model.noise_std).all()
        np.testing.assert_allclose(model.topic_word.sum(axis=1), 1)


def test_refusals():
    mechanism = mechanism_for(1.0)
    with pytest.raises(InputError, match="clip and sigma must be positive"):
        replace(mechanism, clip=0.0)
    with pytest.raises(InputError, match="core_words must be at least 2"):
        replace(mechanism, core_words=1)
    with pytest.raises(InputError, match="share and size_share must lie between 0 and 1"):
        mechanism_for(1.0, share=1.0)
    private = Corpus.from_texts(["bone cast knee"]).bounded()
    with pytest.raises(PrivacyError, match="words of this corpus are private"):
        mechanism.check(private)
    many = Vocabulary.of(f"w{i}" for i in range(21))
    with pytest.raises(InputError, match="21 words without weights"):
        mechanism.check(private.limited(vocabulary=many))
    with pytest.raises(InputError, match="3 topics need at least as many words"):
        replace(mechanism, core_words=2).check(planted(n=5)[0])


def test_by_name():
    texts = ["fracture knee cast bone", "rash skin cream itch"] * 300
    settings = {"n_topics": 2, "epsilon": 30.0, "delta": DELTA, "unit": Unit.DOCUMENT, "core_words": 6}
    pipeline = Plan.topics(mechanism="spectral-extended", vocabulary="weighted", **settings).build()
    assert pipeline.guarantee.epsilon == pytest.approx(30.0, rel=1e-6)
    model = pipeline(Corpus.from_texts(texts).bounded(), np.random.default_rng(0)).value
    assert {frozenset(top) for top in model.top_words(4)} == {frozenset(text.split()) for text in texts[:2]}
    assert len(model.vocabulary) == 8
    with pytest.raises(InputError, match="has no setting steps"):
        Plan.topics(mechanism="spectral-extended", steps=2, **settings).build()
    with pytest.raises(InputError, match="7 words without weights"):  # before anything is charged
        Plan.topics(mechanism="spectral-extended", vocabulary=Vocabulary.of("abcdefg"), **settings).build()
