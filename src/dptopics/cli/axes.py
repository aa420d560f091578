"""What counts are made by, and of which periods: the options of count and check."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dptopics.cli import options as o
from dptopics.core.errors import InputError

if TYPE_CHECKING:
    from dptopics.cli.source import Table
    from dptopics.core.axes import Axis
    from dptopics.counting import Calendar
    from dptopics.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Axes(o.Group):
    """Columns and dates to count by."""

    by: list[str] | None = o.option(
        "Column to count by, with a public list (--groups) or, for numbers, --bins; or month:COLUMN, week:COLUMN, "
        "day:COLUMN for dates such as 2026-01-31, with a public range (--from, --to). Up to three.",
        beside_plan=True,
    )
    groups: list[str] | None = o.option(
        "Public list of a column's values, one on each line: FILE, or COLUMN=FILE; or the folder of a "
        "release by 'dptopics vocabulary --column'. All others count as 'other'."
    )
    bins: list[str] | None = o.option(
        "Public bins of a column of numbers: 1,2,3,4,5, or COLUMN=0,18,65. From each to below the next, and 65 or more."
    )
    first: str | None = o.option("First day of the range.", "--from")
    last: str | None = o.option("Last day of the range.", "--to")
    date_format: str | None = o.option(
        "How dates are written, as in strptime: %d.%m.%Y. Default: as 2026-01-31.", beside_plan=True
    )

    def of_options(self, table: "Table", *, dated: bool = True) -> "list[Axis]":
        """The axes that the options name. A list must have its column, a column its list."""
        from dptopics.core.axes import Axis
        from dptopics.core.periods import Period

        by = self.by or []
        periods = {one for one in by if one.partition(":")[0] in list(Period) and ":" in one}
        others = self._of_columns([one for one in by if one not in periods], table)
        range_: dict[str, Any] = {"first": self.first, "last": self.last} if dated else {"first": None, "last": None}
        days = range_ | {"date_format": self.date_format}
        return [Axis.periods(one, **days) if one in periods else others[one] for one in by]

    def _of_columns(self, columns: list[str], table: "Table") -> "dict[str, Axis]":
        """Each with its public bins or its public list."""
        from dptopics.core.axes import Axis

        bins = dict(_named("--bins", self.bins, columns))
        lists = dict(_named("--groups", self.groups, [column for column in columns if column not in bins]))
        if missing := [column for column in columns if column not in lists | bins]:
            raise InputError(
                f"--by {missing[0]} needs the list of its values that are public: --groups {missing[0]}=FILE. "
                "Values that are taken from the data may be those of single persons: release them first "
                f"(dptopics vocabulary --column {missing[0]}); or, of numbers, say their --bins."
            )
        table.check_public(*lists.values())
        binned = {column: Axis.bins(column, numbers("--bins", edges)) for column, edges in bins.items()}
        return binned | {column: _groups(column, path) for column, path in lists.items()}

    def of_plan_in(self, plan: "Plan") -> "list[Axis]":
        """The axes of a plan: it says which values they have, ``--by`` in which columns they are."""
        from dptopics.core.axes import Axis, edges_of
        from dptopics.core.periods import Period

        parts = ((one, *one.partition(":")) for one in self.by or [])
        named = {kind if found else one: (kind, column) for one, kind, found, column in parts}
        axes, days = [], [date.fromisoformat(day) for day in plan.settings.get("days", ())]
        for name, values in zip(plan.settings.get("axes", ())[1:], plan.settings.get("values", ())[1:], strict=True):
            if name not in named:
                raise InputError(f"the plan counts by {name!r}: say in which column that is (--by).")
            kind, column = named.pop(name)
            period = Period(kind) if column else None
            own: dict[str, Any] = {"first": days[0], "last": days[1]} if period is not None and days else {}
            own |= {} if period is None else {"date_format": self.date_format}
            own |= {"values": tuple(values), "edges": edges_of(values)}
            axes.append(Axis(name=name, column=column or name, period=period, **own))
        if named:
            raise InputError("--by names a column that the plan does not count by.")
        return axes


@dataclass(frozen=True, kw_only=True)
class Series(o.Group):
    """One run of a series of counts."""

    panel = "Every week"
    period: str | None = o.option(
        "One run of a series: week, month or day of new data; or week:COLUMN, to count the rows whose "
        "date lies in it. The range of the series is public (--from, --to); it is charged once."
    )
    at: str | None = o.option("The period to count: 2026-W07, or a day in it.")
    max_periods: int = o.option("Periods that an author counts in, the first ones. Noise grows.", default=1)
    running: bool = o.flag("Totals since the first period.")
    participation: Path | None = o.option(
        "File that remembers who took part how often. Private data: keep it.", shown="beside the ledger"
    )

    def calendar(self, axes: Axes) -> "Calendar | None":
        """The periods of the series, and where dates are; None if it is none."""
        from dptopics.counting import Calendar

        if self.period is None:
            if self.at or self.max_periods != 1 or self.running or self.participation:
                raise InputError("--at, --max-periods, --running and --participation are for a series: --period week.")
            return None
        if self.at is None:
            raise InputError("say which period to count: --at 2026-W07, or a day in it.")
        kind, _, column = self.period.partition(":")
        return Calendar(
            period=kind, first=axes.first, last=axes.last, column=column or None, date_format=axes.date_format
        )


def _named(option: str, given: list[str] | None, columns: list[str]) -> Iterator[tuple[str, str]]:
    """What an option says of each column: COLUMN=…, or of the only one."""
    for one in given or []:
        column, named, value = one.partition("=")
        if not (named and column in columns):
            if len(columns) != 1 or len(given or []) != 1:
                raise InputError(f"say which column {option} is about: {option} COLUMN=…, with --by COLUMN.")
            column, value = columns[0], one
        yield column, value


def numbers(option: str, given: str) -> tuple[float, ...]:
    """Numbers with commas between."""
    try:
        return tuple(map(float, given.split(",")))
    except ValueError:
        raise InputError(f"{option} must be numbers, as 1,5; got {given!r}.") from None


def _groups(column: str, path: str) -> "Axis":
    """Public values of a column: lines of a file, or the words of a release (``release_groups``)."""
    from dptopics.core.axes import Axis
    from dptopics.core.vocabulary import Vocabulary
    from dptopics.release.bundle import load

    if Path(path).is_dir():
        return Axis.groups(column, load(path).value_of(Vocabulary).words)
    return Axis.from_file(column, path)
