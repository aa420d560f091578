"""A bounded sum with Gaussian noise: the one way in which topic mechanisms look at a corpus."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics import noise
from dptopics.corpus import BoundedCorpus, Statistic
from dptopics.mechanism import grid_for


def noisy_sum(
    corpus: BoundedCorpus, statistic: Statistic, *, bound: float, sigma: float, rng: Generator
) -> NDArray[np.float64]:
    """Σ over units of the statistic, clipped to L2 norm ``bound``; noise of deviation sigma · bound on each cell."""
    grid = grid_for(bound, sigma)
    exact = corpus.bounded_sum(statistic, bound=bound, grid=grid)
    return np.asarray((exact + noise.gaussian(rng, sigma * bound / grid, exact.shape)) * grid)
