"""Tables in workbooks (.xlsx, .xls, .ods), by python-calamine, and in JSON."""

import codecs
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.data.readers.columns import BATCH_ROWS, BELOW, Header, Rows, check_columns, of_rows, quoted
from dptopics.data.readers.delimited import Opened

WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
_BATCH_ROWS = 2048
Sheets = dict[str, list[list[Any]]]  # by name: rows from the column names on


def read_workbook(
    path: Path, columns: Sequence[str], *, sheet: str | None, header_row: int | None
) -> Iterator[list[list[Any]]]:
    """Batches of columns of the named sheet, or of the only one that has all of them."""
    rows = _chosen(path, _sheets(path, sheet, header_row), columns, header_row or 1)
    names = _names(rows)
    places = [names.index(name) for name in columns]
    for start in range(1, len(rows), _BATCH_ROWS):
        part = rows[start : start + _BATCH_ROWS]
        yield [[_value(row[place]) for row in part] for place in places]
        progress.report(min(1.0, (start + len(part)) / len(rows)))


def workbook_header(path: Path, *, sheet: str | None, header_row: int | None) -> dict[str | None, Header]:
    """The column names of each sheet, or of the named one."""
    return {name: _header(rows, header_row or 1) for name, rows in _sheets(path, sheet, header_row).items()}


def _sheets(path: Path, sheet: str | None, header_row: int | None) -> Sheets:
    """All sheets, or the named one."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook, PasswordError
    except ImportError:
        raise InputError("workbooks need another package: pip install 'dptopics[excel]'. Or save it as CSV.") from None
    try:
        book = CalamineWorkbook.from_path(str(path))
        if sheet is not None and sheet not in book.sheet_names:
            raise InputError(f"{path.name!r} has no sheet {sheet!r}. Its sheets: {quoted(book.sheet_names)}.")
        asked = book.sheet_names if sheet is None else [sheet]
        found: Sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in asked}
    except PasswordError:
        raise InputError(f"{path.name!r} is protected by a password. Remove it, or save the table as CSV.") from None
    except CalamineError:
        raise InputError(f"{path.name!r} is damaged or not a workbook. Save it again, or as CSV.") from None
    if header_row is not None and (longest := max(map(len, found.values()), default=0)) < header_row:
        where = f"row {header_row} for the column names (--header-row)"
        raise InputError(f"{path.name!r} has no {where}: its longest sheet has {longest:,} rows.")
    return {name: rows[(header_row or 1) - 1 :] for name, rows in found.items()}


def _chosen(path: Path, sheets: Sheets, columns: Sequence[str], header_row: int) -> list[list[Any]]:
    """The rows of the only sheet that has all columns, names first."""
    found = [name for name, rows in sheets.items() if all(_names(rows).count(column) == 1 for column in columns)]
    filled = [rows for rows in sheets.values() if rows]
    wanted = " and ".join(map(repr, columns))
    if len(found) == 1 and sheets[found[0]]:
        return sheets[found[0]]
    if len(found) > 1:
        raise InputError(
            f"{len(found)} sheets of {path.name!r} have columns {wanted}: {quoted(found)}. Say which one (--sheet)."
        )
    if len(filled) == 1:
        check_columns(_header(filled[0], header_row), *columns)
    raise InputError(
        f"no sheet of {path.name!r} has {wanted} among the names in row {header_row}, once each. Its sheets: "
        f"{quoted(list(sheets))}. Name one (--sheet) to list its columns, and the row of the names if it is another "
        "(--header-row)."
    )


def _header(rows: list[list[Any]], row: int) -> Header:
    return Header(_names(rows), rows[1 : BELOW + 1], row)


def _names(rows: list[list[Any]]) -> list[str]:
    """The values in the first row."""
    return [] if not rows else ["" if cell == "" else str(_value(cell)) for cell in rows[0]]


def _value(cell: Any) -> Any:
    """A cell as in other tables: None if it is empty, and integers for whole numbers."""
    if cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return cell


def read_json(table: Opened, columns: Sequence[str], *, array: bool) -> Iterator[Rows]:
    """Batches of columns."""
    rows: list[list[Any]] = []
    for row in _objects(table, array=array):
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
    return list(next(_objects(table, array=array), {}))


def _objects(table: Opened, *, array: bool) -> Iterator[dict[str, Any]]:
    """The objects of an array, which is in memory as a whole, or those of single lines."""
    what, found = "entry" if array else "line", read_lines(table.stream, table.encoding)
    for number, one in enumerate(_parsed("\n".join(found), repr(table.name)) if array else found, start=1):
        if array or one.strip():
            where = f"{what} {number} of {table.name!r}"
            row = one if array else _parsed(one, where)
            if not isinstance(row, dict):
                raise InputError(f"{where} is not a JSON object. Each {what} must be one object.")
            yield row


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    raise InputError(f"{where} is not valid JSON. Write the file again.")


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
