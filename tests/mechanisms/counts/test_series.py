"""Counts of one period of a series: what one author can move over all periods, and what totals are worth."""

import warnings
from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptopics.core.axes import cell_names
from dptopics.core.errors import InputError
from dptopics.core.periods import Earlier
from dptopics.data.bounded import PeriodCorpus
from dptopics.data.corpus import Corpus
from dptopics.ledger.series import Participation
from dptopics.mechanisms.counts.cells import CountsWithMargins
from dptopics.mechanisms.counts.periods import CountsOfPeriod, Strategy, best_for_totals
from dptopics.mechanisms.queries import watched_by
from dptopics.privacy.controls import under_noised
from dptopics.privacy.guarantee import Unit
from dptopics.privacy.rng import secure_rng

WEEKS = tuple(f"W{week:02}" for week in range(1, 7))
TABLE = {"axes": ("topic", "ward"), "values": (("0", "1", "far"), ("a", "b"))}


@lru_cache
def mechanism(at="W01", *, epsilon=1.0, **more):
    given = {"epsilon": epsilon, "delta": 1e-6, "periods": WEEKS, **TABLE, **more}
    return CountsOfPeriod.calibrated(at=at, **given)


def corpus_of(cells, authors):
    words, counts = cell_names(6), np.zeros((len(cells), 6), np.int64)
    counts[np.arange(len(cells)), cells] = 1
    with warnings.catch_warnings(record=True):  # some weeks are empty
        return Corpus.from_counts(counts, words.words, authors=authors, public_vocabulary=True).bounded()


class Watch:
    """Keeps all looks."""

    def __init__(self):
        self.queries = []

    def query(self, query):
        self.queries.append(query)

    def private_query(self, draw):
        return draw()


# --- the algebra ---


def square_root(strategy):
    c = strategy.coefficients / 256
    return sum(np.diag(np.full(c.size - k, c[k]), -k) for k in range(c.size))


@pytest.mark.parametrize("most, factored, fresh", [(1, 9.8, 30.5), (4, 34, 61), (12, 90, 106), (52, 268, 220)])
def test_running_totals_over_a_year_at_epsilon_one(most, factored, fresh):
    sigma = CountsWithMargins.calibrated(epsilon=1.0, delta=1e-6, over_share=0.0).sigma
    for expected, one in ((factored, Strategy(52, most, True)), (fresh, Strategy(52, most, False))):
        found = sigma * one.of_unit * max(one.of_total(t) for t in range(52))
        assert found == pytest.approx(expected, rel=0.006)
    assert best_for_totals(52, most).factored == (factored < fresh)


@given(st.integers(1, 8), st.integers(1, 8), st.booleans())
def test_no_set_of_periods_moves_more_than_the_first_ones(n, most, factored):
    strategy = Strategy(n, most, factored)
    matrix = square_root(strategy)
    sets = [list(chosen) for k in range(min(most, n) + 1) for chosen in combinations(range(n), k)]
    moved = [np.linalg.norm(matrix[:, chosen].sum(axis=1)) for chosen in sets]
    assert max(moved) == pytest.approx(strategy.of_unit)
    # Contributions of other directions move less: entries are not negative, but rows may differ.
    rng = np.random.default_rng(n)
    for chosen in sets[-20:]:
        rows = np.zeros((n, 4))
        rows[chosen] = np.abs(rng.normal(size=(len(chosen), 4)))
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        assert np.linalg.norm(matrix @ rows) <= strategy.of_unit * (1 + 1e-12)


@given(st.integers(1, 30), st.booleans(), st.integers(0, 99))
def test_measurements_give_totals_back(n, factored, seed):
    strategy = Strategy(n, 3, factored)
    counts = np.random.default_rng(seed).integers(0, 99, (n, 5))
    measured = strategy.measured(counts, 0)
    assert np.array_equal(measured[n // 2 :], strategy.measured(counts, n // 2))
    assert np.allclose(measured / 256, square_root(strategy) @ counts)
    assert np.allclose(strategy.totals(measured / 256), counts.sum(axis=0))
    inverse = np.tril(np.ones((n, n))) @ np.linalg.inv(square_root(strategy))
    assert strategy.of_total(n - 1) == pytest.approx(np.linalg.norm(inverse[-1]))


# --- the mechanism ---


def test_the_whole_series_costs_what_one_table_costs():
    alone = CountsWithMargins.calibrated(epsilon=1.0, delta=1e-6, max_cells=4, **TABLE)
    for more in ({}, {"max_periods": 4}, {"max_periods": 4, "running": True}):
        week = mechanism(**more)
        assert week.guarantee.events == alone.guarantee.events
        assert "all 6 periods of the series together" in " ".join(week.guarantee.assumptions)
    assert mechanism(max_periods=4).noise_std == pytest.approx(2 * alone.noise_std, rel=1e-3)
    assert mechanism(max_periods=99).sensitivity_factor == pytest.approx(6**0.5)


def people(rng, n=40):
    """(week, author, cell) of a few people."""
    return [(week, f"p{rng.integers(n)}", int(rng.integers(6))) for week in range(6) for _ in range(50)]


def run_series(rows, *, most, cap=None, weeks=range(6), noise=0.0, **more):
    """All weeks one after another, as the door runs them: looks, and tables."""
    state, earlier, watch, tables = Participation(series="s", key=b"k"), Earlier.none(), Watch(), []
    for week in weeks:
        here = [(author, cell) for at, author, cell in rows if at == week]
        names = sorted({author for author, _ in here})
        allowed, state = state.admitted(names, week, cap or most)
        kept = {name for name, ok in zip(names, allowed, strict=True) if ok}
        here = [(author, cell) for author, cell in here if author in kept]
        corpus = PeriodCorpus(corpus_of([c for _, c in here], [a for a, _ in here]), earlier)
        with under_noised(noise), watched_by(watch):
            table = mechanism(WEEKS[week], max_periods=most, **more)(corpus, secure_rng()).value
        if table.latest is not None:
            earlier = earlier.followed_by(week, corpus.sums[0][:, 0], table.latest)
        tables.append(table)
    return watch.queries, tables


@settings(max_examples=12)
@given(st.integers(0, 999), st.integers(1, 4), st.booleans(), st.integers(1, 2))
def test_one_author_moves_all_periods_together_by_no_more_than_is_priced(seed, most, running, cells):
    rng = np.random.default_rng(seed)
    others = people(rng)
    # Somebody who writes in every week, more than they may count in; often in the same cell, which is worst.
    mine = [(week, "new", int(rng.integers(6)) if rng.random() < 0.3 else 2) for week in range(6) for _ in range(3)]
    with_me, _ = run_series(others + mine, most=most, running=running, max_cells=cells)
    without, _ = run_series(others, most=most, running=running, max_cells=cells)
    moved = sum(float(((a.exact - b.exact) ** 2).sum()) for a, b in zip(with_me, without, strict=True))
    assert moved <= with_me[0].sensitivity ** 2 * (1 + 1e-9)
    assert len({query.scale for query in with_me}) == 1


@pytest.mark.parametrize("running", [False, True])
def test_without_the_cap_the_sums_move_too_far(running):
    others = people(np.random.default_rng(1))
    mine = [(week, "new", cell) for week in range(6) for cell in range(6)]  # in as much as they can
    for cap, too_far in ((2, False), (3, True), (6, True)):
        with_me, _ = run_series(others + mine, most=2, cap=cap, running=running)
        without, _ = run_series(others, most=2, cap=cap, running=running)
        pairs = zip(with_me, without, strict=True)
        moved = sum(float(((a.exact - b.exact) ** 2).sum()) for a, b in pairs)
        assert moved >= 0.98 * with_me[0].sensitivity ** 2  # the bound is reached
        assert (moved > with_me[0].sensitivity ** 2 * (1 + 1e-9)) is too_far


def test_running_totals_without_noise_are_sums_of_weeks():
    rows = people(np.random.default_rng(5))
    for most in (1, 6):
        _, weekly = run_series(rows, most=most)
        _, totals = run_series(rows, most=most, running=True)
        _, skipping = run_series([row for row in rows if row[0] != 1], most=most, weeks=[0, 2, 5], running=True)
        sums = np.cumsum([table.cube for table in weekly], axis=0)
        for table, expected in zip(totals, sums, strict=True):
            assert np.allclose(table.cube, expected, atol=1e-3)
        assert [len(table.latest) for table in skipping] == [1, 2, 3]
        assert (totals[3].period, totals[3].since, weekly[3].since) == ("W04", "W01", "")


@pytest.mark.parametrize("running", [False, True])
def test_noise_of_periods_and_totals_is_what_they_say_and_half_of_it_is_seen(running):
    def spread(noise):
        errors = []
        for _ in range(60):
            _, tables = run_series([], most=2, noise=noise, running=running, over_share=0.0)
            errors.append([table.cube / table.noise_std for table in tables])
        return np.array(errors)

    all_of_it = spread(1.0)
    assert np.allclose(np.std(all_of_it, axis=(0, 2, 3)), 1.0, atol=0.15)
    assert np.abs(np.std(spread(0.5), axis=(0, 2, 3)) - 1).min() > 0.3
    now = all_of_it[:, :, 0, 0]
    sensitivity_factor = np.corrcoef(now[:, 3], now[:, 4])[0, 1]
    assert sensitivity_factor > 0.5 if running else abs(sensitivity_factor) < 0.5


@pytest.mark.parametrize(
    "more, message",
    [
        ({"at": "W99"}, "not one of the series, W01 to W06"),
        ({"max_periods": 0}, "max_periods must be at least 1"),
        ({"max_periods": 2, "unit": Unit.DOCUMENT}, "about authors"),
        ({"periods": ("W01", "W01")}, "1 to 1,000 different periods"),
        ({"far": float("nan")}, "far must be a number"),
    ],
)
def test_settings_that_make_no_series(more, message):
    with pytest.raises(InputError, match=message):
        mechanism(**more)


def test_running_totals_of_too_much_noise_are_refused_whatever_the_data():
    with pytest.raises(InputError, match="Raise epsilon"):
        mechanism(epsilon=0.001, running=True, max_periods=6)(corpus_of([0], ["a"]), secure_rng())


def test_small_running_totals_are_left_out_of_the_bundle_altogether():
    _, tables = run_series([(0, f"p{i}", 0) for i in range(500)], most=1, weeks=[0], noise=1.0, running=True)
    _, quiet = run_series(
        [(0, f"p{i}", 0) for i in range(500)], most=1, weeks=[0], noise=1.0, running=True, min_units=80
    )
    assert "latest" in tables[0].arrays()
    assert np.isnan(quiet[0].cube).any()
    assert "latest" not in quiet[0].arrays()
