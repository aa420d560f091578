"""Look before anything is charged: what was understood of a table, and what to expect of it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dptopics.cli import options as o
from dptopics.cli.count import axes_of_options
from dptopics.cli.source import Table, allow_tokenizer, named_tokenizer
from dptopics.cli.terminal import err, progress_bar
from dptopics.core.text import TextSettings


def check(
    context: typer.Context,
    source: o.Source = None,
    text: Annotated[
        str | None, typer.Option("--text", help="Column with the texts.", show_default="none: columns are listed")
    ] = None,
    author: o.AuthorColumn = None,
    by: o.By = None,
    groups: o.Groups = None,
    first: o.FirstDay = None,
    last: o.LastDay = None,
    date_format: o.DateFormat = None,
    release_folder: Annotated[
        Path | None,
        typer.Option(
            "--release", help="Folder of a release of topics, to be told of counts of these.", show_default=False
        ),
    ] = None,
    topics: Annotated[str, typer.Option(help="Number of topics at most, or auto, as for fit.")] = "20",
    epsilon: Annotated[float | None, typer.Option(help="Privacy loss of the release.", show_default="1")] = None,
    delta: Annotated[float | None, typer.Option(help="Chance of more loss.", show_default="1e-6")] = None,
    unit: o.UnitOption = None,
    language: o.Language = "english",
    tokenizer: o.TokenizerName = None,
    drop_missing: o.DropMissing = False,
    author_is: o.AuthorIs = None,
    encoding: o.Encoding = "utf8",
    separator: o.Separator = None,
    table_format: o.FormatOption = None,
    sheet: o.Sheet = None,
    header_row: o.HeaderRow = None,
    sql: o.Sql = None,
    database: o.Database = None,
) -> None:
    """Tell the owner, before anything is charged, what was understood of a table and what to expect. Not for release.

    Free. Figures are exact: they go to standard error, and decide nothing.
    """
    from dptopics import checking
    from dptopics.core import progress

    allow_tokenizer(tokenizer)
    table = Table.of(context, text=text or "")
    axes = axes_of_options(by or [], groups or [], source, first, last, date_format)
    with progress_bar("Reading texts") as sink, progress.shown_by(sink):
        found = checking.check(
            table.data,
            text=text,
            author=author,
            by=axes,
            release=release_folder,
            epsilon=epsilon,
            delta=delta,
            n_topics=o.how_many(topics),
            unit=None if text is None else table.unit(unit),
            settings=TextSettings(language=language, tokenizer=named_tokenizer(tokenizer)),
            drop_missing=drop_missing,
            author_is=author_is or (),
        )
    err.print(escape(str(found)), highlight=False, soft_wrap=True)
