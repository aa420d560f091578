"""Read tables of texts, batch by batch: files, databases, and frames that speak Arrow."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dptopics.core.errors import InputError, shielded
from dptopics.data.readers.columns import Rows, check_columns, of_arrow
from dptopics.data.readers.databases import SqlQuery
from dptopics.data.readers.files import TableFile

Batch = tuple[Sequence[str | None], Sequence[str | int | None] | None]


def read_batches(source: Any, *, text: str, author: str | None, encoding: str = "utf8") -> Iterator[Batch]:
    """Batches of (texts, authors) from a table."""
    for texts, *authors in read_columns(source, [text] + ([author] if author else []), encoding=encoding):
        yield texts, authors[0] if authors else None


def read_columns(source: Any, columns: Sequence[str], *, encoding: str = "utf8", values: int = 2) -> Iterator[Rows]:
    """Batches of columns: texts, then authors (strings or numbers); beyond the first ``values``, anything at all.

    ``encoding`` is that of a path; a TableFile knows its own.
    """
    if isinstance(source, str | Path):
        source = TableFile(source, encoding=encoding)
    if isinstance(source, TableFile | SqlQuery):
        return source.columns(columns, values)
    if hasattr(source, "__arrow_c_stream__"):
        return _frame(source, columns, values)
    raise InputError(
        f"cannot read a table from {type(source).__name__}. Give a file path, or a pandas, Polars or DuckDB frame."
    )


def _selected(source: Any, columns: Sequence[str]) -> Any:
    """The columns alone, where a frame can give them: Arrow may not know what is in the others."""
    try:
        part = source[list(columns)]
    except Exception:  # each library has its own; names that are not there are told below
        return source
    return part if hasattr(part, "__arrow_c_stream__") else source


def _frame(source: Any, columns: Sequence[str], values: int) -> Iterator[Rows]:
    reader = shielded(
        lambda: pa.RecordBatchReader.from_stream(_selected(source, columns)),
        "the frame cannot be read: a column mixes types, or two have one name",
        "Convert text and author columns to strings, or give those two columns alone.",
    )
    check_columns(reader.schema.names, *columns)
    batches = of_arrow(reader, columns, values)
    while batch := shielded(
        lambda: next(batches, None), "the frame cannot be read", "Convert text and author columns to valid strings."
    ):
        yield batch
