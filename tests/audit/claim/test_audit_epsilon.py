"""Lower bounds on ε: golden values, and how often they accuse a mechanism that keeps its promise."""

from math import exp

import numpy as np
import pytest
from scipy.stats import beta as beta_law

from dptopics.audit.claim import curves as subject


def test_limits_are_clopper_pearson():
    hits = np.array([0, 1, 17, 49, 50])
    low, high = subject.share_at_least(hits, 50, 0.01), subject.share_at_most(hits, 50, 0.01)
    assert low[0] == 0
    assert high[-1] == 1
    np.testing.assert_allclose(low[1:], beta_law.ppf(0.01, hits[1:], 51 - hits[1:]), rtol=1e-9)
    np.testing.assert_allclose(high[:-1], beta_law.isf(0.01, hits[:-1] + 1, 50 - hits[:-1]), rtol=1e-9)


@pytest.mark.parametrize("error", [0.05, 0.001])
@pytest.mark.parametrize("runs", [50, 400, 5000])
def test_honest_randomised_response_is_rarely_accused(error, runs):
    # ε = 1, told apart as well as the claim allows. 200,000 audits at once: the test is fixed, so only counts matter.
    rng = np.random.default_rng(3)
    low = subject.share_at_least(rng.binomial(runs, exp(1) / (1 + exp(1)), 200_000), runs, error / 2)
    high = subject.share_at_most(rng.binomial(runs, 1 / (1 + exp(1)), 200_000), runs, error / 2)
    found = np.maximum(np.log(np.maximum(low, 1e-300) / high), np.log(np.maximum(1 - high, 1e-300) / (1 - low)))
    assert np.mean(found > 1) <= error
