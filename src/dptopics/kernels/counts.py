"""Tokens of many documents to (word, count) entries."""

from typing import Any

import numpy as np

from dptopics.kernels.jit import F64, I32, I64, U8, jit

_FEW = 32


@jit
def put_in_order(numbers: Any) -> None:
    """Sort in place. Few numbers by insertion: a call of the general way costs more than that."""
    if numbers.size > _FEW:
        numbers.sort()
        return
    for i in range(1, numbers.size):
        mine, k = numbers[i], i
        while k > 0 and numbers[k - 1] > mine:
            numbers[k] = numbers[k - 1]
            k -= 1
        numbers[k] = mine


@jit
def count_tokens(tokens: I32, lengths: I64) -> tuple[I64, I32, I32]:
    """Entries per document, and the sorted distinct words of each document with their counts.

    ``tokens`` holds the word numbers of all documents one after another (negative: does not count), ``lengths`` the
    tokens of each.
    """
    sizes = np.zeros(lengths.size, np.int64)
    word = np.empty(tokens.size, np.int32)
    count = np.empty(tokens.size, np.int32)
    n = 0
    start = 0
    for d in range(lengths.size):
        ordered = tokens[start : start + lengths[d]].copy()
        put_in_order(ordered)
        start += lengths[d]
        first = n
        for w in ordered:
            if w < 0:
                continue
            if n > first and word[n - 1] == w:
                count[n - 1] += 1
            else:
                word[n] = w
                count[n] = 1
                n += 1
        sizes[d] = n - first
    return sizes, word[:n].copy(), count[:n].copy()


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


OTHER, INSIDE, LETTER = 0, 1, 2  # what a sign is: no part of a word, a part of one, what one may begin with


@jit
def cut_words(signs: Any, kind: U8, separator: int, n_documents: int, low: int, high: int) -> tuple[Any, I32, I64]:
    """The words of low to high signs, one after another; where each begins (and the last ends); words per document.

    A word is a letter and all that follow it inside a word: what the expression ``letter inside*`` finds. ``signs``
    are code points (one or four bytes each), with ``separator``, which is no part of any word, after each document.
    """
    words = np.empty_like(signs)
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


def distributions(matrix: F64) -> F64:
    """Rows as distributions: absolute values over their sum; an empty row becomes uniform."""
    rows = np.abs(np.asarray(matrix, np.float64))
    total = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1.0 / rows.shape[1]))
