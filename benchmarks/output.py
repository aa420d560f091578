"""Sensitivity sampling (TopicDP's offline stage): dkw at γ = 0.1 on Enron, and the same sampler with gensim's LDA.

    python benchmarks/output.py --data FOLDER     (enron_full_body.parquet)

Gensim makes five passes, in processes instead of threads (it holds Python's lock), on the first tenth of the pairs;
ours as many passes as it needs to reach gensim's held-out likelihood, on the same pairs, in the same run.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from dptopics import Corpus, Vocabulary
from dptopics.core.counts import Counts
from dptopics.learners import Learner
from dptopics.learners.adapters import GensimLearner
from dptopics.learners.lda import VariationalLda
from dptopics.mechanisms.topics.output_matrix import Topics, units_of
from dptopics.mechanisms.topics.output_sensitivity import DrawnUnits, n_pairs, sample_sensitivity
from learners import held_out_bound
from results import bar, save

TOPICS, WORDS, DOCS, GAMMA = 10, 1000, 20, 0.1
PASSES, PEER_PASSES = 10, 5
STARTS = range(3)  # likelihoods are medians over so many starts


def lda(passes: int, key: int = 0) -> VariationalLda:
    return VariationalLda(n_topics=TOPICS, passes=passes, key=key)


def gensim(seed: int = 0) -> GensimLearner:
    return GensimLearner("LdaModel", TOPICS, {"passes": PEER_PASSES, "alpha": 0.1, "eta": 0.01, "random_state": seed})


def median(learners: list[Learner], train: Counts, test: Counts) -> tuple[float, float]:
    """Held-out bound per token and seconds, medians."""
    runs = []
    for learner in learners:
        begin = time.perf_counter()
        topics = learner(train)
        seconds = time.perf_counter() - begin
        runs.append((held_out_bound(test, topics), seconds))
    bound, seconds = np.median(runs, axis=0)
    return float(bound), float(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    corpus = Corpus.from_table(arguments.data / "enron_full_body.parquet", text="text", author="user")
    common = np.argsort(-np.bincount(corpus.word, minlength=len(corpus.words)), kind="stable")[:WORDS]
    vocabulary = Vocabulary.of([corpus.words[w] for w in common])
    units = units_of(corpus.bounded(max_docs=DOCS).limited(vocabulary=vocabulary))
    counts = units.counts
    print(f"{units.n} authors, {counts.n_documents} documents, {counts.count.sum():,} tokens, {WORDS} words")

    order = np.random.default_rng(0).permutation(counts.n_documents)
    train, test = counts.take(order[: -counts.n_documents // 10]), counts.take(order[-counts.n_documents // 10 :])
    lda(1)(train.take(np.arange(200)))  # compile
    goal, peer_fit = median([gensim(seed) for seed in STARTS], train, test)
    print(f"gensim, {PEER_PASSES} passes: held-out bound {goal:.4f} per token, {peer_fit:.2f} s a fit")
    for passes in range(1, 51):
        reached, fit = median([lda(passes, key) for key in STARTS], train, test)
        if reached >= goal:
            break
    print(f"ours, {passes} passes: {reached:.4f}, {fit:.2f} s a fit")

    def seconds(learner: Learner, **how: Any) -> float:
        """For the pairs asked for, start of the workers included."""
        return sample_sensitivity(Topics(learner, TOPICS), DrawnUnits(units), units.n, **how).seconds

    tenth: dict[str, Any] = {"gamma": 0.15, "sample_size": "binomial"}  # 29 pairs, the first of those of dkw
    peer, ours = seconds(gensim(), processes=True, **tenth), seconds(lda(passes), **tenth)
    print(f"{n_pairs(**tenth)} pairs: gensim {peer:.1f} s, ours {ours:.1f} s")
    whole = seconds(lda(PASSES), gamma=GAMMA, sample_size="dkw")
    row = {
        "authors": units.n,
        "documents": counts.n_documents,
        "tokens": int(counts.count.sum()),
        "pairs": n_pairs(GAMMA, "dkw"),
        "passes": PASSES,
        "seconds": whole,
        "tenth": {"pairs": n_pairs(**tenth), "passes": passes, "seconds": ours, "bound": reached},
        "gensim tenth": {"passes": PEER_PASSES, "seconds": peer, "bound": goal},
        "bars": [
            bar(f"dkw at γ = {GAMMA}, {n_pairs(GAMMA, 'dkw')} pairs", whole / 60, 10, unit="minutes", at_least=False),
            bar("  speed over gensim, same held-out likelihood", peer / ours, 10, unit="times", at_least=True),
        ],
    }
    save("output", [row])


if __name__ == "__main__":
    main()
