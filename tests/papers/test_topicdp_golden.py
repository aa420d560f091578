"""Numbers of TopicDP (Wang et al. 2022) and MVG (Chanyaswad et al. 2018), computed from the formulas by other code."""

from math import ceil, exp, log, sqrt

import pytest
from scipy.optimize import brentq

from dptopics.core.errors import InputError
from dptopics.mechanisms.topics.output_matrix import Calibration, multiplier, renyi_epsilon
from dptopics.mechanisms.topics.output_sensitivity import SampleSize, n_pairs, sampler_risk
from dptopics.privacy.events import Gaussian
from dptopics.privacy.pricing import epsilon_of
from dptopics.published.topicdp import mvg_noise_std, mvg_precision

DELTA = 1e-4
# γ: ρ, h of algorithm 1, and the sizes of the two other samples
SAMPLES = {
    0.02: (0.0014165, 9498, 350, 49),
    0.05: (0.0041829, 1305, 117, 19),
    0.1: (0.0097446, 285, 49, 9),
    0.15: (0.0162308, 116, 29, 6),
    0.2: (0.0235330, 61, 20, 4),
}


@pytest.mark.parametrize("gamma, golden", SAMPLES.items())
def test_sample_sizes(gamma, golden):
    rho, *sizes = golden
    assert sampler_risk(gamma) == pytest.approx(rho, abs=6e-8)
    assert [n_pairs(gamma, kind) for kind in SampleSize] == sizes


@pytest.mark.parametrize("gamma", SAMPLES)
def test_the_order_statistic_is_the_largest(gamma):
    # k = h(1 − γ + ρ + √(ln(1/ρ)/(2h))), which the paper leaves unrounded, is within one of h.
    rho, h = sampler_risk(gamma), n_pairs(gamma, "dkw")
    assert ceil(h * (1 - gamma + rho + sqrt(log(1 / rho) / (2 * h))) - 1e-9) == h


@pytest.mark.parametrize("gamma", [1e-3, 0.3, 0.5, 0.9, 0.999])
def test_sample_sizes_mean_what_they_say(gamma):
    rho = sampler_risk(gamma)
    assert 0 < rho < gamma
    h = n_pairs(gamma, "binomial")
    assert (1 - (gamma - rho)) ** h <= rho
    h = n_pairs(gamma, "exchangeable")
    assert 1 / (h + 1) <= gamma
    assert h == 1 or 1 / h > gamma


@pytest.mark.parametrize("gamma", [0, 1, -0.1, 1.5, float("nan")])
def test_gamma_must_be_a_chance(gamma):
    with pytest.raises(InputError, match="gamma must lie strictly between 0 and 1"):
        n_pairs(gamma)


# ε: ε_R and σ/Δ as published (α = 2), σ/Δ at the best order, σ/Δ analytic (Balle & Wang 2018)
NOISE = {
    1: (3.43606e-4, 53.9473, 3.50790, 3.185703),
    3: (3.80985e-3, 16.2012, 1.32868, 1.223157),
    5: (2.90564e-2, 5.86650, 0.858528, 0.795940),
    10: (2.17595, 0.677915, 0.485970, 0.455265),
}


@pytest.mark.parametrize("epsilon, golden", NOISE.items())
def test_noise(epsilon, golden):
    order_two, published, best, analytic = golden
    assert renyi_epsilon(epsilon, DELTA, 2.0) == pytest.approx(order_two, rel=5e-6)
    assert multiplier(epsilon, DELTA, "renyi") == pytest.approx(published, rel=5e-6)
    assert multiplier(epsilon, DELTA, "renyi-best") == pytest.approx(best, rel=5e-6)
    assert multiplier(epsilon, DELTA) == pytest.approx(analytic, rel=5e-6)


@pytest.mark.parametrize("kind", Calibration)
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0])
def test_every_calibration_keeps_its_promise(kind, epsilon):
    # The price is that of the noise: what Rényi bounds ask for beyond need shows as a lower ε.
    assert epsilon_of((Gaussian(multiplier(epsilon, DELTA, kind)),), DELTA) <= epsilon


def test_ten_times_less_noise_than_published():
    assert multiplier(3.0, DELTA, "renyi") / multiplier(3.0, DELTA) > 13


def test_theorem_3_is_false():
    # Its proof takes √(α/2)·Δ/ε for the deviation of (α, ε)-Rényi DP. By theorem 2 that is Δ√(α/(2ε)); with it, the
    # Rényi way needs more noise than going directly to ε + ln(1/δ)/(α − 1), although α is below the theorem's bound.
    alpha, epsilon = 2.0, 3.0
    xi = 2 * sqrt(log(1.25 / DELTA)) * epsilon - epsilon
    bound = ((xi - sqrt(xi**2 - 4 * epsilon * log(1 / DELTA))) / (2 * epsilon) + 1) ** 2
    total = epsilon + log(1 / DELTA) / (alpha - 1)
    renyi, theirs = sqrt(alpha / (2 * epsilon)), sqrt(alpha / 2) / epsilon
    classical, exact = sqrt(2 * log(1.25 / DELTA)) / total, multiplier(total, DELTA)
    assert alpha < bound == pytest.approx(2.854, abs=1e-3)
    assert alpha / (2 * renyi**2) == pytest.approx(epsilon)  # theorem 2: the divergence
    assert alpha / (2 * theirs**2) == pytest.approx(epsilon**2)
    assert renyi == pytest.approx(0.577, abs=1e-3)
    assert (classical, exact) == pytest.approx((0.356, 0.390), abs=1e-3)


def test_unknown_calibration():
    with pytest.raises(InputError, match="calibration must be 'analytic'"):
        multiplier(1.0, DELTA, "guess")


def test_mvg():
    settings = {"epsilon": 3.0, "delta": DELTA, "sensitivity": 1.0, "largest_norm": sqrt(10)}
    assert mvg_precision(10, 10, **settings) == pytest.approx(3.26956e-6, rel=5e-6)
    assert mvg_noise_std(10, 10, **settings) == pytest.approx(1748.86, rel=3e-6)


def test_mvg_bound_is_the_root_of_its_quadratic():
    # α x² + β x = 2ε at x = √B (the proof of theorem 2), solved by other means.
    m, n, epsilon, s, norm = 4, 7, 2.0, 0.3, 2.0
    order = range(1, 5)
    h, half = sum(1 / i for i in order), sum(i**-0.5 for i in order)
    alpha = (h + half) * norm**2 + 2 * h * norm * s
    zeta = 2 * sqrt(-m * n * log(DELTA)) - 2 * log(DELTA) + m * n
    beta = 2 * (m * n) ** 0.25 * zeta * h * s
    root = brentq(lambda x: alpha * x * x + beta * x - 2 * epsilon, 0, 10, xtol=1e-16)
    found = mvg_precision(m, n, epsilon=epsilon, delta=DELTA, sensitivity=s, largest_norm=norm)
    assert found == pytest.approx(root**2, rel=1e-9)


@pytest.mark.parametrize("norm, least, above", [(sqrt(10), 11.51, True), (0.2, 0.728, False)])
def test_the_least_noise_of_mvg(norm, least, above):
    # 10 × 10, ε = 3, however small Δ is: with γ_f = √m above Laplace noise of scale 2m/ε, but below it where each entry
    # has ε/(m·n); with the norm of a matrix of small probabilities, far below.
    found = mvg_noise_std(10, 10, epsilon=3.0, delta=DELTA, sensitivity=1e-9, largest_norm=norm)
    assert found == pytest.approx(least, rel=1e-3)
    assert (found > sqrt(2) * 2 * 10 / 3) is above
    assert found < sqrt(2) * 2 * 10 / (3 / 100)


@pytest.mark.parametrize("norm", [0.01, 0.2, sqrt(10)])
def test_mvg_falls_no_faster_than_the_sensitivity(norm):
    far = [10.0**e for e in range(-6, 2)]
    found = [mvg_noise_std(10, 10, epsilon=3.0, delta=DELTA, sensitivity=s, largest_norm=norm) / s for s in far]
    assert found == sorted(found, reverse=True)


def test_figure_2_rises():
    points = [renyi_epsilon(e / 2, DELTA, 2.0) for e in range(2, 21)]
    assert points == sorted(points)
    assert points[0] < exp(-7)
