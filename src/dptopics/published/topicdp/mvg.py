"""The matrix-variate Gaussian mechanism (Chanyaswad et al. 2018), as TopicDP's baseline: isotropic noise."""

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError
from dptopics.learners import check_learner
from dptopics.privacy import noise
from dptopics.privacy.guarantee import check_budget
from dptopics.privacy.mechanism import check_words
from dptopics.release.release import Release
from dptopics.release.topic_model import TopicModel
from dptopics.topics.output.over_matrix import TopicsOverMatrix
from dptopics.topics.output.rows import Topics, tidy


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


def mvg_deviation(rows: int, columns: int, **settings: float) -> float:
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
        """Settings of a plan."""
        return super().accepts() - {"top"}

    def check(self, corpus: BoundedCorpus) -> None:
        """Public words, at least as many as topics, and what the matrix needs."""
        corpus = self._restricted(corpus)
        words = check_words(self, corpus, corpus.vocabulary, self.n_topics)
        self.output.check(corpus)
        if isinstance(self.output.function, Topics):
            check_learner(self.output.function.learner, self.n_topics, len(words))

    def prepared(self, corpus: BoundedCorpus, **how: Any) -> Self:
        """The same with its sensitivity sampled."""
        self.check(corpus)
        return replace(self, output=self.output.prepared(self._restricted(corpus), **how))

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Learn topics, add noise."""
        with progress.part(0.0, 0.9):
            ready = self.prepared(corpus)
        corpus = self._restricted(corpus)
        assert corpus.vocabulary is not None
        steps, far = ready.output.exact(corpus)
        rows, columns = steps.shape
        promise = self.output.guarantee
        deviation = mvg_deviation(
            rows,
            columns,
            epsilon=promise.epsilon,
            delta=promise.delta,
            sensitivity=far,
            largest_norm=sqrt(rows),  # rows are distributions
        )
        if deviation < self.output.sigma * far:  # the price would not cover it
            raise InputError("the MVG theorem gives less noise than (ε, δ) needs at this size. Use 'output'.")
        noisy = steps + noise.gaussian(rng, deviation / self.output.grid, steps.shape)
        noisy = noisy[np.lexsort(noisy.T[::-1])] if self.output.matched else noisy
        progress.report(1.0)
        model = TopicModel(
            topic_word=tidy(np.asarray(noisy * self.output.grid, np.float64), self.post),
            vocabulary=corpus.vocabulary,
            topic_share=np.full(rows, 1 / rows),
            alpha=0.1,
            deviation=np.full(rows, deviation),
            text=corpus.text,
        )
        return Release.of(model, ready, rng)
