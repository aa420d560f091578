"""Tokens of many documents to (word, count) entries."""

import numpy as np

from dptopics.kernels.arrays import I32, I64
from dptopics.kernels.jit import jit


@jit
def count_tokens(tokens: I32, lengths: I64) -> tuple[I64, I32, I32]:
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
