"""Weights into distributions."""

import numpy as np

from dptopics.kernels.arrays import F64


def distributions(matrix: F64) -> F64:
    """Rows as distributions: absolute values over their sum; an empty row becomes uniform."""
    rows = np.abs(np.asarray(matrix, np.float64))
    total = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1.0 / rows.shape[1]))
