"""CSV and similar files, by Arrow: the separator is given, or found by the column names."""

import codecs
import csv
import io
import os
import select
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import pyarrow as pa

from dptopics.core import progress
from dptopics.core.errors import InputError, tell_owner
from dptopics.core.files import unpacked
from dptopics.data.readers.columns import BELOW, Below, Header, check_columns

STANDARD_INPUT = "-"
_HEAD = 1 << 16  # bytes that are searched for column names
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")


class Rejoined:
    """A stream from its first byte on, although its head has already been read."""

    closed = False

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int) -> bytes:
        """The next bytes: fewer than asked for only at the end, as Arrow expects."""
        piece, self._head = self._head[:size], self._head[size:]
        return piece if len(piece) == size else piece + bytes(self._rest.read(size - len(piece)))

    def close(self) -> None:
        """Whoever opened the stream closes it."""


@dataclass(frozen=True)
class Opened:
    """An open table: its bytes, the share that has been read, and its head as text."""

    name: str
    encoding: str
    stream: Rejoined
    share: Callable[[], float]
    head: str
    whole: bool  # the head is the whole file


@contextmanager
def opened(path: Path, encoding: str) -> Iterator[Opened]:
    """The bytes of a file, decompressed by its suffix, or of standard input."""
    name, packed = (path.name, False) if str(path) != STANDARD_INPUT else ("standard input", True)
    with _standard_input() if packed else unpacked(path) as (stream, share):
        first = bytes(stream.read(_HEAD))
        if packed and first.startswith(_PACKED):
            raise InputError("standard input is compressed. Decompress it first: zcat FILE | dptopics …")
        head = codecs.getincrementaldecoder(encoding)().decode(first).removeprefix("\ufeff")
        yield Opened(name, encoding, Rejoined(first, stream), share, head, len(first) < _HEAD)


@contextmanager
def _standard_input() -> Iterator[tuple[Any, Callable[[], float]]]:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise InputError("standard input is empty. Pipe a table into it: … | dptopics … -, or give a file.")
    if os.name == "nt" or not isinstance(stream, io.BufferedReader) or current_thread() is not main_thread():
        yield stream, lambda: 0.0
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    try:
        yield _Stoppable(stream.fileno(), heard), lambda: 0.0
    finally:
        signal.set_wakeup_fd(before)
        os.close(heard)
        os.close(told)


@dataclass(frozen=True)
class _Stoppable:
    """A pipe from a program that may be silent for long. Arrow reads it in threads, which know of no Ctrl-C."""

    pipe: int
    heard: int  # the numbers of signals come here

    def read(self, size: int) -> bytes:
        """As many bytes, or fewer at the end."""
        pieces: list[bytes] = []
        while size > 0:
            ready, _, _ = select.select([self.pipe, self.heard], [], [])
            if self.heard in ready and signal.SIGINT in os.read(self.heard, 1):
                raise KeyboardInterrupt
            if self.pipe in ready:
                pieces.append(os.read(self.pipe, size))
                size -= len(pieces[-1]) or size  # nothing: the end
        return b"".join(pieces)


BLOCK_BYTES = 1 << 24  # the longest row
_SEPARATORS = (",", ";", "\t", "|")
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_MANY_LINES = 20  # in one cell, most of them with a separator: rows that a stray quotation mark swallowed
_LONG = 1_000_000  # bytes in one cell


def checked_separator(separator: str | None) -> str | None:
    """One character, or its name."""
    found = None if separator is None else _NAMED.get(separator, separator)
    if found is not None and (len(found) != 1 or not found.isascii() or found in '"\r\n\0' or found.isalnum()):
        named = ", ".join(n for n in _NAMED if n.isalpha())
        raise InputError(f"a separator is one character such as ';' or '|', or one of {named}, got {separator!r}.")
    return found


@dataclass(frozen=True)
class _Beginning:
    """The column names, the separator that gives them, and the number of lines above them."""

    header: Header
    separator: str
    lines_above: int


def read_delimited(
    table: Opened, columns: Sequence[str], *, usual: str, separator: str | None, header_row: int | None = None
) -> Iterator[Any]:
    """Arrow batches, by the given separator or the one that is found: the ``usual`` one in doubt."""
    from pyarrow import csv as arrow_csv

    found = _beginning(table, columns, usual, separator, header_row)
    check_columns(found.header, *columns)
    if not any(found.header.below or ()) and table.whole:
        return  # only a header, which Arrow takes for an empty file
    watch = _Watch(found.separator)
    batches = arrow_csv.open_csv(
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
    )
    with ThreadPoolExecutor(1) as pool:  # reads ahead by one
        coming = pool.submit(_watched, batches, watch)
        while (batch := coming.result()) is not None:
            coming = pool.submit(_watched, batches, watch)
            yield batch
            progress.report(table.share())
    watch.tell()


def _watched(batches: Iterator[Any], watch: "_Watch") -> Any:
    """The next batch, if there is one."""
    batch = next(batches, None)
    for column in () if batch is None else batch.columns:
        watch.look(column)
    return batch


def delimited_header(table: Opened, *, usual: str, separator: str | None, header_row: int | None) -> Header:
    """The column names."""
    return _beginning(table, (), usual, separator, header_row).header


def _beginning(
    table: Opened, columns: Sequence[str], usual: str, separator: str | None, header_row: int | None
) -> _Beginning:
    """By the given separator, else the first under which the row of names has all columns (Excel may write semicolons).

    If there is none, or no columns are asked for: the one with most names, or the most regular rows.
    """
    tried = dict.fromkeys((usual, *_SEPARATORS) if separator is None else (separator,))
    found = [one for sign in tried if (one := _read_beginning(table.head, sign, header_row)) is not None]
    if not found and header_row is None:
        raise InputError(f"{table.name!r} is empty: it holds no documents.")
    if not found:
        where = "" if table.whole else ", or not in its first 64 KiB"
        raise InputError(f"{table.name!r} has no column names in row {header_row} (--header-row){where}.")
    for one in found:
        if columns and all(one.header.names.count(column) == 1 for column in columns):
            return one
    return max(found, key=lambda one: (len(one.header.names), _alike(one.header.below or ())))


def _alike(rows: Below) -> int:
    """How many rows share a number of cells above one: below a title, this shows the separator."""
    return max(Counter(len(row) for row in rows if len(row) > 1).values(), default=0)


def _read_beginning(head: str, separator: str, header_row: int | None) -> _Beginning | None:
    """The names in the given row, or in the first that is not blank. Blank rows count."""
    rows = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
    lines_above = 0
    for number, row in enumerate(rows, start=1):
        if number == header_row or (header_row is None and row):
            header = Header(row, list(islice(rows, BELOW)), number)
            return _Beginning(header, separator, lines_above) if row else None
        lines_above = rows.line_num
    return None


class _Watch:
    """Looks for cells that hold whole rows: one stray quotation mark can silently swallow thousands."""

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
        """Tell the owner alone; the run goes on."""
        if self._lines:
            tell_owner(
                f"one cell holds {self._lines:,} line breaks, and most of its lines look like rows of the table. A "
                "stray quotation mark may have swallowed them: close or double it, and compare the number of rows."
            )
        elif self._longest > _LONG:
            tell_owner(f"one cell is {self._longest:,} bytes long. Check that no quotation mark is left open.")
