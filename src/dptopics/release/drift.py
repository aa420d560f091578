"""Drift: whether what people write about moves away from released topics, from the counts of a series alone.

Post-processing of released numbers: nothing is spent. For every period and topic, and for texts far from all topics,
the share in the last one, two and three periods is compared with that of all earlier periods. The noise of both is
known; the people of a period are treated as a sample from a constant population, up to an overdispersion that is
estimated from the earlier periods over all topics. Under that assumption the probability of a false alarm in the whole
series is about ``error``: one half for far texts, the other for all topics, each divided by the number of comparisons
(Bonferroni).
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import log1p, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core.axes import FAR
from dptopics.core.errors import InputError
from dptopics.release.counts import CountTable, Share

WINDOWS = (1, 2, 3)  # periods compared with all before them
FEWEST = 8  # periods before, to compare with
ERROR = 0.02  # probability of a false alarm: of a hundred constant series nearly always 95 or more raise none


@dataclass(frozen=True, kw_only=True)
class Signal:
    """The share of a topic, or of texts far from all topics, rose by more than noise and sampling explain."""

    period: str
    topic: str
    periods: int  # in which it was higher
    share: float
    before: float
    deviations: float

    def __str__(self) -> str:
        what = "texts far from every topic" if self.topic == FAR else f"topic {self.topic}"
        when = "in this period" if self.periods == 1 else f"in {self.periods} periods"
        return f"{self.period}: {what} rose from {self.before:.1%} to {self.share:.1%} {when}"


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The drift found in a series of counts."""

    far: dict[str, Share | None]  # of each period, with its 95 % set; None: unbounded
    signals: tuple[Signal, ...]
    error: float

    @property
    def refit(self) -> Signal | None:
        """The first signal that the topics no longer cover what people write about, and new ones are due."""
        return next((signal for signal in self.signals if signal.topic == FAR), None)

    def to_dict(self) -> dict[str, Any]:
        far = {period: None if share is None else share._asdict() for period, share in self.far.items()}
        return {"far": far, "signals": [asdict(s) for s in self.signals], "refit": self.refit is not None,
                "error": self.error}  # fmt: skip


def drift(tables: Iterable[CountTable], *, error: float = ERROR) -> Drift:
    """Drift in the tables of one series, one per period; ``error``: probability of a false alarm in all of it.

    >>> def week(number, far):
    ...     cube = np.array([1000.0 - far, 905.0, far, 1905.0])
    ...     return CountTable(axes=("topic",), values=(("0", "1", "far"),), cube=cube,
    ...         noise=6.0, period=f"2026-W{number:02}", n_periods=52)
    >>> found = drift([week(number, 100 if number < 20 else 200) for number in range(1, 23)])
    >>> print(found.refit)
    2026-W20: texts far from every topic rose from 5.2% to 10.5% in this period
    """
    if not 0 < error < 1:
        raise InputError(f"error must lie strictly between 0 and 1, got {error}.")
    series = _checked(tables)
    first = series[0]
    topics = [topic for topic in first.values[0] if topic != FAR]
    limits = {topic: _threshold(first.n_periods, error / 2 / len(topics)) for topic in topics}
    limits[FAR] = _threshold(first.n_periods, error / 2)
    parts = {topic: _Counted.of(series, topic) for topic in limits}
    spreads = [_spread(list(parts.values()), before) for before in range(len(series) + 1)]
    signals = [
        signal for topic, limit in limits.items() for signal in _rises(series, topic, parts[topic], spreads, limit)
    ]
    shares = {table.period: table.share({first.axes[0]: FAR}, of={}) for table in series}
    order = {topic: place for place, topic in enumerate((FAR, *topics))}
    signals.sort(key=lambda signal: (signal.period, order[signal.topic]))
    return Drift(far=shares, signals=tuple(signals), error=error)


def _threshold(n_periods: int, error: float) -> float:
    """Standard deviations that some comparison of one topic exceeds by chance with at most this probability."""
    comparisons = sum(max(0, n_periods - FEWEST - window + 1) for window in WINDOWS)
    return NormalDist().inv_cdf(1 - error / max(1, comparisons))


@dataclass(frozen=True, eq=False)
class _Counted:
    """The counts of a topic and in total, by period, with their noise."""

    own: NDArray[np.float64]
    total: NDArray[np.float64]
    noise: float  # variance of each
    times: int  # a unit that counts up to m times multiplies the sampling variance by up to m

    @classmethod
    def of(cls, series: list[CountTable], topic: str) -> "_Counted":
        own = np.array([table.count(**{table.axes[0]: topic}).value for table in series])
        total = np.maximum([table.count().value for table in series], 1.0)
        return cls(own, total, series[0].noise ** 2, series[0].times)

    def share(self, part: slice) -> float:
        """The topic's share in some periods."""
        return float(self.own[part].sum() / self.total[part].sum())

    def variances(self, share: float) -> tuple[float, float]:
        """Of own − share · total: from the noise per period, and from sampling per person."""
        p = min(max(share, 0.0), 1.0)
        return self.noise * (1 + p**2), self.times * p * (1 - p)


def _spread(parts: list[_Counted], before: int) -> tuple[float, int]:
    """Overdispersion of the shares in the first periods, at least 1, and its degrees of freedom.

    Pearson's statistic over all topics, less what the known noise adds to it (McCullagh and Nelder 1989, section 4.5).
    """
    if before < 2:
        return 1.0, 1
    old = slice(0, before)
    found = of_noise = of_people = 0.0
    for part in parts:
        share = part.share(old)
        noise, people = part.variances(share)
        found += float(((part.own[old] - share * part.total[old]) ** 2).sum()) * before / (before - 1)
        of_noise += before * noise
        of_people += people * float(part.total[old].sum())
    return max(1.0, (found - of_noise) / max(of_people, 1e-300)), len(parts) * (before - 1)


def _rises(
    series: list[CountTable], topic: str, counted: _Counted, spreads: list[tuple[float, int]], limit: float
) -> list[Signal]:
    """Periods at which the share of a topic was too high for chance, with the strongest comparison of each."""
    found = []
    for now in range(FEWEST, len(series)):
        rises = [_rise(counted, now + 1 - window, now + 1, spreads[now + 1 - window])
                 for window in WINDOWS if now + 1 - window >= FEWEST]  # fmt: skip
        deviations, window, share, before = max(rises)
        if deviations > limit:
            numbers = {"share": share, "before": before, "deviations": deviations}
            found.append(Signal(period=series[now].period, topic=topic, periods=window, **numbers))
    return found


def _rise(counted: _Counted, begin: int, end: int, spread: tuple[float, int]) -> tuple[float, int, float, float]:
    """The rise of a share in periods begin to end, as a normal quantile: of its noise and of sampling people."""
    new, old = slice(begin, end), slice(0, begin)
    share, before = counted.share(new), counted.share(old)
    of_noise, of_people = counted.variances(before)
    p = min(max(before, 0.0), 1.0)
    skew = spread[0] * (2 * spread[0] - 1)  # of a Poisson variable with gamma-distributed mean
    variance = third = 0.0
    for part, sign in ((new, 1), (old, -1)):
        people = counted.total[part].sum()
        variance += (counted.total[part].size * of_noise + spread[0] * of_people * people) / people**2
        third += sign * skew * counted.times * of_people * (1 - 2 * p) / people**2
    deviations = (share - before) / sqrt(variance)
    skewed = third / variance**1.5 * (deviations**2 - 1) / 6  # small counts are skewed (Cornish, Fisher)
    return _as_normal(float(deviations - skewed), spread[1]), end - begin, float(share), float(before)


def _as_normal(deviations: float, degrees: int) -> float:
    """The normal quantile of Student's t, because the spread was estimated (Wallace 1959)."""
    if deviations <= 0:
        return deviations
    return (8 * degrees + 1) / (8 * degrees + 3) * sqrt(degrees * log1p(deviations**2 / degrees))


def _checked(tables: Iterable[CountTable]) -> list[CountTable]:
    """Tables of one series in order of time."""
    series = sorted(tables, key=lambda table: table.period)
    if not series or not all(table.period and not table.since for table in series):
        raise InputError("drift needs the counts of a series, one table per period: dptopics count --period week.")
    names = ("axes", "values", "model", "noise", "unit", "documents", "max_cells", "max_periods", "n_periods")
    if any(getattr(table, name) != getattr(series[0], name) for table in series for name in names):
        raise InputError("these counts are not of one series: topics, groups, noise or bounds differ.")
    if len({table.period for table in series}) != len(series):
        raise InputError("there are two tables of one period.")
    if any(np.isnan(table.cube.reshape(len(table.cube), -1)[:, -1]).any() for table in series):
        raise InputError("some counts of topics were suppressed as small (--min-units), so drift cannot be determined.")
    return series
