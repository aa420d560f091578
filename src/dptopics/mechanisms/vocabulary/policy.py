"""Policy vocabulary: authors see what others gave, and spend nothing on words that have enough."""

from dataclasses import dataclass
from math import ceil, exp, inf, log, log1p, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.data.bounded import Block, BoundedCorpus, string_keys
from dptopics.kernels.policy import fill_evenly, fill_in_order, fill_toward
from dptopics.mechanisms.vocabulary.threshold import ThresholdVocabulary, Weights, equal_split_threshold
from dptopics.privacy.events import Failure, Noise
from dptopics.privacy.guarantee import Guarantee

MAX_UNITS = MAX_CORPUS_WORDS = 2**31  # what the rounding of ℓ2-descent is priced for: authors and words are 32 bits


@dataclass(frozen=True, kw_only=True)
class PolicyVocabulary(ThresholdVocabulary):
    """Release the words whose noisy weight clears a threshold; a word's weight stops growing at a cutoff above it.

    Units come one after another, in an order of hashes, and move the weights of their words toward the cutoff: by L1
    norm ≤ 1, as evenly as possible (Laplace noise), or by L2 norm ≤ 1, straight (Gaussian noise). Both maps are
    contractions, so one unit moves the final weights by norm ≤ 1 although later units react to it (Gopi et al. 2020,
    ℓ1- and ℓ2-descent). Cutoff: threshold + alpha · scale. Proof: docs/guarantees/policy_vocabulary.md

    >>> mechanism = PolicyVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=50)
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.threshold, 2), round(mechanism.cutoff, 2)
    (1.0, 16.1, 32.9)
    """

    alpha: float = 5.0
    name: ClassVar[str] = "policy"
    paper: ClassVar[str] = "Gopi et al. 2020"
    spare: ClassVar[int] = 1  # one of t lone words may hold a step more than its equal share

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.alpha <= 1000:
            raise InputError(f"alpha must lie between 0 and 1000, got {self.alpha}. The default is 5.")

    @property
    def guarantee(self) -> Guarantee:
        """One draw of noise, its price raised by what rounding may add to the sensitivity, and the tail."""
        return self.promise(self.noise.event(self.scale / (1 + self.slack)), Failure(self.tail))

    @property
    def threshold(self) -> float:
        """max over t ≤ max_words of the weight of one of t words, plus what t draws of noise stay below."""
        return equal_split_threshold(self.noise, self.scale, self.tail, self.max_words)

    @property
    def cutoff(self) -> float:
        """Weight at which a word has enough; never less than one unit may give."""
        return max(1.0, self.threshold + self.alpha * self.scale)

    @property
    def grid(self) -> float:
        """Step of weights and noise. ℓ2-descent rounds at the end, so its steps are finer."""
        return super().grid * (1.0 if self.noise is Noise.LAPLACE else 2.0**-5)

    @property
    def slack(self) -> float:
        """How far rounding may carry the sensitivity above one. ℓ1-descent runs in whole numbers: nothing.

        ℓ2-descent: every unit adds at most (t + 4 + 3·cutoff·√t)·2⁻⁵³ in each of two runs, and the final rounding to
        the grid at most one step for each word, √words together. Derived on the proof page.
        """
        if self.noise is Noise.LAPLACE or not 0 < self.scale < inf:  # an impossible scale is refused by its event
            return 0.0
        unit = (self.max_words + 4 + 3 * self.cutoff * sqrt(self.max_words)) * 2.0**-53
        return 2 * MAX_UNITS * unit + self.grid * sqrt(MAX_CORPUS_WORDS)

    def each(self, n_words: int) -> float:
        """Equal parts of norm one, while no word is full."""
        return float(n_words ** (-1.0 / self.noise.norm))

    def weights(self, corpus: BoundedCorpus) -> Weights:
        """Units move their words toward the cutoff; rounded down."""
        top = ceil(self.cutoff / self.grid)
        owned = np.zeros(len(corpus.words), np.bool_)
        if self.noise is Noise.LAPLACE:

            def evenly(gap: NDArray[np.int64], block: Block) -> NDArray[np.int64]:
                fill_evenly(block.unit_start, block.doc_start, block.word, int(1 / self.grid), gap, owned)
                return gap

            gap = corpus.fold(evenly, np.full(owned.size, top, np.int64))
        else:

            def toward(gap: NDArray[np.float64], block: Block) -> NDArray[np.float64]:
                fill_toward(block.unit_start, block.doc_start, block.word, 1 / self.grid, gap, owned)
                return gap

            filled = corpus.fold(toward, np.full(owned.size, float(top)), max_units=MAX_UNITS)
            gap = np.ceil(filled).astype(np.int64)
        return Weights(top - gap, owned)


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
