"""Private topics from word counts alone: every document belongs to one topic, one noisy bounded sum per round."""

from dataclasses import dataclass
from functools import partial
from math import inf
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.data.bounded import Block, BoundedCorpus, UnitRows
from dptopics.kernels.embedded import assigned_words
from dptopics.mechanisms.queries import noisy_sum
from dptopics.mechanisms.topics.gaussian import GaussianTopics, SeedWords, checked_seeds, learned_in_rounds
from dptopics.privacy.events import Gaussian
from dptopics.privacy.guarantee import Guarantee
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

Floats = NDArray[np.float64]
_SURE = 2.0  # standard deviations: a word's frequency is read as no less, or noise would make rare words weigh most
_RARE = 0.75  # of the words, the rarer ones, weigh the same, or words of a few documents would head the topics


@dataclass(frozen=True)
class _AssignedWords:
    """A document's weighted words, in the columns of the topics that it may belong to."""

    weight: Floats
    log_topics: Floats
    sharpness: float
    height: ClassVar[None] = None

    @property
    def width(self) -> int:
        return int(self.log_topics.shape[1])

    def __call__(self, block: Block) -> UnitRows:
        values = assigned_words(block.doc_start, block.word, block.counts, self.weight, self.log_topics, self.sharpness)
        return UnitRows(block.doc_start[block.unit_start], block.word, values)


@dataclass(frozen=True, kw_only=True)
class MixtureTopics(GaussianTopics):
    """Learn topics by ``steps`` rounds of expectation-maximisation for a mixture, in which a document has one topic.

    First a noisy histogram of all words, with ``word_share`` of the budget: common words then weigh less, by the root
    of their frequency. In a round every document, scaled to norm one, adds its words to the columns of its likely
    topics; a unit's table is clipped to norm one and noise goes on every cell. Whole documents in one column stand out
    of the noise sooner than words spread over many. All that follows (reading the noisy counts, averaging over rounds,
    the next topics) is post-processing. The released weights are those of the weighted words. Proof:
    docs/guarantees/mixture.md

    >>> mechanism = MixtureTopics.calibrated(n_topics=10, epsilon=2.0, delta=1e-6)
    >>> round(mechanism.guarantee.epsilon, 6)
    2.0
    """

    steps: int = 10
    word_share: float = 0.05
    sharpness: float = 5.0
    alpha: float = 0.1
    start: int = 0
    seed_words: SeedWords = ()
    name: ClassVar[str] = "mixture"
    paper: ClassVar[str] = "ours; after Nigam et al. 2000 (mixture of unigrams)"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "seed_words", checked_seeds(self.seed_words, self.n_topics))
        if not 0 < self.word_share < 1:
            raise InputError(f"word_share must lie strictly between 0 and 1, got {self.word_share}.")
        if not (0 < self.sharpness < inf and 0 < self.alpha < inf):
            raise InputError(f"sharpness and alpha must be positive numbers, got {self.sharpness} and {self.alpha}.")

    @property
    def word_sigma(self) -> float:
        """Noise multiplier of the histogram of all words."""
        return self.in_share(self.word_share)

    @property
    def step_sigma(self) -> float:
        """Noise multiplier of each round."""
        return self.in_share((1 - self.word_share) / self.steps)

    @property
    def word_noise(self) -> float | None:
        return self.step_sigma

    @property
    def guarantee(self) -> Guarantee:
        """Gaussian events: the histogram, each round, the sizes."""
        return self.promised(
            Gaussian(self.word_sigma, nonnegative=True), Gaussian(self.step_sigma, self.steps, nonnegative=True)
        )

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        self.check(corpus)
        vocabulary = corpus.vocabulary
        assert vocabulary is not None
        with progress.part(0.0, 0.1):
            weight = self._word_weights(corpus, rng)
        model = learned_in_rounds(
            vocabulary,
            self.n_topics,
            partial(self._noisy_counts, corpus, rng, weight),
            steps=self.steps,
            last=0.3,
            noise_std=self.step_sigma,
            start=self.start,
            alpha=self.alpha,
            text=corpus.text,
            seed_words=self.seed_words,
        )
        return Release.of(self.sized(model, corpus, rng), self, rng)

    def _noisy_counts(self, corpus: BoundedCorpus, rng: Generator, weight: Floats, topics: Floats, step: int) -> Floats:
        statistic = _AssignedWords(weight, np.log(topics), self.sharpness)
        with progress.part(0.1 + 0.87 * step / self.steps, 0.1 + 0.87 * (step + 1) / self.steps):
            return noisy_sum(corpus, statistic, bound=1.0, sigma=self.step_sigma, rng=rng)

    def _word_weights(self, corpus: BoundedCorpus, rng: Generator) -> Floats:
        """One over the root of each word's noisy frequency, but for rare words."""
        n_words = len(corpus.words)
        every_word = _AssignedWords(np.ones(n_words), np.zeros((n_words, 1)), 1.0)
        noisy = noisy_sum(corpus, every_word, bound=1.0, sigma=self.word_sigma, rng=rng)[:, 0]
        weight = 1 / np.sqrt(np.maximum(noisy, max(_SURE * self.word_sigma, np.quantile(noisy, _RARE))))
        return np.asarray(weight / weight.mean())
