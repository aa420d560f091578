"""Columns of tables: which must exist, and what their cells may hold."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

import pyarrow as pa

from dptopics.core.errors import InputError

Rows = list[list[Any]]  # some rows of several columns
BATCH_ROWS = 8192
BELOW = 100  # rows that are compared with the names above them
Below = Sequence[Sequence[Any]]  # some rows under the names of columns


class Header(NamedTuple):
    """Column names; and, where they are a row of the table that may be data, its number and some rows below it."""

    names: list[str]
    below: Below | None = None
    row: int = 1

    @property
    def shown(self) -> str:
        """The names for a message, or why they are not shown."""
        return quoted(self.names) if are_names(self.names, self.below) else self.no_names

    @property
    def no_names(self) -> str:
        """Why names are not shown, and which row looks more like names."""
        below, found = self.below or (), ""
        for place, row in enumerate(below[:-_ENOUGH]):
            if not found and are_names([str(cell) for cell in row], below[place + 1 :]):
                found = f": row {self.row + place + 1} looks like one"
        told = "This row may contain data, not column names, so it is not shown. Add a row of names, or say which row"
        return f"{told} holds them{found} (--header-row)."


_ENOUGH = 5  # rows below that a row of names needs
_LONGEST = 40  # characters in a name
_MOST = 30  # names in a message
_ALIKE, _SURELY_ALIKE = 0.6, 0.8  # similarity of two names by difflib
# Numbers and dates (digits without letters), dates with a time, and texts (line breaks, quotation marks).
_NO_NAME = re.compile(r"\d{4}-\d\d-\d\d|(?=.*\d)[\d\W_]+$|.*[\"\r\n\0]", re.DOTALL)


def check_columns(found: Sequence[str] | Header, *columns: str | None) -> None:
    """Refuse columns that do not exist exactly once. The owner is told the names of the others, which are no data."""
    header = found if isinstance(found, Header) else Header(list(found))
    names = header.names
    for column in columns:
        if column is None or names.count(column) == 1:
            continue
        if column in names:
            raise InputError(f"there are {names.count(column)} columns {column!r}. Rename all but one.")
        raise _no_such(column, header, known=bool(set(columns) & set(names)))


def _no_such(column: str, header: Header, *, known: bool) -> InputError:
    """The error for a missing column. ``known``: another column exists, so the row holds names."""
    names = header.names
    like = [SequenceMatcher(None, _folded(name), _folded(column)).ratio() for name in names]
    order = sorted(range(len(names)), key=lambda place: -like[place] if like[place] >= _ALIKE else 0)
    closest = max(like, default=0.0)
    shown = are_names(names, None if known or closest >= _SURELY_ALIKE else header.below)
    hint = "Use one of these." if shown else header.no_names
    if any(_folded(name) == _folded(column) for name in names):
        hint = "One differs only in case or surrounding blanks: write the name exactly."
    elif shown and closest >= _ALIKE:
        hint = f"Did you mean {names[order[0]]!r}?"
    told = f": {quoted([names[place] for place in order])}" if shown else ""
    return InputError(f"there is no column {column!r} among the {len(names)} of the table{told}. {hint}")


def are_names(names: Sequence[str], below: Below | None = None) -> bool:
    """Whether a row can be column names. If not, it may be somebody's text and is not shown.

    Names are short and distinct, none a number or a date. Without names the first row looks like those ``below``, so in
    some column these must be what a name cannot be.

    >>> are_names(["note", "patient"]), are_names(["my knee hurts", "17"])
    (True, False)
    >>> are_names(["note", "patient"], [["a rash", "17"]]), are_names(["my knee hurts", "ann"], [["a rash", "bob"]])
    (True, False)
    """
    if not names or len(set(names)) != len(names) or not all(map(_can_be_a_name, names)):
        return False
    if below is None:
        return True
    if 2 * sum(len(row) > len(names) for row in below) > len(below):
        return False  # a title
    values = [[str(value) for value in column if value not in ("", None)] for column in zip_longest(*below)]
    return any(sum(not _can_be_a_name(value) for value in column) > 0.8 * len(column) for column in values if column)


def _can_be_a_name(value: str) -> bool:
    return bool(value.strip()) and len(value) <= _LONGEST and _NO_NAME.match(value) is None


def quoted(names: Sequence[str]) -> str:
    """Names for a message, but not too many."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(map(repr, names[:_MOST])) + more


def _folded(name: str) -> str:
    return name.strip().casefold()


def of_rows(rows: Sequence[Sequence[Any]]) -> Rows:
    """Columns from rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def of_arrow(batches: Iterable[Any], columns: Sequence[str], values: int) -> Iterator[Rows]:
    """Columns from Arrow: the first ``values`` are texts and authors, the others of any type."""
    for whole in batches:
        found = [_castable(whole.column(name)) for name in columns]
        for start in range(0, whole.num_rows, BATCH_ROWS):
            parts = [column.slice(start, BATCH_ROWS) for column in found]
            yield [
                _strings(part, name, integers=number > 0) if number < values else _anything(part, name)
                for number, (name, part) in enumerate(zip(columns, parts, strict=True))
            ]


def _castable(column: Any) -> Any:
    """Arrow cannot look up string views (of a Polars category): copy the categories, not the rows."""
    if pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.large_string()))
    return column


def _strings(column: Any, name: str, *, integers: bool) -> list[str | None]:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if column.null_count == len(column):  # of any type: pandas makes numbers of an empty column
        return [None] * len(column)
    string = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (string or pa.types.is_null(kind) or (integers and pa.types.is_integer(kind))):
        wanted = "strings or whole numbers" if integers else "text"
        raise InputError(f"column {name!r} holds {type_name(kind)}, not {wanted}. Convert it first.")
    return column.cast(pa.large_string()).to_pylist()


def _anything(column: Any, name: str) -> list[str | None]:
    """Strings, numbers and dates as strings."""
    if pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type):
        raise InputError(f"column {name!r} holds {type_name(column.type)}, not single values. Convert it first.")
    return column.cast(pa.large_string()).to_pylist()


def type_name(kind: object) -> str:
    """The type of a column without its inner fields, which may be data."""
    return re.split(r"[<(\[]", str(kind), maxsplit=1)[0]
