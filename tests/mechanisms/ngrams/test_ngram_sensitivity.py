"""The bound b of the sound twin: golden values, brute force over every reachable state, neighbours of corpora."""

from fractions import Fraction
from math import ceil, log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.ngrams.bayes import BayesNgrams, largest_step, weighted_log
from dptopics.mechanisms.ngrams.laplace import LaplaceNgrams
from dptopics.mechanisms.queries import grid_for

WORDS = [f"n{letter}" for letter in "abcdef"]
LIST = Vocabulary.of(WORDS)


@pytest.mark.parametrize(
    "most, slope, centre, b",
    [
        (1, 0.1, 0.0, 0.325569),
        (1, 0.01, 5.0, 0.0430685),
        (10, 1.0, 0.0, 0.923406),
        (10, 0.1, 5.0, 0.0944097),
        (5, 0.05, 4.0, 0.0548419),
        (10, 10.0, 5.0, 4.306853),
    ],
)
def test_golden_b(most, slope, centre, b):  # computed by independent code from the formula
    assert largest_step(most, slope, centre) == pytest.approx(b, rel=2e-6)


def every_step(most, slope, centre):
    """All changes over N, c and δ, one after another."""

    def weight(users):
        return min(1.0, slope * users / most)

    for users in range(ceil(most / slope) + 3):
        for count in range(users, most * users + 1):
            for delta in range(1, most + 1):
                after = weight(users + 1) * (log(count + delta + 1) - centre)
                yield abs(after - weight(users) * (log(count + 1) - centre))


@settings(max_examples=60)
@given(st.integers(1, 6), st.floats(0.15, 30.0), st.floats(-4.0, 9.0))
def test_search_finds_the_largest_of_all_steps(most, slope, centre):
    assert largest_step(most, slope, centre) == pytest.approx(max(every_step(most, slope, centre)), rel=1e-12)


@pytest.mark.parametrize("slope", [0.0, -1.0, 1e-7, float("nan")])
def test_slopes_out_of_reach(slope):
    with pytest.raises((InputError, ZeroDivisionError)):
        BayesNgrams(scale=1.0, delta=1e-6, slope=slope)


# --- neighbours of generated corpora ---

COUNTS = st.dictionaries(st.sampled_from(WORDS), st.integers(1, 40), max_size=6)


def corpus_of(units):
    rows = np.array([[unit.get(word, 0) for word in WORDS] for unit in units])
    names = [f"author {number}" for number in range(len(units))]
    return Corpus.from_counts(rows, WORDS, authors=names, public_vocabulary=True).bounded()


@settings(max_examples=120)
@given(
    st.lists(COUNTS, min_size=1, max_size=12),
    COUNTS,
    st.integers(1, 6),
    st.integers(1, 5),
    st.one_of(st.none(), st.floats(0.05, 20.0)),
    st.floats(-2.0, 8.0),
    st.sampled_from(["gaussian", "laplace"]),
)
def test_bound_is_never_exceeded(others, unit, limit, most, slope, centre, noise):
    assume(any(others))
    mechanism = BayesNgrams(
        scale=1.0, delta=1e-3, max_words=limit, max_count=most, slope=slope, centre=centre, noise=noise
    )
    with_unit, without = (mechanism._steps(corpus_of(units)) for units in ([*others, unit], others))
    moves = [int(a) - int(b) for a, b in zip(with_unit, without, strict=True)]
    assert sum(move != 0 for move in moves) <= limit
    allowed = Fraction(mechanism.bound) / Fraction(mechanism.grid)
    if noise == "laplace":
        assert sum(map(abs, moves)) <= allowed
    else:
        assert sum(move**2 for move in moves) <= allowed**2
    one = Fraction(mechanism.step) / Fraction(mechanism.grid) + 2
    assert max(map(abs, moves), default=0) <= one


@pytest.mark.parametrize("most, slope, centre", [(1, 0.1, 0.0), (3, 0.5, 4.0), (2, 0.05, 1.0), (4, None, 0.0)])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_bound_is_attained_within_a_tenth(most, slope, centre, noise):
    """Some data set and some author move f by nine tenths of the bound: look through all states, then build one."""
    mechanism = BayesNgrams(scale=1.0, delta=1e-3, max_words=6, max_count=most, slope=slope, centre=centre, noise=noise)
    states = [(0, 0, most)] if slope is None else [
        (users, count, delta)
        for users in range(ceil(most / slope) + 2)
        for count in {users, most * users}
        for delta in {1, most}
    ]  # fmt: skip
    found = 0.0
    for users, count, delta in states:
        others = [dict.fromkeys(WORDS, count // users) for _ in range(users)]
        base = mechanism._steps(corpus_of(others)) if others else np.zeros(6, np.int64)
        move = (mechanism._steps(corpus_of([*others, dict.fromkeys(WORDS, delta)])) - base).astype(float)
        size = np.abs(move).sum() if noise == "laplace" else np.linalg.norm(move)
        found = max(found, size * mechanism.grid)
        if found >= 0.9 * mechanism.bound:
            return
    pytest.fail(f"the largest move found is {found / mechanism.bound:.3f} of the bound")


@settings(max_examples=60)
@given(
    st.lists(COUNTS, min_size=1, max_size=8),
    COUNTS,
    st.integers(1, 50),
    st.floats(0.5, 30.0),
    st.sampled_from(["gaussian", "laplace"]),
)
def test_noisy_counts_move_by_their_bound(others, unit, most, total, noise):
    assume(any(others))
    mechanism = LaplaceNgrams(scale=1.0, delta=1e-3, max_total=total, max_count=most, noise=noise)
    seen = []

    class Observed:
        def __init__(self, corpus):
            self.corpus = corpus

        def __getattr__(self, name):
            return getattr(self.corpus, name)

        def bounded_sum(self, *arguments, **settings):
            seen.append(self.corpus.bounded_sum(*arguments, **settings))
            return seen[-1].copy()  # noise is added in place

    for units in ([*others, unit], others):
        mechanism(Observed(corpus_of(units)), np.random.default_rng(0))
    moves = [int(a) - int(b) for a, b in zip(seen[0][:, 0], seen[1][:, 0], strict=True)]
    allowed = Fraction(total) / Fraction(grid_for(total, mechanism.scale))
    assert min(moves) >= 0
    if noise == "laplace":
        assert sum(moves) <= allowed
    else:
        assert sum(move**2 for move in moves) <= allowed**2


def test_nobody_has_it_nothing_is_said():
    assert weighted_log(np.zeros(3), np.zeros(3), max_count=2, slope=1.0, centre=4.0).tolist() == [0, 0, 0]
