"""Symmetric matrices and tensors as vectors of the same norm: each entry once, times the root of its occurrences."""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def unpacked_square(packed: Floats, size: int) -> Floats:
    """A symmetric matrix from its upper triangle by rows, off the diagonal multiplied by √2."""
    matrix = np.zeros((size, size))
    at = 0
    for row in range(size):
        matrix[row, row:] = packed[at : at + size - row]
        at += size - row
    matrix /= sqrt(2)
    matrix[np.diag_indices(size)] /= sqrt(2)
    matrix += matrix.T
    return matrix


def _places(size: int) -> tuple[Any, Any, Any, Floats]:
    """The entries i ≤ j ≤ l of a symmetric tensor, in order, and the root of how often each occurs in the whole."""
    index = np.indices((size, size, size)).reshape(3, -1)
    i, j, m = index[:, (index[0] <= index[1]) & (index[1] <= index[2])]
    return i, j, m, np.sqrt(np.array([6.0, 3.0, 1.0])[(i == j).astype(int) + (j == m)])


def packed_cube(cube: Floats) -> Floats:
    """The entries i ≤ j ≤ l of a symmetric tensor, each multiplied by the root of how often it occurs."""
    i, j, m, root = _places(len(cube))
    return np.asarray(cube[i, j, m] * root)


def unpacked_cube(packed: Floats, size: int) -> Floats:
    """Inverse of :func:`packed_cube`."""
    i, j, m, root = _places(size)
    cube = np.empty((size, size, size))
    value = packed / root
    for a, b, c in ((i, j, m), (i, m, j), (j, i, m), (j, m, i), (m, i, j), (m, j, i)):
        cube[a, b, c] = value
    return cube
