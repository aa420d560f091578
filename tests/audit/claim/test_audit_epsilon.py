"""Lower bounds on ε: golden values, and how often they accuse a mechanism that keeps its promise."""

import json
from math import exp, inf, log

import numpy as np
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import binom

from dptopics.audit.claim import curves as subject
from dptopics.audit.claim.curves import EpsilonAudit, lower_bound_from_trials, one_run_lower_bound
from dptopics.core.errors import InputError, PrivacyError
from dptopics.privacy.events import Gaussian, Laplace, Relation
from dptopics.privacy.guarantee import Guarantee, Strength, Unit


def guarantee(**changes):
    settings = {"events": (Laplace(1.0),), "delta": 1e-5, "unit": Unit.AUTHOR, "strength": Strength.PROVED}
    return Guarantee(**{**settings, **changes})


def audit(bound, **changes):
    measured = {"lower_bound": bound, "confidence": 0.999, "trials": 400, "method": "trials"}
    return EpsilonAudit.of("weighted", guarantee(), relation=Relation.ADD_OR_REMOVE, **{**measured, **changes})


# --- one run ---


@pytest.mark.parametrize("delta, expected", [(0.0, 2.02123), (1e-5, 2.02065)])
def test_one_run_golden(delta, expected):
    # Steinke, Nasr & Jagielski 2023: their published routine gives the same digits.
    assert one_run_lower_bound(m=1000, r=1000, v=900, delta=delta, beta=0.05) == pytest.approx(expected, abs=5e-6)


def plain_chance(epsilon, m, r, v, delta):
    """The formula, term by term."""
    q = 1 / (1 + exp(-epsilon))
    most = max(sum(binom.pmf(k, r, q) for k in range(v - i, v)) / i for i in range(1, v + 1))
    return binom.sf(v - 1, r, q) + 2 * m * delta * most


@pytest.mark.parametrize("m, r, v, delta", [(50, 40, 36, 0.0), (50, 40, 36, 1e-3), (80, 20, 20, 1e-4)])
def test_one_run_ends_on_the_refuted_side(m, r, v, delta):
    found = one_run_lower_bound(m=m, r=r, v=v, delta=delta, beta=0.05)
    assert found > 0
    assert plain_chance(found, m, r, v, delta) < 0.05 <= plain_chance(found * (1 + 1e-6), m, r, v, delta)


def test_one_run_is_monotone():
    by_right = [one_run_lower_bound(m=200, r=100, v=v, delta=1e-5, beta=0.01) for v in range(0, 101, 4)]
    assert by_right == sorted(by_right)
    assert by_right[0] == 0 < by_right[-1]
    by_delta = [one_run_lower_bound(m=200, r=100, v=95, delta=d, beta=0.01) for d in (0, 1e-6, 1e-4, 1e-3, 1e-2)]
    assert by_delta == sorted(by_delta, reverse=True)
    by_beta = [one_run_lower_bound(m=200, r=100, v=95, delta=0, beta=b) for b in (1e-9, 1e-3, 0.05, 0.3)]
    assert by_beta == sorted(by_beta)


def test_one_run_with_many_canaries():
    # r = v and δ = 0: q^r = β in closed form.
    found = one_run_lower_bound(m=100_000, r=100_000, v=100_000, delta=0.0, beta=0.05)
    q = 0.05 ** (1 / 100_000)
    assert found == pytest.approx(log(q / (1 - q)), rel=1e-6)
    assert found <= log(q / (1 - q))
    close = one_run_lower_bound(m=100_000, r=100_000, v=60_000, delta=1e-7, beta=0.05)
    assert 0.38 < close < log(0.6 / 0.4)
    # 2mδ > 1: still a bound, still below that of a smaller δ.
    assert 0 < one_run_lower_bound(m=100_000, r=100_000, v=60_000, delta=1e-5, beta=0.05) < close


@pytest.mark.parametrize("delta", [0.0, 1e-4, 1e-2, 0.3])
def test_chance_never_falls_as_epsilon_grows(delta):
    chances = [subject._chance(e, 60, 40, 30, delta) for e in np.linspace(0, 5, 200)]
    assert np.all(np.diff(chances) >= -1e-12)
    for e in (0.1, 1.0, 2.0):
        assert subject._chance(e, 60, 40, 30, delta) >= plain_chance(e, 60, 40, 30, delta) * (1 - 1e-12)


@pytest.mark.parametrize("beta", [0.05, 0.001])
def test_one_run_false_alarms_exactly(beta):
    # Randomised response at ε = 1 tells each coin with probability q: the law of the number of right guesses is known.
    q, r = 1 / (1 + exp(-1)), 300
    accusing = [v for v in range(r + 1) if one_run_lower_bound(m=r, r=r, v=v, delta=0.0, beta=beta) > 1]
    assert 0.3 * beta < binom.pmf(accusing, r, q).sum() <= beta


@pytest.mark.parametrize("wrong", [{"v": 101}, {"r": 300}, {"v": -1}, {"delta": 1.0}, {"beta": 0.0}, {"beta": 0.9}])
def test_one_run_refuses_nonsense(wrong):
    with pytest.raises(InputError):
        one_run_lower_bound(**{"m": 200, "r": 100, "v": 90, "delta": 0.0, "beta": 0.05, **wrong})


# --- independent trials ---


def test_limits_are_clopper_pearson():
    hits = np.array([0, 1, 17, 49, 50])
    low, high = subject.share_at_least(hits, 50, 0.01), subject.share_at_most(hits, 50, 0.01)
    assert low[0] == 0
    assert high[-1] == 1
    np.testing.assert_allclose(low[1:], beta_law.ppf(0.01, hits[1:], 51 - hits[1:]), rtol=1e-9)
    np.testing.assert_allclose(high[:-1], beta_law.isf(0.01, hits[:-1] + 1, 50 - hits[:-1]), rtol=1e-9)


def test_perfect_separation_in_closed_form():
    # 100 of 100 and 0 of 100 on the second half: both limits are (β/2)^(1/100) away from certainty.
    low = (0.001 / 2) ** (1 / 100)
    expected = log((low - 1e-5) / (1 - low))
    for sign in (1, -1):
        found = lower_bound_from_trials([sign * 1.0] * 200, [0.0] * 200, delta=1e-5)
        assert found == pytest.approx(expected, rel=1e-9)


def test_trials_are_monotone():
    rng = np.random.default_rng(1)
    inside, outside = rng.normal(3, 1, 2000), rng.normal(0, 1, 2000)
    by_delta = [lower_bound_from_trials(inside, outside, delta=d) for d in (0, 1e-5, 1e-2, 0.2)]
    assert by_delta == sorted(by_delta, reverse=True)
    by_confidence = [lower_bound_from_trials([1.0] * 99, [0.0] * 99, delta=0, confidence=c) for c in (0.999, 0.95, 0.6)]
    assert by_confidence == sorted(by_confidence)
    by_runs = [lower_bound_from_trials([1.0] * n, [0.0] * n, delta=0) for n in (10, 100, 1000)]
    assert by_runs == sorted(by_runs)


def test_little_or_no_evidence_is_zero():
    rng = np.random.default_rng(2)
    assert lower_bound_from_trials(rng.random(500), rng.random(500), delta=1e-5) < 0.1
    assert lower_bound_from_trials([1.0] * 9, [1.0] * 9, delta=0) == 0
    assert lower_bound_from_trials([1.0, 2.0], [], delta=0) == 0
    assert lower_bound_from_trials([2.0], [1.0], delta=0) == 0


@pytest.mark.parametrize("scores", [[[1.0]], [np.nan], [inf]])
def test_trials_refuse_what_is_no_score(scores):
    with pytest.raises(InputError):
        lower_bound_from_trials(scores, [0.0], delta=0)


@pytest.mark.parametrize("error", [0.05, 0.001])
@pytest.mark.parametrize("runs", [50, 400, 5000])
def test_honest_randomised_response_is_rarely_accused(error, runs):
    # ε = 1, told apart as well as the claim allows. 200,000 audits at once: the test is fixed, so only counts matter.
    rng = np.random.default_rng(3)
    low = subject.share_at_least(rng.binomial(runs, exp(1) / (1 + exp(1)), 200_000), runs, error / 2)
    high = subject.share_at_most(rng.binomial(runs, 1 / (1 + exp(1)), 200_000), runs, error / 2)
    found = np.maximum(np.log(np.maximum(low, 1e-300) / high), np.log(np.maximum(1 - high, 1e-300) / (1 - low)))
    assert np.mean(found > 1) <= error


def gaussian_scores(rng, runs):
    return rng.normal(1, 1, runs), rng.normal(0, 1, runs), guarantee(events=(Gaussian(1.0),), delta=1e-3)


def laplace_scores(rng, runs, epsilon=1.0):
    """Every threshold beyond the shift tells neighbours apart by exactly e^ε: most chances to be unlucky."""
    claim = guarantee(events=(Laplace(1 / epsilon),), delta=0.0)
    return epsilon + rng.laplace(0, 1, runs), rng.laplace(0, 1, runs), claim


def response_scores(rng, runs):
    share = exp(1) / (1 + exp(1))
    return rng.random(runs) < share, rng.random(runs) >= share, guarantee(delta=0.0)


@pytest.mark.parametrize("scores", [gaussian_scores, laplace_scores, response_scores])
def test_honest_mechanism_is_accused_in_at_most_one_of_a_thousand_audits(scores):
    rng = np.random.default_rng(4)
    accused = 0
    for _ in range(2000):
        inside, outside, claim = scores(rng, 300)
        accused += lower_bound_from_trials(inside, outside, delta=claim.delta, confidence=0.999) > claim.epsilon
    assert accused <= 2


def test_maximum_over_thresholds_on_the_same_trials_would_accuse_too_often():
    rng = np.random.default_rng(5)
    corrected = uncorrected = 0
    for _ in range(1000):
        inside, outside, claim = laplace_scores(rng, 1000, epsilon=2.0)
        corrected += lower_bound_from_trials(inside, outside, delta=0.0, confidence=0.95) > claim.epsilon
        thresholds = np.sort(np.concatenate([inside, outside]))[4::5]
        found = [subject._bounds(s * inside, s * outside, s * thresholds, 0.0, 0.05).max() for s in (1, -1)]
        uncorrected += max(found) > claim.epsilon
    assert corrected <= 50
    assert uncorrected > 80  # at a nominal 5 %: 11 to 12 % here, 7 % at ε = 1, 12 to 15 % at ε = 3


def test_it_finds_most_of_a_large_loss():
    rng = np.random.default_rng(6)
    assert lower_bound_from_trials(rng.normal(8, 1, 2000), rng.normal(0, 1, 2000), delta=1e-5) > 4
    # The lower tail, and a test that is only sure about those outside.
    assert lower_bound_from_trials(rng.normal(-8, 1, 2000), rng.normal(0, 1, 2000), delta=1e-5) > 4
    assert lower_bound_from_trials(rng.random(2000) < 0.5, np.zeros(2000), delta=1e-5) > 3


# --- the result ---


def test_verdict_and_card():
    assert audit(1.01).verdict == "violated"
    assert audit(0.99).verdict == "INCONCLUSIVE"
    assert audit(audit(0).claimed_epsilon).verdict == "INCONCLUSIVE"
    for result in (audit(1.01), audit(0.0), audit(0.3, method="one-run", guesses=100, right=58)):
        assert "NOT FOR RELEASE" in result.card()
        assert result.verdict.upper() in result.card()
    assert "no control" in audit(0.5).card()
    assert "ε ≥ 1.99" in audit(1.9999).card()  # rounded down
    assert "58 of 100" in audit(0.3, method="one-run", guesses=100, right=58).card()


def test_plain_data_says_not_for_release():
    data = json.loads(json.dumps(audit(2.5).to_dict(), allow_nan=False))
    assert data["not_for_release"] is True
    assert (data["verdict"], data["unit"], data["relation"]) == ("violated", "author", "add-or-remove")
    unbounded = EpsilonAudit.of(
        "none", guarantee(events=(), delta=0.0), relation=Relation.ADD_OR_REMOVE,
        lower_bound=0.0, confidence=0.999, trials=9, method="trials",
    )  # fmt: skip
    assert unbounded.claimed_epsilon == 0
    assert unbounded.verdict == "INCONCLUSIVE"


@pytest.mark.parametrize("claim, measured", [("replace", "add-or-remove"), ("add-or-remove", "replace")])
def test_another_relation_is_refused(claim, measured):
    with pytest.raises(PrivacyError, match="do not mean the same"):
        EpsilonAudit.of(
            "weighted", guarantee(events=(Laplace(1.0, relation=Relation(claim)),)), relation=Relation(measured),
            lower_bound=9.0, confidence=0.999, trials=9, method="trials",
        )  # fmt: skip
