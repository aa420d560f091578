"""Audits with canaries: invented units, in the data or not by a coin, that show whether a mechanism hides them.

The owner's door. Mechanisms run uncharged, as often as the audit needs, and what comes back is not for release. Coins
and noise come from the generator given: a seeded NumPy generator is fast and repeats, and is fine here, because what is
measured is the law of the noise and nothing is published.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.audit.claim.curves import (
    EpsilonAudit,
    check_confidence,
    check_relation,
    claimed_curve,
    curve_bound_from_trials,
    lower_bound_from_trials,
    one_run_curve_bound,
    one_run_lower_bound,
)
from dptopics.audit.claim.distinguishing import SCORES, Canary, Score, Words, released_value, separation, with_units
from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Guarantee
from dptopics.release.ngrams import NgramTable
from dptopics.release.topic_model import TopicModel

_RELATION = Relation.ADD_OR_REMOVE  # a canary is in, or it is not: nobody takes its place

DESIGNS = (
    Canary(),
    Canary(crowd=30),
    Canary(crowd=300),
    Canary(n_words=20),
    Canary(n_words=20, crowd=300),
    Canary(words=Words.WIDESPREAD),
)
ONE_RUN = Canary(crowd=30)


class _Case(NamedTuple):
    """Two neighbours, and the words of the unit between them."""

    words: list[str]
    without: BoundedCorpus
    within: BoundedCorpus


def audit_by_trials(
    mechanism: Mechanism[Any],
    corpus: Corpus,
    *,
    trials: int,
    rng: Generator,
    confidence: float = 0.999,
    designs: Sequence[Canary] = DESIGNS,
    scores: Mapping[str, Score] = SCORES,
    rehearsals: int = 32,
    max_docs: int | None = None,
    max_words: int | None = None,
) -> EpsilonAudit:
    """Run ``mechanism`` ``trials`` times with one canary in or out by a fair coin, and bound ε from what shows.

    Which design and which score tell most is chosen by ``rehearsals`` runs of each design, which are not counted: the
    trials are new runs. A mechanism that releases neither words nor topics needs ``scores`` of its own. Limits as for
    :meth:`dptopics.Corpus.bounded`.
    """
    guarantee = _claim(mechanism, confidence)
    if trials < 4 or rehearsals < 4 or not designs or not scores:
        raise InputError(f"an audit needs a design, a score, 4 trials and 4 rehearsals, got {trials} and {rehearsals}.")
    cases = []
    for design in designs:
        (words,) = design.choose(corpus, 1)
        background = design.crowded(corpus, [words])
        pair = (background, with_units(background, [words]))
        cases.append(_Case(words, *(_bounded(mechanism, c, max_docs, max_words) for c in pair)))
    share = rehearsals * len(cases) / (rehearsals * len(cases) + trials)
    with progress.part(0.0, share):
        case, score = _rehearse(mechanism, cases, scores, rehearsals, rng)
    coins = rng.random(trials) < 0.5
    with progress.part(share, 1.0):
        found = np.array([score(value, case.words) for value in _runs(mechanism, case, coins, rng)])
    each: dict[str, Any] = {"delta": guarantee.delta, "confidence": (1 + confidence) / 2}  # two bounds share the error
    bound = lower_bound_from_trials(found[coins], found[~coins], **each)
    curve = curve_bound_from_trials(found[coins], found[~coins], curve=claimed_curve(guarantee.events), **each)
    return _audit(mechanism, guarantee, bound, confidence, curve_bound=curve, trials=trials, method="trials")


def audit_one_run(
    mechanism: Mechanism[Any],
    corpus: Corpus,
    *,
    canaries: int,
    guesses: int,
    rng: Generator,
    confidence: float = 0.999,
    design: Canary = ONE_RUN,
    score: Score | None = None,
    max_docs: int | None = None,
    max_words: int | None = None,
) -> EpsilonAudit:
    """Run ``mechanism`` once with each of many canaries in by a fair coin, and bound ε from how many are found out.

    Half of the guesses say "in", of the canaries of the highest scores, and half "out", of the lowest. ``guesses``,
    ``design`` and ``score`` must be fixed before the run is seen. Every canary has words of its own, and so its own
    crowd: a large crowd makes a large corpus.
    """
    guarantee = _claim(mechanism, confidence)
    if not 1 <= guesses <= canaries:
        raise InputError(f"guesses must lie between 1 and the number of canaries, got {guesses} and {canaries}.")
    words = design.choose(corpus, canaries)
    coins = rng.random(canaries) < 0.5
    background = design.crowded(corpus, words)
    everybody = with_units(background, [w for w, coin in zip(words, coins, strict=True) if coin])
    value = released_value(mechanism, _bounded(mechanism, everybody, max_docs, max_words), rng)
    rate = _usual_score(value) if score is None else score
    found = np.array([rate(value, w) for w in words])
    # Equal scores are put in an order that knows nothing of the coins.
    order = np.lexsort((rng.random(canaries), found))
    lowest, highest = order[: guesses - guesses // 2], order[canaries - guesses // 2 :]
    right = int(np.count_nonzero(~coins[lowest]) + np.count_nonzero(coins[highest]))
    seen: dict[str, Any] = {"m": canaries, "r": guesses, "v": right, "delta": guarantee.delta}
    seen["beta"] = (1 - confidence) / 2  # two bounds share the error
    curve = one_run_curve_bound(curve=claimed_curve(guarantee.events), **seen)
    how: dict[str, Any] = {"trials": canaries, "method": "one-run", "guesses": guesses, "right": right}
    return _audit(mechanism, guarantee, one_run_lower_bound(**seen), confidence, curve_bound=curve, **how)


def _audit(mechanism: Mechanism[Any], claim: Guarantee, bound: float, confidence: float, **how: Any) -> EpsilonAudit:
    """The bound beside what is claimed."""
    return EpsilonAudit.of(mechanism.name, claim, relation=_RELATION, lower_bound=bound, confidence=confidence, **how)


def _claim(mechanism: Mechanism[Any], confidence: float) -> Guarantee:
    """The guarantee, if an audit with canaries can be held against it: refused before anything runs."""
    guarantee = mechanism.guarantee
    check_relation(guarantee, _RELATION)
    check_confidence(guarantee.delta, confidence)
    return guarantee


def _bounded(mechanism: Mechanism[Any], corpus: Corpus, max_docs: int | None, max_words: int | None) -> BoundedCorpus:
    bounded = corpus.bounded(unit=mechanism.unit, max_docs=max_docs, max_words=max_words)
    mechanism.check(bounded)
    return bounded


def _runs(mechanism: Mechanism[Any], case: _Case, coins: NDArray[np.bool_], rng: Generator) -> Iterator[Any]:
    """The released values one after another: only their scores are kept."""
    for number, coin in enumerate(coins):
        with progress.part(number / coins.size, (number + 1) / coins.size):
            value = released_value(mechanism, case.within if coin else case.without, rng)
        yield value


def _rehearse(
    mechanism: Mechanism[Any], cases: Sequence[_Case], scores: Mapping[str, Score], rehearsals: int, rng: Generator
) -> tuple[_Case, Score]:
    """The case and the score that tell in from out best, on runs that serve for nothing else."""
    coins = np.arange(rehearsals) % 2 == 1
    found = []
    for number, case in enumerate(cases):
        with progress.part(number / len(cases), (number + 1) / len(cases)):
            values = list(_runs(mechanism, case, coins, rng))
        if scores is SCORES:
            _usual_score(values[0])  # refuse what they cannot read: it would look as if nothing leaked
        for score in scores.values():
            numbers = np.array([score(value, case.words) for value in values])
            found.append((separation(numbers[coins], numbers[~coins]), case, score))
    _, case, score = max(found, key=lambda one: one[0])
    return case, score


def _usual_score(value: Any) -> Score:
    """The score for a kind of release."""
    if value is None or isinstance(value, Vocabulary):
        return SCORES["weight"]
    if isinstance(value, TopicModel):
        # Noise adds up over topics, so one topic tells more; without noise all of them give the exact count.
        return SCORES["all topics" if value.noise_std is None else "heaviest topic"]
    if isinstance(value, NgramTable):
        return SCORES["n-grams"]
    raise InputError(f"there is no score for a release of type {type(value).__name__}. Give one.")
