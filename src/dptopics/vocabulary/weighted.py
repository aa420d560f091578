"""Weighted vocabulary: words whose noisy author weight clears a threshold."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from dptopics.data.bounded import BoundedCorpus
from dptopics.privacy.events import Failure, Noise
from dptopics.privacy.guarantee import PUBLIC_LIST, Guarantee, Strength, Unit
from dptopics.privacy.mechanism import Calibrated, check_unit, grid_for
from dptopics.release.release import Release
from dptopics.release.vocabulary import Vocabulary
from dptopics.vocabulary.threshold import (
    EqualWeights,
    check_settings,
    clearing,
    default_tail,
    draw,
    equal_split_threshold,
)


@dataclass(frozen=True, kw_only=True)
class WeightedVocabulary(Calibrated):
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

    scale: float
    tail: float
    max_words: int
    delta: float
    unit: Unit = Unit.AUTHOR
    noise: Noise = Noise.GAUSSIAN
    max_size: int | None = None
    besides: Vocabulary | None = field(default=None, repr=False)
    name: ClassVar[str] = "weighted"
    paper: ClassVar[str] = "Gopi et al. 2020"
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
            assumptions=() if self.besides is None else (PUBLIC_LIST,),
        )

    @property
    def threshold(self) -> float:
        """max over t ≤ max_words of the weight of one of t words, plus what t draws of noise stay below."""
        return equal_split_threshold(self.noise, self.scale, self.tail, self.max_words)

    @property
    def grid(self) -> float:
        """Step of the integers that are added up."""
        return grid_for(1.0, self.scale)

    def check(self, corpus: BoundedCorpus) -> None:
        """Any corpus bounded for the same unit will do."""
        check_unit(self, corpus)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[Vocabulary]:
        """Add up weights, add noise, keep what clears the threshold."""
        self.check(corpus)
        corpus = corpus.limited(max_words=self.max_words)
        known = None
        if self.besides is not None:
            known = np.fromiter((word in self.besides.index for word in corpus.words), bool, len(corpus.words))
        statistic = EqualWeights(len(corpus.words), self.noise.norm, known)
        weight = corpus.bounded_sum(statistic, bound=1.0, grid=self.grid, norm=self.noise.norm)[:, 0]
        words = clearing(
            corpus.words,
            weight,
            weight > 0,
            draw(self.noise, rng, self.scale / self.grid, weight.size),
            threshold=self.threshold,
            grid=self.grid,
            max_size=self.max_size,
        )
        if self.besides is not None:
            words = Vocabulary.of(words.words + self.besides.words)
        return Release.of(words, self, rng)
