"""Periods: days, weeks and months by name, and the counts of earlier ones."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError, StoreError


class Period(StrEnum):
    """Lengths of a period."""

    MONTH = "month"
    WEEK = "week"
    DAY = "day"

    def of(self, day: date) -> str:
        """The name of the period that a day lies in: 2026-03, 2026-W10 (ISO 8601) or 2026-03-04."""
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02}" if self is Period.WEEK else day.isoformat()[: 7 if self is Period.MONTH else 10]


@dataclass(frozen=True, eq=False)
class Earlier:
    """All periods before this one. ``exact`` is private: sums without noise; ``cells`` was released."""

    exact: NDArray[np.int64]  # [period, row of the sum]
    cells: NDArray[np.float64]  # [period, cell]: the release of each period

    @classmethod
    def none(cls) -> Self:
        """No earlier periods."""
        return cls(np.zeros((0, 0), np.int64), np.zeros((0, 0)))

    def counts(self, place: int, now: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exact sums up to the period at ``place``, whose own are ``now``; zeros for periods without any."""
        every = np.zeros((place + 1, now.size), np.int64)
        every[: len(self.exact)] = self.exact.reshape(-1, now.size)
        every[place] = now
        return every

    def followed_by(self, place: int, now: NDArray[np.int64], cells: NDArray[np.float64]) -> "Earlier":
        """The same with the period at ``place``; ``cells`` was released since."""
        new = cells.reshape(len(cells), -1)
        return Earlier(self.counts(place, now), np.concatenate([self.cells.reshape(-1, new.shape[1]), new]))


PERIODS = ("none", "day", "week")
_EARLIEST = date(2026, 1, 1)  # an earlier clock was never set: this version did not exist
_FORM = {"day": re.compile(r"\d{4}-\d\d-\d\d"), "week": re.compile(r"\d{4}-W\d\d")}


def _today() -> date:
    return datetime.now(UTC).date()


def period_now(kind: str) -> str | None:
    """The current day (2026-11-16) or ISO week (2026-W47) in UTC by this machine's clock, not a client's; or None.

    Raises:
        StoreError: this machine's clock is wrong, and nothing may be stamped with it.
    """
    if kind == "none":
        return None
    today = _today()
    if today < _EARLIEST:
        raise StoreError(
            f"the collector's clock says {today.year}, which is wrong: this version did not exist then. Nothing of "
            "this request was kept: set the clock, then send it again."
        )
    return Period(kind).of(today)


def check_kind(kind: str) -> None:
    """Refuse a period that is not one of the three."""
    if kind not in PERIODS:
        raise InputError(f"period must be one of {', '.join(PERIODS)}, got {kind!r}. Finer times are never stored.")


def check_period(period: str, kind: str) -> None:
    """Refuse a period that a collection of this kind cannot hold."""
    if kind == "none":
        raise InputError("this collection stores no times: leave out --period (period).")
    try:
        if not _FORM[kind].fullmatch(period):
            raise ValueError
        date.fromisoformat(period)  # checks the number of days and weeks
    except ValueError:
        example = "2026-11-16" if kind == "day" else "2026-W47"
        raise InputError(f"{period!r} is not a {kind}: write it like {example}.") from None
