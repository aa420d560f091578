"""Counts of released topics by group and time, and the groups to count by: the door for both, in Python.

Topics are frozen: they come from a release. Each of the two is a release of its own, planned, charged and saved by
:func:`dptopics.door.publish`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.data.bounded import BoundedCorpus
from dptopics.data.cells import Topics, arrow_cells, corpus_of_cells, corpus_of_values
from dptopics.data.corpus import Corpus
from dptopics.data.engines.spark import SparkTable
from dptopics.data.tables import read_columns
from dptopics.door import OF_PUBLISH, forecast, publish, reader, warn_owner
from dptopics.errors import InputError
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Unit
from dptopics.public.axes import NO_TOPIC, TOPIC, Axis, cell_words
from dptopics.public.embeddings import embedding as text_model
from dptopics.public.text_models import check_repeatable
from dptopics.release import bundle
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel, fingerprint
from dptopics.release.vocabulary import Vocabulary

OWN_MODEL = (
    "The model that places texts among the topics, {}, gives each text a vector by that text alone: it remembers no "
    "other, and learned from none of this data."
)


def release_counts(
    topics: Release[TopicModel] | TopicModel | str | Path,
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
    """Release how many authors (or documents) fall into topic × group × period: ``dptopics count`` in Python.

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
    model = topics_of(topics)
    own = {name: how.pop(name) for name in list(how) if name not in OF_PUBLISH}
    chosen = Unit(unit) if unit is not None else Unit.DOCUMENT if author is None else Unit.AUTHOR
    plan = counts_plan(model, by, epsilon=epsilon, delta=delta, unit=chosen, **own)
    read: dict[str, Any] = {"drop_missing": drop_missing, "author_is": tuple(author_is), "encoding": encoding}
    columns = Columns(text=text, author=author, tell=tell, **read)
    return publish_counts(plan, model, data, by=by, columns=columns, embedding=embedding, **how)


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


def counts_plan(model: TopicModel, by: Sequence[Axis], **settings: Any) -> Plan:
    """The plan for counts of these topics by these axes; ``settings`` as for :meth:`Plan.counts`."""
    values = ((*map(str, range(model.n_topics)), NO_TOPIC), *(axis.values for axis in by))
    named = fingerprint(model.topic_word, model.vocabulary.words)
    ranges = {(axis.first, axis.last) for axis in by if axis.first is not None and axis.last is not None}
    if len(ranges) > 1:
        raise InputError("all periods of a table must have one range of days.")
    settings["days"] = tuple(day.isoformat() for day in ranges.pop()) if ranges else None
    return Plan.counts(axes=(TOPIC, *(axis.name for axis in by)), values=values, model=named, **settings)


def publish_counts(
    plan: Plan,
    topics: Release[TopicModel] | TopicModel | str | Path,
    data: Any,
    *,
    by: Sequence[Axis],
    columns: Columns,
    embedding: Any = None,
    **how: Any,
) -> Release[CountTable]:
    """Release counts as a plan says, of the topics that it was made for; ``how`` as for :func:`publish`."""
    model = topics_of(topics)
    check_axes(by, columns.text, columns.author)
    fits = counts_plan(model, by, epsilon=plan.epsilon, delta=plan.delta, unit=plan.unit)
    told = [(one.job, one.mechanism, *(_plain(one.settings.get(name)) for name in _OF_TOPICS)) for one in (plan, fits)]
    if told[0] != told[1]:
        raise InputError("this plan is not one for counts of these topics by these columns. Check --plan and --by.")
    assumptions = assumed(model, by, embedding)
    topic = partial(_main_topics, model, embedding)

    def read(plan: Plan) -> BoundedCorpus:
        asked = [columns.text, *([columns.author] if columns.author else [])]
        asked += [axis.column for axis in by if axis.of_text is None]
        if columns.session is not None:
            table = spark_cells(data, asked, topic, model.n_topics + 1, by, columns, assumptions)
            warn_owner(table, plan)
            return table.bounded(unit=plan.unit, max_docs=plan.max_docs)
        corpus = corpus_of_cells(
            read_columns(data, asked, encoding=columns.encoding, values=2 if columns.author else 1),
            topic,
            model.n_topics + 1,
            by,
            author=columns.author,
            drop_missing=columns.drop_missing,
            author_is=columns.author_is,
            assumptions=assumptions,
        )
        if columns.tell is not None:
            for line in filter(None, (corpus.account(), forecast(corpus, plan))):
                columns.tell(line)
        return reader(corpus)(plan)

    return publish(plan, read, **how)


def assumed(model: TopicModel, by: Sequence[Axis], embedding: Any) -> tuple[str, ...]:
    """What a count by these topics and axes rests on: code that is not ours, each by its name.

    A model that is not installed is missed now, and one that remembers is refused.
    """
    model.transform(["word"], embedding=embedding)
    own: tuple[str, ...] = ()
    if model.space is not None and not model.space.of_words:
        used = text_model(model.space.embedding if embedding is None else embedding)
        check_repeatable(used)
        own = (OWN_MODEL.format(used.name),)
    return (*model.assumptions, *own, *(line for axis in by for line in axis.assumptions))


_OF_TOPICS = ("axes", "values", "model", "days")


def _plain(value: Any) -> Any:
    """Lists of a plan that was read from a file are tuples in one that was made here."""
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _main_topics(model: TopicModel, embedding: Any, texts: list[str]) -> NDArray[np.int64]:
    """By name, so that it can be sent to executors."""
    topic = model.assign(texts, embedding=embedding)
    return np.where(topic < 0, model.n_topics, topic)


def spark_cells(
    data: Any,
    asked: list[str],
    topics: Topics,
    n_topics: int,
    by: Sequence[Axis],
    columns: Columns,
    assumptions: tuple[str, ...] = (),
) -> SparkTable:
    """The cells of a table on Spark: topics and places are told on executors, text by text, as in memory."""
    return SparkTable.of_cells(
        data,
        asked,
        partial(arrow_cells, topics=topics, n_topics=n_topics, axes=tuple(by), with_authors=columns.author is not None),
        vocabulary=cell_words(prod((n_topics, *(len(axis.values) for axis in by)))),
        author=columns.author,
        drop_missing=columns.drop_missing,
        author_is=columns.author_is,
        session=columns.session,
        assumptions=assumptions,
    )


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


def check_axes(by: Sequence[Axis], text: str, author: str | None) -> None:
    """Refuse axes that would publish texts or authors, or that have the name of another."""
    if {text, author} & {axis.column for axis in by if axis.of_text is None}:
        raise InputError("counts by the column of texts or authors would publish them one by one. Name another column.")
    if TOPIC in [axis.name for axis in by]:
        raise InputError(f"the axis {TOPIC!r} is always there. Rename the column, or leave it out of by.")


def topics_of(topics: Release[TopicModel] | TopicModel | str | Path) -> TopicModel:
    """The topics of a release, or of its folder."""
    if isinstance(topics, TopicModel):
        return topics
    return (topics if isinstance(topics, Release) else bundle.load(topics)).value_of(TopicModel)
