"""Counts of hashed pairs that a few liars cannot move far: no report gives a topic more than a limit."""

from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from dptopics.errors import InputError
from dptopics.kernels.local_hash import clipped_support
from dptopics.local.hashing import HashedPair, in_threads


@dataclass(frozen=True)
class ClippedPairs:
    """Unbiased counts of (topic, word) pairs from answers whose support of each topic is limited.

    A client chooses its seed itself, so a liar looks for one that puts many words of a topic into one bucket. Honest
    answers support V/g words of a topic on average; one that supports more than ``clip`` standard deviations above
    that is scaled down. What this does to honest answers is known exactly, and taken back: with n_v holders of the
    pair v, and n_k of all pairs of its topic,

        E[support of v] = n_v·A + (n_k − n_v)·B + (n − n_k)·C.

    >>> from dptopics.release.vocabulary import Vocabulary
    >>> words = Vocabulary(tuple(f"w{i:03}" for i in range(200)))
    >>> pair = HashedPair(vocabulary=words, topics=(("w001",),), epsilon=4.0)
    >>> clipped = ClippedPairs(pair, 1.0)
    >>> clipped.topic_influence < ClippedPairs(pair, 1e9).topic_influence / 20
    True
    """

    pair: HashedPair = field(repr=False)
    clip: float

    def __post_init__(self) -> None:
        if not self.clip >= 0.5:
            raise InputError(f"clip must be at least 0.5 standard deviations, got {self.clip}. 1 is a good choice.")

    @property
    def most(self) -> float:
        """Support that one answer may give to one topic."""
        n, q = len(self.pair.vocabulary), 1 / self.pair.hash.n_buckets
        return min(float(n), 1 + n * q + self.clip * sqrt(n * q * (1 - q)))

    @cached_property
    def _means(self) -> tuple[float, float, float]:
        """A, B and C: mean support by a holder of the pair, of another pair of its topic, of another topic."""
        n, g, keep = len(self.pair.vocabulary), self.pair.hash.n_buckets, self.pair.hash.keep
        return (
            keep * self._weight(1, n - 1),
            (keep * self._weight(2, n - 2) + (1 - keep) * self._weight(1, n - 2)) / g,
            self._weight(1, n - 1) / g,
        )

    def _weight(self, there: int, more: int, power: int = 1) -> float:
        """E[min(1, most/(there + X))^power], X the support among ``more`` other words."""
        from scipy.stats import binom  # slow to load: only who clips waits for it

        x = np.arange(max(0, more) + 1)
        chance = binom.pmf(x, max(0, more), 1 / self.pair.hash.n_buckets)
        return float(chance @ np.minimum(1.0, self.most / (there + x)) ** power)

    @property
    def _topic_step(self) -> float:
        """What one more holder adds to the support of a whole topic."""
        n, (a, b, c) = len(self.pair.vocabulary), self._means
        return a + (n - 1) * b - n * c

    @property
    def topic_influence(self) -> float:
        """The most that one report, however it was made, adds to the estimated number of a topic's holders."""
        return (self.most - len(self.pair.vocabulary) * self._means[2]) / self._topic_step

    @property
    def unit_deviation(self) -> float:
        """Standard deviation that one report adds to the estimated count of a rare pair."""
        n, (a, b, c) = len(self.pair.vocabulary), self._means
        square = self._weight(1, n - 1, power=2) / self.pair.hash.n_buckets
        return sqrt(square - c * c) / (a - b)

    def table(self, answers: NDArray[np.void]) -> NDArray[np.float64]:
        """Unbiased estimate of the topics × words table of drawn words."""
        n, (a, b, c) = len(self.pair.vocabulary), self._means

        def count(some: NDArray[np.void]) -> NDArray[np.float64]:
            part = np.zeros((len(self.pair.topics), n))
            seed, sent = np.ascontiguousarray(some["seed"]), np.ascontiguousarray(some["bucket"])
            clipped_support(seed, sent, self.pair.hash.n_buckets, self.most, part)
            return part

        total = np.sum(in_threads(count, answers), axis=0)
        holders = (total.sum(axis=1) - answers.size * n * c) / self._topic_step
        return np.asarray((total - holders[:, None] * b - (answers.size - holders[:, None]) * c) / (a - b))
