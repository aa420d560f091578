"""Public axes of a table of counts: a list of groups, or the months, weeks or days of a declared range.

Every value that is not listed counts as "other": refusing it or leaving it out would depend on the data.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import pairwise
from math import inf, isnan, nan, prod
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.core.files import read_list
from dptopics.core.periods import Period
from dptopics.core.tokenizers import check_pure
from dptopics.core.vocabulary import Vocabulary

OTHER = "other"
ALL = "(all)"  # in tables: the sum over an axis. No group may have this name
NO_TOPIC = "none"
FAR = "far"
TOPIC = "topic"
MOST_AXES = 4
MOST_CELLS = 2_000_000
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:$|[T ])")
_LONGEST = 40_000  # days in a range
_LONGEST_VALUE = 200  # letters of a group's name


OWN_FACET = (
    "The owner's function of axis {!r}, {}, depends on each text alone: it remembers no other text and learned from "
    "none of this data."
)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis: its column and its public values, the last of which is "other".

    >>> ward = Axis.groups("ward", ["north", "south"])
    >>> ward.places(["south", "east", None]).tolist()
    [1, 2, 2]
    >>> month = Axis.periods("month:seen", first="2026-01-15", last="2026-03-01")
    >>> month.values, month.places(["2026-02-28T23:59+01:00", "28/2/2026", "2026-01-14"]).tolist()
    (('2026-01', '2026-02', '2026-03', 'other'), [1, 3, 3])
    >>> hours = Axis.bins("hours", [0, 20, 38.5])
    >>> hours.values, hours.places([19.9, "40", "full-time", -1]).tolist()
    (('0 to below 20', '20 to below 38.5', '38.5 or more', 'other'), [0, 2, 3, 3])
    """

    name: str
    column: str
    values: tuple[str, ...]
    period: Period | None = None
    first: date | None = None  # day that counts, on an axis of periods
    last: date | None = None
    date_format: str | None = None  # as in strptime, of dates that are not written as 2026-01-31
    edges: tuple[float, ...] = ()  # where bins begin, on an axis of numbers
    of_text: Callable[[str], object] | None = None

    @classmethod
    def facet(cls, name: str, values: Iterable[str], of_text: Callable[[str], object]) -> Self:
        """A public function of one text, such as its language or length, with the values it distinguishes."""
        axis = cls(name=name, column="", values=cls.groups(name, values).values, of_text=of_text)
        check_pure(f"the function of axis {name!r}", axis._facet)
        return axis

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What nobody can check, namely that an owner's function depends on each text alone."""
        if self.of_text is None:
            return ()
        where = getattr(self.of_text, "__module__", None), getattr(self.of_text, "__qualname__", None)
        return (OWN_FACET.format(self.name, ":".join(part or "?" for part in where)),)

    @classmethod
    def groups(cls, column: str, values: Iterable[str]) -> Self:
        """A column with values that were public before."""
        if isinstance(values, str):
            raise InputError("the public groups must be a list of strings, got a single string.")
        listed = [plain_value(value) for value in values]
        listed = [value for value in dict.fromkeys(listed) if value and value != OTHER]
        if not listed:
            raise InputError("the list of public groups is empty. Put one group per line.")
        if ALL in listed:
            raise InputError(f"no group may be called {ALL!r}, the sum over all groups in tables. Rename it.")
        return cls(name=column, column=column, values=(*listed, OTHER))

    @classmethod
    def from_file(cls, column: str, path: str | Path) -> Self:
        """A column whose public values are the lines of a file."""
        return cls.groups(column, read_list(path, "list of groups"))

    @classmethod
    def bins(cls, column: str, edges: Iterable[float]) -> Self:
        """A column of numbers in public bins: from each of these numbers to below the next, and from the last on."""
        found = tuple(map(float, edges))
        if len(found) < 2 or not all(low < high for low, high in pairwise((*found, inf))):
            raise InputError(f"bins need two numbers or more, each above the one before; got {list(found)}.")
        named = [repr(edge).removesuffix(".0") for edge in found]
        values = (*(f"{low} to below {high}" for low, high in pairwise(named)), f"{named[-1]} or more", OTHER)
        return cls(name=column, column=column, values=values, edges=found)

    @classmethod
    def periods(
        cls, by: str, *, first: str | date | None, last: str | date | None, date_format: str | None = None
    ) -> Self:
        """``by`` is month:COLUMN, week:COLUMN or day:COLUMN; days outside the declared range count as "other".

        ``date_format`` is that of the dates, such as "%d.%m.%Y", unless they are written as 2026-01-31.
        """
        kind, _, column = by.partition(":")
        if kind not in list(Period) or not column:
            raise InputError(f"periods are month:COLUMN, week:COLUMN or day:COLUMN, got {by!r}.")
        period = Period(kind)
        if first is None or last is None:
            raise InputError(f"counting by {kind} needs a public range: --from and --to, such as 2026-01-31.")
        low, high = _day("--from", first), _day("--to", last)
        if not low <= high or (high - low).days > _LONGEST:
            raise InputError(f"the range must start before it ends and have at most {_LONGEST:,} days.")
        days = (low + timedelta(days=i) for i in range((high - low).days + 1))
        values = (*dict.fromkeys(map(period.of, days)), OTHER)
        how: dict[str, Any] = {"first": low, "last": high, "date_format": _checked_format(date_format)}
        return cls(name=kind, column=column, values=values, period=period, **how)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self.values[:-1])}

    def places(self, column: Sequence[Any]) -> NDArray[np.int64]:
        """Where each row of the column counts. Dates count by the day as written, whatever the time zone."""
        if self.of_text is not None:
            column = [OTHER if value is None else self._facet(value) for value in column]
        read = self._bin if self.edges else plain_value if self.period is None else self._period
        texts = [value if isinstance(value, str) else "" if value is None else str(value) for value in column]
        known = {text: self._index.get(read(text), len(self._index)) for text in set(texts)}
        return np.array([known[text] for text in texts], np.int64)

    def _facet(self, text: str) -> str:
        """What the owner's function says; "other" where it fails, since a refusal would depend on the data."""
        assert self.of_text is not None
        try:
            return str(self.of_text(text))
        except Exception:
            return OTHER

    def _bin(self, text: str) -> str:
        number = number_of(text)
        return OTHER if isnan(number) else self.values[bisect_right(self.edges, number) - 1]  # below all: the last

    def _period(self, text: str) -> str:
        assert self.period is not None
        day = read_day(text, self.date_format)
        if day is None or (self.first is not None and day < self.first) or (self.last is not None and day > self.last):
            return OTHER
        return self.period.of(day)


def edges_of(values: Sequence[str]) -> tuple[float, ...]:
    """Where the bins of an axis begin, by its values; none where it has no bins."""
    try:
        edges = tuple(float(value.split()[0]) for value in values[:-1])
        return edges if Axis.bins("", edges).values == tuple(values) else ()
    except (ValueError, IndexError):
        return ()


def number_of(value: Any) -> float:
    """What a cell holds as a number; NaN for what is none."""
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return nan


def plain_value(value: Any) -> str:
    """A value in the form of a group: one line, not too long, valid UTF-8."""
    text = "" if value is None else str(value).encode("utf-8", "replace").decode("utf-8")
    return " ".join(text.split())[:_LONGEST_VALUE].strip()


@lru_cache(maxsize=1 << 14)
def read_day(text: str, date_format: str | None = None) -> date | None:
    """The day that a text names, whatever the time zone; None if it names none."""
    text = text.strip()
    try:
        if date_format is not None:
            return datetime.strptime(text, date_format).date()
        return date.fromisoformat(text[:10]) if _ISO.match(text) else None
    except ValueError:
        return None


def _checked_format(date_format: str | None) -> str | None:
    """Refuse a format that does not identify a day."""
    if date_format is not None:
        days = [date(2026, 1, 31), date(2026, 2, 3), date(2027, 2, 3)]
        try:
            found = [read_day(day.strftime(date_format), date_format) for day in days]
        except ValueError:
            found = []
        if found != days:
            raise InputError(f"{date_format!r} is not a date format. Write day, month and year, such as %d.%m.%Y.")
    return date_format


def _day(option: str, value: str | date) -> date:
    try:
        return value if isinstance(value, date) else date.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputError(f"{option} must be a day such as 2026-01-31, got {value!r}.") from None


def check_table(axes: Sequence[str], values: Sequence[Sequence[str]]) -> None:
    """Refuse a table without axes, with two of one name, with a value twice, or with too many cells."""
    if not 1 <= len(axes) == len(values) <= MOST_AXES or len(set(axes)) != len(axes):
        raise InputError(
            f"a table has 1 to {MOST_AXES} axes of different names, each with its values; got {len(axes)}."
        )
    for name, own in zip(axes, values, strict=True):
        if not own or len(set(own)) != len(own):
            raise InputError(f"axis {name!r} needs values, none of them twice.")
    cells = prod(map(len, values))
    if cells > MOST_CELLS:
        raise InputError(
            f"the table would have {cells:,} cells, more than {MOST_CELLS:,}. Use fewer groups or longer periods."
        )


def cell_names(n: int) -> Vocabulary:
    """The numbers of n cells, as a corpus lists what its columns stand for."""
    return Vocabulary(tuple(f"{i:07d}" for i in range(n)))
