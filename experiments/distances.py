"""How far two matrices of topics are apart, as Wang et al. 2022 measure it. NOT FOR RELEASE."""

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError


def l1_distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """``Σ_w |φ_kw − φ'_kw|``, mean over topics: two for topics without a common word. NOT FOR RELEASE.

    >>> l1_distance(np.eye(2), np.eye(2)[::-1])
    2.0
    """
    return float(np.abs(_difference(first, second)).sum(axis=1).mean())


def row_distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Mean over topics of the *Euclidean* distance: what Wang et al. 2022 plot as "L1 distance". NOT FOR RELEASE.

    >>> round(row_distance(np.eye(2), np.eye(2)[::-1]), 6)
    1.414214
    """
    return float(np.linalg.norm(_difference(first, second), axis=1).mean())


def rmse(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Root of the mean squared difference of entries. NOT FOR RELEASE.

    >>> rmse(np.eye(2), np.eye(2)[::-1])
    1.0
    """
    return float(np.sqrt(np.mean(_difference(first, second) ** 2)))


def kendall_distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Share of pairs of words that the two matrices rank the other way round, mean over topics. NOT FOR RELEASE.

    A pair that only one of them ranks counts half. Zero for the same ranking, one for the reverse, half for chance.

    >>> kendall_distance(np.array([[3.0, 2.0, 1.0]]), np.array([[3.0, 1.0, 2.0]])).__round__(4)
    0.3333
    """
    _difference(first, second)
    i, j = np.triu_indices(first.shape[1], 1)
    if i.size == 0:
        raise InputError("a ranking needs at least two words.")
    shares = []
    for one, other in zip(first, second, strict=True):  # topic by topic: all pairs of words of all topics are many
        a, b = np.sign(one[i] - one[j]), np.sign(other[i] - other[j])
        shares.append(np.mean(np.abs(a - b) / 2))
    return float(np.mean(shares))


def _difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    if first.shape != second.shape or first.ndim != 2:
        raise InputError(f"two matrices of one shape are compared, got {first.shape} and {second.shape}.")
    return np.asarray(first - second)
