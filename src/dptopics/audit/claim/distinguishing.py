"""The distinguishing test: many draws of noise with and without a canary, in stages so that gross leaks stop early."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dptopics.audit.claim.case import Case
from dptopics.audit.claim.curves import Curve, claimed_curve, error_limits, lower_bound_from_rates
from dptopics.audit.claim.designs import Design
from dptopics.audit.claim.transcript import Question
from dptopics.core import progress
from dptopics.core.errors import NothingReleased
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.privacy.rng import secure_rng
from dptopics.release.ngrams import NgramTable
from dptopics.release.topic_model import TopicModel

Floats = NDArray[np.float64]
_FIRST = 64  # trials of the first stage; each further one has four times as many


@dataclass(frozen=True)
class DistinguishingResult:
    """How well neighbours were distinguished: trials, limits of both errors, and whether the claim allows them."""

    trials: int
    false_positives: float  # upper confidence limits
    false_negatives: float
    violated: bool
    curve_bound: float  # on ε, if the trade-off has the claimed form
    bound: float  # on ε, whatever its form
    error: float  # of these limits
    could_show: float = 0.0  # the ε that as many trials would have shown without a single error

    def to_dict(self) -> dict[str, Any]:
        return {
            "trials": self.trials,
            "false_positive_rate_at_most": self.false_positives,
            "false_negative_rate_at_most": self.false_negatives,
            "violated": self.violated,
            "epsilon_at_least_for_this_curve": self.curve_bound if np.isfinite(self.curve_bound) else None,
            "epsilon_at_least": self.bound,
            "epsilon_that_could_be_shown": self.could_show if np.isfinite(self.could_show) else None,
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


def distinguish(
    score: Callable[[bool], float], curve: Curve, *, delta: float, trials: int, error: float, seconds: float
) -> DistinguishingResult:
    """Score fresh draws with and without the canary ("in" above 0), until the claim is refuted or the trials are done.

    Each stage has its share of the ``error``, so the test may stop after any. The time limit does not depend on scores.
    """
    begun, plan = monotonic(), stages(trials)
    scores: tuple[list[float], list[float]] = ([], [])
    result = DistinguishingResult(0, 1.0, 1.0, False, 0.0, 0.0, error)
    for most in plan:
        for number in range(len(scores[0]), most // 2):
            for world in (0, 1):
                scores[world].append(score(bool(world)))
            if monotonic() - begun > seconds and number % 16 == 15:
                break
            progress.report(2 * (number + 1) / trials)
        result = _judged(scores, curve, delta, error / len(plan))
        if result.violated or monotonic() - begun > seconds:
            break
    progress.report(1.0)
    return result


def _judged(scores: tuple[list[float], list[float]], curve: Curve, delta: float, error: float) -> DistinguishingResult:
    outside, inside = (np.array(part) > 0 for part in scores)
    limits = error_limits(inside, outside, error)
    least = error_limits(np.ones_like(inside), np.zeros_like(outside), error)
    return DistinguishingResult(
        len(scores[0]) + len(scores[1]),
        *limits,
        curve.refuted(*limits),
        curve.lower_bound(*limits, delta),
        lower_bound_from_rates(*limits, delta),
        error,
        curve.lower_bound(*least, delta),
    )


def through_sums(case: Case, *, trials: int, error: float, seconds: float) -> DistinguishingResult:
    """By the likelihood ratio over all noisy sums of a run: what the guarantee prices."""
    guarantee = case.mechanism.guarantee

    def score(within: bool) -> float:
        return case.log_ratio(tuple(question.again() for question in case.questions[within]))

    curve = claimed_curve(guarantee.events, failures=False)
    return distinguish(score, curve, delta=guarantee.delta, trials=trials, error=error, seconds=seconds)


def lone_words_shown(questions: Iterator[Question], words: frozenset[str], *, failing: float) -> tuple[int, int, float]:
    """(runs, runs that released a lone word, largest probability of that many if the threshold holds)."""
    runs = shown = 0
    chance = 1.0
    for question in questions:
        runs += 1
        shown += bool(words & set(question.answer.words))
        chance = float(binom.sf(shown - 1, runs, failing))
    return runs, shown, chance


# --- by what is released, where noise cannot be observed ---

_REHEARSALS = 24  # runs of each canary to choose score, direction and threshold; not used otherwise
Pair = tuple[BoundedCorpus, BoundedCorpus]


def canary_scores(value: Any, words: Sequence[str]) -> Floats:
    """What may separate in from out: the weight of the canary's words in a vocabulary, in all topics, in the heaviest
    topic, and among n-grams. All are −1 where nothing was released, which an attacker sees too."""
    if value is None:
        return np.full(4, -1.0)
    vocabulary = value if isinstance(value, Vocabulary) else getattr(value, "vocabulary", Vocabulary.of(()))
    rows = [vocabulary.index[w] for w in words if w in vocabulary.index]
    # A released word counts whatever its weight, which may be below zero.
    weight = sum(1.0 if vocabulary.weights is None else max(vocabulary.weights[i], 1e-9) for i in rows)
    topics, share = np.zeros(1), 0.0
    if isinstance(value, TopicModel):  # counts: noise of known size gives the scale, else the share of the topic
        scale = value.topic_share if value.noise_std is None else 1 / np.maximum(value.noise_std, 1e-300)
        topics = value.topic_word[:, rows].sum(axis=1) * scale
    if isinstance(value, NgramTable):
        share = float(value.probability[rows].sum())
    return np.array([weight, topics.sum(), topics.max(initial=0.0), share])


@dataclass(frozen=True, eq=False)
class ReleasedCase:
    """A canary, and the test of a released value that did best in rehearsals: sign · (score − threshold) > 0."""

    mechanism: Mechanism[Any]
    corpora: Pair
    words: tuple[str, ...]
    score: int = 0
    sign: int = 1
    threshold: float = -0.5  # was anything released?

    @classmethod
    def worst(cls, mechanism: Mechanism[Any], cases: Sequence[tuple[Design, Pair]]) -> "ReleasedCase":
        """The canary and score that separate best, in standard deviations."""
        best, most = cls(mechanism, cases[0][1], ()), 0.0
        for design, corpora in cases:
            case = cls(mechanism, corpora, tuple(dict.fromkeys(w for one in design.canary.documents for w in one)))
            runs = range(_REHEARSALS // 2)
            out, inside = (np.array([case.released(world) for _ in runs]) for world in (False, True))
            apart = np.abs(inside.mean(axis=0) - out.mean(axis=0))
            apart[apart <= 1e-12 * np.abs(out.mean(axis=0))] = 0.0  # equal but for rounding
            apart /= np.maximum(np.sqrt((inside.var(axis=0) + out.var(axis=0)) / 2), 1e-300)
            if apart.max() > most:
                score, most = int(apart.argmax()), float(apart.max())
                means = float(out[:, score].mean()), float(inside[:, score].mean())
                best = replace(case, score=score, sign=1 if means[1] >= means[0] else -1, threshold=sum(means) / 2)
        return best

    def released(self, within: bool) -> Floats:
        """The scores of a fresh run."""
        try:
            value = self.mechanism(self.corpora[within], secure_rng()).value
        except NothingReleased:
            value = None
        return canary_scores(value, self.words)

    def __call__(self, within: bool) -> float:
        """The score that was chosen, of a fresh run."""
        return self.sign * (float(self.released(within)[self.score]) - self.threshold)
