"""How much privacy a mechanism loses at least, measured. Lower bounds on ε: for the owner's eyes, not for release.

(ε, δ)-DP bounds every test that tries to tell two neighbours apart: TPR ≤ e^ε FPR + δ, and TNR ≤ e^ε FNR + δ. A test
that does better than the claimed ε allows refutes the claim; one that does not proves nothing.
"""

from dataclasses import dataclass
from math import inf, log
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv
from scipy.stats import binom

from dptopics.errors import InputError, PrivacyError
from dptopics.privacy.guarantee import Guarantee, Unit
from dptopics.privacy.pricing import smallest
from dptopics.privacy.relation import Relation

_MOST_THRESHOLDS = 200  # tried on the first half: more would only fit its noise


def lower_bound_from_trials(
    scores_in: ArrayLike, scores_out: ArrayLike, *, delta: float, confidence: float = 0.999
) -> float:
    """ε is at least this, with the stated confidence, given *independent* trials with and without one unit.

    ε̂ = max{ln((TPR_lo − δ)/FPR_hi), ln((TNR_lo − δ)/FNR_hi)}, at least 0. Threshold and tail are chosen on one half of
    the trials; the rates are bounded on the other half (Clopper & Pearson 1934), each with half of the error. The
    maximum over thresholds on the *same* trials would be no bound. One trial is one trained model: documents of the
    same model are not independent, and rates over them must not be given to this function.

    >>> round(lower_bound_from_trials([1.0] * 200, [0.0] * 200, delta=1e-5), 3)
    2.539
    """
    check_confidence(delta, confidence)
    inside, outside = scores_of(scores_in), scores_of(scores_out)
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


def scores_of(scores: ArrayLike) -> NDArray[np.float64]:
    """As numbers, one for each trial."""
    array = np.asarray(scores, np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError("scores must be a list of finite numbers, one for each trial.")
    return array


def _bounds(
    inside: NDArray[np.float64],
    outside: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    delta: float,
    error: float,
) -> NDArray[np.float64]:
    """ε̂ of the tests "in, if score > threshold". TNR_lo is 1 − FPR_hi and FNR_hi is 1 − TPR_lo: two limits serve."""
    caught = inside.size - np.searchsorted(np.sort(inside), thresholds, "right")
    wrong = outside.size - np.searchsorted(np.sort(outside), thresholds, "right")
    true_low = share_at_least(caught, inside.size, error / 2)
    false_high = share_at_most(wrong, outside.size, error / 2)
    return np.maximum(_log_ratio(true_low - delta, false_high), _log_ratio(1 - false_high - delta, 1 - true_low))


def lower_bound_from_rates(false_positives: float, false_negatives: float, delta: float) -> float:
    """ε is at least this, given upper limits of both error rates of one test, whatever the mechanism's trade-off."""
    wrong, missed = np.array([false_positives, false_negatives]), np.array([false_negatives, false_positives])
    return max(0.0, float(_log_ratio(1 - missed - delta, wrong).max()))


def _log_ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    # Neither limit is ever 0 where it divides: Clopper–Pearson stops short of certainty.
    return np.where(above > 0, np.log(np.maximum(above, 1e-300)) - np.log(below), -inf)


def share_at_least(hits: NDArray[np.int64], runs: int, error: float) -> NDArray[np.float64]:
    """Lower confidence limits of a probability (Clopper–Pearson, one-sided)."""
    found = betaincinv(np.maximum(hits, 1), runs - hits + 1, error)
    return np.where(hits > 0, found, 0.0)


def share_at_most(hits: NDArray[np.int64], runs: int, error: float) -> NDArray[np.float64]:
    """Upper confidence limits of a probability (Clopper–Pearson, one-sided)."""
    found = betainccinv(hits + 1, np.maximum(runs - hits, 1), error)
    return np.where(hits < runs, found, 1.0)


def one_run_lower_bound(*, m: int, r: int, v: int, delta: float, beta: float) -> float:
    """ε is at least this, with confidence 1 − β: of m canaries, each in by a fair coin, r were guessed and v rightly.

    Steinke, Nasr & Jagielski 2023: with q = 1/(1 + e^(−ε)), the largest ε such that
    P[Bin(r, q) ≥ v] + 2mδ · max over 1 ≤ i ≤ v of P[v − i ≤ Bin(r, q) < v]/i stays below β. Which guesses to make, and
    how many, must not depend on the coins.

    >>> round(one_run_lower_bound(m=1000, r=1000, v=900, delta=0.0, beta=0.05), 5)
    2.02123
    """
    if not 0 <= v <= r <= m or m < 1:
        raise InputError(f"0 ≤ v ≤ r ≤ m must hold for right guesses, guesses and canaries, got {v}, {r} and {m}.")
    check_confidence(delta, 1 - beta)
    if _chance(0.0, m, r, v, delta) >= beta:
        return 0.0
    # The search ends at the first ε that is *not* refuted; a step down leads to the refuted side, which is checked.
    high = smallest(lambda epsilon: _chance(epsilon, m, r, v, delta) >= beta, tolerance=1e-9)
    low = high * (1 - 2e-9)
    return low if _chance(low, m, r, v, delta) < beta else 0.0


def _chance(epsilon: float, m: int, r: int, v: int, delta: float) -> float:
    """How likely v right guesses are at most, if the mechanism is (ε, δ)-DP: never decreases in ε.

    Where 2mδ > 1 the printed expression could fall as ε grows. Counting P[Bin ≥ v] as often as what lies below it makes
    it the mean of a function that grows with the number of right guesses, so that one search finds the only crossing.
    """
    if v == 0:
        return 1.0
    q = 1 / (1 + np.exp(-epsilon))
    above = float(binom.sf(v - 1, r, q))
    if delta == 0:
        return above
    i = np.arange(1, v + 1)
    below = np.cumsum(binom.pmf(v - i, r, q))  # all terms are positive: nothing cancels
    weight = 2 * m * delta / i
    return float(np.max(np.maximum(1.0, weight) * above + weight * below))


def check_confidence(delta: float, confidence: float) -> None:
    """Refuse a δ or a confidence that means nothing."""
    if not 0 <= delta < 1:
        raise InputError(f"delta must lie in [0, 1), got {delta}.")
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence must lie between 0.5 and 1, got {confidence}. A common choice is 0.999.")


@dataclass(frozen=True, kw_only=True)
class EpsilonAudit:
    """A claim, and what was measured against it. Not for release: it was computed from the data without noise.

    ``trials`` counts trained models (method ``trials``) or canaries in the one model (method ``one-run``).

    >>> audit = EpsilonAudit(mechanism="weighted", claimed_epsilon=1.0, delta=1e-5, unit=Unit.AUTHOR,
    ...     relation=Relation.ADD_OR_REMOVE, lower_bound=2.5, confidence=0.999, trials=400, method="trials")
    >>> audit.verdict
    'violated'
    """

    mechanism: str
    claimed_epsilon: float
    delta: float
    unit: Unit
    relation: Relation
    lower_bound: float  # whatever the mechanism's trade-off
    confidence: float
    trials: int
    method: str
    curve_bound: float = 0.0  # if the trade-off has the form that is claimed
    guesses: int | None = None
    right: int | None = None

    @classmethod
    def of(cls, mechanism: str, guarantee: Guarantee, *, relation: Relation, **measured: Any) -> Self:
        """Hold what was measured under ``relation`` against the claim; another relation's claim is refused."""
        check_relation(guarantee, relation)
        return cls(
            mechanism=mechanism,
            claimed_epsilon=guarantee.epsilon,
            delta=guarantee.delta,
            unit=guarantee.unit,
            relation=relation,
            **measured,
        )

    @property
    def violated(self) -> bool:
        """Whether a lower bound is above the claim."""
        return max(self.lower_bound, self.curve_bound) > self.claimed_epsilon

    @property
    def verdict(self) -> str:
        """``violated`` or ``INCONCLUSIVE``, for no control shows what this attack would have seen.

        :func:`dptopics.audit.claim.audit_claim` runs controls.
        """
        return "violated" if self.violated else "INCONCLUSIVE"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, marked as not for release."""
        return {
            "not_for_release": True,
            "mechanism": self.mechanism,
            "method": self.method,
            "claimed_epsilon": None if self.claimed_epsilon == inf else self.claimed_epsilon,
            "delta": self.delta,
            "unit": str(self.unit),
            "relation": str(self.relation),
            "lower_bound": self.lower_bound,
            "curve_bound": None if self.curve_bound == inf else self.curve_bound,
            "confidence": self.confidence,
            "trials": self.trials,
            "guesses": self.guesses,
            "right": self.right,
            "verdict": self.verdict,
        }

    def card(self) -> str:
        """A short account for the owner."""
        share = f"{100 * self.confidence:.10g} %"
        if self.method == "one-run":
            how = f"one run, {self.trials:,} canaries, {self.right:,} of {self.guesses:,} guesses right"
        else:
            how = f"{self.trials:,} runs, one canary {self.unit} in or out"
        meaning = {
            "violated": f"VIOLATED: the {self.unit}s are protected less than claimed.",
            "INCONCLUSIVE": "INCONCLUSIVE: this attack found no contradiction, and no control shows what it can see.",
        }[self.verdict]
        return "\n".join(
            [
                "EMPIRICAL EPSILON (NOT FOR RELEASE)",
                "=" * 35,
                f"Mechanism   {self.mechanism}",
                f"Claimed     ε = {self.claimed_epsilon:.4g}, δ = {self.delta:.4g} ({self.unit}, {self.relation})",
                f"Measured    ε ≥ {_floor(self.lower_bound)} with {share} confidence ({how})",
                f"            ε ≥ {_floor(self.curve_bound)} if the noise has the claimed form",
                f"Verdict     {meaning}",
            ]
        )


def check_relation(guarantee: Guarantee, relation: Relation) -> None:
    """Refuse to hold a measurement under one relation against a claim under another."""
    if guarantee.relation is not relation:
        raise PrivacyError(
            f"this audit compares neighbours by {relation}, but the claim is about {guarantee.relation}: the two ε do "
            "not mean the same. Audit with the neighbours that the claim is about."
        )


def _floor(number: float) -> str:
    """Three digits, rounded down: a lower bound must not be raised by its display."""
    if number <= 0:
        return "0"
    if number == inf:
        return "∞"
    step = 10.0 ** (int(np.floor(log(number) / log(10))) - 2)
    return f"{np.floor(number / step * (1 + 1e-12)) * step:.3g}"
