"""Weighted Gaussian vocabulary: words whose noisy author weight clears a threshold."""

from dataclasses import dataclass, replace
from math import ceil
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from scipy.special import ndtri

from dptopics import noise
from dptopics.corpus import Block, BoundedCorpus, UnitRows
from dptopics.errors import InputError
from dptopics.events import Failure, Gaussian
from dptopics.guarantee import Guarantee, Strength, Unit, check_budget
from dptopics.kernels.unit_words import unit_words
from dptopics.mechanism import calibrate, check_unit, grid_for
from dptopics.release import Release, Vocabulary


@dataclass(frozen=True)
class _EqualWeights:
    """A unit with t distinct words gives each 1/√t: norm one."""

    n_words: int
    width: ClassVar[int] = 1

    def __call__(self, block: Block) -> UnitRows:
        return UnitRows(*unit_words(block.unit_start, block.doc_start, block.word, self.n_words))


@dataclass(frozen=True, kw_only=True)
class WeightedVocabulary:
    """Release the words whose noisy author weight clears a threshold.

    A unit with t ≤ max_words distinct words gives each 1/√t: one unit moves the weights by L2 norm ≤ 1. Words that only
    that unit wrote all stay hidden with probability ≥ 1 − tail (Gopi et al. 2020, algorithms 3 and 4). ``max_size``
    keeps the heaviest words by *noisy* weight. Proof: docs/guarantees/weighted_vocabulary.md

    >>> mechanism = WeightedVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=50)
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.sigma, 4), round(mechanism.threshold, 3)
    (1.0, 3.3559, 16.093)
    """

    sigma: float
    tail: float
    max_words: int
    delta: float
    unit: Unit = Unit.AUTHOR
    max_size: int | None = None
    name: ClassVar[str] = "weighted"
    paper: ClassVar[str] = "Gopi et al. 2020"

    def __post_init__(self) -> None:
        if self.max_words < 1:
            raise InputError(f"max_words must be at least 1, got {self.max_words}.")
        if not 0 < self.tail < 1:
            raise InputError(f"tail must lie strictly between 0 and 1, got {self.tail}. Take half of delta.")
        if self.max_size is not None and self.max_size < 1:
            raise InputError(f"max_size must be at least 1, got {self.max_size}.")

    @classmethod
    def template(
        cls, *, delta: float, unit: Unit = Unit.AUTHOR, max_words: int = 200, max_size: int | None = None
    ) -> Self:
        """Noise of one, to be rescaled. Half of δ pays for words that slip over the threshold."""
        return cls(sigma=1.0, tail=delta / 2, max_words=max_words, delta=delta, unit=unit, max_size=max_size)

    @classmethod
    def calibrated(cls, *, epsilon: float, delta: float, **settings: Any) -> Self:
        """The least noise for (ε, δ); ``settings`` as for :meth:`template`."""
        check_budget(epsilon, delta)
        return calibrate(cls.template(delta=delta, **settings), epsilon=epsilon)

    def rescaled(self, factor: float) -> Self:
        """The same with other noise."""
        return replace(self, sigma=self.sigma * factor)

    @property
    def guarantee(self) -> Guarantee:
        """One Gaussian event, and the tail of the threshold."""
        return Guarantee(
            events=(Gaussian(self.sigma), Failure(self.tail)),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.PROVED,
        )

    @property
    def threshold(self) -> float:
        """max over t ≤ max_words of 1/√t + σ Φ⁻¹((1 − tail)^(1/t))."""
        t = np.arange(1, self.max_words + 1)
        miss = -np.expm1(np.log1p(-self.tail) / t)  # 1 − (1 − tail)^(1/t)
        return float(np.max(t**-0.5 + self.sigma * -ndtri(miss)))

    @property
    def grid(self) -> float:
        """Step of the integers that are added up."""
        return grid_for(1.0, self.sigma)

    def check(self, corpus: BoundedCorpus) -> None:
        """Any corpus bounded for the same unit will do."""
        check_unit(self, corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[Vocabulary]:
        """Add up weights, add noise, keep what clears the threshold."""
        self.check(corpus)
        corpus = corpus.limited(max_words=self.max_words)
        weight = corpus.bounded_sum(_EqualWeights(len(corpus.words)), bound=1.0, grid=self.grid)[:, 0]
        noisy = weight + noise.gaussian(rng, self.sigma / self.grid, weight.size)
        # Words without weight (all their units were cut to other words) have no part in the threshold's proof: a unit
        # could own thousands of them, and noise alone would lift one.
        kept = np.flatnonzero((weight > 0) & (noisy > ceil(self.threshold / self.grid)))
        if self.max_size is not None and kept.size > self.max_size:
            kept = kept[np.argsort(-noisy[kept], kind="stable")[: self.max_size]]
        pairs = sorted((corpus.words[i], float(noisy[i] * self.grid)) for i in kept.tolist())  # corpus order would leak
        words = Vocabulary(tuple(w for w, _ in pairs), tuple(x for _, x in pairs))
        return Release.of(words, self, rng)
