"""Commands that look at releases and mechanisms, and the demo. None of them spends budget of real data."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from dptopics.cli import options as o
from dptopics.cli.source import Table as TextTable
from dptopics.cli.source import allow_tokenizer
from dptopics.cli.terminal import err, out, print_json, progress_bar, show_card, show_value, warn
from dptopics.core.errors import InputError


def show(
    release_folder: Annotated[Path, typer.Argument(help="Folder of a release.", show_default=False)],
    words: Annotated[int, typer.Option(help="Words per topic, or n-grams.")] = 10,
    tree: Annotated[bool, typer.Option("--tree", help="Show which topics are alike, as a tree.")] = False,
    min_z: Annotated[
        float | None,
        typer.Option(
            help="Show words of topics from so many standard deviations of the noise on; 0 shows all.", show_default="3"
        ),
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Show a release and its guarantee."""
    from dptopics.release import bundle

    release = bundle.load(release_folder)
    if tree:
        found = release.tree()
        print_json({"tree": found.to_dict()}) if as_json else out.print(escape(str(found)), highlight=False)
        return
    if as_json:
        content = {"guarantee": release.guarantee.to_dict(), "settings": release.settings}
        asked = {} if min_z is None or release.value.kind != "topics" else {"min_z": min_z}
        print_json({**release.value.summary_json(words, **asked), **content, "record": release.record.to_dict()})
        return
    show_value(release.value, words, min_z)
    show_card(release.guarantee, release.record)


def transform(
    context: typer.Context,
    release_folder: Annotated[Path, typer.Argument(help="Folder of a topic release.", show_default=False)],
    text: o.TextColumnName,
    out_file: Annotated[Path, typer.Option("--out", help="CSV file to write; it must not exist.", show_default=False)],
    source: o.Source = None,
    tokenizer: o.TokenizerName = None,
    drop_missing: o.DropMissing = False,
    encoding: o.Encoding = "utf8",
    separator: o.Separator = None,
    table_format: o.FormatOption = None,
    sheet: o.Sheet = None,
    header_row: o.HeaderRow = None,
    sql: o.Sql = None,
    database: o.Database = None,
) -> None:
    """Topic shares of new texts. They describe single texts: not for release."""
    import numpy as np

    from dptopics.core import progress
    from dptopics.data.readers.files import read_batches
    from dptopics.release.topic_model import TopicModel

    allow_tokenizer(tokenizer)
    table = TextTable.of(context)
    model = TopicModel.load(release_folder)
    if out_file.exists():
        raise InputError(f"the file {str(out_file)!r} exists already. Choose another name, or remove it first.")
    header = ["row", *(f"topic_{k}" for k in range(model.n_topics)), "known_words"]
    row = written = unknown = 0
    partial = out_file.with_name(f".{out_file.name}.partial")
    try:
        with (
            open(partial, "w", encoding="utf-8") as file,
            progress_bar("Reading texts") as sink,
            progress.shown_by(sink),
        ):
            file.write(",".join(header) + "\n")
            for texts, _ in read_batches(table.data, text=text, author=None):
                numbers, kept = _with_text(texts, row, drop_missing)
                row += len(texts)
                known = model.known_words(kept)
                columns = np.column_stack([numbers, model.transform(kept), known])
                np.savetxt(file, columns, fmt="%d" + ",%.5f" * model.n_topics + ",%d")
                written += len(kept)
                unknown += int(np.count_nonzero(known == 0))
        partial.rename(out_file)
    finally:
        partial.unlink(missing_ok=True)
    if unknown:
        by_words = model.space is None or model.space.of_words
        alike = " and get equal shares, which say nothing" if by_words else ""
        told = f"{unknown:,} of {written:,} texts have no word that the topics know{alike}"
        warn(f"{told}: known_words is 0 in their rows.")
    where = o.escape_path(out_file)
    err.print(f"Shares of {written} texts written to [bold]{where}[/]. They describe single texts: NOT FOR RELEASE.")


def _with_text(texts: Sequence[object], before: int, drop_missing: bool) -> tuple[list[int], list[str]]:
    """Row numbers, from 1 on as in messages, and the texts themselves."""
    found = [(before + i, text) for i, text in enumerate(texts, 1) if not (drop_missing and text is None)]
    for row, text in found:
        if text is None:
            raise InputError(f"row {row} has no text. Fill it in, or leave such rows out with --drop-missing.")
        if not isinstance(text, str):
            raise InputError(f"row {row}: a text must be a string, got {type(text).__name__}. Convert the column.")
    return [row for row, _ in found], [str(text) for _, text in found]


def mechanisms(as_json: o.Json = False) -> None:
    """List the mechanisms, whom they protect and how far that is proved."""
    from dptopics.registry import catalogue

    rows = catalogue()
    if as_json:
        print_json({"mechanisms": rows})
        return
    table = Table(padding=0)
    for name in ("Job", "Name", "Noise", "Unit", "Relation", "Strength", "Paper"):
        table.add_column(name, no_wrap=name in ("Job", "Name"), overflow="fold")  # names must be typed: show them whole
    for row in rows:
        table.add_row(*row.values())
    out.print(table)


def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy loss of the demo release.")] = 2.0,
    out_folder: Annotated[Path | None, typer.Option("--out", help="Also save the release here.")] = None,
    report_file: Annotated[
        Path | None,
        typer.Option("--report", help="Where to write the page of the release.", show_default="a temporary folder"),
    ] = None,
    messages: Annotated[
        Path | None,
        typer.Option(
            help="Only write the messages, as a CSV table with columns note, patient, ward and date, to try things on."
        ),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(help="Only write every file that the pages of the documentation use, into this folder."),
    ] = None,
) -> None:
    """Show the difference privacy makes, on 20,000 invented patient messages."""
    from dptopics.cli.demo import run, write_files, write_messages
    from dptopics.release import bundle, report

    if messages is not None:
        number = write_messages(messages)
        err.print(f"{number:,} invented messages written to [bold]{messages}[/].", highlight=False)
        return
    if files is not None:
        err.print(f"Invented, to try things on: {', '.join(write_files(files))}.", highlight=False)
        return
    if out_folder is not None:
        bundle.check_target(out_folder)
    if report_file is not None:
        report.check_target(report_file)
    with progress_bar("Learning topics, private and plain") as sink:
        result = run(epsilon=epsilon, sink=sink, say=err.print)
    result.show(out)
    if out_folder is not None:
        err.print(f"Written to [bold]{bundle.save(result.release, out_folder)}[/].")
    page = report_file or Path(tempfile.mkdtemp(prefix="dptopics-demo-")) / "report.html"
    page = report.write(result.release, page).absolute()
    out.print(f"The release as a page, to open in a browser: {page.as_uri()}", highlight=False, soft_wrap=True)
