"""Intervals that cover, rates that are not shown, and the best of many attacks that know nothing."""

import numpy as np
import pytest
from scipy.stats import norm

from dptopics.audit.membership.attack import MembershipAudit
from dptopics.audit.membership.rates import Attack, binomial_interval, corrected, shown_rates
from dptopics.core.errors import InputError


@pytest.mark.parametrize("n, rate", [(100, 0.001), (100, 0.01), (1000, 0.01)])
@pytest.mark.parametrize("shift", [0.0, 2.5])
def test_coverage_with_independent_scores(n, rate, shift):
    rng = np.random.default_rng(1)
    true, member = norm.sf(norm.isf(rate) - shift), np.arange(2 * n) < n
    intervals = [Attack("x", rng.normal(size=2 * n) + shift * member, member).interval(rate) for _ in range(100)]
    covered = np.mean([low <= true <= high for low, high in intervals])
    # 95 % is promised; fewer than 86 of 100 would be chance once in 3,000.
    assert covered >= 0.86


def crossed(rng, n, models, shift, of_document, of_model):
    """Scores with something in common for each document and for each pair of models."""
    own, scores, members = rng.normal(0, of_document, n), [], []
    for _ in range(models // 2):
        half, common = rng.permutation(n) < n // 2, rng.normal(0, of_model)
        for member in (half, ~half):
            scores.append(shift * member + own + common + rng.normal(size=n))
            members.append(member)
    unit, target = np.tile(np.arange(n), models), np.repeat(np.arange(models), n)
    return Attack("x", np.concatenate(scores), np.concatenate(members), unit, target)


@pytest.mark.parametrize("of_document, of_model", [(1.0, 0.0), (0.5, 0.5)])
def test_coverage_where_documents_and_models_are_shared(of_document, of_model):
    rng = np.random.default_rng(2)
    true = norm.sf(norm.isf(0.01) - 2 / np.sqrt(1 + of_document**2 + of_model**2))
    covered, naive = 0, 0
    for _ in range(100):
        found = crossed(rng, 200, 16, 2.0, of_document, of_model)
        low, high = found.interval(0.01)
        covered += low <= true <= high
        low, high = Attack("x", found.score, found.member).interval(0.01)
        naive += low <= true <= high
    assert covered >= 86
    assert naive < covered  # the control: taken as independent, they cover less


def test_the_best_of_many_attacks_that_know_nothing_is_not_better_than_guessing():
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(60):
        member = rng.permutation(600) < 300
        attacks = [Attack("x", rng.normal(size=600), member) for _ in range(9)]
        alarms += max(one.interval(0.01, level=corrected(9))[0] for one in attacks) > 0.01
    assert alarms <= 9  # 5 % is promised: more than 9 of 60 would be chance once in 1,000


def test_no_rate_is_shown_that_outsiders_cannot_support():
    assert shown_rates(1000) == (0.001, 0.01)
    assert shown_rates(999) == (0.002, 0.01)
    assert shown_rates(150) == (0.01, 0.1)
    assert shown_rates(30) == (0.05, 0.1)
    member = np.arange(120) < 60
    found = Attack("x", np.arange(120.0)[::-1], member).to_dict((0.02, 0.1))
    assert found["tpr_at_0.1%_fpr"] is None
    assert found["tpr_at_1%_fpr_interval"] is None
    assert [one["false_positive_rate"] for one in found["rates"]] == [0.02, 0.1]


def test_the_strongest_attack_is_first_and_has_a_lower_limit():
    """At 0.1 % a thousand outsiders give no lower limit: ranked by that, all attacks would be alike."""
    rng, member = np.random.default_rng(1), np.arange(2000) < 1000
    strong = Attack("strong", rng.normal(size=2000) + np.where(member, rng.choice([0, 6], 2000), 0), member)
    weak = Attack("weak", rng.normal(size=2000) + 0.5 * member, member)
    found = MembershipAudit((weak, strong), (), None, 8, 0)
    assert [one.name for one in found.ranked] == ["strong", "weak"]
    assert found.rate == 0.01
    assert strong.interval(found.rate, level=found.level)[0] > 0.3
    assert "at most" in found.summary().rows[0][1]
    assert found.summary().rows[0][2].count("to") == 1


def test_outsiders_are_counted_once():
    """Sixty documents under eight models are sixty outsiders, not hundreds."""
    found = crossed(np.random.default_rng(0), 60, 8, 1.0, 0.5, 0.0)
    assert (found.n_outsiders, int((~found.member).sum())) == (60, 240)


def test_exact_binomial_limits():
    low, high = binomial_interval(8, 10)
    assert (low, high) == pytest.approx((0.4439, 0.9748), abs=1e-4)  # Clopper and Pearson's tables
    assert binomial_interval(10, 10)[1] == 1.0
    with pytest.raises(InputError, match="between 0 and 1"):
        Attack("x", np.arange(4.0), np.arange(4) < 2).interval(0.0)
