"""What the true counts may be, given noisy numbers of known noise and what public text tells. Post-processing."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dptopics.privacy.events import Noise

LARGEST_COUNT = 1e8  # of one n-gram that is thought possible
_LEVELS = 192  # possible values of log(c + 1) that are weighed against each other
_SAMPLE = 1200  # n-grams that the prior is fitted on
_ROWS = 4096  # n-grams handled at once
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """Posterior mean and standard deviation of each count."""

    count: Array
    deviation: Array


def posterior(
    noisy: Array, *, transform: Callable[[Array], Array], kind: Noise, scale: float, public: Array
) -> Estimate:
    """Posterior mean of counts c, from ``noisy`` = transform(c) + noise of deviation (Laplace: magnitude) ``scale``.

    The prior says that log(c + 1) is normal around a + k·log(public + 1), deviation s. (a, k, s) are those under which
    the noisy numbers are most likely (empirical Bayes): they are computed from what is released anyway, so that they
    cost nothing. With a fixed weight for the prior instead, this is the posterior mean of Ramadan et al., corollary 1.
    """
    level = np.linspace(0.0, np.log1p(LARGEST_COUNT), _LEVELS)
    known = np.log1p(public)

    def evidence(rows: NDArray[np.int64], levels: Array) -> Array:
        """Likelihood of levels of log(c + 1), up to a constant per row."""
        distance = (noisy[rows, None] - transform(np.expm1(levels))) / scale
        value = -0.5 * distance * distance if kind is Noise.GAUSSIAN else -np.abs(distance)
        return np.asarray(np.exp(value - value.max(axis=1, keepdims=True)))

    order = np.argsort(known, kind="stable")
    sample = order[np.linspace(0, order.size - 1, min(order.size, _SAMPLE)).astype(np.int64)]
    base, power, spread = _fitted(evidence(sample, level[None, :]), known[sample], level)
    count, square = np.empty(noisy.size), np.empty(noisy.size)
    near, width = _inverse(noisy, transform, scale, level)
    fine = width < 2 * (level[1] - level[0])  # noise too small for the levels: look closer
    window = np.linspace(-5, 5, 41) if kind is Noise.GAUSSIAN else np.linspace(-12, 12, 97)
    for group in (np.flatnonzero(~fine), np.flatnonzero(fine)):
        for start in range(0, group.size, _ROWS):
            rows = group[start : start + _ROWS]
            levels = level[None, :]
            if fine[rows[0]]:
                levels = np.maximum(near[rows, None] + width[rows, None] * window, 0.0)
            weight = evidence(rows, levels) * _prior(levels, base + power * known[rows], spread)
            weight /= weight.sum(axis=1, keepdims=True)
            value = np.expm1(levels)
            count[rows] = (weight * value).sum(axis=1)
            square[rows] = (weight * (value - count[rows, None]) ** 2).sum(axis=1)
    return Estimate(count, np.sqrt(square))


def _inverse(noisy: Array, transform: Callable[[Array], Array], scale: float, level: Array) -> tuple[Array, Array]:
    """The level that each number would come from without noise, and what the noise is there, in levels.

    Infinite where the transform has no inverse: log counts with a centre fall before they rise.
    """
    expected = transform(np.expm1(level))
    if not np.all(np.diff(expected) > 0):
        return np.zeros(noisy.size), np.full(noisy.size, np.inf)
    near = np.interp(noisy, expected, level)
    for _ in range(3):  # Newton: from the nearest levels to the place itself
        rise = (transform(np.expm1(near + 1e-5)) - transform(np.expm1(np.maximum(near - 1e-5, 0)))) / 2e-5
        near = np.clip(near - (transform(np.expm1(near)) - noisy) / np.maximum(rise, 1e-300), 0.0, level[-1])
    return near, scale / np.maximum(rise, 1e-300)


def _prior(levels: Array, middle: Array, spread: float) -> Array:
    """Normal density of log(c + 1), for each n-gram; never quite zero, so that evidence can overrule it."""
    distance = (levels - middle[:, None]) / spread
    return np.asarray(np.exp(-0.5 * distance * distance) + 1e-9)


def _fitted(likelihood: Array, known: Array, level: Array) -> tuple[float, float, float]:
    """(a, k, s) of the largest marginal likelihood, from the best of a few starts; deterministic."""
    middle = float(known.mean())

    def settings(x: Array) -> tuple[float, float, float]:
        power, spread = float(np.clip(x[1], 0.0, 3.0)), float(np.exp(np.clip(x[2], -2.0, 2.0)))
        return float(x[0]) - power * middle, power, spread

    def loss(x: Array) -> float:
        base, power, spread = settings(x)
        weight = _prior(level[None, :], base + power * known, spread)
        chance = (likelihood * weight).sum(axis=1) / weight.sum(axis=1)
        # Where the noise drowns everything, any setting will do: then public counts are taken as they are.
        usual = ((power - 1) / 0.2) ** 2 + float(np.log(spread)) ** 2
        return usual / 2 - float(np.log(np.maximum(chance, 1e-300)).sum())

    starts = [np.array([share * level[-1], 1.0, 0.0]) for share in (0.05, 0.15, 0.3, 0.45, 0.6, 0.75)]
    best = minimize(
        loss, min(starts, key=loss), method="Nelder-Mead", options={"maxfev": 100, "xatol": 0.01, "fatol": 0.1}
    )
    return settings(best.x)
