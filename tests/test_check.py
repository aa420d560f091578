"""What an owner is told before anything is charged: true, for their eyes only, and without a word of the data."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

import dptopics
from dptopics import Axis, Plan, TextSettings, TopicModel, Vocabulary, check
from dptopics.checking import CAUTION, DELTA, EPSILON
from dptopics.core.errors import InputError
from dptopics.preview import expected

SECRET = "zanzibarina"
WARDS = Axis.groups("ward", ["north", "south", "east"])


def months(date_format=None):
    return Axis.periods("month:seen", first="2026-01-01", last="2026-03-31", date_format=date_format)


def table(n=60, **changed):
    """Two texts of each person; wards and days by turns."""
    columns = {
        "note": [f"my knee hurts since the operation of {SECRET}" if i % 2 else "a rash on the arm" for i in range(n)],
        "who": [f"{SECRET} {i // 2}" for i in range(n)],
        "ward": ["north" if i % 4 < 2 else "south" for i in range(n)],
        "seen": [f"2026-0{i % 2 + 1}-10" for i in range(n)],
    }
    return pa.table(columns | changed)


def told(data, **how):
    found = check(data, **{"text": "note", "author": "who"} | how)
    assert SECRET not in str(found).casefold()
    return found


def test_rows_and_people_are_counted():
    notes = ["", " ", None, "a knee", "a rash", None]
    people = ["ann", "bob", "ann", None, "ann", " "]
    found = told(pa.table({"note": notes, "who": people}))
    assert (found.rows, found.texts, found.people, found.empty_texts) == (6, 3, 2, 2)
    assert (found.without_text, found.without_author) == (2, 2)
    assert "fit and count refuse them" in str(found)
    assert "They are left out." in str(told(pa.table({"note": notes, "who": people}), drop_missing=True))


def test_placeholders_are_no_people():
    data = table(who=["unknown", "N/A", *(f"p{i}" for i in range(58))])
    assert (told(data).people, told(data).without_author) == (58, 2)
    assert told(data, author_is=["Unknown"]).people == 59


def test_it_is_not_for_release():
    found = told(table())
    assert str(found).startswith("NOT FOR RELEASE")
    assert found.lines[-1] == CAUTION
    assert "30" not in repr(found)
    assert dptopics.check is check  # and no module of that name


@pytest.mark.parametrize(
    ("written", "best"),
    [
        ("%d.%m.%Y", "%d.%m.%Y"),
        ("%m/%d/%Y", "%m/%d/%Y"),
        ("%Y/%m/%d", "%Y/%m/%d"),
        ("%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M"),
        ("%d %B %Y", "%d %B %Y"),
    ],
)
def test_ways_to_write_dates_are_found(written, best):
    days = [datetime.datetime(2026, 1 + i % 3, 13 + i % 9) for i in range(58)]
    data = table(seen=[day.strftime(written) for day in days] + ["soon", None])
    (dates,) = told(data, by=[months()]).dates
    assert (dates.understood, dates.in_range) == (0, 0)
    assert next(iter(dates.formats.items())) == (best, 58)
    found = told(data, by=[months(best)])
    assert (found.dates[0].understood, found.dates[0].in_range, found.dates[0].formats) == (58, 58, {})
    assert "58 of 60 understood" in str(found)


def test_dates_that_two_ways_would_read_are_told_with_both():
    (dates,) = told(table(seen=["03/04/2026"] * 60), by=[months()]).dates
    assert dates.formats == {"%m/%d/%Y": 60, "%d/%m/%Y": 60}
    found = told(table(), by=[months("%d.%m.%Y")])
    assert found.dates[0].formats == {None: 60}
    assert "no --date-format (60 of 60)" in str(found)


def test_groups_are_matched():
    found = told(table(ward=["north"] * 30 + [" south "] * 15 + ["North"] * 10 + [SECRET] * 4 + [None]), by=[WARDS])
    (groups,) = found.groups
    assert (groups.matched, groups.occurring, groups.listed, groups.but_for_capitals) == (45, 2, 3, 10)
    assert "45 of 60 rows match, 25% count as 'other'; 2 of the 3 groups on the list occur" in str(found)


def test_people_by_how_many_cells_they_fill():
    people = ["a"] + ["b"] * 2 + ["c"] * 3 + ["d"] * 4 + ["e"] * 9
    days = [f"2026-01-{day + 1:02}" for who in "abcde" for day in range(people.count(who))]
    by = [Axis.periods("day:seen", first="2026-01-01", last="2026-01-31")]
    found = told(pa.table({"note": ["a knee"] * 19, "who": people, "seen": days}), by=by)
    assert found.cells == {"1": 1, "2": 1, "3–4": 2, "5–8": 0, "9–16": 1}
    assert told(table(), by=[WARDS, months()]).cells == {"1": 0, "2": 30}
    assert told(table(), author=None, by=[WARDS]).cells == {}


def test_the_preview_is_that_of_fit():
    found = told(table())
    plan = Plan.topics(n_topics=20, epsilon=EPSILON, delta=DELTA, unit="author", text=TextSettings())
    assert found.preview == expected(plan, 30)
    assert "ε = 1, δ = 1e-06 (usual values" in str(found)
    assert "(usual values" not in str(told(table(), epsilon=2.0, delta=1e-7, n_topics=5))
    assert told(table(), author=None).preview.units == 60


def test_the_preview_of_counts():
    words = Vocabulary.of(["knee", "rash"])
    model = TopicModel(topic_word=np.eye(2) + 0.1, topic_share=np.ones(2) / 2, vocabulary=words, alpha=0.1)
    found = told(table(), by=[WARDS], release=model)
    assert found.preview.cells == 3 * 4
    assert found.cells == {"1": 0, "2": 30}  # each wrote of two topics in one ward
    assert "counts of these topics (count)" in str(found)


def test_a_release_that_would_show_nothing_is_told():
    swedish = ["axeln gör fortfarande ont efter operationen, jag vill gärna få en ny tid hos läkaren"] * 1028
    data = pa.table({"note": swedish, "who": range(1028)})
    found = told(data, settings=TextSettings(language="swedish"))
    assert found.preview.words < 10
    assert "Such a release would show next to nothing. It would be charged all the same." in str(found)
    assert "Nothing speaks against the language 'swedish'" in str(found)
    assert "they look like 'swedish'" in str(told(data))


def test_nobody_is_there():
    with pytest.warns(dptopics.PrivacyWarning, match="no documents"):
        found = told(table(0, note=pa.array([], pa.string()), who=pa.array([], pa.string())))
    assert (found.people, found.preview) == (0, None)
    assert "Nobody is there" in str(found)
    assert "All texts are of one person" in str(told(table(who=["x"] * 60)))


def test_without_a_column_of_texts_columns_are_told_apart(tmp_path):
    """By what they look like: no value of them is said."""
    lists = pa.array([[SECRET]] * 60)
    data = table(age=[i + 0.5 for i in range(60)], nothing=pa.array([None] * 60, pa.string()), more=lists)
    found = check(data)
    assert found.kinds == {None: ["texts", "authors", "groups", "dates", "numbers", "nothing", "nothing"]}
    assert SECRET not in str(found)
    assert "- 'seen': could be dates (--by month:seen, with --from and --to)" in found.lines
    path = tmp_path / "notes.csv"
    path.write_text(f"my knee hurts, {SECRET},17\na rash,b,18\n")
    assert SECRET not in str(check(path))
    path.write_text(f"note;who;{'long ' * 9}\n" + f"my knee hurts since May;{SECRET};x\n" * 9)
    found = check(path)
    assert "- column 1: could be the texts (--text COLUMN)" in found.lines
    with pytest.raises(InputError, match="say which column holds the texts"):
        check("-")
