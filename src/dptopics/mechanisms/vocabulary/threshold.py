"""What the vocabulary mechanisms share: thresholds, and the choice of words that clear one."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtri

from dptopics.core.errors import InputError
from dptopics.core.settings import check_fields, whole
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import Block, BoundedCorpus, UnitRows
from dptopics.kernels.counts import unit_words
from dptopics.mechanisms.mechanism import Calibrated, Job, check_unit
from dptopics.mechanisms.queries import grid_for, noisy, private_query
from dptopics.privacy.card import PUBLIC_BESIDES
from dptopics.privacy.events import Failure, Noise
from dptopics.privacy.guarantee import Guarantee, Unit
from dptopics.release.release import Release


def default_tail(kind: Noise, delta: float) -> float:
    """Laplace noise costs no δ of its own, so that all of it may pay for words that slip over the threshold."""
    return delta / 2 if kind is Noise.GAUSSIAN else delta


def margin(kind: Noise, tail: float, t: NDArray[np.int64]) -> NDArray[np.float64]:
    """z with P[t draws of scale one all stay below z] ≥ 1 − tail, for each t.

    Gaussian: Φ⁻¹((1 − tail)^(1/t)). Laplace: ln(1/(2(1 − (1 − tail)^(1/t)))), on the safe side beyond the median.
    """
    miss = -np.expm1(np.log1p(-tail) / t)  # 1 − (1 − tail)^(1/t)
    return np.asarray(-ndtri(miss) if kind is Noise.GAUSSIAN else -np.log(2 * miss))


@dataclass(frozen=True)
class EqualWeights:
    """A unit's distinct words, with equal weights of L1 or L2 norm one; ``norm`` 0: one each.

    Words at which ``known`` is true are public already: a unit gives them nothing.
    """

    n_words: int
    norm: int
    known: NDArray[np.bool_] | None = None
    height: ClassVar[None] = None
    width: ClassVar[int] = 1

    def __call__(self, block: Block) -> UnitRows:
        start, word = block.doc_start, block.word
        if self.known is not None:
            kept = ~self.known[word]
            start, word = np.concatenate([[0], np.cumsum(kept)])[start], word[kept]
        return UnitRows(*unit_words(block.unit_start, start, word, self.n_words, self.norm))


def equal_split_threshold(kind: Noise, scale: float, tail: float, max_words: int) -> float:
    """max over t ≤ max_words of t^(−1/norm) + scale · margin(t): t lone words of equal weight all stay below it."""
    t = np.arange(1, max_words + 1)
    return float(np.max(t ** (-1.0 / kind.norm) + scale * margin(kind, tail, t)))


def clearing(
    words: Sequence[str],
    weight: NDArray[np.int64],
    candidate: NDArray[np.bool_],
    *,
    least: int,
    grid: float,
    max_size: int | None,
) -> Vocabulary:
    """The candidates whose noisy weight is strictly above ``least`` steps; the heaviest of them, if there are many."""
    kept = np.flatnonzero(candidate & (weight > least))
    if max_size is not None and kept.size > max_size:
        kept = kept[np.argsort(-weight[kept], kind="stable")[:max_size]]
    pairs = sorted((words[i], float(weight[i] * grid)) for i in kept.tolist())  # corpus order would leak
    return Vocabulary(tuple(w for w, _ in pairs), tuple(x for _, x in pairs))


class Weights(NamedTuple):
    """Exact weights of all words in grid steps, and which words may be released. Private.

    Which words are candidates is part of every proof: a unit can own thousands of words that its limits cut, and noise
    alone would lift one of them.
    """

    weight: NDArray[np.int64]
    candidate: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class ThresholdVocabulary(Calibrated):
    """What the vocabularies of noisy weights and a threshold share; each says how units weigh their words.

    ``scale`` is the noise relative to what one unit can add; ``tail`` the part of δ that pays for words that slip over
    the threshold; ``max_size`` keeps the heaviest words by *noisy* weight. Proofs: docs/guarantees/README.md
    """

    scale: float
    tail: float
    max_words: int
    delta: float
    unit: Unit = Unit.AUTHOR
    noise: Noise = Noise.GAUSSIAN
    max_size: int | None = None
    job: ClassVar[Job] = Job.VOCABULARY
    name: ClassVar[str]
    paper: ClassVar[str]
    noise_parameter: ClassVar[str] = "scale"
    noises: ClassVar[tuple[Noise, ...]] = tuple(Noise)
    nonnegative: ClassVar[bool] = False  # weights are a sum over units, of which none takes any away
    spare: ClassVar[int] = 0  # steps above the threshold that a lone word may reach by rounding

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", Noise(self.noise))
        check_fields(self)
        if self.noise not in self.noises:
            only = str(self.noises[0]).capitalize()
            raise InputError(
                f"the {self.name} vocabulary has {only} noise only, got {str(self.noise)!r}. Leave it out."
            )
        whole("max_words", self.max_words, least=1)
        if not 0 < self.tail < 1:
            raise InputError(f"tail must lie strictly between 0 and 1, got {self.tail}. Take half of delta.")
        if self.max_size is not None:
            whole("max_size", self.max_size, least=1)

    @classmethod
    def template(cls, **settings: Any) -> Self:
        kind = Noise(settings.get("noise", cls.noise))
        usual = {"tail": default_tail(kind, settings["delta"]), "max_words": 200}
        return super().template(**(usual | settings | {"noise": kind}))

    @property
    def guarantee(self) -> Guarantee:
        """One draw of noise, and the tail of the threshold."""
        return self.promise(self.noise.event(self.scale, nonnegative=self.nonnegative), Failure(self.tail))

    @property
    def bound(self) -> float:
        """The most that one unit adds to the weights, in the norm of the noise."""
        return 1.0

    @property
    def grid(self) -> float:
        """Step of weights and noise."""
        return grid_for(self.bound, self.scale)

    @property
    @abstractmethod
    def threshold(self) -> float:
        """What noisy weights must exceed."""

    @abstractmethod
    def weights(self, corpus: BoundedCorpus) -> Weights:
        """How much units give to each word."""

    def units_needed(self, n_words: int) -> float | None:
        """The threshold over what a unit gives to each of its words."""
        return self.threshold / self.each(min(n_words, self.max_words))

    def each(self, n_words: int) -> float:
        """What a unit of so many words gives to each, if it is not full yet."""
        return 1.0

    def check(self, corpus: BoundedCorpus) -> None:
        """Any corpus bounded for the same unit will do."""
        check_unit(self, corpus)
        _ = self.guarantee, self.grid  # an impossible scale ends here

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[Vocabulary]:
        """Add up weights, add noise, keep what clears the threshold."""
        self.check(corpus)
        limited = corpus.limited(max_words=self.max_words)
        return Release.of(private_query(lambda: self._chosen(limited, rng)), self, rng)

    def _chosen(self, corpus: BoundedCorpus, rng: Generator) -> Vocabulary:
        """The candidates whose noisy weight is strictly above the threshold, rounded up to the grid."""
        weight, candidate = self.weights(corpus)
        weight = noisy(weight, kind=self.noise, sensitivity=self.bound / self.grid, multiplier=self.scale, rng=rng)
        least = ceil(self.threshold / self.grid) + self.spare
        return clearing(corpus.words, weight, candidate, least=least, grid=self.grid, max_size=self.max_size)


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
        return sqrt(self.max_words) if self.noise is Noise.GAUSSIAN else float(self.max_words)

    def weights(self, corpus: BoundedCorpus) -> Weights:
        """One for each of a unit's words."""
        statistic = EqualWeights(len(corpus.words), 0)
        count = corpus.bounded_sum(statistic, bound=self.bound, grid=self.grid, norm=self.noise.norm)[:, 0]
        return Weights(count, count > 0)


@dataclass(frozen=True, kw_only=True)
class WeightedVocabulary(ThresholdVocabulary):
    """Release the words whose noisy author weight clears a threshold.

    A unit with t ≤ max_words distinct words gives each 1/√t under Gaussian noise, 1/t under Laplace noise: one unit
    moves the weights by L2 (L1) norm ≤ 1. Words that only that unit wrote all stay hidden with probability ≥ 1 − tail
    (Gopi et al. 2020, algorithms 3 and 4). ``scale`` is the noise's deviation, or mean magnitude. ``max_size`` keeps
    the heaviest words by *noisy* weight. Words of ``public_vocabulary`` are released in any case; units spend nothing
    on them, so that more is left for names and terms. Proof: docs/guarantees/weighted_vocabulary.md

    >>> mechanism = WeightedVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=50)
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.scale, 4), round(mechanism.threshold, 3)
    (1.0, 3.3559, 16.093)
    >>> mechanism = WeightedVocabulary.calibrated(epsilon=1.0, delta=1e-4, max_words=50, noise="laplace")
    >>> round(mechanism.guarantee.epsilon, 6), round(mechanism.scale, 4), round(mechanism.threshold, 3)
    (1.0, 1.0, 12.449)
    """

    public_vocabulary: Vocabulary | None = field(default=None, repr=False)
    name: ClassVar[str] = "weighted"
    paper: ClassVar[str] = "Gopi et al. 2020"
    nonnegative: ClassVar[bool] = True

    @property
    def guarantee(self) -> Guarantee:
        """One draw of noise, and the tail of the threshold."""
        alone = super().guarantee
        return alone if self.public_vocabulary is None else alone.noting(PUBLIC_BESIDES)

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
        return () if self.public_vocabulary is None else self.public_vocabulary.words

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        """Over invented words: units spend nothing on public ones."""
        return [(self, ())]

    def weights(self, corpus: BoundedCorpus) -> Weights:
        """Equal weights of L1 or L2 norm one for each unit's words."""
        known = None
        if self.public_vocabulary is not None:
            known = np.fromiter(
                (word in self.public_vocabulary.index for word in corpus.words), bool, len(corpus.words)
            )
        statistic = EqualWeights(len(corpus.words), self.noise.norm, known)
        weight = corpus.bounded_sum(statistic, bound=self.bound, grid=self.grid, norm=self.noise.norm)[:, 0]
        return Weights(weight, weight > 0)

    def _chosen(self, corpus: BoundedCorpus, rng: Generator) -> Vocabulary:
        """Words that clear the threshold, and the public ones."""
        words = super()._chosen(corpus, rng)
        if self.public_vocabulary is None:
            return words
        both = sorted({*words.words, *self.public_vocabulary.words})
        return Vocabulary(tuple(both), listed=frozenset(self.public_vocabulary.words))
