"""How near lower bounds on ε come to the truth: against one (ε, δ), and against the claimed curve, on the same scores.

    python benchmarks/audit_curves.py    # half a minute; results/audit_curves.json

Ideal scores of Gaussian noise, δ = 1e-6, confidence 0.999, 2,000 runs; means over 400 repeats.
"""

import json
from pathlib import Path

import numpy as np

from dptopics.audit.claim.curves import Curve, error_limits, share_at_least, share_at_most
from dptopics.privacy.events import Gaussian
from dptopics.privacy.pricing import gaussian_delta, smallest

RESULT = Path(__file__).parent / "results" / "audit_curves.json"
DELTA, RUNS, REPEATS = 1e-6, 2000, 400


_MOST_THRESHOLDS = 200  # tried on the first half: more would only fit its noise


def lower_bound_from_trials(
    scores_in: np.ndarray, scores_out: np.ndarray, *, delta: float, confidence: float = 0.999
) -> float:
    """ε is at least this, with the stated confidence, given *independent* trials with and without one unit.

    ε̂ = max{ln((TPR_lo − δ)/FPR_hi), ln((TNR_lo − δ)/FNR_hi)}, at least 0. Threshold and tail are chosen on one half of
    the trials; the rates are bounded on the other half (Clopper & Pearson 1934), each with half of the error. The
    maximum over thresholds on the *same* trials would be no bound. One trial is one trained model: documents of the
    same model are not independent, and rates over them must not be given to this function.

    >>> round(lower_bound_from_trials([1.0] * 200, [0.0] * 200, delta=1e-5), 3)
    2.539
    """
    inside, outside = np.asarray(scores_in, np.float64), np.asarray(scores_out, np.float64)
    error = 1 - confidence
    first, second = (inside[::2], outside[::2]), (inside[1::2], outside[1::2])
    values = np.unique(np.concatenate(first))
    if values.size < 2:
        return 0.0  # nothing to choose a threshold between
    # Between neighbouring values, and halved before they are added: sums could overflow.
    thresholds = values[:-1] / 2 + values[1:] / 2
    if thresholds.size > _MOST_THRESHOLDS:
        thresholds = thresholds[np.linspace(0, thresholds.size - 1, _MOST_THRESHOLDS).astype(np.int64)]
    bounds = [_bounds(sign * first[0], sign * first[1], sign * thresholds, delta, error) for sign in (1, -1)]
    sign = 1 if bounds[0].max() >= bounds[1].max() else -1
    threshold = thresholds[int(np.argmax(bounds[0] if sign == 1 else bounds[1]))]
    return max(0.0, float(_bounds(sign * second[0], sign * second[1], np.array([sign * threshold]), delta, error)[0]))


def _bounds(
    inside: np.ndarray,
    outside: np.ndarray,
    thresholds: np.ndarray,
    delta: float,
    error: float,
) -> np.ndarray:
    """ε̂ of the tests "in, if score > threshold". TNR_lo is 1 − FPR_hi and FNR_hi is 1 − TPR_lo: two limits serve."""
    caught = inside.size - np.searchsorted(np.sort(inside), thresholds, "right")
    wrong = outside.size - np.searchsorted(np.sort(outside), thresholds, "right")
    true_low = share_at_least(caught, inside.size, error / 2)
    false_high = share_at_most(wrong, outside.size, error / 2)
    return np.maximum(_log_ratio(true_low - delta, false_high), _log_ratio(1 - false_high - delta, 1 - true_low))


def _log_ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    # Neither limit is ever 0 where it divides: Clopper–Pearson stops short of certainty.
    return np.where(above > 0, np.log(np.maximum(above, 1e-300)) - np.log(below), -np.inf)


def curve_bound_from_trials(
    scores_in: np.ndarray,
    scores_out: np.ndarray,
    *,
    curve: Curve | None = None,
    delta: float,
    confidence: float = 0.999,
    threshold: float | None = None,
) -> float:
    """ε is at least this, with the stated confidence, if the trade-off is one of the ``curve``'s family.

    Without a ``curve`` the family is that of Gaussian noise. Scores are of *independent* trials. A ``threshold`` must
    have been fixed before they were seen; without one the first tenth of them chooses it, and is not used again. Both
    errors are bounded by Clopper & Pearson (1934), each with half of what the confidence leaves.

    >>> round(curve_bound_from_trials([1.0] * 200, [0.0] * 200, delta=1e-5, threshold=0.5), 2)
    20.91
    """
    inside, outside = np.asarray(scores_in, np.float64), np.asarray(scores_out, np.float64)
    if threshold is None:
        threshold, sign, inside, outside = _chosen(inside, outside)
        inside, outside, threshold = sign * inside, sign * outside, sign * threshold
    if not inside.size or not outside.size:
        return 0.0
    rates = error_limits(inside > threshold, outside > threshold, 1 - confidence)
    return (curve or Curve((Gaussian(1.0),))).lower_bound(*rates, delta)


def _chosen(inside: np.ndarray, outside: np.ndarray) -> tuple[float, int, np.ndarray, np.ndarray]:
    """Threshold and direction from the first tenth of the scores: midway between the means; and the other scores."""
    few = [max(1, scores.size // 10) for scores in (inside, outside)]
    means = [float(scores[:n].mean()) for scores, n in zip((inside, outside), few, strict=True)]
    return sum(means) / 2, 1 if means[0] >= means[1] else -1, inside[few[0] :], outside[few[1] :]


def shares(epsilon, rng):
    """Mean bound over the true ε: (one pair of ε and δ, the curve)."""
    sigma = smallest(lambda sigma: gaussian_delta(epsilon, 1 / sigma) <= DELTA)
    found = []
    for _ in range(REPEATS):
        coins = rng.random(RUNS) < 0.5
        scores = rng.normal(0, 1, RUNS) + coins / sigma
        both = scores[coins], scores[~coins]
        found.append([bound(*both, delta=DELTA) for bound in (lower_bound_from_trials, curve_bound_from_trials)])
    return (np.mean(found, axis=0) / epsilon).round(4).tolist()


def main():
    rng = np.random.default_rng(1)
    results = {str(epsilon): dict(zip(("pair", "curve"), shares(epsilon, rng), strict=True)) for epsilon in (1, 3, 8)}
    RESULT.write_text(json.dumps(results, indent=1) + "\n")
    print(results)


if __name__ == "__main__":
    main()
