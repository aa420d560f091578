"""Count vocabulary: words that a noisy number of authors wrote."""

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from dptopics.data.bounded import BoundedCorpus
from dptopics.privacy.events import Failure, Noise
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.privacy.mechanism import Calibrated, check_unit, grid_for
from dptopics.release.release import Release
from dptopics.release.vocabulary import Vocabulary
from dptopics.vocabulary.threshold import EqualWeights, check_settings, clearing, default_tail, draw, margin


@dataclass(frozen=True, kw_only=True)
class CountVocabulary(Calibrated):
    """Release the words whose noisy number of authors clears a threshold.

    Each of a unit's distinct words, at most max_words, counts one: one unit moves the counts by L2 norm ≤ √max_words,
    L1 norm ≤ max_words. ``scale`` is the noise relative to that. Words that only one unit wrote all stay hidden with
    probability ≥ 1 − tail (Korolova et al. 2009; Wilson et al. 2020). Proof: docs/guarantees/count_vocabulary.md

    >>> mechanism = CountVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=50, noise="laplace")
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.threshold, 1)
    (1.0, 622.5)
    """

    scale: float
    tail: float
    max_words: int
    delta: float
    unit: Unit = Unit.AUTHOR
    noise: Noise = Noise.GAUSSIAN
    max_size: int | None = None
    name: ClassVar[str] = "count"
    paper: ClassVar[str] = "Korolova et al. 2009, Wilson et al. 2020"
    noises: ClassVar[tuple[Noise, ...]] = tuple(Noise)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", Noise(self.noise))
        check_settings(max_words=self.max_words, tail=self.tail, max_size=self.max_size)

    @classmethod
    def template(
        cls,
        *,
        delta: float,
        noise: Noise | str = Noise.GAUSSIAN,
        tail: float | None = None,
        max_words: int = 200,
        **more: Any,
    ) -> Self:
        """Noise of one, to be rescaled. ``tail`` is the part of δ that pays for words that slip over the threshold."""
        kind = Noise(noise)
        tail = default_tail(kind, delta) if tail is None else tail
        return cls(scale=1.0, tail=tail, max_words=max_words, delta=delta, noise=kind, **more)

    def rescaled(self, factor: float) -> Self:
        """The same with other noise."""
        return replace(self, scale=self.scale * factor)

    @property
    def guarantee(self) -> Guarantee:
        """One draw of noise, and the tail of the threshold."""
        return Guarantee(
            events=(self.noise.event(self.scale), Failure(self.tail)),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.PROVED,
        )

    @property
    def bound(self) -> float:
        """√max_words (Gaussian) or max_words (Laplace): rounded up to the grid, so that whole counts fit."""
        norm = sqrt(self.max_words) if self.noise is Noise.GAUSSIAN else float(self.max_words)
        return ceil(norm / self.grid) * self.grid

    @property
    def threshold(self) -> float:
        """1 + scale · bound · what max_words draws of noise stay below."""
        return 1 + self.scale * self.bound * float(margin(self.noise, self.tail, np.array([self.max_words]))[0])

    @property
    def grid(self) -> float:
        """Step of the integers that are added up. Counts are whole, but a finer grid rounds the noise less."""
        norm = sqrt(self.max_words) if self.noise is Noise.GAUSSIAN else float(self.max_words)
        return min(1.0, grid_for(norm, self.scale))

    def check(self, corpus: BoundedCorpus) -> None:
        """Any corpus bounded for the same unit will do."""
        check_unit(self, corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[Vocabulary]:
        """Count authors, add noise, keep what clears the threshold."""
        self.check(corpus)
        corpus = corpus.limited(max_words=self.max_words)
        statistic = EqualWeights(len(corpus.words), 0)
        count = corpus.bounded_sum(statistic, bound=self.bound, grid=self.grid, norm=self.noise.norm)[:, 0]
        words = clearing(
            corpus.words,
            count,
            count > 0,
            draw(self.noise, rng, self.scale * self.bound / self.grid, count.size),
            threshold=self.threshold,
            grid=self.grid,
            max_size=self.max_size,
        )
        return Release.of(words, self, rng)
