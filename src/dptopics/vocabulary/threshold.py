"""What the vocabulary mechanisms share: thresholds, and the choice of words that clear one."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtri

from dptopics.data.bounded import Block, UnitRows
from dptopics.errors import InputError
from dptopics.kernels.unit_words import unit_words
from dptopics.privacy import noise
from dptopics.privacy.events import Noise
from dptopics.release.vocabulary import Vocabulary


def default_tail(kind: Noise, delta: float) -> float:
    """Laplace noise costs no δ of its own, so that all of it may pay for words that slip over the threshold."""
    return delta / 2 if kind is Noise.GAUSSIAN else delta


def draw(kind: Noise, rng: Generator, scale: float, size: int) -> NDArray[np.int64]:
    """Independent draws in grid steps."""
    return noise.gaussian(rng, scale, size) if kind is Noise.GAUSSIAN else noise.laplace(rng, scale, size)


def margin(kind: Noise, tail: float, t: NDArray[np.int64]) -> NDArray[np.float64]:
    """z with P[t draws of scale one all stay below z] ≥ 1 − tail, for each t.

    Gaussian: Φ⁻¹((1 − tail)^(1/t)). Laplace: ln(1/(2(1 − (1 − tail)^(1/t)))), on the safe side beyond the median.
    """
    miss = -np.expm1(np.log1p(-tail) / t)  # 1 − (1 − tail)^(1/t)
    return np.asarray(-ndtri(miss) if kind is Noise.GAUSSIAN else -np.log(2 * miss))


def check_settings(*, max_words: int, tail: float, max_size: int | None) -> None:
    """Refuse settings that mean nothing."""
    if max_words < 1:
        raise InputError(f"max_words must be at least 1, got {max_words}.")
    if not 0 < tail < 1:
        raise InputError(f"tail must lie strictly between 0 and 1, got {tail}. Take half of delta.")
    if max_size is not None and max_size < 1:
        raise InputError(f"max_size must be at least 1, got {max_size}.")


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
        """Rows and weights of each unit."""
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
    candidates: NDArray[np.bool_],
    drawn: NDArray[np.int64],
    *,
    threshold: float,
    grid: float,
    spare: int = 0,
    max_size: int | None,
) -> Vocabulary:
    """The candidates whose noisy weight is strictly above the threshold, rounded up to the grid, plus ``spare`` steps.

    Which words are candidates is part of every proof: a unit can own thousands of words that its limits cut, and noise
    alone would lift one of them.
    """
    noisy = weight + drawn
    kept = np.flatnonzero(candidates & (noisy > ceil(threshold / grid) + spare))
    if max_size is not None and kept.size > max_size:
        kept = kept[np.argsort(-noisy[kept], kind="stable")[:max_size]]
    pairs = sorted((words[i], float(noisy[i] * grid)) for i in kept.tolist())  # corpus order would leak
    return Vocabulary(tuple(w for w, _ in pairs), tuple(x for _, x in pairs))
