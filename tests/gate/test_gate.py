"""Every mechanism that says `proved`, and every composition that the command line can build, goes through the gate.

They are found through the registry: one that draws no noise turns this red without anybody adding a test.
"""

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from gate_checks import honest, plain_plan
from gate_plans import Case, compositions, each, installed, proved
from gate_problems import CHEAP, SHORT, problems

from dptopics.mechanisms.mechanism import Job
from dptopics.privacy.guarantee import Strength, Unit
from dptopics.registry import mechanisms

CENTRAL = (Job.VOCABULARY, Job.TOPICS, Job.NGRAMS, Job.COUNTS)
ALONE = [case for job in CENTRAL for case in each(job)]
WHOLE = compositions()


def test_every_proved_mechanism_is_here():
    wanted = {(job, name) for job in CENTRAL for name in mechanisms(job) if proved(job, name) and installed(name)}
    assert {(case.job, case.name) for case in ALONE if not case.settings} == wanted
    assert {(case.job, name) for case in WHOLE for name in case.name.split(",")} == wanted
    assert len(wanted) >= 12


@pytest.mark.parametrize("case", [case for case in ALONE if not case.settings], ids=str)
def test_proved_mechanisms(case):
    mechanism = case.build()
    assert mechanism.guarantee.strength is Strength.PROVED
    assert problems(case, mechanism) == []


@pytest.mark.parametrize("case", [case for case in ALONE if case.settings], ids=str)
def test_with_other_settings(case):
    assert problems(case, case.build(), SHORT) == []


@pytest.mark.parametrize("case", [case for case in ALONE if case.job is Job.TOPICS and not case.settings], ids=str)
def test_with_as_many_rounds_as_by_default(case):
    assert problems(replace(case, short=False), replace(case, short=False).build(), CHEAP) == []


@pytest.mark.parametrize("case", ALONE, ids=str)
def test_plans_can_be_written_down(case):
    plain_plan(case.plan)


@pytest.mark.parametrize("case", WHOLE, ids=str)
def test_compositions(case):
    mechanism = case.build()
    if mechanism is None:
        # a choice among unequal relations, or with themes, which are no distributions over words
        assert {"laplace", "atlas"} & set(case.name.split(","))
        return
    assert problems(case, mechanism, CHEAP) == []


@pytest.mark.parametrize(
    "case",
    [
        Case(Job.TOPICS, "variational", "weighted"),
        Case(Job.TOPICS, "variational", "greedy", unit=Unit.DOCUMENT),
        Case(Job.TOPICS, "mixture,variational", "list"),
        Case(Job.NGRAMS, "laplace", "policy", "gaussian"),
    ],
    ids=str,
)
def test_some_compositions_by_runs_too(case):
    assert problems(case, case.build(), SHORT) == []


# --- what is not proved ---


@pytest.mark.parametrize(
    "job, name", [(job, name) for job in CENTRAL for name in mechanisms(job) if not proved(job, name)]
)
def test_what_is_not_proved_says_so(job, name):
    honest(mechanisms(job)[name].example())
    case = Case(job, name, "list" if job is Job.TOPICS else None)
    for one in (case, replace(case, words="weighted")):
        mechanism = one.build()
        if mechanism is not None:
            assert problems(one, mechanism) == []
            honest(mechanism)


# --- what is drawn on devices ---


def test_every_local_randomizer_is_enumerated_exactly():
    # Their reports are drawn on devices, one person each: no sums. Whole channels are written out instead.
    source = Path(__file__).parents[1] / "local" / "test_channels.py"
    nodes = ast.walk(ast.parse(source.read_text("utf-8")))
    called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    local = mechanisms(Job.LOCAL)
    assert len(local) >= 3
    assert {kind.__name__ for kind in local.values()} <= called
