"""Laplace noise with public data (Ramadan, Withers & Orr 2021, section 4.2): a published baseline."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.ngrams.counts import check_limits, check_list
from dptopics.privacy import noise
from dptopics.privacy.events import Laplace
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.privacy.looks import grid_for
from dptopics.privacy.mechanism import Calibrated, Job
from dptopics.public.ngrams import PublicNgrams
from dptopics.published.ngrams.bayes_local import limited_as_published
from dptopics.published.ngrams.shared import Units
from dptopics.release.ngram_table import NgramTable
from dptopics.release.release import Release

_WHY_NONE = (
    "The claim is refuted: the noise is scaled to the sensitivity of the data at hand, and its scale shows in the "
    "release. One author who wrote more than the others multiplies it, and is given away "
    "(docs/guarantees/ngram_published.md)."
)


@dataclass(frozen=True, kw_only=True)
class LaplacePublicNgrams(Calibrated):
    """A reproduction that hides nobody: the private distribution's distance from the public one, plus noise.

    max(Σ_n w_n·(c̃ⁿ − α̃) + noise + α̃, 0), normalised: c̃ⁿ a unit's shares, w_n its part of all counts, α̃ public
    shares. As Σ w_n = 1 the public shares cancel, and what is left is c/‖c‖₁ plus noise; they matter only where the
    result is not positive, where we put them in place of zero. Why it is wrong: docs/guarantees/ngram_published.md

    >>> str(LaplacePublicNgrams.calibrated(epsilon=0.5, delta=1e-6).guarantee.strength)
    'none'
    """

    scale: float
    delta: float
    unit: Unit = Unit.AUTHOR
    max_words: int | None = None
    max_count: int = 1
    prior: PublicNgrams | None = field(default=None, repr=False)
    amount: ClassVar[str] = "scale"
    job: ClassVar[Job] = Job.NGRAMS
    name: ClassVar[str] = "laplace-public"
    paper: ClassVar[str] = "Ramadan et al. 2021"

    def __post_init__(self) -> None:
        check_limits(self.max_words, self.max_count)

    @property
    def guarantee(self) -> Guarantee:
        """What the paper claims, and that it does not hold."""
        return Guarantee(
            events=(Laplace(self.scale),),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.NONE,
            assumptions=(_WHY_NONE, PUBLIC_WORDS),
        )

    def check(self, corpus: BoundedCorpus) -> None:
        """The list must be public, and the public counts must know some of it."""
        check_list(self, corpus, self.prior)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Shares, their sensitivity here, noise."""
        vocabulary = check_list(self, corpus, self.prior)
        with progress.part(0.0, 0.3):
            corpus = limited_as_published(corpus, self.max_words)
        units = Units(corpus, self.max_count)
        with progress.part(0.3, 0.6):
            tally = units.tally()
        with progress.part(0.6, 1.0):
            moved = max(units.share_sensitivity(tally), 2.0**-40)
        public = np.ones(len(vocabulary)) if self.prior is None else self.prior.counts_of(vocabulary) + 1.0
        shares = tally.count / max(1.0, tally.count.sum())
        grid = grid_for(moved, self.scale)
        noisy = (np.rint(shares / grid) + noise.laplace(rng, self.scale * moved / grid, shares.size)) * grid
        floor = public / public.sum() / public.size  # instead of zero, which no perplexity survives
        raised = np.maximum(noisy, floor)
        progress.report(1.0)
        table = NgramTable(
            vocabulary=vocabulary,
            probability=raised / raised.sum(),
            deviation=np.full(raised.size, 2**0.5 * self.scale * moved / raised.sum()),
            text=corpus.text,
        )
        return Release.of(table, self, rng)
