"""EndToEndDP (Ramadan, Withers & Orr 2021, algorithm 2): BayesianDP with S and ρ chosen on a tenth of the authors."""

from dataclasses import dataclass, replace
from math import isclose
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError
from dptopics.ngrams.counts import check_list
from dptopics.privacy import noise
from dptopics.privacy.events import Gaussian, Laplace
from dptopics.privacy.guarantee import Guarantee, Unit, check_budget
from dptopics.privacy.looks import grid_for
from dptopics.privacy.pricing import gaussian_delta, smallest
from dptopics.published.ngrams.bayes_local import WHY_NONE, noisy_softmax, posterior_mean
from dptopics.published.ngrams.shared import LimitedAsPublished, Units
from dptopics.release.ngram_table import NgramTable
from dptopics.release.release import Release

_TUNING_HOLE = (
    "The noise on the scores that choose S and ρ rests on claim 2, whose gradient is wrong (true: ρ(‖c‖₁θ − c)): a "
    "unit can move a score further than that noise is made for."
)
_HELD_OUT = 0.1
SLOPES = tuple(float(s) for s in np.logspace(-3, 4, 8))
WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9)
TUNINGS = ("claim-2", "appendix-d")


@dataclass(frozen=True, kw_only=True)
class EndToEndNgrams(LimitedAsPublished):
    """A reproduction that hides nobody: BayesianDP that also chooses its own settings, on authors set aside.

    A tenth of the units, by fair coins, score every pair (S, ρ) by cross-entropy plus Laplace noise of ``tuning_scale``
    times claim 2's sensitivity; the best pair is used on the rest, with noise ``sigma`` times the local sensitivity.
    ``tuning``: claim 2 multiplies ρ‖c‖₂ by ‖Δμ_ps‖₂. That is ρ‖Δr‖₂ by its definition (``claim-2``), and ‖Δr‖₂ as its
    proof prints it (``appendix-d``), 1/ρ times as much. Why both are wrong: docs/guarantees/ngram_published.md

    >>> mechanism = EndToEndNgrams.calibrated(epsilon=0.9, delta=1e-6)
    >>> round(1 / mechanism.tuning_scale, 2), round(mechanism.guarantee.epsilon, 2) <= 0.9
    (0.3, True)
    """

    sigma: float
    tuning_scale: float
    tuning: str = "claim-2"
    name: ClassVar[str] = "end-to-end"
    paper: ClassVar[str] = "Ramadan et al. 2021"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tuning not in TUNINGS:
            raise InputError(f"tuning must be one of {', '.join(TUNINGS)}, got {self.tuning!r}.")

    @classmethod
    def template(
        cls,
        *,
        delta: float,
        unit: Unit = Unit.AUTHOR,
        epsilon: float = 1.0,
        shares: tuple[float, float] = (2 / 3, 1 / 3),
        **more: Any,
    ) -> Self:
        """Noise for ε, the first share of it for the n-grams, the second for tuning, as published."""
        if len(shares) != 2 or min(shares) <= 0 or not isclose(sum(shares), 1.0, rel_tol=1e-9):
            raise InputError(
                f"the shares of ε for n-grams and tuning must be positive and add up to 1, got {shares}: "
                f"the sum is {sum(shares):g}."
            )
        sigma = smallest(lambda s: gaussian_delta(epsilon * shares[0], 1 / s) <= delta)
        return cls(sigma=sigma, tuning_scale=1 / (epsilon * shares[1]), delta=delta, unit=unit, **more)

    @classmethod
    def calibrated(cls, *, epsilon: float, delta: float, **settings: Any) -> Self:
        """The noise that the paper takes for (ε, δ); ``settings`` as for :meth:`template`."""
        check_budget(epsilon, delta)
        return cls.template(delta=delta, epsilon=epsilon, **settings)

    @classmethod
    def accepts(cls) -> frozenset[str]:
        """Settings of a plan: shares of ε instead of two scales."""
        return (super().accepts() | {"shares"}) - {"sigma", "tuning_scale"}

    def rescaled(self, factor: float) -> Self:
        """The same with other noise."""
        return replace(self, sigma=self.sigma * factor, tuning_scale=self.tuning_scale * factor)

    @property
    def guarantee(self) -> Guarantee:
        """What the paper claims (the two parts add up), and that it does not hold."""
        return self.refuted(Gaussian(self.sigma), Laplace(self.tuning_scale), why=(*WHY_NONE, _TUNING_HOLE))

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Split, score every pair of settings, take the best, release."""
        vocabulary = check_list(self, corpus, self.prior)
        corpus = self.limited(corpus)
        n_units = corpus.fold(lambda n, block: n + block.unit_start.size - 1, 0)
        held = rng.integers(0, 2**32, n_units, dtype=np.uint64) < np.uint64(_HELD_OUT * 2**32)
        tuning = Units(corpus, self.max_count, lambda first, n: held[first : first + n]).kept()
        training = Units(corpus, self.max_count, lambda first, n: ~held[first : first + n]).kept()
        validation, tally = tuning.tally(), training.tally()
        public = np.zeros(len(vocabulary)) if self.prior is None else self.prior.counts_of(vocabulary)
        best: tuple[float, Any, float] | None = None
        for number, slope in enumerate(SLOPES):
            moved = training.log_sensitivity(tally, slope)
            for weight in WEIGHTS:
                mean = posterior_mean(tally, public, slope=slope, weight=weight, max_count=self.max_count)
                log_theta = mean - mean.max() - np.log(np.exp(mean - mean.max()).sum())
                score = -float(validation.count @ log_theta)  # equation 6
                claimed = max(
                    self.steepest(validation.count, weight) * moved,
                    tuning.dot_sensitivity(np.abs(log_theta)),
                )  # claim 2
                noisy = score + self._laplace(2 * self.tuning_scale * claimed, rng)
                if best is None or noisy < best[0]:
                    best = noisy, mean, weight * moved
            progress.report((number + 1) / len(SLOPES))
        assert best is not None
        theta = noisy_softmax(best[1], best[2], self.sigma, rng)
        return Release.of(NgramTable(vocabulary=vocabulary, probability=theta, text=corpus.text), self, rng)

    def steepest(self, count: NDArray[np.float64], weight: float) -> float:
        """What claim 2 takes for the most that a score moves with ‖Δr‖₂, r = w⊙x̂: ρ‖c‖₂, or ρ times that."""
        return weight * float(np.linalg.norm(count)) * (weight if self.tuning == "claim-2" else 1.0)

    @staticmethod
    def _laplace(scale: float, rng: Generator) -> float:
        grid = grid_for(max(scale, 2.0**-30), 1.0)
        return float(noise.laplace(rng, max(scale, 2.0**-30) / grid, 1)[0] * grid)
