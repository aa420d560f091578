"""The server side of LP-LDA: true word counts from flipped bits, and documents rebuilt to match (Zhao et al. 2019)."""

import numpy as np
from numpy.typing import NDArray

from dptopics.data.counts import Counts
from dptopics.errors import InputError
from dptopics.kernels.flip_channel import ones_of_each, repair
from dptopics.kernels.siphash import siphash

_BLOCK = 8192
_GRID, _STEPS = 80, 300

Bits = NDArray[np.uint8]  # reports × bytes, the first word in the highest bit of the first byte


def count_ones(bits: Bits, n_words: int) -> NDArray[np.int64]:
    """How many reports have each word's bit set (step 1)."""
    return ones_of_each(np.ascontiguousarray(bits), n_words)


def unpacked(bits: Bits, n_words: int) -> NDArray[np.uint8]:
    """Bits as zeros and ones, reports × words."""
    return np.unpackbits(bits, axis=1, count=n_words)


def estimated_counts(ones: NDArray[np.int64], n_reports: int, f: float) -> NDArray[np.float64]:
    """Unbiased number of documents with each word, (2n − fM)/(2(1 − f)) (step 2, equation 9).

    >>> estimated_counts(np.array([400]), 1000, 0.5)
    array([300.])
    """
    if f >= 1:
        raise InputError("with f = 1 every bit is a coin: the reports say nothing. Collect with a smaller f.")
    if n_reports < 1:
        raise InputError("there are no reports. Collect at least one.")
    return np.asarray((2 * ones - f * n_reports) / (2 * (1 - f)))


def count_deviation(n_reports: int, f: float) -> float:
    """Deviation of each estimated count, √((2 − f)fM)/(2(1 − f)) (equation 10)."""
    return float(np.sqrt((2 - f) * f * n_reports) / (2 * (1 - f)))


def likely_counts(ones: NDArray[np.int64], n_reports: int, f: float) -> NDArray[np.float64]:
    """Posterior mean of each word's document count, all positive: the noise is known, so it need not be believed."""
    estimate = estimated_counts(ones, n_reports, f)
    return posterior_means(estimate, max(count_deviation(n_reports, f), 0.5), n_reports)


def posterior_means(estimate: NDArray[np.float64], deviation: float, most: float) -> NDArray[np.float64]:
    """What counts between one half and ``most`` probably were, given estimates with normal noise of known deviation.

    The prior is a mixture of 80 counts whose weights are learned from all estimates together by EM (empirical Bayes:
    Kiefer & Wolfowitz 1956). Where the noise is far below the counts they come out unchanged; the order stays.

    >>> posterior_means(np.array([20.0, 10.0, -10.0, -20.0, 500.0]), 25.0, 1000.0).round()
    array([  1.,   1.,   1.,   1., 502.])
    """
    grid = np.geomspace(0.5, max(1.0, most), _GRID)
    # At small noise the grid would be coarser than the estimates: a grid point stands for its whole cell.
    cell = np.gradient(grid) ** 2
    spread = np.sqrt(deviation**2 + cell)
    log_fit = -0.5 * ((estimate[:, None] - grid) / spread) ** 2 - np.log(spread)
    fit = np.exp(log_fit - log_fit.max(axis=1, keepdims=True))
    weight = np.full(_GRID, 1 / _GRID)
    for _ in range(_STEPS):
        share = fit * weight
        share /= share.sum(axis=1, keepdims=True)
        weight = share.mean(axis=0)
    # Inside a cell the estimate itself decides, as far as its noise allows.
    inner = grid + (estimate[:, None] - grid) * cell / spread**2
    return np.asarray(np.clip(np.sum(share * inner, axis=1), 0.5, max(1.0, most)))


def rebuilt(bits: Bits, n_words: int, f: float, *, key: int = 0) -> Bits:
    """Reports changed in as few bits as it takes for every word to have its estimated count (steps 2 to 4).

    Which reports change is drawn uniformly, by a public key: reports are private already.
    """
    ones = count_ones(bits, n_words)
    wanted = np.clip(np.rint(estimated_counts(ones, len(bits), f)), 0, len(bits)).astype(np.int64)
    out = bits.copy()
    repair(out, ones, wanted, siphash(np.array([key], np.uint64), np.uint64(0), np.uint64(3))[0])
    return out


def as_counts(bits: Bits, n_words: int, *, key: int = 0) -> Counts:
    """Reports as documents that hold each of their words once (step 5), for a learner."""
    sizes, words = [], []
    for first in range(0, len(bits), _BLOCK):
        document, word = np.nonzero(unpacked(bits[first : first + _BLOCK], n_words))
        sizes.append(np.bincount(document, minlength=len(bits[first : first + _BLOCK])))
        words.append(word.astype(np.int32))
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(sizes))])
    tokens = np.concatenate(words)
    keys = siphash(np.arange(len(bits), dtype=np.uint64), np.uint64(key), np.uint64(4))
    return Counts(start.astype(np.int64), tokens, np.ones(tokens.size, np.int32), n_words, keys)
