"""The corpora of benchmarks/utility.py: real public texts, whole or in narrow and small slices."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy import sparse

from dptopics import Corpus, Unit
from dptopics.core.vocabulary import Vocabulary
from dptopics.public.embeddings import Embedding, cached, embedding
from results import RESULTS

SAMPLE = 7000
COLLEGE_AUTHORS = 20_000
MOST_TOPICS = 20


@dataclass(frozen=True)
class Source:
    """A file, the topics asked for at most, the column of labels, who is protected, and which rows are taken."""

    file: str
    n_topics: int = MOST_TOPICS
    label: str | None = "label"
    unit: Unit = Unit.DOCUMENT
    rows: Callable[[list[str], list[str]], np.ndarray] | None = None  # of labels and users


def _sample(labels: list[str], users: list[str]) -> np.ndarray:
    return np.sort(np.random.default_rng(0).permutation(len(labels))[:SAMPLE])


def _comp(labels: list[str], users: list[str]) -> np.ndarray:
    return np.array([row for row, label in enumerate(labels) if label.startswith("comp.")])


def _some_authors(labels: list[str], users: list[str]) -> np.ndarray:
    names = sorted(set(users))
    kept = {names[i] for i in np.random.default_rng(0).permutation(len(names))[:COLLEGE_AUTHORS]}
    return np.array([row for row, user in enumerate(users) if user in kept])


CORPORA = {
    "BBC News": Source("octis_bbc_news"),
    "paper titles (M10)": Source("octis_m10"),
    "tweets": Source("tweet_rumours"),
    "airline tweets": Source("airline_tweets"),
    "20 Newsgroups": Source("newsgroups20"),
    "Newsgroups, 7,000": Source("newsgroups20", rows=_sample),
    "Newsgroups, comp.*": Source("newsgroups20", rows=_comp),
    "Wikipedia, 7,000": Source("wikipedia_schools", rows=_sample),
    "Reddit posts": Source("reddit_posts"),
    "medical answers": Source("medquad"),
    "medical answers, 7,000": Source("medquad", rows=_sample),
    "Amazon reviews": Source("amazon_reviews", 10, None),
    "Amazon 5-core, author": Source("amazon_5core", 10, unit=Unit.AUTHOR),
    "Reddit college, author": Source("reddit_college", unit=Unit.AUTHOR, rows=_some_authors),
    "rumour threads, author": Source("pheme_threads", unit=Unit.AUTHOR),
}


class Data:
    """A corpus with its labels."""

    def __init__(self, folder: Path, name: str) -> None:
        source = CORPORA[name]
        table = pq.read_table(folder / f"{source.file}.parquet")
        texts = [text or "" for text in table["text"].to_pylist()]
        users = [user or f"row {row}" for row, user in enumerate(table["user"].to_pylist())]
        labels = [str(label) for label in table[source.label or "text"].to_pylist()]
        rows = np.arange(len(texts)) if source.rows is None else source.rows(labels, users)
        self.name, self.unit = name, source.unit
        self.labels = None if source.label is None else [labels[row] for row in rows]
        if self.labels is not None and source.file == "wikipedia_schools":
            self.labels = [label.split("/")[0].split(".")[0] for label in self.labels]
        authors = [users[row] for row in rows] if self.unit is Unit.AUTHOR else None
        self.texts = [texts[row] for row in rows]
        self.corpus = Corpus.from_texts(self.texts, authors)
        self.n_topics = min(source.n_topics, MOST_TOPICS if self.labels is None else len(set(self.labels)))
        self.units = self.corpus.n_authors if self.unit is Unit.AUTHOR else self.corpus.n_documents

    def embedded(self) -> Embedding:
        """MiniLM, with whose vectors the corpus is from now on."""
        model = cached(embedding("minilm"), RESULTS / "minilm.vectors")
        if self.corpus.vectors is None:
            self.corpus = self.corpus.with_vectors(model(self.texts))
        return model

    def matrix(self, vocabulary: Vocabulary) -> sparse.csr_array:
        """Documents × words."""
        counts = self.corpus.counts(vocabulary)
        shape = (self.corpus.n_documents, len(vocabulary))
        return sparse.csr_array((counts.count, counts.word, counts.doc_start), shape=shape)
