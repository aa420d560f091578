"""What private topics are worth: coherence, diversity, agreement with labels, held-out perplexity, by ε.

    python benchmarks/utility.py --data FOLDER [--quick] [--minilm FOLDER] [--only CORPUS …]

Five corpora, units document and author, ε from 0.5 to 8, three seeds; learners without privacy in the same run. A cell
that is in results/utility.json is not computed again. ``--quick``: two corpora, three ε, one seed, ten minutes.
``--minilm`` is the folder of a sentence-transformers model, for 20 Newsgroups; it needs sentence-transformers, and its
vectors are kept in a file beside the results (private data in real life). Then the table and plot in docs/ are written
anew. Everything is computed from the texts: NOT FOR RELEASE. No setting was chosen by looking at these corpora, except
where docs/utility.md says so.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.metrics import normalized_mutual_info_score

from dptopics import Corpus, TextSettings, TopicModel, Unit
from dptopics.errors import DptopicsError
from dptopics.evaluate import diversity, npmi, perplexity
from dptopics.kernels.embedded import mean_of_words, projected
from dptopics.learners import learn
from dptopics.learners.adapters import TomotopyLearner
from dptopics.learners.lda_gibbs import GibbsLda
from dptopics.plan import Plan
from dptopics.public.embeddings import Embedding, cached, common_words, embedding, unit
from dptopics.release.vocabulary import Vocabulary
from dptopics.topics.embedded.public_space import of_words
from results import RESULTS
from utility_figures import write

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0)
SEEDS = 3
MINILM = "20 Newsgroups"  # the corpus that is embedded by MiniLM as well
# File, topics asked for, column of labels, whether users are known.
CORPORA: dict[str, tuple[str, int, str | None, bool]] = {
    "20 Newsgroups": ("newsgroups20", 20, "label", True),
    "BBC News": ("octis_bbc_news", 5, "label", False),
    "tweets": ("tweet_rumours", 5, "label", False),
    "Amazon reviews": ("amazon_reviews", 10, None, True),
    "Enron senders": ("enron_senders", 20, None, True),
}
# Name: settings of the mechanism. The last two are reproductions: they are not proved.
PRIVATE: dict[str, dict[str, Any]] = {
    "embedded": {"name": "embedded"},
    "embedded, common words": {"name": "embedded", "vocabulary": "common"},
    "mixture, private words": {"name": "mixture", "vocabulary": "weighted"},
    "variational, common words": {"name": "variational", "vocabulary": "common"},
    "variational, private words": {"name": "variational", "vocabulary": "weighted"},
    "spectral, private words": {"name": "spectral", "vocabulary": "weighted"},
    "laplace on the output, common words": {"name": "laplace", "vocabulary": "common"},
    "zhu, private words": {"name": "zhu", "vocabulary": "weighted"},
}
# For comparison: one seed, three ε, documents only.
SLOW = (
    "embedded, common words",
    "variational, common words",
    "spectral, private words",
    "laplace on the output, common words",
    "zhu, private words",
)


class Data:
    """A corpus with labels, and the same with a tenth of its documents taken out."""

    def __init__(self, folder: Path, name: str) -> None:
        file, self.n_topics, label, users = CORPORA[name]
        table = pq.read_table(folder / f"{file}.parquet")
        self.name = name
        self.texts = [text or "" for text in table["text"].to_pylist()]
        self.labels = None if label is None else [str(value) for value in table[label].to_pylist()]
        authors = None
        if users:  # a row without a user is a user of its own
            authors = [user or f"row {row}" for row, user in enumerate(table["user"].to_pylist())]
        self.corpus = Corpus.from_texts(self.texts, authors)
        held = np.arange(self.corpus.n_documents) % 10 == 9
        self.held_out = self.corpus.take(np.flatnonzero(held))
        self.rest = self.corpus.take(np.flatnonzero(~held))

    def matrix(self, vocabulary: Vocabulary) -> Any:
        counts = self.corpus.counts(vocabulary)
        shape = (self.corpus.n_documents, len(vocabulary))
        return sparse.csr_array((counts.count, counts.word, counts.doc_start), shape=shape)


def measured(data: Data, tops: list[list[str]], main: np.ndarray, **more: Any) -> dict[str, Any]:
    coherence = npmi(data.corpus, tops)
    found = {
        "npmi": float(coherence.mean()),
        "diversity": diversity(tops),
        "nmi": None if data.labels is None else float(normalized_mutual_info_score(data.labels, main)),
        "topics": len(tops),
    }
    return found | more


def private(data: Data, kind: str, unit_: Unit, epsilon: float, seed: int, model: Embedding | None) -> dict[str, Any]:
    settings = {"text": TextSettings()} | PRIVATE[kind]
    mechanism = Plan.topics(
        mechanism=settings.pop("name"),
        n_topics=data.n_topics,
        epsilon=epsilon,
        delta=DELTA,
        unit=unit_,
        embedding=model,
        **settings,
    ).build()
    bounded = data.corpus.bounded(unit=unit_)
    start = time.perf_counter()
    found: TopicModel = mechanism(bounded, np.random.default_rng(seed)).value
    seconds = time.perf_counter() - start
    if found.space is not None and not found.space.of_words:
        assert data.corpus.vectors is not None
        space = found.space
        places = projected(data.corpus.vectors, space.mean, space.projection, space.middle)
        main = space.shares(places).argmax(axis=1)
    else:
        main = found.transform_counts(data.matrix(found.vocabulary)).argmax(axis=1)
    sure = [len(words) for words in found.top_words(10, min_deviations=2.0)]
    result = measured(
        data,
        found.top_words(10),
        main,
        seconds=seconds,
        topics_of_8_sure_words=sum(n >= 8 for n in sure),
        words=len(found.vocabulary),
    )
    if seed == 0 and (found.space is None or found.space.of_words):  # one more run, on nine tenths
        again = mechanism(data.rest.bounded(unit=unit_), np.random.default_rng(seed)).value
        found_there = perplexity(data.held_out, again)
        result["perplexity"] = found_there if np.isfinite(found_there) else None
    return result


def plain_words(data: Data) -> Vocabulary:
    """Words of at least ten documents: what people do who need no privacy."""
    seen = np.bincount(data.corpus.word, minlength=len(data.corpus.words))
    return Vocabulary.of(data.corpus.words[i] for i in np.flatnonzero(seen >= 10).tolist())


def plain_topics(data: Data, topics: np.ndarray, vocabulary: Vocabulary, seconds: float) -> dict[str, Any]:
    model = TopicModel(
        topic_word=topics, vocabulary=vocabulary, topic_share=np.full(len(topics), 1 / len(topics)), alpha=0.1
    )
    main = model.transform_counts(data.matrix(vocabulary)).argmax(axis=1)
    return measured(data, model.top_words(10), main, seconds=seconds)


def without_privacy(data: Data, kind: str, seed: int) -> dict[str, Any]:
    vocabulary, start = plain_words(data), time.perf_counter()
    if kind == "embedding clusters, not private":
        words = common_words(TextSettings())
        counts = data.corpus.counts(words)
        space = of_words(words, embedding(), TextSettings(), 256)
        places = mean_of_words(counts.doc_start, counts.word, counts.count, space.word_means, np.zeros(256))
        main = KMeans(data.n_topics, n_init=3, random_state=seed).fit_predict(unit(places - places.mean(axis=0)))
        used = data.matrix(words) > 0
        share = np.array([np.asarray(used[main == k].sum(axis=0)).ravel() for k in range(data.n_topics)], float)
        score = share * np.log1p(share.sum() / data.n_topics / (share.sum(axis=0) + 1))  # BERTopic's c-TF-IDF
        tops = [[words.words[w] for w in row] for row in np.argsort(-score, axis=1)[:, :10]]
        return measured(data, tops, main, seconds=time.perf_counter() - start)
    counts = data.corpus.counts(vocabulary)
    learners: dict[str, Callable[[], np.ndarray]] = {
        "LDA (ours, Gibbs), not private": lambda: learn(GibbsLda(n_topics=data.n_topics, key=seed), counts),
        "LDA (tomotopy), not private": lambda: learn(
            TomotopyLearner(model="LDAModel", n_topics=data.n_topics, settings={"seed": seed + 1}), counts
        ),
        "LDA (scikit-learn), not private": lambda: _sklearn(data, vocabulary, seed),
    }
    return plain_topics(data, learners[kind](), vocabulary, time.perf_counter() - start)


def _sklearn(data: Data, vocabulary: Vocabulary, seed: int) -> np.ndarray:
    lda = LatentDirichletAllocation(data.n_topics, learning_method="online", random_state=seed)
    weights = lda.fit(data.matrix(vocabulary)).components_
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


PLAIN = (
    "embedding clusters, not private",
    "LDA (ours, Gibbs), not private",
    "LDA (tomotopy), not private",
    "LDA (scikit-learn), not private",
)
TELLING = (1.0, 3.0, 8.0)
Cell = tuple[str, str, Unit, float | None, int]


def cells(name: str, quick: bool, minilm: bool) -> Iterator[Cell]:
    """What to compute for one corpus."""
    epsilons, seeds = (TELLING, 1) if quick else (EPSILONS, SEEDS)
    units = (Unit.DOCUMENT, Unit.AUTHOR) if CORPORA[name][3] and not quick else (Unit.DOCUMENT,)
    for unit_ in units:
        for epsilon in epsilons:
            for kind in PRIVATE:
                skip = kind in SLOW and (quick or unit_ is Unit.AUTHOR or epsilon not in TELLING)
                for seed in range(0 if skip else 1 if kind in SLOW else seeds):
                    yield name, kind, unit_, epsilon, seed
            if minilm and unit_ is Unit.DOCUMENT:
                yield from ((name, "embedded, MiniLM", unit_, epsilon, seed) for seed in range(seeds))
    yield from ((name, kind, Unit.DOCUMENT, None, seed) for kind in PLAIN for seed in range(seeds))


def turn(cell: Cell) -> int:
    """The most telling first: one seed of three ε, then of the others, then more seeds."""
    _, _, _, epsilon, seed = cell
    return 2 if seed else 0 if epsilon is None or epsilon in TELLING else 1


class Loaded:
    """The corpus at hand, and the model for it."""

    def __init__(self, folder: Path, name: str, minilm: Path | None, vectors: Path) -> None:
        self.data, self.model = Data(folder, name), None
        if minilm is not None and name == MINILM:
            self.model = cached(embedding(f"sentence-transformers:{minilm}"), vectors)
            self.data.corpus = self.data.corpus.with_vectors(self.model(self.data.texts))

    def compute(self, cell: Cell) -> dict[str, Any]:
        _, kind, unit_, epsilon, seed = cell
        try:
            if epsilon is None:
                return without_privacy(self.data, kind, seed)
            if kind == "embedded, MiniLM":
                PRIVATE.setdefault(kind, {"name": "embedded"})
                return private(self.data, kind, unit_, epsilon, seed, self.model)
            return private(self.data, kind, unit_, epsilon, seed, None)
        except DptopicsError as error:  # nothing cleared the threshold, say
            return {"failed": str(error)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--minilm", type=Path, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--vectors", type=Path, default=RESULTS / "minilm.vectors", help="cache of its vectors")
    parser.add_argument("--only", nargs="+", choices=CORPORA, help="some of the corpora")
    parser.add_argument("--draw", action="store_true", help="only write the table and the plot of what is there")
    arguments = parser.parse_args()
    path = RESULTS / "utility.json"
    done: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    names = arguments.only or (["20 Newsgroups", "BBC News"] if arguments.quick else list(CORPORA))
    wanted = [c for name in names for c in cells(name, arguments.quick, bool(arguments.minilm) and name == MINILM)]
    loaded: Loaded | None = None
    for cell in [] if arguments.draw else sorted(wanted, key=turn):
        key = " | ".join(str(part) for part in cell)
        if key in done:
            continue
        if loaded is None or loaded.data.name != cell[0]:
            loaded = Loaded(arguments.data, cell[0], arguments.minilm, arguments.vectors)
        done[key] = found = loaded.compute(cell)
        path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n")
        shown = {k: round(v, 3) for k, v in found.items() if isinstance(v, float)}
        print(key, found.get("topics"), shown or found, flush=True)
    write(done)


if __name__ == "__main__":
    main()
