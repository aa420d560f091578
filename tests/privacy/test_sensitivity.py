"""One unit more or less moves what a mechanism adds noise to by no more than its noise is made for, in every corpus."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptopics import noise
from dptopics.corpus import Corpus
from dptopics.release import Vocabulary
from dptopics.topics.variational import VariationalTopics
from dptopics.vocabulary.weighted import WeightedVocabulary

WORDS = [f"word{letter}" for letter in "abcdefgh"]
PUBLIC = Vocabulary.of(WORDS[:6])
DOCUMENT = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(1, 10_000)), min_size=1, max_size=8)
UNIT = st.lists(DOCUMENT, min_size=1, max_size=4)
CORPUS = st.lists(UNIT, min_size=1, max_size=6)
POSITION = st.integers(0, 6)


@pytest.fixture(autouse=True)
def without_noise(monkeypatch):
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: np.zeros(size, np.int64))


class Observed:
    """A bounded corpus that keeps the sums that were asked of it."""

    def __init__(self, corpus, seen=None):
        self.corpus = corpus
        self.seen = [] if seen is None else seen

    def __getattr__(self, name):
        return getattr(self.corpus, name)

    def limited(self, **limits):
        return Observed(self.corpus.limited(**limits), self.seen)

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
    mechanism = WeightedVocabulary(sigma=1.0, tail=1e-3, max_words=max_words, delta=1e-2, unit=by)
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


@settings(max_examples=100, deadline=None)
@given(
    CORPUS,
    UNIT,
    POSITION,
    st.sampled_from(["author", "document"]),
    st.sampled_from([1.0, 0.3, 7.0]),
)
def test_first_step_of_topics_moves_by_at_most_clip(others, unit, position, by, clip):
    mechanism = VariationalTopics(n_topics=3, sigma=1.0, delta=1e-2, steps=1, clip=clip, unit=by)
    corpora = neighbours(others, unit, position, by)
    for corpus in corpora:
        mechanism(corpus.limited(vocabulary=PUBLIC), np.random.default_rng(0))
    (first,), (second,) = (corpus.seen for corpus in corpora)
    assert squared_distance(first, second) <= (Fraction(clip) / Fraction(mechanism.grid)) ** 2


@settings(max_examples=30, deadline=None)
@given(CORPUS, UNIT, st.integers(0, 99))
def test_later_steps_move_by_at_most_clip_given_the_same_topics(others, unit, start):
    # A later step is a first step from other public topics: what the noisy past released.
    mechanism = VariationalTopics(n_topics=4, sigma=1.0, delta=1e-2, steps=1, start=start)
    corpora = neighbours(others, unit, 0, "author")
    for corpus in corpora:
        mechanism(corpus.limited(vocabulary=PUBLIC), np.random.default_rng(0))
    (first,), (second,) = (corpus.seen for corpus in corpora)
    assert squared_distance(first, second) <= Fraction(1) / Fraction(mechanism.grid) ** 2


def test_the_bound_is_reached():
    # A heavy unit uses all of its bound: the property above is not true for want of movement.
    for mechanism, public in (
        (WeightedVocabulary(sigma=1.0, tail=1e-3, max_words=5, delta=1e-2), False),
        (VariationalTopics(n_topics=2, sigma=1.0, delta=1e-2, steps=1), True),
    ):
        corpora = neighbours([[[("worda", 1)]]], [[("wordb", 9000)]], 1, "author")
        for corpus in corpora:
            mechanism(corpus.limited(vocabulary=PUBLIC) if public else corpus, np.random.default_rng(0))
        (first,), (second,) = (corpus.seen for corpus in corpora)
        assert squared_distance(first, second) > 0.9999 / mechanism.grid**2


def test_author_is_clipped_as_a_whole():
    # Many documents of one author count together, and no more than one.
    mechanism = VariationalTopics(n_topics=2, sigma=1.0, delta=1e-2, steps=1)
    documents = [[(word, 100)] for word in WORDS[:6]] * 5
    corpora = neighbours([[[("worda", 1)]]], documents, 0, "author")
    for corpus in corpora:
        mechanism(corpus.limited(vocabulary=PUBLIC), np.random.default_rng(0))
    (first,), (second,) = (corpus.seen for corpus in corpora)
    assert squared_distance(first, second) <= 1 / mechanism.grid**2
