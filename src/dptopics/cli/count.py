"""Count how many authors fall into each topic, by group and time."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dptopics.cli import options as o
from dptopics.cli.publishing import plan_of, preview, show_release, stoppable
from dptopics.cli.source import Table, allow_tokenizer, say
from dptopics.cli.terminal import err
from dptopics.core.errors import InputError
from dptopics.public.word_lists import check_not_the_data

if TYPE_CHECKING:
    from dptopics.core.axes import Axis
    from dptopics.counting import Calendar
    from dptopics.plan import Plan

_SERIES = "Every week"


def count(
    context: typer.Context,
    release_folder: Annotated[Path, typer.Argument(help="Folder of a release of topics.", show_default=False)],
    text: o.TextColumnName,
    out_folder: o.OutUnlessPreview = None,
    source: o.AnySource = None,
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    author: o.AuthorColumn = None,
    by: o.By = None,
    groups: o.Groups = None,
    first: o.FirstDay = None,
    last: o.LastDay = None,
    date_format: o.DateFormat = None,
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
    plan_file: o.PlanFile = None,
    title: o.Title = "",
    description: o.Description = "",
    preview_only: o.Preview = False,
    people: o.People = None,
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
    engine: o.EngineOption = o.EngineName.MEMORY,
    master: o.Master = None,
    ledger: o.LedgerOption = None,
    as_json: o.Json = False,
) -> None:
    """Count authors by topic, group and time, with 95 % intervals."""
    from dptopics.counting import Columns, counts_plan, period_plan, publish_counts, publish_period, topics_of

    allow_tokenizer(tokenizer)
    table = Table.of(context)
    on_spark = table.engine is o.EngineName.SPARK
    if period is None and (at or max_periods != 1 or running or participation):
        raise InputError("--at, --max-periods, --running and --participation are for a series: --period week.")
    if period is not None and on_spark:
        raise InputError("a series remembers authors on this machine: it is counted in memory. Leave --engine out.")
    model = topics_of(release_folder)
    series = None if period is None else _calendar(period, at, first, last, date_format)
    if plan_file is None:
        days = (first, last) if series is None else (None, None)
        axes = axes_of_options(by or [], groups or [], source, *days, date_format)

    def made() -> "Plan":
        own: dict[str, Any] = {"epsilon": epsilon or 0.0, "delta": delta or 0.0, "unit": table.unit(unit)}
        own |= {"max_cells": max_cells, "documents": documents, "min_units": min_units}
        if series is None:
            return counts_plan(model, axes, **own)
        own |= {"max_periods": max_periods, "running": running or None}
        return period_plan(model, axes, calendar=series, at=at or "", **own)

    plan = plan_of(context, plan_file, made)
    if plan_file is not None:
        axes = _axes_of(plan, by or [], date_format)
    if preview_only:
        preview(plan, people, as_json)
        return
    folder = o.folder(out_folder)
    rows: dict[str, Any] = {"drop_missing": drop_missing, "author_is": tuple(author_is or ())}
    columns = Columns(text=text, author=author, session=table.session(), tell=say, **rows)
    data = source if on_spark else table.data
    how: dict[str, Any] = {"by": axes, "columns": columns, "out": folder, "ledger": ledger}
    how |= {"title": title, "description": description, "people": people}
    with stoppable() as phase:
        if series is None:
            release = publish_counts(plan, model, data, phase=phase, **how)
        else:
            how["participation"] = participation
            release = publish_period(plan, model, data, calendar=series, phase=phase, **how)
    show_release(release, folder, as_json)
    err.print(f"Written to [bold]{o.escape_path(folder)}[/]. Every cell and margin is in counts.csv.")


def groups(
    context: typer.Context,
    column: Annotated[str, typer.Option(help="Column whose values are groups.", show_default=False)],
    out_folder: o.Out,
    epsilon: Annotated[float, typer.Option(help="Privacy loss of this list.", show_default=False)],
    delta: Annotated[float, typer.Option(help="Chance of more loss: well below 1 / authors.", show_default=False)],
    source: o.Source = None,
    author: o.AuthorColumn = None,
    max_words: Annotated[int, typer.Option("--max-groups", help="Groups that each author may propose.")] = 10,
    unit: o.UnitOption = None,
    title: o.Title = "",
    description: o.Description = "",
    drop_missing: o.DropMissing = False,
    author_is: o.AuthorIs = None,
    encoding: o.Encoding = "utf8",
    separator: o.Separator = None,
    table_format: o.FormatOption = None,
    sheet: o.Sheet = None,
    header_row: o.HeaderRow = None,
    sql: o.Sql = None,
    database: o.Database = None,
    ledger: o.LedgerOption = None,
    as_json: o.Json = False,
) -> None:
    """Release the values of a column that many authors have, to count by where there is no public list."""
    from dptopics.counting import release_groups

    table = Table.of(context, text=column)
    with stoppable() as phase:
        release = release_groups(
            table.data,
            column=column,
            author=author,
            epsilon=epsilon,
            delta=delta,
            unit=table.unit(unit),
            max_words=max_words,
            drop_missing=drop_missing,
            author_is=author_is or (),
            tell=say,
            out=out_folder,
            ledger=ledger,
            title=title,
            description=description,
            phase=phase,
        )
    show_release(release, out_folder, as_json, many="groups")
    err.print(
        f"Written to [bold]{o.escape_path(out_folder)}[/]. "
        f"Count by it: --groups {escape(column)}={o.escape_path(out_folder)}"
    )


def axes_of_options(
    by: list[str],
    groups: list[str],
    source: str | None,
    first: str | None,
    last: str | None,
    date_format: str | None = None,
) -> "list[Axis]":
    """The axes that the options name. A list must have its column, a column its list."""
    from dptopics.core.axes import Axis
    from dptopics.core.periods import Period

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
    days: dict[str, Any] = {"first": first, "last": last, "date_format": date_format}
    return [Axis.periods(one, **days) if one in periods else _groups(one, lists[one]) for one in by]


def _calendar(period: str, at: str | None, first: str | None, last: str | None, date_format: str | None) -> "Calendar":
    """The periods of a series, and where dates are."""
    from dptopics.counting import Calendar

    if at is None:
        raise InputError("say which period to count: --at 2026-W07, or a day in it.")
    kind, _, column = period.partition(":")
    return Calendar(period=kind, first=first, last=last, column=column or None, date_format=date_format)


def _axes_of(plan: "Plan", by: list[str], date_format: str | None = None) -> "list[Axis]":
    """The axes of a plan: it says which values they have, ``--by`` in which columns they are."""
    from dptopics.core.axes import Axis
    from dptopics.core.periods import Period

    named = {kind if found else one: (kind, column) for one in by for kind, found, column in [one.partition(":")]}
    axes, days = [], [date.fromisoformat(day) for day in plan.settings.get("days", ())]
    for name, values in zip(plan.settings.get("axes", ())[1:], plan.settings.get("values", ())[1:], strict=True):
        if name not in named:
            raise InputError(f"the plan counts by {name!r}: say in which column that is (--by).")
        kind, column = named.pop(name)
        period = Period(kind) if column else None
        own: dict[str, Any] = {"first": days[0], "last": days[1]} if period is not None and days else {}
        own |= {} if period is None else {"date_format": date_format}
        axes.append(Axis(name=name, column=column or name, values=tuple(values), period=period, **own))
    if named:
        raise InputError("--by names a column that the plan does not count by.")
    return axes


def _groups(column: str, path: str) -> "Axis":
    """Public values of a column: lines of a file, or the words of a release (``release_groups``)."""
    from dptopics.core.axes import Axis
    from dptopics.core.vocabulary import Vocabulary
    from dptopics.release.bundle import load

    if Path(path).is_dir():
        return Axis.groups(column, load(path).value_of(Vocabulary).words)
    return Axis.from_file(column, path)
