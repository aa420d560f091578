"""What a document says in each look: all its words, the candidate or centre nearest to it, its votes for words."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dptopics.data.bounded import Block, UnitRows
from dptopics.kernels.embedded import mean_of_words, nearest, projected, votes, with_size
from dptopics.topics.embedded.public_space import Space

Floats = NDArray[np.float64]
SIZE_WEIGHT = 0.5  # of the count beside a unit vector in the sums of a cluster
SUMS_BOUND = sqrt(1 + SIZE_WEIGHT**2)  # L2 norm of a document's row in these sums


@dataclass(frozen=True)
class Frequencies:
    """A document's distinct words, each the same: L2 norm one together."""

    height: ClassVar[None] = None
    width: ClassVar[int] = 1

    def __call__(self, block: Block) -> UnitRows:
        """One over the root of the number of its words."""
        n_words = np.diff(block.doc_start)
        each = np.repeat(1 / np.sqrt(np.maximum(n_words, 1)), n_words)
        return UnitRows(block.doc_start[block.unit_start], block.word, each[:, None])


@dataclass(frozen=True)
class Documents:
    """Documents of a block as unit vectors of the public space: by their own vectors, or as the mean of their words."""

    space: Space
    of_words: bool
    middle: Floats

    def __call__(self, block: Block) -> Floats:
        """One row for each document; zeros where it has no place."""
        if self.of_words:
            return mean_of_words(block.doc_start, block.word, block.counts, self.space.word_means, self.middle)
        assert block.vectors is not None  # checked before
        return projected(block.vectors, self.space.mean, self.space.projection, self.middle)


@dataclass(frozen=True)
class Nearest:
    """One for the candidate nearest to each document."""

    documents: Documents
    candidates: Floats
    width: ClassVar[int] = 1

    @property
    def height(self) -> int:
        """A row for each candidate."""
        return len(self.candidates)

    def __call__(self, block: Block) -> UnitRows:
        """A one in the row of the nearest."""
        found = nearest(self.documents(block), np.ascontiguousarray(self.candidates.T))
        start, kept = _kept(block, found)
        return UnitRows(start, found[kept], np.ones((kept.size, 1)))


@dataclass(frozen=True)
class Sums:
    """A document's unit vector and a weight for its size, in the row of its cluster."""

    documents: Documents
    centres: Floats

    @property
    def height(self) -> int:
        """A row for each cluster."""
        return len(self.centres)

    @property
    def width(self) -> int:
        """The vector, and the size."""
        return int(self.centres.shape[1]) + 1

    def __call__(self, block: Block) -> UnitRows:
        """The vector and the weight, norm ``SUMS_BOUND`` together."""
        vectors = self.documents(block)
        found = nearest(vectors, np.ascontiguousarray(self.centres.T))
        start, kept = _kept(block, found)
        return UnitRows(start, found[kept], with_size(vectors, kept, SIZE_WEIGHT))


@dataclass(frozen=True)
class Votes:
    """A document's votes for words, in the column of its topic."""

    documents: Documents
    centres: Floats
    score: NDArray[np.float32]
    most: int
    height: ClassVar[None] = None

    @property
    def width(self) -> int:
        """A column for each topic."""
        return len(self.centres)

    def __call__(self, block: Block) -> UnitRows:
        """At most ``most`` words of the highest scores, norm one together."""
        found = nearest(self.documents(block), np.ascontiguousarray(self.centres.T))
        start, word, weight = votes(block.doc_start, block.word, found, self.score, self.most)
        values = np.zeros((word.size, self.width))
        values[np.arange(word.size), np.repeat(found, np.diff(start))] = weight
        return UnitRows(start[block.unit_start], word, values)


def _kept(block: Block, found: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Documents that have a place, and where each unit's begin among them."""
    before = np.concatenate([[0], np.cumsum(found >= 0)])
    return before[block.unit_start], np.flatnonzero(found >= 0)
