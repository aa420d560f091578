"""Files that survive a loss of power, and files that one run holds at a time.

Syncing a file keeps its bytes, syncing its folder keeps its name.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dptopics.errors import InputError


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder are on disk."""
    if os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, and make sure that they stay."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in new:
        sync_folder(place.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file that its owner alone may read: after a crash it is as before, or whole. On return it is on disk."""
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
    """Hold a file that may not exist yet: a second run is refused. The lock goes with the process, however it ends."""
    place = path.parent / f".{path.name}.lock"
    try:
        handle = os.open(place, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise InputError(f"cannot write beside {str(path)!r}: {error.strerror}. Choose another folder.") from None
    try:
        if not locked(handle) or not same_file(handle, place):
            raise InputError(f"another run is using {str(path)!r}. Wait until it is done.")
        try:
            yield
        finally:
            place.unlink(missing_ok=True)
    finally:
        os.close(handle)


def locked(handle: int) -> bool:
    """Whether this process holds the file alone. The lock goes with the process, however it ends."""
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
    """Whether the name still stands for the file that is held: whoever held it before takes the name away."""
    try:
        return os.path.samestat(os.fstat(handle), place.stat())
    except FileNotFoundError:
        return False
