"""Tables 1 to 4 and figures 1, 2, 5, 6 and 7 of Manzonelli et al. 2024: membership inference against topic models.

    python experiments/membership.py --data FOLDER --models FOLDER [--wordnet FOLDER] [--shadows N] [--only PART …]

Needs tweet_rumours, nips_bow and newsgroups20 (Parquet) in the data folder. Shadow models are kept in the models folder
(2 GB for everything) and a second run goes on where the first stopped; results go to results/membership_*.json. All
numbers are computed from the texts: NOT FOR RELEASE. What takes how long: the tweets minutes, NIPS half an hour, 20
Newsgroups hours (scikit-learn's learner, one core).
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from membership_data import TOPICS, load, profile, tweets
from membership_figures import draw
from scipy.stats import false_discovery_control, shapiro
from sklearn.decomposition import LatentDirichletAllocation
from store import note

from dptopics import Corpus, TextSettings, Unit
from dptopics.audit.lira import Attack, attack, threshold_attack
from dptopics.audit.shadows import Shadows, train_shadows
from dptopics.audit.statistics import STATISTICS
from dptopics.audit.targets import of_learner, of_mechanism
from dptopics.data.counts import Counts
from dptopics.learners import Learner
from dptopics.learners.adapters import SklearnLearner
from dptopics.learners.lda_variational import VariationalLda
from dptopics.published.fdptm.zhu import ZhuTopics
from dptopics.published.vocabulary.greedy import GreedyAsPublished
from dptopics.release.release import describe
from dptopics.topics.pipeline import VocabularyThenTopics
from dptopics.topics.variational import VariationalTopics
from dptopics.vocabulary.greedy import GreedyVocabulary

FOLDER = Path(__file__).parent / "results"
TARGETS = 10
GRID = np.geomspace(1e-4, 1, 81)
COMMAND = "python experiments/membership.py --data FOLDER --models FOLDER --wordnet FOLDER"
CODE = (
    "experiments/membership.py",
    "experiments/membership_data.py",
    "src/dptopics/audit/lira.py",
    "src/dptopics/audit/shadows.py",
    "src/dptopics/audit/statistics.py",
    "src/dptopics/kernels/zeta.py",
    "src/dptopics/learners/lda_variational.py",
)
BEGIN = time.perf_counter()


def sklearn(n_topics: int) -> Learner:
    """The paper's learner, at its defaults."""
    return SklearnLearner(LatentDirichletAllocation(n_components=n_topics))


def ours(n_topics: int) -> Learner:
    """Variational Bayes with the settings that scikit-learn has by default."""
    return VariationalLda(
        n_topics=n_topics, alpha=1 / n_topics, beta=1 / n_topics, passes=10, steps=100, tolerance=1e-4
    )


LEARNERS: dict[str, Callable[[int], Learner]] = {"scikit-learn": sklearn, "ours": ours}


class Experiment:
    """Corpora are prepared once; shadows are trained once and read back."""

    def __init__(self, data: Path, models: Path, wordnet: Path | None, n_shadows: int) -> None:
        self.data, self.models, self.wordnet, self.n_shadows = data, models, wordnet, n_shadows
        self._counts: dict[str, Counts] = {}

    def counts(self, corpus: str) -> Counts:
        if corpus not in self._counts:
            self._counts[corpus] = load(corpus, self.data, self.wordnet)
        return self._counts[corpus]

    def shadows(self, corpus: str, learner: str, n_topics: int) -> Shadows:
        counts = self.counts(corpus)
        folder = self.models / f"{corpus}-{learner}-{n_topics}-{self.n_shadows}"
        train = of_learner(LEARNERS[learner](n_topics), counts)
        print(f"{folder.name}: shadows", flush=True)
        return train_shadows(
            train, counts, n_shadows=self.n_shadows, folder=folder, settings={"learner": learner, "topics": n_topics}
        )


def rates(one: Attack) -> dict[str, Any]:
    return {**one.to_dict(), "curve": [round(float(rate), 6) for rate in one.roc(GRID)]}


def attacks(shadows: Shadows) -> list[Attack]:
    """Our attack with each statistic, and the baselines."""
    found = [attack(shadows, targets=TARGETS), attack(shadows, targets=TARGETS, online=False)]
    found += [attack(shadows, targets=TARGETS, statistics=[name]) for name in STATISTICS[1:]]
    found += [attack(shadows, targets=TARGETS, statistics=STATISTICS)]
    return found + [threshold_attack(shadows, name, targets=TARGETS) for name in STATISTICS[1:]]


def save(name: str, value: Any) -> None:
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps({"not_for_release": True, **value}, indent=1, ensure_ascii=False)
    (FOLDER / f"membership_{name}.json").write_text(text + "\n", "utf-8")
    note(f"membership_{name}.json", code=CODE, command=COMMAND, minutes=(time.perf_counter() - BEGIN) / 60)
    print(f"results/membership_{name}.json", flush=True)


def table_1(experiment: Experiment, corpus: str, learner: str) -> None:
    """Also figures 2 and 7."""
    shadows = experiment.shadows(corpus, learner, TOPICS[corpus])
    found = attacks(shadows)
    for one in found:
        print(f"  {one.name}: {one.true_positive_rate(0.001):.2%} at 0.1 %, AUC {one.area():.3f}", flush=True)
    name = f"table1_{corpus}" + ("" if learner == "scikit-learn" else "_ours")
    described = {"corpus": corpus, "learner": learner, "shadows": shadows.n_shadows, "targets": TARGETS}
    save(name, {**described, "attacks": [rates(one) for one in found]})


def table_2(experiment: Experiment) -> None:
    """NIPS by the number of topics."""
    rows = []
    for n_topics in (5, 10, 15, 20, 25):
        shadows = experiment.shadows("nips", "ours", n_topics)
        found = [attack(shadows, targets=TARGETS, online=online) for online in (True, False)]
        rows.append({"topics": n_topics, "online": found[0].to_dict(), "offline": found[1].to_dict()})
        print(f"  k = {n_topics}: {[f'{one.true_positive_rate(0.001):.1%}' for one in found]}", flush=True)
        save("table2", {"learner": "ours", "shadows": shadows.n_shadows, "rows": rows})


def table_3(experiment: Experiment, corpus: str = "tweets", learner: str = "scikit-learn") -> None:
    """Also figure 6: how normal the statistics are, and how far in is from out, for 1,000 documents of a corpus.

    The paper: 256 shadows, 1,000 documents of each of three corpora, so 6,000 tests for each statistic.
    """
    shadows = experiment.shadows(corpus, learner, TOPICS[corpus])
    documents = np.random.default_rng(0).permutation(shadows.member.shape[1])[:1000]
    result: dict[str, Any] = {}
    for column, name in enumerate(STATISTICS):
        values = shadows.statistics[:, documents, column]
        inside = [values[member, d] for d, member in enumerate(shadows.member[:, documents].T)]
        outside = [values[~member, d] for d, member in enumerate(shadows.member[:, documents].T)]
        chances = np.array([normality(sample) for sample in inside + outside])
        rejected = false_discovery_control(chances, method="bh") <= 0.05
        far = np.array([divergence(one, other) for one, other in zip(inside, outside, strict=True)])
        result[name] = {
            "tests": int(rejected.size),
            "rejected": int(rejected.sum()),
            "share": float(rejected.mean()),
            "share_without_correction": float(np.mean(chances <= 0.05)),
            "kl_quantiles": {str(q): float(np.quantile(far, q)) for q in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)},
            "in_above_out": float(
                np.mean([one.mean() > other.mean() for one, other in zip(inside, outside, strict=True)])
            ),
        }
        print(f"  {name}: {rejected.sum()} of {rejected.size} rejected, KL {np.median(far):.3f}", flush=True)
    name = f"table3_{corpus}_{shadows.n_shadows}" + ("" if learner == "scikit-learn" else "_ours")
    save(name, {"corpus": corpus, "learner": learner, "shadows": shadows.n_shadows, "statistics": result})


def normality(sample: np.ndarray) -> float:
    """p value of Shapiro and Wilk's test; a statistic that never varies is no normal one."""
    return 0.0 if np.ptp(sample) <= 1e-9 * (1 + abs(sample[0])) else float(shapiro(sample).pvalue)


def divergence(one: np.ndarray, other: np.ndarray) -> float:
    """KL divergence of two fitted normals."""
    first, second = (max(sample.std(), 1e-6 * (1 + abs(sample.mean()))) for sample in (one, other))
    return float(np.log(second / first) + (first**2 + (one.mean() - other.mean()) ** 2) / (2 * second**2) - 0.5)


def figure_1(experiment: Experiment) -> None:
    """ζ with and without a document, for a long and a short one of rare words, and of frequent words."""
    counts, shadows = experiment.counts("tweets"), experiment.shadows("tweets", "scikit-learn", TOPICS["tweets"])
    length = np.add.reduceat(counts.count, counts.doc_start[:-1])
    seen = np.bincount(counts.word, minlength=counts.n_words)[counts.word]
    common = np.add.reduceat(np.log(seen), counts.doc_start[:-1]) / np.diff(counts.doc_start)
    mean, spread = length.mean(), length.std()
    groups = {
        "outlier, long": (length > mean + spread, common),
        "outlier, short": (length < mean - spread, common),
        "inlier, long": (length > mean + spread, -common),
        "inlier, usual length": (abs(length - mean) < spread, -common),
    }
    result = []
    for name, (inside, order) in groups.items():
        chosen = np.flatnonzero(inside)
        document = int(chosen[np.argsort(order[chosen], kind="stable")[len(chosen) // 50]])
        values, member = shadows.statistics[:, document, 0], shadows.member[:, document]
        both = {"in": values[member].round(3).tolist(), "out": values[~member].round(3).tolist()}
        result.append({"document": name, "words": int(length[document]), "zeta": both})
    save("figure1", {"corpus": "tweets", "learner": "scikit-learn", "documents": result})


def figure_5(experiment: Experiment) -> None:
    """FDPTM as published (greedy vocabulary with ε₁, zhu with ε₂): 64 shadows, and the sound pipeline beside it."""
    texts = [" ".join(words) for words in tweets(experiment.data, experiment.wordnet)]
    corpus = Corpus.from_texts(texts, settings=TextSettings(language="none"))
    rows = []
    for pipeline, first, second in [
        ("published", *pair) for pair in ((1.0, 5.0), (5.0, 5.0), (10.0, 5.0), (5.0, 1.0), (5.0, 10.0))
    ] + [("sound", 5.0, 5.0)]:
        mechanism = fdptm(pipeline, first, second)
        folder = experiment.models / f"fdptm-{pipeline}-{first:g}-{second:g}"
        shadows = train_shadows(
            of_mechanism(mechanism, corpus), corpus.counts(), n_shadows=64, folder=folder, settings=describe(mechanism)
        )
        one = attack(shadows, targets=TARGETS)
        print(
            f"  {pipeline} {first:g} {second:g}: {one.true_positive_rate(0.001):.2%}, AUC {one.area():.3f}", flush=True
        )
        rows.append({"pipeline": pipeline, "epsilon_1": first, "epsilon_2": second, **rates(one)})
        save("figure5", {"corpus": "tweets", "rows": rows})


def fdptm(pipeline: str, first: float, second: float) -> VocabularyThenTopics:
    delta, n_topics = 1e-5, TOPICS["tweets"]
    kind = GreedyAsPublished if pipeline == "published" else GreedyVocabulary
    words = kind.calibrated(epsilon=first, delta=delta, unit=Unit.DOCUMENT, max_words=64)
    topics: Any
    if pipeline == "published":
        prior = 1 / n_topics
        settings = {"steps": 30, "alpha": prior, "beta": prior}
        topics = ZhuTopics(n_topics=n_topics, epsilon=second, delta=delta, unit=Unit.DOCUMENT, **settings)
    else:
        topics = VariationalTopics.calibrated(epsilon=second, n_topics=n_topics, delta=delta, unit=Unit.DOCUMENT)
    return VocabularyThenTopics(vocabulary=words, topics=topics, delta=delta)


def rare_words(experiment: Experiment) -> None:
    """Not in the paper: the tweets without words that occur at most so often, as our NIPS corpus lacks them."""
    counts, rows = experiment.counts("tweets"), []
    times = np.bincount(counts.word, weights=counts.count, minlength=counts.n_words)
    for most in (0, 5, 20):
        part = Corpus.from_counts(counts.matrix()[:, times > most], [f"w{i}" for i in np.flatnonzero(times > most)])
        shadows = train_shadows(
            of_learner(ours(TOPICS["tweets"]), part.counts()),
            part.counts(),
            n_shadows=64,
            folder=experiment.models / f"rare-{most}",
            settings={"learner": "ours"},
        )
        one = attack(shadows, targets=TARGETS)
        print(f"  words of more than {most} uses: {one.true_positive_rate(0.001):.2%}", flush=True)
        rows.append({"left_out_up_to": most, "vocabulary": len(part.words), **one.to_dict()})
        save("rare_words", {"corpus": "tweets", "learner": "ours", "shadows": 64, "rows": rows})


def table_4(experiment: Experiment) -> None:
    save("table4", {"corpora": {name: profile(experiment.counts(name)) for name in TOPICS}})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="where shadow models are kept: private data")
    parser.add_argument("--wordnet", type=Path, help="folder with index.noun and noun.exc of WordNet 3.0")
    parser.add_argument("--shadows", type=int, default=128)
    parser.add_argument("--only", nargs="+", help="parts to run; all if none is named")
    arguments = parser.parse_args()
    experiment = Experiment(arguments.data, arguments.models, arguments.wordnet, arguments.shadows)
    parts: dict[str, Callable[[], None]] = {
        "table4": lambda: table_4(experiment),
        "tweets": lambda: table_1(experiment, "tweets", "scikit-learn"),
        "tweets-ours": lambda: table_1(experiment, "tweets", "ours"),
        "table3": lambda: table_3(experiment),
        "table3-ours": lambda: table_3(experiment, "tweets", "ours"),
        "table3-nips": lambda: table_3(experiment, "nips", "ours"),
        "figure1": lambda: figure_1(experiment),
        "nips-ours": lambda: table_1(experiment, "nips", "ours"),
        "newsgroups-ours": lambda: table_1(experiment, "newsgroups", "ours"),
        "figure5": lambda: figure_5(experiment),
        "rare-words": lambda: rare_words(experiment),
        "table2": lambda: table_2(experiment),
        "nips": lambda: table_1(experiment, "nips", "scikit-learn"),
        "newsgroups": lambda: table_1(experiment, "newsgroups", "scikit-learn"),
    }
    for name in arguments.only or parts:
        parts[name]()
    draw(FOLDER)


if __name__ == "__main__":
    main()
