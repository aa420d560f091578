"""A bounded sum with Gaussian noise: the one way in which proved topic mechanisms look at a corpus."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.data.bounded import BoundedCorpus, Sample, Statistic
from dptopics.privacy import noise
from dptopics.privacy.mechanism import grid_for


def noisy_sum(
    corpus: BoundedCorpus,
    statistic: Statistic,
    *,
    bound: float,
    sigma: float,
    rng: Generator,
    sample: Sample | None = None,
) -> NDArray[np.float64]:
    """Σ over units of the statistic, clipped to L2 norm ``bound``; noise of deviation sigma · bound on each cell."""
    grid = grid_for(bound, sigma)
    exact = corpus.bounded_sum(statistic, bound=bound, grid=grid, sample=sample)
    exact += noise.gaussian(rng, sigma * bound / grid, exact.shape)  # in place: sums of pairs of words are large
    return np.asarray(exact * grid)
