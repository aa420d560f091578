"""Count vocabulary: words that a noisy number of authors wrote."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import ClassVar

import numpy as np

from dptopics.data.bounded import BoundedCorpus
from dptopics.privacy.events import Noise
from dptopics.privacy.looks import grid_for
from dptopics.vocabulary.threshold import EqualWeights, ThresholdVocabulary, Weights, margin


@dataclass(frozen=True, kw_only=True)
class CountVocabulary(ThresholdVocabulary):
    """Release the words whose noisy number of authors clears a threshold.

    Each of a unit's distinct words, at most max_words, counts one: one unit moves the counts by L2 norm ≤ √max_words,
    L1 norm ≤ max_words. ``scale`` is the noise relative to that. Words that only one unit wrote all stay hidden with
    probability ≥ 1 − tail (Korolova et al. 2009; Wilson et al. 2020). Proof: docs/guarantees/count_vocabulary.md

    >>> mechanism = CountVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=50, noise="laplace")
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.threshold, 1)
    (1.0, 622.5)
    """

    name: ClassVar[str] = "count"
    paper: ClassVar[str] = "Korolova et al. 2009, Wilson et al. 2020"
    nonnegative: ClassVar[bool] = True

    @property
    def bound(self) -> float:
        """√max_words (Gaussian) or max_words (Laplace): rounded up to the grid, so that whole counts fit."""
        return ceil(self._norm / self.grid) * self.grid

    @property
    def threshold(self) -> float:
        """1 + scale · bound · what max_words draws of noise stay below."""
        return 1 + self.scale * self.bound * float(margin(self.noise, self.tail, np.array([self.max_words]))[0])

    @property
    def grid(self) -> float:
        """Step of the integers that are added up. Counts are whole, but a finer grid rounds the noise less."""
        return min(1.0, grid_for(self._norm, self.scale))

    @property
    def _norm(self) -> float:
        """Of max_words ones."""
        return sqrt(self.max_words) if self.noise is Noise.GAUSSIAN else float(self.max_words)

    def weights(self, corpus: BoundedCorpus) -> Weights:
        """One for each of a unit's words."""
        statistic = EqualWeights(len(corpus.words), 0)
        count = corpus.bounded_sum(statistic, bound=self.bound, grid=self.grid, norm=self.noise.norm)[:, 0]
        return Weights(count, count > 0)
