"""One unit more or less moves what a mechanism adds noise to by no more than its noise is made for, in every corpus."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.topics.embedded import EmbeddedTopics
from dptopics.mechanisms.topics.mixture import MixtureTopics
from dptopics.mechanisms.topics.spectral import SpectralTopics
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary, PolicyVocabulary
from dptopics.mechanisms.vocabulary.threshold import CountVocabulary, WeightedVocabulary
from dptopics.privacy import noise

WORDS = ["church", "doctor", "engine", "hockey", "music", "river", "window", "yellow"]
PUBLIC = Vocabulary.of(WORDS[:6])
DOCUMENT = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(1, 10_000)), min_size=1, max_size=8)
UNIT = st.lists(DOCUMENT, min_size=1, max_size=4)
CORPUS = st.lists(UNIT, min_size=1, max_size=6)
POSITION = st.integers(0, 6)


@pytest.fixture(autouse=True)
def without_noise(monkeypatch):
    for kind in ("gaussian", "laplace"):
        monkeypatch.setattr(noise, kind, lambda rng, scale, size: np.zeros(size, np.int64))


class Observed:
    """A bounded corpus that keeps the sums that were asked of it."""

    def __init__(self, corpus, seen=None):
        self.corpus = corpus
        self.seen = [] if seen is None else seen

    def __getattr__(self, name):
        return getattr(self.corpus, name)

    def limited(self, **limits):
        return type(self)(self.corpus.limited(**limits), self.seen)

    def bounded_sum(self, statistic, **settings):
        exact = self.corpus.bounded_sum(statistic, **settings)
        self.seen.append({word: exact[row].tolist() for row, word in enumerate(self.corpus.words)})
        return exact


def neighbours(others, unit, position, by, **bounds):
    """Two corpora, the first with one author (or document) more, put somewhere among the others."""

    def corpus(units):
        rows = [(author, document) for author, documents in units for document in documents]
        counts = np.zeros((len(rows), len(WORDS)), np.int64)
        for row, (_, document) in enumerate(rows):
            for word, count in document:
                counts[row, WORDS.index(word)] += count
        authors = [author for author, _ in rows] if by == "author" else None
        return Observed(Corpus.from_counts(counts, WORDS, authors=authors).bounded(unit=by, **bounds))

    named = [(f"author {number}", documents) for number, documents in enumerate(others)]
    new = ("new author", unit if by == "author" else unit[:1])
    return corpus([*named[:position], new, *named[position:]]), corpus(named)


def squared_distance(first, second):
    """Σ of squared differences of two sums, word by word, in whole numbers."""
    total = 0
    for word in first.keys() | second.keys():
        width = len(first.get(word) or second.get(word))
        pairs = zip(first.get(word, [0] * width), second.get(word, [0] * width), strict=True)
        total += sum((a - b) ** 2 for a, b in pairs)
    return total


@settings(max_examples=100, deadline=None)
@given(CORPUS, UNIT, POSITION, st.sampled_from(["author", "document"]), st.integers(1, 9), st.integers(1, 3))
def test_vocabulary_weights_move_by_at_most_one(others, unit, position, by, max_words, max_docs):
    mechanism = WeightedVocabulary(scale=1.0, tail=1e-3, max_words=max_words, delta=1e-2, unit=by)
    rng = np.random.default_rng(0)
    corpora = neighbours(others, unit, position, by, max_docs=max_docs)
    for corpus in corpora:
        mechanism(corpus, rng)
    (first,), (second,) = (corpus.seen for corpus in corpora)
    limit = Fraction(1) / Fraction(mechanism.grid)
    assert squared_distance(first, second) <= limit**2
    # Not only bounded: at most max_words words move, each by the same amount, and none goes down.
    moves = [first[word][0] - second[word][0] for word in first]
    assert sum(move != 0 for move in moves) <= max_words
    assert len({move for move in moves if move}) <= 1
    assert min(moves) >= 0


@settings(max_examples=60, deadline=None)
@given(CORPUS, UNIT, POSITION, st.sampled_from(["author", "document"]), st.integers(1, 9))
def test_words_beside_public_ones_move_by_at_most_one(others, unit, position, by, max_words):
    mechanism = WeightedVocabulary(
        scale=1.0, tail=1e-3, max_words=max_words, delta=1e-2, unit=by, public_vocabulary=PUBLIC
    )
    corpora = neighbours(others, unit, position, by)
    for corpus in corpora:
        mechanism(corpus, np.random.default_rng(0))
    (first,), (second,) = (corpus.seen for corpus in corpora)
    assert squared_distance(first, second) <= (Fraction(1) / Fraction(mechanism.grid)) ** 2
    assert not any(first[word][0] for word in first.keys() & set(PUBLIC.words))  # nothing is spent on them


def distance(first, second):
    """Σ of absolute differences of two sums, word by word, in whole numbers."""
    return sum(abs(first.get(word, [0])[0] - second.get(word, [0])[0]) for word in first.keys() | second.keys())


SUMS = [
    (WeightedVocabulary, "laplace", lambda max_words: 1),
    (CountVocabulary, "gaussian", lambda max_words: max_words),  # squared
    (CountVocabulary, "laplace", lambda max_words: max_words),
]


@pytest.mark.parametrize("kind, law, allowed", SUMS)
@settings(max_examples=60, deadline=None)
@given(CORPUS, UNIT, POSITION, st.sampled_from(["author", "document"]), st.integers(1, 9), st.integers(1, 3))
def test_other_sums_move_by_their_bound(kind, law, allowed, others, unit, position, by, max_words, max_docs):
    mechanism = kind(scale=1.0, tail=1e-3, max_words=max_words, delta=1e-2, unit=by, noise=law)
    corpora = neighbours(others, unit, position, by, max_docs=max_docs)
    for corpus in corpora:
        mechanism(corpus, np.random.default_rng(0))
    (first,), (second,) = (corpus.seen for corpus in corpora)
    bound = Fraction(getattr(mechanism, "bound", 1.0)) / Fraction(mechanism.grid)
    moved = squared_distance(first, second) if law == "gaussian" else distance(first, second)
    assert moved <= (bound**2 if law == "gaussian" else bound)
    # And by what the noise is made for, less rounding: whole counts are whole.
    steps = 1 / Fraction(mechanism.grid)
    assert moved <= allowed(max_words) * (steps**2 if law == "gaussian" else steps)
    if kind is CountVocabulary:
        assert {first[word][0] - second.get(word, [0])[0] for word in first} <= {0, steps}


@pytest.mark.parametrize(
    "kind, law", [(PolicyVocabulary, "gaussian"), (PolicyVocabulary, "laplace"), (GreedyVocabulary, "laplace")]
)
@settings(max_examples=100, deadline=None)
@given(
    st.lists(UNIT, min_size=1, max_size=25),
    UNIT,
    POSITION,
    st.sampled_from(["author", "document"]),
    st.integers(1, 9),
    st.floats(0.05, 2.0),
    st.floats(0.0, 5.0),
)
def test_reacting_units_move_weights_by_one(kind, law, others, unit, position, by, max_words, scale, alpha):
    mechanism = kind(scale=scale, tail=0.1, max_words=max_words, delta=0.5, unit=by, noise=law, alpha=alpha)
    weights = []
    for corpus in neighbours(others, unit, position, by):
        limited = corpus.limited(max_words=max_words)
        weight, owned = mechanism.weights(limited)
        weights.append(dict(zip(limited.words, zip(weight.tolist(), owned.tolist(), strict=True), strict=True)))
    first, second = weights
    moves = [first[word][0] - second.get(word, (0, False))[0] for word in first]
    steps = 1 / Fraction(mechanism.grid)
    if law == "laplace":
        assert sum(map(abs, moves)) <= steps
    else:
        assert sum(move**2 for move in moves) <= (steps * Fraction(1 + mechanism.slack)) ** 2
    # Words that only the new unit holds: each gets its equal share at most (greedy: one gets all), so that the
    # threshold covers them. No other word becomes a candidate.
    lone = [first[word][0] for word in first if first[word][1] and not second.get(word, (0, False))[1]]
    assert len(lone) <= max_words
    if lone and kind is GreedyVocabulary:
        assert sum(weight > 0 for weight in lone) <= 1
    elif lone:
        assert max(lone) <= steps / Fraction(len(lone) ** (1 / mechanism.noise.norm)) + 1


@settings(max_examples=100, deadline=None)
@given(
    CORPUS,
    UNIT,
    POSITION,
    st.sampled_from(["author", "document"]),
    st.sampled_from([1.0, 0.3, 7.0]),
)
def test_first_step_of_topics_moves_by_at_most_clip(others, unit, position, by, clip):
    mechanism = VariationalTopics(n_topics=3, sigma=1.0, delta=1e-2, steps=1, clip=clip, unit=by, size_share=0.0)
    corpora = neighbours(others, unit, position, by)
    for corpus in corpora:
        mechanism(corpus.limited(vocabulary=PUBLIC), np.random.default_rng(0))
    (first,), (second,) = (corpus.seen for corpus in corpora)
    assert squared_distance(first, second) <= (Fraction(clip) / Fraction(mechanism.grid)) ** 2


@settings(max_examples=30, deadline=None)
@given(CORPUS, UNIT, st.integers(0, 99))
def test_later_steps_move_by_at_most_clip_given_the_same_topics(others, unit, start):
    # A later step is a first step from other public topics: what the noisy past released.
    mechanism = VariationalTopics(n_topics=4, sigma=1.0, delta=1e-2, steps=1, start=start, size_share=0.0)
    corpora = neighbours(others, unit, 0, "author")
    for corpus in corpora:
        mechanism(corpus.limited(vocabulary=PUBLIC), np.random.default_rng(0))
    (first,), (second,) = (corpus.seen for corpus in corpora)
    assert squared_distance(first, second) <= Fraction(1) / Fraction(mechanism.grid) ** 2


def test_the_bound_is_reached():
    # A heavy unit uses all of its bound: the property above is not true for want of movement.
    for mechanism, public in (
        (WeightedVocabulary(scale=1.0, tail=1e-3, max_words=5, delta=1e-2), False),
        (VariationalTopics(n_topics=2, sigma=1.0, delta=1e-2, steps=1, size_share=0.0), True),
    ):
        corpora = neighbours([[[("church", 1)]]], [[("doctor", 9000)]], 1, "author")
        for corpus in corpora:
            mechanism(corpus.limited(vocabulary=PUBLIC) if public else corpus, np.random.default_rng(0))
        (first,), (second,) = (corpus.seen for corpus in corpora)
        assert squared_distance(first, second) > 0.9999 / mechanism.grid**2


def test_author_is_clipped_as_a_whole():
    # Many documents of one author count together, and no more than one.
    mechanism = VariationalTopics(n_topics=2, sigma=1.0, delta=1e-2, steps=1, size_share=0.0)
    documents = [[(word, 100)] for word in WORDS[:6]] * 5
    corpora = neighbours([[[("church", 1)]]], documents, 0, "author")
    for corpus in corpora:
        mechanism(corpus.limited(vocabulary=PUBLIC), np.random.default_rng(0))
    (first,), (second,) = (corpus.seen for corpus in corpora)
    assert squared_distance(first, second) <= 1 / mechanism.grid**2


class ObservedSums(Observed):
    """Keeps every sum with its bound in whole steps, whatever its rows stand for."""

    def bounded_sum(self, statistic, *, bound, grid, **settings):
        exact = self.corpus.bounded_sum(statistic, bound=bound, grid=grid, **settings)
        self.seen.append((exact, Fraction(bound) / Fraction(grid), statistic))
        return exact


class Replayed:
    """Answers with the sums of another run, and keeps its own: both runs take the same public path."""

    def __init__(self, corpus, answers):
        self.corpus, self.answers, self.seen = corpus, iter(answers), []

    def __getattr__(self, name):
        return getattr(self.corpus, name)

    def limited(self, **limits):
        self.corpus = self.corpus.limited(**limits)
        return self

    def bounded_sum(self, statistic, *, bound, grid, **settings):
        self.seen.append(self.corpus.bounded_sum(statistic, bound=bound, grid=grid, **settings))
        return next(self.answers)


SEVERAL_SUMS = {
    EmbeddedTopics: {"steps": 1, "dimensions": 4, "candidates": 4},  # all words, middle, start, one round, words, sizes
    MixtureTopics: {"steps": 4},  # all words, four rounds, sizes
}


@pytest.mark.parametrize("kind", SEVERAL_SUMS)
@pytest.mark.parametrize("by", ["author", "document"])
@settings(max_examples=40, deadline=None)
@given(CORPUS, UNIT, POSITION)
def test_every_sum_moves_by_at_most_its_bound(kind, by, others, unit, position):
    mechanism = kind(n_topics=2, sigma=1.0, delta=1e-2, unit=by, **SEVERAL_SUMS[kind])
    first, second = (c.corpus.limited(vocabulary=PUBLIC) for c in neighbours(others, unit, position, by))
    watched = ObservedSums(first)
    mechanism(watched, np.random.default_rng(0))
    other = Replayed(second, [exact for exact, _, _ in watched.seen])
    mechanism(other, np.random.default_rng(0))
    assert len(other.seen) == len(watched.seen) == 6
    for (exact, limit, _), twin in zip(watched.seen, other.seen, strict=True):
        moved = (exact - twin).ravel().tolist()
        assert sum(step * step for step in moved) <= limit**2


@pytest.mark.parametrize("by", ["author", "document"])
@settings(max_examples=25, deadline=None)
@given(CORPUS, UNIT, POSITION, st.sampled_from([None, 0.01, 0.2, 1.0]), st.sampled_from([2, 400]))
def test_spectral_sums_move_by_at_most_their_bounds(by, others, unit, position, bound, max_words):
    bounds = None if bound is None else (bound, bound**2, 0.008)
    mechanism = SpectralTopics(n_topics=2, sigma=1.0, delta=1e-2, unit=by, bounds=bounds, max_words=max_words)
    first, second = (
        c.corpus.limited(vocabulary=PUBLIC, max_words=max_words) for c in neighbours(others, unit, position, by)
    )
    watched = ObservedSums(first)
    mechanism(watched, np.random.default_rng(0))
    other = Replayed(second, [exact.copy() for exact, _, _ in watched.seen])
    mechanism(other, np.random.default_rng(0))
    assert len(other.seen) == len(watched.seen) == len(mechanism.guarantee.events)
    for (exact, limit, _), twin in zip(watched.seen, other.seen, strict=True):
        moved = (exact - twin).ravel().tolist()
        assert sum(step * step for step in moved) <= limit**2
