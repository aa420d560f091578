"""How far 1 % of liars move a topic: 100,000 reports of pairs at ε = 1 and 4, 20 topics of 200 words, with and without
clipping. Liars know everything that is public. Writes results/liars.json.

    python experiments/liars.py
"""

import json
import time
from pathlib import Path

import numpy as np
from store import note

from dptopics import Vocabulary
from dptopics.kernels.local_hash import buckets
from dptopics.local.hashing import ANSWER, HashedPair
from dptopics.local.inference import ClippedPairs

N, LIARS, TOPICS, WORDS, SEEDS = 100_000, 1_000, 20, 200, 1 << 16
CODE = (
    "experiments/liars.py",
    "src/dptopics/kernels/local_hash.py",
    "src/dptopics/local/hashing.py",
    "src/dptopics/local/inference.py",
)
TARGET = 0  # topic, and word in it


def honest(pair, rng):
    """Everybody has one of 20 topics, all alike, and one of its words, the first ones often."""
    topic = rng.integers(0, TOPICS, N - LIARS)
    word = np.minimum(rng.geometric(0.05, topic.size) - 1, WORDS - 1)
    return pair.hash.send(topic * WORDS + word, rng)


def one_word(pair, rng):
    """Liars who send the true bucket of one pair, without noise."""
    lies = np.empty(LIARS, ANSWER)
    lies["seed"] = rng.integers(0, 2**63, LIARS)
    lies["bucket"] = buckets(lies["seed"], np.full(LIARS, TARGET), pair.hash.n_buckets)
    return lies


def chosen_seed(pair, rng):
    """Liars who try 65,536 seeds for the bucket that holds most words of the topic. One search serves them all."""
    seeds = rng.integers(0, 2**63, SEEDS).astype(np.uint64)
    best, found = np.zeros(SEEDS, np.int64), np.zeros(SEEDS, np.int64)
    counts = np.zeros((SEEDS, pair.hash.n_buckets), np.int16)
    for word in range(WORDS):
        np.add.at(counts, (np.arange(SEEDS), buckets(seeds, np.full(SEEDS, word), pair.hash.n_buckets)), 1)
    best, found = counts.argmax(axis=1), counts.max(axis=1)
    order = np.argsort(found)[::-1][:LIARS]
    lies = np.empty(LIARS, ANSWER)
    lies["seed"], lies["bucket"] = seeds[order], best[order]
    return lies


def main():
    rng, rows, begin = np.random.default_rng(0), [], time.perf_counter()
    words = Vocabulary(tuple(f"w{i:04}" for i in range(WORDS)))
    for epsilon in (1.0, 4.0):
        pair = HashedPair(vocabulary=words, topics=tuple((f"w{k:04}",) for k in range(TOPICS)), epsilon=epsilon)
        truth = honest(pair, rng)
        for name, lie in (("nobody lies", None), ("one word", one_word), ("chosen seeds", chosen_seed)):
            answers = truth if lie is None else np.concatenate([truth, lie(pair, rng)])
            for clip in (None, 2.0, 1.0):
                counts = pair if clip is None else ClippedPairs(pair, clip)
                table = counts.table(answers) / N
                unlimited = (WORDS * (1 - 1 / pair.hash.n_buckets)) / (pair.hash.keep - 1 / pair.hash.n_buckets)
                bound = unlimited if clip is None else counts.topic_influence
                rows.append({
                    "epsilon": epsilon, "liars": name, "clip": clip, "topic_share": float(table[TARGET].sum()),
                    "word_share": float(table[TARGET, TARGET]), "bound_on_topic": bound * LIARS / N,
                    "others_deviation": float(np.std(table[1:].sum(axis=1))),
                })  # fmt: skip
                print(rows[-1])
    settings = {"reports": N, "liars": LIARS, "topics": TOPICS, "words": WORDS, "seeds_tried": SEEDS}
    path = Path(__file__).parent / "results" / "liars.json"
    path.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n")
    minutes = max((time.perf_counter() - begin) / 60, 0.1)
    note(path.name, code=CODE, command="python experiments/liars.py", minutes=minutes)


if __name__ == "__main__":
    main()
