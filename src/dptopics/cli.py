"""The command line: thin commands over the library. Results on stdout, everything else on stderr."""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from dptopics.errors import BudgetExceeded, DptopicsError, InputError, PrivacyWarning
from dptopics.guarantee import Guarantee, Unit

if TYPE_CHECKING:
    from dptopics.corpus import BoundedCorpus
    from dptopics.mechanism import Mechanism
    from dptopics.release import Release
    from dptopics.topic_model import TopicModel

# Commands import what they need when they run, so that --help and a mistyped option answer at once.

app = typer.Typer(
    help="Publish what sensitive text is about, with a differential-privacy guarantee that you can check.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, that is, data
    context_settings={"help_option_names": ["-h", "--help"]},
)
ledger_app = typer.Typer(help="Keep count of what all releases of the same data have spent.", no_args_is_help=True)
app.add_typer(ledger_app, name="ledger")

T = TypeVar("T")
out = Console()
err = Console(stderr=True)

Source = Annotated[Path, typer.Argument(help="Table of texts: .csv, .tsv, .jsonl or .parquet.", show_default=False)]
TextColumnName = Annotated[str, typer.Option("--text", help="Column with the texts.", show_default=False)]
AuthorColumn = Annotated[
    str | None, typer.Option("--author", help="Column that says whose text it is.", show_default=False)
]
Epsilon = Annotated[float, typer.Option(help="Privacy loss of this release.", show_default=False)]
Delta = Annotated[float, typer.Option(help="Chance of more loss: well below 1 / authors.", show_default=False)]
Out = Annotated[
    Path, typer.Option("--out", help="Folder to write the release to; it must not exist.", show_default=False)
]
UnitOption = Annotated[Unit | None, typer.Option(help="Whom to protect; default: author if --author is given.")]
LedgerOption = Annotated[Path | None, typer.Option("--ledger", help="Ledger to charge.", show_default=False)]
MaxDocs = Annotated[int | None, typer.Option(help="Documents kept per author.", show_default="all")]
MaxWords = Annotated[int, typer.Option(help="Distinct words each unit may propose for the vocabulary.")]
Language = Annotated[str, typer.Option(help="Language of the stop words, or 'none'.")]
Lemmas = Annotated[bool, typer.Option("--lemmas", help="Reduce words to their base form (extra 'lemmas').")]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows without text or author.")]
Encoding = Annotated[str, typer.Option(help="Encoding of CSV, TSV and JSON Lines files.")]
AcceptUnproven = Annotated[bool, typer.Option("--accept-unproven", help="Allow guarantees that are not proved.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output on stdout.")]


@app.command()
def fit(
    source: Source,
    text: TextColumnName,
    epsilon: Epsilon,
    delta: Delta,
    out_folder: Out,
    author: AuthorColumn = None,
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 20,
    unit: UnitOption = None,
    mechanism: Annotated[str, typer.Option(help="How topics are learned: see 'dptopics mechanisms'.")] = "variational",
    vocabulary: Annotated[str, typer.Option(help="'weighted', or a file with one public word per line.")] = "weighted",
    vocabulary_share: Annotated[float, typer.Option(help="Share of the budget for the vocabulary.")] = 0.4,
    max_vocabulary: Annotated[int | None, typer.Option(help="Keep at most so many words.", show_default="all")] = None,
    max_words: MaxWords = 200,
    max_docs: MaxDocs = None,
    steps: Annotated[int, typer.Option(help="Rounds of learning.")] = 15,
    language: Language = "english",
    lemmas: Lemmas = False,
    drop_missing: DropMissing = False,
    encoding: Encoding = "utf8",
    ledger: LedgerOption = None,
    accept_unproven: AcceptUnproven = False,
    as_json: Json = False,
) -> None:
    """Release topics of a table of texts: the main job."""
    from dptopics.registry import topic_mechanism

    chosen = _unit(unit, author)
    plan = topic_mechanism(
        mechanism,
        vocabulary=vocabulary,
        n_topics=topics,
        epsilon=epsilon,
        delta=delta,
        unit=chosen,
        vocabulary_share=vocabulary_share,
        max_words=max_words,
        max_vocabulary=max_vocabulary,
        steps=steps,
    )
    release = _publish(
        plan,
        lambda: _read(source, text, author, chosen, delta, max_docs, language, lemmas, drop_missing, encoding),
        ledger=ledger,
        accept_unproven=accept_unproven,
        out_folder=out_folder,
        title="Learning private topics",
    )
    model = release.value
    if as_json:
        _print_json({"out": str(out_folder), "topics": model.top_words(10), "guarantee": release.guarantee.to_dict()})
        return
    _show_topics(model, 10)
    _show_card(release.guarantee)
    err.print(f"Written to [bold]{out_folder}[/]. Look again with: dptopics show {out_folder}")


@app.command()
def vocabulary(
    source: Source,
    text: TextColumnName,
    epsilon: Epsilon,
    delta: Delta,
    out_folder: Out,
    author: AuthorColumn = None,
    unit: UnitOption = None,
    mechanism: Annotated[str, typer.Option(help="How words are chosen.")] = "weighted",
    max_words: MaxWords = 200,
    max_size: Annotated[int | None, typer.Option(help="Keep at most so many words.", show_default="all")] = None,
    max_docs: MaxDocs = None,
    language: Language = "english",
    lemmas: Lemmas = False,
    drop_missing: DropMissing = False,
    encoding: Encoding = "utf8",
    ledger: LedgerOption = None,
    accept_unproven: AcceptUnproven = False,
    as_json: Json = False,
) -> None:
    """Release the words that many authors use."""
    from dptopics.registry import vocabulary_mechanism

    chosen = _unit(unit, author)
    plan = vocabulary_mechanism(
        mechanism, epsilon=epsilon, delta=delta, unit=chosen, max_words=max_words, max_size=max_size
    )
    release = _publish(
        plan,
        lambda: _read(source, text, author, chosen, delta, max_docs, language, lemmas, drop_missing, encoding),
        ledger=ledger,
        accept_unproven=accept_unproven,
        out_folder=out_folder,
        title="Choosing words",
    )
    if as_json:
        _print_json({"out": str(out_folder), "n_words": len(release.value), "guarantee": release.guarantee.to_dict()})
        return
    out.print(f"{len(release.value)} words may be published.")
    _show_card(release.guarantee)
    err.print(f"Written to [bold]{out_folder}[/].")


@app.command()
def show(
    release_folder: Annotated[Path, typer.Argument(help="Folder of a release.", show_default=False)],
    words: Annotated[int, typer.Option(help="Words per topic.")] = 10,
    as_json: Json = False,
) -> None:
    """Show a release and its guarantee."""
    from dptopics import bundle
    from dptopics.topic_model import TopicModel

    release = bundle.load(release_folder)
    if isinstance(release.value, TopicModel):
        content: dict[str, Any] = {"topics": release.value.top_words(words)}
    else:
        content = {"words": list(release.value.words)}
    if as_json:
        _print_json(content | {"guarantee": release.guarantee.to_dict(), "settings": release.settings})
        return
    if isinstance(release.value, TopicModel):
        _show_topics(release.value, words)
    else:
        out.print(f"{len(release.value)} words: {', '.join(release.value.words[:words])}, …")
    _show_card(release.guarantee)


@app.command()
def transform(
    release_folder: Annotated[Path, typer.Argument(help="Folder of a topic release.", show_default=False)],
    source: Source,
    text: TextColumnName,
    out_file: Annotated[Path, typer.Option("--out", help="CSV file to write; it must not exist.", show_default=False)],
    drop_missing: DropMissing = False,
    encoding: Encoding = "utf8",
) -> None:
    """Topic shares of new texts. They describe single texts: not for release."""
    import numpy as np

    from dptopics.reading import read_batches
    from dptopics.topic_model import TopicModel

    model = TopicModel.load(release_folder)
    if out_file.exists():
        raise InputError(f"the file {str(out_file)!r} exists already. Choose another name, or remove it first.")
    header = "row," + ",".join(f"topic_{k}" for k in range(model.n_topics))
    row = 0
    partial = out_file.with_name(f".{out_file.name}.partial")
    try:
        with open(partial, "w", encoding="utf-8") as file, err.status("Reading texts"):
            file.write(header + "\n")
            for texts, _ in read_batches(source, text=text, author=None, encoding=encoding):
                numbered = [(row + i, t) for i, t in enumerate(texts)]
                row += len(texts)
                if drop_missing:
                    numbered = [(i, t) for i, t in numbered if isinstance(t, str)]
                shares = model.transform([t for _, t in numbered])  # type: ignore[misc]  # None is refused inside
                np.savetxt(
                    file, np.column_stack([[i for i, _ in numbered], shares]), fmt="%d" + ",%.5f" * model.n_topics
                )
        partial.rename(out_file)
    finally:
        partial.unlink(missing_ok=True)
    err.print(f"Shares of {row} texts written to [bold]{out_file}[/]. They describe single texts: NOT FOR RELEASE.")


@app.command()
def mechanisms(as_json: Json = False) -> None:
    """List the mechanisms, whom they protect and how far that is proved."""
    from dptopics.registry import catalogue

    rows = catalogue()
    if as_json:
        _print_json({"mechanisms": rows})
        return
    table = Table("Job", "Name", "Unit", "Relation", "Strength", "Paper")
    for row in rows:
        table.add_row(*row.values())
    out.print(table)


@app.command()
def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy loss of the demo release.")] = 2.0,
    out_folder: Annotated[Path | None, typer.Option("--out", help="Also save the release here.")] = None,
) -> None:
    """Show the difference privacy makes, on 20,000 invented patient messages."""
    from dptopics import bundle
    from dptopics.demo import run

    with _bar("Learning private topics") as sink:
        result = run(epsilon=epsilon, sink=sink, say=err.print)
    result.show(out)
    if out_folder is not None:
        err.print(f"Written to [bold]{bundle.save(result.release, out_folder)}[/].")


@ledger_app.command("create")
def ledger_create(
    path: Annotated[Path, typer.Argument(help="File to create.", show_default=False)],
    epsilon: Annotated[float, typer.Option(help="Total privacy loss of all releases.", show_default=False)],
    delta: Annotated[float, typer.Option(help="Total δ of all releases.", show_default=False)],
    unit: Annotated[Unit, typer.Option(help="Whom the releases protect.")] = Unit.AUTHOR,
    composition: Annotated[
        str, typer.Option(help="How releases add up: 'sum', or 'zcdp' (room for more Gaussian releases).")
    ] = "sum",
) -> None:
    """Make a ledger with a total budget."""
    from dptopics.ledger import Ledger

    out.print(Ledger.create(path, epsilon=epsilon, delta=delta, unit=unit, composition=composition).card())


@ledger_app.command("show")
def ledger_show(
    path: Annotated[Path, typer.Argument(help="Ledger file.", show_default=False)], as_json: Json = False
) -> None:
    """Show what was spent and what is left."""
    from dptopics.ledger import Ledger

    ledger = Ledger.open(path)
    if not as_json:
        out.print(ledger.card(), highlight=False)
        return
    receipts = [
        {"number": r.number, "time": r.time, "what": r.what, "epsilon": r.epsilon, "delta": r.delta}
        for r in ledger.receipts()
    ]
    _print_json(
        {
            "name": ledger.name,
            "unit": str(ledger.unit),
            "composition": str(ledger.composition),
            "budget": vars(ledger.budget),
            "spent": vars(ledger.spent),
            "left": vars(ledger.left),
            "charges": receipts,
        }
    )


def _unit(unit: Unit | None, author: str | None) -> Unit:
    if unit is None and author is None:
        _warn(
            "no --author given, so each document is protected by itself: somebody with several documents is protected "
            "less. Name the author column, or say --unit document if that is what you want."
        )
    if unit is Unit.AUTHOR and author is None:
        raise InputError("--unit author needs --author COLUMN.")
    return unit or (Unit.DOCUMENT if author is None else Unit.AUTHOR)


def _read(
    source: Path,
    text: str,
    author: str | None,
    unit: Unit,
    delta: float,
    max_docs: int | None,
    language: str,
    lemmas: bool,
    drop_missing: bool,
    encoding: str,
) -> "BoundedCorpus":
    """The table as a bounded corpus."""
    from dptopics.corpus import Corpus
    from dptopics.text import TextSettings

    settings = TextSettings(language=language, lemmas=lemmas)
    with err.status("Reading texts"):
        corpus = Corpus.from_table(
            source, text=text, author=author, settings=settings, drop_missing=drop_missing, encoding=encoding
        )
        corpus.warn_if_delta_large(delta, unit)
        return corpus.bounded(unit=unit, max_docs=max_docs)


def _publish(
    plan: "Mechanism[T]",
    read: "Callable[[], BoundedCorpus]",
    *,
    ledger: Path | None,
    accept_unproven: bool,
    out_folder: Path,
    title: str,
) -> "Release[T]":
    """Refuse early what can be refused; then read, charge, run, save."""
    from dptopics import bundle, progress
    from dptopics.ledger import Ledger, Unrecorded
    from dptopics.noise import secure_rng

    door = Unrecorded() if ledger is None else Ledger.open(ledger)
    door.check(plan.guarantee, accept_unproven=accept_unproven)
    bundle.check_target(out_folder)
    try:
        corpus = read()
        with _bar(title) as sink, progress.shown_by(sink):
            release = door.run(plan, corpus, secure_rng(), accept_unproven=accept_unproven)
        bundle.save(release, out_folder)
    except KeyboardInterrupt:
        spent = "" if ledger is None else f" What the release costs may be charged: see dptopics ledger show {ledger}."
        err.print(f"Stopped. Nothing was written.{spent}", highlight=False)
        sys.exit(130)
    return release


@contextmanager
def _bar(title: str) -> Iterator[Callable[[float], None]]:
    """A progress bar in percent."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _show_topics(model: "TopicModel", words: int) -> None:
    table = Table("Topic", "Share", "Words (dim: may be chance, within three deviations of the noise)")
    sure = model.top_words(words, min_deviations=3.0)
    for k, row in enumerate(model.top_words(words)):
        doubtful = row[len(sure[k]) :]
        line = Text(", ".join(sure[k])) + Text(", " if sure[k] and doubtful else "") + Text(", ".join(doubtful), "dim")
        table.add_row(str(k), f"{model.topic_share[k]:.0%}", line)
    out.print(table)


def _show_card(guarantee: Guarantee) -> None:
    out.print(Panel(guarantee.card(width=min(96, out.width - 4)), expand=False), highlight=False)


def _print_json(data: dict[str, Any]) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))


def _warn(message: str) -> None:
    err.print(f"[yellow]Warning:[/] {escape(message)}", highlight=False)


def main() -> None:
    """Run the command line: a user's mistake is one message and a non-zero exit, never a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", PrivacyWarning)
            warnings.showwarning = lambda message, *_args, **_kwargs: _warn(str(message))
            app()
    except BudgetExceeded as error:
        _fail(error, 3)
    except (DptopicsError, OSError) as error:
        _fail(error, 2)


def _fail(error: Exception, code: int) -> None:
    message = str(error) if isinstance(error, DptopicsError) else f"{error}. Nothing was written."
    err.print(f"[red]{type(error).__name__}:[/] {escape(message)}", highlight=False)
    sys.exit(code)
