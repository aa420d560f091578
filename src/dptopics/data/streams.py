"""Byte streams of files and of standard input, whose beginning is looked at before they are read once."""

import codecs
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dptopics.errors import InputError
from dptopics.public.packed import unpacked

STANDARD_INPUT = "-"
_HEAD = 1 << 16  # bytes that are looked at for names of columns
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")


class Rejoined:
    """A stream from its first byte on, although its beginning has been read already."""

    closed = False

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int) -> bytes:
        """The next bytes: fewer than asked for at the end only, which is how Arrow knows the end."""
        piece, self._head = self._head[:size], self._head[size:]
        return piece if len(piece) == size else piece + bytes(self._rest.read(size - len(piece)))

    def close(self) -> None:
        """Whoever opened the stream closes it."""


@dataclass(frozen=True)
class Opened:
    """A table that is open: its bytes, how much of them has been read, and the first of them as text."""

    name: str
    encoding: str
    stream: Rejoined
    share: Callable[[], float]
    head: str
    whole: bool  # the head is all there is


@contextmanager
def opened(path: Path, encoding: str) -> Iterator[Opened]:
    """The bytes of a file, unpacked if its name says so, or of standard input."""
    name, packed = (path.name, False) if str(path) != STANDARD_INPUT else ("standard input", True)
    with _standard_input() if packed else unpacked(path) as (stream, share):
        first = bytes(stream.read(_HEAD))
        if packed and first.startswith(_PACKED):
            raise InputError("standard input is packed. Unpack it on the way: zcat FILE | dptopics …")
        head = codecs.getincrementaldecoder(encoding)().decode(first).removeprefix("\ufeff")
        yield Opened(name, encoding, Rejoined(first, stream), share, head, len(first) < _HEAD)


@contextmanager
def _standard_input() -> Iterator[tuple[Any, Callable[[], float]]]:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise InputError("nothing comes in by standard input. Send a table: … | dptopics … -, or give a file.")
    yield stream, lambda: 0.0
