"""ζ against SciPy's SLSQP per (document, model), and a whole attack with 128 shadows (--data folder).

SLSQP is used as the authors of the attack use it: per document, without a gradient.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.optimize import minimize

from dptopics import Corpus, Vocabulary
from dptopics.audit.membership.models import of_learner
from dptopics.audit.membership.rates import STATISTICS, document_statistics, train_shadows
from dptopics.audit.membership.scores import attack, threshold_attack
from dptopics.core.counts import Counts
from dptopics.learners.lda import GibbsLda
from results import bar, save


def tweets(folder: Path) -> Counts:
    return Corpus.from_table(folder / "tweet_rumours.parquet", text="text").counts()


def newsgroups(folder: Path) -> Counts:
    corpus = Corpus.from_table(folder / "newsgroups20.parquet", text="text")
    documents = np.bincount(corpus.word, minlength=len(corpus.words))
    return corpus.counts(Vocabulary.of(w for w, n in zip(corpus.words, documents, strict=True) if n >= 10))


def nips(folder: Path) -> Counts:
    table = pq.read_table(folder / "nips_bow.parquet")
    words = sorted({w for row in table["words"].to_pylist() for w in row})
    index = {w: i for i, w in enumerate(words)}
    rows, columns, values = [], [], []
    for d, (names, numbers) in enumerate(zip(table["words"].to_pylist(), table["counts"].to_pylist(), strict=True)):
        rows += [d] * len(names)
        columns += [index[w] for w in names]
        values += numbers
    from scipy import sparse

    matrix = sparse.csr_array((values, (rows, columns)), shape=(table.num_rows, len(words)))
    return Corpus.from_counts(matrix, words).counts()


def slsqp(words: np.ndarray, numbers: np.ndarray, topics: np.ndarray) -> float:
    p, k = topics[:, words], topics.shape[0]
    best = minimize(
        lambda theta: -numbers @ np.log(np.maximum(theta @ p, 1e-300)),
        np.full(k, 1 / k),
        method="SLSQP",
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda theta: theta.sum() - 1},
    )
    return float(-best.fun)


def speed(name: str, counts: Counts, n_topics: int, needed: float) -> dict[str, object]:
    topics = GibbsLda(n_topics=n_topics, sweeps=50)(counts)
    some = counts.take(np.random.default_rng(0).choice(counts.n_documents, 300, replace=False))
    document_statistics(some.take(np.arange(2)), topics)  # compile
    begin = time.perf_counter()
    ours = document_statistics(some, topics)[:, 0]
    seconds = (time.perf_counter() - begin) / some.n_documents
    n = 40
    begin = time.perf_counter()
    theirs = [
        slsqp(some.word[a:b], some.count[a:b].astype(float), topics)
        for a, b in zip(some.doc_start[:n], some.doc_start[1 : n + 1], strict=True)
    ]
    peer = (time.perf_counter() - begin) / n
    short = max((t - o) / max(1.0, abs(t)) for o, t in zip(ours, theirs, strict=False))
    print(f"{name}: ζ {seconds * 1e6:.0f} µs per document and model, SLSQP {peer * 1e3:.1f} ms; shortfall {short:.1e}")
    return {
        "corpus": name,
        "seconds": seconds,
        "slsqp_seconds": peer,
        "largest_relative_shortfall": short,
        "bars": [bar(f"{name}, ζ over SLSQP", peer / seconds, needed, unit="times", at_least=True)],
    }


def whole_attack(name: str, counts: Counts, n_topics: int, needed: float) -> dict[str, object]:
    learner = GibbsLda(n_topics=n_topics, alpha=1 / n_topics, beta=1 / n_topics, sweeps=100)
    begin, processor = time.perf_counter(), time.process_time()
    shadows = train_shadows(of_learner(learner, counts), counts, n_shadows=128)
    attacks = [attack(shadows, targets=10), attack(shadows, targets=10, online=False)]
    attacks += [attack(shadows, targets=10, statistics=[s]) for s in STATISTICS[1:]]
    attacks += [attack(shadows, targets=10, statistics=STATISTICS)]
    attacks += [threshold_attack(shadows, s, targets=10) for s in STATISTICS[1:]]
    seconds, processor = time.perf_counter() - begin, time.process_time() - processor
    for a in attacks:
        print(f"  {a.name}: TPR {a.true_positive_rate(0.001):.3f} at 0.1 % FPR, AUC {a.area():.3f}")
    result = bar(f"{name}, a whole attack with 128 shadows", seconds, needed, unit="s", at_least=False)
    rates = [{"attack": a.name, "tpr_at_0.1%_fpr": a.true_positive_rate(0.001), "auc": a.area()} for a in attacks]
    print(f"  {processor:.0f} s of processors")
    return {
        "corpus": name,
        "not_for_release": True,
        "rates": rates,
        "processor_seconds": processor,
        "bars": [result],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--nips-attack", action="store_true", help="also the whole attack on NIPS, about two minutes")
    arguments = parser.parse_args()
    folder = arguments.data
    rows = [speed("tweets", tweets(folder), 5, 500), speed("20 Newsgroups", newsgroups(folder), 20, 50)]
    rows += [speed("NIPS", nips(folder), 10, 20)]
    rows += [whole_attack("tweets", tweets(folder), 5, 60)]
    if arguments.nips_attack:
        rows += [whole_attack("NIPS", nips(folder), 10, 120)]
    save("audit", rows)


if __name__ == "__main__":
    main()
