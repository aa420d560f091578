"""Laplace noise with public data (Ramadan, Withers & Orr 2021, section 4.2): a published baseline."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.ngrams.counts import check_list
from dptopics.privacy import noise
from dptopics.privacy.events import Laplace
from dptopics.privacy.guarantee import Guarantee
from dptopics.privacy.looks import grid_for
from dptopics.privacy.mechanism import Calibrated
from dptopics.published.ngrams.shared import LimitedAsPublished
from dptopics.release.ngram_table import NgramTable
from dptopics.release.release import Release

_WHY_NONE = (
    "The claim is refuted: the noise is scaled to the sensitivity of the data at hand, and its scale shows in the "
    "release. One author who wrote more than the others multiplies it, and is given away "
    "(docs/guarantees/ngram_published.md)."
)


@dataclass(frozen=True, kw_only=True)
class LaplacePublicNgrams(LimitedAsPublished, Calibrated):
    """A reproduction that hides nobody: the private distribution's distance from the public one, plus noise.

    max(Σ_n w_n·(c̃ⁿ − α̃) + noise + α̃, 0), normalised: c̃ⁿ a unit's shares, w_n its part of all counts, α̃ public
    shares. As Σ w_n = 1 the public shares cancel, and what is left is c/‖c‖₁ plus noise; they matter only where the
    result is not positive, where we put them in place of zero. Why it is wrong: docs/guarantees/ngram_published.md

    >>> str(LaplacePublicNgrams.calibrated(epsilon=0.5, delta=1e-6).guarantee.strength)
    'none'
    """

    scale: float
    amount: ClassVar[str] = "scale"
    name: ClassVar[str] = "laplace-public"
    paper: ClassVar[str] = "Ramadan et al. 2021"

    @property
    def guarantee(self) -> Guarantee:
        """What the paper claims, and that it does not hold."""
        return self.refuted(Laplace(self.scale), why=(_WHY_NONE,))

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Shares, their sensitivity here, noise."""
        vocabulary = check_list(self, corpus, self.prior)
        units, tally = self.counted(corpus)
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
