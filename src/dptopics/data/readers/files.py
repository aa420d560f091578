"""Tables of texts, batch by batch: files, databases, and frames that speak Arrow."""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa

from dptopics.core import progress
from dptopics.core.errors import DptopicsError, InputError, shielded, tell_owner
from dptopics.core.files import suffix_of
from dptopics.data.readers import delimited
from dptopics.data.readers.columns import BATCH_ROWS, Header, Rows, check_columns, of_arrow, of_rows
from dptopics.data.readers.databases import SqlQuery
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
    """Batches of columns: text, folder (the first-level sub-folder, or None) and file, of visible .txt files."""
    if missing := [name for name in columns if name not in COLUMNS]:
        raise InputError(
            f"a folder of text files has the columns {', '.join(COLUMNS)}, not {missing[0]!r}. For texts by "
            "sub-folder: --text text --author folder."
        )
    check_columns(COLUMNS, *columns)
    found = (one for one in sorted(folder.rglob("*")) if one.is_file())
    inside = [one for one in found if not any(part.startswith(".") for part in one.relative_to(folder).parts)]
    texts = [one for one in inside if one.suffix.lower() == _SUFFIX]
    if len(inside) > len(texts):  # even if none is left: whether there are any texts is private
        tell_owner(f"{len(inside) - len(texts):,} files that do not end in {_SUFFIX} were left out.")
    for start in range(0, len(texts), BATCH_ROWS):
        part = texts[start : start + BATCH_ROWS]
        rows = [_row(one, folder, columns, encoding, start + i + 1) for i, one in enumerate(part)]
        yield of_rows(rows)
        progress.report((start + len(part)) / len(texts))


def _row(path: Path, folder: Path, columns: Sequence[str], encoding: str, number: int) -> list[str | None]:
    """The requested cells. Names of files may be names of people: messages give their number."""
    parts = path.relative_to(folder).parts
    cells: dict[str, str | None] = {"folder": parts[0] if len(parts) > 1 else None, "file": path.stem}
    if "text" in columns:
        try:
            cells["text"] = path.read_text(encoding).removeprefix("\ufeff")
        except UnicodeError:
            reason = f"is not valid {encoding}: convert it, or name its encoding (--encoding)."
        except OSError as error:
            reason = f"cannot be read: {error.strerror}."
        if "text" not in cells:
            raise InputError(f"file {number} of the folder {folder.name!r}, in alphabetical order, {reason}")
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


# What only some formats have: the field, the rule, and these formats.
_ONLY_OF = (
    ("separator", "a separator is for CSV", (Format.CSV, Format.TSV)),
    ("sheet", "a sheet (--sheet) is for workbooks", (Format.EXCEL,)),
    ("header_row", "a header row (--header-row) is for CSV and workbooks", (Format.CSV, Format.TSV, Format.EXCEL)),
)


@dataclass(frozen=True)
class TableFile:
    """A file, a folder of text files, or "-" for standard input; and its format, where its name does not tell it.

    Without a ``separator``, it is found by the column names. A folder is a table of its .txt files with the columns
    text, folder (the first-level sub-folder) and file. ``sheet`` names one of a workbook; by default the only one that
    has the columns. ``header_row`` (counted from 1) holds the column names, if not the first; rows above are skipped.
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
            raise InputError(f"rows are counted from 1: --header-row must be at least 1, got {self.header_row}.")
        if self.format is not None:
            self._check_fits(Format(self.format), "the format")

    def columns(self, names: Sequence[str], values: int) -> Iterator[Rows]:
        """Batches of columns: the first ``values`` are texts and authors, the others of any type."""
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
        """Column names, of each sheet of a workbook. Not for standard input, which can be read only once."""
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
        """The path, if it can be a table."""
        path = Path(self.path)
        if not str(self.path):  # a Path would be the current folder
            raise InputError("there is no file ''.")
        if str(path) != STANDARD_INPUT:
            if not path.is_dir():
                check_file(path)
            elif (self.separator, self.format, self.sheet, self.header_row) != (None,) * 4:
                raise InputError("a folder of text files has no separator, format, sheet or header row: omit them.")
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
        """Whether it is JSON, as given, or by the first byte of standard input."""
        found = known if known is not None else Format.JSON if table.head.lstrip()[:1] in ("{", "[") else Format.CSV
        self._check_fits(found, repr(table.name))
        return found is Format.JSON

    def _format(self, path: Path) -> Format | None:
        """As given, or by the file's name; None: the first byte of standard input decides."""
        piped = str(path) == STANDARD_INPUT
        known = Format(self.format) if self.format is not None else _SUFFIXES.get(suffix_of(path))
        if piped and known in (Format.PARQUET, Format.EXCEL):
            raise InputError(f"standard input cannot be {str(known)!r}: give the file itself, or send CSV or JSON.")
        if known is None and not piped:
            known_ones = "Use .csv, .tsv, .jsonl, .parquet or .xlsx, or name it (--format)."
            raise InputError(f"cannot tell the format of {path.name!r}. {known_ones}")
        if known is not None:
            self._check_fits(known, repr(path.name))
        return known

    def _check_fits(self, known: Format, what: str) -> None:
        """Refuse settings that this format does not have."""
        for field, rule, formats in _ONLY_OF:
            if getattr(self, field) is not None and known not in formats:
                raise InputError(f"{rule}, but {what} is {str(known)!r}. Leave one of them out.")


def _is_array(table: Opened) -> bool:
    return table.head.lstrip()[:1] == "["


def check_encoding(encoding: str) -> None:
    """Refuse what does not name a text encoding."""
    try:
        known = codecs.lookup(encoding)._is_text_encoding  # hex and rot13 are codecs too
    except (LookupError, ValueError):
        known = False
    if not known:
        raise InputError(f"there is no encoding {encoding!r}. Use for example 'utf8' or 'latin-1'.")


def check_file(path: Path) -> None:
    """Refuse a path that is not a file."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}.")


def explain(error: Exception, path: Path, encoding: str) -> str:
    """What went wrong, without the data that Arrow quotes."""
    message = str(error)
    name = repr("standard input" if str(path) == STANDARD_INPUT else path.name)
    if fields := re.match(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", message):
        row, wanted, got = fields.groups()
        where = f"row {row}" if row else "a row"
        return (
            f"{name} has {wanted} columns but {where} has {got}. Quote texts that hold the separator, and close every "
            "quotation mark."
        )
    if isinstance(error, UnicodeError) or "invalid UTF8" in message:
        utf8 = codecs.lookup(encoding).name == "utf-8"
        hint = "Save it as UTF-8, or name its encoding, e.g. --encoding latin-1." if utf8 else "Name its encoding."
        return f"{name} is not valid {'UTF-8' if utf8 else encoding}. {hint}"
    if re.match(r"(?:CSV parse error: )?Empty CSV file", message):
        return f"{name} is empty: it holds no documents."
    if isinstance(error, PermissionError):
        return f"{name} cannot be read: permission denied."
    if message.startswith("straddling"):
        return f"{name} has a row longer than {delimited.BLOCK_BYTES >> 20} MiB. Is a quotation mark not closed?"
    return (
        f"{name} is damaged or not in the format of its name ({type(error).__name__}). Write the file again, or rename "
        "it to match its format."
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


Batch = tuple[Sequence[str | None], Sequence[str | int | None] | None]


def read_batches(source: Any, *, text: str, author: str | None, encoding: str = "utf8") -> Iterator[Batch]:
    """Batches of (texts, authors) from a table."""
    for texts, *authors in read_columns(source, [text] + ([author] if author else []), encoding=encoding):
        yield texts, authors[0] if authors else None


def read_columns(source: Any, columns: Sequence[str], *, encoding: str = "utf8", values: int = 2) -> Iterator[Rows]:
    """Batches of columns: texts, then authors (strings or numbers); beyond the first ``values``, anything at all.

    ``encoding`` is that of a path; a TableFile knows its own. A column that is asked for twice is read once.
    """
    if isinstance(source, str | Path):
        source = TableFile(source, encoding=encoding)
    if len(once := list(dict.fromkeys(columns))) < len(columns):
        return ([rows[once.index(column)] for column in columns] for rows in read_columns(source, once, values=values))
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
