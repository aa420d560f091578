"""Noisy n-gram counts: the standard mechanism, and what everything else must beat."""

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.core.settings import check_fields
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.public_inputs import PublicNgrams
from dptopics.mechanisms.mechanism import Calibrated
from dptopics.mechanisms.ngrams.counts import LimitedCounts, OverNgrams, check_limits, check_list, positive_shares
from dptopics.mechanisms.queries import noisy_sum
from dptopics.privacy.events import Noise
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Unit
from dptopics.release.ngrams import NgramTable
from dptopics.release.release import Release


@dataclass(frozen=True, kw_only=True)
class LaplaceNgrams(OverNgrams, Calibrated):
    """Release how probable each n-gram of a public list is, from noisy counts.

    A unit's counts, each up to ``max_count``, are scaled to norm at most ``max_total`` (L1 under Laplace noise, L2
    under Gaussian noise) and added up; noise of ``scale`` times that goes on every count. Counts are cut at zero and
    normalised: the baseline of Ramadan et al., section 4.2. Public counts (``prior``) are not used.
    Proof: docs/guarantees/ngram_laplace.md

    >>> mechanism = LaplaceNgrams.calibrated(epsilon=0.5, delta=1e-6, max_total=50)
    >>> round(mechanism.scale, 5), round(mechanism.guarantee.epsilon, 6)
    (1.99999, 0.5)
    """

    scale: float
    delta: float
    unit: Unit = Unit.AUTHOR
    max_total: float = 20.0
    max_count: int = 1
    noise: Noise = Noise.LAPLACE
    prior: PublicNgrams | None = field(default=None, repr=False)
    noise_parameter: ClassVar[str] = "scale"
    name: ClassVar[str] = "laplace"
    paper: ClassVar[str] = "Dwork et al. 2006"
    noises: ClassVar[tuple[Noise, ...]] = tuple(Noise)

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "noise", Noise(self.noise))
        check_limits(None, self.max_count)
        if not 0 < self.max_total < inf:
            raise InputError(f"max_total must be a positive number, got {self.max_total}.")

    @property
    def guarantee(self) -> Guarantee:
        return self.promise(self.noise.event(self.scale, nonnegative=True), assumptions=(PUBLIC_WORDS,))  # counts

    def check(self, corpus: BoundedCorpus) -> None:
        """The list must be public, and the public counts must know some of it."""
        check_list(self, corpus, self.prior)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Add up counts, add noise, normalise."""
        vocabulary = check_list(self, corpus, self.prior)
        statistic = LimitedCounts(len(vocabulary), self.max_count)
        with progress.part(0.0, 0.9):
            noisy = noisy_sum(corpus, statistic, bound=self.max_total, sigma=self.scale, kind=self.noise, rng=rng)[:, 0]
        total = float((np.maximum(noisy, 0.0) + 1.0).sum())
        spread = self.scale * self.max_total * (1.0 if self.noise is Noise.GAUSSIAN else sqrt(2)) / total
        progress.report(1.0)
        table = NgramTable(
            vocabulary=vocabulary,
            probability=positive_shares(noisy),
            total=total,
            noise_std=np.full(noisy.size, spread),
            text=corpus.text,
        )
        return Release.of(table, self, rng)
