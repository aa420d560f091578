"""N-grams at the paper's scale: 4.4 million synthetic authors, 100 contributions each, Zipf over 50,000 trigrams.

From arrays in memory to a release: bounding, counting, sensitivity by brute force and the posterior with noise
(BayesianDP as published), and the proved twin. At a quarter, a half and all of the authors, each in a process of its
own, to show that time is linear in contributions. Memory is the peak of the whole process, the arrays included.

    python benchmarks/ngrams.py            all sizes (about 9 GB free are needed)
    python benchmarks/ngrams.py --largest 0.25
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from dptopics import Corpus, Unit, Vocabulary
from dptopics.data.public_inputs import PublicNgrams
from dptopics.kernels.counts import count_tokens
from dptopics.plan import Plan
from results import bar, save

AUTHORS, CONTRIBUTIONS, LIST = 4_400_000, 100, 50_000
SHARES = (0.25, 0.5, 1.0)


def synthetic_corpus(authors: int) -> Corpus:
    """Each author draws 100 n-grams; repeats become counts."""
    rng = np.random.default_rng(0)
    probability = 1.0 / np.arange(1, LIST + 1)
    cumulative = np.cumsum(probability / probability.sum())
    # Arrays of the final size: pieces that are joined at the end would double the peak.
    start = np.zeros(authors + 1, np.int64)
    word = np.empty(authors * CONTRIBUTIONS, np.int32)
    count = np.empty(authors * CONTRIBUTIONS, np.int32)
    n = 0
    for first in range(0, authors, 50_000):
        size = min(50_000, authors - first)
        drawn = np.searchsorted(cumulative, rng.random(size * CONTRIBUTIONS)).astype(np.int32)
        lengths, words, counts = count_tokens(np.minimum(drawn, LIST - 1), np.full(size, CONTRIBUTIONS))
        word[n : n + words.size], count[n : n + words.size] = words, counts
        start[first + 1 : first + size + 1] = n + np.cumsum(lengths)
        n += words.size
    word.resize(n, refcheck=False)
    count.resize(n, refcheck=False)
    listed = Vocabulary(tuple(f"t{i:05}" for i in range(LIST)))
    return Corpus(
        doc_start=start,
        word=word,
        count=count,
        words=listed.words,
        author=np.arange(authors, dtype=np.int32),
        author_key=rng.integers(0, 2**63, authors, dtype=np.uint64),
        vocabulary=listed,
        text=None,
    )


def one_size(authors: int) -> dict[str, float]:
    """Seconds and peak memory at one size, in this process."""
    common = {"epsilon": 1.0, "delta": 1e-8, "unit": Unit.AUTHOR, "max_words": CONTRIBUTIONS}
    small = synthetic_corpus(2000)  # compile the kernels first
    public = PublicNgrams(small.vocabulary, 1e6 / np.arange(1, LIST + 1))
    plans = {name: Plan.ngrams(mechanism=name, prior=public, **common).build() for name in ("bayes-published", "bayes")}
    rng = np.random.default_rng(0)
    for plan in plans.values():
        plan(small.bounded(), rng)
    corpus = synthetic_corpus(authors)
    clock, spent = time.perf_counter(), time.process_time()
    bounded = corpus.bounded(max_words=CONTRIBUTIONS)
    seconds = {"authors": float(authors), "entries": float(corpus.word.size), "bounding": time.perf_counter() - clock}
    for name, plan in plans.items():
        clock = time.perf_counter()
        plan(bounded, rng)
        seconds[name] = time.perf_counter() - clock
    seconds["processor"] = time.process_time() - spent  # of all of it, on all cores
    seconds["peak_gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=float, default=1.0, help="share of the authors to go up to")
    parser.add_argument("--authors", type=int, help="one size, in this process")
    arguments = parser.parse_args()
    if arguments.authors:
        print(json.dumps(one_size(arguments.authors)))
        return
    runs = []
    for share in SHARES:
        if share > arguments.largest:
            continue
        command = [sys.executable, __file__, "--authors", str(int(AUTHORS * share))]
        found = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(json.loads(found.stdout.splitlines()[-1]))
        print({name: round(value, 2) for name, value in runs[-1].items()}, flush=True)
    last = runs[-1]
    what = f"{last['authors'] / 1e6:.1f} M authors × {CONTRIBUTIONS} contributions"
    bars = [
        bar(f"bounding, counting, brute force and release, {what}", last["bounding"] + last["bayes-published"], 120,
            unit="s", at_least=False),
        bar(f"bounding, counting and the proved release, {what}", last["bounding"] + last["bayes"], 120, unit="s",
            at_least=False),
        bar(f"peak memory, {what}", last["peak_gigabytes"], 10, unit="GB", at_least=False),
    ]  # fmt: skip
    save("ngrams", {"runs": runs, "bars": bars})


if __name__ == "__main__":
    main()
