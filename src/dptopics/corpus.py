"""Corpus: sensitive text as word counts. BoundedCorpus: the only thing a mechanism may look at."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dptopics.counts import Counts
from dptopics.errors import InputError, PrivacyError, tell_owner
from dptopics.guarantee import Unit
from dptopics.kernels.gather import content_keys, gather
from dptopics.release import Vocabulary
from dptopics.text import TextSettings

S = TypeVar("S")
Embed = Callable[[Sequence[str]], NDArray[np.float32]]  # texts to vectors, one row each


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much a unit may contribute. Public.

    ``max_docs`` documents per author and ``max_words`` distinct words per unit (None: no limit) are chosen by a hash of
    the unit's own content under ``key``, so that no choice depends on other people's rows or on their order.
    """

    unit: Unit
    max_docs: int | None = None
    max_words: int | None = None
    key: int = 0

    def __post_init__(self) -> None:
        for name in ("max_docs", "max_words"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, got {value}.")
        if not 0 <= self.key < 2**64:
            raise InputError(f"key must lie between 0 and 2^64 - 1, got {self.key}.")


class Block(NamedTuple):
    """Some units with their documents, as plain arrays. Documents of unit u: unit_start[u]:unit_start[u+1];
    entries (word, counts) of document d: doc_start[d]:doc_start[d+1]; its embedding, if there are any: vectors[d]."""

    unit_start: NDArray[np.int64]
    doc_start: NDArray[np.int64]
    word: NDArray[np.int32]
    counts: NDArray[np.int32]
    vectors: NDArray[np.float32] | None = None


class UnitRows(NamedTuple):
    """A vector for each unit, sparse by rows: entry e of start[u]:start[u+1] adds values[e] to row rows[e]."""

    start: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: NDArray[np.float64]


class Statistic(Protocol):
    """Maps each unit to a vector. It sees one unit at a time; its fields are public."""

    @property
    def height(self) -> int | None:
        """Rows of the sum; None: one for each word."""
        ...

    @property
    def width(self) -> int:
        """Numbers per row."""
        ...

    def __call__(self, block: Block) -> UnitRows:
        """The vectors of a block's units: a function of each unit alone, whatever else is in the block."""
        ...


@dataclass(frozen=True)
class Sample:
    """A Poisson sample: each unit is in independently with probability ``rate``, by a secret 128-bit key."""

    rate: float
    key: tuple[int, int]


class BoundedCorpus(Protocol):
    """Sensitive. Its bounds are public; its documents can be reached only through bounded sums and folds."""

    @property
    def bounds(self) -> Bounds:
        """How much a unit may contribute."""
        ...

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The public words that rows stand for, or None while words are still private."""
        ...

    @property
    def text(self) -> TextSettings | None:
        """How texts became words, if they were texts."""
        ...

    @property
    def vector_width(self) -> int | None:
        """Numbers in each document's embedding; None if documents have none; 0 if there is no document to tell by."""
        ...

    @property
    def words(self) -> Sequence[str]:
        """What row r of a bounded sum stands for. Private as long as ``vocabulary`` is None."""
        ...

    def limited(self, *, vocabulary: Vocabulary | None = None, max_words: int | None = None) -> "BoundedCorpus":
        """The same raw data, bounded anew after restricting it to public words, or to fewer words per unit."""
        ...

    def bounded_sum(
        self, statistic: Statistic, *, bound: float, grid: float, sample: Sample | None = None, norm: int = 2
    ) -> NDArray[np.int64]:
        """Σ over units of the statistic, clipped to norm ``bound``, rounded toward zero, in steps of ``grid``.

        Adding or removing one unit moves the result by at most bound/grid in the L1 (``norm`` = 1) or L2 (2) norm,
        exactly.
        """
        ...

    def fold(self, step: Callable[[S, Block], S], state: S, *, max_units: int | None = None) -> S:
        """Hand the units to ``step`` one block after another, in an order that each unit's own hash decides.

        For functions that are not sums of units: one unit more or less leaves the order of the others as it is, and
        nothing else is promised. Whoever calls this proves how far one unit can move the result. A corpus of more than
        ``max_units`` units is refused.
        """
        ...


def raw_counts(corpus: BoundedCorpus) -> Counts:
    """The documents of a bounded corpus over its public vocabulary: exact, without noise.

    For mechanisms whose strength is not ``proved``: nothing limits what one unit can do to what they compute. A test
    holds that no other mechanism calls this.
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


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Sensitive word counts of documents, with their authors. Make one with a ``from_`` method, then bound it.

    >>> corpus = Corpus.from_texts(["the knee hurts", "knee surgery in May", "new glasses"], authors=["a", "a", "b"])
    >>> corpus
    <Corpus: sensitive, unit 'author'>
    >>> corpus.bounded(max_docs=1).bounds
    Bounds(unit=<Unit.AUTHOR: 'author'>, max_docs=1, max_words=None, key=0)
    """

    doc_start: NDArray[np.int64]
    word: NDArray[np.int32]
    count: NDArray[np.int32]
    words: Sequence[str]
    author: NDArray[np.int32] | None  # author number of each document; of authors with one key, in the order of names
    author_key: NDArray[np.uint64] | None  # hash of each author's name
    vocabulary: Vocabulary | None  # set when the words are public
    text: TextSettings | None
    vectors: NDArray[np.float32] | None = None  # embedding of each document, by a public model

    def __repr__(self) -> str:
        return f"<Corpus: sensitive, unit {str(self.default_unit)!r}>"

    @property
    def default_unit(self) -> Unit:
        """Author if authors are known, else document."""
        return Unit.DOCUMENT if self.author is None else Unit.AUTHOR

    @property
    def n_documents(self) -> int:
        """Private: for the owner's eyes."""
        return self.doc_start.size - 1

    @property
    def n_authors(self) -> int | None:
        """Private: for the owner's eyes."""
        return None if self.author_key is None else self.author_key.size

    @cached_property
    def word_key(self) -> NDArray[np.uint64]:
        """Hash of each word, so that choices do not depend on the order in which words were met."""
        return string_keys(self.words)

    @cached_property
    def word_order(self) -> NDArray[np.int32]:
        """Word numbers in the order of the alphabet: rows by first use would let one unit move another's rounding."""
        return np.array(sorted(range(len(self.words)), key=self.words.__getitem__), np.int32)

    @cached_property
    def word_rank(self) -> NDArray[np.int32]:
        """The place of each word in the alphabet."""
        rank = np.empty(len(self.words), np.int32)
        rank[self.word_order] = np.arange(rank.size, dtype=np.int32)
        return rank

    @cached_property
    def content_key(self) -> NDArray[np.uint64]:
        """Hash of each document's words and counts. Two contents may share one."""
        return content_keys(self.doc_start, self.word, self.count, self.word_key)

    @cached_property
    def vector_key(self) -> NDArray[np.uint64]:
        """Hash of each document's embedding: documents of equal words may differ in it. Two may share one."""
        keys = np.zeros(self.n_documents, np.uint64)
        if self.vectors is not None:
            for column in np.ascontiguousarray(self.vectors).view(np.uint32).T:
                keys = (keys ^ column) * np.uint64(0x9E3779B97F4A7C15)
        return keys

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        authors: Iterable[str | int] | None = None,
        *,
        settings: TextSettings | None = None,
        vocabulary: Vocabulary | None = None,
        embed: Embed | None = None,
    ) -> Self:
        """From strings, and the author of each where known.

        A ``vocabulary`` is public; other words are dropped. ``embed`` turns texts into vectors: a public model.
        """
        from dptopics.building import Builder

        builder = Builder(
            settings or TextSettings(), with_authors=authors is not None, vocabulary=vocabulary, embed=embed
        )
        builder.add_all(texts, authors)
        return builder.build(cls)

    @classmethod
    def from_table(
        cls,
        source: Any,
        *,
        text: str,
        author: str | None = None,
        settings: TextSettings | None = None,
        vocabulary: Vocabulary | None = None,
        drop_missing: bool = False,
        encoding: str = "utf8",
        embed: Embed | None = None,
    ) -> Self:
        """From a CSV, TSV, JSON Lines or Parquet file, or any frame that speaks Arrow (pandas, Polars, DuckDB).

        Rows are read in batches; raw text is never held whole. ``drop_missing`` leaves out rows without text or author.
        A ``vocabulary`` is public; words outside it are dropped while reading. ``embed`` turns texts into vectors: a
        public model.
        """
        from dptopics.building import Builder
        from dptopics.reading import read_batches

        builder = Builder(
            settings or TextSettings(),
            with_authors=author is not None,
            drop_missing=drop_missing,
            vocabulary=vocabulary,
            embed=embed,
        )
        for texts, authors in read_batches(source, text=text, author=author, encoding=encoding):
            builder.add(texts, authors)
        return builder.build(cls)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        vocabulary: Sequence[str],
        *,
        authors: Iterable[str | int] | None = None,
        public_vocabulary: bool = False,
    ) -> Self:
        """From a documents × words matrix (SciPy sparse or dense).

        A vocabulary that was learned from the data (a CountVectorizer's) is private: leave ``public_vocabulary`` off.
        """
        from dptopics.matrices import corpus_from_counts

        return corpus_from_counts(cls, counts, vocabulary, authors=authors, public_vocabulary=public_vocabulary)

    @classmethod
    def from_uci(cls, docword: str | Path, vocab: str | Path, *, public_vocabulary: bool = False) -> Self:
        """From the two files of a UCI bag-of-words data set (docword.*.txt, vocab.*.txt; .gz is fine)."""
        from dptopics.matrices import read_uci

        counts, words = read_uci(docword, vocab)
        return cls.from_counts(counts, words, public_vocabulary=public_vocabulary)

    def with_vectors(self, vectors: Any) -> Self:
        """The same documents with their embeddings, one row each, by a public model that never saw this data."""
        from dptopics.embeddings import check_vectors

        return replace(self, vectors=check_vectors(vectors, self.n_documents))

    def take(self, documents: NDArray[np.int64]) -> Self:
        """Some of the documents, for audits: the owner's eyes only."""
        part = self.counts().take(documents)
        return replace(
            self,
            doc_start=part.doc_start,
            word=part.word,
            count=part.count,
            author=None if self.author is None else self.author[documents],
            vectors=None if self.vectors is None else self.vectors[documents],
        )

    def counts(self, vocabulary: Vocabulary | None = None) -> Counts:
        """All documents as plain counts, for learners and audits: the owner's eyes only.

        With a vocabulary, words outside it are dropped; rows then follow the vocabulary's order.
        """
        if vocabulary is None:
            rename = np.arange(len(self.words), dtype=np.int32)
        else:
            rename = np.array([vocabulary.index.get(w, -1) for w in self.words], dtype=np.int32)
        everything = np.arange(self.n_documents)
        start, word, count = gather(everything, self.doc_start, self.word, self.count, rename)
        n_words = len(self.words) if vocabulary is None else len(vocabulary)
        return Counts(start, word, count, n_words, self.content_key)

    def bounded(
        self,
        *,
        unit: Unit | str | None = None,
        max_docs: int | None = None,
        max_words: int | None = None,
        key: int = 0,
    ) -> BoundedCorpus:
        """Limit what each unit contributes; only a bounded corpus can be released from."""
        from dptopics.engines.memory import MemoryCorpus

        unit = self.default_unit if unit is None else Unit(unit)
        if unit is Unit.AUTHOR and self.author is None:
            raise InputError("unit 'author' needs authors. Name the author column, or use unit 'document'.")
        return MemoryCorpus(self, Bounds(unit=unit, max_docs=max_docs, max_words=max_words, key=key))

    def warn_if_delta_large(self, delta: float, unit: Unit) -> None:
        """Tell the owner when δ would allow a mechanism that publishes somebody outright."""
        warn_if_delta_large(self.n_authors if unit is Unit.AUTHOR else self.n_documents, delta, unit)


def warn_if_delta_large(n: int | None, delta: float, unit: Unit) -> None:
    """Warn if δ is above 1 / n, for n units."""
    if n is not None and delta > 1 / max(n, 1):
        tell_owner(
            f"delta = {delta:g} is larger than 1 / number of {unit}s: a mechanism that publishes one {unit} picked "
            "at random would satisfy it. Choose delta well below that."
        )


def string_keys(strings: Iterable[str]) -> NDArray[np.uint64]:
    """A 64-bit hash of each string, the same on every machine."""
    digests = b"".join(blake2b(s.encode("utf-8", "surrogatepass"), digest_size=8).digest() for s in strings)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
