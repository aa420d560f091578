"""The one primitive of the sound mechanisms: add up units, each clipped in norm and rounded toward zero on a grid."""

import numpy as np

from dptopics.kernels.jit import F64, I32, I64, Real, jit


@jit
def gathered(unit: int, start: I64, rows: I32, values: Real, scale: float, work: F64, mark: I64, touched: I32) -> int:
    """Add up a unit's rows in ``work``; which rows they are goes to ``touched``, how many is returned."""
    width = values.shape[1]
    n = 0
    for e in range(start[unit], start[unit + 1]):
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
    return n


@jit
def measured(touched: I32, norm: int, work: F64) -> float:
    """The norm of a unit's vector, in floating point."""
    size = 0.0
    for i in range(touched.size):
        r = touched[i]
        for j in range(work.shape[1]):
            size += abs(work[r, j]) if norm == 1 else work[r, j] * work[r, j]
    return size if norm == 1 else float(np.sqrt(size))


@jit
def exactly(touched: I32, norm: int, work: F64, shrink: float) -> np.int64:
    """Σ|w| or Σ w² of the unit's integers w = trunc(shrink · v), in whole numbers."""
    exact = np.int64(0)
    for i in range(touched.size):
        r = touched[i]
        for j in range(work.shape[1]):
            step = np.int64(work[r, j] * shrink)
            exact += abs(step) if norm == 1 else step * step
    return exact


@jit
def bounded_add(
    start: I64, rows: I32, values: Real, limit: float, scale: float, norm: int, work: F64, mark: I64, total: I64
) -> None:
    """total += Σ over units u of trunc(clip(v_u)), clip(v) = v · min(1, limit/‖v‖), v_u = scale · Σ of u's rows.

    The norm is L1 (``norm`` = 1) or L2 (2). Unit u owns entries start[u]:start[u+1]; entry e adds values[e] to row
    rows[e]. Equal rows are summed *before* clipping. The bound is enforced on the integers themselves: Σ|w| ≤ limit or
    Σ w² ≤ limit² of w = trunc(clip(v)) is checked in exact arithmetic, and a unit that breaks it (rounding, NaN,
    infinity) is shrunk, then dropped. ``work`` (like total) and ``mark`` (one per row, all -1) are scratch.
    """
    width = values.shape[1]
    whole = np.int64(limit)
    allowed = whole if norm == 1 else whole * whole
    touched = np.empty(total.shape[0], np.int32)
    for unit in range(start.size - 1):
        n = gathered(unit, start, rows, values, scale, work, mark, touched)
        size = measured(touched[:n], norm, work)
        shrink = limit / size if size > limit else 1.0
        fits = False
        for _ in range(3 if size < np.inf else 0):
            fits = bool(exactly(touched[:n], norm, work, shrink) <= allowed)
            if fits:
                break
            shrink *= 1.0 - 2.0**-40
        for i in range(n):
            r = touched[i]
            mark[r] = -1
            if fits:
                for j in range(width):
                    total[r, j] += np.int64(work[r, j] * shrink)
