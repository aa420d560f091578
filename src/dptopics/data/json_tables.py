"""Tables in JSON: one object on each line, or one array of objects."""

import codecs
import json
from collections.abc import Iterator, Sequence
from typing import Any

from dptopics import progress
from dptopics.data.columns import BATCH_ROWS, Rows, check_columns, of_rows
from dptopics.data.streams import Opened
from dptopics.errors import InputError


def read_json(table: Opened, columns: Sequence[str], *, array: bool) -> Iterator[Rows]:
    """Batches of columns. An array is held whole; lines are read one by one."""
    rows: list[list[Any]] = []
    for row in _array(table) if array else _lines(table):
        if not rows:
            check_columns(list(row), *columns)
        rows.append([row.get(column) for column in columns])
        if len(rows) > BATCH_ROWS:
            yield of_rows(rows[:-1])
            rows = rows[-1:]
            progress.report(table.share())
    if rows:
        yield of_rows(rows)


def json_names(table: Opened, *, array: bool) -> list[str]:
    """The names in the first object."""
    return list(next(_array(table) if array else _lines(table), {}))


def _lines(table: Opened) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(read_lines(table.stream, table.encoding), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(
                f"line {number} of {table.name!r} is not valid JSON. Each line must be one object."
            ) from None
        if not isinstance(row, dict):
            raise InputError(f"line {number} of {table.name!r} is not a JSON object. Each line must be one object.")
        yield row


def _array(table: Opened) -> Iterator[dict[str, Any]]:
    text = "\n".join(read_lines(table.stream, table.encoding))
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(
            f"{table.name!r} begins as a JSON array but is not a valid one. Write the file again."
        ) from None
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise InputError(f"entry {number} of {table.name!r} is not a JSON object. Each entry must be one object.")
        yield row


def read_lines(stream: Any, encoding: str) -> Iterator[str]:
    """Lines of a stream, decoded one by one."""
    decoder = codecs.getincrementaldecoder(encoding)()
    rest = ""
    first = True
    while chunk := stream.read(1 << 20):
        text = decoder.decode(chunk)
        *lines, rest = (rest + (text.removeprefix("\ufeff") if first else text)).split("\n")
        first = False
        yield from lines
    rest += decoder.decode(b"", final=True)
    if rest:
        yield rest
