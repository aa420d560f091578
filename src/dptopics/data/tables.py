"""Read tables of texts, batch by batch: raw text is never held whole."""

import codecs
import csv as plain_csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from dptopics import progress
from dptopics.data.corpus import Corpus
from dptopics.data.workbooks import WORKBOOKS, read_workbook
from dptopics.errors import DptopicsError, InputError, shielded
from dptopics.public.packed import suffix_of, unpacked

C = TypeVar("C", bound=Corpus)
Batch = tuple[Sequence[str | None], Sequence[str | int | None] | None]
Rows = list[list[Any]]  # some rows of several columns

_BATCH_ROWS = 2048
_HEAD = 1 << 16  # bytes of a CSV that are looked at for its header
_SEPARATORS = (",", ";", "\t", "|")
_BLOCK_BYTES = 1 << 24  # a single row may not be longer than this in CSV


def read_batches(source: Any, *, text: str, author: str | None, encoding: str) -> Iterator[Batch]:
    """Batches of (texts, authors) from a file or a frame that speaks Arrow."""
    for texts, *authors in read_columns(source, [text] + ([author] if author else []), encoding=encoding):
        yield texts, authors[0] if authors else None


def read_columns(source: Any, columns: Sequence[str], *, encoding: str, values: int = 2) -> Iterator[Rows]:
    """Batches of columns: texts, then authors (strings or numbers); beyond the first ``values``, anything at all."""
    if isinstance(source, str | Path):
        path = Path(source)
        check_file(path)
        check_encoding(encoding)
        suffix = suffix_of(path)
        readers = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
        try:
            if suffix in (".jsonl", ".ndjson", ".json"):
                yield from _json_lines(path, columns, encoding)
            elif suffix in readers:
                yield from _columns(_csv(path, readers[suffix], columns, encoding), columns, values)
            elif suffix in (".parquet", ".pq"):
                yield from _columns(_parquet(path, columns), columns, values)
            elif suffix in WORKBOOKS:
                yield from read_workbook(path, columns)
            else:
                raise InputError(f"cannot tell the format of {path.name!r}. Use .csv, .tsv, .jsonl, .parquet or .xlsx.")
        except (DptopicsError, MemoryError):
            raise
        except Exception as error:
            reason = explain(error, path, encoding)
        else:
            return
        raise InputError(reason)
    elif hasattr(source, "__arrow_c_stream__"):
        reader = shielded(
            lambda: pa.RecordBatchReader.from_stream(source),
            "the frame cannot be read: a column mixes types, or two have one name",
            "Convert text and author columns to strings, or give those two columns alone.",
        )
        check_columns(reader.schema.names, *columns)
        batches = _columns(reader, columns, values)
        while batch := shielded(
            lambda: next(batches, None), "the frame cannot be read", "Convert text and author columns to valid strings."
        ):
            yield batch
    else:
        raise InputError(
            f"cannot read a table from {type(source).__name__}. Give a file path, or a pandas, Polars or DuckDB frame."
        )


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
    if fields := re.match(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", message):
        row, wanted, got = fields.groups()
        where = f"row {row}" if row else "a row"
        return (
            f"{path.name!r} has {wanted} columns but {where} has {got}. Put texts that hold the separator in quotation "
            "marks, and close every quotation mark."
        )
    if isinstance(error, UnicodeError) or "invalid UTF8" in message:
        utf8 = codecs.lookup(encoding).name == "utf-8"
        hint = "Save it as UTF-8, or name its encoding, e.g. --encoding latin-1." if utf8 else "Name its encoding."
        return f"{path.name!r} is not valid {'UTF-8' if utf8 else encoding}. {hint}"
    if re.match(r"(?:CSV parse error: )?Empty CSV file", message):
        return f"{path.name!r} is empty: it holds no documents."
    if isinstance(error, PermissionError):
        return f"{path.name!r} may not be read: permission denied."
    if message.startswith("straddling"):
        return f"{path.name!r} has a row longer than {_BLOCK_BYTES >> 20} MiB. Is a quotation mark left open?"
    return (
        f"{path.name!r} is damaged or not in the format its name says ({type(error).__name__}). "
        "Write the file again, or rename it to match its format."
    )


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


def _csv(path: Path, delimiter: str, columns: Sequence[str], encoding: str) -> Iterator[Any]:
    from pyarrow import csv

    with unpacked(path) as (stream, _):
        first = stream.read(_HEAD)
        head = codecs.getincrementaldecoder(encoding)().decode(first).removeprefix("\ufeff")
    rows, delimiter = _header(head, delimiter, columns)
    names = next((row for row in rows if row), None)
    if names is None:
        raise InputError(f"{path.name!r} is empty: it holds no documents.")
    check_columns(names, *columns)
    if next((row for row in rows if row), None) is None and len(first) < _HEAD:
        return  # a header and nothing else, which Arrow takes for an empty file
    with unpacked(path) as (stream, share):
        for batch in csv.open_csv(
            stream,
            read_options=csv.ReadOptions(block_size=_BLOCK_BYTES, encoding=encoding, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                include_columns=list(columns),
                column_types={c: pa.string() for c in columns},
                strings_can_be_null=False,  # an empty text is an empty text
            ),
        ):
            yield batch
            progress.report(share())


def _header(head: str, delimiter: str, columns: Sequence[str]) -> tuple[Iterator[list[str]], str]:
    """Rows of the beginning, by the separator under which the first row has all the columns; else by the usual one.

    Excel writes semicolons where commas are for decimals. Only names that were asked for decide.
    """
    for separator in dict.fromkeys((delimiter, *_SEPARATORS)):
        names = next((row for row in _rows(head, separator) if row), [])
        if all(names.count(column) == 1 for column in columns):
            return _rows(head, separator), separator
    return _rows(head, delimiter), delimiter


def _rows(head: str, delimiter: str) -> Iterator[list[str]]:
    return plain_csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    from pyarrow import parquet

    file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)  # else a row group is held whole
    check_columns(file.schema_arrow.names, *columns)
    rows = 0
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(columns), use_threads=False):
        yield batch
        rows += batch.num_rows
        progress.report(rows / file.metadata.num_rows)


def _columns(batches: Iterable[Any], columns: Sequence[str], values: int) -> Iterator[Rows]:
    for whole in batches:
        found = [_castable(whole.column(name)) for name in columns]
        for start in range(0, whole.num_rows, _BATCH_ROWS):
            parts = [column.slice(start, _BATCH_ROWS) for column in found]
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


def _json_lines(path: Path, columns: Sequence[str], encoding: str) -> Iterator[Rows]:
    rows: list[list[Any]] = []
    with unpacked(path) as (stream, share):
        for number, line in enumerate(read_lines(stream, encoding), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                raise InputError(
                    f"line {number} of {path.name!r} is not valid JSON. Each line must be one object."
                ) from None
            if not isinstance(row, dict):
                raise InputError(f"line {number} of {path.name!r} is not a JSON object. Each line must be one object.")
            if not rows:
                check_columns(list(row), *columns)
            rows.append([row.get(name) for name in columns])
            if len(rows) > _BATCH_ROWS:
                yield _turned(rows[:-1])
                rows = rows[-1:]
                progress.report(share())
    if rows:
        yield _turned(rows)


def _turned(rows: list[list[Any]]) -> Rows:
    """Columns from rows."""
    return [list(column) for column in zip(*rows, strict=True)]


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
