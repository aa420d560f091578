"""Counts of released topics by group and time, and the groups to count by: the door for both, in Python.

Topics are frozen: they come from a release. Each of the two is a release of its own, planned, charged and saved by
:func:`dptopics.door.publish`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dptopics.data.bounded import BoundedCorpus
from dptopics.data.cells import corpus_of_cells, corpus_of_values, main_topic
from dptopics.data.tables import read_columns
from dptopics.door import OF_PUBLISH, publish, reader
from dptopics.errors import InputError
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Unit
from dptopics.public.axes import NO_TOPIC, TOPIC, Axis
from dptopics.release import bundle
from dptopics.release.counts import CountTable
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel, fingerprint
from dptopics.release.vocabulary import Vocabulary


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
    encoding: str = "utf8",
    **how: Any,
) -> Release[CountTable]:
    """Release how many authors (or documents) fall into topic × group × period: ``dptopics count`` in Python.

    ``topics`` is a release of topics, the folder of one, or its value; ``data`` a table as for ``Corpus.from_table``,
    with the columns ``text`` and ``author`` and those that the axes in ``by`` name. ``embedding`` is the model of the
    topics, if it is not built in. ``how`` are settings of the mechanism (max_cells, min_units) and of :func:`publish`.

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
    names, columns = [axis.name for axis in by], [axis.column for axis in by if axis.of_text is None]
    check_axes(by, text, author)
    model.transform(["word"], embedding=embedding)  # a model that is not installed is missed before anything is charged
    own = {name: how.pop(name) for name in list(how) if name not in OF_PUBLISH}
    values = ((*map(str, range(model.n_topics)), NO_TOPIC), *(axis.values for axis in by))
    chosen = Unit(unit) if unit is not None else Unit.DOCUMENT if author is None else Unit.AUTHOR
    named = fingerprint(model.topic_word, model.vocabulary.words)
    plan = Plan.counts(
        epsilon=epsilon, delta=delta, unit=chosen, axes=(TOPIC, *names), values=values, model=named, **own
    )

    def read(plan: Plan) -> BoundedCorpus:
        asked = [text, *([author] if author else []), *columns]
        corpus = corpus_of_cells(
            read_columns(data, asked, encoding=encoding, values=2 if author else 1),
            lambda texts: main_topic(model.transform(texts, embedding=embedding)),
            model.n_topics + 1,
            by,
            with_authors=author is not None,
            drop_missing=drop_missing,
        )
        return reader(corpus)(plan)

    return publish(plan, read, **how)


def release_groups(
    data: Any,
    *,
    column: str,
    author: str | None = None,
    epsilon: float,
    delta: float,
    unit: Unit | str | None = None,
    drop_missing: bool = False,
    encoding: str = "utf8",
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
        return reader(corpus_of_values(rows, with_authors=author is not None, drop_missing=drop_missing))(plan)

    return publish(plan, read, **how)


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
