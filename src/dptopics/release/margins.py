"""A table and its margins: a table for every set of axes, from the total (no axis) to the cells (all axes). Public."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]
Axes = tuple[bool, ...]  # for each axis, whether it belongs to the set


def margins(k: int) -> list[Axes]:
    """All sets of k axes: none (the total) first, all (the cells) last."""
    return list(product((False, True), repeat=k))


def shape_of(shape: Shape, axes: Axes) -> Shape:
    """The shape of a margin, with length one for the axes summed over."""
    return tuple(n if kept else 1 for n, kept in zip(shape, axes, strict=True))


def cube(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cells of texts, which add up, and all their margins: along each axis the last entry is the sum of the others."""
    for axis in range(cells.ndim):
        cells = np.concatenate([cells, cells.sum(axis=axis, keepdims=True)], axis=axis)
    return cells
