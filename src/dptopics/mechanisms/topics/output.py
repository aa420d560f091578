"""TopicDP: topics of any learner, made private by noise on the topic-word matrix (Wang et al. 2022)."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.core.settings import check_fields
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.learners import Learner, check_learner
from dptopics.learners.adapters import learner_of
from dptopics.mechanisms.mechanism import Job, Registered, check_unit
from dptopics.mechanisms.topics.output_matrix import (
    SETTINGS,
    USUAL_GAMMA,
    OutputMatrix,
    Post,
    Topics,
    heaviest,
    invented_corpus,
    tidy,
)
from dptopics.privacy import noise
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.guarantee import Guarantee, Strength, Unit, check_budget
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel


@dataclass(frozen=True, kw_only=True)
class TopicsOverMatrix(Registered):
    """A noisy matrix of topics, over ``vocabulary`` if that is given. Page: docs/guarantees/output.md"""

    output: OutputMatrix
    n_topics: int
    top: int | None = None
    post: Post = Post.SIMPLEX
    alpha: float = 0.1
    vocabulary: Vocabulary | None = field(default=None, repr=False)
    job: ClassVar[Job] = Job.TOPICS
    needs_preparation: ClassVar[bool] = True
    name: ClassVar[str]
    paper: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "post", Post(self.post))

    @classmethod
    def calibrated(
        cls,
        *,
        n_topics: int,
        epsilon: float,
        delta: float,
        learner: str | Learner = "variational",
        steps: int = 15,
        gamma: float = USUAL_GAMMA,
        top: int | None = None,
        post: Post | str = Post.SIMPLEX,
        vocabulary: Vocabulary | None = None,
        **settings: Any,
    ) -> Self:
        """The noise for (ε, δ); ``learner`` may be a name, ``settings`` are those of :class:`OutputMatrix`."""
        check_budget(epsilon, delta)
        function = Topics(learner_of(learner, n_topics, steps), n_topics, top)
        output = OutputMatrix.calibrated(function=function, epsilon=epsilon, delta=delta, gamma=gamma, **settings)
        return cls(output=output, n_topics=n_topics, top=top, post=Post(post), vocabulary=vocabulary)

    @classmethod
    def accepts(cls) -> frozenset[str]:
        return SETTINGS | {"top", "post"}

    @classmethod
    def example(cls) -> Self:
        """With public neighbours, which make it more than a claim."""
        return cls.calibrated(n_topics=2, epsilon=1.0, delta=1e-6, public=invented_corpus())

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        """Nothing: the learner is tried by ``check``, and sampling runs it often before anything is charged."""
        return []

    def check_documents(self, corpus: BoundedCorpus) -> None:
        """The public corpus must be bounded alike, and the pairs must not be too many to wait for."""
        self.output.check_documents(corpus)
        self.output.check_pairs()

    @property
    def unit(self) -> Unit:
        return self.output.unit

    @property
    def delta(self) -> float:
        return self.output.delta

    @property
    def guarantee(self) -> Guarantee:
        """That of the noisy matrix."""
        return replace(self.output.guarantee, limits=(SMALL_GROUPS,))

    def rescaled(self, factor: float) -> Self:
        return replace(self, output=self.output.rescaled(factor))

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
        with progress.part(0.0, 0.9):
            ready = self.prepared(corpus)
        corpus = self._restricted(corpus)
        assert corpus.vocabulary is not None
        topics, noise_std = ready._noisy(corpus, rng)
        model = TopicModel(
            topic_word=topics,
            vocabulary=corpus.vocabulary,
            # Sizes of topics are not released: they would have to be columns of f, with their share of the noise.
            topic_share=np.full(self.n_topics, 1 / self.n_topics),
            alpha=self.alpha,
            noise_std=np.full(self.n_topics, noise_std),
            text=corpus.text,
        )
        return Release.of(model, ready, rng)

    def _noisy(self, corpus: BoundedCorpus, rng: Generator) -> tuple[NDArray[np.float64], float]:
        """The topics, and the standard deviation of their noise."""
        matrix, noise_std = self.output.noisy(corpus, rng)
        return tidy(matrix, self.post), noise_std

    def _restricted(self, corpus: BoundedCorpus) -> BoundedCorpus:
        return corpus if self.vocabulary is None else corpus.limited(vocabulary=self.vocabulary)


TOP_WORDS = "Which words are the heaviest of each topic is released without noise (docs/guarantees/output.md)."


@dataclass(frozen=True, kw_only=True)
class OutputTopics(TopicsOverMatrix):
    """Topics of any learner, made private by noise on the topic-word matrix (Wang et al. 2022).

    What is protected is one fixed function of the data: the learner with its public key and start. The strength is
    `random`: (ε, δ) holds with probability 1 − γ over data and neighbours drawn from a public distribution. ``top``
    releases, as published, only each topic's heaviest words, which no noise hides: then it is `claimed`. Proof:
    docs/guarantees/output.md

    >>> from dptopics.learners.lda import VariationalLda
    >>> mechanism = OutputTopics.calibrated(
    ...     learner=VariationalLda(n_topics=10), n_topics=10, epsilon=3.0, delta=1e-4, gamma=0.1)
    >>> round(mechanism.output.sigma, 4), str(mechanism.guarantee.strength)
    (1.2232, 'claimed')
    """

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

    def _noisy(self, corpus: BoundedCorpus, rng: Generator) -> tuple[NDArray[np.float64], float]:
        """Noise on all words, or on the heaviest words of each topic only (algorithm 2)."""
        if self.top is None:
            return super()._noisy(corpus, rng)
        steps, far = self.output.exact(corpus)
        noise_std = self.output.sigma * far
        row, column = np.nonzero(heaviest(steps, self.top))
        drawn = noise.gaussian(rng, noise_std / self.output.grid, row.size)
        kept = np.asarray((steps[row, column] + drawn).reshape(self.n_topics, -1) * self.output.grid, np.float64)
        topics = np.zeros(steps.shape)
        topics[row, column] = tidy(kept, self.post).ravel()
        if self.output.matched:
            topics = topics[np.lexsort(kept.T[::-1])]
        progress.report(1.0)
        return topics, noise_std
