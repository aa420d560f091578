"""Figures 3, 4 and 8 of Manzonelli et al. 2024 (FDPTM) on TweetRumors: k = 5, δ = 1e-5, each tweet its own author.

Their pipeline as published (greedy vocabulary with its published threshold, then zhu, which protects nobody), and a
sound one (greedy vocabulary with a threshold that is proved, then variational). All numbers are computed from the
texts, with seeded noise: NOT FOR RELEASE.

    python experiments/fdptm.py --data FOLDER --wordnet FOLDER       (minutes on two cores: results/made_by.json)

FOLDER of the data holds tweet_rumours.parquet, that of WordNet 3.0 index.noun and noun.exc. Tweets are prepared as for
the other half of the paper (membership_data.py). Results are appended to results/fdptm.json as they come; a second run
goes on where the first stopped.
"""

import argparse
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from membership_data import profile, tweets
from store import made

from dptopics import Corpus, TextSettings, TopicModel, Unit, Vocabulary
from dptopics.core.errors import NothingReleased
from dptopics.data.bounded import BoundedCorpus
from dptopics.evaluate import diversity, npmi, umass
from dptopics.learners.lda import GibbsLda
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary
from dptopics.mechanisms.vocabulary.threshold import WeightedVocabulary
from dptopics.published.fdptm import ZhaoTopics, ZhuTopics
from dptopics.published.vocabulary import GreedyAsPublished

FOLDER = Path(__file__).parent / "results"
COMMAND = "python experiments/fdptm.py --data FOLDER --wordnet FOLDER"
CODE = (
    "experiments/fdptm.py",
    "experiments/membership_data.py",
    "src/dptopics/kernels/gibbs.py",
    "src/dptopics/learners/lda.py",
    "src/dptopics/published/fdptm.py",
    "src/dptopics/published/vocabulary.py",
    "src/dptopics/mechanisms/topics/variational.py",
    "src/dptopics/mechanisms/vocabulary/policy.py",
    "src/dptopics/mechanisms/vocabulary/threshold.py",
)
TOPICS, DELTA, WORDS, MORE_WORDS = 5, 1e-5, 10, 30
SWEEPS = 100
EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0)
FIXED = 3.0
PRIOR = 1 / TOPICS  # α and β of the authors' code
CUT = 64  # distinct words per tweet: no tweet has more, so nothing is cut

Words = Callable[[float, BoundedCorpus, np.random.Generator], Vocabulary]
Topics = Callable[[float, BoundedCorpus, np.random.Generator], TopicModel]


def greedy(kind: type[GreedyVocabulary]) -> Words:
    def choose(epsilon: float, corpus: BoundedCorpus, rng: np.random.Generator) -> Vocabulary:
        mechanism = kind.calibrated(epsilon=epsilon, delta=DELTA, unit=Unit.DOCUMENT, max_words=CUT)
        return mechanism(corpus, rng).value

    return choose


def weighted(epsilon: float, corpus: BoundedCorpus, rng: np.random.Generator) -> Vocabulary:
    mechanism = WeightedVocabulary.calibrated(epsilon=epsilon, delta=DELTA, unit=Unit.DOCUMENT, max_words=CUT)
    return mechanism(corpus, rng).value


def zhu(epsilon: float, corpus: BoundedCorpus, rng: np.random.Generator) -> TopicModel:
    mechanism = ZhuTopics(
        n_topics=TOPICS, epsilon=epsilon, delta=DELTA, unit=Unit.DOCUMENT, steps=SWEEPS, alpha=PRIOR, beta=PRIOR
    )
    return mechanism(corpus, rng).value


def variational(epsilon: float, corpus: BoundedCorpus, rng: np.random.Generator) -> TopicModel:
    start = int(rng.integers(2**31))
    settings = {"n_topics": TOPICS, "delta": DELTA, "unit": Unit.DOCUMENT, "start": start}
    settings["size_share"] = 0.0  # what is compared are topics: no budget is spent on their sizes
    return VariationalTopics.calibrated(epsilon=epsilon, **settings)(corpus, rng).value


def zhao(epsilon: float, corpus: BoundedCorpus, rng: np.random.Generator) -> TopicModel:
    mechanism = ZhaoTopics.calibrated(n_topics=TOPICS, epsilon=epsilon, delta=DELTA, unit=Unit.DOCUMENT)
    return mechanism(corpus, rng).value


CHOICES = {"published greedy": greedy(GreedyAsPublished), "greedy": greedy(GreedyVocabulary), "weighted": weighted}
PIPELINES: dict[str, tuple[Words, Topics]] = {
    "published (greedy, zhu; none)": (CHOICES["published greedy"], zhu),
    "sound (greedy, variational; proved)": (CHOICES["greedy"], variational),
}


class Experiment:
    """The runs of all figures: each knows its place, and does nothing if its result is there already."""

    def __init__(self, data: Path, wordnet: Path | None, repetitions: int) -> None:
        texts = [" ".join(words) for words in tweets(data, wordnet)]
        self.corpus = Corpus.from_texts(texts, settings=TextSettings(language="none"))
        self.bounded = self.corpus.bounded(unit=Unit.DOCUMENT)
        self.repetitions = repetitions
        self.path = FOLDER / "fdptm.json"
        self.rows: list[dict[str, object]] = json.loads(self.path.read_text("utf-8")) if self.path.exists() else []
        self.done = {self._key(row) for row in self.rows}

    @staticmethod
    def _key(row: dict[str, object]) -> str:
        return json.dumps([row[name] for name in ("figure", "series", "epsilon_1", "epsilon_2", "repetition")])

    def runs(self, figure: str, series: str, first: float | None, second: float | None) -> Iterator[dict[str, object]]:
        """Places of the runs still to do. Whatever the caller adds to one is saved when it asks for the next."""
        for repetition in range(self.repetitions):
            row: dict[str, object] = {"figure": figure, "series": series, "epsilon_1": first, "epsilon_2": second}
            row["repetition"] = repetition
            if self._key(row) in self.done:
                continue
            yield row
            self.rows.append(row)
            FOLDER.mkdir(exist_ok=True)
            self.path.write_text(json.dumps(self.rows, indent=1) + "\n", "utf-8")
            print({name: value for name, value in row.items() if name != "words"})

    def rng(self, row: dict[str, object]) -> np.random.Generator:
        """Seeded by the run's place: results can be made again, and are not private."""
        return np.random.default_rng(zlib.crc32(self._key(row).encode()))

    def judge(self, row: dict[str, object], most_words: list[list[str]]) -> None:
        topic_words = [words[:WORDS] for words in most_words]
        row["umass"] = float(umass(self.corpus, topic_words).mean())
        # The authors' code divides by the documents of the lighter word, and also looks at 30 words.
        row["umass_code_30"] = float(umass(self.corpus, [words[::-1] for words in most_words]).mean())
        row["npmi"] = float(npmi(self.corpus, topic_words).mean())
        row["diversity"] = diversity(topic_words)
        if row["repetition"] == 0:
            row["words"] = [" ".join(words) for words in topic_words]

    def plain_lda(self, row: dict[str, object], vocabulary: Vocabulary) -> None:
        key = int(self.rng(row).integers(2**63))
        learner = GibbsLda(n_topics=TOPICS, alpha=PRIOR, beta=PRIOR, sweeps=SWEEPS, key=key)
        order = np.argsort(-learner(self.corpus.counts(vocabulary)), axis=1, kind="stable")[:, :MORE_WORDS]
        self.judge(row, [[vocabulary.words[w] for w in line] for line in order])

    def vocabularies(self) -> None:
        """Figures 8 (size) and 3 (coherence of LDA without privacy on the chosen words), from the same runs."""
        for row in self.runs("3", "all words, no privacy", None, None):
            vocabulary = Vocabulary.of(self.corpus.words)
            row["vocabulary"] = len(vocabulary)
            self.plain_lda(row, vocabulary)
        for name, choose in CHOICES.items():
            for epsilon in EPSILONS:
                for row in self.runs("3", name, epsilon, None):
                    vocabulary = choose(epsilon, self.bounded, self.rng(row))
                    row["vocabulary"] = len(vocabulary)
                    if len(vocabulary) >= WORDS:
                        self.plain_lda(row, vocabulary)

    def pipelines(self) -> None:
        """Figure 4: one ε fixed, the other varied."""
        pairs = [(epsilon, FIXED) for epsilon in EPSILONS] + [(FIXED, epsilon) for epsilon in EPSILONS]
        for name, (choose, learn) in PIPELINES.items():
            for first, second in dict.fromkeys(pairs):
                for row in self.runs("4", name, first, second):
                    self.private(row, choose, learn, first, second)
        # Not in the paper: HDP-LDA's claim is about single words, so it cannot follow a private vocabulary. The words
        # are taken as given here.
        for second in (3.0, 30.0, 300.0, 1000.0):
            for row in self.runs("extra", "zhao (per word; claimed)", FIXED, second):
                self.private(row, CHOICES["greedy"], zhao, FIXED, second)

    def private(self, row: dict[str, object], choose: Words, learn: Topics, first: float, second: float) -> None:
        rng = self.rng(row)
        vocabulary = choose(first, self.bounded, rng)
        row["vocabulary"] = len(vocabulary)
        try:
            model = learn(second, self.bounded.limited(vocabulary=vocabulary), rng)
        except NothingReleased:
            return
        # By weight, as equation 4 says: not by relevance, and whether or not a word stands above the noise.
        self.judge(row, model.top_words(MORE_WORDS, relevance=1.0, min_z=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with tweet_rumours.parquet")
    parser.add_argument("--wordnet", type=Path, help="folder with index.noun and noun.exc of WordNet 3.0")
    parser.add_argument("--repetitions", type=int, default=20)
    arguments = parser.parse_args()
    experiment = Experiment(arguments.data, arguments.wordnet, arguments.repetitions)
    print("NOT FOR RELEASE: computed from the texts, with seeded noise.")
    print(profile(experiment.corpus.counts()))
    with made("fdptm.json", code=CODE, command=COMMAND, inputs=[arguments.data / "tweet_rumours.parquet"]):
        experiment.vocabularies()
        experiment.pipelines()
    from fdptm_figures import draw, table

    table(experiment.rows)
    draw(experiment.rows, FOLDER)


if __name__ == "__main__":
    main()
