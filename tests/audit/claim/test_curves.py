"""Claimed trade-off curves: what they allow, what refutes them, how close bounds come, and how often they are wrong."""

import numpy as np
import pytest
from scipy.stats import norm

from audit_curves import curve_bound_from_trials
from dptopics.audit.claim.curves import Curve, claimed_curve, error_limits
from dptopics.privacy.events import Failure, Gaussian, Laplace, SampledGaussian
from dptopics.privacy.pricing import delta_of, epsilon_of, gaussian_delta, smallest

DELTA = 1e-6


def mu_of(epsilon):
    return 1 / smallest(lambda sigma: gaussian_delta(epsilon, 1 / sigma) <= DELTA)


def test_the_gaussian_curve_is_exact():
    curve = claimed_curve((Gaussian(2.0, count=4),))
    assert curve.mu == pytest.approx(1.0)
    for rate in (0.001, 0.1, 0.5, 0.9):
        assert curve(rate) == pytest.approx(norm.cdf(norm.isf(rate) - 1.0))


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_the_laplace_curve_is_below_the_true_one_and_near(scale):
    """Dong, Roth & Su 2022: the best test of Lap(b) against Lap(b) + 1 is a threshold."""
    curve = claimed_curve((Laplace(scale),))
    for threshold in (-1.0, 0.2, 0.5, 0.9, 2.0):
        false_positive = np.exp(-threshold / scale) / 2 if threshold > 0 else 1 - np.exp(threshold / scale) / 2
        away = threshold - 1
        false_negative = np.exp(away / scale) / 2 if away < 0 else 1 - np.exp(-away / scale) / 2
        assert false_negative - 0.01 <= curve(false_positive) <= false_negative + 1e-12


def test_failures_samples_and_sums_of_laplace_noise_have_curves():
    with_failure = claimed_curve((Gaussian(2.0), Failure(0.1)))
    assert with_failure(0.2) < claimed_curve((Gaussian(2.0),))(0.2)
    assert claimed_curve((Gaussian(2.0), Failure(0.1)), failures=False) == Curve((Gaussian(2.0),))
    assert claimed_curve((SampledGaussian(2.0, 0.5, 3),)) == Curve((Gaussian(2.0, 3),))
    several = claimed_curve((Laplace(2.0, count=2), Gaussian(3.0)))
    assert 0 < several(0.1) < claimed_curve((Laplace(2.0),))(0.1)


def test_delta_of_agrees_with_epsilon_of():
    for events in [
        (Gaussian(3.0),),
        (Laplace(2.0), Gaussian(3.0)),
        (Laplace(2.0, count=3),),
        (Gaussian(3.0), Failure(1e-3)),
    ]:
        assert delta_of(events)(epsilon_of(events, 0.01)) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "least"), [(3, 0.45), (8, 0.72)])
def test_bounds_come_close_to_the_truth(epsilon, least):
    """2,000 runs of ideal scores at a confidence of 0.999, mean of 100 repeats."""
    rng, mu = np.random.default_rng(epsilon), mu_of(epsilon)
    found = []
    for _ in range(100):
        coins = rng.random(2000) < 0.5
        scores = rng.normal(0, 1, 2000) + mu * coins
        found.append(curve_bound_from_trials(scores[coins], scores[~coins], delta=DELTA))
    assert least * epsilon <= np.mean(found) <= epsilon
    assert max(found) <= epsilon


def test_direction_is_chosen_and_few_scores_say_nothing():
    rng = np.random.default_rng(0)
    low, high = rng.normal(0, 1, 500), rng.normal(4, 1, 500)
    assert curve_bound_from_trials(low, high, delta=DELTA) > 3
    assert curve_bound_from_trials([1.0], [0.0], delta=DELTA) == 0


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_false_alarms_are_as_rare_as_stated(kind):
    """At most 20 of 10,000 honest runs at an error of 0.001; a mechanism with half the noise is refuted in most."""
    rng = np.random.default_rng(5)
    curve = claimed_curve((Gaussian(1 / mu_of(3)),) if kind == "gaussian" else (Laplace(1 / 3),))
    scale = 1 / mu_of(3) if kind == "gaussian" else 1 / 3
    alarms = [_alarms(rng, kind, curve, factor * scale, runs) for factor, runs in ((1, 10_000), (0.5, 200))]
    assert alarms[0] <= 20
    assert alarms[1] > 150


def _alarms(rng, kind, curve, scale, runs, trials=600):
    draw = rng.normal if kind == "gaussian" else rng.laplace
    noise = draw(0, scale, (runs, 2, trials // 2))
    guesses = noise + np.array([0.0, 1.0])[:, None] > 0.5
    return sum(curve.refuted(*error_limits(one[1], one[0], 1e-3)) for one in guesses)
