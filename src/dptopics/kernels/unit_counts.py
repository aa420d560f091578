"""The distinct words of each unit with their counts, limited per word."""

import numpy as np

from dptopics.kernels.arrays import F64, I32, I64
from dptopics.kernels.jit import jit


@jit
def unit_counts(
    unit_start: I64, doc_start: I64, word: I32, counts: I32, n_words: int, most: int
) -> tuple[I64, I32, F64]:
    """(start, rows, values): for each distinct word of a unit the pair (min(count, most), 1).

    Counts are added over the unit's documents in 64 bits, before they are limited.
    """
    n_units = unit_start.size - 1
    start = np.zeros(n_units + 1, np.int64)
    rows = np.empty(word.size, np.int32)
    values = np.empty((word.size, 2), np.float64)
    mark = np.full(n_words, -1, np.int64)  # unit that used the word last
    place = np.empty(n_words, np.int64)
    n = 0
    for unit in range(n_units):
        for e in range(doc_start[unit_start[unit]], doc_start[unit_start[unit + 1]]):
            w = word[e]
            if mark[w] != unit:
                mark[w] = unit
                place[w] = n
                rows[n] = w
                values[n, 0] = 0.0
                values[n, 1] = 1.0
                n += 1
            total = values[place[w], 0] + counts[e]
            values[place[w], 0] = min(total, most)
        start[unit + 1] = n
    return start, rows[:n], values[:n]
