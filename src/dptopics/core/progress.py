"""Progress of long work, as a share of public step counts. Mechanisms report it; their caller may show it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


Sink = Callable[[float], None]


_sink: ContextVar[Sink] = ContextVar("sink", default=lambda share: None)


def report(share: float) -> None:
    """Report that this share (0 to 1) of the current part is done."""
    _sink.get()(share)


@contextmanager
def shown_by(sink: Sink) -> Iterator[None]:
    """Send reports to ``sink`` while the block runs."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)


@contextmanager
def part(low: float, high: float) -> Iterator[None]:
    """Let the block's reports fill only [low, high] of the surrounding part.

    >>> with shown_by(print), part(0.5, 1.0), part(0.0, 0.5):
    ...     report(1.0)
    0.75
    """
    outer = _sink.get()
    with shown_by(lambda share: outer(low + (high - low) * share)):
        yield


@contextmanager
def bar(title: str, console: "Console | None" = None) -> Iterator[Sink]:
    """A progress bar in percent, on standard error; where that is no terminal (a notebook, a log), tenths on a line."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = console or Console(stderr=True, force_jupyter=False)
    if not console.is_terminal:
        yield _tenths(title)
        print(file=sys.stderr)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(title, total=1.0)
        yield lambda share: shown.update(task, completed=share)


@contextmanager
def shown(title: str) -> Iterator[None]:
    """Show the reports of a block as a bar."""
    with bar(title) as sink, shown_by(sink):
        yield


def _tenths(title: str) -> Sink:
    """Writes "title 10 % 20 % …" as it goes."""
    print(title, end="", file=sys.stderr, flush=True)
    done = [0]

    def sink(share: float) -> None:
        while done[0] < min(10, int(10 * share + 1e-9)):
            done[0] += 1
            print(f" {10 * done[0]} %", end="", file=sys.stderr, flush=True)

    return sink
