"""What events cost: ε at a δ, exactly where a formula is known, by privacy loss distributions elsewhere."""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial, reduce
from math import ceil, exp, expm1, inf, log, sqrt
from typing import Any, TypeVar

from dptopics.core.errors import InputError, PrivacyError
from dptopics.privacy.events import Event, Failure, Gaussian, Laplace, RandomizedResponse, SampledGaussian, relation_of

E = TypeVar("E", bound=Event)
_UP = 1 + 1e-12  # the two terms of δ(ε) nearly cancel where it is small: round the difference up, never down
_MAX_PANELS = 200
_MAX_RESPONSES = 1000  # with more than two answers; nothing here sends so many


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε) of Gaussian noise at signal-to-noise ratio ``mu`` (Balle & Wang 2018, theorem 8).

    δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)

    >>> round(gaussian_delta(1.0, 1 / 3.185703) * 1e4, 4)
    1.0
    """
    if mu == 0:
        return 0.0
    from scipy.special import log_ndtr, ndtr  # slow to load: only who asks for a price waits for it

    gain, loss = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return min(1.0, max(0.0, float(ndtr(gain)) * _UP - exp(epsilon + float(log_ndtr(loss)))))


@cache
def _nodes() -> Any:
    """Of Gauss and Legendre's quadrature, with their weights."""
    import numpy as np

    return np.polynomial.legendre.leggauss(20)


def laplace_delta(epsilon: float, scale: float, mu: float = 0.0) -> float:
    """δ(ε) of one Laplace draw, together with Gaussian noise at signal-to-noise ratio ``mu``.

    Losses add up, so δ(ε) = E[δ_Gauss(ε − L)] over the Laplace loss L, which is 1/b with probability 1/2, −1/b with
    probability e^(−1/b)/2, else (1 − 2x)/b at density e^(−x/b)/2b, 0 < x < 1. Without Gaussian: 1 − e^((ε − 1/b)/2).

    >>> round(laplace_delta(0.5, 1.0), 6), round(laplace_delta(1.5, 1.0, 0.2), 6)
    (0.221199, 0.000264)
    """
    top = 1 / scale
    if mu == 0:
        return 0.0 if epsilon >= top else -expm1((epsilon - top) / 2)
    import numpy as np
    from scipy.special import log_ndtr, ndtr

    nodes, weights = _nodes()
    panels = max(1, ceil(2 * top / mu))  # a panel spans at most one deviation of the Gaussian loss: smooth inside
    x = ((np.arange(panels)[:, None] + (nodes + 1) / 2) / panels).ravel()
    weight = np.tile(weights / (2 * panels), panels) * np.exp(-x * top) * top / 2
    loss = np.concatenate([[top, -top], (1 - 2 * x) * top])
    weight = np.concatenate([[0.5, exp(-top) / 2], weight])
    left = epsilon - loss
    deltas = ndtr(mu / 2 - left / mu) * _UP - np.exp(left + log_ndtr(-mu / 2 - left / mu))
    return float(weight @ np.maximum(deltas, 0.0)) * (1 + 1e-9)  # far above the error of the quadrature


def response_delta(epsilon: float, event: RandomizedResponse) -> float:
    """δ(ε) of randomised responses to two inputs that differ in all of them, exactly.

    The loss of one answer is ±ε₀ where it is one of the two true values, else 0. The sum of ``count`` such losses has a
    law on the multiples of ε₀, and δ(ε) = E[max(0, 1 − e^(ε − loss))].

    >>> round(response_delta(0.5, RandomizedResponse(0.25)), 6)  # 0.75 − e^0.5 · 0.25
    0.33782
    """
    import numpy as np

    n = event.count
    if event.values == 2:
        from scipy.stats import binom

        loss, law = event.epsilon * np.arange(-n, n + 1, 2), binom.pmf(np.arange(n + 1), n, event.keep)
    elif n <= _MAX_RESPONSES:  # the convolution of positive numbers keeps its digits
        one = np.array([event.lie, (event.values - 2) * event.lie, event.keep])
        law = reduce(np.convolve, [one] * n)
        loss = event.epsilon * np.arange(-n, n + 1)
    else:
        return 0.0 if epsilon >= n * event.epsilon else 1.0
    return float(law @ -np.expm1(np.minimum(0.0, epsilon - loss))) * _UP


def smallest(
    holds: Callable[[float], bool], *, start: float = 1.0, limit: float = 1e12, tolerance: float = 1e-12
) -> float:
    """Smallest positive x with ``holds(x)`` for a predicate that is false, then true; always on the true side."""
    low, high = 0.0, start
    while not holds(high):
        low, high = high, 2 * high
        if high > limit:
            return inf
    while high - low > tolerance * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@lru_cache(maxsize=4096)
def epsilon_of(events: tuple[Event, ...], delta: float) -> float:
    """Smallest ε such that the composition of ``events`` is (ε, ``delta``)-DP, as far as we can tell.

    Gaussians compose exactly to one Gaussian (μ² = Σ 1/σ²), and with one Laplace draw in closed form but for an
    integral. Failures are taken off δ first. The rest is composed as a privacy loss distribution, at a δ that is lower
    by the error of that computation, and never reported above the plain sum or above what it costs without sampling.

    >>> round(epsilon_of((Gaussian(2.0, count=4),), 1e-5), 6) == round(epsilon_of((Gaussian(1.0),), 1e-5), 6)
    True
    """
    if not 0 <= delta < 1:
        raise InputError(f"delta must lie in [0, 1), got {delta}.")
    relation_of(events)
    left, mu, sampled = delta - _failing(events), _signal(events), _of(SampledGaussian, events)
    if left < 0 or (left == 0 and (mu or sampled)):
        return inf
    if sampled:  # a sample only lowers the price, and the price of the whole batch is exact at any δ
        whole = tuple(Gaussian(e.sigma, e.count, e.relation) if isinstance(e, SampledGaussian) else e for e in events)
        return min(_pld_epsilon(events, left), epsilon_of(whole, delta))
    laplace, responses = _of(Laplace, events), _of(RandomizedResponse, events)
    plain = _pure(events) + _gaussian_epsilon(mu, left)
    if plain == 0 or left == 0 or not (laplace or responses):
        return plain
    known = _known_delta(laplace, responses, mu)
    if known is None:
        return min(plain, _pld_epsilon(events, left))
    return min(plain, smallest(lambda epsilon: known(epsilon) <= left, start=plain if responses else 1.0))


def delta_of(events: tuple[Event, ...]) -> Callable[[float], float]:
    """δ(ε) of the composition of ``events``, never below the true one.

    >>> round(delta_of((Gaussian(3.185703),))(1.0) * 1e4, 4)
    1.0
    """
    relation_of(events)
    failing, mu = _failing(events), _signal(events)
    laplace, responses = _of(Laplace, events), _of(RandomizedResponse, events)
    if _of(SampledGaussian, events):
        known = None
    elif laplace or responses:
        known = _known_delta(laplace, responses, mu)
    else:
        known = partial(gaussian_delta, mu=mu)
    if known is None:
        whole, error = _composed(events)
        return lambda epsilon: min(1.0, failing + float(whole.get_delta_for_epsilon(epsilon)) + error)
    return lambda epsilon: min(1.0, failing + known(epsilon))


def _known_delta(
    laplace: Sequence[Laplace], responses: Sequence[RandomizedResponse], mu: float
) -> Callable[[float], float] | None:
    """δ(ε) where it is known but for an integral: randomised responses alone, or one Laplace draw with Gaussians."""
    if len(responses) == 1 and not laplace and mu == 0:
        return partial(response_delta, event=responses[0])
    if not responses and len(laplace) == laplace[0].count == 1:
        one = laplace[0].scale
        if mu == 0 or 2 / (one * mu) <= _MAX_PANELS:
            return partial(laplace_delta, scale=one, mu=mu)
    return None


def _gaussian_epsilon(mu: float, delta: float) -> float:
    """Smallest ε of Gaussian noise at signal-to-noise ratio ``mu``."""
    return smallest(lambda epsilon: gaussian_delta(epsilon, mu) <= delta) if mu else 0.0


def _failing(events: Sequence[Event]) -> float:
    """The probability that some failure happens, at most."""
    return sum(e.probability for e in _of(Failure, events))


def _signal(events: Sequence[Event]) -> float:
    """μ of all Gaussians together."""
    return sqrt(sum(e.count / e.sigma / e.sigma for e in _of(Gaussian, events)))


def _pure(events: Sequence[Event]) -> float:
    """The plain sum of ε of what has one at δ = 0."""
    laplace = sum(e.count / e.scale for e in _of(Laplace, events))
    return laplace + sum(e.count * e.epsilon for e in _of(RandomizedResponse, events))


def _of(kind: type[E], events: Sequence[Event]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


# dp_accounting rounds losses up and counts what it truncates as lost, but it composes by Fourier transforms in double
# precision, whose errors are errors of δ and have either sign. The n-th power of a transform that is off by
# η ≈ 2⁻⁵³·log₂(length) is off by n·η, and its inverse by that times √(length / deviation in steps) ≈ 6 in sum: about
# 2⁻⁴⁶ for each draw. Up to 2⁻⁵⁴ was measured.
_PLD_ERROR = 2.0**-46


def _pld_epsilon(events: Sequence[Event], delta: float) -> float:
    """ε by privacy loss distributions, with their numerical error taken off δ."""
    delta -= _pld_error(events)
    return float(_composed(events)[0].get_epsilon_for_delta(delta)) if delta > 0 else inf


def _pld_error(events: Sequence[Event]) -> float:
    draws = sum(1 if isinstance(e, Gaussian | Failure) else e.count for e in events)
    return _PLD_ERROR * (draws + len(events))


def _composed(events: Sequence[Event]) -> tuple[Any, float]:
    """Privacy loss distributions (dp_accounting) composed, failures left out; and the numerical error of their δ."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    parts = []
    for event in events:
        match event:
            case Gaussian(sigma, count):
                part = pld.from_gaussian_mechanism(sigma / sqrt(count))
            case SampledGaussian(sigma, rate, count):
                part = pld.from_gaussian_mechanism(sigma, sampling_prob=rate).self_compose(count)
            case Laplace(scale, count):
                part = pld.from_laplace_mechanism(scale).self_compose(count)
            case RandomizedResponse(lie, values, count):  # an answer drawn from all values with chance values · lie
                part = pld.from_randomized_response(values * lie, values).self_compose(count)
            case Failure():
                continue
        parts.append(part)
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    return total, _pld_error(events)


def zcdp_of(events: Sequence[Event]) -> tuple[float, float]:
    """(ρ, τ): the events are ρ-zCDP except with probability τ. Used where releases are chosen one after another.

    Gaussian: ρ = 1/(2σ²); pure ε: ρ = ε²/2 (Bun & Steinke 2016, propositions 1.6 and 1.4).
    """
    relation_of(events)
    rho = tau = 0.0
    for event in events:
        match event:
            case Gaussian(sigma, count):
                rho += count / sigma / sigma / 2
            case Laplace(scale, count):
                rho += count / scale / scale / 2
            case RandomizedResponse(count=count):
                rho += count * event.epsilon**2 / 2
            case Failure(probability):
                tau += probability
            case SampledGaussian():
                raise PrivacyError(
                    "sampled Gaussian noise has no zCDP price. Use a full batch (sampling_rate=1), or a ledger made "
                    "with --composition sum."
                )
    return rho, tau


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Smallest δ that the Rényi conversion proves for ρ-zCDP at ε (Canonne, Kamath & Steinke 2020, corollary 13).

    δ = inf over α > 1 of exp((α − 1)(αρ − ε)) / (α − 1) · (1 − 1/α)^α; every α is valid, so a search is safe.
    """
    if rho == 0:
        return 0.0

    def log_delta(log_excess: float) -> float:
        excess = exp(log_excess)  # α − 1
        alpha = 1 + excess
        return excess * (alpha * rho - epsilon) - log_excess + alpha * log(excess / alpha)

    from scipy.optimize import minimize_scalar

    best = minimize_scalar(log_delta, bounds=(log(1e-6), log(1e9)), method="bounded", options={"xatol": 1e-10})
    return exp(min(0.0, float(best.fun)))


def largest_rho(epsilon: float, delta: float) -> float:
    """Largest ρ such that ρ-zCDP implies (ε, δ): a search over 1/ρ that ends on the safe side."""
    inverse = smallest(lambda inverse: zcdp_delta(1 / inverse, epsilon) <= delta)
    if inverse == inf:
        raise InputError(f"epsilon = {epsilon} is too small for zcdp at this delta. Use composition 'sum'.")
    return 1 / inverse
