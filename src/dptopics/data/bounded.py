"""BoundedCorpus, the only thing a mechanism may look at, and its parts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dptopics.core.counts import Counts
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.periods import Earlier
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.kernels.gather import content_keys
from dptopics.privacy.guarantee import Unit

S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much a unit may contribute. Public.

    ``max_docs`` documents per author and ``max_words`` distinct words per unit (None: no limit) are chosen by a hash of
    the unit's own content under ``key``, whatever the rows of others. ``column`` names the authors, in a table.
    """

    unit: Unit
    max_docs: int | None = None
    max_words: int | None = None
    key: int = 0
    column: str | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("max_docs", "max_words"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, got {value}.")
        if not 0 <= self.key < 2**64:
            raise InputError(f"key must lie between 0 and 2^64 - 1, got {self.key}.")


class Block(NamedTuple):
    """Some units with their documents, as plain arrays. Documents of unit u: unit_start[u]:unit_start[u+1];
    entries (word, counts) of document d: doc_start[d]:doc_start[d+1]; its embedding or place: vectors[d]."""

    unit_start: NDArray[np.int64]
    doc_start: NDArray[np.int64]
    word: NDArray[np.int32]
    counts: NDArray[np.int32]
    vectors: NDArray[Any] | None = None


class UnitRows(NamedTuple):
    """A vector for each unit, sparse by rows: entry e of start[u]:start[u+1] adds values[e] to row rows[e]."""

    start: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: NDArray[np.floating[Any]]


class Statistic(Protocol):
    """Maps each unit to a vector. It sees one unit at a time; its fields are public."""

    @property
    def height(self) -> int | None:
        """Rows of the sum; None: one for each word."""

    @property
    def width(self) -> int:
        """Numbers per row."""

    def __call__(self, block: Block) -> UnitRows:
        """The vectors of a block's units: a function of each unit alone, whatever else is in the block."""


Place = Callable[[Block], NDArray[Any]]  # a row for each document, a function of that document alone


@dataclass(frozen=True)
class Placed:
    """A statistic that finds each document's place in ``vectors``. In memory, places are kept from sum to sum."""

    statistic: Statistic
    place: Place

    @property
    def height(self) -> int | None:
        return self.statistic.height

    @property
    def width(self) -> int:
        return self.statistic.width

    def __call__(self, block: Block) -> UnitRows:
        """Where they are not kept."""
        return self.statistic(block._replace(vectors=self.place(block)))


@dataclass(frozen=True)
class Sample:
    """A Poisson sample: each unit is in independently with probability ``rate``, by a secret 128-bit key."""

    rate: float
    key: tuple[int, int]


class BoundedCorpus(Protocol):
    """Sensitive. Its bounds are public; its documents can be queried only by bounded sums and folds."""

    @property
    def bounds(self) -> Bounds:
        """How much a unit may contribute."""

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The public words that rows stand for, or None while words are still private."""

    @property
    def text(self) -> TextSettings | None:
        """How texts became words, if they were texts."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the bounds assume of how documents became words. Public."""

    @property
    def vector_width(self) -> int | None:
        """Width of the documents' embeddings; None without embeddings; 0 if there is no document."""

    @property
    def words(self) -> Sequence[str]:
        """What row r of a bounded sum stands for. Private as long as ``vocabulary`` is None."""

    def limited(self, *, vocabulary: Vocabulary | None = None, max_words: int | None = None) -> "BoundedCorpus":
        """The same raw data, bounded again after restricting it to public words, or to fewer words per unit."""

    def bounded_sum(
        self, statistic: Statistic, *, bound: float, grid: float, sample: Sample | None = None, norm: int = 2
    ) -> NDArray[np.int64]:
        """Σ over units of the statistic, clipped to norm ``bound``, rounded toward zero, in steps of ``grid``.

        One unit more or less moves it by at most bound/grid in the L1 (``norm`` = 1) or L2 (2) norm, exactly.
        """

    def fold(self, step: Callable[[S, Block], S], state: S, *, max_units: int | None = None) -> S:
        """Hand the units to ``step`` block by block, in an order that each unit's own hash decides.

        One unit more or less leaves the order of the others as it is; nothing else is promised, and the caller must
        prove how far one unit can move the result. A corpus of more than ``max_units`` units is refused.
        """


def raw_counts(corpus: BoundedCorpus) -> Counts:
    """The documents of a bounded corpus over its public vocabulary: exact, without noise.

    Only for mechanisms whose strength is not ``proved`` (a test checks that): nothing limits what one unit can do.
    """
    if corpus.vocabulary is None:
        raise PrivacyError("the words of this corpus are private. Restrict it to public words first.")
    nothing = Block(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
    blocks: list[Block] = corpus.fold(lambda seen, block: [*seen, block], [nothing])
    sizes = [np.diff(block.doc_start) for block in blocks]
    doc_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(sizes), dtype=np.int64)])
    word, count = np.concatenate([b.word for b in blocks]), np.concatenate([b.counts for b in blocks])
    keys = content_keys(doc_start, word, count, string_keys(corpus.vocabulary.words))
    return Counts(doc_start, word, count, len(corpus.vocabulary), keys)


def string_keys(strings: Iterable[str]) -> NDArray[np.uint64]:
    """A 64-bit hash of each string, the same on every machine."""
    digests = b"".join(blake2b(s.encode("utf-8", "surrogatepass"), digest_size=8).digest() for s in strings)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


class PeriodCorpus:
    """A :class:`BoundedCorpus` that comes with earlier periods and keeps its own sums."""

    def __init__(self, corpus: BoundedCorpus, earlier: Earlier, sums: "list[NDArray[np.int64]] | None" = None) -> None:
        self._corpus, self.earlier = corpus, earlier
        self.sums: list[NDArray[np.int64]] = [] if sums is None else sums  # in the order of the queries
        self.bounds, self.vocabulary, self.text = corpus.bounds, corpus.vocabulary, corpus.text
        self.assumptions, self.vector_width = corpus.assumptions, corpus.vector_width

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sensitive, {self.bounds}>"

    @property
    def words(self) -> Sequence[str]:
        """What the rows of a sum stand for."""
        return self._corpus.words

    def limited(self, *, vocabulary: Vocabulary | None = None, max_words: int | None = None) -> "PeriodCorpus":
        corpus = self._corpus.limited(vocabulary=vocabulary, max_words=max_words)
        return PeriodCorpus(corpus, self.earlier, self.sums)

    def bounded_sum(
        self, statistic: Statistic, *, bound: float, grid: float, sample: Sample | None = None, norm: int = 2
    ) -> NDArray[np.int64]:
        """The sum of this period."""
        found = self._corpus.bounded_sum(statistic, bound=bound, grid=grid, sample=sample, norm=norm)
        self.sums.append(found.copy())
        return found

    def fold(self, step: Callable[[S, Block], S], state: S, *, max_units: int | None = None) -> S:
        return self._corpus.fold(step, state, max_units=max_units)
