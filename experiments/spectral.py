"""Figures 2, 3, 4 and Table 2 of DeCarolis et al. 2020: private spectral LDA, as published and sound, beside DP-VI.

Synthetic corpora of LDA with known topics (the paper does not say its d and K), and wikipedia_schools. Published
configurations get the best of several splits by the true error, as in the paper, which flatters them; DP-VI gets the
best clip and number of steps of a grid on corpora of other seeds; ours has its defaults. All numbers are computed from
the texts, with seeded noise: NOT FOR RELEASE.

    python experiments/spectral.py --data FOLDER [--part figure2]      (FOLDER: wikipedia_schools, public_english)

Results are appended to results/spectral_*.json as they come; a second run goes on where the first stopped. Minutes on
two cores: results/made_by.json.
"""

import argparse
import json
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from spectral_theorems import Spectrum, promised_loss
from store import made

from dptopics import Corpus, TextSettings, TopicModel, Unit, Vocabulary
from dptopics.core.errors import NothingReleased
from dptopics.evaluate import npmi, perplexity
from dptopics.learners.lda import VariationalLda
from dptopics.learners.spectral import (
    CountMoments,
    SpectralLda,
    orthogonal_components,
    second_moment,
    third_moment,
    top_eigenpairs,
)
from dptopics.mechanisms.mechanism import calibrate
from dptopics.mechanisms.topics.best_of import BestOf
from dptopics.mechanisms.topics.spectral import SpectralTopics
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.plan import Plan
from dptopics.published import spectral_edges
from dptopics.registry import mechanisms

FOLDER = Path(__file__).parent / "results"
TEXT = TextSettings(links=True)  # the paper says nothing of links
COMMAND = "python experiments/spectral.py --data FOLDER"
CODE = (
    "src/dptopics/learners/spectral.py",
    "src/dptopics/learners/spectral.py",
    "src/dptopics/published/spectral.py",
    "src/dptopics/published/spectral_edges.py",
    "src/dptopics/published/spectral.py",
    "src/dptopics/published/spectral.py",
    "src/dptopics/published/spectral_edges.py",
    "src/dptopics/published/spectral_edges.py",
    "src/dptopics/published/spectral_edges.py",
    "src/dptopics/published/spectral.py",
)
OURS = (
    "src/dptopics/mechanisms/topics/best_of.py",
    "src/dptopics/mechanisms/topics/spectral.py",
    "src/dptopics/mechanisms/topics/variational.py",
)
DELTA, LENGTH = 1e-7, 100
EPSILONS = (1.0, 0.3, 3.0, 10.0, 30.0)  # the one that is compared first
# name: documents, words, topics, α₀. The paper: N = 100,000 and 1,000, α₀ small, large and 1,000.
CORPORA = {
    "N=100k, α0=1": (100_000, 100, 5, 1.0),
    "N=100k, α0=1, d=1000, K=10": (100_000, 1000, 10, 1.0),
    "N=100k, α0=0.1": (100_000, 100, 5, 0.1),
    "N=100k, α0=10": (100_000, 100, 5, 10.0),
    "N=100k, α0=1000": (100_000, 100, 5, 1000.0),
    "N=1k, α0=10": (1_000, 100, 5, 10.0),
    "N=1k, α0=1": (1_000, 100, 5, 1.0),
}
MAIN = next(iter(CORPORA))
TUNING = (30_000, 100, 5, 1.0)  # at ε = 3 about the signal of 100,000 documents at ε = 1
SPLITS = {
    "spectral-1": ((0.4, 0.3, 0.3), (0.6, 0.2, 0.2), (0.2, 0.5, 0.3)),
    "spectral-2": ((0.1, 0.6, 0.3), (0.3, 0.6, 0.1), (0.05, 0.85, 0.1)),
    "spectral-3": ((0.1, 0.6, 0.3), (0.3, 0.6, 0.1), (0.05, 0.85, 0.1)),
    "spectral-4": ((0.1, 0.9), (0.3, 0.7), (0.02, 0.98)),
}
CLIPS, STEPS = (1.0, 3.0, 10.0), (5, 15, 40)
PAIR_SHARES = (0.4, 0.55, 0.65, 0.75, 0.8, 0.85)
WIKI_TOPICS = (10, 20)
WIKI_WORDS = 500

exact_moments = spectral_edges.exact_moments  # the mechanisms are handed those computed before
Floats = np.ndarray[Any, np.dtype[np.float64]]


def synthetic(n: int, d: int, k: int, alpha0: float, seed: int) -> tuple[Corpus, Floats]:
    """Documents of LDA with bursty topics and unequal α, and the topics."""
    rng = np.random.default_rng([seed, d, k])
    topics = rng.dirichlet(np.full(d, 0.1), k)
    alpha = np.linspace(2.0, 0.5, k)
    alpha *= alpha0 / alpha.sum()
    parts = []
    for first in range(0, n, 2000):
        size = min(2000, n - first)
        parts.append(sparse.csr_array(rng.multinomial(LENGTH, rng.dirichlet(alpha, size) @ topics)))
    words = [f"w{i:05}" for i in range(d)]
    return Corpus.from_counts(sparse.vstack(parts), words, public_vocabulary=True), topics


@lru_cache(maxsize=8)
def cached(size: tuple[int, int, int, float], seed: int) -> tuple[Corpus, Floats, Any, Any]:
    """Corpus, topics, bounded corpus, and its exact moments: the same in every run on it."""
    corpus, topics = synthetic(*size, seed)
    bounded = corpus.bounded(unit=Unit.DOCUMENT)
    return corpus, topics, bounded, exact_moments(bounded)


def errors(topics: Floats, found: Floats) -> dict[str, float]:
    """Mean L1 distance of topics and the paper's Frobenius distance, after the best matching."""
    apart = np.abs(topics[:, None] - found[None]).sum(axis=2)
    order = linear_sum_assignment(apart)[1]
    return {
        "l1": float(np.abs(topics - found[order]).sum(axis=1).mean()),
        "l2": float(np.linalg.norm(topics - found[order], axis=1).mean()),
        "frobenius": float(np.linalg.norm(topics - found[order])),
    }


class Part:
    """Rows of one part, saved as they come; a row that is there already is not computed again."""

    def __init__(self, name: str) -> None:
        self.path = FOLDER / f"spectral_{name}.json"
        self.rows: list[dict[str, Any]] = json.loads(self.path.read_text("utf-8")) if self.path.exists() else []
        self.done = {row["cell"] for row in self.rows}

    def cells(self, **axes: Any) -> Iterator[dict[str, Any]]:
        """The cell of these values, unless it is done. Whatever the caller adds is saved when it asks for the next."""
        row = {"cell": json.dumps(list(axes.values()), ensure_ascii=False), **axes}
        if row["cell"] in self.done:
            return
        yield row
        self.rows.append(row)
        self.done.add(row["cell"])
        FOLDER.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(self.rows, ensure_ascii=False, indent=1) + "\n", "utf-8")
        print({key: value for key, value in row.items() if key not in ("cell", "words")}, flush=True)


# The paper's errors are those of topics: no budget is spent on their sizes.
TOPICS_ALONE: dict[str, Any] = {"size_share": 0.0}


def seeded(row: dict[str, Any]) -> np.random.Generator:
    """By the cell's place: results can be made again, and are not private."""
    return np.random.default_rng(zlib.crc32(row["cell"].encode()))


def variational(k: int, epsilon: float, alpha0: float, rng: np.random.Generator, **settings: Any) -> VariationalTopics:
    fields = {"n_topics": k, "delta": DELTA, "unit": Unit.DOCUMENT, "alpha": alpha0 / k, "start": int(rng.integers(99))}
    return VariationalTopics.calibrated(epsilon=epsilon, **fields, **settings, **TOPICS_ALONE)


def tuning() -> None:
    """DP-VI's clip and steps, and our shares, on corpora that nothing else uses. Ours are only looked at here."""
    part = Part("tuning")
    for seed, clip, steps in product((100, 101), CLIPS, STEPS):
        for row in part.cells(series="variational", seed=seed, clip=clip, steps=steps):
            _, topics, bounded, _ = cached(TUNING, seed)
            mechanism = variational(TUNING[2], 3.0, TUNING[3], seeded(row), clip=clip, steps=steps)
            row |= errors(topics, mechanism(bounded, seeded(row)).value.topic_word)
    for size in (TUNING, (30_000, 500, 10, 1.0)):
        for seed, share, epsilon in product((200, 201), PAIR_SHARES, (1.0, 10.0)):
            for row in part.cells(series="pair_share", d=size[1], seed=seed, share=share, epsilon=epsilon):
                _, topics, bounded, _ = cached(size, seed)
                settings = {"n_topics": size[2], "delta": DELTA, "unit": Unit.DOCUMENT, "alpha0": size[3]}
                mechanism = SpectralTopics.calibrated(epsilon=epsilon, pair_share=share, **settings, **TOPICS_ALONE)
                row |= errors(topics, mechanism(bounded, seeded(row)).value.topic_word)


def best_variational() -> dict[str, Any]:
    """The settings with the least mean error in the tuning."""
    rows = [row for row in Part("tuning").rows if row["series"] == "variational"]
    means = {(c, s): [r["l1"] for r in rows if (r["clip"], r["steps"]) == (c, s)] for c, s in product(CLIPS, STEPS)}
    if not all(means.values()):
        raise SystemExit("run --part tuning first")
    clip, steps = min(means, key=lambda key: float(np.mean(means[key])))
    return {"clip": clip, "steps": steps}


def printed(repetitions: int) -> None:
    """Figure 2 with the sensitivities that the paper prints, beside the corrected ones: the first corpus."""
    part, size, name = Part("printed"), CORPORA[MAIN], MAIN
    settings = {"n_topics": size[2], "delta": DELTA, "unit": Unit.DOCUMENT, "alpha0": size[3]}
    for seed, epsilon, (config, splits) in product(range(1, repetitions + 1), EPSILONS, SPLITS.items()):
        for kind, shares in product(("printed", "corrected"), splits):
            place = {"series": config, "sensitivities": kind, "epsilon": epsilon, "seed": seed, "shares": str(shares)}
            for row in part.cells(corpus=name, **place):
                _, topics, bounded, moments = cached(size, seed)
                spectral_edges.exact_moments = lambda corpus, moments=moments: moments
                mechanism = mechanisms("topics")[config].calibrated(
                    epsilon=epsilon, shares=shares, sensitivities=kind, **settings
                )
                row["promised"] = promised_loss(config, spectrum(size, seed), mechanism.edge_scales)
                try:
                    row |= errors(topics, mechanism(bounded, seeded(row)).value.topic_word)
                except NothingReleased:
                    row["refused"] = True


@lru_cache(maxsize=8)
def spectrum(size: tuple[int, int, int, float], seed: int) -> Spectrum:
    """What theorems 10 to 13 depend on, exact."""
    (n, d, k, alpha0), moments = size, cached(size, seed)[3]
    values, vectors = moments.eigenpairs(k, alpha0)
    weights, _ = orthogonal_components(third_moment(moments, vectors / np.sqrt(values), alpha0))
    gap = float(np.min(weights - np.append(weights[1:], 0.0))) / 4
    sizes = {"n_units": n, "n_words": d, "n_topics": k}
    return Spectrum(**sizes, largest=float(values[0]), smallest=float(values[-1]), gap=gap)


def figure2(repetitions: int, corpora: list[str]) -> None:
    """Error by composite ε for every configuration, ours and DP-VI, which is slow and comes last."""
    part = Part("figure2")
    for name, seed, epsilon in product(corpora, range(1, repetitions + 1), EPSILONS):
        _, d, k, alpha0 = size = CORPORA[name]
        for row in part.cells(corpus=name, series="spectral, no privacy", epsilon=None, seed=seed):
            corpus, topics, _, _ = cached(size, seed)
            row |= errors(topics, SpectralLda(n_topics=k, alpha0=alpha0)(corpus.counts()))
        settings = {"n_topics": k, "delta": DELTA, "unit": Unit.DOCUMENT, "alpha0": alpha0}
        for row in part.cells(corpus=name, series="spectral", epsilon=epsilon, seed=seed):
            measured(row, size, seed, SpectralTopics.calibrated(epsilon=epsilon, **settings, **TOPICS_ALONE))
        for config, splits in SPLITS.items():
            for shares in splits:
                for row in part.cells(corpus=name, series=config, epsilon=epsilon, seed=seed, shares=str(shares)):
                    fields = settings | {"epsilon": epsilon, "shares": shares}
                    measured(row, size, seed, mechanisms("topics")[config].calibrated(**fields))
        if d <= 100:
            for row in part.cells(corpus=name, series="spectral-1, pure ε", epsilon=epsilon, seed=seed):
                fields = settings | {"epsilon": epsilon, "noise": "laplace"}
                measured(row, size, seed, mechanisms("topics")["spectral-1"].calibrated(**fields))
    figure2_variational(part, repetitions, corpora)


def figure2_variational(part: Part, repetitions: int, corpora: list[str]) -> None:
    """DP-VI at every ε, and variational LDA without privacy on some corpora."""
    tuned = best_variational()
    for name, seed, epsilon in product(corpora, range(1, repetitions + 1), EPSILONS):
        _, _, k, alpha0 = size = CORPORA[name]
        if seed == 1 and (name == MAIN or size[0] < 10_000):
            for row in part.cells(corpus=name, series="variational, no privacy", epsilon=None, seed=seed):
                corpus, topics, _, _ = cached(size, seed)
                row |= errors(topics, VariationalLda(n_topics=k, alpha=alpha0 / k)(corpus.counts()))
        for row in part.cells(corpus=name, series="variational", epsilon=epsilon, seed=seed):
            measured(row, size, seed, variational(k, epsilon, alpha0, seeded(row), **tuned))


def measured(row: dict[str, Any], size: tuple[int, int, int, float], seed: int, mechanism: Any) -> None:
    """The errors of one release, or that it was refused."""
    _, topics, bounded, moments = cached(size, seed)
    spectral_edges.exact_moments = lambda corpus: moments
    try:
        row |= errors(topics, mechanism(bounded, seeded(row)).value.topic_word)
    except NothingReleased:
        row["refused"] = True


def starts() -> None:
    """DP-VI at ε = 1 from several random starts: it has local optima, moments have none."""
    part, tuned, size = Part("starts"), best_variational(), CORPORA[MAIN]
    for start in range(3):
        for row in part.cells(start=start):
            _, topics, bounded, _ = cached(size, 1)
            settings = {"n_topics": size[2], "delta": DELTA, "unit": Unit.DOCUMENT, "alpha": size[3] / size[2]}
            mechanism = VariationalTopics.calibrated(epsilon=1.0, start=start, **settings, **tuned, **TOPICS_ALONE)
            row |= errors(topics, mechanism(bounded, seeded(row)).value.topic_word)


def figure3() -> None:
    """σ_k(M₂) by α₀, unscaled as in (6), and the gap γ_s of the tensor by k. Exact, 100,000 documents."""
    part = Part("figure3")
    by_alpha0 = [(5, alpha0) for alpha0 in (0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)]
    for k, alpha0 in [*by_alpha0, *((k, 1.0) for k in (2, 3, 5, 8, 12, 20))]:
        for row in part.cells(k=k, alpha0=alpha0):
            corpus, _ = synthetic(100_000, 100, k, alpha0, 1)
            moments = CountMoments(corpus.counts())
            values, vectors = top_eigenpairs(second_moment(moments, alpha0), 100, k + 1, 0)
            row |= {"sigma_k": float(values[k - 1]), "sigma_1": float(values[0]), "sigma_next": float(values[k])}
            if values[k - 1] > 0:
                whitening = vectors[:, :k] / np.sqrt(values[:k])
                weights, _ = orthogonal_components(third_moment(moments, whitening, alpha0))
                row["gap"] = float(np.min(weights - np.append(weights[1:], 0.0))) / 4


class Wikipedia:
    """wikipedia_schools over the most frequent words of public_english, a tenth held out."""

    def __init__(self, folder: Path) -> None:
        public = Corpus.from_table(folder / "public_english.parquet", text="text", settings=TEXT)
        total = np.bincount(public.word, public.count, len(public.words))
        self.words = Vocabulary.of(public.words[i] for i in np.argsort(-total, kind="stable")[:WIKI_WORDS])
        texts = pq.read_table(folder / "wikipedia_schools.parquet", columns=["text"]).column("text").to_pylist()
        held = set(range(0, len(texts), 10))
        training = [text for number, text in enumerate(texts) if number not in held]
        self.corpus = Corpus.from_texts(training, vocabulary=self.words, settings=TEXT)
        self.unseen = Corpus.from_texts(
            [texts[number] for number in sorted(held)], vocabulary=self.words, settings=TEXT
        )
        self.bounded = self.corpus.bounded(unit=Unit.DOCUMENT)
        self.moments = exact_moments(self.bounded)


def model_of(topics: Floats, words: Vocabulary, alpha: float) -> TopicModel:
    k, d = topics.shape
    topics = (1 - 1e-6) * topics + 1e-6 / d
    return TopicModel(topic_word=topics, vocabulary=words, topic_share=np.full(k, 1 / k), alpha=alpha)


def figure4(folder: Path, repetitions: int) -> None:
    """Perplexity of held-out halves of unseen documents, by ε."""
    part, tuned, wiki = Part("figure4"), best_variational(), Wikipedia(folder)
    spectral_edges.exact_moments = lambda corpus: wiki.moments

    def judge(row: dict[str, Any], topics: Floats, k: int) -> None:
        model = model_of(topics, wiki.words, 1.0 / k)
        row["perplexity"] = perplexity(wiki.unseen, model)
        row["npmi"] = float(np.mean(npmi(wiki.corpus, model.top_words(10, relevance=1.0, min_z=0))))

    def run(row: dict[str, Any], k: int, mechanism: Any) -> None:
        try:
            judge(row, mechanism(wiki.bounded, seeded(row)).value.topic_word, k)
        except NothingReleased:
            row["refused"] = True

    for k in WIKI_TOPICS:
        for row in part.cells(k=k, series="spectral, no privacy", epsilon=None, seed=1):
            judge(row, SpectralLda(n_topics=k)(wiki.corpus.counts()), k)
        for row in part.cells(k=k, series="variational, no privacy", epsilon=None, seed=1):
            judge(row, VariationalLda(n_topics=k, alpha=1.0 / k)(wiki.corpus.counts()), k)
        for row in part.cells(k=k, series="word frequencies", epsilon=None, seed=1):
            judge(row, np.tile(wiki.moments.mean, (k, 1)), k)
        for epsilon, seed in product(EPSILONS, range(1, repetitions + 1)):
            settings = {"n_topics": k, "delta": DELTA, "unit": Unit.DOCUMENT}
            for row in part.cells(k=k, series="spectral", epsilon=epsilon, seed=seed):
                run(row, k, SpectralTopics.calibrated(epsilon=epsilon, **settings, **TOPICS_ALONE))
            for config, splits in SPLITS.items():
                for row in part.cells(k=k, series=config, epsilon=epsilon, seed=seed):
                    run(row, k, mechanisms("topics")[config].calibrated(epsilon=epsilon, shares=splits[0], **settings))
            if seed == 1:  # slow
                for row in part.cells(k=k, series="variational", epsilon=epsilon, seed=seed):
                    run(row, k, variational(k, epsilon, 1.0, seeded(row), **tuned))


def table2(folder: Path) -> None:
    """Top words at ε = 1, words chosen privately and all: the default pipeline of each mechanism, ten topics."""
    part = Part("table2")
    texts = pq.read_table(folder / "wikipedia_schools.parquet", columns=["text"]).column("text").to_pylist()
    for name, epsilon in product(("spectral", "variational"), (1.0, 10.0)):
        for row in part.cells(series=name, epsilon=epsilon):
            corpus = Corpus.from_texts(texts, settings=TEXT)
            settings = {"n_topics": 10, "epsilon": epsilon, "delta": 1e-6, "unit": Unit.DOCUMENT}
            mechanism = Plan.topics(mechanism=name, vocabulary="weighted", **settings, **TOPICS_ALONE).build()
            model = mechanism(corpus.bounded(unit=Unit.DOCUMENT), seeded(row)).value
            row["words"] = [" ".join(words) for words in model.top_words(10, relevance=1.0, min_z=0)]
            row["vocabulary"] = len(model.vocabulary)
            row["npmi"] = float(np.mean(npmi(corpus, model.top_words(10, relevance=1.0, min_z=0))))


def choice() -> None:
    """Appendix J: the best of several by a noisy likelihood, all charged, beside each alone at the same ε."""
    part, size, seed = Part("choice"), (30_000, 100, 5, 1.0), 1
    settings = {"n_topics": size[2], "delta": DELTA, "unit": Unit.DOCUMENT}
    ours = {"spectral": SpectralTopics.template(alpha0=size[3], **settings, **TOPICS_ALONE)}
    ours["variational"] = VariationalTopics.template(
        **settings, alpha=size[3] / size[2], **best_variational(), **TOPICS_ALONE
    )
    splits = {
        f"spectral-1 {s}": mechanisms("topics")["spectral-1"].template(**settings, shares=s)
        for s in SPLITS["spectral-1"]
    }
    configurations = {name: mechanisms("topics")[name].template(**settings) for name in ("spectral-1", "spectral-2")}
    for group, epsilon in product((splits, configurations, ours), (1.0, 10.0)):
        for row in part.cells(candidates=list(group), epsilon=epsilon):
            _, topics, bounded, _ = cached(size, seed)
            mechanism = BestOf.calibrated(list(group.values()), epsilon=epsilon, delta=DELTA)
            row["chosen"] = errors(topics, mechanism(bounded, seeded(row)).value.topic_word)["l1"]
            row["alone"] = {}
            for name, template in group.items():
                try:
                    model = calibrate(template, epsilon=epsilon)(bounded, seeded(row)).value
                    row["alone"][name] = errors(topics, model.topic_word)["l1"]
                except NothingReleased:
                    row["alone"][name] = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", help="tuning, figure3, figure2, printed, figure4, table2, choice or starts; else all")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA), help="of figure 2")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "tuning": tuning,
        "figure3": figure3,
        "figure2": lambda: figure2(arguments.repetitions, arguments.corpora),
        "printed": lambda: printed(arguments.repetitions),
        "figure4": lambda: figure4(arguments.data, arguments.repetitions),
        "table2": lambda: table2(arguments.data),
        "choice": choice,
        "starts": starts,
    }
    for name, part in parts.items():
        if arguments.part in (None, name):
            file = f"spectral_{name}.json"
            code = CODE if name in ("printed", "figure3") else (*CODE, *OURS)  # only published parts in these two
            with made(file, code=code, command=f"{COMMAND} --part {name}"):
                part()


if __name__ == "__main__":
    main()
