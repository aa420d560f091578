"""Figures 2 to 10, 12, 13 and table 1 of Wang et al. 2022 (TopicDP) on Enron and Amazon. NOT FOR RELEASE.

Distances between fits on neighbouring data sets first (long; kept in results/topicdp_pairs.json, a second run goes on),
then errors of noisy matrices by ε, γ, size and model (seconds; results/topicdp.json), then figures. It draws
as many pairs as the published sample size asks for at every γ: 9,498 at γ = 0.02.

    python experiments/topicdp.py --data FOLDER
    python experiments/topicdp.py --data FOLDER --only recipients-30000     pairs of these data sets alone

FOLDER holds enron_full_body, amazon_5core, amazon_reviews and newsgroups20 (.parquet). As published: neighbours are
drawn from the private authors, the words are the data's own, and each topic's top words are released. "sound":
neighbours and words from 20 Newsgroups, the whole matrix. "recipients-30000": data sets of 30,000 users, drawn with
replacement from the 158 recipients, as the authors' public code draws them. All numbers are of the real texts.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distances import kendall_distance, l1_distance, rmse, row_distance
from store import made
from topicdp_pairs import SharedFits

from dptopics import Corpus, TextSettings, Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.learners import Learner
from dptopics.learners.adapters import TomotopyLearner, lsi, plsa
from dptopics.learners.lda import GibbsLda, VariationalLda
from dptopics.mechanisms.topics.output_matrix import heaviest, multiplier, renyi_epsilon, tidy, units_of
from dptopics.mechanisms.topics.output_sensitivity import DrawnUnits, SampleSize, distance, draw_pair, n_pairs
from dptopics.published.topicdp import mvg_noise_std

COMMAND = "python experiments/topicdp.py --data FOLDER"
CODE = (
    "experiments/topicdp_pairs.py",
    "src/dptopics/kernels/doc_topics.py",
    "src/dptopics/learners/lda.py",
    "src/dptopics/published/topicdp.py",
    "src/dptopics/mechanisms/topics/output_sensitivity.py",
    "src/dptopics/mechanisms/topics/output_matrix.py",
    "src/dptopics/mechanisms/topics/output_sensitivity.py",
)
FOLDER = Path(__file__).parent / "results"
TEXT = TextSettings(links=True)  # the paper says nothing of links
DATA = {
    "enron": "enron_full_body",
    "recipients": "enron_full_body",
    "amazon": "amazon_5core",
    "reviews": "amazon_reviews",
    "recipients-30000": "enron_full_body",
}
USERS = {"recipients-30000": 30_000}  # drawn for each data set; else as many as the corpus has
RECIPIENTS = 158  # the paper's number of users
DELTA, GAMMA, WORDS, DOCS, SIZE, REPETITIONS = 1e-4, 0.1, 1000, 20, 10, 50
EPSILONS = [float(e) for e in np.arange(1, 10.5, 0.5)]
GAMMAS = [0.02, 0.07, 0.12, 0.17, 0.22]
SIZES = range(2, SIZE + 1)
FEWEST, FEW = n_pairs(GAMMA, SampleSize.EXCHANGEABLE), n_pairs(GAMMA, SampleSize.BINOMIAL)
PUBLISHED = n_pairs(GAMMA, SampleSize.DKW)
MOST = {"enron": n_pairs(0.02, SampleSize.DKW), "amazon": n_pairs(0.02, SampleSize.DKW), "recipients": PUBLISHED}
MOST["recipients-30000"] = n_pairs(0.02, SampleSize.DKW)
SIZED = ("enron", "amazon", "recipients-30000")  # with all sizes
OTHERS = {name: ("lsi", "hdp", "plsa", "lda-gibbs") for name in ("enron", "amazon")}
OTHERS["recipients-30000"] = ("lsi", "hdp")  # a pair of fits of HDP takes minutes
SHARED = 5_000  # of so many units the first pass is kept in memory
PASSES = 5


def models(n_topics: int) -> dict[str, Learner]:
    """The functions that are protected: each one learner with a fixed public key."""
    return {
        "lda": VariationalLda(n_topics=n_topics, passes=PASSES),
        "lda-gibbs": GibbsLda(n_topics=n_topics, sweeps=20),
        "lsi": lsi(n_topics),
        "plsa": plsa(n_topics, steps=20, tolerance=0.0),
        "hdp": TomotopyLearner("HDPModel", n_topics, sweeps=20),
    }


class Data:
    """One corpus, bounded, over its own most frequent words or over public ones."""

    def __init__(self, folder: Path, name: str) -> None:
        path = folder / f"{DATA[name]}.parquet"
        source: Any = recipients(path) if name.startswith("recipients") else path
        self.corpus = Corpus.from_table(source, text="text", author="user", settings=TEXT, drop_missing=True)
        self.bounded = self.corpus.bounded(max_docs=DOCS)
        self.own = self.bounded.limited(vocabulary=frequent(self.corpus))


def recipients(path: Path) -> pa.Table:
    """A copy of every mail for each of its recipients, of the 158 who got the most: the paper's users."""
    table = pq.read_table(path, columns=["text", "to"])
    texts, to = table["text"].to_pylist(), [sorted(set(names or ())) for names in table["to"].to_pylist()]
    most = {name for name, _ in Counter(name for names in to for name in names).most_common(RECIPIENTS)}
    rows = [(name, text) for text, names in zip(texts, to, strict=True) for name in names if name in most]
    return pa.table({"user": [name for name, _ in rows], "text": [text for _, text in rows]})


def frequent(corpus: Corpus) -> Vocabulary:
    """The words that are in the most documents."""
    common = np.argsort(-np.bincount(corpus.word, minlength=len(corpus.words)), kind="stable")[:WORDS]
    return Vocabulary.of([corpus.words[w] for w in common])


class Pairs:
    """Distances between fits on neighbouring data sets, by cell; saved as they come."""

    def __init__(self) -> None:
        self.path = FOLDER / "topicdp_pairs.json"
        self.cells: dict[str, dict[str, object]] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def sample(self, cell: str, source: BoundedCorpus, n_units: int, learner: Learner, top: int, wanted: int) -> None:
        row = self.cells.setdefault(cell, {"n_units": n_units, "seconds": 0.0, "pairs": []})
        pairs = row["pairs"]
        assert isinstance(pairs, list)
        if len(pairs) >= wanted:
            return
        fits = pairs_of(source, n_units, learner)
        before, begin, saved = float(row["seconds"]), time.perf_counter(), 0.0  # type: ignore[arg-type]
        while len(pairs) < wanted:
            first, second = fits(np.random.Generator(np.random.PCG64([0, len(pairs)])))
            kept = [np.where(heaviest(m, top), m, 0.0) for m in (first, second)]
            both = (kept, (first, second))
            pairs.append([short(distance(*pair, matched=how)) for pair in both for how in (True, False)])
            row["seconds"] = round(before + time.perf_counter() - begin, 1)
            if time.perf_counter() > saved + 20 or len(pairs) == wanted:
                FOLDER.mkdir(exist_ok=True)
                self.path.write_text(json.dumps(self.cells) + "\n", "utf-8")
                saved = time.perf_counter()
                print(cell, len(pairs), f"{max(p[0] for p in pairs):.4f}", f"{row['seconds']:.0f} s", flush=True)

    def sensitivity(self, cell: str, gamma: float, size: SampleSize, column: int = 0) -> float | None:
        """Largest distance of the pairs that γ asks for; None if there are not so many."""
        pairs, wanted = self.cells[cell]["pairs"], n_pairs(gamma, size)
        assert isinstance(pairs, list)
        return max(p[column] for p in pairs[:wanted]) if len(pairs) >= wanted else None


Fits = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def pairs_of(source: BoundedCorpus, n_units: int, learner: Learner) -> Fits:
    """Fits on two neighbouring data sets, drawn with the lots it is given; what all share is computed once."""
    units = units_of(source)
    if isinstance(learner, VariationalLda) and units.n <= SHARED:
        shared = SharedFits(units, learner)
        return lambda lots: shared.pair(n_units, lots)

    def plain(lots: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        first, second = draw_pair(DrawnUnits(units), n_units, lots)
        return learner(first), learner(second)

    return plain


def sample_all(folder: Path, pairs: Pairs, public: Corpus, only: str | None) -> dict[str, Data]:
    """What every figure needs first, and then more pairs for larger samples; of one corpus ``only``, if it is named."""
    data = {name: Data(folder, name) for name in DATA}
    n_units = {name: USERS.get(name, int(one.corpus.n_authors or 0)) for name, one in data.items()}

    def own(name: str, model: str, size: int, wanted: int) -> None:
        if only in (None, name):
            pairs.sample(f"{name} {model} {size}", data[name].own, n_units[name], models(size)[model], size, wanted)

    source = public.bounded(max_docs=DOCS).limited(vocabulary=frequent(public))
    for name in ("enron", "amazon"):
        own(name, "lda", SIZE, FEW)
        own(name, "lsi", SIZE, FEW)
        for size in SIZES[:-1]:
            own(name, "lda", size, FEW)
        if only in (None, name):
            pairs.sample(f"{name} sound", source, n_units[name], models(SIZE)["lda"], SIZE, FEWEST)
        for model in ("hdp", "plsa", "lda-gibbs"):
            own(name, model, SIZE, FEWEST)
    own("reviews", "lda", SIZE, FEWEST)
    own("enron", "hdp", SIZE, FEW)
    for name, wanted in MOST.items():
        own(name, "lda", SIZE, wanted)
    for name in SIZED:
        for size in SIZES[:-1]:
            own(name, "lda", size, PUBLISHED)
    own("recipients-30000", "lsi", SIZE, FEW)
    own("recipients-30000", "hdp", SIZE, FEWEST)
    return data


def deviations(size: int, epsilon: float, far: float, norm: float) -> dict[str, float]:
    """Deviation of the noise on every entry; for Laplace, its scale. ``norm`` is that of the released matrix itself."""
    mvg = {"epsilon": epsilon, "delta": DELTA, "sensitivity": far}
    order, delta = 11, 1e-3  # of the authors' public code, which divides ε_R by the entries
    coded = (epsilon - log(1 / delta) / (order - 1)) / size**2
    return {
        "renyi (published)": multiplier(epsilon, DELTA, "renyi") * far,
        "renyi-best": multiplier(epsilon, DELTA, "renyi-best") * far,
        "analytic": multiplier(epsilon, DELTA) * far,
        "mvg": mvg_noise_std(size, size, largest_norm=size**0.5, **mvg),  # rows are distributions
        "laplace": 2 * size / epsilon,
        "mvg, norm of f(D)": mvg_noise_std(size, size, largest_norm=norm, **mvg),
        "laplace, split": 2 * size / (epsilon / size**2),  # so much of ε for each entry
        "renyi (public code)": order * far**2 / (2 * coded),  # a variance, used as a deviation
    }


def errors(topics: np.ndarray, size: int, epsilon: float, far: float, seed: int) -> dict[str, dict[str, float]]:
    """Errors of the top-n matrix of each topic, mean over repetitions. The noise is seeded and plain: not private."""
    exact = -np.sort(-topics, axis=1)[:, :size]
    found = {}
    for name, scale in deviations(size, epsilon, far, float(np.linalg.norm(exact))).items():
        rng = np.random.default_rng(seed)
        runs = []
        for _ in range(REPETITIONS):
            drawn = rng.laplace(0, scale, exact.shape) if "laplace" in name else rng.normal(0, scale, exact.shape)
            noisy = exact + drawn
            runs.append([measure(exact, noisy) for measure in (row_distance, l1_distance, rmse, kendall_distance)])
        row = np.mean(runs, axis=0)
        found[name] = dict(zip(("row_distance", "l1", "rmse", "kendall"), map(float, row), strict=True))
    return found


def whole_matrix(topics: np.ndarray, far: float, seed: int) -> dict[str, dict[str, float]]:
    """The whole topic-word matrix instead of top words: analytic noise, rows projected to the simplex."""
    found = {}
    for epsilon in (1.0, 3.0, 10.0):
        rng = np.random.default_rng(seed)
        deviation = multiplier(epsilon, DELTA) * far
        runs = []
        for _ in range(REPETITIONS):
            noisy = tidy(topics + rng.normal(0, deviation, topics.shape), "simplex")
            best = heaviest(topics, SIZE) & heaviest(noisy, SIZE)
            runs.append([l1_distance(topics, noisy), best.sum() / (topics.shape[0] * SIZE)])
        l1, kept = np.mean(runs, axis=0)
        sure = float(np.mean(np.sum(topics > 3 * deviation, axis=1)))
        row = {"deviation": deviation, "l1": float(l1), "top 10 kept": float(kept), "words above 3 deviations": sure}
        found[str(epsilon)] = row
    return found


def evaluate(data: dict[str, Data], pairs: Pairs, words_of_others: Vocabulary) -> dict[str, object]:
    rows: list[dict[str, object]] = []
    whole: dict[str, object] = {}
    shown: dict[str, object] = {}

    def add(figure: str, name: str, model: str, size: int, epsilon: float, gamma: float, *kinds: SampleSize) -> None:
        """One point, with the first of these sample sizes that there are enough pairs for."""
        for kind in kinds or SampleSize:
            far = pairs.sensitivity(f"{name} {model} {size}", gamma, kind)
            if far is not None:
                row = {"figure": figure, "data": name, "model": model, "size": size, "epsilon": epsilon, "gamma": gamma}
                measured = errors(learned[model, size], size, epsilon, far, len(rows))
                rows.append(row | {"sample_size": str(kind), "sensitivity": far, "errors": measured})
                return

    for name, one in data.items():
        counts = units_of(one.own).counts
        learned = {("lda", size): models(size)["lda"](counts) for size in SIZES}
        learned |= {(m, SIZE): models(SIZE)[m](counts) for m in OTHERS.get(name, ())}
        for epsilon in EPSILONS:
            add("3, 7a, 8a", name, "lda", SIZE, epsilon, GAMMA)
        words, topics = one.own.vocabulary, learned["lda", SIZE]
        assert words is not None
        if name not in USERS:
            best = [np.argsort(-row)[:SIZE] for row in topics]
            listed = [{words.words[w]: float(row[w]) for w in top} for row, top in zip(topics, best, strict=True)]
            shown[name] = {"sensitivity": rows[-1]["sensitivity"], "topics": listed}
            far = pairs.sensitivity(f"{name} lda {SIZE}", GAMMA, SampleSize.EXCHANGEABLE, column=2)
            assert far is not None
            whole[name] = whole_matrix(topics, far, 0) | {"sensitivity": far}
        for gamma, kind in product(GAMMAS if name != "reviews" else (), SampleSize):
            add("4, 7b, 8b", name, "lda", SIZE, 3.0, gamma, kind)
        if name in ("enron", "amazon"):
            far = pairs.sensitivity(f"{name} sound", GAMMA, SampleSize.EXCHANGEABLE, column=2)
            assert far is not None
            public_words = models(SIZE)["lda"](units_of(one.bounded.limited(vocabulary=words_of_others)).counts)
            whole[f"{name} sound"] = whole_matrix(public_words, far, 0) | {"sensitivity": far}
        for gamma, kind in product(GAMMAS, SampleSize):
            for model in OTHERS.get(name, ())[:2]:
                add("9bd, 10bd", name, model, SIZE, 3.0, gamma, kind)
        for epsilon, size in product((3.0, 5.0), SIZES if name in SIZED else ()):
            add(f"{5 if epsilon == 3 else 6}, 7cd, 8cd", name, "lda", size, epsilon, GAMMA)
        for model, epsilon in product(OTHERS.get(name, ()), EPSILONS):
            add("9ac, 10ac", name, model, SIZE, epsilon, GAMMA, SampleSize.EXCHANGEABLE)
    cells = {
        cell: {
            "pairs": len(row["pairs"]),  # type: ignore[arg-type]
            "n_units": row["n_units"],
            "seconds": row["seconds"],
            "largest": [max(p[c] for p in row["pairs"]) for c in range(4)],  # type: ignore[attr-defined]
        }
        for cell, row in pairs.cells.items()
    }
    return {
        "note": "NOT FOR RELEASE: computed from the texts, with seeded noise.",
        "columns of largest": ["top, matched", "top, as ordered", "whole, matched", "whole, as ordered"],
        "figure 2": [[e, renyi_epsilon(e, DELTA, 2.0)] for e in EPSILONS],
        "table 1": {name: shape(one.corpus) for name, one in data.items()},
        "sensitivities": cells,
        "keywords": shown,
        "whole matrix, exchangeable": whole,
        "rows": rows,
    }


def shape(corpus: Corpus) -> dict[str, float]:
    """Table 1, over the words that are left after stop words; documents without an author are left out."""
    authors = corpus.n_authors or 1
    words = float(corpus.count.sum() / corpus.n_documents)
    documents = corpus.n_documents
    return {"users": authors, "documents": documents, "words": words, "documents per user": documents / authors}


def short(value: Any) -> Any:
    """The same with five digits: a smaller file."""
    if isinstance(value, dict):
        return {name: short(part) for name, part in value.items()}
    if isinstance(value, list):
        return [short(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the parquet files")
    parser.add_argument("--only", choices=DATA, help="draw pairs of this corpus alone; errors are of all")
    parser.add_argument("--figures-only", action="store_true", help="draw the results that are there")
    arguments = parser.parse_args()
    path = FOLDER / "topicdp.json"
    if not arguments.figures_only:
        pairs = Pairs()
        news = arguments.data / "newsgroups20.parquet"
        public = Corpus.from_table(news, text="text", author="user", settings=TEXT, drop_missing=True)
        files = [arguments.data / f"{name}.parquet" for name in {*DATA.values(), "newsgroups20"}]
        noted: dict[str, Any] = {"code": CODE, "command": COMMAND, "inputs": sorted(files)}
        with made("topicdp_pairs.json", **noted), made("topicdp.json", **noted):
            data = sample_all(arguments.data, pairs, public, arguments.only)
            path.write_text(json.dumps(short(evaluate(data, pairs, frequent(public)))) + "\n", "utf-8")
    from topicdp_figures import draw

    draw(json.loads(path.read_text("utf-8")), FOLDER)


if __name__ == "__main__":
    main()
