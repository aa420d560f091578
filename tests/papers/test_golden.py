"""Prices and thresholds against numbers from the literature and evaluations that share no code with ours."""

from math import exp, inf, log, sqrt

import mpmath
import pytest
from scipy import integrate, optimize
from scipy.stats import norm

from dptopics.mechanisms.vocabulary.threshold import WeightedVocabulary
from dptopics.privacy import pricing
from dptopics.privacy.events import Failure, Gaussian, Laplace, SampledGaussian
from dptopics.privacy.pricing import epsilon_of, gaussian_delta, smallest, zcdp_delta, zcdp_of

mp = mpmath.MPContext()  # the global context belongs to everybody
mp.prec = 200


def normal_cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def exact_delta(epsilon, mu):
    """δ of the Gaussian mechanism (Balle & Wang 2018, theorem 8) to fifty digits."""
    epsilon, mu = mp.mpf(epsilon), mp.mpf(mu)
    return normal_cdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)


# --- the Gaussian mechanism ---

# σ for sensitivity 1 at δ = 1e-4, analytic calibration (Balle & Wang 2018, algorithm 1).
CALIBRATED = {1: 3.185703, 2: 1.734351, 3: 1.223157, 5: 0.795940, 10: 0.455265}


@pytest.mark.parametrize("epsilon, sigma", CALIBRATED.items())
def test_analytic_calibration(epsilon, sigma):
    ours = smallest(lambda sigma: epsilon_of((Gaussian(sigma),), 1e-4) <= epsilon)
    assert ours == pytest.approx(sigma, abs=6e-7)
    assert epsilon_of((Gaussian(ours),), 1e-4) <= epsilon


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.5, 1.0, 4.0, 20.0, 300.0])
@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 5.0, 25.0])
def test_gaussian_delta(epsilon, mu):
    exact = exact_delta(epsilon, mu)
    # A difference of two probabilities: its rounding error is that of the larger one, and it is rounded up.
    assert -mp.mpf(1e-300) <= gaussian_delta(epsilon, mu) - min(exact, 1)
    assert gaussian_delta(epsilon, mu) - exact <= 2e-12 * normal_cdf(mu / 2 - epsilon / mu) + mp.mpf(1e-300)


def test_gaussian_delta_at_the_ends():
    assert gaussian_delta(1.0, 0.0) == 0.0
    assert gaussian_delta(1.0, inf) == 1.0
    assert gaussian_delta(1e6, 1e-3) == 0.0
    assert gaussian_delta(0.0, 1.0) == pytest.approx(2 * norm.cdf(0.5) - 1)  # total variation


@pytest.mark.parametrize("sigma, delta", [(0.5, 1e-5), (1.0, 1e-6), (3.0, 1e-4), (10.0, 1e-8)])
def test_privacy_loss_distribution_agrees_with_the_analytic_price(sigma, delta):
    assert pricing._pld_epsilon((Gaussian(sigma),), delta) == pytest.approx(
        epsilon_of((Gaussian(sigma),), delta), abs=2e-3
    )
    # ... and never falls below it: the discretisation is pessimistic.
    assert pricing._pld_epsilon((Gaussian(sigma),), delta) >= epsilon_of((Gaussian(sigma),), delta) - 1e-9


@pytest.mark.parametrize("count", [1, 2, 15])
@pytest.mark.parametrize("kind, tolerance", [(Gaussian, 1e-9), (SampledGaussian, 1e-3), (Laplace, 1e-3)])
def test_count_is_a_loop(kind, tolerance, count):
    extra = {"rate": 0.2} if kind is SampledGaussian else {}
    once, together = kind(5.0, **extra), kind(5.0, **extra, count=count)
    assert together.count == count
    for delta in (1e-3, 1e-6):
        loop = epsilon_of((once,) * count, delta)
        assert epsilon_of((together,), delta) == pytest.approx(loop, rel=tolerance, abs=tolerance)
        assert loop > 0.01
    if kind is not SampledGaussian:
        assert zcdp_of((together,)) == pytest.approx(zcdp_of((once,) * count))
    # The other events of a mixture are not multiplied.
    mixture = epsilon_of((together, Laplace(3.0)), 1e-5)
    assert mixture == pytest.approx(epsilon_of((once,) * count + (Laplace(3.0),), 1e-5), rel=1e-3, abs=1e-3)


def test_failures_add_up():
    assert epsilon_of((Failure(1e-7), Failure(2e-7)), 4e-7) == 0
    assert epsilon_of((Failure(1e-7), Failure(2e-7)), 2e-7) == inf


# --- sampling ---


def sampled_delta(epsilon, sigma, rate):
    """δ of one step of Poisson-sampled Gaussian noise, both directions, by integrating the hockey-stick divergence."""

    def mixture(x):
        return (1 - rate) * norm.pdf(x, 0, sigma) + rate * norm.pdf(x, 1, sigma)

    def excess(p, q):
        return integrate.quad(
            lambda x: max(0.0, p(x) - exp(epsilon) * q(x)), -12 * sigma, 12 * sigma, limit=500, points=[0.0, 1.0]
        )[0]

    def base(x):
        return norm.pdf(x, 0, sigma)

    return max(excess(mixture, base), excess(base, mixture))


@pytest.mark.parametrize("sigma, rate, delta", [(1.0, 0.3, 1e-3), (0.7, 0.05, 1e-4), (2.0, 0.9, 1e-3)])
def test_sampled_gaussian(sigma, rate, delta):
    exact = optimize.brentq(lambda epsilon: sampled_delta(epsilon, sigma, rate) - delta, 1e-6, 30)
    ours = epsilon_of((SampledGaussian(sigma, rate),), delta)
    assert exact - 1e-4 <= ours <= exact + 5e-3


def test_sampling_everybody_changes_nothing():
    assert epsilon_of((SampledGaussian(2.0, 1.0, 3),), 1e-5) == pytest.approx(
        epsilon_of((Gaussian(2.0, 3),), 1e-5), abs=2e-3
    )


def test_less_sampling_costs_less():
    prices = [epsilon_of((SampledGaussian(1.5, rate, 10),), 1e-5) for rate in (0.01, 0.1, 0.5, 1.0)]
    assert prices == sorted(prices)
    assert prices[0] < prices[-1] / 5


# --- Laplace and mixtures ---


@pytest.mark.parametrize("scale", [0.5, 1.0, 4.0])
def test_laplace(scale):
    assert epsilon_of((Laplace(scale),), 0.0) == pytest.approx(1 / scale)
    # δ(ε) of one Laplace draw is 1 − exp((ε − 1/scale)/2).
    delta = 0.01
    assert epsilon_of((Laplace(scale),), delta) == pytest.approx(max(0.0, 1 / scale + 2 * log(1 - delta)), abs=1e-3)


def test_mixture_costs_more_than_its_parts_and_no_more_than_their_sum():
    parts = Gaussian(2.0), Laplace(3.0, 2)
    whole = epsilon_of(parts, 1e-5)
    assert max(epsilon_of((part,), 1e-5) for part in parts) < whole
    assert whole <= epsilon_of((parts[0],), 1e-5) + 2 / 3


# --- the vocabulary's threshold (Gopi et al. 2020) ---


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("max_words", [1, 5, 100, 400])
def test_vocabulary_threshold(epsilon, delta, max_words):
    mechanism = WeightedVocabulary.calibrated(epsilon=epsilon, delta=delta, max_words=max_words)
    # σ is analytic for (ε, δ/2) at sensitivity 1.
    assert exact_delta(epsilon, 1 / mp.mpf(mechanism.scale)) == pytest.approx(delta / 2, rel=1e-6)
    # ρ = max over t of 1/√t + σ Φ⁻¹((1 − δ/2)^(1/t)): the smallest number that keeps t words of weight 1/√t hidden.
    rho, sigma, tail = mp.mpf(mechanism.threshold), mp.mpf(mechanism.scale), mp.mpf(delta) / 2
    slipped = [
        1 - (1 - mp.erfc((rho - 1 / mp.sqrt(t)) / (sigma * mp.sqrt(2))) / 2) ** t for t in range(1, max_words + 1)
    ]
    assert max(slipped) <= tail * (1 + mp.mpf(1e-8))
    assert max(slipped) == pytest.approx(tail, rel=1e-8)


# --- zero-concentrated DP (Bun & Steinke 2016; Canonne, Kamath & Steinke 2020) ---


def test_zcdp_of():
    assert zcdp_of(()) == (0, 0)
    assert zcdp_of((Gaussian(2.0, 3), Laplace(4.0, 2), Failure(1e-7), Failure(2e-7))) == pytest.approx(
        (3 / 8 + 2 * 0.25**2 / 2, 3e-7)
    )


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 3.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 12.0])
def test_zcdp_delta(rho, epsilon):
    def bound(alpha):
        return mp.exp((alpha - 1) * (alpha * mp.mpf(rho) - mp.mpf(epsilon))) / (alpha - 1) * (1 - 1 / alpha) ** alpha

    grid = [1 + mp.mpf(10) ** (mp.mpf(step) / 200) for step in range(-1200, 1000)]
    best = min(min(map(bound, grid)), mp.mpf(1))
    ours = zcdp_delta(rho, epsilon)
    assert ours <= best * (1 + mp.mpf(1e-9))
    assert ours >= best * mp.mpf(0.99) - mp.mpf(1e-300)  # the grid is coarse; what underflows is nought
    # Gaussian noise of that ρ needs no more than ρ-zCDP proves.
    assert gaussian_delta(epsilon, sqrt(2 * rho)) <= ours


def test_zcdp_of_nothing():
    assert zcdp_delta(0.0, 1.0) == 0.0


# --- replace-one is not add-or-remove ---


@pytest.mark.parametrize("sigma", [1.0, 2.0, 5.0])
def test_replace_one_is_dearer(sigma):
    # Replacing = removing and adding: for signed vectors that doubles the sensitivity, for non-negative ones √2.
    delta = 1e-5
    once = epsilon_of((Gaussian(sigma),), delta)
    signed, positive = epsilon_of((Gaussian(sigma / 2),), delta), epsilon_of((Gaussian(sigma / sqrt(2)),), delta)
    assert once < positive < signed
    # What group privacy promises from the add-or-remove price alone: (2ε, (1 + e^ε)δ).
    assert epsilon_of((Gaussian(sigma / 2),), (1 + exp(once)) * delta) <= 2 * once
