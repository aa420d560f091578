"""Tables 1 to 4 and figures 1, 2, 5, 6 and 7 of Manzonelli et al. 2024: membership inference against topic models.

    python experiments/membership.py --data FOLDER --models FOLDER [--wordnet FOLDER] [--shadows N] [--only PART …]

Needs tweet_rumours, nips_bow and newsgroups20 (Parquet) in the data folder. Shadow models are kept in the models folder
(6 GB for everything) and a second run goes on where the first stopped; results go to results/membership_*.json. All
numbers are computed from the texts: NOT FOR RELEASE. What takes how long: results/made_by.json; with scikit-learn's
learner NIPS takes hours and 20 Newsgroups a day (one core), so that these two are run only if they are named.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from membership_data import TOPICS, load, profile, tweets
from membership_figures import draw
from scipy.stats import false_discovery_control, shapiro
from sklearn.decomposition import LatentDirichletAllocation
from store import note, read

from dptopics import Corpus, TextSettings, Unit
from dptopics.audit.membership.models import of_learner, of_mechanism
from dptopics.audit.membership.rates import STATISTICS, Shadows, train_shadows
from dptopics.audit.membership.scores import Attack, attack, threshold_attack
from dptopics.core.counts import Counts
from dptopics.learners import Learner
from dptopics.learners.adapters import SklearnLearner
from dptopics.learners.lda import VariationalLda
from dptopics.mechanisms.topics.best_of import VocabularyThenTopics
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary
from dptopics.published.fdptm import ZhuTopics
from dptopics.published.vocabulary import GreedyAsPublished
from dptopics.release.release import mechanism_settings

FOLDER = Path(__file__).parent / "results"
TARGETS = 10
NORMALITY = 256  # shadows of table 3, as in the paper
GRID = np.geomspace(1e-4, 1, 81)
COMMAND = "python experiments/membership.py --data FOLDER --models FOLDER --wordnet FOLDER"
CODE = (
    "experiments/membership.py",
    "experiments/membership_data.py",
    "src/dptopics/audit/membership/scores.py",
    "src/dptopics/audit/membership/scores.py",
    "src/dptopics/audit/membership/rates.py",
    "src/dptopics/audit/membership/rates.py",
    "src/dptopics/kernels/zeta.py",
    "src/dptopics/learners/lda.py",
)


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
        self.part, self.begin = "", time.perf_counter()

    def start(self, part: str) -> None:
        self.part, self.begin = part, time.perf_counter()
        print(part, flush=True)

    def counts(self, corpus: str) -> Counts:
        if corpus not in self._counts:
            self._counts[corpus] = load(corpus, self.data, self.wordnet)
        return self._counts[corpus]

    def shadows(self, corpus: str, learner: str, n_topics: int, n_shadows: int | None = None) -> Shadows:
        """Shadow i is the same however many there are: if those of table 3 are there, the first of them are taken."""
        counts, wanted, name = self.counts(corpus), n_shadows or self.n_shadows, f"{corpus}-{learner}-{n_topics}"
        number = max(wanted, NORMALITY) if (self.models / f"{name}-{NORMALITY}").exists() else wanted
        train = of_learner(LEARNERS[learner](n_topics), counts)
        print(f"{name}: {number} shadows", flush=True)
        settings, folder = {"learner": learner, "topics": n_topics}, self.models / f"{name}-{number}"
        found = train_shadows(train, counts, n_shadows=number, folder=folder, settings=settings)
        parts = (found.member, found.statistics, found.present, found.totals)
        return Shadows(*(part[:wanted] for part in parts))

    def save(self, name: str, value: Any) -> None:
        """Write a result and note what made it; minutes of the longest run, which trained the shadows."""
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps({"not_for_release": True, **value}, indent=1, ensure_ascii=False)
        result = f"membership_{name}.json"
        (FOLDER / result).write_text(text + "\n", "utf-8")
        before = read().get(result, {}).get("minutes_on_two_cores") or 0.1
        minutes = max(before, (time.perf_counter() - self.begin) / 60)
        note(result, code=CODE, command=f"{COMMAND} --only {self.part}", minutes=minutes)
        print(f"results/{result}", flush=True)


def rates(one: Attack) -> dict[str, Any]:
    return {**one.to_dict(), "curve": [round(float(rate), 6) for rate in one.roc(GRID)]}


def lira(shadows: Shadows, **how: Any) -> Attack:
    """The attack as published: the variance of each document's own shadows."""
    return attack(shadows, targets=TARGETS, alike=0.0, **how)


def attacks(shadows: Shadows) -> list[Attack]:
    """The attack with each statistic, the baselines, and as the command does it: variances of documents alike."""
    found = [lira(shadows), lira(shadows, online=False)]
    found += [lira(shadows, statistics=[name]) for name in STATISTICS[1:]]
    found += [lira(shadows, statistics=STATISTICS)]
    found += [threshold_attack(shadows, name, targets=TARGETS) for name in STATISTICS[1:]]
    drawn = [attack(shadows, targets=TARGETS, online=online) for online in (True, False)]
    return found + [replace(one, name=f"{one.name}, variances of documents alike") for one in drawn]


def table_1(experiment: Experiment, corpus: str, learner: str) -> None:
    """Also figures 2 and 7."""
    shadows = experiment.shadows(corpus, learner, TOPICS[corpus])
    found = attacks(shadows)
    for one in found:
        print(f"  {one.name}: {one.true_positive_rate(0.001):.2%} at 0.1 %, AUC {one.area():.3f}", flush=True)
    name = f"table1_{corpus}" + ("" if learner == "scikit-learn" else "_ours")
    described = {"corpus": corpus, "learner": learner, "shadows": shadows.n_shadows, "targets": TARGETS}
    experiment.save(name, {**described, "attacks": [rates(one) for one in found]})


def table_2(experiment: Experiment) -> None:
    """NIPS by the number of topics."""
    rows = []
    for n_topics in (5, 10, 15, 20, 25):
        shadows = experiment.shadows("nips", "ours", n_topics)
        found = [lira(shadows, online=online) for online in (True, False)]
        rows.append({"topics": n_topics, "online": found[0].to_dict(), "offline": found[1].to_dict()})
        print(f"  k = {n_topics}: {[f'{one.true_positive_rate(0.001):.1%}' for one in found]}", flush=True)
        experiment.save("table2", {"learner": "ours", "shadows": shadows.n_shadows, "rows": rows})


def table_3(experiment: Experiment, learner: str, *corpora: str) -> None:
    """Also figure 6: how normal the statistics are, and how far in is from out, for 1,000 documents of each corpus.

    The paper: 256 shadows, 1,000 documents of each of three corpora, so 6,000 tests for each statistic.
    """
    measured: dict[str, dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}
    name = "table3_" + ("ours" if learner == "ours" else "_".join(corpora))
    for corpus in corpora:
        measured[corpus] = normal_or_not(experiment.shadows(corpus, learner, TOPICS[corpus], NORMALITY))
        together = {one: [np.concatenate(part) for part in zip(*(m[one] for m in measured.values()), strict=True)]
                    for one in STATISTICS}  # fmt: skip
        parts = {c: {one: rejections(*found) for one, found in m.items()} for c, m in measured.items()}
        parts["together"] = {one: rejections(*found) for one, found in together.items()}
        print({one: f"{parts[corpus][one]['share']:.2%}" for one in STATISTICS}, flush=True)
        experiment.save(name, {"learner": learner, "shadows": NORMALITY, "documents": 1000, "corpora": parts})


def normal_or_not(shadows: Shadows) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each statistic: p values of in and out, KL(in ‖ out), whether in has the greater mean; 1,000 documents."""
    documents = np.random.default_rng(0).permutation(shadows.member.shape[1])[:1000]
    members = shadows.member[:, documents].T
    result = {}
    for column, name in enumerate(STATISTICS):
        values = shadows.statistics[:, documents, column].T
        inside = [value[member] for value, member in zip(values, members, strict=True)]
        outside = [value[~member] for value, member in zip(values, members, strict=True)]
        chances = np.array([normality(sample) for sample in inside + outside])
        pairs = list(zip(inside, outside, strict=True))
        far = np.array([divergence(*pair) for pair in pairs])
        result[name] = (chances, far, np.array([one.mean() > other.mean() for one, other in pairs]))
    return result


def rejections(chances: np.ndarray, far: np.ndarray, above: np.ndarray) -> dict[str, Any]:
    """Tests rejected at 0.05 with Benjamini and Hochberg's correction and without; quantiles of KL."""
    rejected = false_discovery_control(chances, method="bh") <= 0.05
    return {
        "tests": int(rejected.size),
        "rejected": int(rejected.sum()),
        "share": float(rejected.mean()),
        "share_without_correction": float(np.mean(chances <= 0.05)),
        "kl_quantiles": {str(q): float(np.quantile(far, q)) for q in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)},
        "in_above_out": float(above.mean()),
    }


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
    experiment.save("figure1", {"corpus": "tweets", "learner": "scikit-learn", "documents": result})


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
            of_mechanism(mechanism, corpus),
            corpus.counts(),
            n_shadows=64,
            folder=folder,
            settings=mechanism_settings(mechanism),
        )
        one = lira(shadows)
        print(
            f"  {pipeline} {first:g} {second:g}: {one.true_positive_rate(0.001):.2%}, AUC {one.area():.3f}", flush=True
        )
        rows.append({"pipeline": pipeline, "epsilon_1": first, "epsilon_2": second, **rates(one)})
        experiment.save("figure5", {"corpus": "tweets", "rows": rows})


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
        # What is compared are topics: no budget is spent on their sizes.
        settings = {"n_topics": n_topics, "delta": delta, "unit": Unit.DOCUMENT, "size_share": 0.0}
        topics = VariationalTopics.calibrated(epsilon=second, **settings)
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
        one = lira(shadows)
        print(f"  words of more than {most} uses: {one.true_positive_rate(0.001):.2%}", flush=True)
        rows.append({"left_out_up_to": most, "vocabulary": len(part.words), **one.to_dict()})
        experiment.save("rare_words", {"corpus": "tweets", "learner": "ours", "shadows": 64, "rows": rows})


def table_4(experiment: Experiment) -> None:
    experiment.save("table4", {"corpora": {name: profile(experiment.counts(name)) for name in TOPICS}})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="where shadow models are kept: private data")
    parser.add_argument("--wordnet", type=Path, help="folder with index.noun and noun.exc of WordNet 3.0")
    parser.add_argument("--shadows", type=int, default=128)
    parser.add_argument("--only", nargs="+", help="parts to run; all but nips and newsgroups if none is named")
    arguments = parser.parse_args()
    if arguments.wordnet is None:
        print(
            "Without --wordnet nouns are lemmatised by simplemma, which joins more forms than the paper's NLTK does: "
            "5,056 words of the tweets instead of 5,936. Rare words are what exposes a document, so that LiRA finds "
            "9.7 % of the members at 0.1 % false positives instead of 12.7 %."
        )
    experiment = Experiment(arguments.data, arguments.models, arguments.wordnet, arguments.shadows)
    parts: dict[str, Callable[[], None]] = {
        "table4": lambda: table_4(experiment),
        "tweets": lambda: table_1(experiment, "tweets", "scikit-learn"),
        "tweets-ours": lambda: table_1(experiment, "tweets", "ours"),
        "table3-ours": lambda: table_3(experiment, "ours", *TOPICS),
        "table3-tweets": lambda: table_3(experiment, "scikit-learn", "tweets"),
        "figure1": lambda: figure_1(experiment),
        "nips-ours": lambda: table_1(experiment, "nips", "ours"),
        "newsgroups-ours": lambda: table_1(experiment, "newsgroups", "ours"),
        "figure5": lambda: figure_5(experiment),
        "rare-words": lambda: rare_words(experiment),
        "table2": lambda: table_2(experiment),
        "nips": lambda: table_1(experiment, "nips", "scikit-learn"),
        "newsgroups": lambda: table_1(experiment, "newsgroups", "scikit-learn"),
    }
    for name in arguments.only or [part for part in parts if part not in ("nips", "newsgroups")]:
        experiment.start(name)
        parts[name]()
    draw(FOLDER)


if __name__ == "__main__":
    main()
