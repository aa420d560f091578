"""Units that fill their own most frequent words first, up to a cutoff."""

import numpy as np

from dptopics.kernels.arrays import I32, I64, Flags
from dptopics.kernels.jit import jit
from dptopics.kernels.policy import words_of


@jit
def fill_in_order(
    unit_start: I64, doc_start: I64, word: I32, counts: I32, word_rank: I32, budget: int, gap: I64, owned: Flags
) -> None:
    """A unit closes the gaps of its words one after another until ``budget`` steps are gone (Carvalho et al. 2022).

    The order is by the unit's own count, highest first, ties by ``word_rank`` (a permutation that depends on no text).
    It must not look at the gaps: ordering by them, a unit could react to another by much more than the other gave.
    """
    mark = np.full(gap.size, -1, np.int64)
    count = np.empty(gap.size, np.int64)
    own_words = np.empty(gap.size, np.int32)
    word_of = np.empty(gap.size, np.int32)  # by rank
    for w in range(gap.size):
        word_of[word_rank[w]] = w
    for unit in range(unit_start.size - 1):
        n = words_of(unit, unit_start, doc_start, word, mark, owned, own_words)
        for i in range(n):
            count[own_words[i]] = 0
        for e in range(doc_start[unit_start[unit]], doc_start[unit_start[unit + 1]]):
            count[word[e]] += counts[e]
        key = np.empty(n, np.int64)  # count in the high half, rank in the low: one sort orders both
        for i in range(n):
            w = own_words[i]
            key[i] = (-min(count[w], np.int64(2**31 - 1)) << np.int64(32)) | np.int64(word_rank[w])
        key.sort()
        left = np.int64(budget)
        for i in range(n):
            w = word_of[key[i] & np.int64(0x7FFFFFFF)]
            step = min(left, gap[w])
            gap[w] -= step
            left -= step
            if left == 0:
                break
