"""Standard output and error of a run. They may fail at any time, and a release that is paid for must not look lost."""

import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast

_SAVED: ContextVar[str] = ContextVar("saved", default="")


def saved(where: object) -> None:
    """Note that the run has written what it should: from now on no error may say that nothing was."""
    _SAVED.set(str(where))


def where_saved() -> str:
    """What was written so far, as a sentence; empty: nothing."""
    return f"What was asked for is in {_SAVED.get()}, complete." if _SAVED.get() else ""


class Stream:
    """A stream that keeps its first error instead of raising it. What is written later goes nowhere."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write(self, text: str) -> int:
        if self.error is None:
            try:
                self.inner.write(text)
            except OSError as error:
                self._fail(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self.error is None:
            try:
                self.inner.flush()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        """Remember it. What is still in the buffer goes nowhere, or Python would complain when it ends."""
        self.error = error
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), self.inner.fileno())

    @property
    def problem(self) -> str:
        """What went wrong; nothing where the reader of a pipe had enough (head) or all was well."""
        if self.error is None or self.error.errno == errno.EPIPE:
            return ""
        return self.error.strerror or "it cannot be written"


@contextmanager
def guarded() -> Iterator[Stream]:
    """Let neither stream end the run. Yields standard output."""
    before = sys.stdout, sys.stderr
    token = _SAVED.set("")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # for a stream that is closed
        out, err = (Stream(stream or nowhere) for stream in before)
        for stream in (out.inner, err.inner):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal that cannot show ε must not end a release
        sys.stdout, sys.stderr = cast(TextIO, out), cast(TextIO, err)
        try:
            yield out
        finally:
            out.flush()
            err.flush()
            sys.stdout, sys.stderr = before
            _SAVED.reset(token)
