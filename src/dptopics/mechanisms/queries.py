"""How a sound mechanism queries data: each query returns exact numbers plus noise, and nothing else.

Sums over units (:func:`noisy_sum`), other numbers (:func:`noisy`), and choices that follow from noisy numbers
(:func:`private_query`). Bound, noise and grid are paired here and nowhere else. Tests and audits can observe, which
changes nothing, or replay the answers on other data, which must lead to the same release.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import ceil, inf, log2
from typing import Protocol, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.data.bounded import BoundedCorpus, Sample, Statistic
from dptopics.privacy import noise
from dptopics.privacy.controls import next_given, share_of_noise
from dptopics.privacy.events import Noise

T = TypeVar("T")
Steps = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Query:
    """One query as the guarantee prices it, in steps of a grid. ``exact`` and ``drawn`` are private."""

    kind: Noise
    exact: Steps
    drawn: Steps
    sensitivity: float  # the most that one unit moves ``exact`` by, in the norm of the noise
    scale: float  # of the noise
    rng: Generator | None = None  # that it was drawn from


class Watcher(Protocol):
    """Observes every query of the mechanisms that run under :func:`watched_by`. For tests and audits."""

    def query(self, query: Query) -> None: ...

    def private_query(self, draw: Callable[[], T]) -> T:
        """What a mechanism receives: ``draw()``, or a recorded answer."""
        ...


_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Let ``watcher`` observe the queries of mechanisms. NOT FOR RELEASE."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def private_query(draw: Callable[[], T]) -> T:
    """Every answer that a mechanism receives passes here: ``draw`` returns exact numbers plus noise."""
    watcher = _watcher.get()
    return draw() if watcher is None else watcher.private_query(draw)


def noisy(exact: Steps, *, kind: Noise, sensitivity: float, multiplier: float, rng: Generator) -> Steps:
    """``exact`` plus noise of scale multiplier · sensitivity, all in steps. Inside :func:`private_query`."""
    scale = multiplier * sensitivity
    drawn = _drawn(kind, scale, exact.shape, rng)
    watcher = _watcher.get()
    if watcher is not None:
        watcher.query(Query(kind, exact.copy(), drawn, sensitivity, scale, rng))
    exact += drawn  # in place: sums of pairs of words are large
    return exact


def _drawn(kind: Noise, scale: float, shape: tuple[int, ...], rng: Generator) -> Steps:
    given = next_given()
    if given is not None:
        return given.reshape(shape)
    share = share_of_noise()
    if share == 0:
        return np.zeros(shape, np.int64)
    return (noise.gaussian if kind is Noise.GAUSSIAN else noise.laplace)(rng, scale * share, shape)


def noisy_sum(
    corpus: BoundedCorpus,
    statistic: Statistic,
    *,
    bound: float,
    sigma: float,
    rng: Generator,
    kind: Noise = Noise.GAUSSIAN,
    sample: Sample | None = None,
    sensitivity_factor: float = 1.0,
) -> NDArray[np.float64]:
    """Σ over units of the statistic, clipped to norm ``bound``; noise of scale sigma · bound · sensitivity_factor.

    The norm is that of the noise: L2 under Gaussian noise, L1 under Laplace noise. ``sensitivity_factor``:
    of several sums that are priced as one, how many times the bound a unit moves all of them at most.
    """
    grid = grid_for(bound * sensitivity_factor, sigma)

    def draw() -> NDArray[np.float64]:
        exact = corpus.bounded_sum(statistic, bound=bound, grid=grid, sample=sample, norm=kind.norm)
        sensitivity = bound * sensitivity_factor / grid
        return np.asarray(noisy(exact, kind=kind, sensitivity=sensitivity, multiplier=sigma, rng=rng) * grid)

    return private_query(draw)


def grid_for(bound: float, sigma: float) -> float:
    """Grid step for sums of norm ``bound`` under noise of scale sigma · bound: a power of two.

    2²⁴ steps span the larger of the two, so rounding is far below the noise and everything fits 64-bit integers.
    """
    if not (0 < bound < inf and sigma <= 2**20):
        raise InputError(
            f"the noise needed is {sigma:.3g} times the largest contribution: nothing would be left of the data. "
            "Raise epsilon."
        )
    return float(2.0 ** (ceil(log2(bound * max(sigma, 1.0))) - 24))
