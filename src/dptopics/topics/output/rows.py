"""Rows of a topic-word matrix: the heaviest words of each, and noisy rows made distributions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.data.counts import Counts
from dptopics.learners import Learner, learn_anyway
from dptopics.learners.tensor import on_simplex
from dptopics.privacy.fields import Choice


class Post(Choice):
    """What is done to noisy rows: project to the simplex, cut off below zero and normalise, or nothing."""

    SIMPLEX = "simplex"
    CLIP = "clip"
    NONE = "none"


@dataclass(frozen=True)
class Topics:
    """A topic model as a function: topics × words; with ``top``, only the heaviest words of each topic, else zero."""

    learner: Learner
    n_topics: int
    top: int | None = None

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        """Learn."""
        topics = learn_anyway(self.learner, counts, self.n_topics)
        return topics if self.top is None else np.asarray(np.where(heaviest(topics, self.top), topics, 0.0))


def heaviest(topics: NDArray[Any], n: int) -> NDArray[np.bool_]:
    """Which n words of each topic are the heaviest; of equal ones the first."""
    chosen = np.zeros(topics.shape, bool)
    np.put_along_axis(chosen, np.argsort(-topics, axis=1, kind="stable")[:, :n], True, axis=1)
    return chosen


def tidy(rows: NDArray[np.float64], post: Post | str) -> NDArray[np.float64]:
    """Noisy rows as distributions. Post-processing: it sees the noisy rows alone.

    >>> tidy(np.array([[0.9, 0.4, -0.2]]), "simplex").round(3), tidy(np.array([[0.6, 0.2, -0.2]]), "clip").round(3)
    (array([[0.75, 0.25, 0.  ]]), array([[0.75, 0.25, 0.  ]]))
    """
    if Post(post) is Post.NONE:
        return rows
    if Post(post) is Post.SIMPLEX:
        return on_simplex(rows)
    above = np.maximum(rows, 0.0)
    total = above.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, above / np.where(total > 0, total, 1.0), 1 / rows.shape[1]))
