"""The coarse time of a report: nothing, the day, or the week in which it came. Nothing finer is ever written down."""

import re
from datetime import UTC, date, datetime

from dptopics.errors import InputError, StoreError

PERIODS = ("none", "day", "week")
_EARLIEST = date(2026, 1, 1)  # nobody collected with this version before: such a clock was never set
_FORM = {"day": re.compile(r"\d{4}-\d\d-\d\d"), "week": re.compile(r"\d{4}-W\d\d")}


def _today() -> date:
    return datetime.now(UTC).date()


def period_now(kind: str) -> str | None:
    """The running day (2026-11-16) or ISO week (2026-W47) by this machine's clock, in UTC; None if none is kept.

    The clocks of clients are not asked: a wrong one changes nothing.

    Raises:
        StoreError: this machine's clock cannot be right. Nothing may be stamped with it.
    """
    if kind == "none":
        return None
    today = _today()
    if today < _EARLIEST:
        raise StoreError(
            f"the collector's clock says {today.year}, before there was this version: it is wrong. Nothing of this "
            "request was kept: set the clock, then send it again."
        )
    if kind == "day":
        return today.isoformat()
    year, week, _ = today.isocalendar()
    return f"{year}-W{week:02d}"


def check_kind(kind: str) -> None:
    """Refuse a setting that is none of the three."""
    if kind not in PERIODS:
        raise InputError(f"period must be one of {', '.join(PERIODS)}, got {kind!r}. Finer times are not kept.")


def check_period(period: str, kind: str) -> None:
    """Refuse a period that a collection of this kind cannot hold.

    >>> check_period("2026-W47", "week")
    """
    if kind == "none":
        raise InputError("this collection keeps no times: leave out --period (period).")
    try:
        if not _FORM[kind].fullmatch(period):
            raise ValueError
        date.fromisoformat(period)  # knows how many days and weeks a year has
    except ValueError:
        example = "2026-11-16" if kind == "day" else "2026-W47"
        raise InputError(f"no {kind} is called {period!r}: write it like {example}.") from None
