"""What the private topics are worth: 20 Newsgroups (--data) and the demo corpus, by ε. Author level.

Agreement (normalised mutual information) of each document's heaviest topic with its true label, and NPMI coherence
of the top ten words; scikit-learn's LDA without privacy in the same run. Not for release: computed from the texts.

The defaults (steps, averaging, share of the vocabulary) were chosen while looking at the first two corpora, so their
figures flatter us. Nothing was tuned on the third, PHEME threads.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.metrics import normalized_mutual_info_score

from dptopics import Corpus, PrivateTopics
from dptopics.evaluate import npmi
from dptopics.public.demo import demo_corpus
from results import save


def plain(corpus: Corpus, labels: list[str], n_topics: int) -> dict[str, object]:
    shape = (corpus.n_documents, len(corpus.words))
    counts = sparse.csr_array((corpus.count, corpus.word, corpus.doc_start), shape=shape)
    kept = np.flatnonzero(np.bincount(corpus.word, minlength=shape[1]) >= 20)
    lda = LatentDirichletAllocation(n_topics, learning_method="online", max_iter=10, random_state=0)
    shares = lda.fit_transform(counts[:, kept])
    words = [[corpus.words[kept[i]] for i in row] for row in np.argsort(-lda.components_, axis=1)[:, :10]]
    return report("scikit-learn LDA, not private", corpus, labels, shares, words, None)


def private(
    corpus: Corpus, texts: list[str], labels: list[str], n_topics: int, epsilon: float, delta: float
) -> dict[str, object]:
    start = time.perf_counter()
    model = PrivateTopics(n_topics=n_topics, epsilon=epsilon, delta=delta, mechanism="variational").fit(corpus)
    seconds = time.perf_counter() - start
    result = report(f"private, ε = {epsilon:g}", corpus, labels, model.transform(texts), model.top_words(10), seconds)
    return result | {"vocabulary": len(model.vocabulary_)}


def report(
    name: str, corpus: Corpus, labels: list[str], shares: object, words: list[list[str]], seconds: float | None
) -> dict[str, object]:
    agreement = float(normalized_mutual_info_score(labels, np.argmax(shares, axis=1)))
    coherence = float(npmi(corpus, words).mean())
    took = "" if seconds is None else f", {seconds:.1f} s"
    print(f"  {name}: NMI {agreement:.3f}, NPMI {coherence:.3f}{took}")
    for row in words:
        print("     ", " ".join(row))
    return {"name": name, "nmi": agreement, "npmi": coherence, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with newsgroups20.parquet and pheme_threads.parquet")
    arguments = parser.parse_args()
    results = {}
    demo = demo_corpus()
    corpora = {"demo": (demo.texts, demo.authors, demo.themes, 10, (1.0, 2.0, 4.0, 8.0))}
    if arguments.data:
        table = pq.read_table(arguments.data / "newsgroups20.parquet").to_pydict()
        threads = pq.read_table(arguments.data / "pheme_threads.parquet").to_pydict()
        corpora["PHEME threads, not tuned on"] = (
            threads["text"], threads["user"], threads["label"], 8, (1.0, 3.0, 8.0)
        )  # fmt: skip
        corpora["20 Newsgroups"] = (table["text"], table["user"], table["label"], 20, (1.0, 3.0, 8.0))
    for name, (texts, authors, labels, n_topics, epsilons) in corpora.items():
        print(f"{name}: {len(texts)} documents, {len(set(authors))} authors, {n_topics} topics")
        corpus = Corpus.from_texts(texts, authors)
        rows = [plain(corpus, labels, n_topics)]
        rows += [private(corpus, texts, labels, n_topics, epsilon, 1e-6) for epsilon in epsilons]
        results[name] = rows
    save("topics", results)


if __name__ == "__main__":
    main()
