"""A table of texts as a corpus of cells: each document is the number of the cell of a public table that it counts in.

What bounds the words of units then bounds their cells: a unit keeps so many by a keyed hash, in memory and on Spark.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import isnan, prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from dptopics.core.axes import OTHER, Axis, cell_names, number_of, plain_value
from dptopics.core.errors import tell_owner
from dptopics.core.names import no_author, real_names
from dptopics.data.builder import Builder
from dptopics.data.corpus import Corpus
from dptopics.data.readers.columns import Rows

_INVENTED = 80  # documents of an audit's background
# Texts, and columns beside them, to the number of each one's topic, or to what is true of each: [text, fact].
Topics = Callable[..., NDArray[Any]]
Admitted = Callable[[list[str]], NDArray[np.bool_]]  # authors' names to whether each may count


def corpus_of_cells(
    batches: Iterable[Rows],
    topics: Topics,
    n_topics: int,
    axes: Sequence[Axis],
    *,
    author: str | None,
    drop_missing: bool = False,
    author_is: Iterable[str] = (),
    admitted: Admitted | None = None,
    assumptions: tuple[str, ...] = (),
    number_range: Sequence[float] = (),
) -> Corpus:
    """From batches of texts, authors (if any, of the column ``author``) and one column for each axis that has one.

    Columns beyond these are handed to ``topics``. ``admitted`` says which authors count at all, each by their own past.
    ``assumptions`` are those of ``topics``. With a ``number_range`` the last column holds numbers: a document has its
    own as a vector, scaled to −1 to 1, and one without counts nowhere.
    """
    shape = (n_topics, *(len(axis.values) for axis in axes))
    how: dict[str, Any] = {"with_authors": author is not None, "drop_missing": drop_missing, "author_is": author_is}
    builder = Builder(None, vocabulary=cell_names(prod(shape)), valued=bool(number_range), **how)
    rows, strange = 0, dict.fromkeys((axis.name for axis in axes), 0)
    for texts, *columns in batches:
        authors = columns.pop(0) if author is not None else None
        values = _scaled(columns.pop(), *number_range) if number_range else None
        first, places = _cells_of(texts, columns, topics, axes)
        for axis, place in zip(axes, places, strict=True):
            strange[axis.name] += int(np.count_nonzero(place == len(axis.values) - 1))
        rows += len(texts)
        numbers = _numbers(first, places, shape)
        # A missing text stays missing: whether such rows are dropped is the owner's choice.
        there = [cell if isinstance(text, str) else None for text, cell in zip(texts, numbers, strict=True)]
        builder.add(there if values is None else _numbered(there, values), authors)
    _tell_strange(strange, rows)
    corpus, names = builder.build_named(Corpus)
    corpus = replace(corpus, assumptions=assumptions, author_column=author)
    if admitted is None:
        return corpus
    assert corpus.author is not None
    allowed = admitted(names)
    if left := int(np.count_nonzero(~allowed)):
        tell_owner(
            f"{left:,} of {allowed.size:,} authors ({left / allowed.size:.0%}) have already counted in as many periods "
            "as they may, and are left out of this one: people who write often count in their first periods only."
        )
    return corpus.take(np.flatnonzero(allowed[corpus.author]))


def _tell_strange(strange: dict[str, int], rows: int) -> None:
    """How many rows have a value that is not on an axis: the owner's eyes only."""
    for name, many in strange.items():
        if many:
            tell_owner(
                f"{many:,} of {rows:,} rows ({many / rows:.0%}) count as {OTHER!r} for {name!r}: their value is "
                "missing, not on the public list, or outside the declared range."
            )


def arrow_cells(
    batches: Iterable[pa.RecordBatch],
    topics: Topics,
    n_topics: int,
    axes: Sequence[Axis],
    with_authors: bool,
    ends: Any,
) -> Iterator[pa.RecordBatch]:
    """The same as batches of Arrow, for Spark: each row's cells, its author as a string, and its number as a vector."""
    shape = (n_topics, *(len(axis.values) for axis in axes))
    for batch in batches:
        texts, *columns = [column.to_pylist() for column in batch.columns]
        authors = columns.pop(0) if with_authors else [None] * len(texts)
        values = _scaled(columns.pop(), *ends) if ends else [0.0] * len(texts)
        numbers = _numbers(*_cells_of(texts, columns, topics, axes), shape)
        there = [cell if isinstance(text, str) else None for text, cell in zip(texts, numbers, strict=True)]
        documents = [(None, 0.0) if one is None else one for one in _numbered(there, values)]
        cells = pa.array([cells for cells, _ in documents], pa.list_(pa.int32()))
        own = pa.array([None if author is None else str(author) for author in authors], pa.string())
        vectors = pa.array([[value] for _, value in documents], pa.list_(pa.float32()))
        yield pa.RecordBatch.from_arrays([cells, own, vectors], names=["text", "author", "vector"])


def in_period(batches: Iterable[Rows], place: int, axis: Axis, period: int) -> Iterator[Rows]:
    """The rows whose date, in the column at ``place``, lies in one period of the axis; without that column."""
    kept_rows = every = 0
    for rows in batches:
        kept = np.flatnonzero(axis.places(rows[place]) == period).tolist()
        kept_rows, every = kept_rows + len(kept), every + len(rows[place])
        yield [[column[i] for i in kept] for number, column in enumerate(rows) if number != place]
    if kept_rows < every:
        tell_owner(
            f"{every - kept_rows:,} of {every:,} rows have no date, or one outside this period. They are left out."
        )


def invented_cells(n_cells: int, *, with_authors: bool, with_numbers: bool = False) -> Corpus:
    """A few invented people with one or two documents each, for audits."""
    documents = np.arange(_INVENTED)
    places = documents * 7919 % n_cells
    ones = np.ones(_INVENTED, np.int64)
    counts = sparse.csr_array((ones, (documents, places)), shape=(_INVENTED, n_cells))
    authors = [f"person {i * 3 // 4}" for i in documents.tolist()] if with_authors else None
    corpus = Corpus.from_counts(counts, cell_names(n_cells).words, authors=authors, public_vocabulary=True)
    return corpus.with_vectors(np.resize([-1.0, 0.5, 1.0], (_INVENTED, 1))) if with_numbers else corpus


def corpus_of_values(
    batches: Iterable[Rows], *, author: str | None, drop_missing: bool = False, author_is: Iterable[str] = ()
) -> Corpus:
    """From batches of one column, and authors (if any): each value is one private word, taken whole."""
    with_authors, real = author is not None, real_names(author_is)
    index: dict[str, int] = {}
    places: list[int] = []
    names: list[Any] = []
    for values, *authors in batches:
        for i, value in enumerate(values):
            if drop_missing and (value is None or (with_authors and no_author(authors[0][i], real))):
                continue
            text = plain_value(value)  # as an axis reads it
            places.append(index.setdefault(text, len(index)) if text else -1)
            names.append(authors[0][i] if with_authors else None)
    there = np.array([place >= 0 for place in places], np.bool_)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(there)])
    columns = np.array(places, np.int64)[there]
    shape = (len(places), len(index))
    counts = sparse.csr_array((np.ones(columns.size, np.int64), columns, starts), shape=shape)
    corpus = Corpus.from_counts(counts, list(index), authors=names if with_authors else None, author_is=real)
    return replace(corpus, assumptions=(), author_column=author)  # they were counted here


def _scaled(column: Sequence[Any], low: float, high: float) -> list[float]:
    """Numbers clipped to a range and scaled to −1 to 1; NaN for what is no number."""
    middle, half = (low + high) / 2, (high - low) / 2
    return [(min(max(number_of(value), low), high) - middle) / half for value in column]


def _numbered(cells: list[Any], values: list[float]) -> list[Any]:
    """Pairs of a document's cells, none where it has no number, and its number."""
    pairs = zip(cells, values, strict=True)
    own = ((cell if cell is None or isinstance(cell, tuple) else (cell,), value) for cell, value in pairs)
    return [None if cell is None else ((), 0.0) if isnan(value) else (cell, value) for cell, value in own]


def _cells_of(
    texts: Sequence[Any], columns: Sequence[Sequence[Any]], topics: Topics, axes: Sequence[Axis]
) -> tuple[NDArray[Any], list[NDArray[np.int64]]]:
    """The topic (or facts) of each text that is not missing, and where each counts on each axis."""
    left = list(columns)
    places = [axis.places(texts if axis.of_text is not None else left.pop(0)) for axis in axes]
    known = [i for i, text in enumerate(texts) if isinstance(text, str)]
    if not known:
        return np.zeros(len(texts), np.int64), places
    of_known = topics([texts[i] for i in known], *([column[i] for i in known] for column in left))
    found = np.zeros((len(texts), *of_known.shape[1:]), of_known.dtype)
    found[known] = of_known
    return found, places


def _numbers(first: NDArray[Any], places: list[NDArray[np.int64]], shape: tuple[int, ...]) -> list[Any]:
    """The number of each text's cell, or of all its cells."""
    if first.ndim == 1:
        return list(np.ravel_multi_index((first, *places), shape).tolist())
    text, fact = np.nonzero(first)
    cells = np.ravel_multi_index((fact, *(place[text] for place in places)), shape).tolist()
    ends = np.cumsum(np.count_nonzero(first, axis=1)).tolist()
    return [tuple(cells[low:high]) for low, high in zip([0, *ends], ends, strict=False)]
