"""Variational LDA on many data sets drawn from the same units: what they share is computed once. NOT FOR RELEASE.

topicdp.py fits 9,498 pairs of data sets with it. A data set of n units drawn with replacement holds some of them more
than once: these are looked at once, and count as often. And the first pass starts from public topics, so that what a
unit adds to it is the same in every data set. The result is that of ``VariationalLda`` but for the order of sums.
"""

import numpy as np
from numpy.typing import NDArray

from dptopics.kernels.doc_topics import expect, word_pull
from dptopics.kernels.simd import WIDTH
from dptopics.learners.lda import VariationalLda
from dptopics.mechanisms.topics.output_sensitivity import Units

Floats = NDArray[np.float64]


class SharedFits:
    """Fits of one learner on data sets drawn from ``units``; keeps units × words × topics numbers in memory."""

    def __init__(self, units: Units, learner: VariationalLda) -> None:
        assert learner.batch_size is None
        self.units, self.learner = units, learner
        self._count = units.counts.count.astype(np.float32)
        self._words = np.arange(units.counts.n_words)
        self._documents = [np.arange(*pair) for pair in zip(units.start[:-1], units.start[1:], strict=True)]
        self._start = self._pull(learner._start(units.counts.n_words))
        self._first = np.stack([self._expected(docs, self._start) for docs in self._documents])

    def _pull(self, weights: Floats) -> NDArray[np.float32]:
        k = self.learner.n_topics
        pull = np.zeros((self._words.size, -(-k // WIDTH) * WIDTH), np.float32)
        word_pull(weights, self._words, k, pull)
        return pull

    def _expected(self, documents: NDArray[np.int64], pull: NDArray[np.float32]) -> NDArray[np.float32]:
        one, counts, total = self.learner, self.units.counts, np.zeros_like(pull)
        start, word = counts.doc_start, counts.word
        settings = (one.alpha, one.n_topics, one.steps, one.tolerance)
        expect(documents, start, word, self._count, pull, *settings, total)
        return total

    def fit(self, drawn: NDArray[np.int64]) -> Floats:
        """Topics × words of the data set of these units; one may be drawn several times."""
        times = np.bincount(drawn, minlength=self.units.n)
        groups = [(t, np.concatenate([self._documents[u] for u in np.flatnonzero(times == t)]))
                  for t in np.unique(times[times > 0])]  # fmt: skip
        flat = self._first.reshape(self.units.n, -1)
        pull = self._start
        total = (times.astype(np.float32) @ flat).reshape(pull.shape).astype(np.float64)
        for _ in range(self.learner.passes - 1):
            pull = self._pull(self._weights(total, pull))
            total = sum(float(t) * self._expected(documents, pull) for t, documents in groups)
        topics = self._weights(total, pull).T
        return np.asarray(topics / topics.sum(axis=1, keepdims=True))

    def _weights(self, total: Floats, pull: NDArray[np.float32]) -> Floats:
        return np.asarray(self.learner.beta + (total * pull)[:, : self.learner.n_topics])

    def pair(self, n: int, lots: np.random.Generator) -> tuple[Floats, Floats]:
        """Fits on two neighbouring data sets of n units: those that ``draw_pair`` draws from ``DrawnUnits``."""
        drawn = lots.integers(0, self.units.n, n + 1)
        return self.fit(drawn[:-1]), self.fit(np.append(drawn[:-2], drawn[-1]))
