"""Which words stand out of the noise of reports: an exact test that holds for any number of reports, even for one."""

import numpy as np
from numpy.typing import NDArray

from dptopics.release.topic_model import SURE

FALSE_WORDS = 0.05  # share of releases that may show a word nobody sent, at most
_BELOW = 0.999  # of the limit: pages round to six digits, and must not lift a word over it


def beyond_chance(seen: NDArray[np.int64], n_reports: int, by_chance: float) -> NDArray[np.bool_]:
    """Whether each number of reports that speak for a value is too large for a value that nobody sent.

    Every report speaks for such a value with probability ``by_chance``, independently of all others, so its number is
    binomial. Of all values together one is taken for true with probability at most ``FALSE_WORDS`` (Bonferroni). A
    normal distribution of the same deviation has a far lighter tail where few reports speak for a value.

    >>> beyond_chance(np.array([0, 1, 30]), 1000, 0.01)
    array([False, False,  True])
    >>> beyond_chance(np.array([0, 1, 1, 0]), 1, 0.02)  # one report speaks for some value by chance far too often
    array([False, False, False, False])
    """
    from scipy.stats import binom  # slow to load

    return np.asarray(binom.sf(seen - 1, n_reports, by_chance) <= FALSE_WORDS / max(1, seen.size))


def doubted(
    weights: NDArray[np.float64], deviation: NDArray[np.float64], sure: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Weights (topics × words), none of which stands out of the noise of its topic unless it is sure."""
    return np.where(sure, weights, np.minimum(weights, _BELOW * SURE * deviation[:, None]))
