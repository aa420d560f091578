"""The demo: a plain topic model and a private release of the same invented patient messages, side by side."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from scipy import sparse

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.data.corpus import Corpus
from dptopics.estimators import PrivateTopics
from dptopics.public.demo import DemoTexts, demo_corpus
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

_TOPICS = 10
_DELTA = 1e-6
_PASSES = 3
_MOST_WORDS = 1000  # of a topic; fewer stand above the noise
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
        shown = {word for words in private.top_words(_MOST_WORDS) for word in words}
        console.print(_table("A plain topic model (scikit-learn LDA): NOT private", self.plain_topics))
        console.print(
            f"Its vocabulary of {len(self.plain_words)} words holds [bold red]{len(leaked)}[/] words that a single "
            f"patient wrote, names and codes among them: {', '.join(leaked[:6])}, …\n"
        )
        console.print(_table("A private release of the same messages", private.top_words(8)))
        console.print(
            f"Of its {len(shown)} words that stand above the noise, [bold green]{len(self.rare_words & shown)}[/] are "
            "such words.\n"
        )
        console.print(
            Panel(self.release.guarantee.card(width=min(96, console.width - 4)), expand=False), highlight=False
        )


def run(*, epsilon: float, sink: progress.Sink, say: Callable[[str], None]) -> DemoResult:
    """Fit both models."""
    say("Writing 20,000 messages by 8,000 invented patients ...")
    texts = demo_corpus()
    corpus = Corpus.from_texts(texts.texts, texts.authors)
    model = PrivateTopics(n_topics=_TOPICS, epsilon=epsilon, delta=_DELTA)  # everything else as anybody's first try
    with progress.shown_by(sink):
        with progress.part(0.0, 0.5):
            release = model.fit(corpus).release_
        with progress.part(0.5, 1.0):
            plain_topics, plain_words = _plain_model(corpus)
    return DemoResult(plain_topics, plain_words, texts.rare_words, release)


def write_messages(path: Path) -> int:
    """Write the invented messages as a table, one row each; how many there are. The same file once more is fine."""
    texts = demo_corpus()
    _write(path, _table_of(texts))
    return len(texts.texts)


def write_files(folder: Path) -> list[str]:
    """Write everything that the pages of the documentation use; the names of the files."""
    if not folder.is_dir():
        raise InputError(f"the folder {str(folder)!r} does not exist. Create it first.")
    tables = {name: _table_of(demo_corpus(seed)) for name, seed in _TABLES.items()}
    for name, text in (tables | _SMALL_FILES).items():
        _write(folder / name, text)
    return [*tables, *_SMALL_FILES]


_WARDS = ("north", "south", "east", "west")
_FIRST_DAY = date(2026, 1, 1)
_TABLES = {"notes.csv": 7, "more-notes.csv": 8, "public.csv": 9}  # and the seed of its people
_WORDS = (
    "skin rash itching cream eczema scalp",
    "appointment week monday book slot available",
    "sugar insulin glucose diabetes fasting",
)
_SMALL_FILES = {
    "wards.txt": "".join(f"{ward}\n" for ward in _WARDS),
    "topics.txt": "".join(f"{line}\n" for line in _WORDS),
    "words.txt": "".join(f"{word}\n" for line in _WORDS for word in line.split()),
    "note.txt": "The rash on my skin is itching, and the cream does not help.\n",
}


def _table_of(texts: DemoTexts) -> str:
    """A message, who wrote it, in which ward they are, and when: days of one year, in no order."""
    wards = (_WARDS[int(author[-5:]) % len(_WARDS)] for author in texts.authors)
    days = ((_FIRST_DAY + timedelta(days=131 * i % 365)).isoformat() for i in range(len(texts.texts)))
    written = io.StringIO()
    rows = zip(texts.texts, texts.authors, wards, days, strict=False)
    csv.writer(written, lineterminator="\n").writerows([("note", "patient", "ward", "date"), *rows])
    return written.getvalue()


def _write(path: Path, text: str) -> None:
    """A new file; one that is there already must be the same."""
    try:
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        if path.read_bytes() != text.encode():
            raise InputError(
                f"the file {str(path)!r} exists already, and holds something else. Choose another name, or remove it."
            ) from None


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
