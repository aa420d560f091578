"""Figure 6 of Ramadan, Withers & Orr 2021 with real authors, and the noise of algorithm 1 as it is printed.

    python experiments/ngrams_real.py --data FOLDER

The 60,000 authors of reddit_college over 50,000 trigrams of public_english, with the limits that the paper has for 1.2
million users: W = 1,200, C = 10. The attack compares a release with the author who has the most trigrams with one
without, as in ngrams_more.py. BayesianDP has ρ = 0.5, two slopes, and the Gaussian noise of definition 4; sensitivities
are by brute force. A few minutes; results go to results/ngrams_real.json, and a second run goes on where the first
stopped. All numbers are computed from the texts, with seeded noise: NOT FOR RELEASE.
"""

import argparse
from itertools import product
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from ngrams_more import PAIRS, Pair
from store import made

from dptopics import Corpus, Unit
from dptopics.plan import Plan
from dptopics.published.ngrams import Units, noisy_softmax, posterior_mean
from ngrams import CODE as CODE_OF_ALL
from ngrams import DELTA, FOLDER, LIST, Study, paper_limits

COMMAND = "python experiments/ngrams_real.py --data FOLDER"
CODE = (*CODE_OF_ALL, "experiments/ngrams_more.py", "experiments/ngrams_real.py", "src/dptopics/release/ngrams.py")
LIMITS = (1_200, 10)  # W and C for 1.2 million users
EPSILONS = (2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 100.0)
STEEP = (1e-3, 1e-2)
RHO = 0.5
SLOPES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)


def classical(epsilon: float) -> float:
    """Noise of definition 4, √(2 ln(1.25/δ))/ε; made for ε < 1, and used beyond."""
    return sqrt(2 * log(1.25 / DELTA)) / epsilon


def one_each(corpus: Corpus) -> Corpus:
    """The same authors with all their n-grams in one document."""
    assert corpus.author is not None
    assert corpus.author_key is not None
    counts = corpus.counts(corpus.vocabulary)
    author = np.repeat(corpus.author.astype(np.int64), np.diff(counts.doc_start))
    key, place = np.unique(author * counts.n_words + counts.word, return_inverse=True)
    start = np.searchsorted(key // counts.n_words, np.arange(corpus.n_authors + 1))
    return Corpus(
        doc_start=start.astype(np.int64),
        word=(key % counts.n_words).astype(np.int32),
        count=np.bincount(place, weights=counts.count).astype(np.int32),
        words=corpus.vocabulary.words,
        author=np.arange(corpus.n_authors, dtype=np.int32),
        author_key=corpus.author_key,
        vocabulary=corpus.vocabulary,
        text=corpus.text,
    )


def released_by(mechanism: Any, pair: Pair) -> Any:
    return lambda side, rng: mechanism(pair.summed[side], rng).value.probability


def figure6(study: Study) -> None:
    """How often the attack is right, by ε."""
    public = study.shorter(LIST)
    wide, most = LIMITS
    pair = Pair(one_each(study.read("reddit_college", public.vocabulary)), wide, most)
    for epsilon in EPSILONS:
        for slope in STEEP:

            def local(side: int, rng: np.random.Generator, at: tuple[float, float] = (slope, epsilon)) -> np.ndarray:
                mean = posterior_mean(pair.tally(side), public.counts, slope=at[0], weight=RHO, max_count=most)
                return np.asarray(noisy_softmax(mean, RHO * pair.moved(side, at[0]), classical(at[1]), rng))

            if (row := study.place("6", "reddit_college", "BayesianDP (claimed)", epsilon, slope)) is not None:
                study.keep(row, probability=pair.right(local, PAIRS, study.rng(row)), repeats=PAIRS)
        row = study.place("6", "reddit_college", "laplace, W of the paper (proved)", epsilon, None)
        if row is not None:
            common = {"epsilon": epsilon, "delta": DELTA, "unit": Unit.AUTHOR, "prior": public}
            laplace = Plan.ngrams(mechanism="laplace", max_total=wide, max_count=most, **common).build()
            study.keep(row, probability=pair.right(released_by(laplace, pair), PAIRS, study.rng(row)), repeats=PAIRS)


def noise_as_printed(study: Study) -> None:
    """The largest change that removing one author makes, and what line 9 of algorithm 1 computes for it."""
    public = study.shorter(LIST)
    corpus = None
    for (wide, most), slope in product((paper_limits(60_000), LIMITS), SLOPES):
        if (row := study.place("algorithm 1", "reddit_college", "noise", None, [wide, most, slope])) is not None:
            corpus = corpus or one_each(study.read("reddit_college", public.vocabulary))
            units = Units(corpus.bounded().limited(max_words=wide), most).kept()
            tally = units.tally()
            found = {
                name: units.log_sensitivity(tally, slope, printed=name == "printed") for name in ("true", "printed")
            }
            study.keep(row, **found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    print("NOT FOR RELEASE: computed from the texts, with seeded noise.")
    path = FOLDER / "ngrams_real.json"
    files = [arguments.data / f"{name}.parquet" for name in ("reddit_college", "public_english")]
    with made(path.name, code=CODE, command=COMMAND, inputs=files):
        study = Study(arguments.data, path)
        noise_as_printed(study)
        figure6(study)


if __name__ == "__main__":
    main()
