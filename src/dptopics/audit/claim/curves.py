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
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv, ndtr, ndtri

from dptopics.privacy.events import Event, Failure, Gaussian, Laplace, RandomizedResponse, SampledGaussian
from dptopics.privacy.pricing import delta_of, epsilon_of, smallest


def lower_bound_from_rates(false_positives: float, false_negatives: float, delta: float) -> float:
    """ε is at least this, given upper limits of both error rates of one test, whatever the mechanism's trade-off."""
    wrong, missed = np.array([false_positives, false_negatives]), np.array([false_negatives, false_positives])
    return max(0.0, float(_log_ratio(1 - missed - delta, wrong).max()))


def _log_ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    # Neither limit is ever 0 where it divides: Clopper–Pearson stops short of certainty.
    return np.where(above > 0, np.log(np.maximum(above, 1e-300)) - np.log(below), -inf)


def share_at_least(hits: NDArray[np.int64], runs: int, error: float) -> NDArray[np.float64]:
    """Lower confidence limits of a probability (Clopper–Pearson, one-sided)."""
    found = betaincinv(np.maximum(hits, 1), runs - hits + 1, error)
    return np.where(hits > 0, found, 0.0)


def share_at_most(hits: NDArray[np.int64], runs: int, error: float) -> NDArray[np.float64]:
    """Upper confidence limits of a probability (Clopper–Pearson, one-sided)."""
    found = betainccinv(hits + 1, np.maximum(runs - hits, 1), error)
    return np.where(hits < runs, found, 1.0)


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


def error_limits(inside: NDArray[np.bool_], outside: NDArray[np.bool_], error: float) -> tuple[float, float]:
    """Upper confidence limits of (false positive, false negative) rates of guesses that say "in" where true."""
    wrong, missed = np.count_nonzero(outside), np.count_nonzero(~inside)
    limits = [
        float(share_at_most(np.array(hits), runs, error / 2))
        for hits, runs in ((wrong, outside.size), (missed, inside.size))
    ]
    return limits[0], limits[1]
