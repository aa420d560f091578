"""Release the words that many units use."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from dptopics.cli import options as o
from dptopics.cli.publishing import plan_of, preview, published
from dptopics.cli.source import Table, named_tokenizer
from dptopics.cli.terminal import err
from dptopics.core.text import TextSettings
from dptopics.public.word_lists import check_not_the_data, read_stop_words

if TYPE_CHECKING:
    from dptopics.plan import Plan


def vocabulary(
    context: typer.Context,
    text: o.TextColumnName,
    out_folder: o.OutUnlessPreview = None,
    source: o.AnySource = None,
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    author: o.AuthorColumn = None,
    unit: o.UnitOption = None,
    plan_file: o.PlanFile = None,
    title: o.Title = "",
    description: o.Description = "",
    preview_only: o.Preview = False,
    people: o.People = None,
    mechanism: Annotated[str, typer.Option(help="weighted, count, policy or greedy.")] = "weighted",
    noise: o.VocabularyNoise = None,
    max_words: o.MaxWords = 200,
    max_vocabulary: o.MaxVocabulary = None,
    max_docs: o.MaxDocs = None,
    language: o.Language = "english",
    lemmas: o.Lemmas = False,
    links: o.Links = False,
    stop_words: o.StopWords = None,
    min_length: o.MinLength = None,
    max_length: o.MaxLength = None,
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
    accept_unproven: o.AcceptUnproven = False,
    as_json: o.Json = False,
) -> None:
    """Release the words that many authors use."""
    from dptopics.plan import Plan

    for public in (mechanism, stop_words):
        check_not_the_data(public, source)
    table = Table.of(context)
    settings = TextSettings(
        language=language,
        lemmas=lemmas,
        links=links,
        min_length=min_length,
        max_length=max_length,
        tokenizer=named_tokenizer(tokenizer),
    )
    if stop_words is not None:
        settings = replace(settings, stop_words=read_stop_words(stop_words, settings))

    def made() -> "Plan":
        return Plan.words(
            mechanism=mechanism,
            epsilon=epsilon or 0.0,
            delta=delta or 0.0,
            unit=table.unit(unit),
            noise=noise,
            text=settings,
            max_words=max_words,
            max_vocabulary=max_vocabulary,
            max_docs=max_docs,
        )

    plan = plan_of(context, plan_file, made)
    if preview_only:
        preview(plan, people, as_json)
        return
    folder = o.folder(out_folder)
    published(
        plan,
        table.reader(),
        out_folder=folder,
        as_json=as_json,
        ledger=ledger,
        accept_unproven=accept_unproven,
        title=title,
        description=description,
        people=people,
    )
    err.print(f"Written to [bold]{o.escape_path(folder)}[/].")
