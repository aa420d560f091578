"""How large documents' moments are, privately: a noisy histogram of their norms, and bounds that few exceed."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dptopics.data.bounded import Block, UnitRows
from dptopics.kernels.moments import document_norms, unit_norms

Floats = NDArray[np.float64]

BINS = 24  # of the j-th root of ‖M̃ⱼ‖, four to an octave: from 1 down to 1/64, documents of 4,096 different words
_PER_OCTAVE = 4
_ORDER = (1, 2, 3)
_EDGES = [2.0 ** (-np.arange(1, BINS) * j / _PER_OCTAVE) for j in _ORDER]  # lower edges of all bins but the last
_SURE = 2.0  # standard deviations of noise by which a count must be above what is asked for


@dataclass(frozen=True)
class NormHistogram:
    """A unit's three mean norms, each as a one in its bin, over √3: a vector of norm one. Bin 0 has the largest."""

    width: ClassVar[int] = 1
    height: ClassVar[int] = 3 * BINS

    def __call__(self, block: Block) -> UnitRows:
        """By comparisons, not by logarithms: their last digit may depend on a unit's place in the block."""
        norms = unit_norms(block.unit_start, document_norms(block.doc_start, block.counts))
        seen = norms[:, 0] > 0
        places = [np.searchsorted(-edges, -norms[seen, j]) + j * BINS for j, edges in enumerate(_EDGES)]
        rows = np.column_stack(places).astype(np.int32)
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(3 * seen, dtype=np.int64)])
        return UnitRows(start, rows.reshape(-1), np.full((rows.size, 1), 1 / sqrt(3)))


def bounds_from(noisy: Floats, deviation: float, above: float) -> Floats:
    """Bounds on the three norms that a share ``above`` of the units exceeds, from the noisy sum of histograms.

    Bins are added up from the largest norms down, until the sum is surely, by what is known of the noise, more than the
    share asked for; inside the last bin by proportion. With few units the bounds come out too small, never wild.
    """
    counts = noisy.reshape(3, BINS) * sqrt(3)
    sure = _SURE * deviation * sqrt(3) * np.sqrt(np.arange(1, BINS + 1))
    bounds = np.empty(3)
    for j, row in enumerate(counts):
        total = np.cumsum(row)
        wanted = max(above * total[-1], 0.0)
        past = np.flatnonzero(total > wanted + sure)
        last = int(past[0]) if past.size else BINS - 1
        before = total[last - 1] if last else 0.0
        part = np.clip((wanted - before) / max(total[last] - before, 1e-9), 0.0, 1.0)
        bounds[j] = 2.0 ** (-(last + part) * _ORDER[j] / _PER_OCTAVE)
    return bounds
