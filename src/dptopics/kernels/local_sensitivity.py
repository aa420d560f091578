"""How far removing any one of the units at hand moves published n-gram statistics: brute force over units.

Units come as sparse rows (start, rows, delta) of distinct words and limited counts; ``count`` and ``users`` are the
totals over all units. All functions return the largest value over the units given.
"""

import numpy as np

from dptopics.kernels.jit import F64, I32, I64, jit


@jit
def largest_weighted_log(
    start: I64, rows: I32, delta_count: F64, count: F64, users: F64, slope: float, printed: bool
) -> float:
    """max over units of ‖w ⊙ x̂ − w₋ ⊙ x̂₋‖₂, x̂ = log(c + 1) − mean, w = min(1, slope · N) (Ramadan et al., corollary 1).

    Removing a unit also moves the mean, and with it every other word: Σ w² over those gives their part. ``printed``:
    ‖w ⊙ (x̂ − x̂₋) + slope · 1(Δc > 0) ⊙ x̂₋‖₂ instead, the line of algorithm 1, as if w always moved by ``slope``.
    """
    n_words = count.size
    log_count = np.log1p(count)
    weight = np.minimum(1.0, slope * users)
    mean = log_count.mean()
    all_squares = np.sum(weight * weight)
    largest = 0.0
    for unit in range(start.size - 1):
        fall = 0.0
        for e in range(start[unit], start[unit + 1]):
            w = rows[e]
            fall += log_count[w] - np.log1p(count[w] - delta_count[e])
        new_mean = mean - fall / n_words
        moved, squares = 0.0, 0.0
        for e in range(start[unit], start[unit + 1]):
            w = rows[e]
            new_weight = min(1.0, slope * (users[w] - 1.0))
            new_log = np.log1p(count[w] - delta_count[e])
            if printed:
                new_weight = weight[w] - slope
            change = weight[w] * (log_count[w] - mean) - new_weight * (new_log - new_mean)
            moved += change * change
            squares += weight[w] * weight[w]
        moved += (new_mean - mean) ** 2 * max(0.0, all_squares - squares)
        largest = max(largest, moved)
    return float(np.sqrt(largest))


@jit
def largest_share(start: I64, rows: I32, delta_count: F64, count: F64) -> float:
    """max over units of ‖c/‖c‖₁ − c₋/‖c₋‖₁‖₁."""
    total = count.sum()
    largest = 0.0
    for unit in range(start.size - 1):
        given, touched = 0.0, 0.0
        for e in range(start[unit], start[unit + 1]):
            given += delta_count[e]
            touched += count[rows[e]]
        left = total - given
        if left <= 0:
            largest = max(largest, 1.0)  # the only unit: nothing is left
            continue
        moved = (total - touched) * (1.0 / left - 1.0 / total)
        for e in range(start[unit], start[unit + 1]):
            w = rows[e]
            moved += abs(count[w] / total - (count[w] - delta_count[e]) / left)
        largest = max(largest, moved)
    return largest


@jit
def largest_dot(start: I64, rows: I32, delta_count: F64, value: F64) -> float:
    """max over units of Σ_i Δc_i · value_i."""
    largest = 0.0
    for unit in range(start.size - 1):
        total = 0.0
        for e in range(start[unit], start[unit + 1]):
            total += delta_count[e] * value[rows[e]]
        largest = max(largest, total)
    return largest
