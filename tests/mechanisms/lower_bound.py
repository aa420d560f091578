"""How much privacy a mechanism loses at least, measured from runs on two neighbouring data sets.

(ε, δ)-DP bounds every test that tries to tell the neighbours apart: TPR ≤ e^ε FPR + δ, and the same for TNR and FNR. So
runs on both neighbours, one number (score) each, give a lower bound on ε:

    ε̂ = max{ln((TPR_lo − δ)/FPR_hi), ln((TNR_lo − δ)/FNR_hi)}

Threshold and direction are chosen on one half of the runs, the rates are bounded on the other half (Clopper & Pearson
1934, each at half of ``false_alarm``). For a mechanism that keeps its promise ε̂ exceeds ε with probability at most
``false_alarm``. The maximum over thresholds on the *same* runs would be no bound at all.
"""

from math import inf, log

import numpy as np
from scipy.stats import beta

FALSE_ALARM = 1e-8  # of one check: a hundred of them stay below 1e-6 together


def share_at_least(hits, runs, error):
    """Lower confidence limit of a probability (Clopper–Pearson, one-sided)."""
    return float(beta.ppf(error, hits, runs - hits + 1)) if hits else 0.0


def share_at_most(hits, runs, error):
    """Upper confidence limit of a probability (Clopper–Pearson, one-sided)."""
    return float(beta.isf(error, hits + 1, runs - hits)) if hits < runs else 1.0


def epsilon_at_least(with_unit, without_unit, *, delta, false_alarm=FALSE_ALARM):
    """Lower bound on ε from independent scores of runs with and without the unit."""
    with_unit, without_unit = np.asarray(with_unit, float), np.asarray(without_unit, float)
    assert np.isfinite(with_unit).all()
    assert np.isfinite(without_unit).all()
    training = with_unit[::2], without_unit[::2]
    candidates = np.unique(np.quantile(np.concatenate(training), np.linspace(0, 1, 101)))
    choices = [(sign, threshold) for sign in (1, -1) for threshold in candidates]
    sign, threshold = max(choices, key=lambda choice: _bound(*training, *choice, delta, false_alarm))
    return _bound(with_unit[1::2], without_unit[1::2], sign, threshold, delta, false_alarm)


def _bound(with_unit, without_unit, sign, threshold, delta, false_alarm):
    """ε̂ of the test "there, if sign · score > sign · threshold"."""
    caught = np.count_nonzero(sign * with_unit > sign * threshold)
    wrong = np.count_nonzero(sign * without_unit > sign * threshold)
    true_positive = share_at_least(caught, with_unit.size, false_alarm / 2)
    false_positive = share_at_most(wrong, without_unit.size, false_alarm / 2)
    return max(
        _log_ratio(true_positive - delta, false_positive), _log_ratio(1 - false_positive - delta, 1 - true_positive)
    )


def _log_ratio(a, b):
    return log(a / b) if a > 0 else -inf
