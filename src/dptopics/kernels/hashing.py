"""SipHash-2-4 of single 64-bit words: the keyed hash behind every choice that must not depend on row order."""

import numpy as np

from dptopics.kernels.jit import U64, jit


@jit
def siphash(values: U64, key0: np.uint64, key1: np.uint64) -> U64:
    """SipHash-2-4 (Aumasson & Bernstein 2012) of each 8-byte value under a 128-bit key: a pseudo-random function."""
    out = np.empty(values.size, np.uint64)
    one, last = np.uint64(0xFF), np.uint64(8 << 56)
    for i in range(values.size):
        v0 = key0 ^ np.uint64(0x736F6D6570736575)
        v1 = key1 ^ np.uint64(0x646F72616E646F6D)
        v2 = key0 ^ np.uint64(0x6C7967656E657261)
        v3 = key1 ^ np.uint64(0x7465646279746573)
        for block in range(3):
            word = values[i] if block == 0 else last  # the message, its padding with the length; then finalisation
            rounds = 4 if block == 2 else 2
            if block == 2:
                v2 ^= one
            else:
                v3 ^= word
            for _ in range(rounds):
                v0 += v1
                v1 = (v1 << np.uint64(13)) | (v1 >> np.uint64(51))
                v1 ^= v0
                v0 = (v0 << np.uint64(32)) | (v0 >> np.uint64(32))
                v2 += v3
                v3 = (v3 << np.uint64(16)) | (v3 >> np.uint64(48))
                v3 ^= v2
                v0 += v3
                v3 = (v3 << np.uint64(21)) | (v3 >> np.uint64(43))
                v3 ^= v0
                v2 += v1
                v1 = (v1 << np.uint64(17)) | (v1 >> np.uint64(47))
                v1 ^= v2
                v2 = (v2 << np.uint64(32)) | (v2 >> np.uint64(32))
            if block != 2:
                v0 ^= word
        out[i] = v0 ^ v1 ^ v2 ^ v3
    return out


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
