"""Count how many authors fall into each topic, by group and time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dptopics.cli import options as o
from dptopics.cli.publishing import shown, stoppable
from dptopics.cli.source import Table
from dptopics.cli.terminal import err
from dptopics.errors import InputError
from dptopics.public.word_lists import check_not_the_data

if TYPE_CHECKING:
    from dptopics.public.axes import Axis
    from dptopics.release.release import Release

_SERIES = "Every week"


def count(
    release_folder: Annotated[Path, typer.Argument(help="Folder of a release of topics.", show_default=False)],
    source: o.Source,
    text: o.TextColumnName,
    out_folder: o.Out,
    epsilon: Annotated[float, typer.Option(help="Privacy loss of these counts.", show_default=False)],
    delta: Annotated[float, typer.Option(help="Chance of more loss: well below 1 / authors.", show_default=False)],
    author: o.AuthorColumn = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to count by, with a public list (--groups); or month:COLUMN, week:COLUMN, day:COLUMN for "
            "dates such as 2026-01-31, with a public range (--from, --to). Up to three.",
            show_default=False,
        ),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            help="Public list of a column's values, one on each line: FILE, or COLUMN=FILE; or the folder of a release "
            "by 'dptopics groups'. All others count as 'other'.",
            show_default=False,
        ),
    ] = None,
    first: Annotated[str | None, typer.Option("--from", help="First day of the range.", show_default=False)] = None,
    last: Annotated[str | None, typer.Option("--to", help="Last day of the range.", show_default=False)] = None,
    max_cells: Annotated[
        int, typer.Option(help="Cells that an author counts in, kept by a keyed hash. Noise grows with it.")
    ] = 1,
    documents: Annotated[
        int | None,
        typer.Option(
            help="Count documents instead of authors, at most so many of each author. Noise grows with it.",
            show_default=False,
        ),
    ] = None,
    min_units: Annotated[int, typer.Option(help="Leave out counts that are below this after the noise.")] = 0,
    period: Annotated[
        str | None,
        typer.Option(
            help="One run of a series: week, month or day of new data; or week:COLUMN, to count the rows whose date "
            "lies in it. The range of the series is public (--from, --to); it is charged once.",
            show_default=False,
            rich_help_panel=_SERIES,
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            help="The period to count: 2026-W07, or a day in it.", show_default=False, rich_help_panel=_SERIES
        ),
    ] = None,
    max_periods: Annotated[
        int,
        typer.Option(help="Periods that an author counts in, the first ones. Noise grows.", rich_help_panel=_SERIES),
    ] = 1,
    running: Annotated[
        bool, typer.Option("--running", help="Totals since the first period.", rich_help_panel=_SERIES)
    ] = False,
    participation: Annotated[
        Path | None,
        typer.Option(
            help="File that remembers who took part how often. Private data: keep it.",
            show_default="beside the ledger",
            rich_help_panel=_SERIES,
        ),
    ] = None,
    unit: o.UnitOption = None,
    title: o.Title = "",
    about: o.About = "",
    about_units: o.AboutUnits = None,
    drop_missing: o.DropMissing = False,
    encoding: o.Encoding = "utf8",
    ledger: o.LedgerOption = None,
    as_json: o.Json = False,
) -> None:
    """Count authors by topic, group and time, with 95 % intervals."""
    table = Table(source=source, text=text, author=author, drop_missing=drop_missing, encoding=encoding)
    how: dict[str, Any] = {"text": text, "author": author, "epsilon": epsilon, "delta": delta, "ledger": ledger}
    how |= {"max_cells": max_cells, "documents": documents, "min_units": min_units, "unit": table.unit(unit)}
    how |= {"drop_missing": drop_missing, "encoding": encoding, "title": title, "about": about}
    how |= {"about_units": about_units, "out": out_folder}
    if period is None and (at or max_periods != 1 or running or participation):
        raise InputError("--at, --max-periods, --running and --participation are for a series: --period week.")
    release: Release[Any]
    with stoppable() as phase:
        if period is None:
            from dptopics.counting import release_counts

            axes = _axes(by or [], groups or [], source, first, last)
            release = release_counts(release_folder, source, by=axes, phase=phase, **how)
        else:
            from dptopics.periods import Calendar, release_period

            kind, _, column = period.partition(":")
            if at is None:
                raise InputError("say which period to count: --at 2026-W07, or a day in it.")
            release = release_period(
                release_folder,
                source,
                by=_axes(by or [], groups or [], source, None, None),
                calendar=Calendar(period=kind, first=first, last=last, column=column or None),
                at=at,
                max_periods=max_periods,
                participation=participation,
                running=running or None,
                phase=phase,
                **how,
            )
    shown(release, out_folder, as_json)
    err.print(f"Written to [bold]{o.shown(out_folder)}[/]. Every cell and margin is in counts.csv.")


def groups(
    source: o.Source,
    column: Annotated[str, typer.Option(help="Column whose values are groups.", show_default=False)],
    out_folder: o.Out,
    epsilon: Annotated[float, typer.Option(help="Privacy loss of this list.", show_default=False)],
    delta: Annotated[float, typer.Option(help="Chance of more loss: well below 1 / authors.", show_default=False)],
    author: o.AuthorColumn = None,
    max_words: Annotated[int, typer.Option("--max-groups", help="Groups that each author may propose.")] = 10,
    unit: o.UnitOption = None,
    title: o.Title = "",
    about: o.About = "",
    drop_missing: o.DropMissing = False,
    encoding: o.Encoding = "utf8",
    ledger: o.LedgerOption = None,
    as_json: o.Json = False,
) -> None:
    """Release the values of a column that many authors have, to count by where there is no public list."""
    from dptopics.counting import release_groups

    table = Table(source=source, text=column, author=author, drop_missing=drop_missing, encoding=encoding)
    with stoppable() as phase:
        release = release_groups(
            source,
            column=column,
            author=author,
            epsilon=epsilon,
            delta=delta,
            unit=table.unit(unit),
            max_words=max_words,
            drop_missing=drop_missing,
            encoding=encoding,
            out=out_folder,
            ledger=ledger,
            title=title,
            about=about,
            phase=phase,
        )
    shown(release, out_folder, as_json)
    err.print(
        f"Written to [bold]{o.shown(out_folder)}[/]. Count by it: --groups {escape(column)}={o.shown(out_folder)}"
    )


def _axes(by: list[str], groups: list[str], source: Path, first: str | None, last: str | None) -> "list[Axis]":
    """The axes that the options name. A list must have its column, a column its list."""
    from dptopics.public.axes import Axis, Period

    periods = {one for one in by if one.partition(":")[0] in list(Period) and ":" in one}
    columns = [one for one in by if one not in periods]
    lists: dict[str, str] = {}
    for one in groups:
        column, named, path = one.partition("=")
        if named and column in columns:
            lists[column] = path
        elif len(columns) == 1 and len(groups) == 1:
            lists[columns[0]] = one
        else:
            raise InputError("say which column a public list is of: --groups COLUMN=FILE, with --by COLUMN.")
    if missing := [column for column in columns if column not in lists]:
        raise InputError(
            f"--by {missing[0]} needs the list of its values that are public: --groups {missing[0]}=FILE. Values that "
            "are taken from the data may be those of single persons: release them first (dptopics groups)."
        )
    for path in lists.values():
        check_not_the_data(path, source)
    return [
        Axis.periods(one, first=first, last=last) if one in periods else Axis.from_file(one, lists[one]) for one in by
    ]
