"""Kernels of local hashing beside the one line that defines a bucket."""

import numpy as np
import pytest

from dptopics.kernels.local_hash import buckets, support


@pytest.mark.parametrize("n_buckets", [2, 3, 56, 1000, 2**31 - 1, 2**31])
def test_support_is_the_number_of_equal_buckets(n_buckets):
    rng = np.random.default_rng(n_buckets)
    seed = rng.integers(0, 2**64 - 1, 400, dtype=np.uint64, endpoint=True)
    n_values = 60
    found = np.array([buckets(seed, np.full(seed.size, value), n_buckets) for value in range(n_values)])
    sent = found[rng.integers(0, n_values, seed.size), np.arange(seed.size)].astype(np.uint32)  # hits for any g
    sent[:3] = 0, n_buckets - 1, n_buckets // 2
    np.testing.assert_array_equal(support(seed, sent, n_buckets, n_values), (found == sent).sum(axis=1))
