"""Tokens to counts, against collections.Counter."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dptopics.kernels.counts import count_tokens


@given(st.lists(st.lists(st.integers(0, 5) | st.integers(0, 2**31 - 1), max_size=20), max_size=8))
def test_agrees_with_a_counter(documents):
    tokens = np.array([t for d in documents for t in d], np.int32)
    sizes, word, count = count_tokens(tokens, np.array([len(d) for d in documents], np.int64))
    expected = [sorted(Counter(d).items()) for d in documents]
    assert sizes.tolist() == [len(d) for d in expected]
    assert list(zip(word.tolist(), count.tolist(), strict=True)) == [pair for d in expected for pair in d]
    assert (sizes.dtype, word.dtype, count.dtype) == (np.int64, np.int32, np.int32)


def test_tokens_are_left_as_they_were():
    tokens = np.array([3, 1, 2, 1], np.int32)
    count_tokens(tokens, np.array([4], np.int64))
    assert tokens.tolist() == [3, 1, 2, 1]
