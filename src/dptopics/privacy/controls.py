"""Controls: under-noised runs, by which an audit shows what it can detect. Never for release."""

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
    """Draw only a ``share`` of the stated noise, in this context alone; what is released here guarantees nothing."""
    token = _share.set(share)
    try:
        yield
    finally:
        _share.reset(token)


@contextmanager
def given_noise(draws: Iterable[Steps]) -> Iterator[None]:
    """Use these draws in order instead of new ones, to offset the difference to other data."""
    token = _given.set(iter(draws))
    try:
        yield
    finally:
        _given.reset(token)


def next_given() -> Steps | None:
    """The next given draw; None: draw it."""
    given = _given.get()
    return None if given is None else next(given, None)


def share_of_noise() -> float:
    """The share of the stated noise that is drawn: 1 outside controls."""
    return 0.0 if _given.get() is not None else _share.get()
