"""Ramadan, Withers & Orr 2021 at the paper's size: figure 6 with 1.2 million users, table 1 with 4.

    python experiments/ngrams_more.py --data FOLDER [--part figure6 table1 bigrams]

Also bigrams. Authors, lists and tuned settings are those of ngrams.py, which must have run
before. Each part has a file of its own, results/ngrams_PART.json; a second run goes on where the first stopped.
6 GB of memory for the table. All numbers are computed from the texts, with seeded noise: NOT FOR RELEASE.
"""

import argparse
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from store import made

from dptopics import Corpus, Unit
from dptopics.data.bounded import BoundedCorpus
from dptopics.plan import Plan
from dptopics.published.ngrams import Units, noisy_softmax, posterior_mean
from ngrams import CODE as CODE_OF_ALL
from ngrams import DELTA, FOLDER, LIST, PATH, Study, paper_limits

COMMAND = "python experiments/ngrams_more.py --data FOLDER --part"
CODE = (*CODE_OF_ALL, "experiments/ngrams_more.py", "src/dptopics/release/ngrams.py")
USERS, PAIRS, FEWER = 1_200_000, 200, 40  # fewer where a posterior is computed for every release
ATTACKED = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
OURS_TOO = (1.0, 5.0, 10.0, 100.0)  # bayes is not in the paper's figure
TUNED = 1_000_000  # S and ρ were tuned on so many authors of 20 Newsgroups, for ε up to 5


class More(Study):
    """The same study with a file of its own; what was tuned is read from the other one."""

    def __init__(self, data: Path, path: Path) -> None:
        super().__init__(data, path)
        before = [row for row in json.loads(PATH.read_text("utf-8")) if row["part"] == "tuning"]
        self.known = {self.key(row) for row in before}
        self.rows += before
        self.done |= self.known

    def keep(self, row: dict[str, object], **found: object) -> None:
        self.rows.append(row | found)
        self.done.add(self.key(row))
        own = [one for one in self.rows if self.key(one) not in self.known]
        self.path.write_text(json.dumps(own, indent=0) + "\n", "utf-8")
        print(row | found, flush=True)

    def figure6(self) -> None:
        """How often the attack is right, 1.2 million synthetic authors, 50,000 trigrams, by ε."""
        public = self.shorter(LIST)
        wide, most = paper_limits(USERS)
        pair = Pair(self.crowd(USERS, public), wide, most)
        tuned = self.settings(TUNED, public)
        for epsilon in ATTACKED:
            common = {"epsilon": epsilon, "delta": DELTA, "unit": Unit.AUTHOR, "prior": public}
            _, slope, weight = tuned[str(min(epsilon, 5.0))]
            published = Plan.ngrams(mechanism="bayes-published", **common).build()
            laplace = Plan.ngrams(mechanism="laplace", max_total=wide, max_count=most, **common).build()
            bayes = Plan.ngrams(mechanism="bayes", max_words=self.limit, **common).build()

            def local(side: int, rng: np.random.Generator, at: Any = (slope, weight, published.sigma)) -> Any:
                s, w, sigma = at
                mean = posterior_mean(pair.tally(side), public.counts, slope=s, weight=w, max_count=most)
                return noisy_softmax(mean, w * pair.moved(side, s), sigma, rng)

            def released(mechanism: Any) -> Any:
                return lambda side, rng: mechanism(pair.summed[side], rng).value.probability

            series = {
                "BayesianDP (claimed)": local,
                "laplace, W of the paper (proved)": released(laplace),
            } | ({"bayes (proved)": released(bayes)} if epsilon in OURS_TOO else {})
            for name, release in series.items():
                if (row := self.place("6", "1.2 million synthetic", name, epsilon, None)) is not None:
                    repeats = FEWER if name.startswith("bayes") else PAIRS
                    self.keep(row, probability=pair.right(release, repeats, self.rng(row)), repeats=repeats)


class Summed:
    """A bounded corpus that keeps its exact sums: mechanisms that look at nothing else draw their noise anew."""

    def __init__(self, corpus: BoundedCorpus) -> None:
        self._corpus = corpus
        self._sums: dict[str, Any] = {}
        self._limited: dict[str, Summed] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._corpus, name)

    def limited(self, **limits: Any) -> "Summed":
        key = repr(limits)
        if key not in self._limited:
            self._limited[key] = Summed(self._corpus.limited(**limits))
        return self._limited[key]

    def bounded_sum(self, statistic: Any, **how: Any) -> Any:
        key = repr((statistic, sorted(how.items())))
        if key not in self._sums:
            self._sums[key] = self._corpus.bounded_sum(statistic, **how)
        return self._sums[key].copy()


class Pair:
    """The corpus, and the same without the author who has the most n-grams: what both attacks of section 5 compare."""

    def __init__(self, corpus: Corpus, max_words: int, max_count: int) -> None:
        counts = corpus.counts(corpus.vocabulary)  # in the order of the list; one document for each author
        total = np.concatenate([[0], np.cumsum(counts.count, dtype=np.int64)])
        target = int(np.argmax(np.diff(total[counts.doc_start])))
        mine = slice(*counts.doc_start[target : target + 2])
        self.own = np.bincount(counts.word[mine], weights=counts.count[mine], minlength=counts.n_words)
        self.own = self.own / self.own.sum()
        others = corpus.take(np.flatnonzero(np.arange(corpus.n_documents) != target))
        bounded = [one.bounded() for one in (corpus, others)]
        self.summed = [Summed(one) for one in bounded]
        units = [Units(one.limited(max_words=max_words), max_count) for one in bounded]
        self.tally = cache(lambda side: units[side].tally())
        self.moved = cache(lambda side, slope: units[side].log_sensitivity(self.tally(side), slope))

    def right(self, release: Any, repeats: int, rng: np.random.Generator) -> float:
        """The share of pairs in which the release with the author is nearer to that author; ties count one half."""
        there, found = self.own > 0, 0.0
        for _ in range(repeats):
            with np.errstate(divide="ignore"):
                near, far = (-float(self.own[there] @ np.log(release(side, rng)[there])) for side in (0, 1))
            found += 1.0 if near < far else 0.5 if near == far else 0.0
        return found / repeats


PARTS = {"figure6": More.figure6, "bigrams": More.part_bigrams, "table1": More.part_table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    print("NOT FOR RELEASE: computed from the texts, with seeded noise.")
    files = [arguments.data / f"{name}.parquet" for name in ("reddit_college", "public_english", "google_bigrams")]
    for part in arguments.part:
        name = f"ngrams_{part}.json"
        with made(name, code=CODE, command=f"{COMMAND} {part}", inputs=[*files, PATH]):
            PARTS[part](More(arguments.data, FOLDER / name))


if __name__ == "__main__":
    main()
