"""Controls: runs with too little noise, by which an audit shows what it can see. Never for release."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

Steps = NDArray[np.int64]
_given: ContextVar[Iterator[Steps] | None] = ContextVar("given noise", default=None)
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


@contextmanager
def given_noise(draws: Iterable[Steps]) -> Iterator[None]:
    """Take these draws, one after another, instead of new ones: what was noise before makes up for other data."""
    token = _given.set(iter(draws))
    try:
        yield
    finally:
        _given.reset(token)


def next_given() -> Steps | None:
    """The next draw that is given; None: draw it."""
    given = _given.get()
    return None if given is None else next(given, None)


def share_of_noise() -> float:
    """How much of the noise that is stated is drawn: all of it, but for controls."""
    return 0.0 if _given.get() is not None else _share.get()
