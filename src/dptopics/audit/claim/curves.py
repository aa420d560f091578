"""What a guarantee allows at every error rate, and how measured error rates refute it.

A mechanism's events fix a whole trade-off curve: a test between two neighbours with false positive rate α has a false
negative rate of at least f(α) (Dong, Roth & Su 2022). One pair (ε, δ) is a single tangent of it, so a test against the
curve has more power. It refutes the *claimed curve*: another curve may still satisfy the one (ε, δ) that is stated.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import inf, isinf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, ndtr, ndtri

from dptopics.privacy.events import Event, Failure, Gaussian, Laplace, RandomizedResponse, SampledGaussian
from dptopics.privacy.pricing import delta_of, epsilon_of, smallest


def lower_bound_from_rates(false_positives: float, false_negatives: float, delta: float) -> float:
    """ε is at least this, given upper limits of both error rates of one test, whatever the mechanism's trade-off."""
    wrong, missed = np.array([false_positives, false_negatives]), np.array([false_negatives, false_positives])
    # Neither limit is ever 0 where it divides: Clopper–Pearson stops short of certainty.
    return max(0.0, float((np.log(np.maximum(1 - missed - delta, 1e-300)) - np.log(wrong)).max()))


def share_at_least(hits: ArrayLike, runs: int, error: float) -> NDArray[np.float64]:
    """Lower confidence limits of a probability (Clopper–Pearson, one-sided); the number of runs may be effective."""
    hits = np.asarray(hits)
    return np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1), runs - hits + 1, error), 0.0)


def share_at_most(hits: ArrayLike, runs: int, error: float) -> NDArray[np.float64]:
    """Upper confidence limits of a probability (Clopper–Pearson, one-sided); the number of runs may be effective."""
    hits = np.asarray(hits)
    return np.where(hits < runs, betainccinv(hits + 1, np.where(hits < runs, runs - hits, 1), error), 1.0)


Floats = NDArray[np.float64]
_TANGENTS = 160  # of the curve; fewer tangents give a lower curve, which is the safe side


@dataclass(frozen=True)
class Curve:
    """The smallest false negative rate that any attack on these events can have at each false positive rate."""

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
        """Whether these events rule out two rates, given as upper confidence limits."""
        return false_negatives < self(false_positives) or false_positives < self(false_negatives)

    def louder(self, factor: float) -> "Curve":
        """The curve of the same events with all noise divided by ``factor``."""
        return Curve(tuple(_with_noise(event, 1 / factor) for event in self.events))

    def lower_bound(self, false_positives: float, false_negatives: float, delta: float) -> float:
        """ε at ``delta`` of the least private curve that the two rates refute, among the same events at other noise."""
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
    """The curve of what a guarantee prices, without amplification by sampling, which allows more.

    Without ``failures``: of the noise alone, for attacks on noisy sums rather than on released words.
    """
    whole = (Gaussian(e.sigma, e.count, e.relation) if isinstance(e, SampledGaussian) else e for e in events)
    return Curve(tuple(event for event in whole if failures or not isinstance(event, Failure)))


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
    most = smallest(lambda epsilon: price(epsilon) <= 1e-9 or epsilon > 200, tolerance=1e-2)
    epsilon = np.concatenate([[0.0], np.geomspace(most * 1e-3, most, _TANGENTS)])
    return epsilon, np.array([price(float(one)) for one in epsilon])


def error_limits(inside: NDArray[np.bool_], outside: NDArray[np.bool_], error: float) -> tuple[float, float]:
    """Upper confidence limits of (false positive, false negative) rates of guesses that say "in" where true."""
    wrong, missed = np.count_nonzero(outside), np.count_nonzero(~inside)
    return float(share_at_most(wrong, outside.size, error / 2)), float(share_at_most(missed, inside.size, error / 2))
