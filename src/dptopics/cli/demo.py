"""The demo: a plain topic model and a private release of the same invented patient messages, side by side."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from scipy import sparse

from dptopics import progress
from dptopics.data.corpus import Corpus
from dptopics.errors import InputError
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Unit
from dptopics.privacy.rng import secure_rng
from dptopics.privacy.unrecorded import Unrecorded
from dptopics.public.datasets import demo_corpus
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

_TOPICS = 10
_DELTA = 1e-6
_PASSES = 3
_MIN_DOCUMENTS = 5  # the usual cut of a plain vocabulary


@dataclass(frozen=True)
class DemoResult:
    """What the demo shows. The messages are invented, so words may be shown."""

    plain_topics: list[list[str]]
    plain_words: set[str]
    rare_words: frozenset[str]
    release: Release[TopicModel]

    def show(self, console: Console) -> None:
        """Print both models, what leaks from each, and the card."""
        private = self.release.value
        leaked = sorted(self.rare_words & self.plain_words)
        hidden = sorted(self.rare_words & set(private.vocabulary.words))
        console.print(_table("A plain topic model (scikit-learn LDA): NOT private", self.plain_topics))
        console.print(
            f"Its vocabulary of {len(self.plain_words)} words holds [bold red]{len(leaked)}[/] words that a single "
            f"patient wrote, names and codes among them: {', '.join(leaked[:6])}, …\n"
        )
        console.print(_table("A private release of the same messages", private.top_words(8)))
        console.print(
            f"Its vocabulary of {len(private.vocabulary)} words holds [bold green]{len(hidden)}[/] of them.\n"
        )
        console.print(
            Panel(self.release.guarantee.card(width=min(96, console.width - 4)), expand=False), highlight=False
        )


def run(*, epsilon: float, sink: progress.Sink, say: Callable[[str], None]) -> DemoResult:
    """Fit both models."""
    say("Writing 20,000 messages by 8,000 invented patients ...")
    texts = demo_corpus()
    corpus = Corpus.from_texts(texts.texts, texts.authors)
    mechanism = Plan.topics(
        mechanism="variational",
        vocabulary="weighted",
        n_topics=_TOPICS,
        epsilon=epsilon,
        delta=_DELTA,
        unit=Unit.AUTHOR,
    ).build()
    with progress.shown_by(sink):
        with progress.part(0.0, 0.5):
            release = Unrecorded().run(mechanism, corpus.bounded(), secure_rng())
        with progress.part(0.5, 1.0):
            plain_topics, plain_words = _plain_model(corpus)
    return DemoResult(plain_topics, plain_words, texts.rare_words, release)


def write_messages(path: Path) -> int:
    """Write the invented messages as a table, one row each; how many there are."""
    texts = demo_corpus()
    try:
        with open(path, "x", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [("note", "patient"), *zip(texts.texts, texts.authors, strict=True)]
            )
    except FileExistsError:
        raise InputError(f"the file {str(path)!r} exists already. Choose another name, or remove it first.") from None
    return len(texts.texts)


def _plain_model(corpus: Corpus) -> tuple[list[list[str]], set[str]]:
    """What people do today: words in at least five documents, then scikit-learn's LDA."""
    from sklearn.decomposition import LatentDirichletAllocation

    shape = (corpus.n_documents, len(corpus.words))
    counts = sparse.csr_array((corpus.count, corpus.word, corpus.doc_start), shape=shape)
    kept = np.flatnonzero(np.bincount(corpus.word, minlength=shape[1]) >= _MIN_DOCUMENTS)
    words = [corpus.words[i] for i in kept.tolist()]
    counts = counts[:, kept]
    plain = LatentDirichletAllocation(_TOPICS, total_samples=counts.shape[0], random_state=0)
    batches = np.array_split(np.random.default_rng(0).permutation(counts.shape[0]), 80)
    for step in range(_PASSES * len(batches)):
        plain.partial_fit(counts[batches[step % len(batches)]])
        progress.report((step + 1) / (_PASSES * len(batches)))
    top = np.argsort(-plain.components_, axis=1)[:, :8]
    return [[words[i] for i in row] for row in top], set(words)


def _table(title: str, topics: list[list[str]]) -> Table:
    table = Table("Topic", "Words", title=title, title_justify="left")
    for k, words in enumerate(topics):
        table.add_row(str(k), ", ".join(words))
    return table
