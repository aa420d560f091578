"""What shadows say of each document, as means and covariances that one shadow can be taken out of. NOT FOR RELEASE."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ALIKE = 8.0  # shadows that the variance of documents alike counts for; chosen on airline tweets and Daily KOS
_GROUPS = 20  # of documents alike


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the shadows without (0) and with (1) each document, around a common centre.

    ``n``: sides × documents. ``total``: sides × documents × statistics. ``square``: one more axis of statistics.
    """

    n: Floats
    total: Floats
    square: Floats
    centre: Floats
    alike: float = ALIKE

    @classmethod
    def of(cls, said: Floats, seen: NDArray[np.bool_], *, alike: float = ALIKE) -> Self:
        """``said``: shadows × documents × statistics; ``seen`` tells which shadows had which document."""
        centre = said.mean(axis=0)
        centred = said - centre  # sums of squares around 0 would lose digits
        sides = np.stack([~seen, seen]).astype(np.float64)
        total = np.einsum("zsd,sdk->zdk", sides, centred)
        square = np.stack([np.einsum("sd,sdk,sdl->dkl", side, centred, centred, optimize=True) for side in sides])
        return cls(sides.sum(axis=1), total, square, centre, alike)

    def without(self, said: Floats, seen: NDArray[np.bool_]) -> Self:
        """The same, had this one shadow not been trained."""
        sides = np.stack([~seen, seen]).astype(np.float64)
        centred = said - self.centre
        total = self.total - sides[:, :, None] * centred
        square = self.square - sides[:, :, None, None] * np.einsum("dk,dl->dkl", centred, centred)
        return replace(self, n=self.n - sides, total=total, square=square)

    def means(self) -> Floats:
        """Sides × documents × statistics."""
        return np.asarray(self.centre + self.total / np.maximum(self.n, 1)[:, :, None])

    def shared_covariance(self) -> Floats:
        """Around the mean of each side, both sides together: documents × statistics × statistics."""
        return np.asarray(self._scatter().sum(axis=0) / np.maximum(1, self.n.sum(axis=0) - 2)[:, None, None])

    def inside(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the first statistic over the shadows that had the document."""
        return self._normal(1)

    def outside(self) -> tuple[Floats, Floats]:
        """The same over those that had it not."""
        return self._normal(0)

    def _normal(self, side: int) -> tuple[Floats, Floats]:
        """Few shadows tell a variance badly, so it is drawn towards that of documents alike (Smyth 2004)."""
        mean = self.means()[side, :, 0]
        freedom = np.maximum(self.n[side] - 1, 0)
        scatter = np.maximum(self._scatter()[side, :, 0, 0], 0.0)
        typical = _of_documents_alike(mean, scatter, freedom)
        variance = (scatter + self.alike * typical) / np.maximum(freedom + self.alike, 1)
        return mean, np.sqrt(variance) + 1e-6 * (1 + np.abs(mean))  # which never quite vanishes

    def _scatter(self) -> Floats:
        n = np.maximum(self.n, 1)[:, :, None, None]
        return np.asarray(self.square - np.einsum("zdk,zdl->zdkl", self.total, self.total) / n)


def _of_documents_alike(mean: Floats, scatter: Floats, freedom: Floats) -> Floats:
    """The mean variance of documents with about the same mean: those of the same length and rareness."""
    order = np.argsort(mean, kind="stable")
    group = np.empty(mean.size, np.int64)
    group[order] = np.arange(mean.size) * min(_GROUPS, max(1, mean.size // 25)) // max(1, mean.size)
    total = np.bincount(group, weights=scatter)
    return np.asarray((total / np.maximum(np.bincount(group, weights=freedom), 1))[group])
