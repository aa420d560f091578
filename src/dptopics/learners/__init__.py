"""Topic models without privacy: fast, deterministic functions from counts to a topic-word matrix."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError


class Learner(Protocol):
    """Any callable from counts to a topics × words matrix whose rows sum to one."""

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        """Learn."""


def learn(learner: Learner, counts: Counts) -> NDArray[np.float64]:
    """Run a learner and refuse a result that is not a topic-word matrix."""
    topics = np.asarray(learner(counts), dtype=np.float64)
    if topics.ndim != 2 or topics.shape[1] != counts.n_words:
        raise InputError(
            f"a learner must return topics × {counts.n_words} words, got shape {topics.shape}. Give weights for "
            "every word of the vocabulary."
        )
    if not (np.all(topics >= 0) and np.allclose(topics.sum(axis=1), 1.0, atol=1e-6)):
        raise InputError(
            "the rows of a learner's matrix must be distributions: no negative entries, each row sums to 1."
        )
    return topics


def learn_anyway(learner: Learner, counts: Counts, n_topics: int) -> NDArray[np.float64]:
    """``n_topics`` distributions, whatever the data: uniform ones where the learner fails or gives anything else.

    For mechanisms: data on which a learner fails would otherwise be told from all other data, with certainty.
    """
    uniform = np.full((n_topics, counts.n_words), 1.0 / counts.n_words)
    try:
        topics = learn(learner, counts)
    except Exception:
        return uniform
    return topics if len(topics) == n_topics else uniform


def check_learner(learner: Learner, n_topics: int, n_words: int) -> None:
    """Refuse a learner that fails on invented documents: what fails whatever the data must not be charged for."""
    with progress.shown_by(lambda share: None):  # nothing of the work that people wait for
        topics = learn(learner, _invented(n_topics, n_words))
    if len(topics) != n_topics:
        raise InputError(f"the learner gives {len(topics)} topics where {n_topics} were asked for. Set it to that.")


def _invented(n_topics: int, n_words: int) -> Counts:
    """Long documents of one topic each, a topic being every n-th word, and some of several topics."""
    rng = np.random.Generator(np.random.PCG64(0))
    own = np.arange(n_words) % n_topics
    documents = []
    for topic in [*range(n_topics)] * 4:
        weight = np.where(own == topic, 1.0, 0.05) * rng.gamma(1.0, 1.0, n_words)
        documents.append(rng.multinomial(200, weight / weight.sum()))
    table = np.array(documents)
    row, word = np.nonzero(table)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(table)))])
    keys = rng.integers(0, 2**63, len(table), dtype=np.uint64)
    return Counts(start.astype(np.int64), word.astype(np.int32), table[row, word].astype(np.int32), n_words, keys)


def two_documents() -> Counts:
    """Two documents of fifty times one word each: the smallest corpus that has two topics, for examples."""
    word = np.arange(2, dtype=np.int32)
    return Counts(np.arange(3), word, np.full(2, 50, np.int32), 2, np.array([1, 2], np.uint64))


def check_topics(n_topics: int, alpha: float, beta: float) -> None:
    """Settings that every LDA needs."""
    if n_topics < 2:
        raise InputError(f"n_topics must be at least 2, got {n_topics}.")
    if not (0 < alpha < np.inf and 0 < beta < np.inf):
        raise InputError(f"alpha and beta must be positive numbers, got {alpha} and {beta}.")
