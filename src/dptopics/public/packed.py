"""Files that are packed: what their names say of the format inside, and their bytes, unpacked."""

import lzma
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dptopics.errors import InputError

_ARROW = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_PACKED = (*_ARROW, ".xz", ".zip")


def suffix_of(path: Path) -> str:
    """What a file's name says of its format, packing aside: ".csv" for notes.csv.gz, and for notes.zip with one CSV."""
    found = next((suffix for suffix in reversed(path.suffixes) if suffix.lower() not in _PACKED), "").lower()
    if path.suffix.lower() == ".zip" and path.is_file():
        try:
            return Path(_only_file(path)).suffix.lower()
        except zipfile.BadZipFile:
            return found  # whoever reads it says what is wrong
    return found


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[Any, Callable[[], float]]]:
    """A byte stream, unpacked if the name says so, and the share of the file that has been read."""
    import pyarrow as pa

    suffix = path.suffix.lower()
    size = max(1, path.stat().st_size)
    with open(path, "rb") as raw:
        if suffix == ".zip":
            with zipfile.ZipFile(raw) as archive, archive.open(_only_file(path)) as stream:
                yield stream, lambda: min(1.0, raw.tell() / size)
        elif suffix == ".xz":
            with lzma.open(raw) as stream:
                yield stream, lambda: min(1.0, raw.tell() / size)
        else:
            with pa.input_stream(raw, compression=_ARROW.get(suffix)) as stream:
                yield stream, lambda: min(1.0, raw.tell() / size)


def _only_file(path: Path) -> str:
    """The name of the one file in an archive; what systems put beside it does not count."""
    with zipfile.ZipFile(path) as archive:
        files = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    if len(files) != 1:
        raise InputError(f"{path.name!r} holds {len(files)} files. Give an archive of one table, or unpack it.")
    if files[0].flag_bits & 1:
        raise InputError(f"{path.name!r} is protected by a password. Unpack it first.")
    return files[0].filename


_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")


def read_list(path: str | Path, what: str) -> list[str]:
    """Lines of a file of public words or n-grams; refuses a table. ``what`` names the list in messages."""
    path = Path(path)
    if suffix_of(path) in _TABLES and path.exists():
        raise InputError(
            f"{path.name!r} is a table, no {what}: whatever is in it would be published. Give a text file (.txt) of "
            "entries that were public before, one on each line."
        )
    try:
        return path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"the {what} {path.name!r} is not valid UTF-8.") from None
    except OSError as error:
        raise InputError(f"cannot read the {what} {str(path)!r}: {error.strerror}.") from None
