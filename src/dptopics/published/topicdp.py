"""Laplace noise on the topic-word matrix by its global sensitivity, as TopicDP's baseline."""

from dataclasses import dataclass, field
from math import inf, log, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.core.settings import check_fields
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus, raw_counts
from dptopics.learners import Learner, check_learner, learn_anyway
from dptopics.learners.adapters import learner_of
from dptopics.mechanisms.mechanism import Calibrated, Job, check_words
from dptopics.mechanisms.queries import noisy, private_query
from dptopics.mechanisms.topics.output import TopicsOverMatrix
from dptopics.mechanisms.topics.output_matrix import Post, tidy
from dptopics.privacy import noise
from dptopics.privacy.card import SMALL_GROUPS
from dptopics.privacy.events import Laplace, Noise, Relation
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Unit, check_budget
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel

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
    noise_parameter: ClassVar[str] = "scale"
    paper: ClassVar[str] = "Wang et al. 2022 (baseline)"

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "unit", Unit(self.unit))
        if not 0 < self.scale < inf:
            raise InputError(f"scale must be a positive number, got {self.scale}.")

    @classmethod
    def template(cls, *, learner: str | Learner = "variational", steps: int = 15, **settings: Any) -> Self:
        """Noise of one, to be rescaled; ``learner`` may be a name, then with so many ``steps``."""
        return super().template(learner=learner_of(learner, settings["n_topics"], steps), **settings)

    @classmethod
    def accepts(cls) -> frozenset[str]:
        return frozenset({"learner", "steps", "post"})

    @property
    def sensitivity(self) -> int:
        """Most that two matrices can differ by, in L1 norm."""
        return 2 * self.n_topics

    @property
    def guarantee(self) -> Guarantee:
        """One Laplace event, under the relation of TopicDP; it would hold for any other."""
        event = Laplace(self.scale, relation=Relation.REPLACE)
        return self.promise(event, assumptions=(PUBLIC_WORDS,), limits=(SMALL_GROUPS,))

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
        self.check(corpus)
        corpus = self._restricted(corpus)
        assert corpus.vocabulary is not None
        rows = private_query(lambda: self._noisy(corpus, rng))
        progress.report(1.0)
        model = TopicModel(
            topic_word=tidy(rows, self.post),
            vocabulary=corpus.vocabulary,
            topic_share=np.full(self.n_topics, 1 / self.n_topics),
            alpha=0.1,
            noise_std=np.full(self.n_topics, 2**0.5 * self.scale * self.sensitivity),
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


def mvg_precision(
    rows: int, columns: int, *, epsilon: float, delta: float, sensitivity: float, largest_norm: float
) -> float:
    """B, the largest ‖σ(Σ⁻¹)‖₂ · ‖σ(Ψ⁻¹)‖₂ that theorem 2 of Chanyaswad et al. allows.

    α = (H_r + H_{r,1/2})γ² + 2H_rγs, β = 2(mn)^(1/4) ζ H_r s, ζ = 2√(−mn ln δ) − 2 ln δ + mn, r = min(m, n), and
    B = (−β + √(β² + 8αε))²/(4α²); γ is the largest Frobenius norm of f, s its L2 sensitivity.

    >>> float(f"{mvg_precision(10, 10, epsilon=3.0, delta=1e-4, sensitivity=1.0, largest_norm=10**0.5):.6g}")
    3.26956e-06
    """
    check_budget(epsilon, delta)
    cells = rows * columns
    order = np.arange(1, min(rows, columns) + 1)
    harmonic, half = float(np.sum(1 / order)), float(np.sum(order**-0.5))
    alpha = (harmonic + half) * largest_norm**2 + 2 * harmonic * largest_norm * sensitivity
    zeta = 2 * sqrt(-cells * log(delta)) - 2 * log(delta) + cells
    beta = 2 * cells**0.25 * zeta * harmonic * sensitivity
    # −β + √(β² + 8αε) without cancellation
    root = 8 * alpha * epsilon / (beta + sqrt(beta**2 + 8 * alpha * epsilon))
    return float((root / (2 * alpha)) ** 2)


def mvg_noise_std(rows: int, columns: int, **settings: float) -> float:
    """Deviation of every entry's noise when both covariances are multiples of the identity: √(√(mn)/B)."""
    return sqrt(sqrt(rows * columns) / mvg_precision(rows, columns, **settings))


@dataclass(frozen=True, kw_only=True)
class MvgTopics(TopicsOverMatrix):
    """TopicDP's baseline: the same function and sampled sensitivity, noise as the MVG theorem asks for.

    Isotropic MVG noise is Gaussian noise, of many times the deviation that (ε, δ) needs; ``output.sigma`` is the
    multiplier of the price, and the noise drawn is what the theorem takes for that ε. Page: docs/guarantees/output.md
    """

    name: ClassVar[str] = "mvg"
    paper: ClassVar[str] = "Chanyaswad et al. 2018"

    @classmethod
    def calibrated(cls, **settings: Any) -> Self:
        """What its price is calibrated to, on a coarse grid: its noise is far too large for a finer one."""
        return super().calibrated(**({"grid": 2.0**-14} | settings))

    @classmethod
    def accepts(cls) -> frozenset[str]:
        return super().accepts() - {"top"}

    def _noisy(self, corpus: BoundedCorpus, rng: Generator) -> tuple[NDArray[np.float64], float]:
        """Noise on all words, as the theorem asks for."""
        steps, far = self.output.exact(corpus)
        rows, columns = steps.shape
        promise = self.output.guarantee
        noise_std = mvg_noise_std(
            rows,
            columns,
            epsilon=promise.epsilon,
            delta=promise.delta,
            sensitivity=far,
            largest_norm=sqrt(rows),  # rows are distributions
        )
        if noise_std < self.output.sigma * far:  # the price would not cover it
            raise InputError("the MVG theorem gives less noise than (ε, δ) needs at this size. Use 'output'.")
        noisy = steps + noise.gaussian(rng, noise_std / self.output.grid, steps.shape)
        noisy = noisy[np.lexsort(noisy.T[::-1])] if self.output.matched else noisy
        progress.report(1.0)
        return tidy(np.asarray(noisy * self.output.grid, np.float64), self.post), noise_std
