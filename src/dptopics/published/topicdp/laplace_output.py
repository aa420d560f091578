"""Laplace noise on the topic-word matrix by its global sensitivity, as TopicDP's baseline."""

from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus, raw_counts
from dptopics.data.counts import Counts
from dptopics.errors import InputError
from dptopics.learners import Learner, check_learner, learn_anyway
from dptopics.learners.named import learner_of
from dptopics.privacy import noise
from dptopics.privacy.events import Laplace, Noise
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.privacy.looks import noisy, through
from dptopics.privacy.mechanism import Calibrated, Job, check_words
from dptopics.privacy.relation import Relation
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel
from dptopics.release.vocabulary import Vocabulary
from dptopics.topics.output.rows import Post, tidy

_WHOLE = 2**20  # steps of the grid that make up 1


@dataclass(frozen=True, kw_only=True)
class LaplaceOutputTopics(Calibrated):
    """Topics of any learner with noise for the largest change there can be: 2 for each topic, in L1 norm.

    Two rows of non-negative steps that add up to at most one differ by at most two, whatever the data: pure ε, for any
    two data sets, and next to nothing left of the topics. Proof: docs/guarantees/output.md

    >>> round(LaplaceOutputTopics(learner=len, n_topics=10, scale=1.0, delta=1e-6).guarantee.epsilon, 4)
    1.0
    """

    learner: Learner
    n_topics: int
    scale: float  # times the sensitivity, 2 · n_topics
    delta: float
    unit: Unit = Unit.AUTHOR
    post: Post = Post.SIMPLEX
    vocabulary: Vocabulary | None = field(default=None, repr=False)
    job: ClassVar[Job] = Job.TOPICS
    name: ClassVar[str] = "laplace"
    amount: ClassVar[str] = "scale"
    paper: ClassVar[str] = "Wang et al. 2022 (baseline)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", Unit(self.unit))
        if not 0 < self.scale < inf:
            raise InputError(f"scale must be a positive number, got {self.scale}.")

    @classmethod
    def template(cls, *, learner: str | Learner = "variational", steps: int = 15, **settings: Any) -> Self:
        """Noise of one, to be rescaled; ``learner`` may be a name, then with so many ``steps``."""
        return super().template(learner=learner_of(learner, settings["n_topics"], steps), **settings)

    @classmethod
    def accepts(cls) -> frozenset[str]:
        """Settings of a plan."""
        return frozenset({"learner", "steps", "post"})

    @property
    def sensitivity(self) -> int:
        """Most that two matrices can differ by, in L1 norm."""
        return 2 * self.n_topics

    @property
    def guarantee(self) -> Guarantee:
        """One Laplace event, under the relation of TopicDP; it would hold for any other."""
        return Guarantee(
            events=(Laplace(self.scale, relation=Relation.REPLACE),),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.PROVED,
            assumptions=(PUBLIC_WORDS,),
        )

    def check(self, corpus: BoundedCorpus) -> None:
        """Public words, at least as many as topics."""
        corpus = self._restricted(corpus)
        words = check_words(self, corpus, corpus.vocabulary, self.n_topics)
        check_learner(self.learner, self.n_topics, len(words))
        if self.scale * self.sensitivity * _WHOLE > noise.MAX_SCALE:
            raise InputError(f"epsilon is too small for {self.n_topics} topics: nothing would be left of them.")

    def steps(self, counts: Counts) -> NDArray[np.int64]:
        """The topics in whole steps: n_topics rows that add up to at most one each, whatever the data."""
        topics = learn_anyway(self.learner, counts, self.n_topics)
        steps = np.floor(topics / topics.sum(axis=1, keepdims=True) * _WHOLE).astype(np.int64)
        return np.asarray(np.where(steps.sum(axis=1, keepdims=True) <= _WHOLE, steps, 0))

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Learn topics, add noise."""
        self.check(corpus)
        corpus = self._restricted(corpus)
        assert corpus.vocabulary is not None
        rows = through(lambda: self._noisy(corpus, rng))
        progress.report(1.0)
        model = TopicModel(
            topic_word=tidy(rows, self.post),
            vocabulary=corpus.vocabulary,
            topic_share=np.full(self.n_topics, 1 / self.n_topics),
            alpha=0.1,
            deviation=np.full(self.n_topics, 2**0.5 * self.scale * self.sensitivity),
            text=corpus.text,
        )
        return Release.of(model, self, rng)

    def _noisy(self, corpus: BoundedCorpus, rng: Generator) -> NDArray[np.float64]:
        """The only look at the corpus."""
        steps, largest = self.steps(raw_counts(corpus)), float(self.sensitivity * _WHOLE)
        steps = noisy(steps, kind=Noise.LAPLACE, sensitivity=largest, multiplier=self.scale, rng=rng)
        return np.asarray(steps / _WHOLE, np.float64)

    def _restricted(self, corpus: BoundedCorpus) -> BoundedCorpus:
        return corpus if self.vocabulary is None else corpus.limited(vocabulary=self.vocabulary)
