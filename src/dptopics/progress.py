"""How far along long work is, as a share of public step counts. Mechanisms report; only the CLI shows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Sink = Callable[[float], None]


def _nowhere(share: float) -> None:
    pass


_sink: ContextVar[Sink] = ContextVar("sink", default=_nowhere)


def report(share: float) -> None:
    """Say that this share (0 to 1) of the current part is done."""
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
