"""The Gibbs privacy monitor beside the plain sampler, one core, in turns: time of a sweep with and without it.

Both levels (word and document) are watched in the same sweep. --data: folder with kos_bow.parquet (K = 50, the 1,000
most frequent words); without it, a synthetic corpus of the same size.
"""

import argparse
import os
import time
from collections import Counter
from pathlib import Path

import numpy as np

from dptopics import Corpus
from dptopics.audit.monitor import monitor_gibbs
from dptopics.core.counts import Counts
from dptopics.kernels.gibbs_monitor import monitored_sweep
from dptopics.learners.lda import GibbsLda
from results import bar, save

TOPICS, WORDS = 50, 1000


def kos(folder: Path) -> Counts:
    import pyarrow.parquet as pq
    from scipy import sparse

    table = pq.read_table(folder / "kos_bow.parquet").to_pydict()
    frequency: Counter[str] = Counter()
    for words, counts in zip(table["words"], table["counts"], strict=True):
        frequency.update(dict(zip(words, counts, strict=True)))
    chosen = sorted(word for word, _ in frequency.most_common(WORDS))
    index = {word: i for i, word in enumerate(chosen)}
    rows = [
        [(d, index[w], n) for w, n in zip(words, counts, strict=True) if w in index]
        for d, (words, counts) in enumerate(zip(table["words"], table["counts"], strict=True))
    ]
    entries = np.array([entry for row in rows for entry in row])
    matrix = sparse.csr_array((entries[:, 2], (entries[:, 0], entries[:, 1])), shape=(len(rows), WORDS))
    return Corpus.from_counts(matrix, chosen).counts()


def synthetic() -> Counts:
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
    rows = [rng.multinomial(rng.poisson(85) + 1, rng.dirichlet(np.full(TOPICS, 0.1)) @ topics) for _ in range(3430)]
    return Corpus.from_counts(np.array(rows), [f"w{i}" for i in range(WORDS)]).counts()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sweeps", type=int, default=60)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    counts = synthetic() if arguments.data is None else kos(arguments.data)
    learner = GibbsLda(n_topics=TOPICS, sweeps=2)
    monitor_gibbs(counts, learner)  # compile both
    learner(counts)
    plain, watched, seeds = learner.begin(counts), learner.begin(counts), learner.seeds(counts)
    removed = np.array([1, int(np.diff(plain.start).max())], np.int64)
    loss = np.zeros((2, plain.word.size))
    without, with_monitor = [], []
    for sweep in range(arguments.sweeps):  # in turns, so that both see the same machine
        begin = time.perf_counter()
        learner.sweep(plain, seeds, sweep)
        without.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        monitored_sweep(
            watched.start, watched.word, watched.topic, watched.word_topic, watched.topic_total,
            learner.alpha, learner.beta, TOPICS, seeds, sweep, removed, loss,
        )  # fmt: skip
        loss.max(axis=1)
        with_monitor.append(time.perf_counter() - begin)
    assert np.array_equal(plain.topic, watched.topic)
    ratio = float(np.median(with_monitor) / np.median(without))
    print(
        f"{plain.word.size:,} tokens, K = {TOPICS}: {np.median(without):.4f} s a sweep, {np.median(with_monitor):.4f}"
    )
    save(
        "monitor",
        [
            {
                "tokens": int(plain.word.size),
                "n_topics": TOPICS,
                "seconds_per_sweep": float(np.median(without)),
                "monitored_seconds_per_sweep": float(np.median(with_monitor)),
                "bars": [bar("Monitored sweep over plain sweep", ratio, 2.5, unit="times", at_least=False)],
            }
        ],
    )


if __name__ == "__main__":
    main()
