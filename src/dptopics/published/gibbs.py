"""Laplace noise on the first count matrices of a Gibbs sampler: the baseline of Zhao et al. 2019."""

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus, raw_counts
from dptopics.kernels.noisy_gibbs import sweep_shifted
from dptopics.learners.lda import GibbsLda
from dptopics.mechanisms.queries import grid_for
from dptopics.privacy import noise
from dptopics.privacy.events import Laplace, Relation
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength
from dptopics.published.fdptm import SampledTopics, random_bits
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

_WHY_NONE = (
    "The claim is refuted: where the noise of a cell was cut off at zero, the cell ends as a whole number of exact "
    "tokens, which anyone can read off. One word more in one document shows far more often than the published ε allows "
    "(docs/guarantees/laplace_counts.md).",
    "Even the claim is about one word of one document only: far weaker than hiding a document or an author.",
    "Noise is drawn once, before the first sweep. Every sweep after that moves exact tokens by exact counts of its own "
    "making, and the topics come from what the last sweep leaves: nothing covers those moves.",
    "How many documents there are, and how long each is, counts as public.",
)


@dataclass(frozen=True, kw_only=True)
class LaplaceCountsTopics(SampledTopics):
    """A reproduction that hides nobody: a baseline for experiments, never to publish with.

    Every token gets a random topic; the word-topic and document-topic counts that follow get noise of ``scale`` in each
    cell, and their positive part; then plain collapsed Gibbs sampling goes on from there. A word counts once in either
    matrix, so both together claim 2/scale. Why that is wrong: docs/guarantees/laplace_counts.md

    >>> mechanism = LaplaceCountsTopics.calibrated(n_topics=5, epsilon=4.0, delta=1e-6)
    >>> round(mechanism.scale, 4), str(mechanism.guarantee.strength)
    (0.5, 'none')
    """

    scale: float
    vocabulary: Vocabulary | None = field(default=None, repr=False)
    noise_parameter: ClassVar[str] = "scale"
    name: ClassVar[str] = "laplace-counts"
    public_words_only: ClassVar[str] = "it is about single words, a vocabulary chosen from the data about whole units"
    paper: ClassVar[str] = "Zhao et al. 2019 (baseline)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.scale < inf:
            raise InputError(f"scale must be a positive number, got {self.scale}.")

    @property
    def guarantee(self) -> Guarantee:
        """What is claimed, counted for both matrices, and that it does not hold."""
        event = Laplace(self.scale, count=2, relation=Relation.ADD_OR_REMOVE_WORD)
        return self.promise(event, strength=Strength.NONE, assumptions=(*_WHY_NONE, PUBLIC_WORDS))

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        vocabulary = self.words(corpus)
        with progress.part(0.0, 0.1):
            counts = raw_counts(corpus.limited(vocabulary=vocabulary))
        counts = replace(counts, doc_key=random_bits(rng, counts.n_documents))
        learner = GibbsLda(n_topics=self.n_topics, alpha=self.alpha, beta=self.beta)
        state = learner.begin(counts)
        document = np.repeat(np.arange(counts.n_documents), np.diff(state.start))
        cells = np.bincount(document * self.n_topics + state.topic, minlength=counts.n_documents * self.n_topics)
        by_document = self._noisy(cells.reshape(counts.n_documents, self.n_topics).astype(np.float64), rng)
        by_word = self._noisy(state.word_topic[:, : self.n_topics].astype(np.float64), rng)
        total = by_word.sum(axis=0)
        with progress.part(0.1, 1.0):
            for sweep in range(self.steps):
                sweep_shifted(
                    state.start,
                    state.word,
                    state.topic,
                    by_word,
                    total,
                    by_document,
                    self.alpha,
                    self.beta,
                    random_bits(rng, state.word.size),
                )
                progress.report((sweep + 1) / self.steps)
            progress.report(1.0)
        weights = np.maximum(by_word.T, 0.0) + self.beta
        topics = weights / weights.sum(axis=1, keepdims=True)
        return self.made(topics, np.maximum(total, 0.0) + self.alpha, corpus, rng)

    def _noisy(self, counts: np.ndarray[Any, np.dtype[np.float64]], rng: Generator) -> Any:
        grid = grid_for(1.0, self.scale)
        return np.maximum(counts + noise.laplace(rng, self.scale / grid, counts.shape) * grid, 0.0)
