"""Files that survive a power failure (syncing a folder keeps its names), and files that one run holds at a time."""

import lzma
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError


def check_new(path: Path) -> None:
    """Refuse a file that exists."""
    if path.exists():
        raise InputError(f"the file {str(path)!r} exists already. Choose another name, or remove it first.")


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to disk."""
    if os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents durably."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in new:
        sync_folder(place.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically and durably, readable by its owner only."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.partial-", dir=path.parent)  # mode 0600
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """Lock a file that may not exist yet: a second run is refused. The lock ends with the process."""
    place = path.parent / f".{path.name}.lock"
    try:
        handle = os.open(place, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise InputError(f"cannot write next to {str(path)!r}: {error.strerror}. Choose another folder.") from None
    try:
        if not locked(handle) or not same_file(handle, place):
            raise InputError(f"another run is using {str(path)!r}. Wait until it has finished.")
        try:
            yield
        finally:
            place.unlink(missing_ok=True)
    finally:
        os.close(handle)


def locked(handle: int) -> bool:
    """Whether this process now holds the file alone, until it ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def same_file(handle: int, place: Path) -> bool:
    """Whether the name still denotes the open file: its previous holder removes the name."""
    try:
        return os.path.samestat(os.fstat(handle), place.stat())
    except FileNotFoundError:
        return False


Arrays = Mapping[str, NDArray[Any]]


def known(**arrays: NDArray[Any] | None) -> dict[str, NDArray[Any]]:
    """The arrays that are not None."""
    return {name: np.asarray(array) for name, array in arrays.items() if array is not None}


_ARROW = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_PACKED = (*_ARROW, ".xz", ".zip")


def suffix_of(path: Path) -> str:
    """The suffix of a file's format, without compression: ".csv" for notes.csv.gz, or for notes.zip with one CSV."""
    found = next((suffix for suffix in reversed(path.suffixes) if suffix.lower() not in _PACKED), "").lower()
    if path.suffix.lower() == ".zip" and path.is_file():
        try:
            return Path(_only_file(path)).suffix.lower()
        except zipfile.BadZipFile:
            return found  # the reader reports the error
    return found


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[Any, Callable[[], float]]]:
    """A byte stream, decompressed by the file's suffix, and a function that gives the share that has been read."""
    import pyarrow as pa

    suffix = path.suffix.lower()
    size = max(1, path.stat().st_size)
    with ExitStack() as stack:
        raw = stack.enter_context(open(path, "rb"))
        if suffix == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(raw))
            stream: Any = stack.enter_context(archive.open(_only_file(path)))
        elif suffix == ".xz":
            stream = stack.enter_context(lzma.open(raw))
        else:
            stream = stack.enter_context(pa.input_stream(raw, compression=_ARROW.get(suffix)))
        yield stream, lambda: min(1.0, raw.tell() / size)


def _only_file(path: Path) -> str:
    """The name of the only file in an archive; files that operating systems add do not count."""
    with zipfile.ZipFile(path) as archive:
        listed = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
        files = [one for one in listed if not Path(one.filename).name.startswith(".")]
    if len(files) != 1:
        raise InputError(f"{path.name!r} holds {len(files)} files. Give an archive of one table, or extract it first.")
    if files[0].flag_bits & 1:
        raise InputError(f"{path.name!r} is protected by a password. Extract it first.")
    return files[0].filename


_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")


def read_list(path: str | Path, what: str) -> list[str]:
    """Lines of a public list; refuses a table. ``what`` names the list in messages."""
    path = Path(path)
    if suffix_of(path) in _TABLES and path.exists():
        raise InputError(
            f"{path.name!r} is a table, not the {what}, and all of it would be published. Give a text file (.txt) of "
            "entries that were public before, one per line."
        )
    try:
        return path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"the {what} {path.name!r} is not valid UTF-8.") from None
    except OSError as error:
        raise InputError(f"cannot read the {what} {str(path)!r}: {error.strerror}.") from None
