"""Budget: hands out the noise of Gaussian queries that are chosen one after another, from earlier answers."""

from dataclasses import dataclass, field
from math import inf, sqrt

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core.errors import PrivacyError
from dptopics.data.bounded import BoundedCorpus, Statistic
from dptopics.mechanisms.queries import noisy_sum
from dptopics.privacy.events import Event, Gaussian

Floats = NDArray[np.float64]
_ROUNDING = 1e-9


@dataclass
class Budget:
    """Queries whose 1/multiplier² add up to at most 1/σ², whatever earlier answers they were chosen by.

    Together they cost what one query of multiplier σ costs (Smith and Thakurta 2022, for Gaussian noise). Of that at
    most the share ``signed`` goes to sums of either sign, which replace-one prices higher than non-negative ones.
    Proof: docs/guarantees/README.md, section 5.
    """

    sigma: float
    signed: float = 0.0
    spent: float = field(default=0.0, init=False)
    spent_signed: float = field(default=0.0, init=False)

    @property
    def left(self) -> float:
        """The share that is left."""
        return max(0.0, 1 - self.spent)

    def pay(self, multiplier: float, *, signed: bool = False) -> float:
        """The same multiplier, paid for; refused if it takes more than is left."""
        share = (self.sigma / multiplier) ** 2 if multiplier > 0 else inf
        spent, spent_signed = self.spent + share, self.spent_signed + (share if signed else 0.0)
        if not (spent <= 1 + _ROUNDING and spent_signed <= self.signed + _ROUNDING):
            raise PrivacyError(f"a query asked for {share:.3g} of a budget of which {self.left:.3g} is left.")
        self.spent, self.spent_signed = spent, spent_signed
        return multiplier

    def of(self, share: float) -> float:
        """The multiplier of this share; nothing is paid."""
        return self.sigma / sqrt(share)

    @property
    def events(self) -> tuple[Event, ...]:
        """What it costs on every path. The replace-one figure is that of the most expensive one."""
        parts = ((self.signed, False), (1 - self.signed, True))
        return tuple(
            Gaussian(self.sigma / sqrt(share), nonnegative=positive, adaptive=True)
            for share, positive in parts
            if share > 0
        )


@dataclass(frozen=True)
class Asked:
    """A corpus that is queried within a budget."""

    corpus: BoundedCorpus
    rng: Generator
    budget: Budget

    def sum(self, statistic: Statistic, sigma: float, *, bound: float = 1.0, signed: bool = False) -> Floats:
        """A noisy sum of this multiplier, paid for."""
        paid = self.budget.pay(sigma, signed=signed)
        return noisy_sum(self.corpus, statistic, bound=bound, sigma=paid, rng=self.rng)
