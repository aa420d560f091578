"""Packed bits seen through a channel that flips each with a known probability: weights, sums and repairs."""

import numpy as np

from dptopics.kernels.arrays import F32, F64, I64, U8
from dptopics.kernels.jit import jit
from dptopics.kernels.splitmix import draw


@jit
def channel_weights(bits: U8, flip: float, rate: F32) -> None:
    """Replace each rate λ by a/(a + (b − a)e^(−λ)), a = P[bit | word there], b = P[bit | word not there].

    If n ~ Poisson(λ), the word is there if n ≥ 1, and its bit is flipped with probability ``flip``, then E[n | bit] is
    λ times that weight. ``bits`` is documents × bytes, first word in the highest bit; ``rate`` documents × words.
    """
    a1, b1 = np.float32(1 - flip), np.float32(flip)
    for d in range(rate.shape[0]):
        for w in range(rate.shape[1]):
            gone = np.exp(-rate[d, w])
            if (bits[d, w >> 3] >> np.uint8(7 - (w & 7))) & np.uint8(1):
                rate[d, w] = a1 / (a1 + (b1 - a1) * gone)
            else:
                rate[d, w] = b1 / (b1 + (a1 - b1) * gone)


@jit
def channel_likelihood(bits: U8, flip: float, rate: F32) -> F64:
    """Σ log P[bit | λ] of each document under the same channel."""
    total = np.zeros(rate.shape[0])
    for d in range(rate.shape[0]):
        for w in range(rate.shape[1]):
            there = flip + (1 - 2 * flip) * -np.expm1(-np.float64(rate[d, w]))
            seen = (bits[d, w >> 3] >> np.uint8(7 - (w & 7))) & np.uint8(1)
            total[d] += np.log(there) if seen else np.log1p(-there)
    return total


@jit
def ones_of_each(bits: U8, n_words: int) -> I64:
    """How many rows have each bit set."""
    total = np.zeros(8 * bits.shape[1], np.int64)
    for d in range(bits.shape[0]):
        for byte in range(bits.shape[1]):
            value = np.int64(bits[d, byte])
            for bit in range(8):
                total[8 * byte + bit] += (value >> (7 - bit)) & 1
    return total[:n_words]


@jit
def repair(bits: U8, ones: I64, wanted: I64, seed: np.uint64) -> None:
    """Change as few bits of each word as it takes to have ``wanted`` ones instead of ``ones``, chosen uniformly.

    One pass (selection sampling: Fan, Muller & Rezucha 1962): of the candidates left, the next is taken with
    probability needed/left. Zhao et al. 2019, section 3.2, steps 3 and 4.
    """
    n_words = ones.size
    need = np.abs(wanted - ones)
    left = np.where(wanted > ones, bits.shape[0] - ones, ones)
    turn_off = wanted < ones
    for d in range(bits.shape[0]):
        row = draw(seed, d)
        for w in range(n_words):
            if need[w] == 0:
                continue
            mask = np.uint8(128) >> np.uint8(w & 7)
            if ((bits[d, w >> 3] & mask) != 0) == turn_off[w]:
                if ((draw(row, w) >> np.uint64(32)) * np.uint64(left[w])) >> np.uint64(32) < np.uint64(need[w]):
                    bits[d, w >> 3] ^= mask
                    need[w] -= 1
                left[w] -= 1
