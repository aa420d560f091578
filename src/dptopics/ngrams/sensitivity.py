"""How far one author can move one coordinate of the weighted log counts, in any data set."""

from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from dptopics.errors import InputError

MOST_AUTHORS = 1_000_000  # until the weight is full: keeps the search short and rounding far below the grid


def weighted_log(
    users: NDArray[np.float64], count: NDArray[np.float64], *, max_count: int, slope: float, centre: float
) -> NDArray[np.float64]:
    """f = w(N)·(log(c + 1) − m₀), w(N) = min(1, S·N/C): one number for each n-gram, 0 where nobody has it.

    >>> weighted_log(np.array([1.0, 5.0]), np.array([1.0, 7.0]), max_count=1, slope=0.1, centre=2.0).round(4)
    array([-0.1307,  0.0397])
    """
    weight = np.minimum(1.0, users * (slope / max_count))
    return np.asarray(weight * (np.log1p(count) - centre))


@lru_cache(maxsize=256)
def largest_step(max_count: int, slope: float, centre: float) -> float:
    """b: the most that f changes when one author joins, over all data sets (docs/guarantees/ngram_bayes.md, lemma 1).

    The author raises N by one and c by δ, 1 ≤ δ ≤ C. For given N the change is monotone in δ, and as a function of c
    it falls, then rises: its extremes lie at the ends of N ≤ c ≤ CN or beside its turning point. Beyond N = C/S the
    weight is full and the change only gets smaller.

    >>> round(largest_step(1, 0.1, 0.0), 6), round(largest_step(10, 10.0, 5.0), 6)
    (0.325569, 4.306853)
    """
    full = max_count / slope
    if not 0 < full <= MOST_AUTHORS:
        raise InputError(
            f"max_count / slope must lie above 0 and be at most {MOST_AUTHORS:,}, got {full:.3g}: so many authors give "
            "an n-gram its full weight."
        )
    users = np.arange(0, ceil(full) + 1, dtype=np.float64)
    before = np.minimum(1.0, users * (slope / max_count))
    after = np.minimum(1.0, (users + 1) * (slope / max_count))
    largest = 0.0
    for delta in {1, max_count}:
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = before * delta / (after - before) - 1
        turn = np.where(np.isfinite(turn), turn, 0.0)
        for count in (users, max_count * users, np.floor(turn), np.ceil(turn)):
            count = np.clip(count, users, max_count * users)
            change = after * (np.log1p(count + delta) - centre) - before * (np.log1p(count) - centre)
            largest = max(largest, float(np.abs(change).max()))
    return largest
