"""Counts of topics and answers to questions, by group and time, and the groups to count by: the doors, in Python.

Topics are frozen: they come from a release. What is counted is a release of its own, planned, charged and saved by
:func:`dptopics.publishing.publish`; the periods of a series are charged once.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from dptopics.core.axes import OTHER, TOPIC, Axis, cell_names
from dptopics.core.errors import InputError, renamed_arguments
from dptopics.core.periods import Period
from dptopics.core.questions import Questions
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus, PeriodCorpus
from dptopics.data.cells import arrow_cells, corpus_of_cells, corpus_of_values, in_period
from dptopics.data.corpus import Corpus
from dptopics.data.engines.spark import SparkTable
from dptopics.data.readers.files import read_columns
from dptopics.ledger.ledger import Ledger
from dptopics.ledger.series import Series, SeriesAccount, account_of
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Unit
from dptopics.publishing import OF_PUBLISH, as_planned, forecast, publish
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel
from dptopics.subjects import Asked, TopicsOf, assumed, subject_of, topics_of


@renamed_arguments(about="description", about_units="people")
def release_counts(
    topics: Release[TopicModel] | TopicModel | TopicsOf | Asked | str | Path,
    data: Any,
    *,
    by: Sequence[Axis],
    text: str,
    author: str | None = None,
    epsilon: float,
    delta: float,
    unit: Unit | str | None = None,
    embedding: Any = None,
    drop_missing: bool = False,
    author_is: Sequence[str] = (),
    encoding: str = "utf8",
    tell: Callable[[str], None] | None = None,
    **how: Any,
) -> Release[CountTable]:
    """Release how many people wrote about each topic, by group and period: ``dptopics count`` in Python.

    A person counts once in each row that is theirs, whatever they wrote elsewhere. With ``documents=5``, texts are
    counted, at most five of each author. ``number="rating", number_range=(1, 5)`` adds the mean of a column of numbers.

    ``topics`` is a release of topics, the folder of one, or its value; ``data`` a table as for ``Corpus.from_table``,
    with the columns ``text`` and ``author`` and those that the axes in ``by`` name. ``embedding`` is the model of the
    topics, if it is not built in. ``drop_missing`` leaves out rows without text or author; placeholders such as
    "unknown" are no authors, but for those that ``author_is`` lists. ``tell`` is called with what was read
    and what to expect: the owner's eyes only. ``how`` are settings of the mechanism (max_cells, min_units) and of
    :func:`publish`.

    >>> import numpy as np, pyarrow as pa
    >>> model = TopicModel(
    ...     topic_word=np.array([[0.9, 0.1], [0.1, 0.9]]), topic_share=np.array([0.5, 0.5]),
    ...     vocabulary=Vocabulary.of(["asthma", "skin"]), alpha=0.1)
    >>> data = pa.table({"note": ["asthma", "skin"] * 500, "patient": range(1000), "ward": ["north", "south"] * 500})
    >>> release = release_counts(model, data, by=[Axis.groups("ward", ["north", "south"])], text="note",
    ...     author="patient", epsilon=1.0, delta=1e-6)
    >>> 400 < release.value.count(topic="0", ward="north").value < 600
    True
    """
    subject = subject_of(topics, embedding)
    own = {name: how.pop(name) for name in list(how) if name not in OF_PUBLISH}
    chosen = Unit(unit) if unit is not None else Unit.DOCUMENT if author is None else Unit.AUTHOR
    plan = counts_plan(subject, by, epsilon=epsilon, delta=delta, unit=chosen, **own)
    read: dict[str, Any] = {"drop_missing": drop_missing, "author_is": tuple(author_is), "encoding": encoding}
    columns = Columns(text=text, author=author, tell=tell, **read)
    return publish_counts(plan, subject, data, by=by, columns=columns, **how)


def ask(
    data: Any,
    questions: Any,
    *,
    by: Sequence[Axis] = (),
    topics: Release[TopicModel] | TopicModel | str | Path | None = None,
    embedding: Any = None,
    allow: Sequence[str] = (),
    **how: Any,
) -> Release[CountTable]:
    """Release of how many people each question is true: ``dptopics ask`` in Python.

    ``questions`` are words or phrases, one question each; a TOML file; or a table of questions as in such a file
    (docs/howto/ask.md). What is true of one text is true of its author. ``topics``: the release that questions about
    topics mean; ``embedding``: the model for sentences and themes; ``allow``: functions, as module:function, that the
    questions may name. Other arguments as for :func:`release_counts`.

    >>> import pyarrow as pa
    >>> data = pa.table({"note": ["my insulin pump", "insulin", "a knee"] * 300, "patient": range(900)})
    >>> release = ask(data, {"insulin": {"mention": "insulin"}, "pump": {"mention": "pump"},
    ...     "no_pump": {"formula": "insulin and not pump"}}, text="note", author="patient", epsilon=1.0, delta=1e-6)
    >>> [round(release.value.count(question=name).value, -2) for name in release.value.values[0]]
    [600.0, 300.0, 300.0]
    """
    listed = questions if isinstance(questions, Questions) else Questions.of(questions)
    of = None if topics is None else topics_of(topics)
    return release_counts(Asked(listed, of, embedding, allow), data, by=by, **how)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where texts and authors are in a table, and how it is read; with a ``session``, on Spark."""

    text: str
    author: str | None = None
    drop_missing: bool = False
    author_is: tuple[str, ...] = ()
    encoding: str = "utf8"
    session: Any = None
    tell: Callable[[str], None] | None = None  # called with what was read and what to expect: the owner's eyes only


def counts_plan(topics: Any, by: Sequence[Axis], **settings: Any) -> Plan:
    """The plan for counts of these topics or questions by these axes; ``settings`` as for :meth:`Plan.counts`."""
    subject = subject_of(topics)
    ranges = {(axis.first, axis.last) for axis in by if axis.first is not None and axis.last is not None}
    if len(ranges) > 1:
        raise InputError("all periods of a table must have one range of days.")
    settings["days"] = tuple(day.isoformat() for day in ranges.pop()) if ranges else None
    return Plan.counts(**table_of(subject, by), **settings)


def table_of(subject: TopicsOf | Asked, by: Sequence[Axis]) -> dict[str, Any]:
    """The axes of a table and their values, and what the first is about."""
    axes, values = [subject.axis, *(axis.name for axis in by)], [subject.values, *(axis.values for axis in by)]
    return {"axes": tuple(axes), "values": tuple(values), **subject.settings}


def publish_counts(
    plan: Plan, topics: Any, data: Any, *, by: Sequence[Axis], columns: Columns, embedding: Any = None, **how: Any
) -> Release[CountTable]:
    """Release counts as a plan says, of the topics or questions that it was made for; ``how`` as for ``publish``."""
    subject = subject_of(topics, embedding)
    check_axes(by, columns.text, columns.author, subject)
    fits = counts_plan(subject, by, epsilon=plan.epsilon, delta=plan.delta, unit=plan.unit)
    told = [(one.job, one.mechanism, *(_plain(one.settings.get(name)) for name in _OF_TOPICS)) for one in (plan, fits)]
    if told[0] != told[1]:
        raise InputError("this plan is not one for counts of these topics by these columns. Check --plan and --by.")
    assumptions = assumed(subject, by)

    def read(plan: Plan) -> BoundedCorpus:
        asked = asked_columns(by, columns, subject)
        numbers, ends = plan.settings.get("number"), plan.settings.get("number_range", ())
        asked += [numbers] if numbers else []
        if columns.session is not None:
            return as_planned(spark_cells(data, asked, subject, by, columns, ends, assumptions=assumptions), plan)
        rows = read_columns(data, asked, encoding=columns.encoding, values=2 if columns.author else 1)
        return told_corpus(rows, subject, by, columns, plan, assumptions=assumptions, number_range=ends)

    return publish(plan, read, **how)


def asked_columns(by: Sequence[Axis], columns: Columns, subject: TopicsOf | Asked) -> list[str]:
    """The columns that are read: texts, authors, axes, and what questions are about."""
    author = [columns.author] if columns.author else []
    return [columns.text, *author, *(axis.column for axis in by if axis.of_text is None), *subject.columns]


def told_corpus(
    rows: Any, subject: TopicsOf | Asked, by: Sequence[Axis], columns: Columns, plan: Plan, **how: Any
) -> BoundedCorpus:
    """The table in memory, bounded as a plan says; its owner is told what was read."""
    read: dict[str, Any] = {"author": columns.author, "drop_missing": columns.drop_missing}
    corpus = corpus_of_cells(rows, subject, subject.cells, by, author_is=columns.author_is, **read, **how)
    if isinstance(subject, Asked):
        subject.tell()
    if columns.tell is not None:
        for line in filter(None, (corpus.account(), forecast(corpus, plan))):
            columns.tell(line)
    return as_planned(corpus, plan)


_OF_TOPICS = ("axes", "values", "model", "days", "rules", "facts", "asked")


def _plain(value: Any) -> Any:
    """Lists of a plan that was read from a file are tuples in one that was made here."""
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def spark_cells(
    data: Any, asked: list[str], subject: TopicsOf | Asked, by: Sequence[Axis], columns: Columns, ends: Any, **how: Any
) -> SparkTable:
    """The cells of a table on Spark: topics and places are told on executors, text by text, as in memory."""
    cells, authors = subject.cells, columns.author is not None
    return SparkTable.of_cells(
        data,
        asked,
        partial(arrow_cells, topics=subject, n_topics=cells, axes=tuple(by), with_authors=authors, ends=ends),
        vocabulary=cell_names(prod((cells, *(len(axis.values) for axis in by)))),
        author=columns.author,
        drop_missing=columns.drop_missing,
        author_is=columns.author_is,
        session=columns.session,
        with_numbers=bool(ends),
        **how,
    )


@renamed_arguments(about="description", about_units="people")
def release_groups(
    data: Any,
    *,
    column: str,
    author: str | None = None,
    epsilon: float,
    delta: float,
    unit: Unit | str | None = None,
    drop_missing: bool = False,
    author_is: Sequence[str] = (),
    encoding: str = "utf8",
    tell: Callable[[str], None] | None = None,
    **how: Any,
) -> Release[Vocabulary]:
    """Release the values of a column that many authors have, to count by: ``dptopics vocabulary --column`` in Python.

    For a column without a public list. ``how`` are settings of :meth:`Plan.words <dptopics.plan.Plan.words>` and of
    :func:`publish`.

    >>> import pyarrow as pa
    >>> data = pa.table({"patient": range(900), "ward": ["north", "south"] * 449 + ["mine", "mine too"]})
    >>> release_groups(data, column="ward", author="patient", epsilon=1.0, delta=1e-6).value.words
    ('north', 'south')
    """
    if column == author:
        raise InputError("the groups of a column of authors would be single authors. Name another column.")
    own = {name: how.pop(name) for name in list(how) if name not in OF_PUBLISH}
    chosen = Unit(unit) if unit is not None else Unit.DOCUMENT if author is None else Unit.AUTHOR
    plan = Plan.words(epsilon=epsilon, delta=delta, unit=chosen, **{"max_words": 10, **own})

    def read(plan: Plan) -> BoundedCorpus:
        rows = read_columns(data, [column, *([author] if author else [])], encoding=encoding, values=0)
        corpus = corpus_of_values(rows, author=author, drop_missing=drop_missing, author_is=author_is)
        if tell is not None:
            tell(_account_of_values(corpus))
        return as_planned(corpus, plan)

    return publish(plan, read, **how)


def _account_of_values(corpus: Corpus) -> str:
    """What was read of a column, in one sentence. Private: for the owner's eyes."""
    of = "" if corpus.n_authors is None else f" of {corpus.n_authors:,} authors"
    empty = int(np.count_nonzero(np.diff(corpus.doc_start) == 0))
    missing = f"; {empty:,} of them have no value in this column" if empty else ""
    return f"Read {corpus.n_documents:,} rows{of}{missing}."


def check_axes(by: Sequence[Axis], text: str, author: str | None, subject: TopicsOf | Asked | None = None) -> None:
    """Refuse axes that would publish texts or authors, or that have the name of another."""
    own, named = () if subject is None else subject.columns, TOPIC if subject is None else subject.axis
    if {text, author} & {*(axis.column for axis in by if axis.of_text is None), *own}:
        raise InputError("counts by the column of texts or authors would publish them one by one. Name another column.")
    if named in [axis.name for axis in by]:
        raise InputError(f"the axis {named!r} is always there. Rename the column, or leave it out of by.")


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
