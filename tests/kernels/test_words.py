"""Words of many documents at once, against the expression that cuts one."""

from itertools import pairwise

import numpy as np
import regex
from hypothesis import given
from hypothesis import strategies as st

from dptopics.kernels.counts import INSIDE, LETTER, OTHER, cut_words

KIND = np.full(256, OTHER, np.uint8)
KIND[[ord(c) for c in "abcde"]] = LETTER
KIND[[ord(c) for c in "0123"]] = INSIDE
WORD = regex.compile("[abcde][abcde0123]*")


@given(st.lists(st.text("abcde0123 .-", max_size=30), max_size=8), st.integers(1, 3), st.integers(3, 9))
def test_agrees_with_the_expression(documents, low, high):
    signs = np.array([ord(c) for text in documents for c in f"{text}|"], np.uint32)
    words, starts, lengths = cut_words(signs, KIND, ord("|"), len(documents), low, high)
    expected = [[w for w in WORD.findall(text) if low <= len(w) <= high] for text in documents]
    assert lengths.tolist() == [len(found) for found in expected]
    cut = ["".join(map(chr, words[a:b])) for a, b in pairwise(starts)]
    assert cut == [word for found in expected for word in found]
    assert (words.dtype, starts.dtype, lengths.dtype) == (np.uint32, np.int32, np.int64)


def test_signs_are_left_as_they_were():
    signs = np.array([97, 98, 124], np.uint32)
    cut_words(signs, KIND, 124, 1, 1, 9)
    assert signs.tolist() == [97, 98, 124]
