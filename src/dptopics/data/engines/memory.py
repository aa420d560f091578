"""Bounded sums over a corpus in memory, on all cores, and folds on one. Threads, blocks, row order change nothing."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from threading import local
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dptopics import progress
from dptopics.data.bounded import Block, Bounds, Sample, Statistic
from dptopics.data.corpus import Corpus
from dptopics.data.engines.blocks import BoundedTotal, arrange, edges, steps, too_many_units, units
from dptopics.public.text import TextSettings
from dptopics.release.vocabulary import Vocabulary

S = TypeVar("S")

_BLOCK_ENTRIES = 1 << 18  # entries handed to a thread at once: small enough for progress and memory
_BLOCK_NUMBERS = 1 << 23  # in one row of all units of a block: statistics with wide rows get smaller blocks


class MemoryCorpus:
    """A :class:`~dptopics.data.bounded.BoundedCorpus` in memory."""

    def __init__(self, raw: Corpus, bounds: Bounds, vocabulary: Vocabulary | None = None) -> None:
        self._raw = raw
        self.bounds = bounds
        self.vocabulary = raw.vocabulary if vocabulary is None else vocabulary  # an empty one is still public

    @cached_property
    def _block(self) -> Block:
        """All units, arranged when they are first looked at: most mechanisms limit a corpus before they look."""
        return arrange(self._raw, self.bounds, _rename(self._raw, self.vocabulary), len(self.words))

    @property
    def _n_units(self) -> int:
        return self._block.unit_start.size - 1

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sensitive, {self.bounds}>"

    @property
    def text(self) -> TextSettings | None:
        """How texts became words."""
        return self._raw.text

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true of how documents became words."""
        return self._raw.assumptions

    @property
    def vector_width(self) -> int | None:
        """Numbers in each document's embedding; see the protocol."""
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
        limit = steps(bound, grid, norm)
        height = len(self.words) if statistic.height is None else statistic.height
        shape = (height, statistic.width)
        mine = local()
        totals: list[BoundedTotal] = []

        def add(low: int, high: int) -> int:
            if not hasattr(mine, "total"):
                mine.total = BoundedTotal(shape, limit, grid, norm)
                totals.append(mine.total)
            mine.total.add(statistic, units(self._block, low, high, sample))
            return high

        cuts = edges(self._block, _BLOCK_ENTRIES, _BLOCK_NUMBERS // statistic.width)
        pool = ThreadPoolExecutor(_cores())
        try:
            for done in pool.map(add, cuts[:-1], cuts[1:]):
                progress.report(done / self._n_units)
        finally:
            pool.shutdown(cancel_futures=True)
        return sum((part.total for part in totals), np.zeros(shape, np.int64))

    def fold(self, step: Callable[[S, Block], S], state: S, *, max_units: int | None = None) -> S:
        """Pass all units on in the canonical order, on one thread; see the protocol."""
        if max_units is not None and self._n_units > max_units:
            raise too_many_units(max_units)
        for low, high in pairwise(edges(self._block, _BLOCK_ENTRIES)):
            state = step(state, units(self._block, low, high, None))
            progress.report(high / self._n_units)
        return state


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _rename(raw: Corpus, vocabulary: Vocabulary | None) -> NDArray[np.int32]:
    """Row of each raw word; -1 where it has none."""
    if vocabulary is None:
        return raw.word_rank
    index = vocabulary.index
    return np.array([index.get(w, -1) for w in raw.words], dtype=np.int32)
