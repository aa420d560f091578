"""From documents to blocks of bounded units, and from blocks to bounded sums, as every engine does it."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import pairwise
from math import inf
from threading import local
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import EngineError, InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import Block, Bounds, Place, Placed, Sample, Statistic
from dptopics.data.corpus import Corpus
from dptopics.kernels.bounded_add import bounded_add
from dptopics.kernels.gather import Entries, compact, gather, keep_words, unlike_before
from dptopics.kernels.hashing import siphash
from dptopics.privacy.guarantee import Unit


class Kept(NamedTuple):
    """The documents within the bound on documents, in the canonical order: by unit, then by content.

    Authors come by the hash of their name, then by name; documents by a keyed hash of their words, then by content.
    """

    order: NDArray[np.int64]
    sizes: NDArray[np.int64]  # documents of each unit
    unit_key: NDArray[np.uint64]  # ascending


def kept(raw: Corpus, bounds: Bounds) -> Kept:
    """Which documents stay, and in which order: a function of the set of documents, whatever the order of rows."""
    content = raw.content_key
    key0, key1 = np.uint64(bounds.key), np.uint64(0)
    if bounds.unit is Unit.DOCUMENT:
        unit_key = siphash(content, key0, key1)
        order = _ordered(raw, unit_key)
        return Kept(order, np.ones(order.size, np.int64), unit_key[order])
    assert raw.author is not None
    assert raw.author_key is not None
    author, author_key = raw.author, raw.author_key
    doc_key = siphash(content ^ author_key[author], key0, key1)
    rank = np.empty(author_key.size, np.int64)
    rank[np.argsort(author_key, kind="stable")] = np.arange(rank.size)
    order = _ordered(raw, doc_key, rank[author])
    sorted_author = author[order]
    first = np.flatnonzero(np.concatenate([[order.size > 0], sorted_author[1:] != sorted_author[:-1]]))
    sizes = np.diff(np.append(first, order.size))
    if bounds.max_docs is not None:
        order = order[np.arange(order.size) - np.repeat(first, sizes) < bounds.max_docs]
        sizes = np.minimum(sizes, bounds.max_docs)
    return Kept(order, sizes, author_key[sorted_author[first]])


def _ordered(raw: Corpus, *keys: NDArray[Any]) -> NDArray[np.int64]:
    """Documents by ``keys``, the last one first; those of equal keys by what they hold, never by row.

    Collisions of 64-bit keys can be constructed. If rows decided then, one more row (which moves others between the
    tasks of a cluster) or a shuffled file could reorder other people's documents.
    """
    keys = keys if raw.vectors is None else (raw.vector_key, *keys)
    order = np.lexsort(keys) if raw.vectors is not None else np.argsort(keys[0])  # not stable, but quick
    for half in (0, 16) if raw.vectors is None and len(keys) > 1 else ():  # ranks, which have 32 bits: by radix sort
        order = order[np.argsort((keys[1] >> half).astype(np.uint16)[order], kind="stable")]
    tied = np.ones(max(order.size - 1, 0), np.bool_)
    for key in keys:
        sorted_key = key[order]
        tied &= sorted_key[1:] == sorted_key[:-1]
    if not tied.any():
        return order
    bits = np.empty((raw.n_documents, 0), np.uint32)
    if raw.vectors is not None:
        bits = np.ascontiguousarray(raw.vectors).view(np.uint32)
    like_last = np.append(False, tied)
    unlike = unlike_before(order, like_last, raw.doc_start, raw.word, raw.count, bits)
    if not unlike.any():  # copies, which are interchangeable
        return order
    run = np.cumsum(~like_last)
    places = np.flatnonzero(np.isin(run, run[unlike]))
    documents, run = order[places], run[places]
    start, word, count = gather(documents, raw.doc_start, raw.word, raw.count, raw.word_rank)

    def content(i: int) -> tuple[bytes, bytes]:
        entries = np.stack([word[start[i] : start[i + 1]], count[start[i] : start[i + 1]]], axis=1)
        return entries.astype(">i4").tobytes(), bits[documents[i]].tobytes()

    for low, high in np.searchsorted(run, np.unique(run)[:, None] + [0, 1]):
        order[places[low:high]] = documents[sorted(range(low, high), key=content)]
    return order


def arrange(raw: Corpus, bounds: Bounds, rename: NDArray[np.int32], n_rows: int, kept: Kept, entries: Entries) -> Block:
    """All units, bounded, in the canonical order, as ``entries`` are. Word w has row rename[w] of ``n_rows`` there."""
    order, sizes, unit_key = kept
    doc_start, word, count = entries
    unit_start = offsets(sizes)
    if bounds.max_words is not None:
        word_key = np.zeros(n_rows, np.uint64)
        word_key[rename[rename >= 0]] = raw.word_key[rename >= 0]
        lottery_key = siphash(unit_key, np.uint64(bounds.key), np.uint64(1))
        keep = keep_words(unit_start, doc_start, word, lottery_key, word_key, bounds.max_words)
        if not keep.all():
            doc_start, word, count = compact(doc_start, word, count, keep)
    return Block(unit_start, doc_start, word, count, None if raw.vectors is None else raw.vectors[order])


def edges(block: Block, most_entries: int, most_units: int | None = None) -> list[int]:
    """Where to cut the units into smaller blocks of about equal work and at most so many units."""
    n_units = block.unit_start.size - 1
    documents = np.searchsorted(block.doc_start, np.arange(0, block.doc_start[-1], most_entries)[1:])
    cuts = np.searchsorted(block.unit_start, documents)
    more = [] if most_units is None else range(0, n_units, max(1, most_units))
    return [int(i) for i in np.unique(np.concatenate([[0], cuts, more, [n_units]]))]


def units(block: Block, low: int, high: int, sample: Sample | None, place: int = 0) -> Block:
    """Units low to high, or the sampled ones among them. ``place`` is that of the block's first unit in the corpus."""
    unit_start, doc_start, word, count, vectors = block
    if sample is not None:
        return _take_units(block, low + np.flatnonzero(_included(place + low, place + high, sample)))
    docs = unit_start[low : high + 1]
    entries = doc_start[docs[0] : docs[-1] + 1]
    first, last = entries[0], entries[-1]
    chosen = None if vectors is None else vectors[docs[0] : docs[-1]]
    return Block(docs - docs[0], entries - first, word[first:last], count[first:last], chosen)


def steps(bound: float, grid: float, norm: int) -> int:
    """``bound`` in steps of ``grid``: how far one unit may move a sum.

    Sums are added modulo 2⁶⁴. With at most 2³¹ steps a unit, overflow takes more than 2³² units that agree, and even
    then the result is a function of the noisy sum. So nothing is refused that depends on the data.
    """
    if norm not in (1, 2):
        raise InputError(f"norm must be 1 or 2, got {norm}.")
    if not (0 < bound < inf and 0 < grid < inf):
        raise InputError(f"bound and grid must be positive numbers, got {bound} and {grid}.")
    limit = int(Fraction(bound) / Fraction(grid))  # exact floor: the integers must not exceed the bound
    if not 1 <= limit <= 2**31:
        raise InputError(f"bound / grid must lie between 1 and 2^31, got {bound / grid:.3g}.")
    return limit


def too_many_units(most: int) -> EngineError:
    """What a fold raises for more units than its caller's proof covers."""
    return EngineError(f"this mechanism reads at most {most:,} units. Use another mechanism.")


class BoundedTotal:
    """A partial bounded sum with the kernel's scratch space: one for each thread or task."""

    def __init__(self, shape: tuple[int, int], limit: int, grid: float, norm: int) -> None:
        self.total = np.zeros(shape, np.int64)
        self._limit, self._scale, self._norm = float(limit), 1.0 / grid, norm
        self._work = np.empty(shape, np.float64)
        self._mark = np.full(shape[0], -1, np.int64)

    def add(self, statistic: Statistic, block: Block) -> None:
        start, rows, values = statistic(block)
        bounded_add(start, rows, values, self._limit, self._scale, self._norm, self._work, self._mark, self.total)


def _included(low: int, high: int, sample: Sample) -> NDArray[np.bool_]:
    """Which of the units low to high are in the sample: a pseudo-random function of their place in the order.

    Places are distinct, so units are included independently; content keys would repeat for equal documents.
    """
    places = np.arange(low, high, dtype=np.uint64)
    lottery = siphash(places, np.uint64(sample.key[0]), np.uint64(sample.key[1]))
    return lottery < np.uint64(min(int(sample.rate * 2.0**64), 2**64 - 1))


def _take_units(block: Block, chosen: NDArray[np.int64]) -> Block:
    """The chosen units as a block of their own."""
    unit_start, doc_start, word, count, vectors = block
    n_docs = unit_start[chosen + 1] - unit_start[chosen]
    docs = ranges(unit_start[chosen], n_docs)
    n_entries = doc_start[docs + 1] - doc_start[docs]
    entries = ranges(doc_start[docs], n_entries)
    return Block(
        offsets(n_docs), offsets(n_entries), word[entries], count[entries], None if vectors is None else vectors[docs]
    )


def offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 and the running total."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenation of start, start+1, …, start+size−1 for each pair."""
    before = offsets(sizes)
    return np.arange(before[-1], dtype=np.int64) + np.repeat(starts - before[:-1], sizes)


S = TypeVar("S")

_BLOCK_ENTRIES = 1 << 16  # given to a thread at once: small enough for progress and memory
BLOCK_NUMBERS = 1 << 23  # in one row of all units of a block: statistics with wide rows get smaller blocks


class MemoryCorpus:
    """A :class:`~dptopics.data.bounded.BoundedCorpus` in memory."""

    def __init__(self, raw: Corpus, bounds: Bounds, vocabulary: Vocabulary | None = None, shared: Any = None) -> None:
        self._raw, self.bounds, self.text, self.assumptions = raw, bounds, raw.text, raw.assumptions
        self.vocabulary = raw.vocabulary if vocabulary is None else vocabulary  # an empty one is still public
        self.vector_width = None if raw.vectors is None else int(raw.vectors.shape[1])
        # Shared by all limits: the order of documents, and their words in it, which a vocabulary uses up.
        self._shared: tuple[Callable[[], Kept], list[Entries]] = shared or (cache(partial(kept, raw, bounds)), [])
        self._places: tuple[Place, NDArray[Any]] | None = None  # the last that were asked for

    @cached_property
    def _block(self) -> Block:
        """All units, arranged at the first query: most mechanisms limit a corpus before."""
        raw, rename, (order, every) = self._raw, self._raw.word_rank, self._shared
        try:
            entries = every.pop()
        except IndexError:  # nobody has left them here, or a thread beside this one took them
            entries = gather(order().order, raw.doc_start, raw.word, raw.count, rename)
        if self.vocabulary is None:
            every.append(entries)
        else:
            rename = np.array([self.vocabulary.index.get(w, -1) for w in raw.words], np.int32)
            word = rename[raw.word_order][entries[1]]  # both lists are in alphabetical order
            entries = compact(entries[0], word, entries[2], word >= 0)
        return arrange(raw, self.bounds, rename, len(self.words), order(), entries)

    @property
    def _n_units(self) -> int:
        return self._block.unit_start.size - 1

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sensitive, {self.bounds}>"

    @cached_property
    def words(self) -> Sequence[str]:
        """What each row of a bounded sum stands for, sorted."""
        raw = self._raw
        return [raw.words[i] for i in raw.word_order.tolist()] if self.vocabulary is None else self.vocabulary.words

    def limited(self, *, vocabulary: Vocabulary | None = None, max_words: int | None = None) -> "MemoryCorpus":
        """The same raw data, bounded again under a public vocabulary or a tighter limit. Documents stay in order."""
        limits = [m for m in (max_words, self.bounds.max_words) if m is not None]
        bounds = replace(self.bounds, max_words=min(limits, default=None))
        if bounds == self.bounds and vocabulary is None:
            return self
        self.__dict__.pop("_block", None)  # as large as the data; made again if it is asked for
        return MemoryCorpus(self._raw, bounds, self.vocabulary if vocabulary is None else vocabulary, self._shared)

    def bounded_sum(
        self, statistic: Statistic, *, bound: float, grid: float, sample: Sample | None = None, norm: int = 2
    ) -> NDArray[np.int64]:
        limit = steps(bound, grid, norm)
        height = len(self.words) if statistic.height is None else statistic.height
        shape = (height, statistic.width)
        mine = local()
        totals: list[BoundedTotal] = []
        asked, block = (
            (statistic.statistic, self._placed(statistic.place))
            if isinstance(statistic, Placed)
            else (statistic, self._block)
        )

        def add(low: int, high: int) -> int:
            if not hasattr(mine, "total"):
                mine.total = BoundedTotal(shape, limit, grid, norm)
                totals.append(mine.total)
            mine.total.add(asked, units(block, low, high, sample))
            return high

        cuts = edges(block, _BLOCK_ENTRIES, BLOCK_NUMBERS // statistic.width)
        for done in in_threads(add, cuts[:-1], cuts[1:]):
            progress.report(done / self._n_units)
        return sum((part.total for part in totals), np.zeros(shape, np.int64))

    def _placed(self, place: Place) -> Block:
        """All units, with places for vectors: those of the same ``place`` are kept for the next sum."""
        block = self._block
        if self._places is None or self._places[0] is not place:
            self._places = None
            first = place(units(block, 0, 0, None))  # of no unit: it says how wide the others are
            found = np.empty((block.doc_start.size - 1, first.shape[1]), first.dtype)

            def fill(low: int, high: int) -> None:
                found[block.unit_start[low] : block.unit_start[high]] = place(units(block, low, high, None))

            cuts = edges(block, _BLOCK_ENTRIES)
            for _ in in_threads(fill, cuts[:-1], cuts[1:]):
                pass
            self._places = place, found
        return block._replace(vectors=self._places[1])

    def fold(self, step: Callable[[S, Block], S], state: S, *, max_units: int | None = None) -> S:
        """See the protocol. All units pass through one thread."""
        if max_units is not None and self._n_units > max_units:
            raise too_many_units(max_units)
        for low, high in pairwise(edges(self._block, 2 * _BLOCK_ENTRIES)):
            state = step(state, units(self._block, low, high, None))
            progress.report(high / self._n_units)
        return state


def in_threads(work: Callable[[int, int], S], low: Sequence[int], high: Sequence[int]) -> Iterator[S]:
    """In threads even for a single piece: a compiled kernel in the main thread cannot be interrupted."""
    pool = ThreadPoolExecutor(_cores())
    try:
        yield from pool.map(work, low, high)
    finally:
        pool.shutdown(cancel_futures=True)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
