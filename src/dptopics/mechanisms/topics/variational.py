"""Private topics by variational inference (DP-VI; Park et al. 2016, VIPS), one noisy bounded sum per step."""

from dataclasses import dataclass
from functools import partial
from math import inf, sqrt
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.data.bounded import Block, BoundedCorpus, Sample, UnitRows
from dptopics.kernels.doc_topics import expected_counts
from dptopics.mechanisms.queries import grid_for, noisy_sum
from dptopics.mechanisms.topics.gaussian import GaussianTopics, SeedWords, checked_seeds, learned_in_rounds
from dptopics.privacy.events import Event, Gaussian, SampledGaussian
from dptopics.privacy.guarantee import Guarantee
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel


@dataclass(frozen=True)
class _ExpectedCounts:
    """A unit's expected words × topics counts, given public topics."""

    topics: NDArray[np.float64]
    alpha: float
    height: ClassVar[None] = None

    @property
    def width(self) -> int:
        return int(self.topics.shape[1])

    def __call__(self, block: Block) -> UnitRows:
        count = block.counts.astype(np.float64)
        return UnitRows(
            *expected_counts(block.unit_start, block.doc_start, block.word, count, self.topics, self.alpha, 20, 1e-3)
        )


@dataclass(frozen=True, kw_only=True)
class VariationalTopics(GaussianTopics):
    """Learn topics by ``steps`` rounds of variational inference, each a bounded sum plus Gaussian noise.

    In a round every unit's expected topic-word counts (summed over its documents) are clipped to Frobenius norm
    ``clip`` and added up; noise of deviation sigma · clip goes on every cell. All that follows (reading the noisy
    counts, averaging over rounds, the next topics) is post-processing. With ``sampling_rate`` below one each unit takes
    part in a round independently with that probability. Proof: docs/guarantees/variational.md

    >>> mechanism = VariationalTopics.calibrated(n_topics=10, epsilon=2.0, delta=1e-6)
    >>> round(mechanism.guarantee.epsilon, 6)
    2.0
    """

    steps: int = 15
    clip: float = 1.0
    sampling_rate: float = 1.0
    alpha: float = 0.1
    start: int = 0
    seed_words: SeedWords = ()
    name: ClassVar[str] = "variational"
    paper: ClassVar[str] = "Park et al. 2016 (VIPS)"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "seed_words", checked_seeds(self.seed_words, self.n_topics))
        if not 0 < self.sampling_rate <= 1:
            raise InputError(f"sampling_rate must lie in (0, 1], got {self.sampling_rate}.")
        if not (0 < self.clip < inf and 0 < self.alpha < inf):
            raise InputError(f"clip and alpha must be positive numbers, got {self.clip} and {self.alpha}.")

    @property
    def word_noise(self) -> float | None:
        return self.sigma * self.clip

    @property
    def guarantee(self) -> Guarantee:
        """``steps`` Gaussian events of multiplier ``sigma``, and the sizes."""
        event: Event = (
            Gaussian(self.sigma, self.steps, nonnegative=True)  # expected counts
            if self.sampling_rate == 1
            else SampledGaussian(self.sigma, self.sampling_rate, self.steps)
        )
        return self.promised(event)

    @property
    def size_sigma(self) -> float:
        """Noise multiplier of the sizes: their share beside that of all rounds, 1/σ² in each, q²/σ² of a sample."""
        rounds = self.steps * self.sampling_rate**2 / (1 - self.size_share)
        return self.sigma / sqrt(self.size_share * rounds)

    @property
    def grid(self) -> float:
        """Step of the integers that are added up."""
        return grid_for(self.clip, self.sigma)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        self.check(corpus)
        vocabulary = corpus.vocabulary
        assert vocabulary is not None
        model = learned_in_rounds(
            vocabulary,
            self.n_topics,
            partial(self._noisy_counts, corpus, rng),
            steps=self.steps,
            last=0.2,
            noise_std=self.sigma * self.clip / self.sampling_rate,
            start=self.start,
            alpha=self.alpha,
            text=corpus.text,
            seed_words=self.seed_words,
        )
        return Release.of(self.sized(model, corpus, rng), self, rng)

    def _noisy_counts(
        self, corpus: BoundedCorpus, rng: Generator, topics: NDArray[np.float64], step: int
    ) -> NDArray[np.float64]:
        """One round: the only look at the corpus."""
        sample = None
        if self.sampling_rate < 1:
            key = rng.integers(0, 2**64 - 1, 2, dtype=np.uint64, endpoint=True)
            sample = Sample(self.sampling_rate, (int(key[0]), int(key[1])))
        statistic = _ExpectedCounts(topics, self.alpha)
        with progress.part(0.97 * step / self.steps, 0.97 * (step + 1) / self.steps):
            noisy = noisy_sum(corpus, statistic, bound=self.clip, sigma=self.sigma, rng=rng, sample=sample)
        # The public rate makes up for the sample; the number of units that took part is private.
        return noisy / self.sampling_rate
