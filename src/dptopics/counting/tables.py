"""Counts of released topics by group and time, and the groups to count by: the door for both, in Python.

Topics are frozen: they come from a release. Each of the two is a release of its own, planned, charged and saved by
:func:`dptopics.publishing.publish`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from dptopics.core.axes import TOPIC, Axis, cell_names
from dptopics.core.errors import InputError, renamed_arguments
from dptopics.core.questions import Questions
from dptopics.core.vocabulary import Vocabulary
from dptopics.counting.subjects import Asked, TopicsOf, assumed, subject_of, topics_of
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.cells import arrow_cells, corpus_of_cells, corpus_of_values
from dptopics.data.corpus import Corpus
from dptopics.data.engines.spark import SparkTable
from dptopics.data.readers.files import read_columns
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Unit
from dptopics.publishing import OF_PUBLISH, forecast, publish, reader, warn_owner
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel


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
    counted, at most five of each author.

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
    """Where texts and authors are in a table, and how it is read; with a ``session``, on Spark.

    ``tell`` is called with what was read, and with what to expect of it: the owner's eyes only.
    """

    text: str
    author: str | None = None
    drop_missing: bool = False
    author_is: tuple[str, ...] = ()
    encoding: str = "utf8"
    session: Any = None
    tell: Callable[[str], None] | None = None


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
        if columns.session is not None:
            if isinstance(subject, Asked) and plan.unit is Unit.DOCUMENT:
                raise InputError("on Spark, questions are about authors. Name their column (--author).")
            table = spark_cells(data, asked, subject, by, columns, assumptions)
            warn_owner(table, plan)
            return table.bounded(unit=plan.unit, max_docs=plan.max_docs)
        rows = read_columns(data, asked, encoding=columns.encoding, values=2 if columns.author else 1)
        return told_corpus(rows, subject, by, columns, plan, assumptions=assumptions)

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
    subject.tell()
    if columns.tell is not None:
        for line in filter(None, (corpus.account(), forecast(corpus, plan))):
            columns.tell(line)
    return reader(corpus)(plan)


_OF_TOPICS = ("axes", "values", "model", "days", "rules", "facts", "asked")


def _plain(value: Any) -> Any:
    """Lists of a plan that was read from a file are tuples in one that was made here."""
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def spark_cells(
    data: Any,
    asked: list[str],
    subject: TopicsOf | Asked,
    by: Sequence[Axis],
    columns: Columns,
    assumptions: tuple[str, ...] = (),
) -> SparkTable:
    """The cells of a table on Spark: topics and places are told on executors, text by text, as in memory."""
    cells, authors = subject.cells, columns.author is not None
    return SparkTable.of_cells(
        data,
        asked,
        partial(arrow_cells, topics=subject, n_topics=cells, axes=tuple(by), with_authors=authors),
        vocabulary=cell_names(prod((cells, *(len(axis.values) for axis in by)))),
        author=columns.author,
        drop_missing=columns.drop_missing,
        author_is=columns.author_is,
        session=columns.session,
        assumptions=assumptions,
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
    """Release the values of a column that many authors have, to count by: ``dptopics groups`` in Python.

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
        return reader(corpus)(plan)

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
