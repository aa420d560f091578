"""Cut many documents into words at once."""

import numpy as np

from dptopics.kernels.arrays import I32, I64, U8, U32
from dptopics.kernels.jit import jit

OTHER, INSIDE, LETTER = 0, 1, 2  # what a sign is: no part of a word, a part of one, what one may begin with


@jit
def cut_words(signs: U32, kind: U8, separator: int, n_documents: int, low: int, high: int) -> tuple[U32, I32, I64]:
    """The words of low to high signs, one after another; where each begins (and the last ends); words per document.

    A word is a letter and all that follow it inside a word: what the expression ``letter inside*`` finds. ``signs``
    are code points, with ``separator``, which is no part of any word, after each document.
    """
    words = np.empty(signs.size, np.uint32)
    starts = np.empty(signs.size // 2 + 2, np.int32)
    lengths = np.zeros(n_documents, np.int64)
    n, size, document, i = 0, 0, 0, 0
    starts[0] = 0
    while i < signs.size:
        sign = signs[i]
        if sign == separator:
            document += 1
            i += 1
        elif kind[sign] == LETTER:
            end = i + 1
            while end < signs.size and kind[signs[end]] != OTHER:
                end += 1
            if low <= end - i <= high:
                for k in range(i, end):
                    words[size] = signs[k]
                    size += 1
                n += 1
                starts[n] = size
                lengths[document] += 1
            i = end
        else:
            i += 1
    return words[:size].copy(), starts[: n + 1].copy(), lengths
