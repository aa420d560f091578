"""What the published spectral configurations share: exact moments, sensitivities, noise on one edge, Procedure 1.

DeCarolis et al. 2020 exchange one document for another and take the number of documents N as public. Here the unit is
an author or a document, a unit's moments are the means over its documents of at least three words, and N counts units.
"""

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core.errors import InputError, NothingReleased
from dptopics.core.settings import Choice
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus, raw_counts
from dptopics.kernels.moments import dense_pairs
from dptopics.learners.spectral import (
    SHORTEST,
    CountMoments,
    coefficients,
    orthogonal_components,
    second_moment,
    third_moment,
    top_eigenpairs,
)
from dptopics.mechanisms.mechanism import Mechanism, check_words
from dptopics.mechanisms.queries import grid_for
from dptopics.mechanisms.topics.spectral import unpacked_square
from dptopics.privacy import noise
from dptopics.privacy.events import Noise

Floats = NDArray[np.float64]

LARGEST_VOCABULARY = 2000  # a dense matrix of pairs, with its exact eigenvectors
HOLES = (
    "How many units there are counts as public: a guarantee of this kind exchanges one unit for another.",
    "Moments are sums in floating point, not on a grid: no bound on their rounding is proved.",
)
CROSSING = (
    "The claim is refuted: where two eigenvalues of the pairs of words cross, one unit turns the whitening to another "
    "direction, and the tensor moves by a hundred times what its noise is made for "
    "(docs/guarantees/spectral_published.md).",
)
WHITENED_HOLES = (
    "The sensitivity of the whitened tensor is not proved: theorem 5 drops the mixed terms of M₃(W, W, W) − "
    "M₃(W′, W′, W′), lemma 28 gives the neighbour's axes the same span and the rotation that suits, and the gap that "
    "both need is never tested.",
)
GAP = (
    "The claim is refuted: one unit moves the gap of the tensor's eigenvalues by far more than the 2/N of lemma 9, "
    "because whitening magnifies what a unit does, and whether there is a release at all gives it away "
    "(docs/guarantees/spectral_published.md).",
)


@dataclass(frozen=True)
class ExactMoments:
    """Means over units, without noise: private. The pairs are held as a whole matrix."""

    n_units: int
    mean: Floats
    second: Floats
    counts: CountMoments
    mean_variance: float = 0.0
    noise_norm: float = 0.0

    def pairs(self, block: Floats) -> Floats:
        """E[p⊗p] times some columns."""
        return np.asarray(self.second @ block)

    def triples(self, whitening: Floats) -> Floats:
        """E[p⊗p⊗p] through ``whitening``."""
        return self.counts.triples(whitening)

    def lda_pairs(self, alpha0: float) -> Floats:
        """M₂, whole."""
        return self.second - coefficients(alpha0)[0] * np.outer(self.mean, self.mean)

    def eigenpairs(self, n: int, alpha0: float) -> tuple[Floats, Floats]:
        """The largest eigenvalues of M₂ and their vectors."""
        return top_eigenpairs(second_moment(self, alpha0), self.mean.size, n, 0)


def exact_moments(corpus: BoundedCorpus) -> ExactMoments:
    """Means over all units of the means over their documents; a unit without a long document counts as zero."""
    counts = raw_counts(corpus)
    sizes: list[NDArray[np.int64]] = corpus.fold(lambda seen, block: [*seen, np.diff(block.unit_start)], [])
    if not sizes:  # the number of units is public here
        raise NothingReleased("there is no unit to exchange for another. (The budget was charged.)")
    size = np.concatenate(sizes)
    unit = np.repeat(np.arange(size.size), size)
    length = np.diff(np.concatenate([[0], np.cumsum(counts.count, dtype=np.int64)])[counts.doc_start]).astype(float)
    long = length >= SHORTEST
    of_unit = np.bincount(unit[long], minlength=size.size)
    share = np.where(long, 1 / (size.size * np.maximum(of_unit[unit], 1)), 0.0)
    moments = CountMoments(counts, share)
    weight = np.where(long, share / np.maximum(length * (length - 1), 1.0), 0.0)
    second = dense_pairs(counts.doc_start, counts.word, counts.count, weight, counts.n_words)
    return ExactMoments(size.size, moments.mean, second, moments)


# --- sensitivities, one unit exchanged for another ---


def pair_sensitivity(alpha0: float, n_units: int, norm: int = 2) -> float:
    """Of M₂ = X₂ − a·M₁⊗M₁. L1: (2 + 4a)/N, as in H.1 (the body prints 2/N); L2: √2(1 + 2a)/N.

    Moments of units are not negative and of norm at most one, so two of them differ by 2 in L1, √2 in L2 norm.
    """
    a, _, _ = coefficients(alpha0)
    return (2 if norm == 1 else sqrt(2)) * (1 + 2 * a) / n_units


def triple_sensitivity(alpha0: float, n_units: int, norm: int = 2) -> float:
    """Of M₃. L1: (2 + 12b + 6c)/N: H.2 counts one of three B terms, the body prints 2/N; L2: √2(1 + 6b + 3c)/N."""
    _, b, c = coefficients(alpha0)
    return (2 if norm == 1 else sqrt(2)) * (1 + 6 * b + 3 * c) / n_units


def whitened_sensitivity(alpha0: float, n_units: int, n_topics: int, smallest: float) -> float:
    """Claimed for M₃(W, W, W): equation 64 with the sensitivities above, σ_k+1 = 0 and ``smallest`` for σ_k.

    ‖M₃‖·(2k)^(3/2)·Δ₂³/(σ·√(σ/2))³ + Δ₃·k^(3/2)/(σ/2)^(3/2), ‖M₃‖ ≤ 1 + 3b + c.
    """
    _, b, c = coefficients(alpha0)
    pairs, triples = pair_sensitivity(alpha0, n_units), triple_sensitivity(alpha0, n_units)
    cubic = (1 + 3 * b + c) * (2 * n_topics) ** 1.5 * (pairs / (smallest * sqrt(smallest / 2))) ** 3
    return float(cubic + triples * n_topics**1.5 / (smallest / 2) ** 1.5)


def component_sensitivity(whitened: float, n_topics: int, gap: float) -> float:
    """Claimed for all vectors and values of the decomposition together: √(2k) times 2√k·Δ_T/γ for each (theorem 6).

    The paper adds noise for one of the 2k, and releases them all.
    """
    return sqrt(2 * n_topics) * 2 * sqrt(n_topics) * whitened / gap


# --- noise on one edge ---


def fine_grid(sensitivity: float, scale: float) -> float:
    """Step for values that are no sums of units: so fine that rounding them is hardly worth paying for."""
    return grid_for(sensitivity, scale) / 16


def noisy(values: Floats, sensitivity: float, scale: float, rng: Generator, kind: Noise = Noise.GAUSSIAN) -> Floats:
    """Values on a fine grid, with noise of ``scale`` times their sensitivity, rounding to the grid included."""
    grid = fine_grid(sensitivity, scale)
    moved = grid * (sqrt(values.size) if kind is Noise.GAUSSIAN else values.size)
    draw = noise.gaussian if kind is Noise.GAUSSIAN else noise.laplace
    return np.asarray((np.rint(values / grid) + draw(rng, scale * (sensitivity + moved) / grid, values.shape)) * grid)


def noisy_pairs(
    data: ExactMoments,
    n_topics: int,
    alpha0: float,
    scale: float,
    rng: Generator,
    kind: Noise = Noise.GAUSSIAN,
    sensitivity: float | None = None,
) -> tuple[Floats, Floats]:
    """Eigenvalues and vectors of M₂ with symmetric noise: edges e4 and e8. Values are none below the noise's own.

    ``sensitivity``: by default that of ``pair_sensitivity``. Entries off the diagonal occur twice: they count √2 (L2)
    or 2 (L1) times, and get that much less noise.
    """
    matrix, d = data.lda_pairs(alpha0), data.mean.size
    rows, columns = np.triu_indices(d)
    twice = np.where(rows == columns, 1.0, sqrt(2) if kind is Noise.GAUSSIAN else 2.0)
    if sensitivity is None:
        sensitivity = pair_sensitivity(alpha0, data.n_units, kind.norm)
    upper = noisy(matrix[rows, columns] * twice, sensitivity, scale, rng, kind)
    whole = unpacked_square(upper / twice * np.where(rows == columns, 1.0, sqrt(2)), d)
    values, vectors = top_eigenpairs(lambda block: np.asarray(whole @ block), d, n_topics, 0)
    return np.maximum(values, scale * sensitivity * sqrt(2 * d)), vectors


def whitening_like(values: Floats, vectors: Floats, public: Floats) -> Floats:
    """W for these eigenpairs, turned so that its axes are those nearest to the ``public`` (released) ones.

    Whitening is free up to a rotation. What was seen through W is led back through other, released axes, so the two
    must agree; the paper says nothing on this.
    """
    left, _, right = np.linalg.svd(vectors.T @ public)
    return np.asarray((vectors / np.sqrt(values)) @ (left @ right))


def lower_bound(
    what: str, value: float, sensitivity: float, scale: float, tail: float, rng: Generator, margin: float = 1.0
) -> float:
    """Lines 1 to 5 of Procedure 1, with Laplace noise of ``scale`` times the sensitivity: not above the value, but for
    a chance of ``tail``; a ``margin`` of two, as printed, makes that 2·tail²."""
    seen = float(noisy(np.array([value]), sensitivity, scale, rng, Noise.LAPLACE)[0])
    low = seen - margin * scale * sensitivity * log(1 / (2 * tail))
    if not 0 < low < inf:
        raise nothing_below(what)
    return low


def nothing_below(what: str) -> NothingReleased:
    """Why there is no release: the noise would have no bound."""
    return NothingReleased(
        f"the private lower bound on {what} is 0, so that no amount of noise is known to be enough (Procedure 1), and "
        "nothing is released (the budget was charged). Give more data, a higher epsilon or fewer topics, or use "
        "'spectral' or 'spectral-1', which need no such bound."
    )


# --- settings ---


def check_settings(mechanism: Any) -> None:
    """Rules that all four configurations share."""
    if mechanism.n_topics < 2:
        raise InputError(f"n_topics must be at least 2, got {mechanism.n_topics}.")
    for name in ("scale", "alpha0"):
        if not 0 < getattr(mechanism, name) < inf:
            raise InputError(f"{name} must be a positive number, got {getattr(mechanism, name)}.")
    if len(mechanism.shares) != len(mechanism.edges) or not all(share > 0 for share in mechanism.shares):
        raise InputError(f"shares must be {len(mechanism.edges)} positive numbers, one for each of {mechanism.edges}.")
    if abs(sum(mechanism.shares) - 1) > 1e-9:
        raise InputError(f"shares must add up to 1, got {sum(mechanism.shares)}.")


def check_corpus(mechanism: Any, corpus: BoundedCorpus) -> Vocabulary:
    """Public words, no fewer than topics, and few enough for a matrix of pairs."""
    checked: Mechanism[Any] = mechanism
    vocabulary = check_words(checked, corpus, mechanism.vocabulary or corpus.vocabulary, mechanism.n_topics)
    mechanism.check_size(len(vocabulary))
    return vocabulary


class Sensitivities(Choice):
    """Which of them scale the noise."""

    CORRECTED = "corrected"
    PRINTED = "printed"


REFUTED = (
    "The claim is refuted by arithmetic: as printed, one unit moves the moments by at most 1/N. A document of one "
    "word, exchanged for a document of another, moves the pairs of words by √2/N or more "
    "(docs/guarantees/spectral_published.md).",
)


class Corrected:
    """Those of appendix H, with what it miscounts put right; see :mod:`dptopics.published.spectral_edges`."""

    margin = 1.0  # of a private lower bound, in scales · ln(1/(2 · tail))

    def pairs(self, alpha0: float, n_units: int, norm: int = 2) -> float:
        return pair_sensitivity(alpha0, n_units, norm)

    def triples(self, alpha0: float, n_units: int, norm: int = 2) -> float:
        return triple_sensitivity(alpha0, n_units, norm)

    def whitened(self, alpha0: float, n_units: int, n_topics: int, smallest: float) -> float:
        """Of M₃(W, W, W), by a lower bound on σ_k(M₂)."""
        return whitened_sensitivity(alpha0, n_units, n_topics, smallest)

    def components(self, whitened: float, n_topics: int, gap: float) -> float:
        """Of the tensor's vectors and values, by a lower bound on their gap."""
        return component_sensitivity(whitened, n_topics, gap)

    def gap(self, n_units: int) -> float:
        """Of that gap: lemma 9, which is not proved."""
        return 2.0 / n_units

    def topics(self, alpha0: float, n_units: int, n_topics: int, component: float, **values: float) -> float:
        """Of all topics and parameters together: √(2k) times the bound of H.5 for each.

        C·(λ₁·√σ₁·Δ̄ + λ₁·√σ₁/σ_k·Δ₂ + √(σ₁ + Δ₂)·Δ̄), Δ̄ = 2√k·Δ_T/γ, with C = (α₀+2)/2 as M₂ is not scaled.
        """
        pairs, first, last = self.pairs(alpha0, n_units), values["largest"], values["smallest"]
        each = component / sqrt(2 * n_topics)
        far = values["weight"] * sqrt(first) * (each + pairs / last) + sqrt(first + pairs) * each
        return sqrt(2 * n_topics) * (alpha0 + 2) / 2 * far


class Printed(Corrected):
    """Those of section 6 and Procedure 1, with the constant 1 where the paper writes O(·)."""

    margin = 2.0

    def pairs(self, alpha0: float, n_units: int, norm: int = 2) -> float:
        """1/N, in either norm (theorem 4 has 2/N, section 6 draws for 1/N)."""
        return 1 / n_units

    def triples(self, alpha0: float, n_units: int, norm: int = 2) -> float:
        """1/N."""
        return 1 / n_units

    def whitened(self, alpha0: float, n_units: int, n_topics: int, smallest: float) -> float:
        """k^1.5/(N·σ_k^1.5), theorem 5."""
        return float(n_topics**1.5 / (n_units * smallest**1.5))

    def components(self, whitened: float, n_topics: int, gap: float) -> float:
        """k²/(γ·N·σ_k^1.5), theorem 6: for one vector or value of the 2k."""
        return sqrt(n_topics) * whitened / gap

    def gap(self, n_units: int) -> float:
        """1/N, as Procedure 1 draws for it."""
        return 1 / n_units

    def topics(self, alpha0: float, n_units: int, n_topics: int, component: float, **values: float) -> float:
        """√σ₁ times that, theorem 7."""
        return component * sqrt(values["largest"])


FORMULAS: dict[Sensitivities, Corrected] = {Sensitivities.CORRECTED: Corrected(), Sensitivities.PRINTED: Printed()}


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
    smallest = lower_bound(what, values[-1], far, each, tail, rng, by.margin)
    if values[-1] <= 0:  # the bound failed, which its δ pays for; there is nothing to whiten
        raise nothing_below(what)
    whitened = by.whitened(alpha0, data.n_units, n_topics, smallest)
    if not gap:
        return PrivateBounds(values, vectors, smallest, whitened, 0.0)
    weights, _ = orthogonal_components(third_moment(data, vectors / np.sqrt(values), alpha0))
    apart = float(np.min(weights - np.append(weights[1:], 0.0))) / 4
    low = lower_bound("the gap between topics", apart, by.gap(data.n_units), each, tail, rng, by.margin)
    return PrivateBounds(values, vectors, smallest, whitened, by.components(whitened, n_topics, low))


def check_tail(tail: float) -> None:
    """The chance that a bound fails."""
    if not 0 < tail < 0.5:
        raise InputError(f"tail must lie between 0 and 0.5, got {tail}.")
