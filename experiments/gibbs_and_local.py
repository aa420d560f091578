"""Figures 1 and 2 and Table 1 of Zhao et al. 2019: the Gibbs monitor by sweep, and LP-LDA's perplexity by ε per bit.

K = 50, 300 sweeps, α = 0.1, β = 0.01, the 1,000 most frequent words of each corpus, documents as sets of words. Beside
LP-LDA stand its baseline (Laplace noise on the first counts, in two readings) and our inference through the channel.
All numbers are computed from the texts, with seeded noise: NOT FOR RELEASE.

    python experiments/gibbs_and_local.py --data FOLDER [--only figure1]

FOLDER holds kos_bow, nips_bow and enron_full_body (.parquet). Results are appended to results/gibbs_monitor.json and
results/local_perplexity.json as they come; a second run goes on where the first stopped. Minutes on two cores:
results/made_by.json.
"""

import argparse
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import log, sqrt
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy import sparse
from store import made

from dptopics import Corpus, TextSettings, TopicModel, Unit, Vocabulary
from dptopics.evaluate import perplexity
from dptopics.kernels.gibbs_monitor import monitored_sweep
from dptopics.learners.lda import GibbsLda
from dptopics.local.inference import FlipChannelLda, as_counts, rebuilt
from dptopics.local.randomizer import BitFlips
from dptopics.published.gibbs import LaplaceCountsTopics

FOLDER = Path(__file__).parent / "results"
TEXT = TextSettings(links=True)  # the papers say nothing of links
TOPICS, SWEEPS, ALPHA, BETA, WORDS = 50, 300, 0.1, 0.01, 1000
FLIPS = (0.5, 0.1, 0.001, 0.25, 0.01, 0.05)  # the paper: "from 0.5 to 0.001"; ends and middle first
MONITORED = 5  # runs from other starts
COMMAND = "python experiments/gibbs_and_local.py --data FOLDER"
CODE = ("src/dptopics/kernels/gibbs_monitor.py", "src/dptopics/kernels/simd.py", "src/dptopics/learners/lda.py")
LOCAL_CODE = (
    "src/dptopics/learners/lda.py",
    "src/dptopics/local/inference.py",
    "src/dptopics/local/randomizer.py",
    "src/dptopics/local/inference.py",
    "src/dptopics/published/gibbs.py",
)
TRAINING = {"KOS": 3000, "NIPS": 1349, "Enron": 8000}
TESTS = {"KOS": 430, "NIPS": 150, "Enron": 2000}


class Data:
    """A corpus as documents × words, present or not, cut into training and test documents by a seeded shuffle."""

    def __init__(self, folder: Path, name: str) -> None:
        if name == "Enron":
            whole = Corpus.from_table(folder / "enron_full_body.parquet", text="text", settings=TEXT)
            total = np.bincount(whole.word, whole.count, len(whole.words))
            self.words = sorted(whole.words[i] for i in np.argsort(-total, kind="stable")[:WORDS])
            counts = whole.counts(Vocabulary.of(self.words)).matrix()
        else:
            table = pq.read_table(folder / f"{name.lower()}_bow.parquet").to_pydict()
            frequency: Counter[str] = Counter()
            for words, numbers in zip(table["words"], table["counts"], strict=True):
                frequency.update(dict(zip(words, numbers, strict=True)))
            self.words = sorted(word for word, _ in frequency.most_common(WORDS))
            index = {word: i for i, word in enumerate(self.words)}
            rows = [[index[w] for w in words if w in index] for words in table["words"]]
            start = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
            flat = np.concatenate([np.array(row, np.int32) for row in rows])
            counts = sparse.csr_array((np.ones(flat.size, np.int32), flat, start), shape=(len(rows), WORDS))
        present = counts.toarray() > 0
        order = np.random.default_rng(0).permutation(len(present))
        self.train = present[order[: TRAINING[name]]]
        self.test = present[order[TRAINING[name] : TRAINING[name] + TESTS[name]]]
        self.corpus = Corpus.from_counts(sparse.csr_array(self.train.astype(int)), self.words, public_vocabulary=True)
        self.unseen = Corpus.from_counts(sparse.csr_array(self.test.astype(int)), self.words)

    def perplexity(self, topics: np.ndarray) -> float:
        share = np.full(len(topics), 1 / len(topics))
        model = TopicModel(topic_word=topics, vocabulary=Vocabulary.of(self.words), topic_share=share, alpha=ALPHA)
        return perplexity(self.unseen, model)


class Experiment:
    """Every run knows its place, and does nothing if its result is there already."""

    def __init__(self, data: Path, path: Path) -> None:
        self.folder, self.path = data, path
        self.rows: list[dict[str, object]] = json.loads(path.read_text("utf-8")) if path.exists() else []
        self.loaded: dict[str, Data] = {}

    def data(self, name: str) -> Data:
        if name not in self.loaded:
            self.loaded[name] = Data(self.folder, name)
        return self.loaded[name]

    def run(self, **place: object) -> Iterator[dict[str, object]]:
        """The place of a run that is still to do; what the caller adds is saved."""
        if any(all(row.get(k) == v for k, v in place.items()) for row in self.rows):
            return
        row = dict(place)
        yield row
        self.rows.append(row)
        FOLDER.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(self.rows, indent=1) + "\n", "utf-8")
        print({k: v for k, v in row.items() if not isinstance(v, list)}, flush=True)

    def table(self, name: str) -> None:
        for row in self.run(part="table 1", corpus=name):
            data = self.data(name)
            row["words"] = int(data.train.sum() + data.test.sum())
            row["training"], row["test"] = len(data.train), len(data.test)
            row["longest"] = int(data.train.sum(axis=1).max())

    def monitor(self, name: str, repetition: int) -> None:
        for row in self.run(part="figure 1", corpus=name, repetition=repetition):
            counts = self.data(name).corpus.counts()
            learner = GibbsLda(n_topics=TOPICS, alpha=ALPHA, beta=BETA, sweeps=SWEEPS, key=repetition)
            state, seeds = learner.begin(counts), learner.seeds(counts)
            lengths = np.diff(state.start)
            # The paper's N_max hides every document. The mean length does not, but gives the published order.
            levels = {"word": 1, "document": int(lengths.max()), "mean_document": round(float(lengths.mean()))}
            removed = np.array(list(levels.values()), np.int64)
            loss, curves = np.zeros((removed.size, state.word.size)), []
            beside = np.zeros((removed.size + 1, state.word.size))
            capped = np.zeros(removed.size, np.int64)
            for sweep in range(SWEEPS):
                capped += monitored_sweep(
                    state.start, state.word, state.topic, state.word_topic, state.topic_total, ALPHA, BETA, TOPICS,
                    seeds, sweep, removed, loss, beside,
                )  # fmt: skip
                curves.append([float(f"{x:.5g}") for x in loss.max(axis=1)])
            row["removed"], row["capped"] = levels, int(capped.sum())
            row |= dict(zip(levels, map(list, zip(*curves, strict=True)), strict=True))
            last = [float(f"{x:.5g}") for x in beside.max(axis=1)]
            row["printed"] = dict(zip(levels, last[:-1], strict=True))  # algorithm 1 as printed, after all sweeps
            row["same_word_missing"] = last[-1]

    def perplexities(self, name: str, repetition: int) -> None:
        learner = GibbsLda(n_topics=TOPICS, alpha=ALPHA, beta=BETA, sweeps=SWEEPS, key=repetition)
        place = {"part": "figure 2", "corpus": name, "repetition": repetition}
        for row in self.run(**place, series="no privacy: Gibbs", f=None):
            row["perplexity"] = self.data(name).perplexity(learner(self.data(name).corpus.counts()))
        for row in self.run(**place, series="no privacy: word frequencies", f=None):
            frequency = self.data(name).train.sum(axis=0) + BETA
            row["perplexity"] = self.data(name).perplexity(np.tile(frequency / frequency.sum(), (2, 1)))
        for row in self.run(**place, series="no privacy: our inference", f=None):
            ours = FlipChannelLda(n_topics=TOPICS, alpha=ALPHA, key=repetition)
            bits = np.packbits(self.data(name).train, axis=1)
            row["perplexity"] = self.data(name).perplexity(ours(bits, WORDS, 1e-9)[0])
        for f in FLIPS:
            epsilon = log((1 - f / 2) / (f / 2))
            seed = zlib.crc32(f"{name} {f} {repetition}".encode())
            for series in ("LP-LDA", "ours", "baseline, scale 1/ε", "baseline, scale √K/ε"):
                for row in self.run(**place, series=series, f=f, epsilon=epsilon):
                    data, rng = self.data(name), np.random.default_rng(seed)
                    row["perplexity"] = data.perplexity(self.topics(series, data, f, rng, learner))

    def topics(self, series: str, data: Data, f: float, rng: np.random.Generator, learner: GibbsLda) -> np.ndarray:
        """Topics × words of one private method."""
        if series.startswith("baseline"):
            scale = (sqrt(TOPICS) if "√K" in series else 1.0) / log((1 - f / 2) / (f / 2))
            mechanism = LaplaceCountsTopics(
                n_topics=TOPICS, scale=scale, delta=1e-6, unit=Unit.DOCUMENT, steps=SWEEPS, alpha=ALPHA, beta=BETA
            )
            bounded = data.corpus.bounded(unit=Unit.DOCUMENT).limited(vocabulary=Vocabulary.of(data.words))
            return mechanism(bounded, rng).value.topic_word
        flips = BitFlips(vocabulary=Vocabulary.of(data.words), f=f, max_words=WORDS)
        bits = np.packbits(flips.randomize(data.train, rng), axis=1)  # the same bits for both
        if series == "ours":
            return FlipChannelLda(n_topics=TOPICS, alpha=ALPHA, key=learner.key)(bits, WORDS, f)[0]
        return learner(as_counts(rebuilt(bits, WORDS, f, key=learner.key), WORDS, key=learner.key))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", choices=("figure1", "figure2"), default=None)
    arguments = parser.parse_args()
    print("NOT FOR RELEASE: computed from the texts, with seeded noise.")
    if arguments.only != "figure2":
        experiment = Experiment(arguments.data, FOLDER / "gibbs_monitor.json")
        with made("gibbs_monitor.json", code=CODE, command=f"{COMMAND} --only figure1"):
            for name in TRAINING:
                experiment.table(name)
            for repetition, name in product(range(MONITORED), TRAINING):
                experiment.monitor(name, repetition)
    if arguments.only != "figure1":
        experiment = Experiment(arguments.data, FOLDER / "local_perplexity.json")
        with made("local_perplexity.json", code=LOCAL_CODE, command=f"{COMMAND} --only figure2"):
            for repetition, name in product(range(arguments.repetitions), TRAINING):
                experiment.perplexities(name, repetition)
    from gibbs_and_local_figures import draw, results

    draw(results(FOLDER), FOLDER)


if __name__ == "__main__":
    main()
