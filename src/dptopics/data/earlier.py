"""Periods of time: days, weeks and months by name, and what was counted in earlier ones."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Earlier:
    """Periods before this one, from the first on. ``exact`` is private: sums without noise; ``cells`` was released."""

    exact: NDArray[np.int64]  # [period, row of the sum]
    cells: NDArray[np.float64]  # [period, cell]: what was made of each period's measurement

    @classmethod
    def none(cls) -> Self:
        """There is none."""
        return cls(np.zeros((0, 0), np.int64), np.zeros((0, 0)))

    def counts(self, place: int, now: NDArray[np.int64]) -> NDArray[np.int64]:
        """Exact sums of all periods up to the one at ``place``, whose own are ``now``; zeros for those left out."""
        every = np.zeros((place + 1, now.size), np.int64)
        every[: len(self.exact)] = self.exact.reshape(-1, now.size)
        every[place] = now
        return every

    def followed_by(self, place: int, now: NDArray[np.int64], cells: NDArray[np.float64]) -> "Earlier":
        """The same after the period at ``place``; ``cells`` is what was released since."""
        new = cells.reshape(len(cells), -1)
        return Earlier(self.counts(place, now), np.concatenate([self.cells.reshape(-1, new.shape[1]), new]))
