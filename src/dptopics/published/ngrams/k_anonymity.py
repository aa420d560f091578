"""k-anonymity for n-grams: exact counts of what at least k authors wrote. No protection is promised."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import BoundedCorpus
from dptopics.errors import InputError
from dptopics.ngrams.counts import check_limits, check_list, positive_shares
from dptopics.privacy.events import Failure
from dptopics.privacy.guarantee import PUBLIC_WORDS, Guarantee, Strength, Unit
from dptopics.privacy.mechanism import Job, Registered
from dptopics.public.ngrams import PublicNgrams
from dptopics.published.ngrams.shared import Units
from dptopics.release.ngram_table import NgramTable
from dptopics.release.release import Release

_WHY_NONE = (
    "Counts are exact and no noise is drawn: whoever knows all authors but one reads off the rest, and an n-gram that "
    "appears when its k-th author joins gives that author away."
)


@dataclass(frozen=True, kw_only=True)
class KAnonymousNgrams(Registered):
    """A comparison that hides nobody: n-grams of at least ``k`` units keep their exact counts, others count nothing.

    Why it is no protection: docs/guarantees/ngram_published.md
    """

    k: int
    delta: float
    unit: Unit = Unit.AUTHOR
    max_count: int = 1_000_000
    prior: PublicNgrams | None = field(default=None, repr=False)
    job: ClassVar[Job] = Job.NGRAMS
    name: ClassVar[str] = "k-anonymity"
    paper: ClassVar[str] = "Samarati & Sweeney 1998"

    def __post_init__(self) -> None:
        check_limits(None, self.max_count)
        if self.k < 1:
            raise InputError(f"k must be at least 1, got {self.k}.")

    @classmethod
    def template(cls, *, delta: float, unit: Unit = Unit.AUTHOR, k: int = 50, **more: Any) -> Self:
        """Itself: there is nothing to rescale."""
        return cls(k=k, delta=delta, unit=unit, **more)

    @classmethod
    def calibrated(cls, *, epsilon: float, **settings: Any) -> Self:
        """Itself: no ε changes what it does."""
        return cls.template(**settings)

    def rescaled(self, factor: float) -> Self:
        """Itself: there is no noise."""
        return self

    @property
    def guarantee(self) -> Guarantee:
        """Anything may be revealed: no ε at all."""
        return Guarantee(
            events=(Failure(1 - 2.0**-53),),
            delta=self.delta,
            unit=self.unit,
            strength=Strength.NONE,
            assumptions=(_WHY_NONE, PUBLIC_WORDS),
        )

    def check(self, corpus: BoundedCorpus) -> None:
        """The list must be public, and the public counts must know some of it."""
        check_list(self, corpus, self.prior)

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[NgramTable]:
        """Exact counts where there are enough units."""
        vocabulary = check_list(self, corpus, self.prior)
        tally = Units(corpus, self.max_count).tally()
        kept = np.where(tally.users >= self.k, tally.count, 0.0)
        progress.report(1.0)
        table = NgramTable(
            vocabulary=vocabulary,
            probability=positive_shares(kept),
            total=float(kept.sum() + kept.size),
            text=corpus.text,
        )
        return Release.of(table, self, rng)
