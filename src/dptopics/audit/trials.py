"""Telling neighbours apart: many draws of noise with and without a canary, in stages so that gross holes stop early."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dptopics import progress
from dptopics.audit.case import Case
from dptopics.audit.curves import Curve, claimed_curve, error_limits
from dptopics.audit.epsilon import lower_bound_from_rates
from dptopics.audit.transcript import Question

Floats = NDArray[np.float64]
_FIRST = 64  # trials of the first stage; each further one has four times as many


@dataclass(frozen=True)
class Told:
    """How well neighbours were told apart: trials, limits of both errors, and whether the claim allows them."""

    trials: int
    false_positives: float  # upper confidence limits
    false_negatives: float
    violated: bool
    curve_bound: float  # on ε, if the trade-off has the form that is claimed
    bound: float  # on ε, whatever its form
    error: float  # of these limits

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "trials": self.trials,
            "false_positive_rate_at_most": self.false_positives,
            "false_negative_rate_at_most": self.false_negatives,
            "violated": self.violated,
            "epsilon_at_least_for_this_curve": self.curve_bound if np.isfinite(self.curve_bound) else None,
            "epsilon_at_least": self.bound,
            "confidence": 1 - self.error,
        }


def stages(most: int) -> list[int]:
    """Trials in all after each stage."""
    found = []
    n = _FIRST
    while n < most:
        found.append(n)
        n *= 4
    return [*found, most]


def tell_apart(
    score: Callable[[bool], float], curve: Curve, *, delta: float, trials: int, error: float, seconds: float
) -> Told:
    """Score fresh draws with and without the canary ("in" above 0), until the claim is refuted or the trials are done.

    Each stage has its share of the ``error``, so that one may stop after any. Time ends the trials too: it does not
    depend on the scores.
    """
    begun, plan = monotonic(), stages(trials)
    scores: tuple[list[float], list[float]] = ([], [])
    told = Told(0, 1.0, 1.0, False, 0.0, 0.0, error)
    for most in plan:
        for number in range(len(scores[0]), most // 2):
            for world in (0, 1):
                scores[world].append(score(bool(world)))
            if monotonic() - begun > seconds and number % 16 == 15:
                break
            progress.report(2 * (number + 1) / trials)
        told = _judged(scores, curve, delta, error / len(plan))
        if told.violated or monotonic() - begun > seconds:
            break
    progress.report(1.0)
    return told


def _judged(scores: tuple[list[float], list[float]], curve: Curve, delta: float, error: float) -> Told:
    outside, inside = (np.array(part) > 0 for part in scores)
    limits = error_limits(inside, outside, error)
    return Told(
        len(scores[0]) + len(scores[1]),
        *limits,
        curve.refuted(*limits),
        curve.lower_bound(*limits, delta),
        lower_bound_from_rates(*limits, delta),
        error,
    )


def through_sums(case: Case, *, trials: int, error: float, seconds: float) -> Told:
    """By the likelihood ratio over all noisy sums of a run: what the guarantee prices."""
    guarantee = case.mechanism.guarantee

    def score(within: bool) -> float:
        asked = tuple(question.again() for question in case.questions[within])
        return case.log_ratio(asked)

    curve = claimed_curve(guarantee.events, failures=False)
    return tell_apart(score, curve, delta=guarantee.delta, trials=trials, error=error, seconds=seconds)


def lone_words_shown(questions: Iterator[Question], words: frozenset[str], *, failing: float) -> tuple[int, int, float]:
    """(runs, runs in which a lone word came out, how likely so many are at most if the threshold holds)."""
    runs = shown = 0
    chance = 1.0
    for question in questions:
        runs += 1
        shown += bool(words & set(question.answer.words))
        chance = float(binom.sf(shown - 1, runs, failing))
    return runs, shown, chance
