"""Columns of tables: which must be there, and what their cells may hold."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from dptopics.errors import InputError

Rows = list[list[Any]]  # some rows of several columns
BATCH_ROWS = 2048


def check_columns(names: Sequence[str], *columns: str | None) -> None:
    """Columns must exist once. Names that were not asked for may be data (no header line, JSON, a pivot): not shown."""
    for column in columns:
        if column is None or names.count(column) == 1:
            continue
        if column in names:
            raise InputError(f"there are {names.count(column)} columns {column!r}. Rename all but one.")
        hint = "Check the name, and that the first line or the schema holds the names of the columns."
        if any(name.strip().casefold() == column.strip().casefold() for name in names):
            hint = "One differs only in capital letters or blanks around it: write the name exactly."
        raise InputError(f"there is no column {column!r} among the {len(names)} of the table. {hint}")


def of_rows(rows: Sequence[Sequence[Any]]) -> Rows:
    """Columns from rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def of_arrow(batches: Iterable[Any], columns: Sequence[str], values: int) -> Iterator[Rows]:
    """Columns from Arrow: the first ``values`` are texts and authors, the others anything."""
    for whole in batches:
        found = [_castable(whole.column(name)) for name in columns]
        for start in range(0, whole.num_rows, BATCH_ROWS):
            parts = [column.slice(start, BATCH_ROWS) for column in found]
            yield [
                _strings(part, name, integers=number > 0) if number < values else _anything(part, name)
                for number, (name, part) in enumerate(zip(columns, parts, strict=True))
            ]


def _castable(column: Any) -> Any:
    """Arrow cannot look up string views (a Polars category): copy the categories, not the rows."""
    if pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.large_string()))
    return column


def _strings(column: Any, name: str, *, integers: bool) -> list[str | None]:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if column.null_count == len(column):  # of any type: pandas makes numbers of a column without a value
        return [None] * len(column)
    string = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (string or pa.types.is_null(kind) or (integers and pa.types.is_integer(kind))):
        wanted = "strings or whole numbers" if integers else "text"
        raise InputError(f"column {name!r} holds {type_name(kind)}, not {wanted}. Convert it first.")
    values: list[str | None] = column.cast(pa.large_string()).to_pylist()
    return values


def _anything(column: Any, name: str) -> list[str | None]:
    """Strings, numbers, dates: as they are written."""
    if pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type):
        raise InputError(f"column {name!r} holds {type_name(column.type)}, not single values. Convert it first.")
    values: list[str | None] = column.cast(pa.large_string()).to_pylist()
    return values


def type_name(kind: object) -> str:
    """The type of a column without what is inside: fields of a nested type may be data."""
    return re.split(r"[<(\[]", str(kind), maxsplit=1)[0]
