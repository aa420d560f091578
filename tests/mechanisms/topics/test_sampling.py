"""Sensitivity sampling: neighbours are neighbours, distances are the least over matchings, and the largest counts."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dptopics.core import progress
from dptopics.core.counts import Counts
from dptopics.core.errors import InputError
from dptopics.mechanisms.topics.output_sensitivity import (
    DrawnUnits,
    Units,
    distance,
    draw_pair,
    n_pairs,
    sample_sensitivity,
    show_time,
    steps_of,
)

SIZES = np.array([1, 3, 0, 2, 1, 4])


def some_units(n_words=8):
    """Units of several documents; the count of a document's only word is its number plus one."""
    start = np.concatenate([[0], np.cumsum(SIZES)])
    n = int(start[-1])
    counts = Counts(
        np.arange(n + 1),
        (np.arange(n) % n_words).astype(np.int32),
        np.arange(1, n + 1, dtype=np.int32),
        n_words,
        np.arange(n, dtype=np.uint64),
    )
    return Units(counts, start)


def histogram(counts):
    return np.bincount(counts.word, counts.count, counts.n_words)[None].astype(float)


def lots(seed=0):
    return np.random.default_rng(seed)


def test_taking_units_keeps_their_documents_together():
    units = some_units()
    assert units.n == 6
    assert units.take(np.array([3, 1, 2, 3])).count.tolist() == [5, 6, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("seed", range(20))
def test_neighbours_differ_by_one_unit(seed):
    units = some_units()
    first, second = (sorted(part.count.tolist()) for part in draw_pair(DrawnUnits(units), 9, lots(seed)))
    documents = [list(range(units.start[u] + 1, units.start[u + 1] + 1)) for u in range(units.n)]
    possible = []
    for out in documents:
        for new in documents:
            rest = list(first)
            if all(d in rest for d in out):
                for d in out:
                    rest.remove(d)
                possible.append(sorted(rest + new))
    assert second in possible


def test_the_new_unit_may_stand_anywhere():
    # A learner that walks through documents in order would otherwise meet the new one always last.
    units = Units(some_units().counts.take(np.arange(6)), np.arange(7))
    places = []
    for seed in range(200):
        first, second = draw_pair(DrawnUnits(units), 5, lots(seed))
        changed = np.flatnonzero(first.count != second.count)
        if changed.size:
            places.append(int(changed[0]))
    assert set(places) == {0, 1, 2, 3, 4}


def test_every_unit_is_as_likely():
    units = some_units()
    drawn = DrawnUnits(units).draw(6000, lots())
    assert np.diff(drawn.start).mean() == pytest.approx(SIZES.mean(), rel=0.05)
    assert drawn.n == 6000


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4))
def test_matched_distance_is_the_least_over_all_orders(seed, rows, columns):
    rng = lots(seed)
    first, second = rng.normal(size=(2, rows, columns))
    best = min(np.linalg.norm(first - second[list(order)]) for order in permutations(range(rows)))
    assert distance(first, second) == pytest.approx(best)
    assert distance(first, second) >= best
    assert distance(first, second, matched=False) == pytest.approx(np.linalg.norm(first - second))


def test_largest_of_the_distances_is_taken():
    units, seen = DrawnUnits(some_units()), []

    class Kept:
        def begin(self, key):
            return {}

        def add(self, i, far):
            seen.append((i, far))

    found = sample_sensitivity(histogram, units, 5, gamma=0.1, matched=False, checkpoint=Kept(), grid=2.0**-10)
    assert len(seen) == n_pairs(0.1) == len(found.distances) == 9
    assert found.value == max(found.distances) == max(far for _, far in seen)
    assert found.shape == (1, 8)
    # Pair i again, by hand.
    first, second = draw_pair(units, 5, np.random.Generator(np.random.PCG64([0, 4])))
    assert found.distances[4] == pytest.approx(np.linalg.norm(histogram(first) - histogram(second)))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_threads_change_nothing(workers):
    settings = {"gamma": 0.05, "matched": False}
    one, other = (
        sample_sensitivity(histogram, DrawnUnits(some_units()), 5, workers=w, **settings) for w in (1, workers)
    )
    assert one == other


def test_processes_change_nothing():
    settings = {"gamma": 0.3, "matched": False}
    one, other = (
        sample_sensitivity(histogram, DrawnUnits(some_units()), 5, processes=p, workers=2, **settings)
        for p in (False, True)
    )
    assert one == other


def test_a_stopped_run_goes_on():
    calls = []

    def counted(counts):
        calls.append(1)
        return histogram(counts)

    class Kept(dict):
        def begin(self, key):
            return {i: far for i, far in self.items() if i != 3}

        def add(self, i, far):
            self[i] = far

    kept = Kept()
    whole = sample_sensitivity(counted, DrawnUnits(some_units()), 5, gamma=0.1, checkpoint=kept)
    before = len(calls)
    again = sample_sensitivity(counted, DrawnUnits(some_units()), 5, gamma=0.1, checkpoint=kept)
    assert again == whole
    assert (before, len(calls) - before) == (18, 2)


def test_the_claim_holds_for_exchangeable_pairs():
    # P[a fresh distance > largest of h] ≤ γ over sampler and fresh pair: 1/(h + 1) for distances without ties.
    rng = lots(7)
    for gamma in (0.3, 0.1):
        drawn = rng.exponential(size=(20000, n_pairs(gamma) + 1))
        missed = np.mean(drawn[:, -1] > drawn[:, :-1].max(axis=1))
        assert missed == pytest.approx(1 / (n_pairs(gamma) + 1), abs=0.01)
        assert missed < gamma + 0.01


def test_progress_ends_at_one():
    shares = []
    with progress.shown_by(shares.append):
        sample_sensitivity(histogram, DrawnUnits(some_units()), 5, gamma=0.2, workers=1)
    assert shares == sorted(shares)
    assert shares[-1] == 1


# --- bad input ---


def test_too_many_pairs_tell_how_long_they_take():
    with pytest.raises(
        InputError, match=r"needs 9,498 pairs of fits: about .* Say --no-sampling-limit .*'exchangeable': 49 pairs"
    ):
        sample_sensitivity(histogram, DrawnUnits(some_units()), 5, gamma=0.02, sample_size="dkw")
    allowed = {"gamma": 0.1, "sample_size": "binomial", "max_pairs": None}
    assert len(sample_sensitivity(histogram, DrawnUnits(some_units()), 5, **allowed).distances) == 49


def test_one_unit_is_too_few():
    with pytest.raises(InputError, match="at least 2 authors"):
        sample_sensitivity(histogram, DrawnUnits(some_units()), 1, gamma=0.1)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_function_must_give_numbers(wrong):
    with pytest.raises(InputError, match="NaN or infinity"):
        sample_sensitivity(lambda counts: np.full((2, 2), wrong), DrawnUnits(some_units()), 5, gamma=0.1)


def test_a_function_must_give_one_shape():
    def growing(counts):
        return np.ones((counts.n_documents, 2))

    with pytest.raises(InputError, match="one shape, whatever the data"):
        sample_sensitivity(growing, DrawnUnits(some_units()), 5, gamma=0.1)


@pytest.mark.parametrize("matrix", [np.ones(3), np.ones((0, 3)), np.ones((2, 2, 2))])
def test_a_function_must_give_a_matrix(matrix):
    with pytest.raises(InputError, match="must return a matrix"):
        steps_of(lambda counts: matrix, some_units().counts, 2.0**-20)


def test_numbers_too_large_for_the_grid():
    with pytest.raises(InputError, match="coarser grid"):
        steps_of(lambda counts: np.full((1, 1), 1e12), some_units().counts, 2.0**-20)


def test_unknown_sample_size():
    with pytest.raises(InputError, match="sample_size must be"):
        n_pairs(0.1, "guess")


def test_a_function_that_never_moves_still_gets_noise():
    found = sample_sensitivity(lambda counts: np.ones((2, 2)), DrawnUnits(some_units()), 5, gamma=0.1, grid=2.0**-8)
    assert found.value == 2.0**-8


def test_times_for_people():
    assert [show_time(s) for s in (0.5, 89, 200, 2 * 86400)] == ["0.5 seconds", "89 seconds", "3.3 minutes", "2 days"]
