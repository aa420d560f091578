"""Counts of one period of a series, such as a week, in Python: the whole series is charged once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

from dptopics.core.axes import OTHER, Axis
from dptopics.core.errors import InputError, renamed_arguments
from dptopics.core.periods import Period
from dptopics.counting.subjects import assumed, subject_of
from dptopics.counting.tables import Columns, asked_columns, check_axes, table_of, told_corpus
from dptopics.data.bounded import BoundedCorpus, PeriodCorpus
from dptopics.data.cells import in_period
from dptopics.data.readers.files import read_columns
from dptopics.ledger.ledger import Ledger
from dptopics.ledger.series import Series, SeriesAccount, account_of
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Unit
from dptopics.publishing import OF_PUBLISH, publish
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel


@dataclass(frozen=True, kw_only=True)
class Calendar:
    """The periods of a series, declared before its first: ``week``, ``month`` or ``day``, from one day to another.

    ``column`` holds dates such as 2026-01-31: rows outside the period that is counted are left out. Without it every
    row of the table counts.

    >>> Calendar(period="week", first="2026-01-05", last="2026-01-25").names
    ('2026-W02', '2026-W03', '2026-W04')
    """

    period: str
    first: str | date | None
    last: str | date | None
    column: str | None = None
    date_format: str | None = None  # how dates are written, where it is not as 2026-01-31

    @property
    def axis(self) -> Axis:
        """The periods as an axis. Refuses a range that is none."""
        by, days = f"{self.period}:{self.column or 'date'}", {"first": self.first, "last": self.last}
        return Axis.periods(by, **days, date_format=self.date_format)

    @property
    def dates(self) -> str | None:
        """Where days are, and how they are written, where that is not the usual way."""
        return self.column if self.date_format is None else f"{self.column} ({self.date_format})"

    @property
    def names(self) -> tuple[str, ...]:
        """Of all periods."""
        return tuple(value for value in self.axis.values if value != OTHER)

    def named(self, at: str) -> str:
        """A period by its name, or by a day that lies in it."""
        try:
            return Period(self.period).of(date.fromisoformat(at)) if at not in self.names else at
        except ValueError:
            raise InputError(
                f"{at!r} is no {self.period} and no day. Write it as {self.names[0]}, or as a day: 2026-01-31."
            ) from None


@renamed_arguments(about="description", about_units="people")
def release_period(
    topics: Release[TopicModel] | TopicModel | Any | str | Path,
    data: Any,
    *,
    calendar: Calendar,
    at: str,
    by: Sequence[Axis] = (),
    text: str,
    author: str | None = None,
    epsilon: float,
    delta: float,
    ledger: Ledger | str | Path | None,
    max_periods: int = 1,
    participation: str | Path | None = None,
    unit: Unit | str | None = None,
    embedding: Any = None,
    drop_missing: bool = False,
    author_is: Sequence[str] = (),
    encoding: str = "utf8",
    **how: Any,
) -> Release[CountTable]:
    """Release how many people wrote about each topic, by group, in one period: ``dptopics count --period``.

    ε and δ are those of the whole series, charged with its first period. An author counts in at most ``max_periods``
    periods, the first ones in which they appear; the participation file (beside the ledger, if no other is given) keeps
    count of that across runs. Documents are new in each period, so that they need none. ``running=True`` releases
    totals up to the period instead of its counts. Other arguments as for :func:`release_counts`.

    >>> import numpy as np, pyarrow as pa, tempfile
    >>> from dptopics import TopicModel, Vocabulary
    >>> model = TopicModel(
    ...     topic_word=np.array([[0.9, 0.1], [0.1, 0.9]]), topic_share=np.array([0.5, 0.5]),
    ...     vocabulary=Vocabulary.of(["asthma", "skin"]), alpha=0.1)
    >>> week = pa.table({"note": ["asthma", "skin"] * 500, "patient": range(1000)})
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/clinic.ledger", epsilon=1, delta=1e-6)
    >>> release = release_period(model, week, calendar=Calendar(period="week", first="2026-01-05", last="2026-12-27"),
    ...     at="2026-W02", text="note", author="patient", epsilon=1.0, delta=1e-6, ledger=ledger, max_periods=4)
    >>> 400 < release.value.count(topic="0").value < 600
    True
    >>> folder.cleanup()
    """
    subject = subject_of(topics, embedding, series=True)
    own = {name: how.pop(name) for name in list(how) if name not in OF_PUBLISH}
    chosen = Unit(unit) if unit is not None else Unit.DOCUMENT if author is None else Unit.AUTHOR
    own |= {"epsilon": epsilon, "delta": delta, "unit": chosen, "max_periods": max_periods}
    plan = period_plan(subject, by, calendar=calendar, at=at, **own)
    read: dict[str, Any] = {"drop_missing": drop_missing, "author_is": tuple(author_is), "encoding": encoding}
    how |= {"ledger": ledger, "participation": participation, "columns": Columns(text=text, author=author, **read)}
    return publish_period(plan, subject, data, calendar=calendar, by=by, **how)


def period_plan(topics: Any, by: Sequence[Axis], *, calendar: Calendar, at: str, **settings: Any) -> Plan:
    """The plan for one period of a series; ``settings`` as for :meth:`Plan.counts`, ε and δ of the whole series."""
    table = table_of(subject_of(topics, series=True), by)
    periods, named = calendar.names, calendar.named(at)
    plan = Plan.counts(mechanism="periods", periods=periods, at=named, **table, **settings)
    plan.build()  # settings that are impossible end here, before a file is made
    return plan


def publish_period(
    plan: Plan,
    topics: Any,
    data: Any,
    *,
    calendar: Calendar,
    by: Sequence[Axis],
    columns: Columns,
    ledger: Ledger | str | Path | None,
    participation: str | Path | None = None,
    embedding: Any = None,
    **how: Any,
) -> Release[CountTable]:
    """Release one period as its plan says; ``how`` as for :func:`publish`."""
    if ledger is None:
        raise InputError("a series needs a ledger: it is charged once, and every period is noted there (--ledger).")
    if columns.session is not None:
        raise InputError("a series remembers authors on this machine: it is counted in memory. Leave --engine out.")
    subject = subject_of(topics, embedding, series=True)
    check_axes(by, columns.text, columns.author, subject)
    asked = asked_columns(by, columns, subject)
    if calendar.column is not None and calendar.column in asked:
        raise InputError("the column of dates must not be that of texts, authors or groups. Name another one.")
    place, assumptions = calendar.names.index(plan.settings["at"]), assumed(subject, by)

    def read(account: SeriesAccount, plan: Plan) -> BoundedCorpus:
        dated = [calendar.column] if calendar.column else []
        rows = read_columns(data, [*asked, *dated], encoding=columns.encoding, values=2 if columns.author else 1)
        if dated:
            rows = in_period(rows, len(asked), calendar.axis, place)
        admitted = account.admitted if plan.unit is Unit.AUTHOR else None
        corpus = told_corpus(rows, subject, by, columns, plan, assumptions=assumptions, admitted=admitted)
        return PeriodCorpus(corpus, account.earlier, account.sums)

    opened = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    file = None if participation is None else Path(participation)
    with account_of(opened, series_of(plan, columns.author, calendar.dates), file) as account:
        return publish(plan, lambda plan: read(account, plan), ledger=account, **how)


def series_of(plan: Plan, author: str | None, dates: str | None) -> Series:
    """The series that a plan of one period belongs to: a digest of everything public but the period.

    The columns of authors and of dates are part of it: by other names everybody would be new, and by other dates every
    document, and be counted again.
    """
    described = plan.to_dict()
    settings = dict(described["settings"])
    period, running = settings.pop("at"), bool(settings.get("running"))
    described |= {"settings": settings, "author": author}
    dated = described | {"dates": dates}
    return Series(
        name=_digest(dated | {"counted": "in each row"}),
        formerly=(_digest(described), _digest(dated)),
        period=period,
        place=settings["periods"].index(period),
        max_periods=settings["max_periods"],
        remembers=plan.unit is Unit.AUTHOR or running,
    )


def _digest(described: dict[str, Any]) -> str:
    return sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]
