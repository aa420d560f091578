"""Pairs of neighbouring data sets, drawn from a distribution: what sensitivity is sampled on."""

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.data.counts import Counts


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """Documents by unit: unit u has the documents start[u]:start[u+1] of ``counts``."""

    counts: Counts
    start: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of units."""
        return int(self.start.size - 1)

    def take(self, units: NDArray[np.int64]) -> Counts:
        """The documents of some units, in the order given; a unit may come more than once."""
        sizes = np.diff(self.start)[units]
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        return self.counts.take(np.arange(before[-1]) + np.repeat(self.start[units] - before[:-1], sizes))

    @property
    def digest(self) -> str:
        """A hash of all of it."""
        arrays = (self.start, self.counts.doc_start, self.counts.word, self.counts.count)
        return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


class Neighbours(Protocol):
    """A distribution P over units. Data sets are drawn from P^N; a neighbour has one unit drawn anew."""

    def draw(self, n: int, lots: Generator) -> Units:
        """n independent units."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class DrawnUnits:
    """Units of a corpus, each as likely as any other, with replacement."""

    units: Units

    def draw(self, n: int, lots: Generator) -> Units:
        """n independent units."""
        chosen = lots.integers(0, self.units.n, n)
        sizes = np.diff(self.units.start)[chosen]
        return Units(self.units.take(chosen), np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedUnits:
    """Units written by an LDA model: a smooth distribution where a public corpus has few or short units.

    A unit takes the number and the lengths of its documents from a unit of the corpus that the model was fitted to. All
    its documents share one topic mixture, drawn from a Dirichlet distribution: units differ more than if every document
    had its own, so that the sensitivity comes out rather too high than too low.
    """

    units: Units  # for document lengths
    topics: NDArray[np.float64]  # topics × words
    alpha: float
    word_key: NDArray[np.uint64]  # hash of each word: documents are keyed by their content

    def draw(self, n: int, lots: Generator) -> Units:
        """n independent units."""
        from dptopics.kernels.gather import content_keys

        shape = DrawnUnits(self.units).draw(n, lots)
        length = np.diff(shape.counts.tokens()[0])
        n_topics, n_words = self.topics.shape
        mixture = lots.dirichlet(np.full(n_topics, self.alpha), n)
        unit = np.repeat(np.arange(n), np.diff(shape.start))
        tokens = lots.multinomial(length, mixture[unit])  # documents × topics
        cell = [
            np.repeat(np.arange(length.size), tokens[:, k]) * n_words
            + lots.choice(n_words, tokens[:, k].sum(), p=self.topics[k])
            for k in range(n_topics)
        ]
        place, count = np.unique(np.concatenate(cell), return_counts=True)
        start = np.searchsorted(place, np.arange(length.size + 1) * n_words).astype(np.int64)
        word, number = (place % n_words).astype(np.int32), count.astype(np.int32)
        keys = content_keys(start, word, number, self.word_key)
        return Units(Counts(start, word, number, n_words, keys), shape.start)


def draw_pair(neighbours: Neighbours, n: int, lots: Generator) -> tuple[Counts, Counts]:
    """Two neighbouring data sets of n units: n − 1 in common, the last drawn once for each.

    A bounded corpus hands out units in the order of a hash of their names. So every drawn unit gets a random place, and
    the new one its own: learners that walk through documents in order meet it anywhere.
    """
    units = neighbours.draw(n + 1, lots)
    place = lots.integers(0, 2**63, n + 1)
    first, second = np.arange(n), np.append(np.arange(n - 1), n)
    return units.take(first[np.argsort(place[first])]), units.take(second[np.argsort(place[second])])
