"""Sensitivity sampling: how far one unit moves a function, on pairs drawn from a distribution.

After Rubinstein & Alda 2017, "Pain-free random differential privacy with sensitivity sampling", for matrices.
"""

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, exp, log, log1p
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.core.settings import Choice


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """Documents by unit: unit u has the documents start[u]:start[u+1] of ``counts``."""

    counts: Counts
    start: NDArray[np.int64]

    @property
    def n(self) -> int:
        return int(self.start.size - 1)

    def take(self, units: NDArray[np.int64]) -> Counts:
        """The documents of some units, in the order given; a unit may come more than once."""
        sizes = np.diff(self.start)[units]
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        return self.counts.take(np.arange(before[-1]) + np.repeat(self.start[units] - before[:-1], sizes))

    @property
    def digest(self) -> str:
        arrays = (self.start, self.counts.doc_start, self.counts.word, self.counts.count)
        return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class DrawnUnits:
    """P: units of a corpus, each as likely as any other, with replacement. Data sets are drawn from P^N."""

    units: Units

    def draw(self, n: int, lots: Generator) -> Units:
        chosen = lots.integers(0, self.units.n, n)
        sizes = np.diff(self.units.start)[chosen]
        return Units(self.units.take(chosen), np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))


def draw_pair(neighbours: DrawnUnits, n: int, lots: Generator) -> tuple[Counts, Counts]:
    """Two neighbouring data sets of n units: n − 1 in common, the last drawn once for each.

    A bounded corpus hands out units in the order of a hash of their names. So every drawn unit gets a random place, and
    the new one its own: learners that walk through documents in order meet it anywhere.
    """
    units = neighbours.draw(n + 1, lots)
    place = lots.integers(0, 2**63, n + 1)
    first, second = np.arange(n), np.append(np.arange(n - 1), n)
    return units.take(first[np.argsort(place[first])]), units.take(second[np.argsort(place[second])])


MatrixFunction = Callable[[Counts], NDArray[np.float64]]
_LARGEST = 2.0**52


class SampleSize(Choice):
    """How many pairs are drawn for a given γ; the sensitivity is the largest of their distances."""

    DKW = "dkw"
    BINOMIAL = "binomial"
    EXCHANGEABLE = "exchangeable"


def check_gamma(gamma: float) -> None:
    """Refuse a chance of failure that means nothing."""
    if not 0 < gamma < 1:
        raise InputError(f"gamma must lie strictly between 0 and 1, got {gamma}. The paper uses 0.1.")


def sampler_risk(gamma: float) -> float:
    """ρ = exp(W₋₁(−γ/(2√e)) + 1/2), the part of γ that the sampler itself may fail with (algorithm 1)."""
    from scipy.special import lambertw

    check_gamma(gamma)
    return float(exp(lambertw(-gamma / (2 * exp(0.5)), -1).real + 0.5))


def n_pairs(gamma: float, sample_size: SampleSize | str = SampleSize.EXCHANGEABLE) -> int:
    """Pairs to draw so that the largest distance is exceeded with probability at most γ.

    dkw (published): h = ⌈ln(1/ρ)/(2(γ − ρ)²)⌉. binomial: (1 − (γ − ρ))^h ≤ ρ. exchangeable: the pair that counts is as
    likely as any of the h drawn to be the largest, so 1/(h + 1) ≤ γ. See docs/guarantees/output.md.

    >>> [n_pairs(0.1, kind) for kind in SampleSize]
    [285, 49, 9]
    """
    check_gamma(gamma)
    rho = sampler_risk(gamma)
    match SampleSize(sample_size):
        case SampleSize.DKW:
            return ceil(log(1 / rho) / (2 * (gamma - rho) ** 2))
        case SampleSize.BINOMIAL:
            return ceil(log(rho) / log1p(-(gamma - rho)))
        case SampleSize.EXCHANGEABLE:
            return max(1, ceil(1 / Fraction(repr(float(gamma)))) - 1)


def steps_of(function: MatrixFunction, counts: Counts, grid: float) -> NDArray[np.int64]:
    """f(counts) in whole steps of the grid: the function that is protected. Refuses what is not a finite matrix."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # more threads change the order of sums, and with it the last digits of f
        matrix = np.asarray(function(counts), np.float64)
    if matrix.ndim != 2 or matrix.size == 0:
        raise InputError(f"the function must return a matrix with rows and columns, got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise InputError("the function returned NaN or infinity. Use a learner that always gives numbers.")
    steps = np.rint(matrix / grid)
    if np.abs(steps).max() > _LARGEST:
        raise InputError(f"the function returned numbers too large for a grid of {grid}. Use a coarser grid.")
    return steps.astype(np.int64)


def distance(first: NDArray[Any], second: NDArray[Any], *, matched: bool = True) -> float:
    """Frobenius distance; ``matched``: after the best matching of rows (Hungarian method).

    >>> distance(np.eye(3), np.eye(3)[[2, 0, 1]]), round(distance(np.eye(3), np.eye(3)[[2, 0, 1]], matched=False), 6)
    (0.0, 2.44949)
    """
    if first.shape != second.shape:
        raise InputError(
            f"the function returned shape {first.shape} for a data set and {second.shape} for its neighbour. It must "
            "return one shape, whatever the data: fix the number of topics."
        )
    if matched:
        from scipy.optimize import linear_sum_assignment
        from scipy.spatial.distance import cdist

        far = cdist(np.asarray(first, float), np.asarray(second, float), "sqeuclidean")
        second = second[linear_sum_assignment(far)[1]]
    return float(np.linalg.norm(np.asarray(first - second, float))) * (1 + 1e-12)  # floats round; never down


@dataclass(frozen=True, kw_only=True)
class SampledSensitivity:
    """The result of the offline stage: what later releases reuse.

    ``value`` is the largest of ``distances``. ``key`` is a hash of all that it depends on: function, number of units,
    bounds, words, distribution, settings.
    """

    value: float
    gamma: float
    sample_size: SampleSize
    shape: tuple[int, int]
    public: bool  # the neighbours were drawn from a public distribution; else this file is private
    key: str = field(repr=False)
    distances: tuple[float, ...] = field(repr=False)
    seconds: float = field(repr=False, compare=False, default=0.0)


class Checkpoint(Protocol):
    """Where distances are kept while a long run is under way."""

    def begin(self, key: str) -> Mapping[int, float]:
        """Distances known already for this key."""
        ...

    def add(self, i: int, far: float) -> None: ...


def sample_sensitivity(
    function: MatrixFunction,
    neighbours: DrawnUnits,
    n_units: int,
    *,
    gamma: float,
    sample_size: SampleSize | str = SampleSize.EXCHANGEABLE,
    matched: bool = True,
    grid: float = 2.0**-24,
    seed: int = 0,
    public: bool = True,
    key: str = "",
    max_pairs: int | None = 1000,
    workers: int | None = None,
    processes: bool = False,
    checkpoint: Checkpoint | None = None,
) -> SampledSensitivity:
    """Draw pairs of neighbouring data sets of ``n_units`` units, and measure how far ``function`` moves.

    Pair i depends on ``seed`` and i alone, so that an interrupted run can go on from a ``checkpoint``. More than
    ``max_pairs`` are refused with an estimate of the time. ``processes`` is for functions that hold Python's lock, such
    as gensim's.
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    if n_units < 2:
        raise InputError(f"sampling needs at least 2 authors (or documents) in the data, got {n_units}.")
    wanted = n_pairs(gamma, sample_size)
    workers = workers or os.cpu_count() or 1
    known = _known(checkpoint, key, wanted)

    def one(i: int) -> tuple[int, float, tuple[int, int]]:
        lots = np.random.Generator(np.random.PCG64([seed, i]))
        with progress.shown_by(lambda share: None):
            first, second = (steps_of(function, part, grid) for part in draw_pair(neighbours, n_units, lots))
        return i, distance(first, second, matched=matched) * grid, (first.shape[0], first.shape[1])

    begin = time.perf_counter()
    if max_pairs is not None and wanted > max_pairs:
        one(0)
        seconds = (time.perf_counter() - begin) * (wanted - len(known)) / workers
        raise _too_many(gamma, SampleSize(sample_size), seconds, workers)
    todo = [i for i in range(wanted) if i not in known] or [0]  # one at least: for the shape
    shape: tuple[int, int] | None = None
    with threadpool_limits(1):  # around all of them: one thread's end must not lift the limit of another
        pool = Parallel(workers, "loky" if processes else "threading", return_as="generator_unordered")
        for i, far, found in pool(delayed(one)(i) for i in todo):
            shape, known[i] = _one_shape(shape, found), far
            if checkpoint is not None:
                checkpoint.add(i, far)
            progress.report(len(known) / wanted)
    assert shape is not None
    distances = tuple(known[i] for i in range(wanted))
    return SampledSensitivity(
        value=max(*distances, grid),  # a step of the grid at least: no noise at all hides nothing
        gamma=gamma,
        sample_size=SampleSize(sample_size),
        shape=shape,
        public=public,
        key=key,
        distances=distances,
        seconds=time.perf_counter() - begin,
    )


def _known(checkpoint: Checkpoint | None, key: str, wanted: int) -> dict[int, float]:
    """Distances that an interrupted run has left."""
    left = {} if checkpoint is None else checkpoint.begin(key)
    return {i: far for i, far in left.items() if i < wanted}


def _one_shape(before: tuple[int, int] | None, found: tuple[int, int]) -> tuple[int, int]:
    if before not in (None, found):
        raise InputError(
            f"the function returned shapes {before} and {found} for two data sets. It must return one shape, "
            "whatever the data: fix the number of topics."
        )
    return found


def _too_many(gamma: float, sample_size: SampleSize, seconds: float, workers: int) -> InputError:
    return InputError(
        f"gamma = {gamma} by {sample_size} needs {n_pairs(gamma, sample_size):,} pairs of fits: about "
        f"{show_time(seconds)} on {workers} cores. Say --no-sampling-limit (max_pairs=None) if you want that, "
        f"raise gamma, or use sample size 'exchangeable': {n_pairs(gamma)} pairs."
    )


def show_time(seconds: float) -> str:
    """A length of time for people.

    >>> show_time(5400), show_time(40)
    ('1.5 hours', '40 seconds')
    """
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {name}"
    return f"{seconds:.2g} seconds"
