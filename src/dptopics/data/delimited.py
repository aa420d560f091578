"""CSV and its like, by Arrow: the separator is found by the names of the columns, or given."""

import csv as plain_csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from dptopics import progress
from dptopics.data.columns import check_columns
from dptopics.data.streams import Opened
from dptopics.errors import InputError, tell_owner

BLOCK_BYTES = 1 << 24  # a single row may not be longer than this
_SEPARATORS = (",", ";", "\t", "|")
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_MANY_LINES = 20  # in one cell, most of them with a separator: rows that a quotation mark swallowed
_LONG = 1_000_000  # bytes of one cell


def checked_separator(separator: str | None) -> str | None:
    """One sign, or its name."""
    found = None if separator is None else _NAMED.get(separator, separator)
    if found is not None and (len(found) != 1 or not found.isascii() or found in '"\r\n\0' or found.isalnum()):
        raise InputError(
            f"a separator is one sign such as ';' or '|', or one of {', '.join(n for n in _NAMED if n.isalpha())}, got "
            f"{separator!r}."
        )
    return found


def read_delimited(table: Opened, columns: Sequence[str], *, usual: str, separator: str | None) -> Iterator[Any]:
    """Arrow batches, by the separator that is given, or else found: the ``usual`` one if there is a choice."""
    from pyarrow import csv

    rows, found = (
        _header(table.head, usual, columns) if separator is None else (_rows(table.head, separator), separator)
    )
    names = next((row for row in rows if row), None)
    if names is None:
        raise InputError(f"{table.name!r} is empty: it holds no documents.")
    check_columns(names, *columns)
    if next((row for row in rows if row), None) is None and table.whole:
        return  # a header and nothing else, which Arrow takes for an empty file
    watch = _Watch(found)
    for batch in csv.open_csv(
        table.stream,
        read_options=csv.ReadOptions(block_size=BLOCK_BYTES, encoding=table.encoding, use_threads=False),
        parse_options=csv.ParseOptions(delimiter=found, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            include_columns=list(columns),
            column_types={c: pa.string() for c in columns},
            strings_can_be_null=False,  # an empty text is an empty text
        ),
    ):
        for column in batch.columns:
            watch.look(column)
        yield batch
        progress.report(table.share())
    watch.tell()


def _header(head: str, usual: str, columns: Sequence[str]) -> tuple[Iterator[list[str]], str]:
    """Rows of the beginning, by the separator under which the first row has all the columns; else by the usual one.

    Excel writes semicolons where commas are for decimals. Only names that were asked for decide.
    """
    for separator in dict.fromkeys((usual, *_SEPARATORS)):
        names = next((row for row in _rows(head, separator) if row), [])
        if all(names.count(column) == 1 for column in columns):
            return _rows(head, separator), separator
    return _rows(head, usual), usual


def _rows(head: str, separator: str) -> Iterator[list[str]]:
    return plain_csv.reader(io.StringIO(head, newline=""), delimiter=separator)


class _Watch:
    """Looks for cells that hold whole rows: one stray quotation mark swallows thousands in silence."""

    def __init__(self, separator: str) -> None:
        self._separator, self._lines, self._longest = separator, 0, 0

    def look(self, column: Any) -> None:
        """Remember the cell with the most line breaks, if its lines look like rows, and the longest one."""
        from pyarrow import compute

        if not len(column):
            return
        self._longest = max(self._longest, compute.max(compute.binary_length(column)).as_py() or 0)
        breaks = compute.count_substring(column, "\n")
        most = compute.max(breaks).as_py() or 0
        if most >= _MANY_LINES and most > self._lines:
            lines = column[compute.index(breaks, most).as_py()].as_py().split("\n")
            if sum(self._separator in line for line in lines) > len(lines) / 2:
                self._lines = most

    def tell(self) -> None:
        """Tell the owner, who alone may know; the run goes on."""
        if self._lines:
            tell_owner(
                f"one cell holds {self._lines:,} line breaks, and most of its lines look like rows of the table. A "
                "stray quotation mark may have swallowed them: close or double it, and compare the number of rows."
            )
        elif self._longest > _LONG:
            tell_owner(f"one cell is {self._longest:,} bytes long. Check that no quotation mark is left open.")
