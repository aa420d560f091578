"""Figures 1 to 6 and table 1 of Ramadan, Withers & Orr 2021 on our data, with the sound twin beside.

Private: the Reddit authors of reddit_college (60,000), and synthetic authors in any number whose n-grams are drawn from
Reddit's own counts. Public: trigrams of public_english; for bigrams Google's counts. Settings that the paper tunes are
tuned on 20 Newsgroups (synthetic authors drawn from its counts, as many as in the figure), never on what is reported.
All numbers are computed from the texts, with seeded noise: NOT FOR RELEASE.

    python experiments/ngrams.py --data FOLDER              all parts; an hour or two on one core
    python experiments/ngrams.py --data FOLDER --part 1 6   some of them

FOLDER holds reddit_college, newsgroups20, public_english and google_bigrams (.parquet). Results are added to
results/ngrams.json as they come; a second run goes on where the first stopped.
"""

import argparse
import json
import zlib
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from store import made

from dptopics import Corpus, TextSettings, Unit, Vocabulary
from dptopics.audit.membership.ngrams import attack_most_contributing
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.public_inputs import PublicNgrams
from dptopics.kernels.counts import count_tokens
from dptopics.plan import Plan
from dptopics.published.ngrams import TUNINGS, Units, noisy_softmax, posterior_mean
from dptopics.release.ngrams import LanguageModel, NgramTable

FOLDER = Path(__file__).parent / "results"
PATH = FOLDER / "ngrams.json"
CODE = (
    "experiments/ngrams.py",
    "src/dptopics/audit/membership/ngrams.py",
    "src/dptopics/kernels/local_sensitivity.py",
    "src/dptopics/kernels/counts.py",
    "src/dptopics/mechanisms/ngrams/bayes.py",
    "src/dptopics/mechanisms/ngrams/laplace.py",
    "src/dptopics/mechanisms/ngrams/bayes.py",
    "src/dptopics/published/ngrams.py",
    "src/dptopics/published/ngrams.py",
    "src/dptopics/published/ngrams.py",
    "src/dptopics/published/ngrams.py",
    "src/dptopics/published/ngrams.py",
)
DELTA = 1e-7
LIST = 50_000
MILLIONS = 4_000_000
SLOPES = tuple(float(s) for s in np.logspace(-5, 1, 7))
WEIGHTS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
LIMITS = (5, 10, 20, 50, 100, 200)
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
LONG_LIST = 60_000
HELD_OUT = 10  # one in so many authors


def divergence(private: np.ndarray, released: np.ndarray) -> float:
    """KL(private ‖ released)."""
    there = private > 0
    with np.errstate(divide="ignore", over="ignore"):
        return float(private[there] @ (np.log(private[there]) - np.log(released[there])))


def shares(counts: np.ndarray) -> np.ndarray:
    return counts / counts.sum()


def totals(corpus: Corpus, size: int) -> np.ndarray:
    return np.bincount(corpus.word, weights=corpus.count, minlength=size)


def per_author(corpus: Corpus) -> np.ndarray:
    document = np.repeat(np.arange(corpus.n_documents), np.diff(corpus.doc_start))
    return np.bincount(corpus.author[document], weights=corpus.count, minlength=corpus.n_authors).astype(np.int64)


def synthetic(counts: np.ndarray, lengths: np.ndarray, authors: int, words: Vocabulary, seed: int) -> Corpus:
    """Authors with as many n-grams as real ones, drawn independently from real counts (half a count more each)."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(shares(counts + 0.5))
    sizes, word, count = [], [], []
    for start in range(0, authors, 200_000):
        length = rng.choice(lengths, min(200_000, authors - start))
        drawn = np.searchsorted(cumulative, rng.random(int(length.sum()))).astype(np.int32)
        part = count_tokens(np.minimum(drawn, counts.size - 1), length)
        for whole, piece in zip((sizes, word, count), part, strict=True):
            whole.append(piece)
    return Corpus(
        doc_start=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64),
        word=np.concatenate(word),
        count=np.concatenate(count),
        words=words.words,
        author=np.arange(authors, dtype=np.int32),
        author_key=rng.integers(0, 2**63, authors, dtype=np.uint64),
        vocabulary=words,
        text=TextSettings.for_ngrams(3),
    )


def paper_limits(authors: int) -> tuple[int, int]:
    """(W, C) of section 4.3: a thousandth of the authors; counts of 1 below a million authors, else 10."""
    return max(1, authors // 1000), 1 if authors < 1_000_000 else 10


class Study:
    """The data, the settings and the results of all parts."""

    def __init__(self, data: Path, path: Path) -> None:
        self.data, self.path = data, path
        self.rows: list[dict[str, object]] = json.loads(path.read_text("utf-8")) if path.exists() else []
        self.done = {self.key(row) for row in self.rows}
        self._arranged: dict[tuple[int, int], BoundedCorpus] = {}

    @staticmethod
    def key(row: dict[str, object]) -> str:
        return json.dumps([row.get(name) for name in ("part", "data", "series", "epsilon", "x", "repetition")])

    def place(self, part: str, data: str, series: str, epsilon: float | None, x: object, repetition: int = 0):  # type: ignore[no-untyped-def]
        """The row to fill in, or None if it is there already."""
        row = {"part": part, "data": data, "series": series, "epsilon": epsilon, "x": x, "repetition": repetition}
        return None if self.key(row) in self.done else row

    def keep(self, row: dict[str, object], **found: object) -> None:
        self.rows.append(row | found)
        self.done.add(self.key(row))
        self.path.write_text(json.dumps(self.rows, indent=0) + "\n", "utf-8")
        print(row | found, flush=True)

    def rng(self, row: dict[str, object]) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(self.key(row).encode()))

    # --- data ---

    @cached_property
    def public(self) -> PublicNgrams:
        return PublicNgrams.from_table(self.data / "public_english.parquet", text="text", n=3, size=LONG_LIST)

    def shorter(self, size: int) -> PublicNgrams:
        order = np.argsort(-self.public.counts, kind="stable")[:size]
        words = self.public.vocabulary.words
        return PublicNgrams.of({words[i]: float(self.public.counts[i]) for i in order})

    def read(self, name: str, words: Vocabulary, n: int = 3) -> Corpus:
        return Corpus.from_table(
            self.data / f"{name}.parquet",
            text="text",
            author="user",
            settings=TextSettings.for_ngrams(n),
            vocabulary=words,
            drop_missing=True,
        )

    @cached_property
    def reddit(self) -> Corpus:
        return self.read("reddit_college", self.public.vocabulary)

    @cached_property
    def tuning(self) -> Corpus:
        return self.read("newsgroups20", self.public.vocabulary)

    def rows_of(self, public: PublicNgrams) -> np.ndarray:
        index = self.public.vocabulary.index
        return np.array([index[w] for w in public.vocabulary.words])

    def crowd(self, authors: int, public: PublicNgrams, *, tuning: bool = False) -> Corpus:
        source = self.tuning if tuning else self.reddit
        counts = totals(source, LONG_LIST)[self.rows_of(public)]
        lengths = per_author(source)
        # A shorter list covers less of what an author writes.
        lengths = np.round(lengths * counts.sum() / totals(source, LONG_LIST).sum()).astype(np.int64)
        return synthetic(counts, lengths, authors, public.vocabulary, seed=authors + tuning)

    # --- settings tuned on another corpus ---

    def settings(self, authors: int, public: PublicNgrams) -> dict[str, list[float]]:
        """(S, ρ) of BayesianDP for each ε: the best on synthetic authors of 20 Newsgroups."""
        size = len(public.vocabulary)
        row = self.place("tuning", f"{authors} authors", "bayes-published", None, size)
        if row is not None:
            corpus = self.crowd(authors, public, tuning=True)
            private = shares(totals(corpus, size))
            limit, most = paper_limits(authors)
            units = Units(corpus.bounded(max_words=limit), most)
            tally = units.tally()
            scale = {
                e: Plan.ngrams(mechanism="bayes-published", epsilon=e, delta=DELTA, unit=Unit.AUTHOR).build().sigma
                for e in EPSILONS
            }
            best: dict[str, list[float]] = {}
            rng = self.rng(row)
            for slope in SLOPES:
                moved = units.log_sensitivity(tally, slope)
                for weight in WEIGHTS:
                    mean = posterior_mean(tally, public.counts, slope=slope, weight=weight, max_count=most)
                    for epsilon in EPSILONS:
                        value = divergence(private, noisy_softmax(mean, weight * moved, scale[epsilon], rng))
                        if value < best.get(str(epsilon), [np.inf])[0]:
                            best[str(epsilon)] = [value, slope, weight]
            self.keep(row, best=best)
        return next(
            r["best"]
            for r in self.rows
            if r["part"] == "tuning" and (r["data"], r["x"]) == (f"{authors} authors", size)
        )  # type: ignore[return-value]

    @cached_property
    def limit(self) -> int:
        """W of bayes (and of the Laplace mechanism with a tuned W): the best on 20 Newsgroups, 100,000 authors."""
        for series in ("bayes", "laplace"):
            row = self.place("tuning", "100000 authors", series, 1.0, "W")
            if row is None:
                continue
            public = self.shorter(LIST)
            corpus = self.crowd(100_000, public, tuning=True)
            private, found = shares(totals(corpus, LIST)), {}
            for limit in LIMITS:
                name = {"bayes": "max_words", "laplace": "max_total"}[series]
                mechanism = Plan.ngrams(
                    mechanism=series, epsilon=1.0, delta=DELTA, unit=Unit.AUTHOR, prior=public, **{name: limit}
                ).build()
                found[limit] = divergence(private, mechanism(corpus.bounded(), self.rng(row)).value.probability)
            self.keep(row, found=found)
        return self.best_limit("bayes")

    def best_limit(self, series: str) -> int:
        row = next(r for r in self.rows if (r["part"], r["series"], r["x"]) == ("tuning", series, "W"))
        return int(min(row["found"], key=row["found"].get))  # type: ignore[arg-type,attr-defined]

    # --- mechanisms ---

    def mechanisms(
        self, authors: int, public: PublicNgrams, epsilon: float, *, tuned: bool = True
    ) -> dict[str, object]:
        """Name on the outside: mechanism, all for the same (ε, δ)."""
        wide, most = paper_limits(authors)
        limit = self.limit
        common = {"epsilon": epsilon, "delta": DELTA, "unit": Unit.AUTHOR, "prior": public}
        found = {
            "bayes (proved)": Plan.ngrams(mechanism="bayes", max_words=limit, **common).build(),
            "bayes, log form (proved)": Plan.ngrams(mechanism="bayes", max_words=limit, slope=1e-4, **common).build(),
            "laplace, W of the paper (proved)": Plan.ngrams(
                mechanism="laplace", max_total=wide, max_count=most, **common
            ).build(),
            "laplace, W tuned (proved)": Plan.ngrams(
                mechanism="laplace", max_total=self.best_limit("laplace"), **common
            ).build(),
            "laplace-public (claimed)": Plan.ngrams(
                mechanism="laplace-public", max_words=wide, max_count=most, **common
            ).build(),
            "EndToEndDP (claimed)": Plan.ngrams(
                mechanism="end-to-end", max_words=wide, max_count=most, **common
            ).build(),
        }
        if tuned:
            _, slope, weight = self.settings(authors, public)[str(epsilon)]
            found["BayesianDP (claimed)"] = Plan.ngrams(
                mechanism="bayes-published", max_words=wide, max_count=most, slope=slope, weight=weight, **common
            ).build()
        return found

    def arranged(self, corpus: Corpus, limit: int | None) -> BoundedCorpus:
        """Bounded once for each limit: to do so again in every run would take most of the time."""
        key = (id(corpus), limit or 0)
        if key not in self._arranged:
            for old in [k for k in self._arranged if k[0] != id(corpus)]:
                del self._arranged[old]
            self._arranged[key] = corpus.bounded(max_words=limit)
        return self._arranged[key]

    def measure(self, part: str, data: str, corpus_of, public: PublicNgrams, authors: int, epsilon: float, x: object,  # type: ignore[no-untyped-def]
                skip: tuple[str, ...] = (), repetitions: int = 1) -> None:  # fmt: skip
        """KL of every mechanism at one place."""
        base = self.place(part, data, "public baseline", None, x)
        if base is not None:
            private = shares(totals(corpus_of(), len(public.vocabulary)))
            self.keep(base, kl=divergence(private, shares(public.counts + 1)))
        for name, mechanism in self.mechanisms(authors, public, epsilon).items():
            if name.startswith(skip) and skip:
                continue
            for repetition in range(repetitions):
                row = self.place(part, data, name, epsilon, x, repetition)
                if row is None:
                    continue
                corpus = corpus_of()
                private = shares(totals(corpus, len(public.vocabulary)))
                bounded = self.arranged(corpus, getattr(mechanism, "max_words", None))
                released = mechanism(bounded, self.rng(row)).value
                self.keep(row, kl=divergence(private, released.probability))

    # --- parts ---

    def part_1(self) -> None:
        """Figure 1 on the real 60,000 authors."""
        public = self.shorter(LIST)
        held: list[Corpus] = []

        def real() -> Corpus:
            if not held:
                held.append(self.read("reddit_college", public.vocabulary))
            return held[0]

        for epsilon in EPSILONS:
            self.measure("1", "reddit_college", real, public, 60_000, epsilon, None, repetitions=3)

    def part_millions(self) -> None:
        """Figures 1 and 4 at the paper's scale: KL by ε, and by the quality of the public counts at ε = 0.1."""
        public = self.shorter(LIST)
        held: list[Corpus] = []

        def crowd() -> Corpus:
            if not held:
                held.append(self.crowd(MILLIONS, public))
            return held[0]

        for epsilon in sorted(EPSILONS, key=lambda e: (e not in (0.1, 1.0), e)):
            self.measure("1", "4 million synthetic", crowd, public, MILLIONS, epsilon, None)
        _, slope, weight = self.settings(MILLIONS, public)["0.1"]
        wide, most = paper_limits(MILLIONS)
        for scale in (0.0, 1.0, 10.0, 100.0, 1000.0):
            harm = np.random.default_rng(int(scale)).laplace(0, scale, LIST) if scale else 0.0
            worse = PublicNgrams(public.vocabulary, np.maximum(public.counts + harm, 0.0))
            common = {"epsilon": 0.1, "delta": DELTA, "unit": Unit.AUTHOR, "prior": worse}
            for name, mechanism in {
                "bayes (proved)": Plan.ngrams(mechanism="bayes", max_words=self.limit, **common).build(),
                "BayesianDP (claimed)": Plan.ngrams(
                    mechanism="bayes-published", max_words=wide, max_count=most, slope=slope, weight=weight, **common
                ).build(),
            }.items():
                if (row := self.place("4", "4 million synthetic", name, 0.1, scale)) is not None:
                    private = shares(totals(crowd(), LIST))
                    released = mechanism(self.arranged(crowd(), mechanism.max_words), self.rng(row)).value
                    self.keep(row, kl=divergence(private, released.probability))

    def part_3(self) -> None:
        """Figure 3: KL by the length of the list, 4 million authors, ε = 0.1. The longest list is in figure 1."""
        for size in (5_000, 10_000, 20_000):
            listed, held = self.shorter(size), []

            def fewer(listed: PublicNgrams = listed, held: list[Corpus] = held) -> Corpus:
                if not held:
                    held.append(self.crowd(MILLIONS, listed))
                return held[0]

            self.measure("3", "4 million synthetic", fewer, listed, MILLIONS, 0.1, size)

    def part_d(self) -> None:
        """EndToEndDP with both readings of claim 2: 100,000 authors, 5,000 trigrams."""
        public, held = self.shorter(5_000), []
        for epsilon, tuning, repetition in product((0.1, 1.0, 5.0), TUNINGS, range(5)):
            name = f"EndToEndDP, {tuning} (none)"
            if (row := self.place("d", "100,000 synthetic", name, epsilon, None, repetition)) is not None:
                corpus = held[0] if held else self.crowd(100_000, public)
                held[:] = [corpus]
                common = {"epsilon": epsilon, "delta": DELTA, "unit": Unit.AUTHOR, "prior": public}
                mechanism = Plan.ngrams(mechanism="end-to-end", max_words=100, tuning=tuning, **common).build()
                private = shares(totals(corpus, 5_000))
                released = mechanism(self.arranged(corpus, 100), self.rng(row)).value
                self.keep(row, kl=divergence(private, released.probability))

    def part_2(self) -> None:
        """Figure 2: KL by the number of authors, ε = 0.1."""
        public = self.shorter(LIST)
        for authors in (10_000, 100_000, 1_000_000):
            held: list[Corpus] = []

            def crowd(authors: int = authors, held: list[Corpus] = held) -> Corpus:
                if not held:
                    held.append(self.crowd(authors, public))
                return held[0]

            self.measure(
                "2", "synthetic", crowd, public, authors, 0.1, authors, repetitions=3 if authors < 10**6 else 1
            )

    def part_5(self) -> None:
        """Figure 5: k-anonymity by k, and by ε, 100,000 authors."""
        public = self.shorter(LIST)
        held: list[Corpus] = []

        def crowd() -> Corpus:
            if not held:
                held.append(self.crowd(100_000, public))
            return held[0]

        for k in (1, 5, 10, 20, 50, 100, 200):
            if (row := self.place("5", "synthetic", "k-anonymity (none)", None, k)) is not None:
                mechanism = Plan.ngrams(
                    mechanism="k-anonymity", k=k, epsilon=1.0, delta=DELTA, unit=Unit.AUTHOR
                ).build()
                private = shares(totals(crowd(), LIST))
                self.keep(
                    row,
                    kl=divergence(private, mechanism(self.arranged(crowd(), None), self.rng(row)).value.probability),
                )
        for epsilon in EPSILONS:
            self.measure("5", "synthetic", crowd, public, 100_000, epsilon, None, skip=("EndToEnd", "laplace"))

    def part_6(self, repeats: int = 100) -> None:
        """Figure 6: how often the attack is right, by ε. The real authors, the 2,000 most frequent n-grams."""
        public = self.shorter(2_000)
        corpus = None
        for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0):
            common = {"epsilon": epsilon, "delta": DELTA, "unit": Unit.AUTHOR, "prior": public}
            for name, mechanism in {
                "bayes (proved)": Plan.ngrams(mechanism="bayes", max_words=self.limit, **common).build(),
                "laplace, W of the paper (proved)": Plan.ngrams(mechanism="laplace", max_total=60, **common).build(),
                "laplace-public (claimed)": Plan.ngrams(mechanism="laplace-public", **common).build(),
                "BayesianDP (claimed)": Plan.ngrams(
                    mechanism="bayes-published", slope=0.01, weight=0.5, **common
                ).build(),
                "EndToEndDP (claimed)": Plan.ngrams(mechanism="end-to-end", **common).build(),
                "k-anonymity (none)": Plan.ngrams(mechanism="k-anonymity", k=50, **common).build(),
            }.items():
                if name.startswith(("k-", "EndToEnd")) and epsilon > 0.1:  # no ε in the one, forty fits in the other
                    continue
                if (row := self.place("6", "reddit_college", name, epsilon, None)) is not None:
                    corpus = corpus or self.read("reddit_college", public.vocabulary)
                    few = 30 if name.startswith("EndToEnd") else repeats
                    found = attack_most_contributing(mechanism, corpus, repeats=few, rng=self.rng(row))
                    self.keep(row, probability=found.probability, repeats=found.repeats, limit=found.limit)

    def part_table(self) -> None:
        """Table 1: perplexity of held-out sentences, ε = 0.2, 60,000 trigrams; real and synthetic authors."""
        public = self.public
        table = pq.read_table(self.data / "reddit_college.parquet", columns=["user", "text"]).to_pydict()
        out = np.array([zlib.crc32(user.encode()) % HELD_OUT == 0 for user in table["user"]])
        texts = [text for text, held in zip(table["text"], out, strict=True) if held]
        kept = [(t, u) for t, u, held in zip(table["text"], table["user"], out, strict=True) if not held]
        real = Corpus.from_texts(
            [t for t, _ in kept],
            [u for _, u in kept],
            settings=TextSettings.for_ngrams(3),
            vocabulary=public.vocabulary,
        )
        for data, authors in (("reddit_college", 54_000), ("4 million synthetic", MILLIONS)):
            corpus = real if authors < MILLIONS else synthetic(
                totals(real, LONG_LIST), per_author(real), MILLIONS, public.vocabulary, seed=5
            )  # fmt: skip
            counts = totals(corpus, LONG_LIST)
            fixed = {"private baseline": shares(counts + 1), "public baseline": shares(public.counts + 1)}
            for name, probability in fixed.items():
                if (row := self.place("table", data, name, None, None)) is not None:
                    self.score(row, NgramTable(vocabulary=public.vocabulary, probability=probability), texts)
            found = self.mechanisms(authors, public, 0.2)
            found |= {
                f"k-anonymity, k = {k} (none)": Plan.ngrams(
                    mechanism="k-anonymity", k=k, epsilon=1.0, delta=DELTA, unit=Unit.AUTHOR
                ).build()
                for k in (50,)
            }
            for name, mechanism in found.items():
                if (row := self.place("table", data, name, 0.2, None)) is not None:
                    bounded = self.arranged(corpus, getattr(mechanism, "max_words", None))
                    self.score(row, mechanism(bounded, self.rng(row)).value, texts)

    def score(self, row: dict[str, object], table: NgramTable, texts: list[str]) -> None:
        found = LanguageModel(table).perplexity(texts)
        self.keep(row, perplexity=found.value, sentences=found.sentences, left_out=found.left_out)

    def part_bigrams(self) -> None:
        """Not in the paper: bigrams over Google's public counts, the real authors."""
        rows = pq.read_table(self.data / "google_bigrams.parquet").to_pydict()
        counts = {f"{a} {b}".lower(): float(n) for a, b, n in zip(rows["w1"], rows["w2"], rows["count"], strict=True)}
        counts = {k: v for k, v in sorted(counts.items(), key=lambda p: -p[1])[:LIST]}
        public = PublicNgrams.of(counts)
        held: list[Corpus] = []

        def real() -> Corpus:
            if not held:
                held.append(self.read("reddit_college", public.vocabulary, n=2))
            return held[0]

        base = self.place("bigrams", "reddit_college", "public baseline", None, None)
        if base is not None:
            self.keep(base, kl=divergence(shares(totals(real(), len(public.vocabulary))), shares(public.counts + 1)))
        for epsilon in EPSILONS:
            found = self.mechanisms(60_000, public, epsilon, tuned=False)
            del found["EndToEndDP (claimed)"]
            # S and ρ as tuned for trigrams: 20 Newsgroups, 60,000 authors.
            _, slope, weight = self.settings(60_000, self.shorter(LIST))[str(epsilon)]
            wide, most = paper_limits(60_000)
            common = {"epsilon": epsilon, "delta": DELTA, "unit": Unit.AUTHOR, "prior": public}
            found["BayesianDP (claimed)"] = Plan.ngrams(
                mechanism="bayes-published", max_words=wide, max_count=most, slope=slope, weight=weight, **common
            ).build()
            for name, mechanism in found.items():
                if (row := self.place("bigrams", "reddit_college", name, epsilon, None)) is not None:
                    private = shares(totals(real(), len(public.vocabulary)))
                    bounded = self.arranged(real(), getattr(mechanism, "max_words", None))
                    self.keep(row, kl=divergence(private, mechanism(bounded, self.rng(row)).value.probability))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parts = ("5", "2", "1", "6", "d", "millions", "3")  # table 1 and bigrams: ngrams_more.py
    parser.add_argument("--part", nargs="+", choices=parts, default=parts, help="millions: figures 1 and 4")
    arguments = parser.parse_args()
    print("NOT FOR RELEASE: computed from the texts, with seeded noise.")
    files = [arguments.data / f"{name}.parquet" for name in ("reddit_college", "newsgroups20", "public_english")]
    study = Study(arguments.data, PATH)
    with made(PATH.name, code=CODE, command="python experiments/ngrams.py --data FOLDER", inputs=files):
        for part in arguments.part:
            getattr(study, f"part_{part}")()
    from ngrams_figures import draw, table

    table(study.rows)
    draw(study.rows, FOLDER)


if __name__ == "__main__":
    main()
