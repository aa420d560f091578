"""Counts as people see them: one rounding, and a value inside its own interval."""

from dataclasses import replace
from itertools import product
from math import ceil, floor

import numpy as np
import pytest

from cubes import cube
from dptopics import CountTable, Guarantee, Release, Strength, Unit
from dptopics.cli.terminal import show_counts
from dptopics.release.counts import Estimate, Shown
from dptopics.release.release import Record
from dptopics.release.report import render
from dptopics.release.report.charts import Bar, number

PROMISE = Guarantee(events=(), delta=0.0, unit=Unit.AUTHOR, strength=Strength.PROVED)


@pytest.fixture
def table():
    cells = np.array([-22.3, 103.5, 40.4])
    return CountTable(
        axes=("topic",), values=(("none", "0", "1"),), cube=cube(cells), noise=20.0, max_cells=1,
        over=12.0, over_noise_std=4.0,
    )  # fmt: skip


def test_terminal_and_page_round_alike_and_outward(table, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    show_counts(table)
    lines = capsys.readouterr().out.splitlines()
    for k, name in enumerate(table.values[0]):
        found = table.count(topic=name)
        shown = Shown.of(found)
        assert shown == Bar.counted("", number(table, {0: k}))[1:4]
        assert (shown.low, shown.high) == (max(0, floor(found.low)), ceil(max(found.high, found.noise_std)))
        assert shown.low <= shown.value <= shown.high
        line = next(line for line in lines if line.split()[1:2] == [name])
        assert line.split()[3::2][:1] == [f"{shown.value:,}"]
        assert shown.interval in line


def test_what_is_not_possible_is_shown_as_nothing():
    assert Shown.of(Estimate.of(-50.0, 100.0)) == (0, 0, 10)  # below 0 is no proof of nothing


def test_files_keep_what_was_measured(table):
    """Sums of cells are unbiased only if no cell was changed for being small."""
    rows = {row["topic"]: row for row in table.rows()}
    assert rows["none"]["people"] == -22.3
    assert all(row["low"] <= row["people"] <= row["high"] for row in rows.values())
    assert sum(rows[name]["people"] for name in table.values[0]) == pytest.approx(rows["(all)"]["people"], abs=0.2)


def test_the_bound_says_how_much_a_count_may_lack(table):
    assert table.bounded == (
        "Each person counts in one row of each table. 4 to 20 had more: that is how many a count may lack, and "
        "intervals reach up by it."
    )
    found = table.count(topic="0")
    assert (found.low, found.high) == pytest.approx(
        (103.5 - 1.96 * 20, 103.5 + 12 + 1.96 * (20**2 + 4**2) ** 0.5), 1e-3
    )
    whole = table.count()  # one row: nobody is cut
    assert whole.high - whole.value == pytest.approx(whole.value - whole.low)
    whole_table = replace(table, max_cells=3, over=None, over_noise_std=None)
    assert "once in every row that is theirs; nobody is left out" in whole_table.bounded
    for other, says in (("document", "Texts about it"), ("author", "People who wrote about it")):
        assert replace(table, unit=other).title() == says
    # Of what may be missing, a share and a difference know too.
    share, narrow = (one.share({"topic": "1"}, of={}) for one in (table, whole_table))
    assert share.low == narrow.low
    assert share.high > narrow.high
    wide, less = (one.difference({"topic": "0"}, {"topic": "1"}) for one in (table, whole_table))
    assert wide.low < less.low < less.high < wide.high


def test_the_record_speaks_of_one_cell():
    plan = {"job": "counts", "mechanism": "counts", "max_docs": None, "unit": "author", "settings": {"max_cells": 1}}
    said = dict(Record(version="1", day="2026-01-01", plan=plan).rows())
    assert said["Bounds"] == "each author counts in one cell."


def two_axes(axis="ward", groups=("north", "all"), **more):
    cells = np.array([[90.0, 10.0], [40.0, 60.0]])
    values = (("0", "1"), groups)
    return CountTable(axes=("topic", axis), values=values, cube=cube(cells), noise=2.0, **more)


def test_a_group_called_all_is_no_sum():
    table = two_axes()
    rows = list(table.rows())
    assert len({(row["topic"], row["ward"]) for row in rows}) == len(rows) == 9
    assert (table.count(ward="all").value, table.count(ward="(all)").value, table.count().value) == (70, 200, 200)
    assert "(all),(all),200.0" in table.tables()["counts.csv"]


@pytest.mark.parametrize("axis", ["people", "low", "high", "share_low", "share_high", "self"])
def test_columns_called_like_a_number_do_not_replace_it(axis):
    table = two_axes(axis)
    first = next(table.rows())
    assert (first["people"], first["low"], first["high"]) == (200.0, 196, 204)
    assert table.count(**{axis: "north"}).value == 130
    head = table.tables()["counts.csv"].split("\n")[0].split(",")
    assert len(set(head)) == 7
    assert head[1] == (axis if axis == "self" else f"{axis}_group")
    assert len(table.to_arrow().column_names) == 7


def test_heads_of_columns_are_never_two_alike():
    cells = np.full((2, 2, 2), 5.0)
    table = CountTable(axes=("topic", "people", "people_group"), values=(("0", "1"), ("a", "b"), ("c", "d")),
                       cube=cube(cells), noise=1.0)  # fmt: skip
    assert len(set(table.heads)) == 3
    lines = table.tables()["counts.csv"].splitlines()
    assert {len(line.split(",")) for line in lines} == {8}
    assert len(table.to_arrow().column_names) == 8


@pytest.mark.parametrize(
    "more, said, column",
    [
        ({}, "People who wrote about it", "people"),
        ({"documents": 3}, "Texts about it", "texts"),
        ({"unit": "document"}, "Texts about it", "texts"),
    ],
)
def test_a_column_says_what_it_counts_everywhere(capsys, monkeypatch, more, said, column):
    monkeypatch.setenv("COLUMNS", "160")
    table = two_axes(**more)
    show_counts(table)
    assert said in capsys.readouterr().out
    assert said in "\n".join(table.summary())
    assert table.tables()["counts.csv"].split(",")[2] == column
    assert table.to_arrow().column_names[2] == column
    assert table.summary_json(1)["counted"] == said
    page = render(Release(value=table, guarantee=PROMISE, settings={"mechanism": "margins"}))
    assert f"{said} (95 % interval)" in page
    assert f"{said} by ward" in page


@pytest.mark.parametrize("cut", [{}, {"max_cells": 1, "over": 7.0, "over_noise_std": 3.0}])
def test_rows_are_the_numbers_of_single_entries(cut):
    draw, shape = np.random.default_rng(3), (3, 2, 4)
    values = tuple(tuple(map(str, range(n))) for n in shape)
    noisy = cube(draw.integers(-20, 200, shape).astype(float)) + draw.normal(0, 5, (4, 3, 5))
    table = CountTable(axes=("topic", "ward", "week"), values=values, cube=noisy, noise=5.0, **cut)
    for index, row in zip(product(*(range(n, -1, -1) for n in shape)), table.rows(), strict=True):
        one, place = table.estimate(index), table._place(index)
        share = table._share(place, (None, *place[1:])) or (None,) * 3
        assert list(row.values())[3:6] == list(one.rounded)
        assert list(row.values())[6:8] == [None if x is None else pytest.approx(x) for x in share[1:]]
