"""The distinct words of each unit, with equal weights."""

import numpy as np

from dptopics.kernels.arrays import F64, I32, I64
from dptopics.kernels.jit import jit


@jit
def unit_words(unit_start: I64, doc_start: I64, word: I32, n_words: int, norm: int) -> tuple[I64, I32, F64]:
    """Rows of each unit's distinct words; t words weigh 1/√t (``norm`` = 2), 1/t (1) or one (0) each.

    Gopi et al. 2020, algorithm 3, for norms 2 and 1.
    """
    n_units = unit_start.size - 1
    start = np.zeros(n_units + 1, np.int64)
    rows = np.empty(word.size, np.int32)
    values = np.empty((word.size, 1), np.float64)
    mark = np.full(n_words, -1, np.int32)
    n = 0
    for unit in range(n_units):
        first = n
        for e in range(doc_start[unit_start[unit]], doc_start[unit_start[unit + 1]]):
            if mark[word[e]] != unit:
                mark[word[e]] = unit
                rows[n] = word[e]
                n += 1
        total = np.sqrt(n - first) if norm == 2 else (n - first if norm == 1 else 1.0)
        for i in range(first, n):
            values[i, 0] = 1.0 / total
        start[unit + 1] = n
    return start, rows[:n], values[:n]
