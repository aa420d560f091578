"""The gate: no untested claim passes. Every mechanism that says `proved` goes through every check."""

from gate_checks import conformance, honest, price, replay
from gate_search import neighbour_property
from gate_statistics import law_of_noise, lone_words, statistical_bound
from gate_watching import quick

from dptopics.mechanisms.mechanism import Job
from dptopics.privacy.events import Failure
from dptopics.privacy.guarantee import Strength


def drawn_and_priced(case, mechanism):
    """What a run draws is what is priced, and the release depends on nothing else."""
    first = replay(case, mechanism)
    price(mechanism, first.queries)


def lone_words_of_vocabularies(case, mechanism):
    """Failures that are priced are thresholds; those of pipelines are tested where they come from."""
    if case.job is Job.VOCABULARY and any(isinstance(event, Failure) for event in mechanism.guarantee.events):
        lone_words(case)


def a_few_neighbours(case, mechanism):
    """The neighbour property, quickly: there are hundreds of compositions (benchmarks/gate_neighbours.py does more)."""
    neighbour_property(case, mechanism, pairs=2)


CHEAP = (drawn_and_priced, a_few_neighbours)
EVERY = (conformance, drawn_and_priced, neighbour_property, law_of_noise, statistical_bound, lone_words_of_vocabularies)


def problems(case, mechanism, checks=EVERY):
    """What is wrong with a mechanism, as (check, message); nothing is wrong with one that does not say `proved`."""
    found = []
    if mechanism.guarantee.strength is not Strength.PROVED:
        checks = (lambda case, mechanism: honest(mechanism),)
    for check in checks:
        try:
            with quick():
                check(case, mechanism)
        except AssertionError as error:
            found.append((check.__name__, str(error)))
    return found
