"""Hashes of local hashing: which bucket a value falls into under a report's seed, and who supports which value."""

import numpy as np
from numpy.typing import NDArray

from dptopics.kernels.jit import jit


@jit
def bucket(seed: np.uint64, value: int, n_buckets: int) -> np.uint32:
    """h(value) in 0 … g − 1: 32 bits of a mixed word (splitmix64, Steele et al. 2014), scaled to g.

    What a report hides does not depend on the hash; how well the server estimates does.
    """
    x = seed + np.uint64(value + 1) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return np.uint32(((x >> np.uint64(32)) * np.uint64(n_buckets)) >> np.uint64(32))


@jit
def buckets(seed: NDArray[np.uint64], value: NDArray[np.int64], n_buckets: int) -> NDArray[np.int64]:
    """The bucket of each value under its own seed."""
    out = np.empty(value.size, np.int64)
    for i in range(value.size):
        out[i] = bucket(seed[i], value[i], n_buckets)
    return out


@jit
def support(seed: NDArray[np.uint64], sent: NDArray[np.uint32], n_buckets: int, n_values: int) -> NDArray[np.int64]:
    """How many answers fall into the bucket of each value."""
    total = np.zeros(n_values, np.int64)
    for d in range(seed.size):
        for i in range(n_values):
            total[i] += bucket(seed[d], i, n_buckets) == sent[d]
    return total


@jit
def supports(seed: NDArray[np.uint64], sent: NDArray[np.uint32], n_buckets: int, out: NDArray[np.float32]) -> None:
    """out[d, i] = 1 where answer d falls into the bucket of value i, else 0."""
    for d in range(seed.size):
        for i in range(out.shape[1]):
            out[d, i] = np.float32(bucket(seed[d], i, n_buckets) == sent[d])
