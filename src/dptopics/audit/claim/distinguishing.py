"""The distinguishing test: many draws of noise with and without a canary, in stages so that gross leaks stop early."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.random import Generator
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
from dptopics.privacy.guarantee import Guarantee
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
        """Plain data."""
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


# From a released value (None: nothing was released) and the words of a canary: a number that separates in from out.
Score = Callable[[Any, Sequence[str]], float]

_NOTHING = -1.0  # the score of no release; all others are at least 0


# --- scores ---


def released_weight(value: Any, words: Sequence[str]) -> float:
    """Noisy weight of the canary's words in a vocabulary, or in that of topics; without weights, how many are in."""
    if value is None:
        return _NOTHING
    vocabulary = value.vocabulary if isinstance(value, TopicModel) else value
    if not isinstance(vocabulary, Vocabulary):
        return 0.0
    rows = [vocabulary.index[w] for w in words if w in vocabulary.index]
    # A released word counts whatever its weight, which may be below zero.
    return float(sum(1.0 if vocabulary.weights is None else max(vocabulary.weights[i], 1e-9) for i in rows))


def heaviest_topic(value: Any, words: Sequence[str]) -> float:
    """Expected count of the canary's words in the topic with the most of them."""
    return _NOTHING if value is None else float(_counts(value, words).max(initial=0.0))


def all_topics(value: Any, words: Sequence[str]) -> float:
    """Expected count of the canary's words over all topics."""
    return _NOTHING if value is None else float(_counts(value, words).sum())


def likelihood(value: Any, words: Sequence[str]) -> float:
    """The canary's likelihood under the topic that explains it best: the geometric mean over its words."""
    if value is None:
        return _NOTHING
    if not isinstance(value, TopicModel) or any(w not in value.vocabulary.index for w in words):
        return 0.0
    weights = value.topic_word[:, [value.vocabulary.index[w] for w in words]]
    return float(np.exp(np.log(np.maximum(weights, 1e-300)).mean(axis=1)).max())


def ngram_share(value: Any, words: Sequence[str]) -> float:
    """Released probability of the canary's n-grams, all together."""
    if value is None:
        return _NOTHING
    if not isinstance(value, NgramTable):
        return 0.0
    return float(sum(value.probability[value.vocabulary.index[w]] for w in words if w in value.vocabulary.index))


def _counts(value: Any, words: Sequence[str]) -> NDArray[np.float64]:
    """Estimated counts from a topic's weights: noise of known size gives the scale, else the share of the topic."""
    if not isinstance(value, TopicModel):
        return np.zeros(1)
    rows = [value.vocabulary.index[w] for w in words if w in value.vocabulary.index]
    scale = value.topic_share if value.noise_std is None else 1 / np.maximum(value.noise_std, 1e-300)
    return np.asarray(value.topic_word[:, rows].sum(axis=1) * scale)


SCORES: Mapping[str, Score] = MappingProxyType(
    {
        "weight": released_weight,
        "heaviest topic": heaviest_topic,
        "all topics": all_topics,
        "likelihood": likelihood,
        "n-grams": ngram_share,
    }
)


def separation(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """Distance of the means of two sets of scores, in standard deviations."""
    apart = abs(float(inside.mean() - outside.mean()))
    spread = float(np.sqrt((inside.var() + outside.var()) / 2))
    if apart <= 1e-12 * abs(float(outside.mean())):
        return 0.0  # equal but for rounding
    return apart / spread if spread > 0 else inf


def released_value(mechanism: Mechanism[Any], corpus: BoundedCorpus, rng: Generator) -> Any:
    """What a mechanism publishes, or None: an attacker also sees that nothing was published."""
    try:
        return mechanism(corpus, rng).value
    except NothingReleased:
        return None


def _rehearsed(values: Sequence[Sequence[Any]], words: Sequence[str]) -> Iterator[tuple[float, Score, int, float]]:
    """How well each score separates the two worlds, with its direction and threshold."""
    for score in SCORES.values():
        without, within = (np.array([score(value, words) for value in world]) for world in values)
        sign = 1 if within.mean() >= without.mean() else -1
        yield separation(within, without), score, sign, float(within.mean() + without.mean()) / 2


_REHEARSALS = 24  # runs of each canary to choose score, direction and threshold; not used otherwise
Pair = tuple[BoundedCorpus, BoundedCorpus]


@dataclass(frozen=True, eq=False)
class ReleasedCase:
    """A canary, and the test of a released value that did best in rehearsals: sign · (score − threshold) > 0."""

    mechanism: Mechanism[Any]
    corpora: Pair
    words: tuple[str, ...]
    score: Score
    sign: int
    threshold: float
    notes: tuple[str, ...]

    @classmethod
    def worst(cls, mechanism: Mechanism[Any], cases: Sequence[tuple[Design, Pair]]) -> "ReleasedCase":
        """The canary and score that separate best."""
        best, most, notes = None, -1.0, []
        for design, corpora in cases:
            words = tuple(dict.fromkeys(word for document in design.canary.documents for word in document))
            runs = range(_REHEARSALS // 2)
            values = [[released_value(mechanism, corpus, secure_rng()) for _ in runs] for corpus in corpora]
            if all(value is None for world in values for value in world):
                notes.append("Nothing was released with some of the canaries: the audit had no value to test.")
                continue
            for apart, score, sign, middle in _rehearsed(values, words):
                if apart > most:
                    best, most = cls(mechanism, corpora, words, score, sign, middle, ()), apart
        if best is None:
            _, corpora = cases[0]
            best = cls(mechanism, corpora, (), lambda value, words: 0.0 if value is None else 1.0, 1, 0.5, ())
        elif most == 0:
            notes.append("No score differed between runs with and without the canary: it may never reach the release.")
        return replace(best, notes=tuple(dict.fromkeys(notes)))

    def __call__(self, within: bool) -> float:
        """The score of a fresh run."""
        value = released_value(self.mechanism, self.corpora[within], secure_rng())
        return self.sign * (self.score(value, self.words) - self.threshold)


def through_release(
    case: ReleasedCase, claim: Guarantee, *, trials: int, error: float, seconds: float
) -> DistinguishingResult:
    """Fresh runs with and without the canary, against the curve of what is claimed."""
    curve = claimed_curve(claim.events)
    return distinguish(case, curve, delta=claim.delta, trials=trials, error=error, seconds=seconds)
