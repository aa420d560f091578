"""TopicDP: topics of any learner, made private by noise on the topic-word matrix (Wang et al. 2022)."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError
from dptopics.learners import check_learner
from dptopics.privacy import noise
from dptopics.privacy.guarantee import Guarantee, Strength
from dptopics.privacy.mechanism import check_unit
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel
from dptopics.topics.output.over_matrix import TopicsOverMatrix
from dptopics.topics.output.rows import Topics, heaviest, tidy

TOP_WORDS = "Which words are the heaviest of each topic is released without noise (docs/guarantees/output.md)."


@dataclass(frozen=True, kw_only=True)
class OutputTopics(TopicsOverMatrix):
    """Topics of any learner, made private by noise on the topic-word matrix (Wang et al. 2022).

    What is protected is one fixed function of the data: the learner with its public key and start. The strength is
    `random`: (ε, δ) holds with probability 1 − γ over data and neighbours drawn from a public distribution. ``top``
    releases, as published, only each topic's heaviest words, which no noise hides: then it is `claimed`. Proof:
    docs/guarantees/output.md

    >>> from dptopics.learners.lda_variational import VariationalLda
    >>> mechanism = OutputTopics.calibrated(
    ...     learner=VariationalLda(n_topics=10), n_topics=10, epsilon=3.0, delta=1e-4, gamma=0.1)
    >>> round(mechanism.output.sigma, 4), str(mechanism.guarantee.strength)
    (1.2232, 'claimed')
    """

    alpha: float = 0.1
    name: ClassVar[str] = "output"
    paper: ClassVar[str] = "Wang et al. 2022 (TopicDP)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top is not None and self.top < 1:
            raise InputError(f"top must be at least 1, got {self.top}.")

    @property
    def guarantee(self) -> Guarantee:
        """That of the noisy matrix; only claimed if top words go out as they are."""
        whole = super().guarantee
        return whole if self.top is None else whole.weakened(Strength.CLAIMED, TOP_WORDS)

    def check(self, corpus: BoundedCorpus) -> None:
        """Public words, at least as many as topics, and what the matrix needs."""
        check_unit(self, corpus)
        corpus = self._restricted(corpus)
        if corpus.vocabulary is not None and max(self.n_topics, self.top or 0) > len(corpus.vocabulary):
            raise InputError(
                f"{self.n_topics} topics need at least as many words (and as many as top words), but the vocabulary "
                f"has {len(corpus.vocabulary)}. Ask for fewer topics, or get more words."
            )
        self.output.check(corpus)
        function = self.output.function
        if isinstance(function, Topics) and corpus.vocabulary is not None:
            check_learner(function.learner, self.n_topics, len(corpus.vocabulary))

    def prepared(self, corpus: BoundedCorpus, **how: Any) -> Self:
        """The same with its sensitivity sampled; see :meth:`OutputMatrix.prepared`."""
        self.check(corpus)
        return replace(self, output=self.output.prepared(self._restricted(corpus), **how))

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Learn topics, add noise."""
        with progress.part(0.0, 0.9):
            ready = self.prepared(corpus)
        corpus = self._restricted(corpus)
        assert corpus.vocabulary is not None
        if self.top is None:
            matrix, deviation = ready.output.noisy(corpus, rng)
            topics = tidy(matrix, self.post)
        else:
            topics, deviation = ready._published(corpus, rng)
        model = TopicModel(
            topic_word=topics,
            vocabulary=corpus.vocabulary,
            # Sizes of topics are not released: they would have to be columns of f, with their share of the noise.
            topic_share=np.full(self.n_topics, 1 / self.n_topics),
            alpha=self.alpha,
            deviation=np.full(self.n_topics, deviation),
            text=corpus.text,
        )
        return Release.of(model, ready, rng)

    def _published(self, corpus: BoundedCorpus, rng: Generator) -> tuple[NDArray[np.float64], float]:
        """Noise on the heaviest words of each topic only (algorithm 2)."""
        assert self.top is not None
        steps, far = self.output.exact(corpus)
        deviation = self.output.sigma * far
        row, column = np.nonzero(heaviest(steps, self.top))
        drawn = noise.gaussian(rng, deviation / self.output.grid, row.size)
        kept = np.asarray((steps[row, column] + drawn).reshape(self.n_topics, -1) * self.output.grid, np.float64)
        topics = np.zeros(steps.shape)
        topics[row, column] = tidy(kept, self.post).ravel()
        if self.output.matched:
            topics = topics[np.lexsort(kept.T[::-1])]
        progress.report(1.0)
        return topics, deviation
