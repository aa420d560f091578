"""Topics from word counts alone, one per document: planted topics come back, noise has the scale that is priced."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from dptopics.core.errors import InputError, PrivacyError
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.topics.mixture import MixtureTopics
from dptopics.plan import Plan
from dptopics.privacy import noise
from dptopics.privacy.guarantee import Unit

GROUPS, PER_GROUP, DOCUMENTS = 4, 8, 3000
WORDS = [f"topic{group}word{word}" for group in range(GROUPS) for word in range(PER_GROUP)] + ["everywhere"]
PLANTED = [set(WORDS[group * PER_GROUP : (group + 1) * PER_GROUP]) for group in range(GROUPS)]


@pytest.fixture(scope="module")
def counts():
    """Every document has ten words of one group, and a word that all of them have, five times."""
    rng = np.random.default_rng(0)
    table = np.zeros((DOCUMENTS, len(WORDS)), np.int64)
    for number, row in enumerate(table):
        np.add.at(row, (number % GROUPS) * PER_GROUP + rng.integers(PER_GROUP, size=10), 1)
        row[-1] = 5
    return table


def corpus(counts, unit=Unit.DOCUMENT):
    # Two documents of an author are of the same group.
    authors = [f"author {row // 8} {row % 4}" for row in range(len(counts))] if unit is Unit.AUTHOR else None
    return Corpus.from_counts(counts, WORDS, authors=authors, public_vocabulary=True).bounded(unit=unit)


def found(model):
    tops = [set(words) for words in model.top_words(PER_GROUP + 1)]  # and the word of all
    overlap = np.array([[len(top & planted) for planted in PLANTED] for top in tops])
    return overlap[linear_sum_assignment(overlap, maximize=True)].sum() / (GROUPS * PER_GROUP)


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planted_topics_come_back(counts, unit, seed):
    # As in any clustering from a random start, two groups may share a topic: so there are two to spare.
    mechanism = MixtureTopics.calibrated(n_topics=GROUPS + 2, epsilon=8.0, delta=1e-6, unit=unit)
    model = mechanism(corpus(counts, unit), np.random.default_rng(seed)).value
    assert found(model) >= 0.95
    assert model.topic_share.sum() == pytest.approx(1)
    main = model.transform_counts(counts).argmax(axis=1)
    table = np.zeros((model.n_topics, GROUPS), int)
    np.add.at(table, (main, np.arange(DOCUMENTS) % GROUPS), 1)
    assert table.max(axis=1).sum() >= 0.99 * DOCUMENTS  # topics have documents of one group each


def test_common_words_weigh_less(counts, monkeypatch):
    """The word of all documents outweighs every other in the texts, and not in the sums of the rounds."""
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: np.zeros(size, np.int64))
    mechanism = MixtureTopics(n_topics=2, sigma=1.0, delta=1e-6, unit=Unit.DOCUMENT)
    data = corpus(counts)
    weight = mechanism._word_weights(data, np.random.default_rng(0))
    common = list(data.words).index("everywhere")
    assert weight[common] < 0.6 * np.delete(weight, common).min()


def test_noise_of_each_sum_is_what_the_guarantee_prices(counts, monkeypatch):
    drawn = []

    def spy(rng, sigma, size):
        drawn.append((sigma, size))
        return np.zeros(size, np.int64)

    monkeypatch.setattr(noise, "gaussian", spy)
    asked = []
    data = corpus(counts[:50])
    original = type(data).bounded_sum

    def watch(self, statistic, *, bound, grid, **more):
        asked.append((bound, grid))
        return original(self, statistic, bound=bound, grid=grid, **more)

    monkeypatch.setattr(type(data), "bounded_sum", watch)
    mechanism = MixtureTopics(n_topics=3, sigma=2.0, steps=4, delta=1e-6, unit=Unit.DOCUMENT, word_share=0.2)
    mechanism(data, np.random.default_rng(0))
    first, gaussian, sizes = mechanism.guarantee.events
    assert [size for _, size in drawn] == [(len(WORDS), 1)] + [(len(WORDS), 3)] * 4 + [(4, 1)]
    multipliers = [sigma * grid / bound for (sigma, _), (bound, grid) in zip(drawn, asked, strict=True)]
    assert multipliers == pytest.approx([first.sigma] + [gaussian.sigma] * gaussian.count + [sizes.sigma], rel=1e-12)
    # All together are one Gaussian of multiplier sigma.
    assert sum(m**-2 for m in multipliers) == pytest.approx(2.0**-2)


def test_released_deviation_is_that_of_the_noise(counts, monkeypatch):
    """Cells that nobody uses vary, before they are read as counts, by the deviation that the model states."""
    seen = []
    from dptopics.mechanisms.topics import gaussian

    read = gaussian.expected_given_noisy

    def watch(average, sigma):
        seen.append((average, sigma))
        return read(average, sigma)

    monkeypatch.setattr(gaussian, "expected_given_noisy", watch)
    table = np.zeros((5, 2000), int)
    table[0, 0] = 1
    empty = Corpus.from_counts(table, [f"w{i}" for i in range(2000)], public_vocabulary=True)
    mechanism = MixtureTopics(n_topics=2, sigma=3.0, delta=1e-6, unit=Unit.DOCUMENT)
    mechanism(empty.bounded(unit=Unit.DOCUMENT), np.random.default_rng(1))
    average, sigma = seen[-1]
    assert average.std() == pytest.approx(sigma, rel=0.05)


def test_settings_are_checked(counts):
    good = {"n_topics": 2, "sigma": 1.0, "delta": 1e-6}
    for bad in (
        {"n_topics": 1},
        {"steps": 0},
        {"word_share": 0.0},
        {"word_share": 1.0},
        {"sharpness": 0.0},
        {"alpha": -1.0},
    ):
        with pytest.raises(InputError):
            MixtureTopics(**(good | bad))
    with pytest.raises(PrivacyError, match="Put a vocabulary in front"):
        MixtureTopics(**good, unit="document")(Corpus.from_texts(["knee"]).bounded(), np.random.default_rng(0))
    with pytest.raises(InputError, match="40 topics need"):
        MixtureTopics(**(good | {"n_topics": 40}), unit="document")(corpus(counts), np.random.default_rng(0))


def test_documents_without_known_words_are_no_trouble():
    table = np.zeros((40, 3), int)
    table[:20, 0] = 5
    data = Corpus.from_counts(table, ["a1", "b1", "c1"], public_vocabulary=True).bounded(unit="document")
    model = MixtureTopics(n_topics=2, sigma=0.5, delta=1e-6, unit="document")(data, np.random.default_rng(0)).value
    assert np.isfinite(model.topic_word).all()


def test_is_the_default_for_word_counts():
    mechanism = Plan.topics(
        mechanism=None, n_topics=2, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR
    ).build()  # no texts: no embeddings
    assert mechanism.topics.name == "mixture"
    assert mechanism.guarantee.epsilon == pytest.approx(1.0)
