"""Greedy vocabulary: authors fill their own most frequent words first, up to a cutoff."""

from dataclasses import dataclass
from math import ceil, exp, log, log1p
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dptopics.data.bounded import Block, BoundedCorpus, string_keys
from dptopics.errors import InputError
from dptopics.kernels.greedy import fill_in_order
from dptopics.privacy.events import Noise
from dptopics.vocabulary.threshold import ThresholdVocabulary, Weights


@dataclass(frozen=True, kw_only=True)
class GreedyVocabulary(ThresholdVocabulary):
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

    noise: Noise = Noise.LAPLACE
    alpha: float = 3.0
    name: ClassVar[str] = "greedy"
    paper: ClassVar[str] = "Carvalho et al. 2022"
    noises: ClassVar[tuple[Noise, ...]] = (Noise.LAPLACE,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.alpha <= 1000:
            raise InputError(f"alpha must lie between 0 and 1000, got {self.alpha}. The default is 3.")

    @property
    def threshold(self) -> float:
        """1 + scale · ln((1 + (max_words − 1) e^(−1/scale)) / (2 tail)): one lone word weighs one, others nothing."""
        others = log1p((self.max_words - 1) * exp(-1 / self.scale))
        return 1 + self.scale * max(0.0, others - log(2 * self.tail))

    @property
    def cutoff(self) -> float:
        """Weight at which a word has enough. At least one, so that a unit's first lone word takes all it has left."""
        return self.threshold + self.alpha * self.scale

    def weights(self, corpus: BoundedCorpus) -> Weights:
        """Units fill their words in their own order."""
        top = ceil(self.cutoff / self.grid)
        owned = np.zeros(len(corpus.words), np.bool_)
        rank = np.empty(owned.size, np.int32)
        rank[np.argsort(string_keys(corpus.words), kind="stable")] = np.arange(owned.size, dtype=np.int32)

        def in_order(gap: NDArray[np.int64], block: Block) -> NDArray[np.int64]:
            unit_start, doc_start, word, counts, _ = block
            fill_in_order(unit_start, doc_start, word, counts, rank, int(1 / self.grid), gap, owned)
            return gap

        gap = corpus.fold(in_order, np.full(owned.size, top, np.int64))
        return Weights(top - gap, owned)
