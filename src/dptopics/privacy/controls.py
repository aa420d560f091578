"""Controls: runs with too little noise, by which an audit shows what it can see. Never for release."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_share: ContextVar[float] = ContextVar("share of noise", default=1.0)


@contextmanager
def under_noised(share: float) -> Iterator[None]:
    """Draw only a ``share`` of the noise, and state all of it. Another thread draws all of its noise meanwhile.

    Whatever is released in here says that nothing is promised (:meth:`dptopics.release.release.Release.of`).
    """
    token = _share.set(share)
    try:
        yield
    finally:
        _share.reset(token)


def share_of_noise() -> float:
    """How much of the noise that is stated is drawn: all of it, but for controls."""
    return _share.get()
