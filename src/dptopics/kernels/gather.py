"""Copy documents into unit order, with words renamed or dropped, and bound the distinct words of each unit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dptopics.kernels.counts import put_in_order
from dptopics.kernels.hashing import draw, mix
from dptopics.kernels.jit import I32, I64, U32, U64, Flags, jit

Entries = tuple[I64, I32, I32]
_PART = 1 << 16  # documents that a thread takes at once


def gather(order: I64, doc_start: I64, word: I32, count: I32, rename: I32) -> Entries:
    """Documents ``order`` with word w called rename[w] (dropped if negative), entries sorted by word."""
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(doc_start)[order])])
    names, counts = np.empty((2, int(start[-1])), np.int32)
    with ThreadPoolExecutor() as pool:
        to, size = (doc_start, word, count, rename, names, counts), _PART
        list(pool.map(lambda i: _fill(order[i : i + size], start[i : i + size + 1], *to), range(0, order.size, size)))
    return (start, names, counts) if (rename >= 0).all() else compact(start, names, counts, names >= 0)


@jit
def _fill(order: I64, start: I64, doc_start: I64, word: I32, count: I32, rename: I32, names: I32, counts: I32) -> None:
    packed = np.empty(np.diff(start).max(), np.int64)
    for i in range(order.size):
        first = doc_start[order[i]]
        n = doc_start[order[i] + 1] - first
        for k in range(n):  # word in the high half, count in the low: one sort moves both
            packed[k] = (np.int64(rename[word[first + k]]) << np.int64(32)) | np.int64(count[first + k])
        put_in_order(packed[:n])
        for k in range(n):
            names[start[i] + k] = packed[k] >> np.int64(32)
            counts[start[i] + k] = packed[k] & np.int64(0x7FFFFFFF)


@jit
def keep_words(unit_start: I64, doc_start: I64, word: I32, unit_key: U64, word_key: U64, max_words: int) -> Flags:
    """Which entries stay when a unit may hold ``max_words`` distinct words: those of the lowest lottery tickets.

    A ticket mixes the keys of unit and word (splitmix64), so the choice depends on the unit alone, not on any order.
    """
    keep = np.ones(word.size, np.bool_)
    mark = np.full(word_key.size, -1, np.int64)
    ticket = np.empty(word_key.size, np.uint64)
    for unit in range(unit_start.size - 1):
        first, last = doc_start[unit_start[unit]], doc_start[unit_start[unit + 1]]
        if last - first <= max_words:
            continue
        tickets, n = np.empty(last - first, np.uint64), 0
        for e in range(first, last):
            w = word[e]
            if mark[w] != unit:
                mark[w] = unit
                ticket[w] = tickets[n] = mix(unit_key[unit] ^ word_key[w])
                n += 1
        if n > max_words:
            tickets = np.sort(tickets[:n])
            for e in range(first, last):
                keep[e] = ticket[word[e]] < tickets[max_words]
    return keep


@jit
def compact(doc_start: I64, word: I32, count: I32, keep: Flags) -> Entries:
    """The entries that stay."""
    start, n, most = np.zeros_like(doc_start), 0, np.count_nonzero(keep)
    words, counts = np.empty(most, np.int32), np.empty(most, np.int32)
    for d in range(doc_start.size - 1):
        for e in range(doc_start[d], doc_start[d + 1]):
            if keep[e]:
                words[n], counts[n] = word[e], count[e]
                n += 1
        start[d + 1] = n
    return start, words, counts


@jit
def unlike_before(documents: I64, asked: Flags, doc_start: I64, word: I32, count: I32, bits: U32) -> Flags:
    """Which of the ``asked`` documents are not the one before them, entry by entry as they stand and bit by bit of the
    embedding. The first has none before it."""
    unlike = np.zeros(documents.size, np.bool_)
    for i in range(1, documents.size):
        if asked[i]:
            one, two = documents[i - 1], documents[i]
            mine, other = slice(doc_start[one], doc_start[one + 1]), slice(doc_start[two], doc_start[two + 1])
            equal = np.array_equal(word[mine], word[other]) and np.array_equal(count[mine], count[other])
            unlike[i] = not (equal and np.array_equal(bits[one], bits[two]))
    return unlike


@jit
def content_keys(doc_start: I64, word: I32, count: I32, word_key: U64) -> U64:
    """A key of each document's content that does not depend on the order or numbering of words.

    Fast, and no more: documents of equal keys can be made in a minute. What must be in order compares their contents.
    """
    keys = np.empty(doc_start.size - 1, np.uint64)
    for d in range(keys.size):
        total = np.uint64(0)
        for e in range(doc_start[d], doc_start[d + 1]):
            total += draw(word_key[word[e]], count[e])
        keys[d] = total
    return keys
