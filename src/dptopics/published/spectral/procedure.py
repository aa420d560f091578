"""Procedure 1 of DeCarolis et al. 2020: private lower bounds on what scales the noise of configurations 2 to 4."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from dptopics.errors import InputError
from dptopics.learners.tensor import orthogonal_components, third_moment
from dptopics.published.spectral import edges as common
from dptopics.published.spectral.edges import ExactMoments, Floats
from dptopics.published.spectral.printed import FORMULAS, Corrected, Sensitivities

_CORRECTED = FORMULAS[Sensitivities.CORRECTED]


@dataclass(frozen=True)
class PrivateBounds:
    """Exact eigenpairs of M₂ (private), and the claimed sensitivities after whitening, by private bounds."""

    values: Floats
    vectors: Floats
    smallest: float  # private lower bound on the last of the values
    whitened: float  # of the tensor
    component: float  # of all its vectors and values; 0 where no gap was asked for


def private_bounds(
    data: ExactMoments,
    n_topics: int,
    alpha0: float,
    scale: float,
    tail: float,
    rng: Generator,
    *,
    gap: bool,
    by: Corrected = _CORRECTED,
) -> PrivateBounds:
    """Noise of ``scale`` times the sensitivity, in L1 norm, on σ_k(M₂), or on σ_k and γ_s = min (λᵢ − λᵢ₊₁)/4 alike.

    σ_k moves by at most the L2 sensitivity of M₂ (Weyl); the paper draws Lap(1/(N·ε₁)) for it. With two bounds each
    gets half of the budget, that is, twice the noise.
    """
    values, vectors = data.eigenpairs(n_topics, alpha0)
    each = 2 * scale if gap else scale
    what = "the smallest eigenvalue that is needed of the pairs of words"
    far = by.pairs(alpha0, data.n_units)
    smallest = common.lower_bound(what, values[-1], far, each, tail, rng, by.margin)
    if values[-1] <= 0:  # the bound failed, which its δ pays for; there is nothing to whiten
        raise common.nothing_below(what)
    whitened = by.whitened(alpha0, data.n_units, n_topics, smallest)
    if not gap:
        return PrivateBounds(values, vectors, smallest, whitened, 0.0)
    weights, _ = orthogonal_components(third_moment(data, vectors / np.sqrt(values), alpha0))
    apart = float(np.min(weights - np.append(weights[1:], 0.0))) / 4
    low = common.lower_bound("the gap between topics", apart, by.gap(data.n_units), each, tail, rng, by.margin)
    return PrivateBounds(values, vectors, smallest, whitened, by.components(whitened, n_topics, low))


def check_tail(tail: float) -> None:
    """The chance that a bound fails."""
    if not 0 < tail < 0.5:
        raise InputError(f"tail must lie between 0 and 0.5, got {tail}.")
