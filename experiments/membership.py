"""Tables 1 to 4 and figures 1, 2, 5, 6 and 7 of Manzonelli et al. 2024: membership inference against topic models.

    python experiments/membership.py --data FOLDER --models FOLDER [--wordnet FOLDER] [--only PART …]

Needs tweet_rumours, nips_bow and newsgroups20 (Parquet) in the data folder. Shadow models are kept in the models folder
(2 GB for everything) and a second run goes on where the first stopped; results go to results/membership_*.json. All
numbers are computed from the texts: NOT FOR RELEASE. What takes how long: the tweets minutes, NIPS half an hour, 20
Newsgroups hours (scikit-learn's learner, one core).
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from membership_data import TOPICS, load, profile
from sklearn.decomposition import LatentDirichletAllocation

from dptopics.audit.lira import Attack, attack, threshold_attack
from dptopics.audit.shadows import Shadows, train_shadows
from dptopics.audit.statistics import STATISTICS
from dptopics.audit.targets import of_learner
from dptopics.counts import Counts
from dptopics.learners import Learner
from dptopics.learners.adapters import SklearnLearner
from dptopics.learners.lda_variational import VariationalLda

FOLDER = Path(__file__).parent / "results"
SHADOWS, TARGETS = 128, 10
GRID = np.geomspace(1e-4, 1, 81)


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

    def __init__(self, data: Path, models: Path, wordnet: Path | None) -> None:
        self.data, self.models, self.wordnet = data, models, wordnet
        self._counts: dict[str, Counts] = {}

    def counts(self, corpus: str) -> Counts:
        if corpus not in self._counts:
            self._counts[corpus] = load(corpus, self.data, self.wordnet)
        return self._counts[corpus]

    def shadows(self, corpus: str, learner: str, n_topics: int) -> Shadows:
        counts = self.counts(corpus)
        folder = self.models / f"{corpus}-{learner}-{n_topics}"
        train = of_learner(LEARNERS[learner](n_topics), counts)
        print(f"{folder.name}: shadows", flush=True)
        return train_shadows(
            train, counts, n_shadows=SHADOWS, folder=folder, settings={"learner": learner, "topics": n_topics}
        )


def rates(one: Attack) -> dict[str, Any]:
    return {**one.to_dict(), "curve": [round(float(rate), 6) for rate in one.roc(GRID)]}


def attacks(shadows: Shadows) -> list[Attack]:
    """Table 1, figures 2 and 7: our attack with each statistic, and the baselines."""
    found = [attack(shadows, targets=TARGETS), attack(shadows, targets=TARGETS, online=False)]
    found += [attack(shadows, targets=TARGETS, statistics=[name]) for name in STATISTICS[1:]]
    found += [attack(shadows, targets=TARGETS, statistics=STATISTICS)]
    return found + [threshold_attack(shadows, name, targets=TARGETS) for name in STATISTICS[1:]]


def save(name: str, value: Any) -> None:
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps({"not_for_release": True, **value}, indent=1, ensure_ascii=False)
    (FOLDER / f"membership_{name}.json").write_text(text + "\n", "utf-8")
    print(f"results/membership_{name}.json", flush=True)


def table_1(experiment: Experiment, corpus: str, learner: str) -> None:
    """Also figures 2 and 7."""
    shadows = experiment.shadows(corpus, learner, TOPICS[corpus])
    found = attacks(shadows)
    for one in found:
        print(f"  {one.name}: {one.true_positive_rate(0.001):.2%} at 0.1 %, AUC {one.area():.3f}", flush=True)
    name = f"table1_{corpus}" + ("" if learner == "scikit-learn" else "_ours")
    save(name, {"corpus": corpus, "learner": learner, "attacks": [rates(one) for one in found]})


def table_4(experiment: Experiment) -> None:
    save("table4", {"corpora": {name: profile(experiment.counts(name)) for name in TOPICS}})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="where shadow models are kept: private data")
    parser.add_argument("--wordnet", type=Path, help="folder with index.noun and noun.exc of WordNet 3.0")
    parser.add_argument("--only", nargs="+", help="parts to run; all if none is named")
    arguments = parser.parse_args()
    experiment = Experiment(arguments.data, arguments.models, arguments.wordnet)
    parts: dict[str, Callable[[], None]] = {
        "table4": lambda: table_4(experiment),
        "tweets": lambda: table_1(experiment, "tweets", "scikit-learn"),
        "tweets-ours": lambda: table_1(experiment, "tweets", "ours"),
        "nips": lambda: table_1(experiment, "nips", "scikit-learn"),
        "newsgroups": lambda: table_1(experiment, "newsgroups", "scikit-learn"),
        "nips-ours": lambda: table_1(experiment, "nips", "ours"),
        "newsgroups-ours": lambda: table_1(experiment, "newsgroups", "ours"),
    }
    for name in arguments.only or parts:
        parts[name]()


if __name__ == "__main__":
    main()
