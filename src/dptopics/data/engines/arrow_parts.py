"""What executors do: texts to parts of a corpus, parts to blocks of whole units, blocks to sums. No Spark here.

Record batches in, record batches out. A unit's *bucket* is the range of 2⁶⁴ that its key lies in, so that the buckets
in order hold the units in the canonical order, wherever their documents came from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dptopics.core import __version__
from dptopics.core.errors import InputError
from dptopics.core.names import no_author
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import Block, Bounds, Sample, Statistic
from dptopics.data.builder import Builder, numbered_authors
from dptopics.data.corpus import Corpus
from dptopics.data.engines.memory import BLOCK_NUMBERS, BoundedTotal, arrange, edges, kept, offsets, ranges, units
from dptopics.kernels.gather import gather
from dptopics.public.embeddings import check_vectors

Batches = Iterator[Any]  # of pyarrow.RecordBatch

_BLOCK_ENTRIES = 1 << 18  # in a row of the cache: a few megabytes

_STRINGS = pa.list_(pa.string())

PART = pa.schema(
    {
        "bucket": pa.int32(),
        "seen": pa.int64(),  # rows of the task, in its first part only; likewise the next two
        "missing": pa.int64(),
        "entries": pa.int64(),
        "problem": pa.string(),  # an error message
        "documents": pa.int64(),
        "width": pa.int32(),  # of the vectors
        "sizes": pa.binary(),
        "word": pa.binary(),
        "counts": pa.binary(),
        "words": _STRINGS,
        "author": pa.binary(),
        "authors": _STRINGS,
        "vectors": pa.binary(),
    }
)
BLOCK = pa.schema(
    {"bucket": pa.int32(), "first": pa.int64(), "units": pa.int64(), "width": pa.int32()}
    | {name: pa.binary() for name in Block._fields}
)
SUM = pa.schema({"part": pa.int32(), "total": pa.binary()})
_TYPES = dict(zip(Block._fields, (np.int64, np.int64, np.int32, np.int32, np.float32), strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Part(Corpus):
    """Some documents of a corpus, perhaps none."""

    authors: Sequence[str] = ()  # the name of each author number: two names may share a key


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How rows of (text, author, vector) become parts. Public."""

    text: TextSettings | None  # None: numbers of cells
    bounds: Bounds
    buckets: int
    with_authors: bool
    with_vectors: bool
    vocabulary: Vocabulary | None
    author_is: frozenset[str] = frozenset()
    version: str = __version__


def read(batches: Batches, plan: Reading) -> Batches:
    """The documents of one task, cut to what each author may give, one row for each bucket.

    An author's lowest keys in every task include the lowest of all: cutting early loses nothing and travels less.
    """
    try:
        if plan.version != __version__:
            versions = f"the executors have dptopics {__version__}, the driver has {plan.version}"
            raise InputError(f"{versions}. Install one version everywhere.")
        part, seen = _tokenised(batches, plan)
    except InputError as error:  # an exception would run the task again, three times, and come back as a stack trace
        yield _batch(PART, bucket=0, seen=0, missing=0, entries=0, documents=0, problem=str(error))
        return
    news = {"seen": seen, "missing": seen - part.n_documents, "entries": part.word.size}
    order, sizes, unit_key = kept(part, plan.bounds)
    bucket = np.repeat(_bucket(unit_key, plan.buckets), sizes)
    # Words that only dropped documents use are rows of the sums as well: they travel with the first bucket.
    unused = np.ones(len(part.words), np.bool_)
    unused[part.word[ranges(part.doc_start[order], np.diff(part.doc_start)[order])]] = False
    extra = np.flatnonzero(unused) if plan.vocabulary is None else np.empty(0, np.int64)
    cuts = [int(i) for i in np.flatnonzero(np.diff(bucket, prepend=-1, append=-1))] or [0, 0]
    for low, high in pairwise(cuts):
        yield _packed(_taken(part, order[low:high], extra), int(bucket[low]) if high else 0, news)
        news, extra = dict.fromkeys(news, 0), extra[:0]


def _tokenised(batches: Batches, plan: Reading) -> tuple[Part, int]:
    """All rows that have a text, an author and a vector, and how many rows there were."""
    how: dict[str, Any] = {"with_authors": plan.with_authors, "author_is": plan.author_is}
    builder = Builder(plan.text, vocabulary=plan.vocabulary, **how)
    seen, vectors = 0, []
    for batch in batches:
        seen += batch.num_rows
        texts, authors, column = _whole_rows(batch, plan)
        if column is not None:
            vectors.append(_vectors(column))
        builder.add(texts, authors)
    part, names = builder.arrays(Part)
    part = replace(part, authors=names)
    return (replace(part, vectors=_stacked(vectors)) if plan.with_vectors else part), seen


def _whole_rows(batch: Any, plan: Reading) -> tuple[list[str], list[str] | None, Any]:
    """Texts, authors and vectors (where they are read) of the complete rows."""
    columns = list(batch.columns)
    texts, authors = columns.pop(0).to_pylist(), None
    if plan.text is None:
        texts = [None if cells is None else tuple(cells) for cells in texts]
    good = [text is not None for text in texts]
    if plan.with_authors:
        authors = columns.pop(0).cast(pa.string()).to_pylist()
        good = [g and not no_author(a, plan.author_is) for g, a in zip(good, authors, strict=True)]
    if plan.with_vectors:
        good = [g and v for g, v in zip(good, columns[0].is_valid().to_pylist(), strict=True)]
    if not all(good):
        texts = list(compress(texts, good))
        authors = authors and list(compress(authors, good))
    return texts, authors, columns[0].filter(pa.array(good, pa.bool_())) if plan.with_vectors else None


def _vectors(column: Any) -> NDArray[np.float32]:
    lengths = np.diff(column.offsets.to_numpy())
    width = int(lengths[0]) if lengths.size else 0
    if (lengths != width).any():
        raise InputError("the embeddings differ in length. Embed all documents with one model.")
    if not lengths.size:
        return np.empty((0, 0), np.float32)
    if column.flatten().null_count:
        raise InputError("the embeddings hold nulls. Embed the documents again, empty ones included.")
    flat = column.flatten().to_numpy(zero_copy_only=False)
    return check_vectors(flat.reshape(len(column), width), len(column))


def _stacked(parts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    some = [part for part in parts if len(part)]
    if len({part.shape[1] for part in some}) > 1:
        raise InputError("the embeddings differ in length. Embed all documents with one model.")
    return np.concatenate(some) if some else np.empty((0, 0), np.float32)


def _bucket(unit_key: NDArray[np.uint64], buckets: int) -> NDArray[np.int64]:
    """Which of ``buckets`` equal ranges of 2⁶⁴ each key lies in."""
    high = unit_key >> np.uint64(32)
    return np.asarray((high * np.uint64(buckets)) >> np.uint64(32), np.int64)


def _taken(part: Part, documents: NDArray[np.int64], extra_words: NDArray[np.int64]) -> Part:
    """Some documents, numbered by the words and authors that they use."""
    sizes = np.diff(part.doc_start)[documents]
    entries = ranges(part.doc_start[documents], sizes)
    used, word = np.unique(part.word[entries], return_inverse=True)
    listed = np.concatenate([used, extra_words])
    author, names = None, np.empty(0, np.int64)
    if part.author is not None:
        names, author = np.unique(part.author[documents], return_inverse=True)
    return replace(
        part,
        doc_start=offsets(sizes),
        word=word.astype(np.int32),
        count=part.count[entries],
        words=[part.words[i] for i in listed.tolist()],
        author=None if author is None else author.astype(np.int32),
        authors=[part.authors[i] for i in names.tolist()],
        vectors=None if part.vectors is None else part.vectors[documents],
    )


def _packed(part: Part, bucket: int, news: dict[str, int]) -> Any:
    return _batch(
        PART,
        bucket=bucket,
        **news,
        width=part.vectors.shape[1] if part.vectors is not None and len(part.vectors) else None,
        documents=part.n_documents,
        sizes=np.diff(part.doc_start).tobytes(),
        word=part.word.tobytes(),
        counts=part.count.tobytes(),
        words=part.words,
        author=None if part.author is None else part.author.tobytes(),
        authors=part.authors,
        vectors=None if part.vectors is None else part.vectors.tobytes(),
    )


def _batch(schema: Any, **values: Any) -> Any:
    """A single row: several large ones could overflow Arrow's offsets."""
    return pa.RecordBatch.from_pylist([values], schema=schema)


def words(batches: Batches) -> Batches:
    """Every word of a task's parts once."""
    found: set[str] = set()
    for batch in batches:
        found.update(batch.column("words").flatten().to_pylist())
    if found:
        yield pa.RecordBatch.from_pydict({"word": pa.array(sorted(found), pa.string())})


def arranged(batches: Batches, bounds: Bounds, listed: Any) -> Batches:
    """Blocks of bounded units in the canonical order; row r of a sum stands for word ``listed[r]``."""
    buckets: dict[int, list[dict[str, Any]]] = {}
    for batch in batches:
        for row, bucket in enumerate(batch.column("bucket").to_pylist()):
            buckets.setdefault(bucket, []).append({name: batch.column(name)[row] for name in PART.names})
    for bucket in sorted(buckets):
        part = _merged(buckets.pop(bucket))
        rename = pc.fill_null(pc.index_in(pa.array(part.words, pa.string()), value_set=listed), -1)
        renamed = rename.to_numpy(zero_copy_only=False).astype(np.int32)
        order = kept(part, bounds)
        entries = gather(order.order, part.doc_start, part.word, part.count, renamed)
        whole = arrange(part, bounds, renamed, len(listed), order, entries)
        for low, high in pairwise(edges(whole, _BLOCK_ENTRIES)):
            block = units(whole, low, high, None)
            arrays = {name: None if array is None else array.tobytes() for name, array in block._asdict().items()}
            width = None if block.vectors is None else block.vectors.shape[1]
            yield _batch(BLOCK, bucket=bucket, first=low, units=high - low, width=width, **arrays)


def _merged(rows: list[dict[str, Any]]) -> Part:
    """One part from several."""
    words, word_number = _joined([row["words"].values for row in rows])
    names, author_number = _joined([row["authors"].values for row in rows])
    with_authors, with_vectors = rows[0]["author"].is_valid, rows[0]["vectors"].is_valid
    word = [number[_array(row["word"], np.int32)] for number, row in zip(word_number, rows, strict=True)]
    author = [number[_array(row["author"], np.int32)] for number, row in zip(author_number, rows, strict=True)]
    authors, numbers, keys = numbered_authors(names, np.concatenate(author))
    vectors = [
        _array(row["vectors"], np.float32).reshape(row["documents"].as_py(), row["width"].as_py() or 0) for row in rows
    ]
    return Part(
        doc_start=offsets(np.concatenate([_array(row["sizes"], np.int64) for row in rows])),
        word=np.concatenate(word),
        count=np.concatenate([_array(row["counts"], np.int32) for row in rows]),
        words=words,
        author=numbers if with_authors else None,
        author_key=keys if with_authors else None,
        vocabulary=None,
        text=None,
        vectors=_stacked(vectors) if with_vectors else None,
        authors=authors,
    )


def _joined(lists: list[Any]) -> tuple[list[str], list[NDArray[np.int32]]]:
    """Every string of several lists once, and the number that each list's strings get."""
    filled = [pa.array([], pa.string()) if strings is None else strings.cast(pa.string()) for strings in lists]
    together = pa.concat_arrays(filled).dictionary_encode()
    cuts = np.cumsum([len(strings) for strings in filled])[:-1]
    return together.dictionary.to_pylist(), np.split(together.indices.to_numpy().astype(np.int32), cuts)


def _array(cell: Any, kind: type) -> NDArray[Any]:
    """Numbers from a cell, copied: cells may start at any byte, and compiled loops need aligned numbers."""
    return np.frombuffer(cell.as_buffer(), kind).copy() if cell.is_valid else np.empty(0, kind)


def block_of(batch: Any, row: int) -> Block:
    """The block in a row."""
    start, doc_start, word, counts, vectors = (_array(batch.column(name)[row], _TYPES[name]) for name in Block._fields)
    width = batch.column("width")[row].as_py()
    return Block(start, doc_start, word, counts, None if width is None else vectors.reshape(-1, width))


def added(
    batches: Batches,
    statistic: Statistic,
    *,
    shape: tuple[int, int],
    limit: int,
    grid: float,
    norm: int,
    sample: Sample | None,
    places: NDArray[np.int64] | None,
) -> Batches:
    """The bounded sum of a task's blocks. ``places``: that of each bucket's first unit, for samples."""
    total, bucket = BoundedTotal(shape, limit, grid, norm), None
    for batch in batches:
        for row, bucket in enumerate(batch.column("bucket").to_pylist()):
            block = block_of(batch, row)
            place = 0 if places is None else int(places[bucket]) + batch.column("first")[row].as_py()
            for low, high in pairwise(edges(block, _BLOCK_ENTRIES, BLOCK_NUMBERS // statistic.width)):
                total.add(statistic, units(block, low, high, sample, place))
    if bucket is not None:
        yield _batch(SUM, part=bucket, total=total.total.tobytes())


def merged_sums(batches: Batches, *, shape: tuple[int, int]) -> Batches:
    """Sums of several tasks as one."""
    total, parts = np.zeros(shape, np.int64), []
    for batch in batches:
        parts += batch.column("part").to_pylist()
        for cell in batch.column("total"):
            total += _array(cell, np.int64).reshape(shape)
    if parts:
        yield _batch(SUM, part=parts[0], total=total.tobytes())
