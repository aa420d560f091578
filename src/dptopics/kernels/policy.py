"""Units that see what others gave: each moves the weights of its words toward a cutoff, within a budget.

The state is the *gap* of every word: cutoff less weight, in grid steps. A unit only lowers gaps, never below zero.
"""

import numpy as np

from dptopics.kernels.jit import F64, I32, I64, Flags, jit


@jit
def words_of(unit: int, unit_start: I64, doc_start: I64, word: I32, mark: I64, owned: Flags, found: I32) -> int:
    """Write a unit's distinct words to ``found``; how many they are. ``mark``: the unit that used a word last."""
    n = 0
    for e in range(doc_start[unit_start[unit]], doc_start[unit_start[unit + 1]]):
        w = word[e]
        if mark[w] != unit:
            mark[w] = unit
            owned[w] = True
            found[n] = w
            n += 1
    return n


@jit
def fill_evenly(unit_start: I64, doc_start: I64, word: I32, budget: int, gap: I64, owned: Flags) -> None:
    """ℓ1-descent (Gopi et al. 2020): gap −= min(gap, λ) for the λ that spends min(budget, Σ gap), in whole steps.

    Steps are dealt in rounds, one to each word that is not full, in the unit's own order of words, until the budget is
    gone: so the last round may not reach every word. Dealing whole steps makes the contraction exact.
    """
    mark = np.full(gap.size, -1, np.int64)
    open_words = np.empty(gap.size, np.int32)
    for unit in range(unit_start.size - 1):
        n = 0
        for i in range(words_of(unit, unit_start, doc_start, word, mark, owned, open_words)):
            if gap[open_words[i]] > 0:
                open_words[n] = open_words[i]
                n += 1
        rising = np.empty(n, np.int64)
        for i in range(n):
            rising[i] = gap[open_words[i]]
        rising.sort()
        left = np.int64(budget)
        rounds = rising[n - 1] if n else np.int64(0)  # complete rounds that the budget pays for: λ
        for i in range(n):
            share = left // (n - i)
            if rising[i] > share:
                rounds = share
                left -= share * (n - i)  # steps of the last, incomplete round
                break
            left -= rising[i]
        for i in range(n):
            w = open_words[i]
            if gap[w] <= rounds:
                gap[w] = 0
            elif left > 0:
                gap[w] -= rounds + 1
                left -= 1
            else:
                gap[w] -= rounds


@jit
def fill_toward(unit_start: I64, doc_start: I64, word: I32, budget: float, gap: F64, owned: Flags) -> None:
    """ℓ2-descent (Gopi et al. 2020): gap *= max(0, 1 − budget/‖gap‖₂), the gap restricted to the unit's words."""
    mark = np.full(gap.size, -1, np.int64)
    own_words = np.empty(gap.size, np.int32)
    for unit in range(unit_start.size - 1):
        n = words_of(unit, unit_start, doc_start, word, mark, owned, own_words)
        squared = 0.0
        for i in range(n):
            squared += gap[own_words[i]] * gap[own_words[i]]
        length = np.sqrt(squared)
        factor = 1.0 - budget / length if length > budget else 0.0
        for i in range(n):
            gap[own_words[i]] *= factor


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
