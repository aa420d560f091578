"""N-grams with a public prior, the sound twin of BayesianDP: noise for the worst data set, not for the one at hand."""

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError
from dptopics.ngrams.counts import CountsAndUsers, check_limits, check_list
from dptopics.ngrams.posterior import Estimate, posterior
from dptopics.ngrams.sensitivity import largest_step, weighted_log
from dptopics.privacy.events import Noise
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.privacy.looks import grid_for, noisy, through
from dptopics.privacy.mechanism import Calibrated, Job
from dptopics.public.ngrams import PublicNgrams
from dptopics.release.ngram_table import NgramTable
from dptopics.release.release import Release

_FINEST = 2.0**-40  # far above the rounding errors of f


@dataclass(frozen=True, kw_only=True)
class BayesNgrams(Calibrated):
    """Release how probable each n-gram of a public list is, from noisy counts and public ones.

    Each unit gives at most ``max_words`` (W) n-grams of the list and counts up to ``max_count`` (C). With a ``slope``,
    f = w(N)·(log(c + 1) − centre), w(N) = min(1, slope·N/C), for an n-gram with N units and c occurrences, as in
    Ramadan, Withers & Orr, corollary 1, whose noise follows the data at hand. Without one, f = c: where the noise must
    hold in every data set, the logarithm only costs. One unit moves one coordinate by at most b in *every* data set,
    hence f by √W·b (L2) or W·b (L1); noise of ``scale`` times that goes on every coordinate. Probabilities are the
    posterior mean under public counts (``prior``). Proof: docs/guarantees/ngram_bayes.md

    >>> mechanism = BayesNgrams.calibrated(epsilon=1.0, delta=1e-6)
    >>> round(mechanism.guarantee.epsilon, 6)
    1.0
    """

    scale: float
    delta: float
    unit: Unit = Unit.AUTHOR
    max_words: int = 50
    max_count: int = 1
    slope: float | None = None
    centre: float = 0.0
    noise: Noise = Noise.GAUSSIAN
    prior: PublicNgrams | None = field(default=None, repr=False)
    amount: ClassVar[str] = "scale"
    job: ClassVar[Job] = Job.NGRAMS
    name: ClassVar[str] = "bayes"
    paper: ClassVar[str] = "after Ramadan et al. 2021"
    noises: ClassVar[tuple[Noise, ...]] = tuple(Noise)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", Noise(self.noise))
        check_limits(self.max_words, self.max_count)
        if not ((self.slope is None or 0 < self.slope < inf) and abs(self.centre) <= 100):
            raise InputError(
                f"slope must be positive and centre between -100 and 100, got {self.slope} and {self.centre}."
            )
        _ = self.step  # refuse impossible settings now

    @property
    def guarantee(self) -> Guarantee:
        """One draw of noise."""
        return Guarantee(
            events=(self.noise.event(self.scale),),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.PROVED,
            assumptions=(PUBLIC_WORDS,),
        )

    @property
    def step(self) -> float:
        """b: the most that one unit moves one coordinate."""
        if self.slope is None:
            return float(self.max_count)
        return largest_step(self.max_count, self.slope, self.centre)

    @property
    def grid(self) -> float:
        """Step of the integers that f is rounded to."""
        return max(grid_for(self._together(self.step), self.scale), _FINEST)

    @property
    def bound(self) -> float:
        """Sensitivity of the rounded f: a coordinate moves by at most b and two grid steps of rounding."""
        return self._together(self.step + 2 * self.grid)

    def _together(self, one: float) -> float:
        """W coordinates that move by ``one`` each, in the noise's norm."""
        return one * (sqrt(self.max_words) if self.noise is Noise.GAUSSIAN else self.max_words)

    def check(self, corpus: BoundedCorpus) -> None:
        """The list must be public, and the public counts must know some of it."""
        check_list(self, corpus, self.prior)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Count, transform, add noise, and weigh the result against public counts."""
        vocabulary = check_list(self, corpus, self.prior)
        with progress.part(0.0, 0.9):
            seen = through(lambda: self._noisy(corpus, rng))
        public = np.zeros(seen.size) if self.prior is None else self.prior.counts_of(vocabulary)
        estimate = self._estimate(seen, public)
        total = float(estimate.count.sum())
        progress.report(1.0)
        table = NgramTable(
            vocabulary=vocabulary,
            probability=estimate.count / total,
            total=total,
            deviation=estimate.deviation / total,
            text=corpus.text,
        )
        return Release.of(table, self, rng)

    def _noisy(self, corpus: BoundedCorpus, rng: Generator) -> NDArray[np.float64]:
        """f with its noise."""
        sensitivity = self.bound / self.grid
        steps = noisy(self._steps(corpus), kind=self.noise, sensitivity=sensitivity, multiplier=self.scale, rng=rng)
        return np.asarray(steps * self.grid, np.float64)

    def _steps(self, corpus: BoundedCorpus) -> NDArray[np.int64]:
        """f on the grid: the only place where the corpus is looked at. Counts are exact, and noise must follow."""
        corpus = corpus.limited(max_words=self.max_words)
        statistic = CountsAndUsers(len(corpus.words), self.max_count)
        # A bound that no unit within its limits reaches: nothing is scaled, the sums are whole numbers.
        most = float(self.max_words * (self.max_count + 1))
        count, users = corpus.bounded_sum(statistic, bound=most, grid=1.0, norm=1).T.astype(np.float64)
        return np.rint(self._signal(users, count) / self.grid).astype(np.int64)

    def _estimate(self, noisy: NDArray[np.float64], public: NDArray[np.float64]) -> Estimate:
        """Counts from noisy f: post-processing."""
        return posterior(
            noisy,
            transform=lambda count: self._signal(count, count),  # most authors who have an n-gram have it once
            kind=self.noise,
            scale=self.scale * self.bound,
            public=public,
        )

    def _signal(self, users: NDArray[np.float64], count: NDArray[np.float64]) -> NDArray[np.float64]:
        """f, from the number of units and of occurrences of each n-gram."""
        if self.slope is None:
            return count
        return weighted_log(users, count, max_count=self.max_count, slope=self.slope, centre=self.centre)
