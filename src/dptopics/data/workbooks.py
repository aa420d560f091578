"""Tables in workbooks (.xlsx, .xls, .ods), by python-calamine."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dptopics import progress
from dptopics.errors import InputError

WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
_BATCH_ROWS = 2048


def read_workbook(path: Path, columns: Sequence[str]) -> Iterator[list[list[Any]]]:
    """Batches of columns of the one sheet whose first row names all of them."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook, PasswordError
    except ImportError:
        raise InputError("workbooks need another package: pip install 'dptopics[excel]'. Or save it as CSV.") from None
    try:
        book = CalamineWorkbook.from_path(str(path))
        rows = _sheet(path, book, columns)
    except PasswordError:
        raise InputError(f"{path.name!r} is protected by a password. Take that away, or save it as CSV.") from None
    except CalamineError:
        raise InputError(f"{path.name!r} is damaged or no workbook. Write the file again, or save it as CSV.") from None
    places = [rows[0].index(name) for name in columns]
    for start in range(1, len(rows), _BATCH_ROWS):
        part = rows[start : start + _BATCH_ROWS]
        yield [[_value(row[place]) for row in part] for place in places]
        progress.report(min(1.0, (start + len(part)) / len(rows)))


def _sheet(path: Path, book: Any, columns: Sequence[str]) -> list[list[Any]]:
    """The rows of the only sheet that has all columns, names first."""
    sheets: list[list[list[Any]]] = [
        book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names
    ]
    found = [rows for rows in sheets if rows and all(rows[0].count(name) == 1 for name in columns)]
    if len(found) == 1:
        return found[0]
    wanted = " and ".join(repr(name) for name in columns)
    if found:
        raise InputError(f"{len(found)} sheets of {path.name!r} have columns {wanted}. Keep one, or save it as CSV.")
    raise InputError(
        f"no sheet of {path.name!r} has {wanted} among the names in its first row, once each. Take rows above the "
        "names and merged cells away, or save it as CSV."
    )


def _value(cell: Any) -> Any:
    """A cell as other tables have it: nothing for an empty one, whole numbers for what a workbook calls a number."""
    if cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return cell
