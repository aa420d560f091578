"""Topic models without privacy: fast, deterministic functions from counts to a topic-word matrix."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dptopics.counts import Counts
from dptopics.errors import InputError


class Learner(Protocol):
    """Any callable from counts to a topics × words matrix whose rows sum to one."""

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        """Learn."""
        ...


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


def check_topics(n_topics: int, alpha: float, beta: float) -> None:
    """Settings that every LDA needs."""
    if n_topics < 2:
        raise InputError(f"n_topics must be at least 2, got {n_topics}.")
    if not (0 < alpha < np.inf and 0 < beta < np.inf):
        raise InputError(f"alpha and beta must be positive numbers, got {alpha} and {beta}.")
