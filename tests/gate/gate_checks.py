"""What the gate asks beside the examiner: that a mechanism conforms, and that what is not proved says so.

Each check raises AssertionError with what is wrong.
"""

import json
from dataclasses import FrozenInstanceError, fields, is_dataclass

from gate_corpora import WORDS
from gate_plans import DELTA, EPSILON

from dptopics.audit.claim.transcript import Recorder, run
from dptopics.plan import Plan
from dptopics.privacy.events import Failure
from dptopics.privacy.guarantee import Strength
from dptopics.privacy.rng import secure_rng


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
    failing = sum(event.probability for event in promise.events if isinstance(event, Failure))
    assert failing <= promise.delta, "failures are more likely than δ"
    release = run(mechanism, case.crowd().bounded(unit=case.unit), Recorder(), secure_rng())
    assert release is not None, "nothing was released"
    assert len(getattr(release.value, "vocabulary", release.value)), "the release is empty"
    assert release.guarantee == promise, "the release promises something else than the mechanism"
    written = json.dumps(release.settings, allow_nan=False)
    assert json.loads(written) == release.settings, "settings are not plain data"
    assert not [word for word in WORDS if f'"{word}"' in written], "words in the settings"
    plain_plan(case.plan)


def plain_plan(plan):
    """A plan can be written down and read again: whoever has the bundle can run the mechanism again."""
    given = (plan.vocabulary, plan.prior, plan.settings.get("atlas"))
    known = tuple(value for value in given if hasattr(value, "sha256"))
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict())), known=known) == plan, "its plan is not plain data"


def honest(mechanism):
    """A mechanism that is not proved says so, and why."""
    promise = mechanism.guarantee
    assert promise.strength is not Strength.PROVED
    assert promise.assumptions, "it does not say what is missing"
