"""Tokens of many documents to (word, count) entries."""

import numpy as np
from numpy.typing import NDArray

from dptopics.kernels.jit import jit


@jit
def count_tokens(
    tokens: NDArray[np.int32], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Entries per document, and the sorted distinct words of each document with their counts.

    ``tokens`` holds the word numbers of all documents one after another, ``lengths`` the tokens of each.
    """
    sizes = np.zeros(lengths.size, np.int64)
    word = np.empty(tokens.size, np.int32)
    count = np.empty(tokens.size, np.int32)
    n = 0
    start = 0
    for d in range(lengths.size):
        ordered = np.sort(tokens[start : start + lengths[d]])
        start += lengths[d]
        first = n
        for w in ordered:
            if n > first and word[n - 1] == w:
                count[n - 1] += 1
            else:
                word[n] = w
                count[n] = 1
                n += 1
        sizes[d] = n - first
    return sizes, word[:n].copy(), count[:n].copy()
