"""Axes of counts: public lists and ranges. Whatever a row holds, it counts somewhere."""

import pytest

from dptopics.core.axes import OTHER, Axis, cell_names, edges_of
from dptopics.core.errors import InputError


def test_weeks_are_those_of_iso_and_cross_the_year():
    weeks = Axis.periods("week:date", first="2025-12-28", last="2026-01-05")
    assert weeks.values == ("2025-W52", "2026-W01", "2026-W02", OTHER)
    assert weeks.places(["2025-12-29", "2026-01-01T00:00Z", "2026-01-05 09:30:00+05:30"]).tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    "value", ["", None, "soon", "2026-13-01", "2026-02-30", "20260201", "1/2/2026", "2026-02-011", 7]
)
def test_what_is_no_date_is_other(value):
    months = Axis.periods("month:date", first="2026-01-01", last="2026-12-31")
    assert months.places([value, "2026-03-31"]).tolist() == [12, 2]


def test_groups_are_as_listed_and_other_comes_last(tmp_path):
    path = tmp_path / "wards.txt"
    path.write_text("south\nnorth\n\nsouth\nother\n")
    wards = Axis.from_file("ward", path)
    assert wards.values == ("south", "north", OTHER)
    assert wards.places([" north ", "NORTH", None, ["x"], "other"]).tolist() == [1, 2, 2, 2, 2]


def test_numbers_fall_into_public_bins():
    stars = Axis.bins("stars", [1, 2, 3.5])
    assert stars.values == ("1 to below 2", "2 to below 3.5", "3.5 or more", OTHER)
    rows = [1, "1.99", 2.0, "3.5", 1e9, "inf", 0.99, "-3", None, "", "nan", "three", "3,5", [4]]
    assert stars.places(rows).tolist() == [0, 0, 1, 2, 2, 2, *[3] * 8]
    assert edges_of(stars.values) == (1.0, 2.0, 3.5)
    third = Axis.bins("x", [1 / 3, 2 / 3])
    assert edges_of(third.values) == third.edges  # to the last digit
    for values in (("north", "south", OTHER), ("1 to below 2", "3 or more", OTHER), ("1", OTHER), (OTHER,)):
        assert edges_of(values) == ()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Axis.bins("stars", [1]),
        lambda: Axis.bins("stars", [5, 1]),
        lambda: Axis.bins("stars", [1, 1, 2]),
        lambda: Axis.bins("stars", [1, float("nan")]),
        lambda: Axis.bins("stars", [1, float("inf")]),
        lambda: Axis.groups("ward", []),
        lambda: Axis.groups("ward", "north"),
        lambda: Axis.periods("year:date", first="2026-01-01", last="2026-01-02"),
        lambda: Axis.periods("month:", first="2026-01-01", last="2026-01-02"),
        lambda: Axis.periods("month:date", first="2026-01-01", last=None),
        lambda: Axis.periods("month:date", first="soon", last="2026-01-02"),
        lambda: Axis.periods("month:date", first="2026-02-01", last="2026-01-02"),
    ],
)
def test_axes_that_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_days_outside_the_declared_range_are_other():
    months = Axis.periods("month:date", first="2026-01-15", last="2026-03-01")
    days = ["2026-01-14", "2026-01-15", "2026-02-28", "2026-03-01", "2026-03-02"]
    assert [months.values[i] for i in months.places(days)] == ["other", "2026-01", "2026-02", "2026-03", "other"]


def test_dates_as_other_people_write_them():
    german = Axis.periods("month:tag", first="2026-01-01", last="2026-12-31", date_format="%d.%m.%Y")
    assert [german.values[i] for i in german.places(["03.02.2026", " 3.2.2026 ", "2026-02-03", None, 7])] == [
        "2026-02", "2026-02", "other", "other", "other",
    ]  # fmt: skip
    for wrong in ("%d.%m", "%H", "%", "tag", "%d.%m.%y %q"):
        with pytest.raises(InputError, match="is not a date format"):
            Axis.periods("month:tag", first="2026-01-01", last="2026-12-31", date_format=wrong)


def test_a_group_may_be_called_all_but_not_as_the_sum_is():
    assert Axis.groups("ward", ["all", "north"]).values == ("all", "north", "other")
    with pytest.raises(InputError, match="no group may be called"):
        Axis.groups("ward", ["(all)"])


def test_a_facet_that_remembers_is_refused():
    seen = set()

    def novelty(text):
        known = text in seen
        seen.add(text)
        return "again" if known else "new"

    with pytest.raises(InputError, match="'novelty' gave two results for one text"):
        Axis.facet("novelty", ["new", "again"], novelty)
    length = Axis.facet("length", ["short"], lambda text: "short")
    assert "of axis 'length', " in length.assumptions[0]


def test_a_text_on_which_a_facet_fails_is_other():
    axis = Axis.facet("odd", ["a"], lambda text: "a" if text.index("zebra") else "b")
    assert axis.places(["a zebra", "zebra", "secret", None]).tolist() == [0, 1, 1, 1]


def test_names_of_cells_are_in_order():
    words = cell_names(30_000).words
    assert list(words) == sorted(set(words))
    assert [int(word) for word in words] == list(range(30_000))
