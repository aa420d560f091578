"""Planted topics come back, and noisy counts are read as Bayes would read them."""

import numpy as np
import pytest
from scipy import integrate
from scipy.optimize import linear_sum_assignment

from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.mechanism import calibrate
from dptopics.mechanisms.topics.best_of import VocabularyThenTopics
from dptopics.mechanisms.topics.gaussian import expected_given_noisy
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.threshold import WeightedVocabulary
from dptopics.privacy import noise
from dptopics.privacy.guarantee import Unit

GROUPS, PER_GROUP, DOCUMENTS = 4, 8, 3000
WORDS = [f"topic{group}word{word}" for group in range(GROUPS) for word in range(PER_GROUP)]
PLANTED = [set(WORDS[group * PER_GROUP : (group + 1) * PER_GROUP]) for group in range(GROUPS)]


@pytest.fixture(scope="module")
def counts():
    """A block matrix: every document has ten words of one group."""
    rng = np.random.default_rng(0)
    table = np.zeros((DOCUMENTS, len(WORDS)), np.int64)
    for row in table:
        group = rng.integers(GROUPS)
        np.add.at(row, group * PER_GROUP + rng.integers(PER_GROUP, size=10), 1)
    return table


def found(model):
    """Share of planted words among the heaviest of the best-matching topics (Hungarian method)."""
    tops = [set(words) for words in model.top_words(PER_GROUP)]
    overlap = np.array([[len(top & planted) for planted in PLANTED] for top in tops])
    return overlap[linear_sum_assignment(overlap, maximize=True)].sum() / len(WORDS)


def corpus(counts, unit, public):
    authors = [f"author {row // 2}" for row in range(DOCUMENTS)] if unit is Unit.AUTHOR else None
    return Corpus.from_counts(counts, WORDS, authors=authors, public_vocabulary=public).bounded()


def pipeline(unit, epsilon):
    template = VocabularyThenTopics(
        vocabulary=WeightedVocabulary.template(delta=1e-6, unit=unit, max_words=20).rescaled(2),
        topics=VariationalTopics.template(n_topics=GROUPS, delta=1e-6, unit=unit),
        delta=1e-6,
    )
    return calibrate(template, epsilon=epsilon)


@pytest.mark.parametrize("unit", [Unit.DOCUMENT, Unit.AUTHOR])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planted_topics_come_back(counts, unit, seed):
    # An author here has two documents, often of two topics: harder than it looks, so a little less is asked.
    mechanism = VariationalTopics.calibrated(n_topics=GROUPS, epsilon=8.0, delta=1e-6, unit=unit)
    model = mechanism(corpus(counts, unit, public=True), np.random.default_rng(seed)).value
    assert found(model) >= 0.95


@pytest.mark.parametrize("unit", [Unit.DOCUMENT, Unit.AUTHOR])
def test_pipeline_brings_planted_topics_back(counts, unit):
    mechanism = pipeline(unit, epsilon=8.0)
    model = mechanism(corpus(counts, unit, public=False), np.random.default_rng(1)).value
    assert model.vocabulary.words == tuple(sorted(WORDS))
    assert found(model) >= 0.95
    assert np.allclose(model.topic_word.sum(axis=1), 1)
    assert model.topic_share.sum() == pytest.approx(1)
    assert model.topic_share.min() > 0.15  # planted: a quarter each


def test_released_deviation_is_that_of_the_noise(counts):
    # The same word in the same topic differs from run to run by the noise alone.
    mechanism = VariationalTopics.calibrated(n_topics=GROUPS, epsilon=8.0, delta=1e-6, unit=Unit.DOCUMENT)
    data = corpus(counts, Unit.DOCUMENT, public=True)
    models = [mechanism(data, np.random.default_rng(seed)).value for seed in range(12)]
    for model in models:
        assert model.noise_std.shape == (GROUPS,)
        assert (model.noise_std > 0).all()
    matched = []
    for model in models:
        columns = [[model.vocabulary.index[word] for word in sorted(planted)] for planted in PLANTED]
        overlap = np.array([model.topic_word[:, group].sum(axis=1) for group in columns])
        topic_of = linear_sum_assignment(overlap, maximize=True)[1]
        matched.append([model.topic_word[topic, group] for topic, group in zip(topic_of, columns, strict=True)])
    spread = np.std(matched, axis=0).mean()
    assert 0.4 < spread / np.mean([model.noise_std for model in models]) < 2.5


def test_structure_survives_a_smaller_budget(counts):
    mechanism = VariationalTopics.calibrated(n_topics=GROUPS, epsilon=2.0, delta=1e-6, unit=Unit.DOCUMENT)
    model = mechanism(corpus(counts, Unit.DOCUMENT, public=True), np.random.default_rng(4)).value
    assert found(model) >= 0.9


def test_noise_without_data_finds_nothing():
    # The planted words are no accident of the public start: one document cannot be seen through the noise.
    data = Corpus.from_counts(np.eye(1, len(WORDS)), WORDS, public_vocabulary=True).bounded()
    mechanism = VariationalTopics.calibrated(n_topics=GROUPS, epsilon=1.0, delta=1e-6, unit=Unit.DOCUMENT)
    assert found(mechanism(data, np.random.default_rng(5)).value) < 0.75


# --- reading noisy counts ---


def posterior_mean(noisy, sigma, mean):
    """∫ x · prior(x) · likelihood(noisy | x) dx / ∫ prior · likelihood, prior exponential."""

    def density(x):
        return np.exp(-x / mean - 0.5 * ((noisy - x) / sigma) ** 2 + 0.5 * (max(noisy, 0.0) - noisy) ** 2 / sigma**2)

    top = max(noisy, 0.0) + 12 * sigma
    points = sorted({0.0, max(noisy - sigma**2 / mean, 0.0), max(noisy, 0.0)})
    weight = integrate.quad(density, 0, top, points=points, limit=400)[0]
    return integrate.quad(lambda x: x * density(x), 0, top, points=points, limit=400)[0] / weight


@pytest.mark.parametrize("sigma", [0.5, 2.0, 10.0])
def test_reading_noisy_counts_is_the_posterior_mean(sigma):
    rng = np.random.default_rng(6)
    noisy = rng.exponential(5.0, (12, 3)) + sigma * rng.normal(size=(12, 3))
    word_total = np.maximum(noisy.sum(axis=1), 0.5 * sigma * 3**0.5)
    share = np.maximum(noisy.sum(axis=0), 1e-9)
    share = np.clip(share / share.sum(), 0.2 / 3, 5 / 3)
    read = expected_given_noisy(noisy, sigma)
    for (row, column), value in np.ndenumerate(noisy):
        mean = max(word_total[row] * share[column], 1e-3 * sigma)
        assert read[row, column] == pytest.approx(posterior_mean(value, sigma, mean), rel=1e-5, abs=1e-6)


def test_little_noise_changes_little():
    exact = np.random.default_rng(7).uniform(1, 50, (20, 4))
    assert np.allclose(expected_given_noisy(exact, 1e-4), exact, atol=1e-6)


def test_readings_are_finite_and_not_negative():
    for sigma in (1e-3, 1.0, 1e3):  # noise does not go further out than forty deviations
        noisy = sigma * np.array([[-40.0, 0.0, 1e9], [-40.0, -40.0, -40.0], [-1.0, 0.0, 1.0]])
        read = expected_given_noisy(noisy, sigma)
        assert np.isfinite(read).all()
        assert (read >= 0).all()


def test_empty_cells_read_less_than_their_positive_part():
    noisy = 3.0 * np.random.default_rng(8).normal(size=(4000, 5))
    noisy[:10] += 500
    assert expected_given_noisy(noisy, 3.0)[10:].mean() < np.maximum(noisy[10:], 0).mean()


def test_start_is_public_and_changes_the_topics(counts, monkeypatch):
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: np.zeros(size, np.int64))
    data = corpus(counts, Unit.DOCUMENT, public=True)
    models = [
        VariationalTopics(n_topics=GROUPS, sigma=1.0, delta=1e-6, unit=Unit.DOCUMENT, steps=2, start=start)(
            data, np.random.default_rng(0)
        ).value
        for start in (0, 0, 1)
    ]
    assert np.array_equal(models[0].topic_word, models[1].topic_word)
    assert not np.array_equal(models[0].topic_word, models[2].topic_word)


def test_public_words_that_nobody_used_stay_small(counts):
    extra = [*WORDS, "unused"]
    table = np.pad(counts, ((0, 0), (0, 1)))
    data = Corpus.from_counts(table, extra, public_vocabulary=True).bounded()
    assert data.vocabulary == Vocabulary.of(extra)
    mechanism = VariationalTopics.calibrated(n_topics=GROUPS, epsilon=8.0, delta=1e-6, unit=Unit.DOCUMENT)
    model = mechanism(data, np.random.default_rng(9)).value
    assert model.topic_word[:, model.vocabulary.index["unused"]].max() < 0.03
