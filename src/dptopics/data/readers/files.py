"""Files of tables: what format they have, and what is wrong with those that cannot be read."""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from dptopics.core import progress
from dptopics.core.errors import DptopicsError, InputError, tell_owner
from dptopics.core.files import suffix_of
from dptopics.data.readers import delimited
from dptopics.data.readers.columns import BATCH_ROWS, Header, Rows, check_columns, of_arrow, of_rows
from dptopics.data.readers.delimited import (
    STANDARD_INPUT,
    Opened,
    checked_separator,
    delimited_header,
    opened,
    read_delimited,
)
from dptopics.data.readers.formats import WORKBOOKS, json_names, read_json, read_workbook, workbook_header

COLUMNS = ("text", "folder", "file")
_SUFFIX = ".txt"


def read_folder(folder: Path, columns: Sequence[str], encoding: str) -> Iterator[Rows]:
    """Batches of columns: text, folder (the sub-folder at the first level; none for files beside it) and file.

    Files of other kinds, and those whose names begin with a dot, are left out.
    """
    if missing := [name for name in columns if name not in COLUMNS]:
        raise InputError(
            f"a folder of text files has the columns {', '.join(COLUMNS)}, and no column {missing[0]!r}. For its texts "
            "by their sub-folders: --text text --author folder."
        )
    check_columns(COLUMNS, *columns)
    inside = [one for one in sorted(folder.rglob("*")) if _visible(one, folder) and one.is_file()]
    texts = [one for one in inside if one.suffix.lower() == _SUFFIX]
    if len(inside) > len(texts):  # even if none is left: whether anybody's text is there is private
        tell_owner(f"{len(inside) - len(texts):,} files that do not end in {_SUFFIX} were left out.")
    for start in range(0, len(texts), BATCH_ROWS):
        part = texts[start : start + BATCH_ROWS]
        rows = [_row(one, folder, columns, encoding, start + i + 1) for i, one in enumerate(part)]
        yield of_rows(rows)
        progress.report((start + len(part)) / len(texts))


def _visible(path: Path, folder: Path) -> bool:
    return not any(part.startswith(".") for part in path.relative_to(folder).parts)


def _row(path: Path, folder: Path, columns: Sequence[str], encoding: str, number: int) -> list[str | None]:
    """The cells that are asked for. Names of files may be names of people: messages give their number."""
    parts = path.relative_to(folder).parts
    cells: dict[str, str | None] = {"folder": parts[0] if len(parts) > 1 else None, "file": path.stem}
    if "text" in columns:
        try:
            cells["text"] = path.read_text(encoding).removeprefix("\ufeff")
        except UnicodeError:
            reason = f"is not valid {encoding}: save it as such, or name its encoding (--encoding)."
        except OSError as error:
            reason = f"cannot be read: {error.strerror}."
        if "text" not in cells:
            raise InputError(f"file {number} of the folder {folder.name!r}, in the order of names, {reason}")
    return [cells[name] for name in columns]


class Format(StrEnum):
    """How a table is written."""

    CSV = "csv"
    TSV = "tsv"
    JSON = "json"  # lines or an array
    PARQUET = "parquet"
    EXCEL = "excel"


_SUFFIXES = {
    ".csv": Format.CSV, ".tsv": Format.TSV, ".txt": Format.TSV, ".json": Format.JSON, ".jsonl": Format.JSON,
    ".ndjson": Format.JSON, ".parquet": Format.PARQUET, ".pq": Format.PARQUET,
    **dict.fromkeys(WORKBOOKS, Format.EXCEL),
}  # fmt: skip


# What only some formats have: the field, what it is called, and which.
_ONLY_OF = (
    ("separator", "a separator is for CSV", (Format.CSV, Format.TSV)),
    ("sheet", "a sheet (--sheet) is for workbooks", (Format.EXCEL,)),
    ("header_row", "a row of names (--header-row) is for CSV and workbooks", (Format.CSV, Format.TSV, Format.EXCEL)),
)


@dataclass(frozen=True)
class TableFile:
    """A file, a folder of text files, or "-" for standard input; and how it is written, where its name does not say.

    The separator is found by the names of the columns if none is given. A folder is a table of its .txt files with the
    columns text, folder (the sub-folder, at the first level) and file. ``sheet`` names one of a workbook; without it,
    it is the only one that has the columns. ``header_row`` (from 1 on) is the row with the names of the columns, if it
    is not the first: what is above is left out.
    """

    path: str | Path
    encoding: str = "utf8"
    separator: str | None = None
    format: Format | str | None = None
    sheet: str | None = None
    header_row: int | None = None

    def __post_init__(self) -> None:
        check_encoding(self.encoding)
        object.__setattr__(self, "separator", checked_separator(self.separator))
        if self.format is not None and self.format not in list(Format):
            raise InputError(f"there is no format {str(self.format)!r}. Use one of: {', '.join(Format)}.")
        if self.header_row is not None and self.header_row < 1:
            raise InputError(f"rows are counted from 1 on: --header-row must be at least 1, got {self.header_row}.")
        if self.format is not None:
            self._check_fits(Format(self.format), "the format")

    def columns(self, names: Sequence[str], values: int) -> Iterator[Rows]:
        """Batches of columns: the first ``values`` are texts and authors, the others anything."""
        path = self._checked_path()
        if path.is_dir() and str(path) != STANDARD_INPUT:
            yield from read_folder(path, names, self.encoding)
            return
        try:
            yield from self._read(path, names, values)
        except (DptopicsError, MemoryError):
            raise
        except Exception as error:
            reason = explain(error, path, self.encoding)
        else:
            return
        raise InputError(reason)

    def header(self) -> dict[str | None, Header]:
        """Names of the columns, of each sheet where it is a workbook. Standard input is read once, and not for this."""
        path = self._checked_path()
        if path.is_dir():
            return {None: Header(list(COLUMNS))}
        try:
            return self._header(path)
        except (DptopicsError, MemoryError):
            raise
        except Exception as error:
            reason = explain(error, path, self.encoding)
        raise InputError(reason)

    def _checked_path(self) -> Path:
        """The path, if something that can be a table lies there."""
        path = Path(self.path)
        if not str(self.path):  # which is the folder one works in, for a path
            raise InputError("there is no file ''.")
        if str(path) != STANDARD_INPUT:
            if not path.is_dir():
                check_file(path)
            elif (self.separator, self.format, self.sheet, self.header_row) != (None,) * 4:
                raise InputError(
                    "a folder of text files has no separator and no format, no sheets and no row of names. Leave them "
                    "out."
                )
        return path

    def _read(self, path: Path, names: Sequence[str], values: int) -> Iterator[Rows]:
        known = self._format(path)
        if known is Format.PARQUET:
            yield from of_arrow(_parquet(path, names), names, values)
        elif known is Format.EXCEL:
            yield from read_workbook(path, names, sheet=self.sheet, header_row=self.header_row)
        else:
            with opened(path, self.encoding) as table:
                if self._is_json(table, known):
                    yield from read_json(table, names, array=_is_array(table))
                else:
                    batches = read_delimited(table, names, **self._delimiters(known))
                    yield from of_arrow(batches, names, values)

    def _header(self, path: Path) -> dict[str | None, Header]:
        known = self._format(path)
        if known is Format.PARQUET:
            from pyarrow import parquet

            return {None: Header(parquet.read_schema(path).names)}
        if known is Format.EXCEL:
            return workbook_header(path, sheet=self.sheet, header_row=self.header_row)
        with opened(path, self.encoding) as table:
            if self._is_json(table, known):
                return {None: Header(json_names(table, array=_is_array(table)))}
            return {None: delimited_header(table, **self._delimiters(known))}

    def _delimiters(self, known: Format | None) -> dict[str, Any]:
        usual = "\t" if known is Format.TSV else ","
        return {"usual": usual, "separator": self.separator, "header_row": self.header_row}

    def _is_json(self, table: Opened, known: Format | None) -> bool:
        """As was said, or by the first byte of standard input."""
        found = known if known is not None else Format.JSON if table.head.lstrip()[:1] in ("{", "[") else Format.CSV
        self._check_fits(found, repr(table.name))
        return found is Format.JSON

    def _format(self, path: Path) -> Format | None:
        """What was said, or what the name says; None: the first byte of standard input decides."""
        piped = str(path) == STANDARD_INPUT
        known = Format(self.format) if self.format is not None else _SUFFIXES.get(suffix_of(path))
        if piped and known in (Format.PARQUET, Format.EXCEL):
            raise InputError(f"standard input cannot be {str(known)!r}: give the file itself, or send CSV or JSON.")
        if known is None and not piped:
            raise InputError(
                f"cannot tell the format of {path.name!r}. Use .csv, .tsv, .jsonl, .parquet or .xlsx, or name the "
                "format (--format)."
            )
        if known is not None:
            self._check_fits(known, repr(path.name))
        return known

    def _check_fits(self, known: Format, what: str) -> None:
        """Refuse what tables of this format have not."""
        for field, rule, formats in _ONLY_OF:
            if getattr(self, field) is not None and known not in formats:
                raise InputError(f"{rule}, but {what} is {str(known)!r}. Leave one of them out.")


def _is_array(table: Opened) -> bool:
    return table.head.lstrip()[:1] == "["


def check_encoding(encoding: str) -> None:
    """Refuse what is not the name of an encoding of texts."""
    try:
        known = codecs.lookup(encoding)._is_text_encoding  # hex and rot13 are codecs too
    except (LookupError, ValueError):
        known = False
    if not known:
        raise InputError(f"there is no encoding {encoding!r}. Use for example 'utf8' or 'latin-1'.")


def check_file(path: Path) -> None:
    """Refuse a path that is no file."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}.")


def explain(error: Exception, path: Path, encoding: str) -> str:
    """What went wrong, without the piece of data that Arrow likes to quote."""
    message = str(error)
    name = repr("standard input" if str(path) == STANDARD_INPUT else path.name)
    if fields := re.match(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", message):
        row, wanted, got = fields.groups()
        where = f"row {row}" if row else "a row"
        return (
            f"{name} has {wanted} columns but {where} has {got}. Put texts that hold the separator in quotation "
            "marks, and close every quotation mark."
        )
    if isinstance(error, UnicodeError) or "invalid UTF8" in message:
        utf8 = codecs.lookup(encoding).name == "utf-8"
        hint = "Save it as UTF-8, or name its encoding, e.g. --encoding latin-1." if utf8 else "Name its encoding."
        return f"{name} is not valid {'UTF-8' if utf8 else encoding}. {hint}"
    if re.match(r"(?:CSV parse error: )?Empty CSV file", message):
        return f"{name} is empty: it holds no documents."
    if isinstance(error, PermissionError):
        return f"{name} may not be read: permission denied."
    if message.startswith("straddling"):
        return f"{name} has a row longer than {delimited.BLOCK_BYTES >> 20} MiB. Is a quotation mark left open?"
    return (
        f"{name} is damaged or not in the format its name says ({type(error).__name__}). "
        "Write the file again, or rename it to match its format."
    )


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    from pyarrow import parquet

    file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)  # else a row group is held whole
    check_columns(file.schema_arrow.names, *columns)
    rows = 0
    for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns), use_threads=False):
        yield batch
        rows += batch.num_rows
        progress.report(rows / file.metadata.num_rows)
