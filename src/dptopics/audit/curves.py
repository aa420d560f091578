"""What a guarantee allows at every error rate, and how measured error rates refute it.

A mechanism's events fix a whole trade-off curve: whoever tells two neighbours apart with false positive rate α misses
at least f(α) (Dong, Roth & Su 2022). One pair (ε, δ) is a single tangent of it, so a test against the curve sees more.
It refutes the *claimed curve*: a mechanism of another curve may still keep the one (ε, δ) that is stated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isinf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from dptopics.audit.epsilon import check_confidence, scores_of, share_at_most
from dptopics.privacy.events import Event, Failure, Gaussian, Laplace, RandomizedResponse, SampledGaussian
from dptopics.privacy.pricing import delta_of, epsilon_of, smallest

Floats = NDArray[np.float64]
_TANGENTS = 160  # of the curve; fewer allow more errors than the curve does, which is the safe side


@dataclass(frozen=True)
class Curve:
    """The least false negative rate at each false positive rate, of any attack on the events of a guarantee."""

    events: tuple[Event, ...]

    def __call__(self, false_positives: float) -> float:
        """f(α): never above the true curve."""
        if self._plain:
            return float(ndtr(ndtri(1 - false_positives) - self.mu))
        epsilon, delta = _tangents(self.events)
        ratio = np.exp(epsilon)
        found = np.maximum(1 - delta - ratio * false_positives, (1 - delta - false_positives) / ratio)
        return max(0.0, float(found.max()))

    @property
    def mu(self) -> float:
        """Signal-to-noise ratio of all Gaussian noise together."""
        found = sum(event.count / event.sigma**2 for event in self.events if isinstance(event, Gaussian))
        return float(np.sqrt(found))

    @property
    def _plain(self) -> bool:
        return all(isinstance(event, Gaussian) for event in self.events)

    def refuted(self, false_positives: float, false_negatives: float) -> bool:
        """Whether the two rates, which are upper confidence limits, cannot both be true of these events."""
        return false_negatives < self(false_positives) or false_positives < self(false_negatives)

    def louder(self, factor: float) -> "Curve":
        """The curve of the same events with all noise divided by ``factor``."""
        return Curve(tuple(_with_noise(event, 1 / factor) for event in self.events))

    def lower_bound(self, false_positives: float, false_negatives: float, delta: float) -> float:
        """ε at ``delta`` of the loudest curve of this family that the two rates refute.

        The family is that of the same events under more or less noise: a bound that assumes its form.
        """
        if not any(isinstance(event, Gaussian | Laplace) for event in self.events):
            return 0.0
        if self._plain:
            mu = float(ndtri(1 - false_negatives) - ndtri(false_positives))
            return epsilon_of((Gaussian(1 / mu),), delta) if mu > 0 else 0.0
        if not self.louder(1e-6).refuted(false_positives, false_negatives):
            return 0.0
        factor = smallest(
            lambda f: not self.louder(f).refuted(false_positives, false_negatives), limit=1e6, tolerance=1e-3
        )
        if isinf(factor):
            return inf
        return epsilon_of(self.louder(factor * (1 - 2e-3)).events, delta)


def claimed_curve(events: tuple[Event, ...], *, failures: bool = True) -> Curve:
    """The curve of what a guarantee prices; samples count as if everybody were in, which allows more.

    Without ``failures``: of the noise alone, for attacks that look at noisy sums and not at the words let through.
    """
    whole = (_unsampled(event) for event in events)
    return Curve(tuple(event for event in whole if failures or not isinstance(event, Failure)))


def _unsampled(event: Event) -> Event:
    if isinstance(event, SampledGaussian):
        return Gaussian(event.sigma, event.count, event.relation)
    return event


def _with_noise(event: Event, factor: float) -> Event:
    match event:
        case Gaussian(sigma, count, relation):
            return Gaussian(sigma * factor, count, relation)
        case Laplace(scale, count, relation):
            return Laplace(scale * factor, count, relation)
        case SampledGaussian() | RandomizedResponse() | Failure():
            return event


@lru_cache(maxsize=256)
def _tangents(events: tuple[Event, ...]) -> tuple[Floats, Floats]:
    """(ε, δ(ε)) at which the curve is known."""
    price = delta_of(events)
    most = _largest(price)
    epsilon = np.concatenate([[0.0], np.geomspace(most * 1e-3, most, _TANGENTS)])
    return epsilon, np.array([price(float(one)) for one in epsilon])


def _largest(price: Callable[[float], float]) -> float:
    """An ε beyond which nothing is left to tell."""
    return smallest(lambda epsilon: price(epsilon) <= 1e-9 or epsilon > 200, tolerance=1e-2)


# --- from trials ---


def curve_bound_from_trials(
    scores_in: ArrayLike,
    scores_out: ArrayLike,
    *,
    curve: Curve | None = None,
    delta: float,
    confidence: float = 0.999,
    threshold: float | None = None,
) -> float:
    """ε is at least this, with the stated confidence, if the trade-off is one of the ``curve``'s family.

    Without a ``curve`` the family is that of Gaussian noise. Scores are of *independent* trials. A ``threshold`` must
    have been fixed before they were seen; without one the first tenth of them chooses it, and is not used again. Both
    errors are bounded by Clopper & Pearson (1934), each with half of what the confidence leaves.

    >>> round(curve_bound_from_trials([1.0] * 200, [0.0] * 200, delta=1e-5, threshold=0.5), 2)
    20.91
    """
    check_confidence(delta, confidence)
    inside, outside = scores_of(scores_in), scores_of(scores_out)
    if threshold is None:
        threshold, sign, inside, outside = _chosen(inside, outside)
        inside, outside, threshold = sign * inside, sign * outside, sign * threshold
    if not inside.size or not outside.size:
        return 0.0
    rates = error_limits(inside > threshold, outside > threshold, 1 - confidence)
    return (curve or Curve((Gaussian(1.0),))).lower_bound(*rates, delta)


def error_limits(inside: NDArray[np.bool_], outside: NDArray[np.bool_], error: float) -> tuple[float, float]:
    """Upper confidence limits of (false positive, false negative) rates of guesses that say "in" where true."""
    wrong, missed = np.count_nonzero(outside), np.count_nonzero(~inside)
    limits = [
        float(share_at_most(np.array(hits), runs, error / 2))
        for hits, runs in ((wrong, outside.size), (missed, inside.size))
    ]
    return limits[0], limits[1]


def _chosen(inside: Floats, outside: Floats) -> tuple[float, int, Floats, Floats]:
    """Threshold and direction from the first tenth of the scores: midway between the means; and the other scores."""
    few = [max(1, scores.size // 10) for scores in (inside, outside)]
    means = [float(scores[:n].mean()) for scores, n in zip((inside, outside), few, strict=True)]
    return sum(means) / 2, 1 if means[0] >= means[1] else -1, inside[few[0] :], outside[few[1] :]


# --- from one run ---


def one_run_refutes(curve: Curve, *, m: int, r: int, v: int, beta: float) -> bool:
    """Whether v right guesses of r, among m canaries in one run, are less likely than β under the ``curve``.

    Mahloujifar, Melis & Chaudhuri 2024, algorithm 3: the distribution of right guesses that the curve allows has the
    heaviest possible tail of weight β at v; if that already has too much mass below, the curve is refuted.
    """
    if not 0 < v <= r <= m:
        return False
    right, wrong = beta * v / m, beta * (r - v) / m
    for i in range(v - 1, -1, -1):
        allowed = max(wrong, _reverse(curve, right))
        if allowed == wrong:
            break
        right, wrong = min(1.0, right + i / (r - i) * (allowed - wrong)), allowed
    return right + wrong > r / m


def one_run_curve_bound(*, m: int, r: int, v: int, delta: float, beta: float, curve: Curve | None = None) -> float:
    """ε at ``delta`` of the loudest curve of the family (Gaussian without one) that one run refutes."""
    family = curve or Curve((Gaussian(1.0),))
    if not one_run_refutes(family.louder(1e-6), m=m, r=r, v=v, beta=beta):
        return 0.0
    factor = smallest(
        lambda f: not one_run_refutes(family.louder(f), m=m, r=r, v=v, beta=beta), limit=1e3, tolerance=1e-4
    )
    return inf if isinf(factor) else epsilon_of(family.louder(factor * (1 - 2e-4)).events, delta)


def _reverse(curve: Curve, right: float) -> float:
    """The largest share of wrong guesses x for which 1 − f(x) ≤ the share that is right: f̄⁻¹."""
    if curve._plain:
        return float(ndtr(ndtri(right) - curve.mu))
    low, high = 0.0, right
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - curve(middle) <= right else (low, middle)
    return low
