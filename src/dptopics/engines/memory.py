"""Bounded sums over a corpus in memory, on all cores, and folds on one. Threads, blocks, row order change nothing."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf
from threading import local
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dptopics import progress
from dptopics.corpus import Block, Bounds, Corpus, Sample, Statistic, string_keys
from dptopics.errors import InputError
from dptopics.guarantee import Unit
from dptopics.kernels.bounded_add import bounded_add
from dptopics.kernels.gather import compact, gather, keep_words
from dptopics.kernels.siphash import siphash
from dptopics.release import Vocabulary
from dptopics.text import TextSettings

S = TypeVar("S")

_BLOCK_ENTRIES = 1 << 18  # entries handed to a thread at once: small enough for progress and memory
_BLOCK_NUMBERS = 1 << 23  # in one row of all units of a block: statistics with wide rows get smaller blocks
_LARGEST_TOTAL = 2**62


class MemoryCorpus:
    """A :class:`~dptopics.corpus.BoundedCorpus` in memory."""

    def __init__(self, raw: Corpus, bounds: Bounds, vocabulary: Vocabulary | None = None) -> None:
        self._raw = raw
        self.bounds = bounds
        self.vocabulary = raw.vocabulary if vocabulary is None else vocabulary  # an empty one is still public
        self._block = _arrange(raw, bounds, self.vocabulary)
        self._n_units = self._block.unit_start.size - 1

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sensitive, {self.bounds}>"

    @property
    def text(self) -> TextSettings | None:
        """How texts became words."""
        return self._raw.text

    @property
    def vector_width(self) -> int | None:
        """Numbers in each document's embedding, if documents have any."""
        return None if self._raw.vectors is None else int(self._raw.vectors.shape[1])

    @cached_property
    def words(self) -> Sequence[str]:
        """What each row of a bounded sum stands for, sorted."""
        raw = self._raw
        return [raw.words[i] for i in raw.word_order.tolist()] if self.vocabulary is None else self.vocabulary.words

    def limited(self, *, vocabulary: Vocabulary | None = None, max_words: int | None = None) -> "MemoryCorpus":
        """The same raw data, bounded anew under a public vocabulary or a tighter limit."""
        limits = [m for m in (max_words, self.bounds.max_words) if m is not None]
        bounds = replace(self.bounds, max_words=min(limits, default=None))
        if bounds == self.bounds and vocabulary is None:
            return self
        return MemoryCorpus(self._raw, bounds, self.vocabulary if vocabulary is None else vocabulary)

    def bounded_sum(
        self, statistic: Statistic, *, bound: float, grid: float, sample: Sample | None = None, norm: int = 2
    ) -> NDArray[np.int64]:
        """Σ over units of clipped, rounded vectors; see the protocol."""
        if norm not in (1, 2):
            raise InputError(f"norm must be 1 or 2, got {norm}.")
        if not (0 < bound < inf and 0 < grid < inf):
            raise InputError(f"bound and grid must be positive numbers, got {bound} and {grid}.")
        limit = int(Fraction(bound) / Fraction(grid))  # exact floor: the integers may not exceed the bound
        if not 1 <= limit <= 2**31:
            raise InputError(f"bound / grid must lie between 1 and 2^31, got {bound / grid:.3g}.")
        if (self._n_units + 1) * limit > _LARGEST_TOTAL:
            raise InputError("this sum could overflow 64 bits. Use a coarser grid.")
        height = len(self.words) if statistic.height is None else statistic.height
        shape = (height, statistic.width)
        mine = local()
        totals: list[NDArray[np.int64]] = []

        def add(low: int, high: int) -> int:
            if not hasattr(mine, "total"):
                mine.total = np.zeros(shape, np.int64)
                mine.work = np.empty(shape, np.float64)
                mine.mark = np.full(shape[0], -1, np.int64)
                totals.append(mine.total)
            start, rows, values = statistic(self._units(low, high, sample))
            bounded_add(start, rows, values, float(limit), 1.0 / grid, norm, mine.work, mine.mark, mine.total)
            return high

        edges = self._edges(_BLOCK_NUMBERS // statistic.width)
        pool = ThreadPoolExecutor(_cores())
        try:
            for done in pool.map(add, edges[:-1], edges[1:]):
                progress.report(done / self._n_units)
        finally:
            pool.shutdown(cancel_futures=True)
        return sum(totals, np.zeros(shape, np.int64))

    def fold(self, step: Callable[[S, Block], S], state: S, *, max_units: int | None = None) -> S:
        """Pass all units on in the canonical order, on one thread; see the protocol."""
        if max_units is not None and self._n_units > max_units:
            raise InputError(f"this mechanism's guarantee covers at most {max_units:,} units. Use another mechanism.")
        for low, high in pairwise(self._edges()):
            state = step(state, self._units(low, high, None))
            progress.report(high / self._n_units)
        return state

    def _edges(self, most_units: int | None = None) -> list[int]:
        """Where to cut the units into blocks of about equal work, of at most so many units."""
        first_entry = self._block.doc_start[self._block.unit_start]
        cuts = np.searchsorted(first_entry, np.arange(0, first_entry[-1], _BLOCK_ENTRIES)[1:])
        more = [] if most_units is None else range(0, self._n_units, max(1, most_units))
        return [int(i) for i in np.unique(np.concatenate([[0], cuts, more, [self._n_units]]))]

    def _units(self, low: int, high: int, sample: Sample | None) -> Block:
        """Units low to high, or the sampled ones among them."""
        unit_start, doc_start, word, count, vectors = self._block
        if sample is not None:
            return _take_units(self._block, low + np.flatnonzero(_included(low, high, sample)))
        docs = unit_start[low : high + 1]
        entries = doc_start[docs[0] : docs[-1] + 1]
        first, last = entries[0], entries[-1]
        chosen = None if vectors is None else vectors[docs[0] : docs[-1]]
        return Block(docs - docs[0], entries - first, word[first:last], count[first:last], chosen)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _included(low: int, high: int, sample: Sample) -> NDArray[np.bool_]:
    """Which of the units low to high are in the sample: a pseudo-random function of their place in the order.

    Places are distinct, so that units are included independently; keys of content would repeat for equal documents.
    """
    places = np.arange(low, high, dtype=np.uint64)
    lottery = siphash(places, np.uint64(sample.key[0]), np.uint64(sample.key[1]))
    included: NDArray[np.bool_] = lottery < np.uint64(min(int(sample.rate * 2.0**64), 2**64 - 1))
    return included


def _take_units(block: Block, units: NDArray[np.int64]) -> Block:
    """The chosen units as a block of their own."""
    unit_start, doc_start, word, count, vectors = block
    n_docs = unit_start[units + 1] - unit_start[units]
    docs = _ranges(unit_start[units], n_docs)
    n_entries = doc_start[docs + 1] - doc_start[docs]
    entries = _ranges(doc_start[docs], n_entries)
    chosen = None if vectors is None else vectors[docs]
    return Block(_offsets(n_docs), _offsets(n_entries), word[entries], count[entries], chosen)


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenation of start, start+1, …, start+size−1 for each pair."""
    offsets = _offsets(sizes)
    return np.arange(offsets[-1], dtype=np.int64) + np.repeat(starts - offsets[:-1], sizes)


def _arrange(raw: Corpus, bounds: Bounds, vocabulary: Vocabulary | None) -> Block:
    """Documents in a canonical order (by unit, then by content), bounded."""
    content = raw.content_key
    key0, key1 = np.uint64(bounds.key), np.uint64(0)
    if bounds.unit is Unit.AUTHOR:
        assert raw.author is not None
        assert raw.author_key is not None
        author, author_key = raw.author, raw.author_key
        doc_key = siphash(content ^ author_key[author], key0, key1)
        order = np.lexsort((doc_key, author, author_key[author]))
        sorted_author = author[order]
        first = np.flatnonzero(np.concatenate([[True], sorted_author[1:] != sorted_author[:-1]]))
        unit_key = author_key[sorted_author[first]]
        if bounds.max_docs is not None:
            rank = np.arange(order.size) - np.repeat(first, np.diff(np.append(first, order.size)))
            order = order[rank < bounds.max_docs]
            sizes = np.minimum(np.diff(np.append(first, sorted_author.size)), bounds.max_docs)
        else:
            sizes = np.diff(np.append(first, order.size))
    else:
        unit_key = siphash(content, key0, key1)
        order = np.argsort(unit_key, kind="stable")
        unit_key = unit_key[order]
        sizes = np.ones(order.size, np.int64)
    rename = _rename(raw, vocabulary)
    doc_start, word, count = gather(order, raw.doc_start, raw.word, raw.count, rename)
    unit_start = _offsets(sizes)
    if bounds.max_words is not None:
        word_key = raw.word_key[raw.word_order] if vocabulary is None else string_keys(vocabulary.words)
        lottery_key = siphash(unit_key, key0, np.uint64(1))
        keep = keep_words(unit_start, doc_start, word, lottery_key, word_key, bounds.max_words)
        doc_start, word, count = compact(doc_start, word, count, keep)
    return Block(unit_start, doc_start, word, count, None if raw.vectors is None else raw.vectors[order])


def _rename(raw: Corpus, vocabulary: Vocabulary | None) -> NDArray[np.int32]:
    """Row of each raw word; -1 where it has none."""
    if vocabulary is None:
        rank = np.empty(len(raw.words), np.int32)
        rank[raw.word_order] = np.arange(rank.size, dtype=np.int32)
        return rank
    index = vocabulary.index
    return np.array([index.get(w, -1) for w in raw.words], dtype=np.int32)
