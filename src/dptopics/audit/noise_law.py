"""Whether the noise that was drawn is the noise that is stated: its size, its kind, and anew for every cell and run.

Draws of the stated law are exact, so every p-value here is valid but for rounding to the grid, which is far below the
noise. More noise than stated is no violation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2, gamma, kstest, norm, poisson

from dptopics.privacy.events import Noise
from dptopics.privacy.looks import Look

Floats = NDArray[np.float64]
_FEW = 256  # cells of each look that are compared with those of others
_MANY = 20_000  # cells for the shape of the law
_SMALLEST = 8  # cells that a correlation needs
_COARSE = 1000.0  # steps: below, rounding shows


@dataclass(frozen=True)
class Oddity:
    """Something about the noise, and how likely it would be by chance."""

    what: str
    p_value: float


def oddities(runs: Sequence[Sequence[Look]]) -> list[Oddity]:
    """One for each test: looks of several runs, in the order in which they were taken."""
    found: list[Oddity] = []
    for place, looks in enumerate(zip(*runs, strict=False)):
        found += _of_one(looks, f"look {place + 1} of {len(runs[0])}")
    return found + _between([look for looks in runs for look in looks])


def _of_one(looks: Sequence[Look], where: str) -> list[Oddity]:
    """The same look in several runs."""
    cells = [(look.drawn / look.scale).ravel() for look in looks]
    kind, n = looks[0].kind, sum(part.size for part in cells)
    if kind is Noise.GAUSSIAN:
        less = float(chi2(n).cdf(sum(float(part @ part) for part in cells)))
    else:
        less = float(gamma(n).cdf(sum(float(np.abs(part).sum()) for part in cells)))
    found = [Oddity(f"{where}: less noise was drawn than is stated", less)]
    if looks[0].scale >= _COARSE and less > 1e-12:
        pooled = np.concatenate([part[:_MANY] for part in cells])[:_MANY]
        law = norm.cdf if kind is Noise.GAUSSIAN else _laplace
        # Noise that is wider than stated hides more: only the middle must not be too full.
        shape = kstest(np.abs(pooled), lambda x: 2 * law(x) - 1, alternative="greater")
        found.append(Oddity(f"{where}: the noise is not {kind}", float(shape.pvalue)))
    found += [Oddity(f"{where}: {what}", p) for look in looks[:2] for what, p in _shared(look)]
    return found


def _laplace(x: Floats) -> Floats:
    return np.where(x < 0, np.exp(x) / 2, 1 - np.exp(-np.abs(x)) / 2)


def _shared(look: Look) -> list[tuple[str, float]]:
    """Draws that several cells share: in all cells, in a row or in a column."""
    cells = look.drawn.ravel()
    if cells.size < 2:
        return []
    found = [("one draw was used for several cells", _repeats(cells[: 4 * _FEW], look.scale))]
    if look.drawn.ndim == 2 and min(look.drawn.shape) > 1:
        normal = _normal(look)
        for axis, name in ((0, "column"), (1, "row")):
            sums = normal.sum(axis=axis) / np.sqrt(normal.shape[axis])
            found.append((f"the cells of a {name} share noise", float(chi2(sums.size).sf(float(sums @ sums)))))
    return found


def _between(looks: Sequence[Look]) -> list[Oddity]:
    """Draws that two looks share, as they are or scaled: between runs and between parts."""
    found = []
    by_size: dict[int, list[Look]] = {}
    for look in looks:
        by_size.setdefault(min(look.drawn.size, _FEW), []).append(look)
    for size, group in by_size.items():
        if len(group) < 2:
            continue
        if size >= _SMALLEST:
            normal = np.array([_normal(look).ravel()[:size] for look in group])
            alike = np.abs(normal @ normal.T) / np.sqrt((normal**2).sum(axis=1).clip(1e-300))[:, None]
            # Given one look, the product with another has a normal law.
            most = max(float(alike[i, j]) for i, j in combinations(range(len(group)), 2))
            pairs = len(group) * (len(group) - 1) / 2
            found.append(Oddity("two looks share their noise", min(1.0, pairs * 2 * float(norm.sf(most)))))
        else:
            scale = min(look.scale for look in group)
            cells = np.concatenate([look.drawn.ravel()[:1] for look in group])
            found.append(Oddity("two looks share their noise", _repeats(cells, scale)))
    return found


def _normal(look: Look) -> Floats:
    """Draws as standard normal numbers."""
    cells = look.drawn / look.scale
    if look.kind is Noise.GAUSSIAN:
        return np.asarray(cells)
    return np.asarray(norm.ppf(np.clip(_laplace(cells), 1e-12, 1 - 1e-12)))


def _repeats(cells: NDArray[np.int64], scale: float) -> float:
    """How likely so many equal numbers are: a pair is equal with probability at most 1/(2·scale) or so."""
    repeated = cells.size - np.unique(cells).size
    if repeated == 0:
        return 1.0
    if scale < _COARSE:  # rounding makes equal numbers: only one value for all is odd
        return float(binom.sf(cells.size - 2, cells.size - 1, 1 / (1 + scale))) if np.unique(cells).size == 1 else 1.0
    return float(poisson.sf(repeated - 1, cells.size**2 / (2 * scale)))
