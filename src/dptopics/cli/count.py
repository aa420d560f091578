"""Count how many people wrote about each topic, by group and time."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dptopics.cli import options as o
from dptopics.cli.axes import Axes, Series, numbers
from dptopics.cli.publishing import Releasing, stoppable
from dptopics.cli.settings import read_settings
from dptopics.cli.source import AnyTable, allow_tokenizer, named_tokenizer, say
from dptopics.core.errors import InputError

if TYPE_CHECKING:
    from dptopics.plan import Plan


class CountsRelease(Releasing):
    """A release of counts: they are proved."""

    left_out = frozenset({"accept_unproven"})


@dataclass(frozen=True, kw_only=True)
class Counted(o.Group):
    """What is counted of each person."""

    documents: int | None = o.option(
        "Count texts instead of people, at most so many of each author. Noise grows with it."
    )
    min_units: int = o.option("Leave out counts that are below this after the noise.", default=0)
    number: str | None = o.option("Column of numbers: their mean by topic or question and group, with intervals.")
    number_range: str | None = o.option("Its public bounds, as 1,5. Numbers are clipped to them.", "--range")

    @property
    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {"documents": self.documents, "min_units": self.min_units, "number": self.number}
        return found | ({} if self.number_range is None else {"number_range": numbers("--range", self.number_range)})


def count(
    release_folder: o.TopicsFolder,
    table: AnyTable,
    release: CountsRelease,
    axes: Axes,
    series: Series,
    counted: Counted,
    max_cells: int | None = o.option(
        "Rows of each table that a person counts in, kept by a hash. Noise grows with it.",
        shown="of up to 50 rows all; by groups, what a private look finds best; in a series 2",
    ),
    settings: o.Set = None,
    tokenizer: o.TokenizerName = None,
) -> None:
    """Count who wrote about each topic, by group and time, with 95 % intervals."""
    from dptopics.subjects import topics_of

    allow_tokenizer(tokenizer)
    own = {"max_cells": max_cells, **counted.settings}
    _counted(lambda: topics_of(release_folder), table, release, axes, series, settings, own)


def ask(
    table: AnyTable,
    release: CountsRelease,
    axes: Axes,
    series: Series,
    counted: Counted,
    questions: Path | None = o.option("File of questions (TOML).", beside_plan=True),
    mention: list[str] | None = o.option(
        "How many people mention it? Words or phrases, with commas between; insulin* for all words that begin so.",
        beside_plan=True,
    ),
    topics: Path | None = o.option("Release of the topics that questions are about.", beside_plan=True),
    embedding: str | None = o.option(
        "Model of texts, for questions about sentences and themes.", shown="minilm-words", beside_plan=True
    ),
    allow: list[str] | None = o.option(
        "A function that the questions name, module:function: run it.", beside_plan=True
    ),
    max_answers: int | None = o.option(
        "Questions that a person counts for, kept by a hash.", shown="of up to 50 all; else by a private look"
    ),
    settings: o.Set = None,
    tokenizer: o.TokenizerName = None,
) -> None:
    """Of how many people is it true? Yes-or-no questions about what people wrote, all at one price."""
    from dptopics.core.questions import Questions
    from dptopics.subjects import Asked, topics_of

    allow_tokenizer(tokenizer)
    said = [part for one in mention or [] for part in one.split(",") if part.strip()]
    if (questions is None) == (not said):
        raise InputError("say what to ask: --mention WORDS, or --questions FILE. In a file there is room for both.")
    table.check_public(questions)
    for name in allow or []:
        named_tokenizer(name)  # its module may lie in this folder
    listed = Questions.of(said if questions is None else questions)
    of = None if topics is None else topics_of(topics)
    asked = Asked(listed, of, embedding, allow or ())
    _counted(lambda: asked, table, release, axes, series, settings, {"max_cells": max_answers, **counted.settings})


def _counted(
    what: "Callable[[], Any]",
    table: AnyTable,
    release: CountsRelease,
    axes: Axes,
    series: Series,
    settings: list[str] | None,
    own: dict[str, Any],
) -> None:
    """Counts of topics or questions, of a table or of one period of a series."""
    from dptopics.counting import Columns, counts_plan, period_plan, publish_counts, publish_period

    calendar = series.calendar(axes)
    if calendar is not None and table.engine is o.EngineName.SPARK:
        raise InputError("a series remembers authors on this machine: it is counted in memory. Leave --engine out.")
    subject = what()
    by = axes.of_options(table, dated=calendar is None) if release.plan_file is None else []

    def made() -> "Plan":
        more = {**release.budget, "unit": table.unit(release.unit), **own}
        more |= read_settings(settings, "counts", "margins" if calendar is None else "periods")
        if calendar is None:
            return counts_plan(subject, by, **more)
        more |= {"max_periods": series.max_periods, "running": series.running or None}
        return period_plan(subject, by, calendar=calendar, at=series.at or "", **more)

    plan = release.plan(made)
    by = by if release.plan_file is None else axes.of_plan_in(plan)
    if release.previewed(plan):
        return
    read: dict[str, Any] = {"drop_missing": table.drop_missing, "author_is": tuple(table.author_is or ())}
    columns = Columns(text=table.text, author=table.author, session=table.session(), tell=say, **read)
    data = table.source if table.engine is o.EngineName.SPARK else table.data
    how: dict[str, Any] = {**release.named, "people": release.people, "out": release.folder}
    with stoppable() as phase:
        how |= {"by": by, "columns": columns, "phase": phase}
        if calendar is None:
            counted = publish_counts(plan, subject, data, **how)
        else:
            how["participation"] = series.participation
            counted = publish_period(plan, subject, data, calendar=calendar, **how)
    release.show(counted, "Every cell and margin is in counts.csv.")
