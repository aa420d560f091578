"""Look before anything is charged: what was understood of a table, and what to expect of it."""

from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape

from dptopics.cli import options as o
from dptopics.cli.axes import Axes
from dptopics.cli.source import Language, MemoryTable, allow_tokenizer
from dptopics.cli.terminal import err, working
from dptopics.privacy.guarantee import Unit


@dataclass(frozen=True, kw_only=True)
class AnyColumns(MemoryTable):
    """A table whose columns may be unknown yet."""

    text: str = o.option("Column with the texts.", default="", shown="none: columns are listed", panel="")


def check(
    table: AnyColumns,
    axes: Axes,
    words: Language,
    release_folder: Path | None = o.option(
        "Folder of a release of topics, to be told of counts of these.", "--release"
    ),
    topics: str = o.option("Number of topics at most, or auto, as for fit.", default="20"),
    epsilon: float | None = o.option("Privacy loss of the release.", shown="1"),
    delta: float | None = o.option("Chance of more loss.", shown="1e-6"),
    unit: Unit | None = o.option("Whom to protect; default: author if --author is given."),
) -> None:
    """Tell the owner, before anything is charged, what was understood of a table and what to expect. Not for release.

    Free. Figures are exact: they go to standard error, and decide nothing.
    """
    from dptopics import checking

    allow_tokenizer(words.tokenizer)
    by = axes.of_options(table)
    with working("Reading texts"):
        found = checking.check(
            table.data,
            text=table.text or None,
            author=table.author,
            by=by,
            release=release_folder,
            epsilon=epsilon,
            delta=delta,
            n_topics=o.how_many(topics),
            unit=table.unit(unit) if table.text else None,
            settings=words.settings(table),
            drop_missing=table.drop_missing,
            author_is=table.author_is or (),
        )
    err.print(escape(str(found)), highlight=False, soft_wrap=True)
