"""The algebra of a table and its margins: weights, least squares, and the exact covariance of the result.

A table of k axes is measured once for every set S of axes: the cells (all axes), every margin, the total. Each cell
counts with weight w_S in its entry of the table over S. The Gram matrix of such measurements is Σ_S w_S² ⊗ (1 or J):
its eigenspaces are the effects of analysis of variance, one for each set R of axes, with eigenvalues

    λ_R = Σ over S ⊇ R of w_S² Π over axes outside S of their length,

so least squares needs no matrix (as in ResidualPlanner: Xiao, He, Zhang, Kifer 2023). Public: it sees no data.
"""

from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Shape = tuple[int, ...]
Axes = tuple[bool, ...]  # for each axis, whether it belongs to the set

_ROUNDS = 500
STEPS = 64  # of weights: short binary fractions, exact on every grid


def margins(k: int) -> list[Axes]:
    """All sets of k axes: none (the total) first, all (the cells) last."""
    return list(product((False, True), repeat=k))


def shape_of(shape: Shape, axes: Axes) -> Shape:
    """The shape of a margin, with length one for the axes summed over."""
    return tuple(n if kept else 1 for n, kept in zip(shape, axes, strict=True))


def summed(shape: Shape, axes: Axes) -> int:
    """Cells in each entry of a margin."""
    return prod(n for n, kept in zip(shape, axes, strict=True) if not kept)


def _parts(shape: Shape) -> Floats:
    """[S, R]: what a squared weight of the measurement S adds to the eigenvalue of the effect R."""
    sets = margins(len(shape))
    return np.array(
        [[summed(shape, s) * all(a or not b for a, b in zip(s, r, strict=True)) for r in sets] for s in sets]
    )


def eigenvalues(shape: Shape, weights: Floats) -> Floats:
    """λ_R of every effect R."""
    return np.asarray(weights**2 @ _parts(shape))


def _spread(shape: Shape) -> Floats:
    """[Q, R]: variance of an entry of margin Q is σ² Σ_R of this / λ_R."""
    sets = margins(len(shape))
    return np.array(
        [[prod(_share(n, q, q, r) for n, q, r in zip(shape, query, effect, strict=True)) for effect in sets]
         for query in sets]
    )  # fmt: skip


def _share(n: int, first: bool, second: bool, effect: bool, same: bool = True) -> float:
    """aᵀPb on one axis: a and b pick one value (True) or all; P projects on deviations from the mean, or on it."""
    total = (1 if first else n) * (1 if second else n) / n
    if not effect:
        return total
    overlap = (1 if same else 0) if first and second else (1 if first or second else n)
    return overlap - total


def chosen_weights(shape: Shape) -> Floats:
    """Weights of all measurements (1 for the cells) with a small sum of variances over margins, cells twice.

    For a given privacy loss of one cell: monotone multiplicative updates, rounded to short binary fractions.
    """
    parts = _parts(shape)
    wanted = np.ones(len(parts))
    wanted[-1] = 2.0
    doubts, squares = wanted @ _spread(shape), np.ones(len(parts))
    for _ in range(_ROUNDS):
        squares = squares * np.sqrt(parts @ (doubts / (squares @ parts) ** 2))
        squares /= squares.sum()
    return np.asarray(np.round(np.sqrt(squares / squares[-1]) * STEPS) / STEPS)


def least_squares(shape: Shape, weights: Floats, measured: list[Floats]) -> Floats:
    """The cells that fit all measurements best; ``measured[i]`` has the shape of margin i (:func:`shape_of`)."""
    pairs = zip(weights, measured, strict=True)
    projected = sum((weight * np.broadcast_to(table, shape) for weight, table in pairs), np.zeros(shape))
    sets = margins(len(shape))
    inverse = 1 / eigenvalues(shape, weights)
    cells = np.zeros(shape)
    for axes in sets:
        sign = [
            (-1) ** (sum(r) - sum(axes)) * value
            for r, value in zip(sets, inverse, strict=True)
            if all(a <= b for a, b in zip(axes, r, strict=True))
        ]
        gone = tuple(i for i, kept in enumerate(axes) if not kept)
        cells += sum(sign) * projected.mean(axis=gone, keepdims=True)
    return cells


def variances(shape: Shape, weights: Floats) -> Floats:
    """Variance of an entry of every margin, for measurements of variance one."""
    return np.asarray(_spread(shape) @ (1 / eigenvalues(shape, weights)))


def covariance(shape: Shape, weights: Floats, one: tuple[int | None, ...], other: tuple[int | None, ...]) -> float:
    """Of two entries of any margins, for measurements of variance one. None stands for all values of an axis."""
    total = 0.0
    for effect, eigenvalue in zip(margins(len(shape)), eigenvalues(shape, weights), strict=True):
        axes = zip(shape, one, other, effect, strict=True)
        total += prod(_share(n, a is not None, b is not None, r, a == b) for n, a, b, r in axes) / eigenvalue
    return total


def cube(cells: Floats) -> Floats:
    """Cells and all their margins: along each axis the last entry is the sum of the others."""
    for axis in range(cells.ndim):
        cells = np.concatenate([cells, cells.sum(axis=axis, keepdims=True)], axis=axis)
    return cells
