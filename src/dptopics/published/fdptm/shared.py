"""What the reproductions share: they take public words as given, and draw raw bits for their samplers."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray


def random_bits(rng: Generator, n: int) -> NDArray[np.uint64]:
    """n words of 64 uniform bits."""
    return rng.integers(0, 2**64 - 1, n, dtype=np.uint64, endpoint=True)
