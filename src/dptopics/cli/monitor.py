"""The monitor command: watch a Gibbs sampler's draws. A diagnostic of private data, never a guarantee."""

from typing import Annotated

import typer
from rich.table import Table

from dptopics.cli import options as o
from dptopics.cli.source import Table as TextTable
from dptopics.cli.source import named_tokenizer
from dptopics.cli.terminal import err, out, print_json, progress_bar
from dptopics.public.text import TextSettings


def monitor(
    context: typer.Context,
    text: o.TextColumnName,
    source: o.Source = None,
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 50,
    sweeps: Annotated[int, typer.Option(help="Sweeps of the sampler.")] = 300,
    alpha: Annotated[float, typer.Option(help="Prior of a document's topics.")] = 0.1,
    beta: Annotated[float, typer.Option(help="Prior of a topic's words.")] = 0.01,
    vocabulary: Annotated[int, typer.Option(help="Keep the so many most frequent words.")] = 1000,
    longest_document: Annotated[
        int | None, typer.Option(help="Tokens of a document at most (N_max).", show_default="the longest there is")
    ] = None,
    language: o.Language = "english",
    tokenizer: o.TokenizerName = None,
    drop_missing: o.DropMissing = False,
    encoding: o.Encoding = "utf8",
    separator: o.Separator = None,
    table_format: o.FormatOption = None,
    sql: o.Sql = None,
    database: o.Database = None,
    as_json: o.Json = False,
) -> None:
    """Watch how much a Gibbs sampler's draws hang on single words and documents. No guarantee; not for release."""
    import numpy as np

    from dptopics import progress
    from dptopics.audit.gibbs_monitor import WHAT_IT_SAYS, monitor_gibbs
    from dptopics.errors import InputError
    from dptopics.learners.lda_gibbs import GibbsLda
    from dptopics.release.vocabulary import Vocabulary

    if sweeps < 1 or vocabulary < 1:
        raise InputError(f"sweeps and vocabulary must be at least 1, got {sweeps} and {vocabulary}.")
    texts = TextTable.of(context)
    learner = GibbsLda(n_topics=topics, alpha=alpha, beta=beta, sweeps=sweeps)
    with progress_bar("Reading texts") as sink, progress.shown_by(sink):
        corpus = texts.in_memory(TextSettings(language=language, tokenizer=named_tokenizer(tokenizer)))
    total = np.bincount(corpus.word, corpus.count, len(corpus.words))
    words = Vocabulary.of(corpus.words[i] for i in np.argsort(-total, kind="stable")[:vocabulary])
    with progress_bar("Sampling") as sink, progress.shown_by(sink):
        result = monitor_gibbs(corpus.counts(words), learner, longest_document=longest_document)
    if as_json:
        print_json(result.to_dict())
        return
    table = Table("Sweeps", "Word level (N = 1)", f"Document level (N = {result.longest_document})")
    table.title, table.title_justify = "NOT FOR RELEASE", "left"
    for sweep in sorted({max(1, round(sweeps * part / 10)) for part in range(1, 11)}):
        table.add_row(str(sweep), f"{result.word[sweep - 1]:.4g}", f"{result.document[sweep - 1]:.4g}")
    out.print(table)
    for sentence in WHAT_IT_SAYS:
        out.print(f"- {sentence}", highlight=False)
    if result.capped:
        err.print(
            f"In {result.capped:.1%} of the draws some topic held fewer tokens than a document may have: there the "
            "monitor looks at the removal of that whole topic.",
            highlight=False,
        )
