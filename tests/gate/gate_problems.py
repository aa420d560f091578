"""The gate: no untested claim passes. Every mechanism that says `proved` is examined, as an audit examines a plan."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from gate_checks import conformance, honest
from numpy import linalg

from dptopics.audit.claim.examiner import Effort, audit_claim
from dptopics.audit.claim.transcript import bytes_of
from dptopics.learners import spectral
from dptopics.mechanisms.topics import embedded, embedded_space
from dptopics.privacy.guarantee import Strength

# The same checks as in an audit, with less of everything: the gate has hundreds of mechanisms and compositions.
FULL = Effort(trials=512, runs=120, units=30, strangers=4, seconds=60)
SHORT = Effort(trials=64, runs=24, units=30, strangers=2, documents=300, shifts=(), seconds=60)
CHEAP = Effort(trials=0, runs=4, units=30, strangers=0, documents=30, shifts=(), seconds=60)


def problems(case, mechanism, effort=FULL):
    """What is wrong with a mechanism, as (check, message); nothing is wrong with one that does not say `proved`."""
    try:
        if mechanism.guarantee.strength is not Strength.PROVED:
            honest(mechanism)
            return []
        if effort is FULL:
            conformance(case, mechanism)
    except AssertionError as error:
        return [("conformance", str(error))]
    with quick():
        found = audit_claim(mechanism, case.crowd(), effort=effort)
    unseen = [("not seen", note) for note in found.notes]
    return [(one.check, one.what) for one in found.findings] or unseen


@contextmanager
def quick():
    """Post-processing of the same answers is not computed again."""
    pure = ((embedded_space, "of_words"), (embedded, "grouped"), (spectral, "orthogonal_components"), (linalg, "eigh"))
    with ExitStack() as patched:
        for module, name in pure:
            patched.enter_context(patch.object(module, name, _remembered(getattr(module, name))))
        yield


def _remembered(function):
    known = {}

    def remembered(*public):
        key = bytes_of(public)
        if key not in known:
            known[key] = function(*public)
        return known[key]

    return remembered
