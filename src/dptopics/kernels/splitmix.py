"""splitmix64 (Steele, Lea & Flood 2014): a fast mixer of 64-bit words, for choices that may be guessed.

Where a choice must be unpredictable, use `kernels.siphash`.
"""

import numpy as np

from dptopics.kernels.jit import jit

STRIDE = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio, odd


@jit
def mix(x: np.uint64) -> np.uint64:
    """Scramble a word: one to one, and every bit depends on all others."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@jit
def draw(seed: np.uint64, i: int) -> np.uint64:
    """The i-th word of the stream ``seed``."""
    return mix(seed + np.uint64(i) * STRIDE)
