"""Weighted vocabulary: words whose noisy author weight clears a threshold."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from dptopics.data.bounded import BoundedCorpus
from dptopics.privacy.card import PUBLIC_BESIDES
from dptopics.privacy.guarantee import Guarantee
from dptopics.release.vocabulary import Vocabulary
from dptopics.vocabulary.threshold import EqualWeights, ThresholdVocabulary, Weights, equal_split_threshold


@dataclass(frozen=True, kw_only=True)
class WeightedVocabulary(ThresholdVocabulary):
    """Release the words whose noisy author weight clears a threshold.

    A unit with t ≤ max_words distinct words gives each 1/√t under Gaussian noise, 1/t under Laplace noise: one unit
    moves the weights by L2 (L1) norm ≤ 1. Words that only that unit wrote all stay hidden with probability ≥ 1 − tail
    (Gopi et al. 2020, algorithms 3 and 4). ``scale`` is the noise's deviation, or mean magnitude. ``max_size`` keeps
    the heaviest words by *noisy* weight. Words of ``besides`` are public and released in any case; units spend nothing
    on them, so that more is left for names and terms. Proof: docs/guarantees/weighted_vocabulary.md

    >>> mechanism = WeightedVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=50)
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.scale, 4), round(mechanism.threshold, 3)
    (1.0, 3.3559, 16.093)
    >>> mechanism = WeightedVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=50, noise="laplace")
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.scale, 4), round(mechanism.threshold, 3)
    (1.0, 1.0, 12.449)
    """

    besides: Vocabulary | None = field(default=None, repr=False)
    name: ClassVar[str] = "weighted"
    paper: ClassVar[str] = "Gopi et al. 2020"
    nonnegative: ClassVar[bool] = True

    @property
    def guarantee(self) -> Guarantee:
        """One draw of noise, and the tail of the threshold."""
        alone = super().guarantee
        return alone if self.besides is None else alone.noting(PUBLIC_BESIDES)

    @property
    def threshold(self) -> float:
        """max over t ≤ max_words of the weight of one of t words, plus what t draws of noise stay below."""
        return equal_split_threshold(self.noise, self.scale, self.tail, self.max_words)

    def each(self, n_words: int) -> float:
        """Equal parts of norm one."""
        return float(n_words ** (-1.0 / self.noise.norm))

    @property
    def public_words(self) -> tuple[str, ...]:
        """Those beside the chosen ones."""
        return () if self.besides is None else self.besides.words

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        """Over invented words: units spend nothing on public ones."""
        return [(self, ())]

    def weights(self, corpus: BoundedCorpus) -> Weights:
        """Equal weights of L1 or L2 norm one for each unit's words."""
        known = None
        if self.besides is not None:
            known = np.fromiter((word in self.besides.index for word in corpus.words), bool, len(corpus.words))
        statistic = EqualWeights(len(corpus.words), self.noise.norm, known)
        weight = corpus.bounded_sum(statistic, bound=self.bound, grid=self.grid, norm=self.noise.norm)[:, 0]
        return Weights(weight, weight > 0)

    def _chosen(self, corpus: BoundedCorpus, rng: Generator) -> Vocabulary:
        """Words that clear the threshold, and the public ones."""
        words = super()._chosen(corpus, rng)
        if self.besides is None:
            return words
        both = sorted({*words.words, *self.besides.words})
        return Vocabulary(tuple(both), listed=frozenset(self.besides.words))
