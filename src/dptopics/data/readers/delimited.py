"""CSV and its like, by Arrow: the separator is found by the names of the columns, or given."""

import codecs
import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from dptopics.core import progress
from dptopics.core.errors import InputError, tell_owner
from dptopics.core.files import unpacked
from dptopics.data.readers.columns import BELOW, Below, Header, check_columns

STANDARD_INPUT = "-"
_HEAD = 1 << 16  # bytes that are looked at for names of columns
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")


class Rejoined:
    """A stream from its first byte on, although its beginning has been read already."""

    closed = False

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int) -> bytes:
        """The next bytes: fewer than asked for at the end only, which is how Arrow knows the end."""
        piece, self._head = self._head[:size], self._head[size:]
        return piece if len(piece) == size else piece + bytes(self._rest.read(size - len(piece)))

    def close(self) -> None:
        """Whoever opened the stream closes it."""


@dataclass(frozen=True)
class Opened:
    """A table that is open: its bytes, how much of them has been read, and the first of them as text."""

    name: str
    encoding: str
    stream: Rejoined
    share: Callable[[], float]
    head: str
    whole: bool  # the head is all there is


@contextmanager
def opened(path: Path, encoding: str) -> Iterator[Opened]:
    """The bytes of a file, unpacked if its name says so, or of standard input."""
    name, packed = (path.name, False) if str(path) != STANDARD_INPUT else ("standard input", True)
    with _standard_input() if packed else unpacked(path) as (stream, share):
        first = bytes(stream.read(_HEAD))
        if packed and first.startswith(_PACKED):
            raise InputError("standard input is packed. Unpack it on the way: zcat FILE | dptopics …")
        head = codecs.getincrementaldecoder(encoding)().decode(first).removeprefix("\ufeff")
        yield Opened(name, encoding, Rejoined(first, stream), share, head, len(first) < _HEAD)


@contextmanager
def _standard_input() -> Iterator[tuple[Any, Callable[[], float]]]:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise InputError("nothing comes in by standard input. Send a table: … | dptopics … -, or give a file.")
    yield stream, lambda: 0.0


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


@dataclass(frozen=True)
class _Beginning:
    """The names of columns, by which separator they are read, and how many lines are above."""

    header: Header
    separator: str
    lines_above: int


def read_delimited(
    table: Opened, columns: Sequence[str], *, usual: str, separator: str | None, header_row: int | None = None
) -> Iterator[Any]:
    """Arrow batches, by the separator that is given, or else found: the ``usual`` one if there is a choice."""
    from pyarrow import csv as arrow_csv

    found = _beginning(table, columns, usual, separator, header_row)
    check_columns(found.header, *columns)
    if not any(found.header.below or ()) and table.whole:
        return  # a header and nothing else, which Arrow takes for an empty file
    watch = _Watch(found.separator)
    for batch in arrow_csv.open_csv(
        table.stream,
        read_options=arrow_csv.ReadOptions(
            block_size=BLOCK_BYTES, encoding=table.encoding, use_threads=False, skip_rows=found.lines_above
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=found.separator, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
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


def delimited_header(table: Opened, *, usual: str, separator: str | None, header_row: int | None) -> Header:
    """The names of columns."""
    return _beginning(table, (), usual, separator, header_row).header


def _beginning(
    table: Opened, columns: Sequence[str], usual: str, separator: str | None, header_row: int | None
) -> _Beginning:
    """By the separator that is given, else the first under which the row of names has all the columns.

    Excel writes semicolons where commas are for decimals. Where no separator gives all columns, or none is asked for,
    it is the one that gives most names, or the most regular rows.
    """
    tried = dict.fromkeys((usual, *_SEPARATORS) if separator is None else (separator,))
    found = [one for sign in tried if (one := _read_beginning(table.head, sign, header_row)) is not None]
    if not found and header_row is None:
        raise InputError(f"{table.name!r} is empty: it holds no documents.")
    if not found:
        where = "" if table.whole else ", at least not in its first 64 KiB"
        raise InputError(f"{table.name!r} has no names of columns in row {header_row} (--header-row){where}.")
    for one in found:
        if columns and all(one.header.names.count(column) == 1 for column in columns):
            return one
    return max(found, key=lambda one: (len(one.header.names), _alike(one.header.below or ())))


def _alike(rows: Below) -> int:
    """How many rows have one number of cells, which is more than one: below a title the separator shows there."""
    return max(Counter(len(row) for row in rows if len(row) > 1).values(), default=0)


def _read_beginning(head: str, separator: str, header_row: int | None) -> _Beginning | None:
    """The names in the row that is given, or in the first that is not blank. Blank rows count."""
    rows = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
    lines_above = 0
    for number, row in enumerate(rows, start=1):
        if number == header_row or (header_row is None and row):
            header = Header(row, list(islice(rows, BELOW)), number)
            return _Beginning(header, separator, lines_above) if row else None
        lines_above = rows.line_num
    return None


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
