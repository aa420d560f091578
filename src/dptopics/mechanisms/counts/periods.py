"""Counts of one period of a series, such as a week: the whole series is one mechanism, and has one price."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.periods import Earlier
from dptopics.core.settings import number, whole
from dptopics.data.bounded import BoundedCorpus, PeriodCorpus
from dptopics.mechanisms.counts.cells import USUAL_CELLS, CountsWithMargins
from dptopics.mechanisms.counts.people import People
from dptopics.mechanisms.queries import grid_for, noisy, private_query
from dptopics.privacy.events import Noise
from dptopics.privacy.guarantee import Guarantee, Unit
from dptopics.release.counts import CountTable
from dptopics.release.release import Release

STEPS = 256  # of coefficients
BOUND_STEPS = 64  # of the bound: exact sums are kept in them
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Strategy:
    """What is measured in each of ``n`` periods, if a unit counts in at most ``most`` of them.

    >>> fresh, factored = Strategy(52, 1, False), Strategy(52, 1, True)
    >>> [round(4.2247 * one.of_unit * one.of_total(51), 1) for one in (factored, fresh)]
    [9.8, 30.5]
    """

    n: int
    most: int
    factored: bool

    @cached_property
    def coefficients(self) -> NDArray[np.int64]:
        """c(0), c(1), … in steps of 1/256: not negative, never rising."""
        k = np.arange(1, self.n)
        exact = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))]) if self.factored else np.eye(1, self.n)[0]
        return np.asarray(np.floor(STEPS * exact), np.int64)

    @cached_property
    def of_unit(self) -> float:
        """How far a unit of norm one in each of its periods moves all measurements together, in L2 norm, at most.

        The first periods in a row are the worst: of two periods, the later has fewer measurements to be part of, and
        the nearer two are, the more they share.
        """
        sensitivity_factor = np.convolve(self.coefficients, np.ones(min(self.most, self.n), np.int64))[: self.n]
        return sqrt(int((sensitivity_factor**2).sum())) / STEPS

    @cached_property
    def inverse(self) -> Floats:
        """Measurements times these are running totals: r(0), r(1), … of a lower triangular Toeplitz matrix."""
        c, found = self.coefficients / STEPS, np.zeros(self.n)
        found[0] = 1.0
        for k in range(1, self.n):
            found[k] = -(c[1 : k + 1] @ found[k - 1 :: -1][:k])
        return np.asarray(np.cumsum(found))

    def of_total(self, t: int) -> float:
        """Standard deviation of the running total up to period ``t``, if that of a measurement is one."""
        return float(np.linalg.norm(self.inverse[: t + 1]))

    def measured(self, counts: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Rows ``first`` and later of what is measured, in steps of 1/256, from the counts of all periods so far."""
        rows = range(first, len(counts))
        return np.stack([self.coefficients[t::-1][: t + 1] @ counts[: t + 1] for t in rows])

    def totals(self, measured: Floats) -> Floats:
        """The running total up to the last period measured."""
        return np.asarray(np.tensordot(self.inverse[: len(measured)][::-1], measured, axes=1))


def best_for_totals(n: int, most: int) -> Strategy:
    """Of fresh noise and the square root, the one whose last running total has less noise.

    >>> [best_for_totals(52, most).factored for most in (1, 4, 12, 52)]
    [True, True, True, False]
    """
    both = [Strategy(n, most, factored) for factored in (False, True)]
    return min(both, key=lambda one: one.of_unit * one.of_total(n - 1))


MOST_PERIODS = 1000
_STEP = 1 / (BOUND_STEPS * STEPS)  # of sums times coefficients


@dataclass(frozen=True, kw_only=True)
class CountsOfPeriod(CountsWithMargins):
    """How many units fall into each cell in one period of a series, or in all periods up to it (``running``).

    A unit counts in at most ``max_periods`` of the ``periods``: whoever makes the corpus of a period leaves others out,
    by each unit's own past. The guarantee is that of the whole series. Weekly counts have fresh noise; running totals
    have the square root of their matrix where that is less noise. Proof: docs/guarantees/counts.md

    >>> week = CountsOfPeriod.calibrated(epsilon=1.0, delta=1e-6, values=(tuple("abcde"),), at="W02", max_periods=4,
    ...     periods=tuple(f"W{week:02}" for week in range(1, 53)))
    >>> round(week.guarantee.epsilon, 6), round(week.noise_std, 1)
    (1.0, 20.7)
    """

    periods: tuple[str, ...] = field(default=("1",), repr=False)
    at: str = "1"
    max_periods: int = 1
    running: bool = False
    far: float | None = None  # cosine below which a document is far from every topic, where topics have centres
    name: ClassVar[str] = "periods"
    paper: ClassVar[str] = "ours; totals: Henzinger et al. 2023"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "periods", tuple(self.periods))
        whole("max_periods", self.max_periods, least=1)
        if not 1 <= len(self.periods) <= MOST_PERIODS or len(set(self.periods)) != len(self.periods):
            raise InputError(f"a series has 1 to {MOST_PERIODS:,} different periods, got {len(self.periods):,}.")
        if self.at not in self.periods:
            raise InputError(
                f"period {self.at!r} is not one of the series, {self.periods[0]} to {self.periods[-1]}. "
                "Check --at, --from and --to."
            )
        if self.unit is Unit.DOCUMENT and self.max_periods != 1:
            raise InputError("max_periods is about authors: a document lies in one period. Leave it at 1.")
        if self.number:
            raise InputError("means are of one table, not of a series: leave the column of numbers out.")
        if self.far is not None:
            number("far", self.far)

    @cached_property
    def strategy(self) -> Strategy:
        """What is measured in each period: its counts alone, or what makes the best running totals."""
        n, most = len(self.periods), min(self.max_periods, len(self.periods))
        return best_for_totals(n, most) if self.running else Strategy(n, most, False)

    @property
    def place(self) -> int:
        """Of this period in the series."""
        return self.periods.index(self.at)

    @property
    def sensitivity_factor(self) -> float:
        """How many times the bound one unit moves the measurements of all periods."""
        return self.strategy.of_unit

    @property
    def looks(self) -> bool:
        """Never: the bound is that of the whole series, declared before it."""
        return False

    @property
    def usual(self) -> int:
        """Entries of a table that a unit counts in: a period is short."""
        return min(self.max_cells or USUAL_CELLS, max(self.entries.sizes))

    def bound(self, most: int) -> float:
        """As for one table; for running totals in whole steps, in which exact sums are kept."""
        exact = super().bound(most)
        return ceil(exact * BOUND_STEPS) / BOUND_STEPS if self.running else exact

    def noise(self, most: int) -> float:
        """Standard deviation of what the table is made of: a measurement, or a running total."""
        return super().noise(most) * (self.strategy.of_total(self.place) if self.running else 1.0)

    @property
    def guarantee(self) -> Guarantee:
        """That of all periods together."""
        alone = super().guarantee
        if len(self.periods) == 1:
            return alone
        by_author = self.unit is Unit.AUTHOR
        capped = f"Each author counts in at most {self.max_periods}." if by_author else (
            "Each document must be counted in one period only: nothing remembers documents that are counted again."
        )  # fmt: skip
        whole_series = f"It covers all {len(self.periods)} periods of the series together, charged once. {capped}"
        return replace(alone, assumptions=(*alone.assumptions, whole_series))

    def check(self, corpus: BoundedCorpus) -> None:
        """As for one table; and for running totals the grid of the noise must hold their steps."""
        super().check(corpus)
        if self.running and grid_for(self.bound(self.usual) * self.sensitivity_factor, self.cell_sigma) > _STEP:
            raise InputError("the noise of these running totals is too large to be useful. Raise epsilon.")

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[CountTable]:
        """Measure this period; for running totals also those that were left out before it, as empty ones."""
        if not self.running:
            return super().__call__(corpus, rng)
        self.check(corpus)
        earlier = corpus.earlier if isinstance(corpus, PeriodCorpus) else Earlier.none()
        new = self._measured_since(corpus, earlier, rng)
        totals = self.strategy.totals(np.concatenate([earlier.cells.reshape(-1, *new.shape[1:]), new]))
        return Release.of(self._table(totals, self.usual, self.noise(self.usual), latest=new), self, rng)

    def _table(self, sums: NDArray[np.float64], most: int, noise: float, **more: Any) -> CountTable:
        series = {"n_periods": len(self.periods), "max_periods": self.max_periods}
        since = self.periods[0] if self.running else ""
        return super()._table(sums, most, noise, period=self.at, since=since, **series, **more)

    def _measured_since(self, corpus: BoundedCorpus, earlier: Earlier, rng: Generator) -> NDArray[np.float64]:
        """Sums of all periods so far, times coefficients, plus fresh noise: a row for each period not measured yet.

        Everything is whole numbers of one step.
        """
        grid = grid_for(self.bound(self.usual) * self.sensitivity_factor, self.cell_sigma)
        bound, statistic = self.bound(self.usual), People(self.entries, self.usual)

        def draw() -> NDArray[np.float64]:
            now = corpus.bounded_sum(statistic, bound=bound, grid=1 / BOUND_STEPS)[:, 0]
            exact = self.strategy.measured(earlier.counts(self.place, now), len(earlier.exact)) * round(_STEP / grid)
            sensitivity = bound * self.sensitivity_factor / grid
            drawn = noisy(exact, kind=Noise.GAUSSIAN, sensitivity=sensitivity, multiplier=self.cell_sigma, rng=rng)
            return np.asarray(drawn * grid)

        return private_query(draw)
