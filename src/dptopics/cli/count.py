"""Count how many authors fall into each topic, by group and time."""

from typing import TYPE_CHECKING, Any

from dptopics.cli import options as o
from dptopics.cli.axes import Axes, Series
from dptopics.cli.publishing import Releasing, stoppable
from dptopics.cli.settings import read_settings
from dptopics.cli.source import AnyTable, allow_tokenizer, say
from dptopics.core.errors import InputError

if TYPE_CHECKING:
    from dptopics.plan import Plan


class CountsRelease(Releasing):
    """A release of counts: they are proved."""

    left_out = frozenset({"accept_unproven"})


def count(
    release_folder: o.TopicsFolder,
    table: AnyTable,
    release: CountsRelease,
    axes: Axes,
    series: Series,
    max_cells: int = o.option("Cells that an author counts in, kept by a keyed hash. Noise grows with it.", default=1),
    documents: int | None = o.option(
        "Count documents instead of authors, at most so many of each author. Noise grows with it."
    ),
    min_units: int = o.option("Leave out counts that are below this after the noise.", default=0),
    settings: o.Set = None,
    tokenizer: o.TokenizerName = None,
) -> None:
    """Count authors by topic, group and time, with 95 % intervals."""
    from dptopics.counting import Columns, counts_plan, period_plan, publish_counts, publish_period, topics_of

    allow_tokenizer(tokenizer)
    calendar = series.calendar(axes)
    if calendar is not None and table.engine is o.EngineName.SPARK:
        raise InputError("a series remembers authors on this machine: it is counted in memory. Leave --engine out.")
    model = topics_of(release_folder)
    by = axes.of_options(table, dated=calendar is None) if release.plan_file is None else []

    def made() -> "Plan":
        own: dict[str, Any] = {**release.budget, "unit": table.unit(release.unit), "max_cells": max_cells}
        own |= {"documents": documents, "min_units": min_units}
        own |= read_settings(settings, "counts", "margins" if calendar is None else "periods")
        if calendar is None:
            return counts_plan(model, by, **own)
        own |= {"max_periods": series.max_periods, "running": series.running or None}
        return period_plan(model, by, calendar=calendar, at=series.at or "", **own)

    plan = release.plan(made)
    by = by if release.plan_file is None else axes.of_plan_in(plan)
    if release.previewed(plan):
        return
    columns = Columns(
        text=table.text,
        author=table.author,
        drop_missing=table.drop_missing,
        author_is=tuple(table.author_is or ()),
        session=table.session(),
        tell=say,
    )
    data = table.source if table.engine is o.EngineName.SPARK else table.data
    how: dict[str, Any] = {**release.named, "people": release.people, "out": release.folder}
    with stoppable() as phase:
        how |= {"by": by, "columns": columns, "phase": phase}
        if calendar is None:
            counted = publish_counts(plan, model, data, **how)
        else:
            how["participation"] = series.participation
            counted = publish_period(plan, model, data, calendar=calendar, **how)
    release.show(counted, "Every cell and margin is in counts.csv.")
