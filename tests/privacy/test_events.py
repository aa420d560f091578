"""Events: what cannot be is refused, what is unknown is not free, what is stored comes back."""

import json
from dataclasses import dataclass, replace
from math import inf, log, nan

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dptopics.core.errors import InputError, PrivacyError
from dptopics.privacy.events import Failure, Gaussian, Laplace, RandomizedResponse, SampledGaussian, from_dict, to_dict
from dptopics.privacy.pricing import _pld_epsilon, epsilon_of, laplace_delta, response_delta, smallest, zcdp_of

POSITIVE = st.floats(1e-3, 1e6)
COUNT = st.integers(1, 10**6)
EVENT = st.one_of(
    st.builds(Gaussian, POSITIVE, COUNT),
    st.builds(SampledGaussian, POSITIVE, st.floats(1e-6, 1.0), COUNT),
    st.builds(Laplace, POSITIVE, COUNT),
    st.builds(RandomizedResponse, st.floats(1e-9, 0.1), st.integers(2, 10), COUNT),
    st.builds(Failure, st.floats(0, 0.999)),
)


@dataclass(frozen=True)
class Exponential:
    """An event that this version cannot price."""

    scale: float
    count: int = 1


@pytest.mark.parametrize("bad", [0.0, -1.0, nan, -inf])
@pytest.mark.parametrize("kind", [Gaussian, Laplace, lambda scale: SampledGaussian(scale, 0.5)])
def test_scale_must_be_positive(kind, bad):
    with pytest.raises(PrivacyError, match="impossible privacy event"):
        kind(bad)


@pytest.mark.parametrize("bad", [0, -3, nan])
@pytest.mark.parametrize(
    "kind",
    [
        lambda n: Gaussian(1.0, n),
        lambda n: Laplace(1.0, n),
        lambda n: SampledGaussian(1.0, 0.5, n),
    ],
)
def test_count_must_be_at_least_one(kind, bad):
    with pytest.raises(PrivacyError, match="impossible privacy event"):
        kind(bad)


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.1, nan, inf])
def test_rate_must_be_a_probability(bad):
    with pytest.raises(PrivacyError, match="impossible privacy event"):
        SampledGaussian(1.0, bad)


@pytest.mark.parametrize("bad", [-1e-9, 1.0, 2.0, nan, inf])
def test_failure_must_be_a_probability(bad):
    with pytest.raises(PrivacyError, match="impossible privacy event"):
        Failure(bad)


@pytest.mark.parametrize("bad", [-1e-9, 1.0, nan, inf])
def test_price_needs_a_delta(bad):
    with pytest.raises(InputError, match="delta must lie"):
        epsilon_of((Gaussian(1.0),), bad)


def test_unknown_event_is_not_free():
    for events in (
        (Exponential(1.0),),
        (Gaussian(1.0), Exponential(1.0)),
        (SampledGaussian(1.0, 0.1), Exponential(1.0)),
    ):
        with pytest.raises(PrivacyError, match="unknown privacy event Exponential"):
            epsilon_of(events, 1e-5)
        with pytest.raises(PrivacyError, match="unknown privacy event Exponential"):
            zcdp_of(events)
    with pytest.raises(PrivacyError, match="unknown privacy event 'Exponential'"):
        from_dict({"kind": "Exponential", "scale": 1.0})
    with pytest.raises(PrivacyError, match="unknown privacy event None"):
        from_dict({"sigma": 1.0})


def test_sampled_noise_has_no_zcdp_price():
    with pytest.raises(PrivacyError, match="no zCDP price"):
        zcdp_of((SampledGaussian(1.0, 0.5),))


def test_nothing_is_free():
    assert epsilon_of((), 0.0) == 0
    assert epsilon_of((), 1e-6) == 0
    assert epsilon_of((Failure(0.0),), 0.0) == 0


def test_no_delta_no_gaussian():
    assert epsilon_of((Gaussian(100.0),), 0.0) == inf
    assert epsilon_of((SampledGaussian(100.0, 0.1),), 0.0) == inf
    assert epsilon_of((Gaussian(100.0), Laplace(1.0)), 0.0) == inf
    assert epsilon_of((Laplace(2.0, 3),), 0.0) == pytest.approx(1.5)


def test_failure_takes_all_of_delta():
    assert epsilon_of((Gaussian(1.0), Failure(1e-5)), 1e-5) == inf
    assert epsilon_of((Gaussian(1.0), Failure(2e-5)), 1e-5) == inf
    assert epsilon_of((Laplace(1.0), Failure(1e-5)), 1e-5) == pytest.approx(1.0)
    assert epsilon_of((Gaussian(1.0), Failure(4e-6)), 1e-5) == pytest.approx(epsilon_of((Gaussian(1.0),), 6e-6))


@pytest.mark.parametrize("sigma", [1e-300, 1e-160, 1e160, 1e300, inf])
def test_extreme_noise_has_the_price_at_the_end(sigma):
    assert epsilon_of((Gaussian(sigma),), 1e-6) == (inf if sigma < 1 else 0)
    assert zcdp_of((Gaussian(sigma), Laplace(sigma))) == pytest.approx((inf if sigma < 1 else 0, 0), abs=1e-300)


@given(st.lists(EVENT, max_size=4))
def test_events_survive_json(events):
    assert [from_dict(json.loads(json.dumps(to_dict(event)))) for event in events] == events


@given(st.floats(0.5, 50), st.integers(1, 50), st.floats(1e-9, 0.1))
def test_more_noise_or_more_delta_costs_less(sigma, count, delta):
    price = epsilon_of((Gaussian(sigma, count),), delta)
    assert epsilon_of((Gaussian(2 * sigma, count),), delta) < price or price == 0
    assert epsilon_of((Gaussian(sigma, count + 1),), delta) >= price
    assert epsilon_of((Gaussian(sigma, count),), 2 * delta) < price or price == 0


def test_smallest_stays_on_the_true_side():
    for edge in (1e-7, 0.3, 1.0, 12345.678):
        found = smallest(lambda x, edge=edge: x >= edge)
        assert edge <= found <= edge * (1 + 1e-11)
    assert smallest(lambda x: False) == inf
    assert smallest(lambda x: True) == 0


# --- one Laplace draw with Gaussians ---


@pytest.mark.parametrize("scale, mu", [(1.0, 0.2), (2.5, 0.3), (10.0, 0.1), (0.5, 1.0)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_laplace_with_gaussians_agrees_with_the_privacy_loss_distribution(scale, mu, delta):
    from dptopics.privacy.pricing import _pld_epsilon

    events = (Laplace(scale), Gaussian(2 / mu, count=4), Failure(1e-12))
    ours, numerical = epsilon_of(events, delta + 1e-12), _pld_epsilon(events, delta)
    assert numerical - 3e-5 <= ours <= numerical + 1e-9  # the numerical one is rounded up, and its error taken off


@pytest.mark.parametrize("scale, mu, epsilon", [(1.0, 0.2, 1.5), (0.3, 0.05, 3.3), (0.2, 3.0, 9.0), (50.0, 0.5, 0.01)])
def test_laplace_with_gaussians_to_many_digits(scale, mu, epsilon):
    import mpmath as mp

    b, m, e = mp.mpf(scale), mp.mpf(mu), mp.mpf(epsilon)

    def gaussian(x):
        return mp.ncdf(m / 2 - x / m) - mp.exp(x) * mp.ncdf(-m / 2 - x / m)

    between = mp.quad(lambda x: mp.exp(-x / b) / (2 * b) * gaussian(e - (1 - 2 * x) / b), mp.linspace(0, 1, 60))
    exact = gaussian(e - 1 / b) / 2 + mp.exp(-1 / b) / 2 * gaussian(e + 1 / b) + between
    assert exact <= laplace_delta(epsilon, scale, mu) <= exact * (1 + 2e-9)  # rounded up, and by no more than that


def test_little_gaussian_noise_next_to_laplace_costs_little():
    alone = epsilon_of((Laplace(2.0),), 1e-6)
    assert alone == pytest.approx(0.5, abs=1e-5)
    assert alone <= epsilon_of((Laplace(2.0), Gaussian(1e4)), 1e-6) <= alone + 1e-3  # too narrow a loss: by composition
    assert alone <= epsilon_of((Laplace(2.0), Gaussian(150.0)), 1e-6) <= alone + 0.05


# --- randomised responses ---


@pytest.mark.parametrize("lie", [0.0, -0.1, 0.51, nan, inf])
def test_a_lie_is_at_most_as_likely_as_the_truth(lie):
    with pytest.raises(PrivacyError, match="impossible privacy event"):
        RandomizedResponse(lie)


def test_price_of_responses_at_no_delta():
    assert epsilon_of((RandomizedResponse(0.25, count=7),), 0.0) == pytest.approx(7 * log(3))
    assert epsilon_of((RandomizedResponse(0.5, count=7),), 1e-6) == 0  # coins
    assert epsilon_of((RandomizedResponse(0.1, values=5),), 0.0) == pytest.approx(log(6))
    assert epsilon_of((RandomizedResponse(0.25), Laplace(2.0)), 0.0) == pytest.approx(log(3) + 0.5)
    assert epsilon_of((RandomizedResponse(0.25), Failure(1e-3)), 1e-6) == inf


@pytest.mark.parametrize("values", [2, 5])
@pytest.mark.parametrize("count", [1, 2, 7, 50])
def test_responses_agree_with_the_privacy_loss_distribution(count, values):
    from dp_accounting.pld import privacy_loss_distribution as pld

    event = RandomizedResponse(0.12, values, count)
    one = pld.from_randomized_response(values * 0.12, values, value_discretization_interval=1e-4)
    total = one
    for _ in range(count - 1):  # a loop of n, not n at once
        total = total.compose(one)
    for delta in (1e-2, 1e-6):
        ours = epsilon_of((event,), delta)
        assert ours == pytest.approx(total.get_epsilon_for_delta(delta), rel=0.02, abs=1e-3)
        assert response_delta(ours, event) <= delta


def test_responses_with_other_noise_cost_no_more_than_the_sum():
    both = epsilon_of((RandomizedResponse(0.25, count=3), Gaussian(2.0)), 1e-5)
    assert epsilon_of((RandomizedResponse(0.25, count=3),), 1e-5) < both
    assert both <= 3 * log(3) + epsilon_of((Gaussian(2.0),), 1e-5)
    assert zcdp_of((RandomizedResponse(0.25, count=2),)) == pytest.approx((log(3) ** 2, 0))


# --- tiny δ ---

# Poisson samples that hold nearly everybody, and an amount of noise: what is promised can be checked to many digits.
RATE = 1 - 1e-9
TINY = [
    (745, 4.361, 1.762e-12),
    (4_793, 4.763, 1.319e-11),
    (6_618, 1.240, 5.346e-13),
    (24_099, 0.512, 4.148e-13),
    (110_096, 0.169, 4.581e-14),
]


def least_delta(epsilon, mu, count):
    """A lower bound on δ(ε): with probability RATE**count the unit is in every sample. To 40 digits."""
    mp = mpmath.MPContext()
    mp.dps = 40
    full = mp.mpf(RATE) ** count
    far = epsilon - mp.log(full)
    return full * (mp.ncdf(mp.mpf(mu) / 2 - far / mu) - mp.exp(far) * mp.ncdf(-mp.mpf(mu) / 2 - far / mu))


@pytest.mark.parametrize(("count", "mu", "delta"), TINY)
def test_prices_at_tiny_deltas_are_not_optimistic(count, mu, delta):
    """Fourier transforms in double precision are wrong by more than such a δ: once by 48 times the last one."""
    events = (SampledGaussian(count**0.5 / mu, RATE, count),)
    for price in (epsilon_of, _pld_epsilon):
        epsilon = price(events, delta)
        assert epsilon == inf or least_delta(epsilon, mu, count) <= delta
    assert epsilon_of(events, delta) < inf


@pytest.mark.parametrize("delta", [1e-13, 1e-11, 1e-9])
def test_composed_responses_at_tiny_deltas_are_not_optimistic(delta):
    event = RandomizedResponse(0.4, count=2000)
    epsilon = _pld_epsilon((event,), delta)
    assert epsilon == inf or response_delta(epsilon, event) <= delta


def test_below_its_error_the_numerical_price_is_not_used():
    event = SampledGaussian(100.0, 0.01, 10_000)
    assert _pld_epsilon((event,), 1e-10) == inf
    assert epsilon_of((event,), 1e-10) == epsilon_of((Gaussian(100.0, 10_000),), 1e-10) < inf
    assert epsilon_of((event,), 1e-9) < 0.1 * epsilon_of((Gaussian(100.0, 10_000),), 1e-9)
    assert epsilon_of((replace(event, rate=1.0),), 1e-9) <= epsilon_of((Gaussian(100.0, 10_000),), 1e-9)
