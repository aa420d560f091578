"""Greedy vocabulary: authors fill their own most frequent words first, up to a cutoff."""

from dataclasses import dataclass, replace
from math import ceil, exp, log, log1p
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.data.bounded import Block, BoundedCorpus, string_keys
from dptopics.errors import InputError
from dptopics.kernels.greedy import fill_in_order
from dptopics.privacy.events import Failure, Laplace, Noise
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.privacy.mechanism import Calibrated, check_unit, grid_for
from dptopics.release.release import Release
from dptopics.release.vocabulary import Vocabulary
from dptopics.vocabulary.threshold import check_settings, clearing, default_tail, draw


@dataclass(frozen=True, kw_only=True)
class GreedyVocabulary(Calibrated):
    """Release the words whose noisy weight clears a threshold; units fill their most frequent words first.

    Units come one after another, in an order of hashes. Each closes the gaps between its words and the cutoff, in the
    order of its own counts (ties by a hash of the word), until it has given one: L1 sensitivity one (Carvalho et al.
    2022). Every word that some unit holds is a candidate, also where nothing reached it, and the threshold is higher
    than the published one: with that, and only words of positive weight as candidates, the mechanism would not be
    private. Cutoff: threshold + alpha · scale. Proof: docs/guarantees/greedy_vocabulary.md

    >>> mechanism = GreedyVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=50)
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.threshold, 2), round(mechanism.cutoff, 2)
    (1.0, 12.46, 15.46)
    """

    scale: float
    tail: float
    max_words: int
    delta: float
    unit: Unit = Unit.AUTHOR
    noise: Noise = Noise.LAPLACE
    alpha: float = 3.0
    max_size: int | None = None
    name: ClassVar[str] = "greedy"
    paper: ClassVar[str] = "Carvalho et al. 2022"
    noises: ClassVar[tuple[Noise, ...]] = (Noise.LAPLACE,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", Noise(self.noise))
        if self.noise is not Noise.LAPLACE:
            raise InputError(f"the greedy vocabulary has Laplace noise only, got {str(self.noise)!r}. Leave noise out.")
        check_settings(max_words=self.max_words, tail=self.tail, max_size=self.max_size)
        if not 0 <= self.alpha <= 1000:
            raise InputError(f"alpha must lie between 0 and 1000, got {self.alpha}. The default is 3.")

    @classmethod
    def template(
        cls,
        *,
        delta: float,
        noise: Noise | str = Noise.LAPLACE,
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
        """One draw of Laplace noise, and the tail of the threshold."""
        return Guarantee(
            events=(Laplace(self.scale), Failure(self.tail)),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.PROVED,
        )

    @property
    def threshold(self) -> float:
        """1 + scale · ln((1 + (max_words − 1) e^(−1/scale)) / (2 tail)): one lone word weighs one, others nothing."""
        others = log1p((self.max_words - 1) * exp(-1 / self.scale))
        return 1 + self.scale * max(0.0, others - log(2 * self.tail))

    @property
    def cutoff(self) -> float:
        """Weight at which a word has enough. At least one, so that a unit's first lone word takes all it has left."""
        return self.threshold + self.alpha * self.scale

    @property
    def grid(self) -> float:
        """Step of weights and noise."""
        return grid_for(1.0, self.scale)

    def check(self, corpus: BoundedCorpus) -> None:
        """Any corpus bounded for the same unit will do."""
        check_unit(self, corpus)
        _ = self.guarantee  # an impossible scale ends here

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[Vocabulary]:
        """Fill words up to the cutoff, add noise, keep what clears the threshold."""
        self.check(corpus)
        corpus = corpus.limited(max_words=self.max_words)
        weight, owned = self._weights(corpus)
        words = clearing(
            corpus.words,
            weight,
            owned,
            draw(self.noise, rng, self.scale / self.grid, weight.size),
            threshold=self.threshold,
            grid=self.grid,
            max_size=self.max_size,
        )
        return Release.of(words, self, rng)

    def _weights(self, corpus: BoundedCorpus) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Exact weights in grid steps, and which words any unit holds. Private."""
        top = ceil(self.cutoff / self.grid)
        owned = np.zeros(len(corpus.words), np.bool_)
        rank = np.empty(owned.size, np.int32)
        rank[np.argsort(string_keys(corpus.words), kind="stable")] = np.arange(owned.size, dtype=np.int32)

        def in_order(gap: NDArray[np.int64], block: Block) -> NDArray[np.int64]:
            unit_start, doc_start, word, counts, _ = block
            fill_in_order(unit_start, doc_start, word, counts, rank, int(1 / self.grid), gap, owned)
            return gap

        gap = corpus.fold(in_order, np.full(owned.size, top, np.int64))
        return top - gap, owned
