"""The monitor: watch a Gibbs sampler's draws. A diagnostic of private data, never a guarantee."""

from typing import Any

from rich.table import Table

from dptopics.cli import options as o
from dptopics.cli.source import Language, Texts
from dptopics.cli.terminal import err, out, print_json, working
from dptopics.core.errors import InputError

_COLUMNS = ("word", "document", "missing_word")


def monitor(
    texts: Texts,
    reading: Language,
    topics: int = o.option("Number of topics.", default=50),
    sweeps: int = o.option("Sweeps of the sampler.", default=300),
    alpha: float = o.option("Prior of a document's topics.", default=0.1),
    beta: float = o.option("Prior of a topic's words.", default=0.01),
    vocabulary: int = o.option("Keep the so many most frequent words.", default=1000),
    longest_document: int | None = o.option("Tokens of a document at most (N_max).", shown="the longest there is"),
    runs: int = o.option("Runs from other starts: the spread is shown.", default=1),
    as_json: o.Json = False,
) -> None:
    """Watch how much a Gibbs sampler's draws hang on single words and documents. No guarantee; not for release."""
    from dataclasses import replace

    import numpy as np

    from dptopics.audit.monitor import monitor_gibbs
    from dptopics.core import progress
    from dptopics.core.vocabulary import Vocabulary
    from dptopics.learners.lda import GibbsLda

    if min(sweeps, vocabulary, runs) < 1:
        raise InputError(f"sweeps, vocabulary and runs must be at least 1, got {sweeps}, {vocabulary} and {runs}.")
    learner = GibbsLda(n_topics=topics, alpha=alpha, beta=beta, sweeps=sweeps)
    with working("Reading texts"):
        corpus = texts.read(reading.settings(texts))
    total = np.bincount(corpus.word, corpus.count, len(corpus.words))
    words = Vocabulary.of(corpus.words[i] for i in np.argsort(-total, kind="stable")[:vocabulary])
    with working("Sampling"):
        counts, results = corpus.counts(words), []
        for number in range(runs):
            with progress.part(number / runs, (number + 1) / runs):
                started = replace(learner, key=learner.key + number)
                results.append(monitor_gibbs(counts, started, longest_document=longest_document))
    if not as_json:
        _show(results, sweeps)
        return
    content = results[0].to_dict()
    if runs > 1:
        content["last_sweep_of_each_run"] = [
            {"word": one.word[-1], "document": one.document[-1], "same_word_missing": one.missing_word[-1]}
            for one in results
        ]
    print_json(content)


def _show(results: list[Any], sweeps: int) -> None:
    """The levels at ten times of the run, and what they leave out."""
    import numpy as np

    from dptopics.audit.monitor import WHAT_IT_SAYS

    result = results[0]
    table = Table(
        "Sweeps", "Word level (N = 1)", f"Document level (N = {result.longest_document})", "Same word missing"
    )
    table.title, table.title_justify = "NOT FOR RELEASE", "left"
    for sweep in sorted({max(1, round(sweeps * part / 10)) for part in range(1, 11)}):
        curves = (np.array([getattr(one, name)[sweep - 1] for one in results]) for name in _COLUMNS)
        table.add_row(str(sweep), *(_spread(values) for values in curves))
    out.print(table)
    last = (result.printed_word[-1], result.printed_document[-1])
    out.print(f"Algorithm 1 as printed says {last[0]:.4g} and {last[1]:.4g}: its step 4 adds nothing.", highlight=False)
    times = max(float(one.missing_word[-1] / one.word[-1]) for one in results)
    out.print(
        f"A missing token of the same word moves this run's draws {times:,.0f} times as far as the word level says "
        f"(by up to {result.same_word:.3g} in a single draw): the monitored levels leave it out.",
        highlight=False,
    )
    for sentence in WHAT_IT_SAYS:
        out.print(f"- {sentence}", highlight=False)
    if result.capped:
        err.print(
            f"In {result.capped:.1%} of the draws some topic held fewer tokens than a document may have: there the "
            "monitor looks at the removal of that whole topic.",
            highlight=False,
        )


def _spread(values: Any) -> str:
    """One number, or the mean of several and their range."""
    if values.size == 1:
        return f"{values[0]:.4g}"
    return f"{values.mean():.4g} ({values.min():.4g} to {values.max():.4g})"
