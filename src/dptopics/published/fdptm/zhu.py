"""Zhu et al. 2016 as Manzonelli et al. 2024 evaluate it: Gibbs sampling with one noisy sweep at the end."""

from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Self

from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus, raw_counts
from dptopics.errors import InputError
from dptopics.kernels.noisy_gibbs import sweep_perturbed
from dptopics.learners import check_topics
from dptopics.learners.lda_gibbs import GibbsLda
from dptopics.privacy import noise
from dptopics.privacy.events import Laplace
from dptopics.privacy.fields import check_fields
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.privacy.looks import grid_for
from dptopics.privacy.mechanism import Calibrated, Job, check_words
from dptopics.published.fdptm.shared import random_bits
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

_WHY_NONE = (
    "The topics are made from exact counts: anyone can read off how often each word occurs in the data, to the last "
    "one. The published ε is a setting of the noise, not a protection (docs/guarantees/zhu.md)."
)


@dataclass(frozen=True, kw_only=True)
class ZhuTopics(Calibrated):
    """A reproduction that hides nobody: for experiments and attacks, never to publish with.

    Plain collapsed Gibbs sampling; then one sweep whose sampling probabilities are computed from counts plus noise of
    scale 2/epsilon. The counts that this sweep leaves behind are exact, and so are the topics: Σ_k n_kw is the number
    of times that w occurs. ``epsilon`` is what the paper claims. Why it is wrong: docs/guarantees/zhu.md

    >>> str(ZhuTopics.calibrated(n_topics=5, epsilon=3.0, delta=1e-5).guarantee.strength)
    'none'
    """

    n_topics: int
    epsilon: float
    delta: float
    unit: Unit = Unit.AUTHOR
    steps: int = 15
    alpha: float = 0.1
    beta: float = 0.01
    job: ClassVar[Job] = Job.TOPICS
    name: ClassVar[str] = "zhu"
    paper: ClassVar[str] = "Zhu et al. 2016"
    amount: ClassVar[str] = "epsilon"

    def __post_init__(self) -> None:
        check_fields(self)
        check_topics(self.n_topics, self.alpha, self.beta)
        if not 0 < self.epsilon < inf:
            raise InputError(f"epsilon must be a positive number, got {self.epsilon}.")
        if self.steps < 0:
            raise InputError(f"steps must not be negative, got {self.steps}.")

    def rescaled(self, factor: float) -> Self:
        """The same with other noise."""
        return replace(self, epsilon=self.epsilon / factor)

    @property
    def guarantee(self) -> Guarantee:
        """What the paper claims, and that it does not hold."""
        return Guarantee(
            events=(Laplace(1 / self.epsilon),),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.NONE,
            assumptions=(_WHY_NONE, PUBLIC_WORDS),
        )

    def check(self, corpus: BoundedCorpus) -> None:
        """The words must be public, and at least as many as topics."""
        check_words(self, corpus, corpus.vocabulary, self.n_topics)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Sample over the corpus's public vocabulary."""
        vocabulary = check_words(self, corpus, corpus.vocabulary, self.n_topics)
        with progress.part(0.0, 0.1):
            counts = raw_counts(corpus)
        # Fresh keys instead of those of the content: equal documents draw different topics.
        counts = replace(counts, doc_key=random_bits(rng, counts.n_documents))
        learner = GibbsLda(n_topics=self.n_topics, alpha=self.alpha, beta=self.beta, sweeps=self.steps)
        state, seeds = learner.begin(counts), learner.seeds(counts)
        with progress.part(0.1, 1.0):
            for sweep in range(self.steps):
                learner.sweep(state, seeds, sweep)
                progress.report((sweep + 1) / (self.steps + 1))
            scale = 2 / self.epsilon
            grid = grid_for(1.0, scale)
            drawn = noise.laplace(rng, scale / grid, (2, state.word.size)) * grid
            bits = random_bits(rng, state.word.size)
            sweep_perturbed(*state, self.alpha, self.beta, self.n_topics, drawn[0], drawn[1], bits)
            progress.report(1.0)
        total = state.topic_total[: self.n_topics] + self.alpha
        model = TopicModel(
            topic_word=learner.topics(state),
            vocabulary=vocabulary,
            topic_share=total / total.sum(),
            alpha=self.alpha,
            text=corpus.text,
        )
        return Release.of(model, self, rng)
