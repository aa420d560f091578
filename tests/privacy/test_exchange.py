"""One unit in place of another: what it costs, that it never costs less, and that sums move no further than it says."""

from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.queries import watched_by
from dptopics.privacy.events import (
    Failure,
    Gaussian,
    Laplace,
    Noise,
    RandomizedResponse,
    Relation,
    SampledGaussian,
    to_replace_one,
)
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.privacy.pricing import epsilon_of, smallest
from dptopics.public.atlas import parsed
from dptopics.registry import mechanisms

DELTA = 1e-6


def promise(*events, delta=DELTA, strength=Strength.PROVED):
    return Guarantee(events=events, delta=delta, unit=Unit.AUTHOR, strength=strength)


# --- the price ---


@pytest.mark.parametrize("epsilon, any_sign, not_negative", [(1, 2.123, 1.455), (3, 6.579, 4.424), (8, 18.650, 12.114)])
def test_golden_values(epsilon, any_sign, not_negative):
    # δ(ε) of Balle & Wang 2018, theorem 8, at 2μ and at √2·μ.
    sigma = smallest(lambda s: epsilon_of((Gaussian(s),), DELTA) <= epsilon)
    assert promise(Gaussian(sigma)).replace_one == (pytest.approx(any_sign, abs=6e-4), DELTA)
    assert promise(Gaussian(sigma, nonnegative=True)).replace_one == (pytest.approx(not_negative, abs=6e-4), DELTA)
    assert promise(Gaussian(sigma, nonnegative=True)).epsilon == promise(Gaussian(sigma)).epsilon


def test_each_kind_of_event():
    other = Relation.REPLACE
    assert to_replace_one([Gaussian(2.0, 3)]) == (Gaussian(1.0, 3, other),)
    assert to_replace_one([Gaussian(2.0, 3, nonnegative=True)]) == (Gaussian(2 / sqrt(2), 3, other, True),)
    assert to_replace_one([Laplace(2.0, 3)]) == (Laplace(1.0, 3, other),)
    assert to_replace_one([Failure(1e-7)]) == (Failure(1e-7, other),) * 2
    assert to_replace_one([]) == ()
    for unknown in (SampledGaussian(2.0, 0.5), RandomizedResponse(0.1), Gaussian(2.0, relation=other)):
        assert to_replace_one([Gaussian(2.0), unknown]) is None


def test_failures_count_twice_and_raise_delta():
    both = promise(Gaussian(4.0), Failure(DELTA / 2))
    price = both.replace_one
    assert price.delta == pytest.approx(1.5 * DELTA)
    twice = (Gaussian(2.0), Failure(DELTA / 2), Failure(DELTA / 2))
    assert price.epsilon == pytest.approx(epsilon_of(twice, price.delta), rel=1e-9)
    pure = promise(Laplace(2.0), Failure(DELTA))
    assert pure.replace_one == (pytest.approx(1.0), 2 * DELTA)
    assert promise(Gaussian(4.0), Failure(2 * DELTA)).replace_one.epsilon == float("inf")


def test_what_has_no_figure_states_none():
    assert promise(SampledGaussian(2.0, 0.5)).replace_one is None
    assert promise(Gaussian(2.0), strength=Strength.NONE).replace_one is None
    assert promise(Gaussian(2.0, relation=Relation.REPLACE_WORD)).replace_one is None
    already = promise(Gaussian(2.0, relation=Relation.REPLACE))
    assert already.replace_one == (already.epsilon, DELTA)


EVENT = st.one_of(
    st.builds(Gaussian, st.floats(0.3, 50), st.integers(1, 5), nonnegative=st.booleans()),
    st.builds(Laplace, st.floats(0.3, 50)),
    st.builds(Failure, st.floats(0, 1e-6)),
)


@settings(deadline=None)
@given(st.lists(EVENT, max_size=4).filter(lambda e: sum(isinstance(x, Laplace) for x in e) < 2), st.floats(1e-9, 0.1))
def test_an_exchange_never_costs_less(events, delta):
    whole = promise(*events, delta=delta)
    price = whole.replace_one
    assert price.epsilon >= whole.epsilon
    assert price.delta >= delta


# --- √2: no further than it says, in whole numbers ---

WORDS = ["church", "doctor", "engine", "hockey"]
EVERY_WORD = [[1, 1, 1, 1]]
DOCUMENTS = [[3, 0, 0, 0], [0, 3, 0, 0], [0, 0, 2, 1], [1, 1, 1, 0], [4, 2, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1]]
UNITS = [[d] for d in DOCUMENTS] + [[DOCUMENTS[0], DOCUMENTS[1]], [DOCUMENTS[2], DOCUMENTS[2], DOCUMENTS[4]]]
OWN = {
    "topics embedded": {"steps": 1, "dimensions": 4, "candidates": 4},
    "topics atlas": {
        "dimensions": 4,
        "atlas": parsed("".join(f"## {word}\nwords: {word}\n" for word in WORDS), "english"),
    },
    "topics mixture": {"steps": 2},
    "topics variational": {"steps": 2},
    "vocabulary weighted": {"max_words": 4},
    "vocabulary count": {"max_words": 1},
    "n-grams laplace": {"max_total": 1.0},
}


class Recorder:
    """Keeps looks; answers by what was seen ``before``, so that looks at two corpora are through the same settings."""

    def __init__(self, before=None):
        self.queries, self.answers, self.before = [], [], before

    def query(self, query):
        self.queries.append(query)

    def private_query(self, draw):
        self.answers.append(draw())
        return self.answers[-1] if self.before is None else self.before[len(self.answers) - 1]


def corpus(unit, limited):
    rows = np.array([*EVERY_WORD, *unit])
    authors = ["everybody"] + ["one"] * len(unit)
    whole = Corpus.from_counts(rows, WORDS, authors=authors).bounded(unit="author")
    return whole.limited(vocabulary=Vocabulary.of(WORDS)) if limited else whole


def claims():
    """Every registered mechanism, in every noise, that says of a draw that contributions are not negative."""
    for job in ("vocabulary", "topics", "n-grams"):
        for name, kind in mechanisms(job).items():
            if kind.needs_preparation:
                continue
            for noise in kind.noises or (None,):
                own = (
                    OWN.get(f"{job} {name}", {})
                    | ({"noise": noise} if noise else {})
                    | ({"n_topics": 2} if job == "topics" else {})
                )
                made = kind.template(delta=1e-2, **own)
                if any(getattr(event, "nonnegative", False) for event in made.guarantee.events):
                    yield pytest.param(made, job != "vocabulary", id=f"{job} {name} {noise or ''}")


CLAIMS = list(claims())


def test_the_claims_are_those_of_the_page():
    found = {param.id.split()[1] for param in CLAIMS}
    assert found == {
        "count",
        "weighted",
        "atlas",
        "embedded",
        "mixture",
        "variational",
        "spectral",
        "laplace",
    }


@pytest.mark.parametrize("mechanism, limited", CLAIMS)
def test_sums_move_by_root_two(mechanism, limited):
    claimed = {e.sigma for e in mechanism.guarantee.events if isinstance(e, Gaussian) and e.nonnegative}
    others = {e.sigma for e in mechanism.guarantee.events if isinstance(e, Gaussian) and not e.nonnegative}
    assert not claimed & others  # a look is matched to its event by the noise
    first = Recorder()
    with watched_by(first):
        mechanism(corpus(UNITS[-1], limited), np.random.default_rng(0))
    seen = []
    for unit in UNITS:
        again = Recorder(first.answers)
        with watched_by(again):
            mechanism(corpus(unit, limited), np.random.default_rng(0))
        seen.append(again.queries)
    adaptive = any(getattr(event, "adaptive", False) for event in mechanism.guarantee.events)
    checked, largest, signed = 0, 0.0, 0.0
    for queries in zip(*seen, strict=True):
        multiplier = queries[0].scale / queries[0].sensitivity
        if not adaptive and not any(multiplier == pytest.approx(sigma, rel=1e-9) for sigma in claimed):
            continue
        most = int(queries[0].sensitivity)
        moved = max(
            sum((a - b) ** 2 for a, b in zip(one.exact.ravel().tolist(), other.exact.ravel().tolist(), strict=True))
            for one, other in product(queries, repeat=2)
        )
        if adaptive and any(query.exact.min() < 0 for query in queries):
            signed += multiplier**-2
            continue
        assert moved <= 2 * most * most
        largest = max(largest, moved / most**2)
        checked += 1
    assert checked >= len(claimed)
    assert signed <= sum(sigma**-2 for sigma in others) * (1 + 1e-9) if adaptive else signed == 0
    assert largest > 1  # some exchange moves a sum further than one unit more or less does: the price has a reason


@pytest.mark.parametrize("mechanism, limited", CLAIMS)
def test_no_unit_takes_anything_away(mechanism, limited):
    claimed = {e.sigma for e in mechanism.guarantee.events if isinstance(e, Gaussian) and e.nonnegative}
    signed = []
    for unit in UNITS:
        watcher = Recorder()
        with watched_by(watcher):
            mechanism(corpus(unit, limited), np.random.default_rng(1))
        for query in watcher.queries:
            if any(query.scale / query.sensitivity == pytest.approx(sigma, rel=1e-9) for sigma in claimed):
                assert (query.exact >= 0).all()
            else:
                signed.append(bool((query.exact < 0).any()))
    if (
        signed
    ):  # the draws that do not say so could not: the test would catch them; so few units get no rounds of k-means
        assert any(signed) == (mechanism.name != "atlas")


def test_a_signed_sum_can_move_by_twice_its_bound():
    # Why the mark is not the default: two opposite vectors.
    u, v = np.array([3, 0]), np.array([-3, 0])
    assert np.linalg.norm(u - v) == 2 * np.linalg.norm(u)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=6))
def test_two_vectors_without_negative_numbers(pairs):
    u, v = zip(*pairs, strict=True)
    most = max(sum(x * x for x in u), sum(x * x for x in v))
    assert sum((a - b) ** 2 for a, b in pairs) <= 2 * most


def test_noise_of_either_kind_says_it_where_it_matters():
    assert Noise.GAUSSIAN.event(2.0, nonnegative=True) == Gaussian(2.0, nonnegative=True)
    assert Noise.LAPLACE.event(2.0, nonnegative=True) == Laplace(2.0)
