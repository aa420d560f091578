"""Sums over periods as they grow: what is measured in each period, what one unit can move, and what totals are worth.

In period t, the sum over s ≤ t of c(t − s) times the counts of period s is measured. Fresh noise is c = (1, 0, 0, …).
The other choice is the square root of the matrix of running totals (Henzinger, Upadhyay, Upadhyay 2023; Fichtenberger,
Henzinger, Upadhyay 2023): c(k) are the coefficients of (1 − x)^(−1/2), here rounded down to a public grid, so that
whole numbers stay whole. Public: numbers in, numbers out. Proof: docs/guarantees/counts.md
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

STEPS = 256  # of coefficients
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Strategy:
    """What is measured in each of ``n`` periods, if a unit counts in at most ``most`` of them.

    >>> fresh, factored = Strategy(52, 1, False), Strategy(52, 1, True)
    >>> [round(4.2247 * one.of_unit * one.of_total(51), 1) for one in (factored, fresh)]
    [9.8, 30.5]
    """

    n: int
    most: int
    factored: bool

    @cached_property
    def coefficients(self) -> NDArray[np.int64]:
        """c(0), c(1), … in steps of 1/256: not negative, never rising."""
        k = np.arange(1, self.n)
        exact = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))]) if self.factored else np.eye(1, self.n)[0]
        return np.asarray(np.floor(STEPS * exact), np.int64)

    @cached_property
    def of_unit(self) -> float:
        """How far a unit of norm one in each of its periods moves all measurements together, in L2 norm, at most.

        The first periods in a row are the worst: of two periods, the later has fewer measurements to be part of, and
        the nearer two are, the more they share.
        """
        together = np.convolve(self.coefficients, np.ones(min(self.most, self.n), np.int64))[: self.n]
        return sqrt(int((together**2).sum())) / STEPS

    @cached_property
    def inverse(self) -> Floats:
        """Measurements times these are running totals: r(0), r(1), … of a lower triangular Toeplitz matrix."""
        c, found = self.coefficients / STEPS, np.zeros(self.n)
        found[0] = 1.0
        for k in range(1, self.n):
            found[k] = -(c[1 : k + 1] @ found[k - 1 :: -1][:k])
        return np.asarray(np.cumsum(found))

    def of_total(self, t: int) -> float:
        """Standard deviation of the running total up to period ``t``, if that of a measurement is one."""
        return float(np.linalg.norm(self.inverse[: t + 1]))

    def measured(self, counts: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Rows ``first`` and later of what is measured, in steps of 1/256, from the counts of all periods so far."""
        rows = range(first, len(counts))
        return np.stack([self.coefficients[t::-1][: t + 1] @ counts[: t + 1] for t in rows])

    def totals(self, measured: Floats) -> Floats:
        """The running total up to the last period measured."""
        return np.asarray(np.tensordot(self.inverse[: len(measured)][::-1], measured, axes=1))


def best_for_totals(n: int, most: int) -> Strategy:
    """Of fresh noise and the square root, the one whose last running total has less noise.

    >>> [best_for_totals(52, most).factored for most in (1, 4, 12, 52)]
    [True, True, True, False]
    """
    both = [Strategy(n, most, factored) for factored in (False, True)]
    return min(both, key=lambda one: one.of_unit * one.of_total(n - 1))
