"""Private vocabularies of one million authors with 50 words each (Zipf over 200,000 words)."""

import time

import numpy as np

from dptopics import Corpus, secure_rng
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary, PolicyVocabulary
from dptopics.mechanisms.vocabulary.threshold import WeightedVocabulary
from results import bar, save

AUTHORS, WORDS, VOCABULARY = 1_000_000, 50, 200_000


def synthetic_corpus() -> Corpus:
    rng = np.random.default_rng(0)
    probability = 1.0 / np.arange(1, VOCABULARY + 1)
    cumulative = np.cumsum(probability / probability.sum())
    # Distinct words per author: draw 70, keep the first 50 distinct ones.
    word = np.empty((AUTHORS, WORDS), np.int32)
    for start in range(0, AUTHORS, 50_000):
        drawn = np.searchsorted(cumulative, rng.random((50_000, 3 * WORDS))).astype(np.int32)
        for row in range(drawn.shape[0]):
            distinct = np.unique(drawn[row])
            if distinct.size < WORDS:
                distinct = np.union1d(distinct, np.arange(WORDS, dtype=np.int32))
            word[start + row] = rng.permutation(distinct)[:WORDS]
    return Corpus(
        doc_start=np.arange(0, AUTHORS * WORDS + 1, WORDS, dtype=np.int64),
        word=word.reshape(-1),
        count=np.ones(AUTHORS * WORDS, np.int32),
        words=[f"w{i}" for i in range(VOCABULARY)],
        author=np.arange(AUTHORS, dtype=np.int32),
        author_key=rng.integers(0, 2**63, AUTHORS, dtype=np.uint64),
        vocabulary=None,
        text=None,
    )


# Mechanism, noise, and the seconds it may take. Sums run on all cores; units that see each other come one by one.
CASES = [
    (WeightedVocabulary, "gaussian", 60),
    (PolicyVocabulary, "gaussian", 120),
    (PolicyVocabulary, "laplace", 120),
    (GreedyVocabulary, "laplace", 120),
]


def main() -> None:
    corpus = synthetic_corpus()
    released, bars = {}, []
    for kind, noise, seconds in CASES:
        mechanism = kind.calibrated(epsilon=1.0, delta=1e-8, max_words=50, noise=noise)
        start = time.perf_counter()
        words = mechanism(corpus.bounded(), secure_rng()).value
        took = time.perf_counter() - start
        name = f"{kind.name} {noise}"
        released[name] = len(words)
        print(f"{name}: {len(words):,} words released")
        bars.append(
            bar(f"bounding and {name} vocabulary, 1 M authors × 50 words", took, seconds, unit="s", at_least=False)
        )
    save("vocabulary", {"released": released, "bars": bars})


if __name__ == "__main__":
    main()
