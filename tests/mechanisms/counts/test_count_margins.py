"""Counts with margins: least squares against plain matrices, what is never scaled down, how wide intervals are."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.stats import binom, norm

from cubes import cube
from dptopics.core.axes import cell_names
from dptopics.core.errors import InputError
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.counts.cells import CountsWithMargins
from dptopics.mechanisms.counts.people import margins
from dptopics.mechanisms.queries import watched_by
from dptopics.privacy.controls import under_noised
from dptopics.privacy.guarantee import Unit
from dptopics.privacy.rng import secure_rng
from dptopics.release import bundle
from dptopics.release.counts import CountTable, fieller

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def named(shape):
    return {
        "axes": tuple(f"axis{i}" for i in range(len(shape))),
        "values": tuple(tuple(f"v{j}" for j in range(n)) for n in shape),
    }


def mechanism(shape, epsilon=1.0, **more):
    return CountsWithMargins.calibrated(epsilon=epsilon, delta=1e-6, **named(shape), **more)


def corpus_of(cells, authors, n_cells, **bounds):
    words = cell_names(n_cells)
    counts = np.zeros((len(cells), n_cells), np.int64)
    counts[np.arange(len(cells)), cells] = 1
    return Corpus.from_counts(counts, words.words, authors=authors, public_vocabulary=True).bounded(**bounds)


class Watch:
    """Keeps all queries."""

    def __init__(self):
        self.queries = []

    def query(self, query):
        self.queries.append(query)

    def private_query(self, draw):
        return draw()


# --- what comes out ---


def test_noise_follows_from_how_many_rows_a_unit_counts_in():
    assert mechanism((20, 50, 52), unit=Unit.DOCUMENT).noise_std == pytest.approx(4.2247 * 8**0.5, rel=1e-3)
    assert mechanism((20, 50, 52)).noise_std == pytest.approx(4.2247 * (30 / 0.95) ** 0.5, rel=1e-3)
    assert mechanism((10,)).noise_std == pytest.approx(4.2247 * 11**0.5, rel=1e-3)
    assert mechanism((20,), max_cells=5).noise_std == pytest.approx(4.2247 * 7**0.5, rel=1e-3)


def queries(made, cells, authors, **bounds):
    watch = Watch()
    with watched_by(watch):
        made(corpus_of(cells, authors, made.entries.n_cells, **bounds), secure_rng())
    return watch.queries[-1]


def written(rng, shape, n_texts=400, n_authors=150):
    """Texts of some authors, as cells; and how many authors have one in each cell and margin."""
    cells, authors = rng.integers(0, prod(shape), n_texts), rng.integers(0, n_authors, n_texts)
    places = np.array(np.unravel_index(cells, shape)).T
    truth = np.zeros([n + 1 for n in shape])
    for axes in margins(len(shape)):
        own = {(author, *np.where(axes, place, -1)) for author, place in zip(authors, places, strict=True)}
        for _, *place in own:
            truth[tuple(place)] += 1
    return cells, authors, truth


@pytest.mark.parametrize("shape", [(10,), (3, 4, 2), (9, 9)])
def test_without_noise_everybody_counts_once_in_each_of_their_rows(shape):
    cells, authors, truth = written(np.random.default_rng(3), shape)
    with under_noised(0.0):
        value = mechanism(shape, over_share=0.0)(corpus_of(cells, authors.tolist(), prod(shape)), secure_rng()).value
    assert np.allclose(value.cube, truth, atol=1e-5)
    assert (value.over, value.max_cells) == (None, prod(shape))
    assert "nobody is left out" in value.bounded
    assert value.title() == "People who wrote about it"


@pytest.mark.parametrize("most", [1, 2, 3, 11])
def test_a_bound_leaves_out_so_many_at_most_and_says_how_many(most):
    shape = (3, 4)
    cells, authors, truth = written(np.random.default_rng(4), shape)
    with under_noised(0.0):
        corpus = corpus_of(cells, authors.tolist(), prod(shape))
        value = mechanism(shape, max_cells=most)(corpus, secure_rng()).value
        same = mechanism(shape, max_cells=most)(corpus_of(cells[::-1], authors[::-1].tolist(), 12), secure_rng()).value
    assert np.array_equal(value.cube, same.cube)  # whatever the order of rows
    distinct = [np.unique(cells[authors == author]).size for author in np.unique(authors)]
    assert round(value.over) == sum(n > most for n in distinct)
    assert round(value.cube[:-1, :-1].sum()) == sum(min(n, most) for n in distinct)
    assert (value.cube <= truth + 1e-5).all()
    assert value.count().value == pytest.approx(np.unique(authors).size)  # a total has one row: nobody is cut
    for index in np.ndindex(value.cube.shape):
        assert truth[index] <= value.estimate(index).high + 1e-5
    rows = {tuple(row.values())[:2]: row for row in value.rows()}
    assert all(row["people"] <= row["high"] for row in rows.values())


def test_one_author_moves_a_table_of_people_by_no_more_than_is_priced():
    shape, rng = (3, 4, 2), np.random.default_rng(6)
    cells, authors, _ = written(rng, shape)
    for most in (1, 2, 5, 24):
        made, sums = mechanism(shape, max_cells=most), []
        for more in ([], list(range(24))):
            watch = Watch()
            with watched_by(watch):
                made(corpus_of([*cells, *more], [*authors.tolist(), *[999] * len(more)], 24), secure_rng())
            sums += watch.queries
        moved = float(((sums[1].exact - sums[0].exact) ** 2).sum()) ** 0.5 / sums[0].sensitivity
        assert 0.97 < moved <= 1


@pytest.mark.parametrize("texts, chosen", [(1, 1), (4, 4), (60, 64)])
def test_the_bound_follows_from_how_much_people_write(texts, chosen):
    shape, rng = (12, 10), np.random.default_rng(7)
    authors = np.repeat(np.arange(3000), texts)
    cells = np.concatenate([rng.permutation(120)[:texts] for _ in range(3000)])
    made = mechanism(shape, epsilon=3.0)
    value = made(corpus_of(cells, authors.tolist(), 120), secure_rng()).value
    assert value.max_cells == chosen
    assert len(made.guarantee.events) == 2
    assert made.guarantee.epsilon == pytest.approx(3.0)
    assert value.noise == pytest.approx(made.noise(chosen))
    assert "had more: that is how many a count may lack" in value.bounded


def test_intervals_hold_for_all_people_although_some_are_cut():
    shape, runs = (6, 12), 60
    rng = np.random.default_rng(8)
    many = np.minimum(rng.geometric(0.25, 900), 40)
    authors = np.repeat(np.arange(900), many)
    cells = rng.integers(0, 72, authors.size)
    truth = np.zeros((7, 13))
    for axes in margins(2):
        places = np.where(axes, np.array(np.unravel_index(cells, shape)).T, -1)
        for _, *place in {(a, *p) for a, p in zip(authors.tolist(), places.tolist(), strict=True)}:
            truth[tuple(place)] += 1
    corpus, made = corpus_of(cells, authors.tolist(), 72), mechanism(shape)
    held = 0
    for _ in range(runs):
        table = made(corpus, secure_rng()).value
        found = [table.estimate(index) for index in np.ndindex(truth.shape)]
        held += sum(one.low <= true <= one.high for one, true in zip(found, truth.ravel(), strict=True))
    assert held / (runs * truth.size) > 0.94


def test_rules_ask_what_is_true_of_a_person():
    values = (("both", "not b", "either"), ("north", "south"))
    made = CountsWithMargins.calibrated(epsilon=1.0, delta=1e-6, axes=("question", "ward"), values=values,
                                        facts=3, rules=("f0 and f1", "f0 and not f1", "f0 or f1"),
                                        over_share=0.0)  # fmt: skip
    # Facts a and b, and one that every text has, in two wards: fact * 2 + ward.
    texts = {"anna": [0, 3, 4, 5], "bob": [0, 4], "carla": [4], "dora": [1, 3, 5]}
    counts = np.zeros((4, 6), np.int64)
    for row, facts in enumerate(texts.values()):
        counts[row, facts] = 1
    corpus = Corpus.from_counts(counts, cell_names(6).words, authors=list(texts), public_vocabulary=True).bounded()
    with under_noised(0.0):
        table = made(corpus, secure_rng()).value
    found = {(q, w): round(table.count(question=q, ward=w).value) for q in (*values[0], "(all)")
             for w in (*values[1], "(all)")}  # fmt: skip
    assert [found[q, "(all)"] for q in (*values[0], "(all)")] == [2, 1, 3, 4]
    assert [found[q, "north"] for q in (*values[0], "(all)")] == [0, 2, 2, 3]
    assert [found[q, "south"] for q in (*values[0], "(all)")] == [1, 0, 2, 2]
    assert table.title() == "People of whom it is true"


NUMBERS = {"number": "rating", "number_range": (1.0, 5.0), "over_share": 0.0}


def rated(cells, authors, ratings, n_cells):
    words = cell_names(n_cells)
    counts = np.zeros((len(cells), n_cells), np.int64)
    counts[np.arange(len(cells)), cells] = 1
    corpus = Corpus.from_counts(counts, words.words, authors=authors, public_vocabulary=True)
    return corpus.with_vectors(((np.asarray(ratings, np.float32) - 3) / 2)[:, None]).bounded()


def test_means_of_numbers_are_those_of_peoples_own_means():
    rng, shape = np.random.default_rng(9), (3, 4)
    cells, authors, truth = written(rng, shape, 900)
    ratings = rng.integers(1, 6, 900).astype(float)
    with under_noised(0.0):
        table = mechanism(shape, **NUMBERS)(rated(cells, authors.tolist(), ratings, 12), secure_rng()).value
    assert np.allclose(table.cube, truth, atol=1e-4)
    topic = cells // 4
    for k in (0, 2):
        own = [ratings[(authors == a) & (topic == k)].mean() for a in np.unique(authors[topic == k])]
        assert table.mean(axis0=f"v{k}").value == pytest.approx(np.mean(own), abs=1e-3)
        assert table.total(axis0=f"v{k}").value == pytest.approx(np.sum(own), abs=0.1)
    assert "own mean of rating, clipped to 1 to 5" in table.bounded


def test_intervals_of_means_hold_and_half_the_noise_is_seen():
    rng, shape = np.random.default_rng(10), (4,)
    cells, authors = rng.integers(0, 4, 4000), rng.integers(0, 2500, 4000)
    ratings = np.clip(rng.normal(4, 1, 4000), 1, 5)
    corpus, made = rated(cells, authors.tolist(), ratings, 4), mechanism(shape, **NUMBERS)
    with under_noised(0.0):
        exact = made(corpus, secure_rng()).value

    def held(share):
        found = []
        with under_noised(share):
            for _ in range(100):
                table = made(corpus, secure_rng()).value
                for k in range(4):
                    mean, total = table.mean(axis0=f"v{k}"), table.total(axis0=f"v{k}")
                    found.append(mean.low <= exact.mean(axis0=f"v{k}").value <= mean.high)
                    found.append(total.low <= exact.total(axis0=f"v{k}").value <= total.high)
        return np.mean(found)

    assert 0.92 < held(1.0) < 0.98
    assert held(2.0) < 0.8


def test_one_author_moves_sums_of_numbers_by_no_more_than_is_priced():
    rng, shape = np.random.default_rng(11), (3, 4)
    cells, authors, _ = written(rng, shape)
    for most, extreme in ((1, 5.0), (3, 1.0), (12, 99.0)):  # the last is beyond what it may be
        made, sums = mechanism(shape, max_cells=most, **NUMBERS), []
        for more in ([], list(range(12))):
            watch, n = Watch(), len(cells) + len(more)
            ratings = np.append(np.full(len(cells), 3.0), np.full(len(more), extreme))
            with watched_by(watch):
                made(rated([*cells, *more], [*authors.tolist(), *[999] * len(more)], ratings[:n], 12), secure_rng())
            sums += watch.queries
        moved = float(((sums[1].exact - sums[0].exact) ** 2).sum()) ** 0.5 / sums[0].sensitivity
        assert 0.9 < moved <= 1


ASKED = {"axes": ("question", "ward"), "values": (("both", "not b", "either"), ("north", "south")), "facts": 3,
         "rules": ("f0 and f1", "f0 and not f1", "f0 or f1"), "over_share": 0.0}  # fmt: skip


def asked(texts, ratings=None, **bounds):
    """A corpus of (author, ward, facts): facts a and b, and one that every text has; fact * 2 + ward."""
    counts = np.zeros((len(texts), 6), np.int64)
    for row, (_, ward, facts) in enumerate(texts):
        counts[row, [2 * fact + ward for fact in (*facts, 2)]] = 1
    names = [author for author, *_ in texts]
    corpus = Corpus.from_counts(counts, cell_names(6).words, authors=names, public_vocabulary=True)
    if ratings is not None:
        corpus = corpus.with_vectors(((np.asarray(ratings, np.float32) - 3) / 2)[:, None])
    return corpus.bounded(**bounds)


TOLD = [("anna", 0, (0, 1)), ("anna", 0, (0,)), ("anna", 1, ()), ("bob", 0, (0,)), ("bob", 0, (1,)), ("carla", 1, (1,))]


def test_texts_are_asked_one_by_one():
    made = CountsWithMargins.calibrated(epsilon=1.0, delta=1e-6, documents=5, **ASKED)
    with under_noised(0.0):
        table = made(asked(TOLD, max_docs=5), secure_rng()).value
    found = [[round(float(one)) for one in row] for row in table.cube]
    assert found == [
        [1, 0, 1],
        [2, 0, 2],
        [4, 1, 5],
        [4, 2, 6],
    ]  # people would be 2 of "both": bob says a here, b there
    assert table.title() == "Texts of which it is true"
    one = CountsWithMargins.calibrated(epsilon=1.0, delta=1e-6, **ASKED)
    with under_noised(0.0):
        assert round(one(asked(TOLD), secure_rng()).value.count(question="both").value) == 2
    # All of somebody's texts in all rows: two rules at once hold of the fullest text.
    sums = []
    for more in ([], [("dora", 0, (0, 1))] * 9):
        watch = Watch()
        with watched_by(watch):
            made(asked([*TOLD, *more], max_docs=5), secure_rng())
        sums += watch.queries
    moved = float(((sums[1].exact - sums[0].exact) ** 2).sum()) ** 0.5 / sums[0].sensitivity
    assert moved == pytest.approx((6 / 8) ** 0.5, rel=1e-3)  # of 3 + 1 rows of two tables each; here 2 + 1


def test_means_of_answers_are_over_the_texts_of_which_it_is_true():
    made = CountsWithMargins.calibrated(epsilon=1.0, delta=1e-6, **{**NUMBERS, **ASKED})
    told = [(f"{author} {i}", ward, facts) for i in range(400) for author, ward, facts in TOLD]
    ratings = [5.0, 1.0, 2.0, 4.0, 3.0, 1.0] * 400
    with under_noised(0.0):
        table = made(asked(told, ratings), secure_rng()).value
    means = {name: table.mean(question=name) for name in ASKED["values"][0]}
    assert means["both"].value == pytest.approx((5 + 3.5) / 2, abs=1e-3)  # bob's in none alone: all of his
    assert means["not b"] is None
    assert means["either"].value == pytest.approx((3 + 3.5 + 1) / 3, abs=1e-3)
    assert table.mean().value == pytest.approx((8 / 3 + 3.5 + 1) / 3, abs=1e-3)
    assert table.mean(ward="south").value == pytest.approx(1.5, abs=1e-3)
    assert "over the texts of which it is true if there are any" in replace(table, asked=("a",)).bounded
    sums = []
    for more in ([], [("dora", ward, (0, 1)) for ward in (0, 1)]):
        watch = Watch()
        with watched_by(watch):
            made(asked([*told, *more], [*ratings, *[99.0] * len(more)]), secure_rng())
        sums += watch.queries
    moved = float(((sums[1].exact - sums[0].exact) ** 2).sum()) ** 0.5 / sums[0].sensitivity
    assert 0.8 < moved <= 1


def test_groups_beside_the_first_and_bins_in_their_row():
    values = (("0", "1"), ("north", "south", "other"))
    numbers = np.array([[90.0, 30.0, 0.0, 118.0], [10.0, 70.0, 1.0, 80.0], [100.0, 100.0, 1.0, 190.0]])
    table = CountTable(axes=("topic", "ward"), values=values, cube=numbers, noise=1.0)
    share, times = table.shares_by("ward", "0", "south")
    assert share == table.share({"topic": "0", "ward": "south"}, of={"ward": "south"})
    assert times == table.ratio(share, table.share({"topic": "0", "ward": "north"}, of={"ward": "north"}))
    assert str(times).startswith("0.33 times (0.")
    assert table.shares_by("ward", "0", "north")[1] is None
    assert table.shares_by("ward", "0", "other") == (None, None)
    binned = replace(table, axes=("topic", "stars"), values=(("0", "1"), ("1 to below 3", "3 or more", "other")))
    assert binned.shares_by("stars", "0", "3 or more") == (binned.share({"topic": "0", "stars": "3 or more"},
                                                                        of={"topic": "0"}), None)  # fmt: skip


def test_documents_are_counted_up_to_so_many_of_each_author():
    rng = np.random.default_rng(4)
    shape, most = (3, 4), 5
    cells, authors = rng.integers(0, 12, 300), rng.integers(0, 40, 300)
    corpus = corpus_of(cells, authors.tolist(), 12, max_docs=most)
    counts = mechanism(shape, documents=most)
    with under_noised(0.0):
        value = counts(corpus, secure_rng()).value
    assert round(value.cube[-1, -1]) == sum(min((authors == author).sum(), most) for author in range(40))
    assert np.allclose(value.cube[:-1].sum(axis=0), value.cube[-1], atol=1e-4)
    assert value.over is None
    assert "At most 5 texts of each author count" in value.bounded
    assert value.title() == "Texts about it"
    alone = mechanism(shape, unit=Unit.DOCUMENT)
    assert counts.noise_std == pytest.approx(most * alone.noise_std, rel=1e-3)
    before, mine = (queries(counts, [*cells, *[7] * n], [*authors.tolist(), *[99] * n], max_docs=most) for n in (0, 9))
    moved = np.linalg.norm((mine.exact - before.exact).astype(float))
    assert 0.99 < moved / mine.sensitivity <= 1  # all of them in one cell


def test_intervals_hold_as_often_as_they_say():
    shape, runs = (3, 3), 300
    cells = np.repeat(np.arange(9), np.arange(9) * 3)
    corpus = corpus_of(cells, list(range(cells.size)), 9)
    counts = mechanism(shape)
    truth = cube(np.arange(9.0).reshape(shape) * 3)
    inside = {"cells": 0, "margins": 0, "differences": 0}
    for _ in range(runs):
        table = counts(corpus, secure_rng()).value
        held = np.abs(table.cube - truth) < 1.96 * table.noise_std
        inside["cells"] += held[:-1, :-1].sum()
        inside["margins"] += held[-1].sum() + held[:-1, -1].sum()
        change = table.difference({"axis0": "v0"}, {"axis0": "v1", "axis1": "v2"})
        inside["differences"] += change.low < truth[0, -1] - truth[1, 2] < change.high
    # Numbers of one run hang together: limits are those of independent runs, far out.
    for name, n in (("cells", 9), ("margins", 7), ("differences", 1)):
        low, high = binom.ppf([1e-9, 1 - 1e-9], runs, 0.95) / runs
        assert low <= inside[name] / (runs * n) <= high, name


def test_half_the_noise_would_be_noticed_by_the_intervals():
    corpus = corpus_of([0], ["a"], 9)
    counts = mechanism((3, 3))
    with under_noised(0.5):
        tables = [counts(corpus, secure_rng()).value for _ in range(100)]
    spread = np.std([table.cube[1, 1] for table in tables]) / tables[0].noise_std[1, 1]
    assert spread < 0.75  # twice the interval that it needs


def test_shares_and_no_statement():
    low, high = fieller(30.0, 100.0, 4.0, 2.0, 9.0)
    assert 0.25 < low < 0.3 < high < 0.35
    assert all(np.isnan(fieller(3.0, 4.0, 4.0, 2.0, 9.0)))
    # Coverage of a ratio, by the joint distribution.
    rng = np.random.default_rng(0)
    seen = rng.multivariate_normal([5.0, 20.0], [[4.0, 2.0], [2.0, 9.0]], 20_000)
    low, high = fieller(seen[:, 0], seen[:, 1], 4.0, 2.0, 9.0)
    held = (low <= 0.25) & (high >= 0.25)
    assert norm.cdf(1.96) - norm.cdf(-1.96) - 0.01 < (held | np.isnan(low)).mean() < 0.97


def test_small_counts_are_left_out_after_the_noise(tmp_path):
    corpus = corpus_of([0] * 500 + [1], list(range(501)), 4)
    release = mechanism((2, 2), min_units=50)(corpus, secure_rng())
    table = release.value
    assert np.isnan(table.count(axis0="v0", axis1="v1").value)
    assert 400 < table.count(axis0="v0", axis1="v0").value < 600
    bundle.save(release, tmp_path / "counts")
    again = CountTable.load(tmp_path / "counts")
    assert np.array_equal(again.cube, table.cube, equal_nan=True)
    assert (again.axes, again.values, again.over) == (table.axes, table.values, table.over)
    arrow = again.to_arrow()
    assert arrow.column_names == ["axis0", "axis1", "people", "low", "high", "share_low", "share_high"]
    assert arrow.column("people").null_count == np.isnan(table.cube).sum() > 0
    lines = (tmp_path / "counts" / "counts.csv").read_text().splitlines()
    assert len(lines) == 1 + 3 * 3
    assert "v0,v1,,,,," in lines
    assert "Counts below 50 are left empty" in (tmp_path / "counts" / "README.txt").read_text("utf-8")


@pytest.mark.parametrize(
    "settings",
    [
        {"axes": ("a", "a"), "values": (("x",), ("y",))},
        {"axes": ("a",), "values": (("x", "x"),)},
        {"axes": ("a",), "values": ((),)},
        {"axes": ("a", "b"), "values": (("x",),)},
        {"axes": ("a", "b"), "values": (tuple(map(str, range(2000))),) * 2},
        {**named((2,)), "max_cells": 0},
        {**named((2,)), "min_units": -1},
        {**named((2,)), "over_share": 1.0},
        {**named((2,)), "number": "x", "number_range": (5.0, 1.0)},
        {**named((2,)), "number": "x", "number_range": (1.0, float("inf"))},
        {**named((2,)), "number": "x", "number_range": (1.0, float("nan"))},
        {**named((2,)), "number": "x"},
        {**named((2,)), "number": "x", "number_range": (1.0, 5.0), "documents": 2},
        {**named((2,)), "facts": 2, "rules": ("f0",)},
        {**named((2,)), "facts": 2, "rules": ("f0", "f2")},
        {**named((2,)), "facts": 2, "rules": ("f0", "f1(0)")},
        {**named((2,)), "facts": 2, "rules": ("f0", "not")},
        {**named((2,)), "facts": 2, "rules": ("f0", "f1"), "documents": 0},
        {**named((2,)), "facts": 2, "rules": ("f0", "f1"), "documents": 2, "number": "x", "number_range": (1.0, 5.0)},
    ],
)
def test_settings_that_make_no_table(settings):
    with pytest.raises(InputError):
        CountsWithMargins(sigma=1.0, delta=1e-6, **settings)


def test_a_corpus_of_other_words_is_refused():
    with pytest.raises(InputError, match="whose words are the 6 cells"):
        mechanism((2, 3))(corpus_of([0], ["a"], 4), secure_rng())
    table = mechanism((2, 2))(corpus_of([0], ["a"], 4), secure_rng()).value
    with pytest.raises(InputError, match="no axis ward"):
        table.count(ward="x")
    with pytest.raises(InputError, match="no value"):
        table.count(axis0="x")
