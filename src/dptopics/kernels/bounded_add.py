"""The one primitive of the sound mechanisms: add up units, each clipped in norm and rounded toward zero on a grid."""

import numpy as np
from numpy.typing import NDArray

from dptopics.kernels.jit import jit


@jit
def bounded_add(
    start: NDArray[np.int64],
    rows: NDArray[np.int32],
    values: NDArray[np.float64],
    limit: float,
    scale: float,
    work: NDArray[np.float64],
    mark: NDArray[np.int64],
    total: NDArray[np.int64],
) -> None:
    """total += Σ over units u of trunc(clip(v_u)), clip(v) = v · min(1, limit/‖v‖₂), v_u = scale · Σ of u's rows.

    Unit u owns entries start[u]:start[u+1]; entry e adds values[e] to row rows[e]. Equal rows are summed *before*
    clipping. The bound is enforced on the integers themselves: ‖trunc(clip(v))‖² ≤ limit² is checked in exact
    arithmetic, and a unit that breaks it (rounding, NaN, infinity) is shrunk, then dropped. ``work`` (like total) and
    ``mark`` (one per row, all -1) are scratch.
    """
    width = values.shape[1]
    limit_squared = np.int64(limit) * np.int64(limit)
    touched = np.empty(total.shape[0], np.int32)
    for unit in range(start.size - 1):
        first, last = start[unit], start[unit + 1]
        n = 0
        for e in range(first, last):
            r = rows[e]
            if mark[r] != unit:
                mark[r] = unit
                touched[n] = r
                n += 1
                for j in range(width):
                    work[r, j] = values[e, j] * scale
            else:
                for j in range(width):
                    work[r, j] += values[e, j] * scale
        squared = 0.0
        for i in range(n):
            r = touched[i]
            for j in range(width):
                squared += work[r, j] * work[r, j]
        norm = np.sqrt(squared)
        shrink = limit / norm if norm > limit else 1.0
        fits = False
        for _ in range(3 if norm < np.inf else 0):
            exact = np.int64(0)
            for i in range(n):
                r = touched[i]
                for j in range(width):
                    step = np.int64(work[r, j] * shrink)
                    exact += step * step
            fits = bool(exact <= limit_squared)
            if fits:
                break
            shrink *= 1.0 - 2.0**-40
        for i in range(n):
            r = touched[i]
            mark[r] = -1
            if fits:
                for j in range(width):
                    total[r, j] += np.int64(work[r, j] * shrink)
