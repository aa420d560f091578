"""ε once more, from the stored events, by another route than the one that priced them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

from dptopics.errors import BundleError
from dptopics.privacy import events as ev
from dptopics.privacy.card import show
from dptopics.privacy.guarantee import Guarantee, Strength

_STEP = 1e-4  # of the grid that losses are rounded down to
_NOTHING = 1e-15  # of δ: rounding
_SLACK = 1e-3  # of ε, for rounding; no lower bound lies above its price in any registered mechanism (a test)


@dataclass(frozen=True)
class SecondPrice:
    """Between which figures ε lies by privacy loss distributions and by Rényi orders, and what was stated."""

    stated: float
    at_least: float
    at_most: float
    delta: float

    @property
    def agrees(self) -> bool:
        """A stated figure that is too low is a broken promise; one that is too high is only modest."""
        return self.stated >= self.at_least * (1 - _SLACK)

    def __str__(self) -> str:
        return (
            f"stated ε = {show(self.stated)} at δ = {show(self.delta)}; computed again: at least "
            f"{self.at_least:.4g} (privacy loss distributions), at most {self.at_most:.4g} (Rényi)"
        )


def second_price(guarantee: Guarantee, stated: float | None) -> SecondPrice | None:
    """The stated ε beside two others; None where nothing is promised, so nothing was priced."""
    if guarantee.strength is Strength.NONE:
        return None
    if stated is None:
        raise BundleError("the guarantee states no ε, and no strength that would explain it. Get the release again.")
    left = guarantee.delta - sum(e.probability for e in guarantee.events if isinstance(e, ev.Failure))
    noise = [e for e in guarantee.events if not isinstance(e, ev.Failure)]
    if not noise:
        return SecondPrice(stated, 0.0, 0.0, guarantee.delta)
    if left < _NOTHING:  # all of δ pays for failures, so the noise must do without: only a plain sum of ε does
        pure = inf if left < -_NOTHING else _plain_sum(noise)
        return SecondPrice(stated, pure, pure, guarantee.delta)
    return SecondPrice(stated, _by_losses(noise, left), _by_renyi(noise, left), guarantee.delta)


def _by_losses(noise: Sequence[ev.Event], delta: float) -> float:
    """A lower bound on ε: the losses of dp_accounting rounded down, so that only too low a price falls below it."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    total: Any = None
    rounded = {"value_discretization_interval": _STEP, "pessimistic_estimate": False}
    options = rounded | {"use_connect_dots": False}  # dots are for the other direction
    for event in noise:
        match event:
            case ev.Gaussian(sigma, count):
                part = pld.from_gaussian_mechanism(sigma / sqrt(count), **options)
            case ev.SampledGaussian(sigma, rate, count):
                part = pld.from_gaussian_mechanism(sigma, sampling_prob=rate, **options).self_compose(count)
            case ev.Laplace(scale, count):
                part = pld.from_laplace_mechanism(scale, **options).self_compose(count)
            case ev.RandomizedResponse(lie, values, count):
                part = pld.from_randomized_response(values * lie, values, **rounded).self_compose(count)
            case ev.Failure():
                continue
        total = part if total is None else total.compose(part)
    return float(total.get_epsilon_for_delta(delta))


def _by_renyi(noise: Sequence[ev.Event], delta: float) -> float:
    """An upper bound on ε by Rényi divergences; randomised responses, which they do not price here, are added."""
    from dp_accounting import dp_event as d
    from dp_accounting.rdp import RdpAccountant

    accountant, added = RdpAccountant(), 0.0
    for event in noise:
        match event:
            case ev.Gaussian(sigma, count):
                accountant.compose(d.GaussianDpEvent(sigma), count)
            case ev.SampledGaussian(sigma, rate, count):
                accountant.compose(d.PoissonSampledDpEvent(rate, d.GaussianDpEvent(sigma)), count)
            case ev.Laplace(scale, count):
                accountant.compose(d.LaplaceDpEvent(scale), count)
            case ev.RandomizedResponse(count=count):
                added += count * event.epsilon
            case ev.Failure():
                continue
    return added + float(accountant.get_epsilon(delta))


def _plain_sum(noise: Sequence[ev.Event]) -> float:
    """ε at δ = 0."""
    total = 0.0
    for event in noise:
        match event:
            case ev.Laplace(scale, count):
                total += count / scale
            case ev.RandomizedResponse(count=count):
                total += count * event.epsilon
            case _:
                return inf
    return total
