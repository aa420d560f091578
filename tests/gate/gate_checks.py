"""What every mechanism that says `proved` must do in one run: conform, draw what it states, and depend on nothing else.

Each check raises AssertionError with what is wrong. They are made against mistakes, not against somebody who writes a
mechanism that behaves while it is watched.
"""

import json
from dataclasses import FrozenInstanceError, fields, is_dataclass
from fractions import Fraction

import numpy as np
from gate_corpora import OTHER_WORDS, WORDS, corpus_of, crowd, strangers
from gate_plans import DELTA, EPSILON
from gate_watching import planned, run

from dptopics.audit.claim.case import compare
from dptopics.audit.claim.transcript import Follower, LeftThePath, Player, Recorder, bytes_of
from dptopics.plan import Plan
from dptopics.privacy.events import Failure
from dptopics.privacy.guarantee import Strength


def conformance(case, mechanism):
    """Frozen and public settings; a guarantee that keeps to the plan, is the release's own, and follows the noise."""
    promise = mechanism.guarantee
    assert is_dataclass(mechanism), "no dataclass"
    assert all(field.kw_only for field in fields(mechanism)), "settings without names"
    try:
        mechanism.delta = 0.5
    except FrozenInstanceError:
        pass
    else:
        raise AssertionError("its settings can be changed after the price was told")
    assert (promise.unit, promise.delta) == (case.unit, DELTA), "it promises something else than the plan asks for"
    assert EPSILON * (1 - 1e-6) <= promise.epsilon <= EPSILON, f"calibrated to ε = {promise.epsilon}"
    louder = mechanism.rescaled(2.0).guarantee.epsilon
    assert louder < promise.epsilon < mechanism.rescaled(0.5).guarantee.epsilon, "more noise must cost less"
    release = run(mechanism, case.crowd(), Recorder())
    assert release is not None, "nothing was released"
    assert release.guarantee == promise, "the release promises something else than the mechanism"
    written = json.dumps(release.settings, allow_nan=False)
    assert json.loads(written) == release.settings, "settings are not plain data"
    assert not [word for word in WORDS if f'"{word}"' in written], "words in the settings"
    plain_plan(case.plan)


def plain_plan(plan):
    """A plan can be written down and read again: whoever has the bundle can run the mechanism again."""
    known = tuple(value for value in (plan.vocabulary, plan.prior) if hasattr(value, "sha256"))
    assert plan.replayable, "its plan does not say where its code is"
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict())), known=known) == plan, "its plan is not plain data"


def price(mechanism, queries, *, complete=True):
    """Every draw is one that the guarantee prices, at no more noise than was drawn for the sensitivity stated.

    A run that released nothing is not ``complete``: it may have stopped before its last look.

    Returns, for each look, how far one neighbour may move it according to the guarantee: its noise over the multiplier
    that is priced. Under replace-one that is up to twice what one unit more or less may do.
    """
    promise = mechanism.guarantee
    failed = sum(event.probability for event in promise.events if isinstance(event, Failure))
    assert failed <= promise.delta, "failures are more likely than δ"
    books = compare(promise, queries)
    enough = len(queries) == books.priced if complete else len(queries) <= books.priced
    assert enough, f"{len(queries)} queries were made, {books.priced} are priced"
    assert not books.problem, "what was drawn is not what is priced"
    return [Fraction(allowed) for allowed in books.allowed]


def replay(case, mechanism):
    """What every look returned after its noise on one corpus, played back on another: the same release, bit for bit.

    The other corpus has other words, people and lengths. Then the looks themselves: the other corpus has the same words
    now, and noise that makes exact plus drawn what it was; each look must return what it returned.
    """
    seeded = np.random.default_rng(7)
    first = Recorder(seeded)
    release = run(mechanism, case.crowd(), first, seeded)
    assert release is not None, "nothing was released"
    assert len(getattr(release.value, "vocabulary", release.value)), "the release is empty"
    elsewhere = corpus_of(strangers(), case.unit, words=OTHER_WORDS, public=case.public)
    player = Player(first.answers, seeded := np.random.default_rng(7))
    assert bytes_of(_played(mechanism, elsewhere, player, seeded)) == bytes_of(release), (
        "the release follows other data"
    )
    assert not player.queries, "noise was drawn that no look went through"

    same_words = corpus_of(crowd(41, seed=8), case.unit, public=case.public)
    shadow = Follower(first.answers, seeded=(seeded := np.random.default_rng(7)))
    _played(mechanism, same_words, shadow, seeded)
    pairs = list(zip(first.queries, shadow.queries, strict=True))
    assert all(one.exact.shape == other.exact.shape for one, other in pairs), "the form of a look follows the data"
    cancelling = [one.exact + one.drawn - other.exact for one, other in pairs]
    same_sums = Follower(first.answers, seeded=(seeded := np.random.default_rng(7)))
    with planned(cancelling):
        _played(mechanism, same_words, same_sums, seeded)
    assert list(map(bytes_of, same_sums.answers)) == list(map(bytes_of, first.answers)), (
        "a look tells more than its noise"
    )
    return first


def _played(mechanism, corpus, watcher, rng):
    try:
        return run(mechanism, corpus, watcher, rng)
    except LeftThePath as error:
        raise AssertionError(f"what it looks at follows the data: {error}") from None


def honest(mechanism):
    """A mechanism that is not proved says so, and why."""
    promise = mechanism.guarantee
    assert promise.strength is not Strength.PROVED
    assert promise.assumptions, "it does not say what is missing"
