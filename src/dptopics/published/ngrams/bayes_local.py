"""BayesianDP (Ramadan, Withers & Orr 2021): public counts as a prior, noise for the sensitivity of the data at hand."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError
from dptopics.ngrams.counts import check_list
from dptopics.privacy import noise
from dptopics.privacy.events import Gaussian
from dptopics.privacy.guarantee import Guarantee
from dptopics.privacy.looks import grid_for
from dptopics.privacy.mechanism import Calibrated
from dptopics.published.ngrams.shared import LimitedAsPublished, Tally, centred_log, claim_1, softmax
from dptopics.release.ngram_table import NgramTable
from dptopics.release.release import Release

WHY_NONE = (
    "The claim is refuted: the noise is scaled to the sensitivity of the data at hand, and its scale shows in the "
    "release. One author unlike the others multiplies it, and is given away (docs/guarantees/ngram_published.md).",
    "Where the limit of n-grams per author follows the number of authors, as published, that number leaks too.",
)
SENSITIVITIES = ("brute-force", "claim-1")


@dataclass(frozen=True, kw_only=True)
class BayesLocalNgrams(LimitedAsPublished, Calibrated):
    """A reproduction that hides nobody: posterior of log counts under public counts, noise by local sensitivity.

    h = ρ·w⊙x̂ + (1 − ρ)·μ_p + noise, x̂ and μ_p the centred log counts of private and public data, w = min(1, S·N/C);
    θ = softmax(h). The noise is ``sigma`` times ρ times the largest change that removing any present unit makes
    (``brute-force``), or claim 1's estimate of it. ``max_words`` None: a thousandth of the number of units, as
    published. Why it is wrong: docs/guarantees/ngram_published.md

    >>> str(BayesLocalNgrams.calibrated(epsilon=0.5, delta=1e-6).guarantee.strength)
    'none'
    """

    sigma: float
    slope: float = 0.01
    weight: float = 0.5
    sensitivity: str = "brute-force"
    name: ClassVar[str] = "bayes-published"
    paper: ClassVar[str] = "Ramadan et al. 2021"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 < self.slope < inf and 0 < self.weight <= 1):
            raise InputError(f"slope must be positive and weight in (0, 1], got {self.slope} and {self.weight}.")
        if self.sensitivity not in SENSITIVITIES:
            raise InputError(f"sensitivity must be one of {', '.join(SENSITIVITIES)}, got {self.sensitivity!r}.")

    @property
    def guarantee(self) -> Guarantee:
        """What the paper claims, and that it does not hold."""
        return self.refuted(Gaussian(self.sigma), why=WHY_NONE)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Count, measure the sensitivity, add noise, normalise."""
        vocabulary = check_list(self, corpus, self.prior)
        units, tally = self.counted(corpus)
        with progress.part(0.6, 1.0):
            if self.sensitivity == "claim-1":
                moved = claim_1(tally, slope=self.slope, max_count=self.max_count)
            else:
                moved = units.log_sensitivity(tally, self.slope)
        public = np.zeros(len(vocabulary)) if self.prior is None else self.prior.counts_of(vocabulary)
        mean = posterior_mean(tally, public, slope=self.slope, weight=self.weight, max_count=self.max_count)
        theta = noisy_softmax(mean, self.weight * moved, self.sigma, rng)
        progress.report(1.0)
        table = NgramTable(vocabulary=vocabulary, probability=theta, text=corpus.text)
        return Release.of(table, self, rng)


def posterior_mean(tally: Tally, public: Any, *, slope: float, weight: float, max_count: int) -> Any:
    """μ_ps = ρ·w⊙x̂ + (1 − ρ)·μ_p (corollary 1; algorithm 1 as printed leaves w out)."""
    w = np.minimum(1.0, tally.users * slope / max_count)
    return weight * w * centred_log(tally.count) + (1 - weight) * centred_log(public)


def noisy_softmax(mean: Any, sensitivity: float, sigma: float, rng: Generator) -> Any:
    """softmax(mean + noise), noise of standard deviation sigma · sensitivity on a grid."""
    grid = grid_for(max(sensitivity, 2.0**-30), sigma)
    drawn = noise.gaussian(rng, sigma * max(sensitivity, 2.0**-30) / grid, mean.size)
    return softmax((np.rint(mean / grid) + drawn) * grid)
