"""Commands about n-grams: release them, and hand a release on as a language model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dptopics.cli import options as o
from dptopics.cli.publishing import plan_of, preview, published
from dptopics.cli.source import Table, named_tokenizer
from dptopics.cli.terminal import err, progress_bar
from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.privacy.events import Noise
from dptopics.public.word_lists import check_not_the_data

if TYPE_CHECKING:
    from dptopics.data.public_inputs import PublicInput
    from dptopics.plan import Plan

_LISTS = (".txt", ".ngrams")


def ngrams(
    context: typer.Context,
    text: o.TextColumnName,
    out_folder: o.OutUnlessPreview = None,
    source: o.AnySource = None,
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    author: o.AuthorColumn = None,
    plan_file: o.PlanFile = None,
    title: o.Title = "",
    description: o.Description = "",
    preview_only: o.Preview = False,
    people: o.People = None,
    public: Annotated[
        Path | None,
        typer.Option(
            help="Public n-grams: a list (.txt: one on each line, then a tab and a count), or a table of public texts "
            "(.csv, .tsv, .jsonl, .parquet) whose most frequent n-grams are taken.",
            show_default=False,
        ),
    ] = None,
    public_text: Annotated[
        str | None, typer.Option(help="Column of the public texts.", show_default="the same as --text")
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Words per n-gram, 1 to 5.")] = 3,
    size: Annotated[int, typer.Option(help="N-grams to take from public texts, or at most from the data.")] = 50_000,
    unit: o.UnitOption = None,
    mechanism: Annotated[str, typer.Option(help="See 'dptopics mechanisms'.")] = "bayes",
    vocabulary: Annotated[
        str | None,
        typer.Option(
            help="Without --public: choose the list privately (weighted, count, policy, greedy).",
            show_default="weighted",
        ),
    ] = None,
    vocabulary_epsilon: o.VocabularyEpsilon = None,
    noise: Annotated[Noise | None, typer.Option(help="Noise of bayes and laplace.", show_default="its own")] = None,
    max_words: Annotated[
        int | None,
        typer.Option(help="Distinct n-grams each unit may give.", show_default="its own"),
    ] = None,
    max_count: Annotated[
        int | None, typer.Option(help="How often each of them may count.", show_default="its own")
    ] = None,
    max_total: Annotated[float | None, typer.Option(help="Counts per unit (laplace).", show_default="20")] = None,
    slope: Annotated[float | None, typer.Option(help="S: weight of each author.", show_default="its own")] = None,
    weight: Annotated[
        float | None,
        typer.Option(help="ρ: weight of the data against the public n-grams.", show_default="its own"),
    ] = None,
    centre: Annotated[float | None, typer.Option(help="m₀ of bayes: log count of rare n-grams.")] = None,
    local_sensitivity: Annotated[
        str | None,
        typer.Option(help="brute-force or claim-1 (bayes-published).", show_default="brute-force"),
    ] = None,
    tuning: Annotated[
        str | None,
        typer.Option(
            help="How end-to-end reads the sensitivity of tuning: claim-2, or appendix-d (its proof, as printed).",
            show_default="claim-2",
        ),
    ] = None,
    k: Annotated[int | None, typer.Option(help="Authors for k-anonymity.", show_default="50")] = None,
    shares: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Shares of ε for n-grams and tuning (end-to-end).", show_default="2/3 1/3"),
    ] = None,
    max_docs: o.MaxDocs = None,
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
    """Release how probable n-grams are: counts for language models, with a public prior."""
    from dptopics.plan import Plan

    table = Table.of(context)
    if public is not None and vocabulary is not None:
        raise InputError("give --public (a public list) or --vocabulary (a private one), not both.")
    check_not_the_data(public, source)
    reading = TextSettings.for_ngrams(n, named_tokenizer(tokenizer))
    prior = None if public is None else public_ngrams(public, public_text or text, n, size, encoding, tokenizer)

    def made() -> "Plan":
        return Plan.ngrams(
            mechanism=mechanism,
            epsilon=epsilon or 0.0,
            delta=delta or 0.0,
            unit=table.unit(unit),
            text=reading,
            prior=prior,
            vocabulary=None if prior is not None else vocabulary or "weighted",
            vocabulary_epsilon=vocabulary_epsilon,
            max_vocabulary=size if prior is None else None,
            max_docs=max_docs,
            noise=noise,
            max_words=max_words,
            max_count=max_count,
            max_total=max_total,
            slope=slope,
            weight=weight,
            centre=centre,
            sensitivity=local_sensitivity,
            tuning=tuning,
            k=k,
            shares=shares,
        )

    plan = plan_of(context, plan_file, made, () if prior is None else (prior,))
    if preview_only:
        preview(plan, people, as_json)
        return
    folder = o.folder(out_folder)
    published(
        plan,
        table.reader(vocabulary=None if plan.prior is None else plan.prior.value.vocabulary),
        out_folder=folder,
        as_json=as_json,
        ledger=ledger,
        accept_unproven=accept_unproven,
        title=title,
        description=description,
        people=people,
    )
    where = o.escape_path(folder)
    err.print(f"Written to [bold]{where}[/]. A language model of it: dptopics arpa {where} --out FILE")


def arpa(
    release_folder: Annotated[Path, typer.Argument(help="Folder of an n-gram release.", show_default=False)],
    out_file: Annotated[Path, typer.Option("--out", help="File to write; it must not exist.", show_default=False)],
) -> None:
    """Write an n-gram release as a language model in the ARPA format."""
    from dptopics.release.ngrams import LanguageModel, NgramTable

    if out_file.exists():
        raise InputError(f"the file {str(out_file)!r} exists already. Choose another name, or remove it first.")
    out_file.write_text(LanguageModel(NgramTable.load(release_folder)).arpa(), "utf-8")
    err.print(f"Written to [bold]{out_file}[/].")


def public_ngrams(path: Path, text: str, n: int, size: int, encoding: str, tokenizer: str | None) -> "PublicInput":
    """A public list, or the most frequent n-grams of public texts."""
    from dptopics.core import progress
    from dptopics.data.public_inputs import PublicInput, PublicNgrams

    if not path.is_file():
        raise InputError(
            f"there is no file {str(path)!r}. --public takes a public list (.txt, one n-gram on each line), or a table "
            "of public texts."
        )
    if path.suffix.lower() in _LISTS:
        return PublicInput.ngrams(PublicNgrams.from_file(path, n=n), path.name)
    with progress_bar("Reading public texts") as sink, progress.shown_by(sink):
        found = PublicNgrams.from_table(path, text=text, n=n, size=size, encoding=encoding, tokenizer=tokenizer)
        return PublicInput.ngrams(found, path.name)
