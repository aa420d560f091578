"""What a guarantee allows at every error rate, and how measured error rates refute it.

A mechanism's events fix a whole trade-off curve: whoever tells two neighbours apart with false positive rate α misses
at least f(α) (Dong, Roth & Su 2022). One pair (ε, δ) is a single tangent of it, so a test against the curve sees more.
It refutes the *claimed curve*: a mechanism of another curve may still keep the one (ε, δ) that is stated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isinf, log
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, ndtr, ndtri
from scipy.stats import binom

from dptopics.core.errors import InputError, PrivacyError
from dptopics.privacy.events import Event, Failure, Gaussian, Laplace, RandomizedResponse, Relation, SampledGaussian
from dptopics.privacy.guarantee import Guarantee, Unit
from dptopics.privacy.pricing import delta_of, epsilon_of, smallest

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

        :func:`dptopics.audit.claim.examiner.audit_claim` runs controls.
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


Floats = NDArray[np.float64]
_TANGENTS = 160  # of the curve; fewer allow more errors than the curve does, which is the safe side


@dataclass(frozen=True)
class Curve:
    """The least false negative rate at each false positive rate, of any attack on the events of a guarantee."""

    events: tuple[Event, ...]

    def __call__(self, false_positives: float) -> float:
        """f(α): never above the true curve."""
        if self._plain:
            return float(ndtr(ndtri(1 - false_positives) - self.mu))
        epsilon, delta = _tangents(self.events)
        ratio = np.exp(epsilon)
        found = np.maximum(1 - delta - ratio * false_positives, (1 - delta - false_positives) / ratio)
        return max(0.0, float(found.max()))

    @property
    def mu(self) -> float:
        """Signal-to-noise ratio of all Gaussian noise together."""
        found = sum(event.count / event.sigma**2 for event in self.events if isinstance(event, Gaussian))
        return float(np.sqrt(found))

    @property
    def _plain(self) -> bool:
        return all(isinstance(event, Gaussian) for event in self.events)

    def refuted(self, false_positives: float, false_negatives: float) -> bool:
        """Whether the two rates, which are upper confidence limits, cannot both be true of these events."""
        return false_negatives < self(false_positives) or false_positives < self(false_negatives)

    def louder(self, factor: float) -> "Curve":
        """The curve of the same events with all noise divided by ``factor``."""
        return Curve(tuple(_with_noise(event, 1 / factor) for event in self.events))

    def lower_bound(self, false_positives: float, false_negatives: float, delta: float) -> float:
        """ε at ``delta`` of the loudest curve of this family that the two rates refute.

        The family is that of the same events under more or less noise: a bound that assumes its form.
        """
        if not any(isinstance(event, Gaussian | Laplace) for event in self.events):
            return 0.0
        if self._plain:
            mu = float(ndtri(1 - false_negatives) - ndtri(false_positives))
            return epsilon_of((Gaussian(1 / mu),), delta) if mu > 0 else 0.0
        if not self.louder(1e-6).refuted(false_positives, false_negatives):
            return 0.0
        factor = smallest(
            lambda f: not self.louder(f).refuted(false_positives, false_negatives), limit=1e6, tolerance=1e-3
        )
        if isinf(factor):
            return inf
        return epsilon_of(self.louder(factor * (1 - 2e-3)).events, delta)


def claimed_curve(events: tuple[Event, ...], *, failures: bool = True) -> Curve:
    """The curve of what a guarantee prices; samples count as if everybody were in, which allows more.

    Without ``failures``: of the noise alone, for attacks that look at noisy sums and not at the words let through.
    """
    whole = (_unsampled(event) for event in events)
    return Curve(tuple(event for event in whole if failures or not isinstance(event, Failure)))


def _unsampled(event: Event) -> Event:
    if isinstance(event, SampledGaussian):
        return Gaussian(event.sigma, event.count, event.relation)
    return event


def _with_noise(event: Event, factor: float) -> Event:
    match event:
        case Gaussian(sigma, count, relation):
            return Gaussian(sigma * factor, count, relation)
        case Laplace(scale, count, relation):
            return Laplace(scale * factor, count, relation)
        case SampledGaussian() | RandomizedResponse() | Failure():
            return event


@lru_cache(maxsize=256)
def _tangents(events: tuple[Event, ...]) -> tuple[Floats, Floats]:
    """(ε, δ(ε)) at which the curve is known."""
    price = delta_of(events)
    most = _largest(price)
    epsilon = np.concatenate([[0.0], np.geomspace(most * 1e-3, most, _TANGENTS)])
    return epsilon, np.array([price(float(one)) for one in epsilon])


def _largest(price: Callable[[float], float]) -> float:
    """An ε beyond which nothing is left to tell."""
    return smallest(lambda epsilon: price(epsilon) <= 1e-9 or epsilon > 200, tolerance=1e-2)


# --- from trials ---


def curve_bound_from_trials(
    scores_in: ArrayLike,
    scores_out: ArrayLike,
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
    check_confidence(delta, confidence)
    inside, outside = scores_of(scores_in), scores_of(scores_out)
    if threshold is None:
        threshold, sign, inside, outside = _chosen(inside, outside)
        inside, outside, threshold = sign * inside, sign * outside, sign * threshold
    if not inside.size or not outside.size:
        return 0.0
    rates = error_limits(inside > threshold, outside > threshold, 1 - confidence)
    return (curve or Curve((Gaussian(1.0),))).lower_bound(*rates, delta)


def error_limits(inside: NDArray[np.bool_], outside: NDArray[np.bool_], error: float) -> tuple[float, float]:
    """Upper confidence limits of (false positive, false negative) rates of guesses that say "in" where true."""
    wrong, missed = np.count_nonzero(outside), np.count_nonzero(~inside)
    limits = [
        float(share_at_most(np.array(hits), runs, error / 2))
        for hits, runs in ((wrong, outside.size), (missed, inside.size))
    ]
    return limits[0], limits[1]


def _chosen(inside: Floats, outside: Floats) -> tuple[float, int, Floats, Floats]:
    """Threshold and direction from the first tenth of the scores: midway between the means; and the other scores."""
    few = [max(1, scores.size // 10) for scores in (inside, outside)]
    means = [float(scores[:n].mean()) for scores, n in zip((inside, outside), few, strict=True)]
    return sum(means) / 2, 1 if means[0] >= means[1] else -1, inside[few[0] :], outside[few[1] :]


# --- from one run ---


def one_run_refutes(curve: Curve, *, m: int, r: int, v: int, beta: float) -> bool:
    """Whether v right guesses of r, among m canaries in one run, are less likely than β under the ``curve``.

    Mahloujifar, Melis & Chaudhuri 2024, algorithm 3: the distribution of right guesses that the curve allows has the
    heaviest possible tail of weight β at v; if that already has too much mass below, the curve is refuted.
    """
    if not 0 < v <= r <= m:
        return False
    right, wrong = beta * v / m, beta * (r - v) / m
    for i in range(v - 1, -1, -1):
        allowed = max(wrong, _reverse(curve, right))
        if allowed == wrong:
            break
        right, wrong = min(1.0, right + i / (r - i) * (allowed - wrong)), allowed
    return right + wrong > r / m


def one_run_curve_bound(*, m: int, r: int, v: int, delta: float, beta: float, curve: Curve | None = None) -> float:
    """ε at ``delta`` of the loudest curve of the family (Gaussian without one) that one run refutes."""
    family = curve or Curve((Gaussian(1.0),))
    if not one_run_refutes(family.louder(1e-6), m=m, r=r, v=v, beta=beta):
        return 0.0
    factor = smallest(
        lambda f: not one_run_refutes(family.louder(f), m=m, r=r, v=v, beta=beta), limit=1e3, tolerance=1e-4
    )
    return inf if isinf(factor) else epsilon_of(family.louder(factor * (1 - 2e-4)).events, delta)


def _reverse(curve: Curve, right: float) -> float:
    """The largest share of wrong guesses x for which 1 − f(x) ≤ the share that is right: f̄⁻¹."""
    if curve._plain:
        return float(ndtr(ndtri(right) - curve.mu))
    low, high = 0.0, right
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - curve(middle) <= right else (low, middle)
    return low
