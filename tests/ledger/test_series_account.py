"""A series over many runs: charged once, capped across runs, and never drawn twice, whatever ends a run."""

import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from dptopics import Calendar, Ledger, TopicModel, Vocabulary, release_period
from dptopics.core.errors import (
    BudgetExceeded,
    DptopicsError,
    InputError,
    LedgerError,
    PrivacyError,
    PrivacyWarning,
    ReleaseLost,
)
from dptopics.core.files import alone_with
from dptopics.ledger import ledger as ledger_module
from dptopics.ledger import ledger_file
from dptopics.ledger import series as participation_module
from dptopics.ledger.series import Participation
from dptopics.mechanisms.counts.periods import CountsOfPeriod
from dptopics.privacy.controls import under_noised
from dptopics.privacy.guarantee import Unit
from dptopics.release import bundle

MODEL = TopicModel(
    topic_word=np.array([[0.9, 0.1], [0.1, 0.9]]),
    topic_share=np.array([0.5, 0.5]),
    vocabulary=Vocabulary.of(["asthma", "skin"]),
    alpha=0.1,
)
YEAR = Calendar(period="week", first="2026-01-05", last="2026-03-01")
ANN = "ann-of-the-data"


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "clinic.ledger", epsilon=1, delta=1e-5)


def notes(*authors, text="asthma"):
    return pa.table({"note": pa.array([text] * len(authors), pa.string()), "patient": pa.array(authors, pa.string())})


def count(ledger, week, data, *, most=2, **more):
    settings = {"epsilon": 1.0, "delta": 1e-6, "author": "patient", "calendar": YEAR, "max_periods": most, **more}
    return release_period(MODEL, data, at=f"2026-W{week:02}", text="note", ledger=ledger, **settings)


def exact(ledger, week, data, **more):
    """How many counted, without noise."""
    with under_noised(0.0):
        return round(count(ledger, week, data, **more).value.count().value)


def participation(ledger):
    (found,) = ledger.path.parent.glob("[!.]*.series-*")
    return found


def test_one_charge_for_all_weeks_and_a_cap_on_each_author(ledger):
    people = [f"p{i}" for i in range(50)]
    assert [exact(ledger, week, notes(*people, ANN)) for week in (2, 3, 4)] == [51, 51, 0]
    assert exact(ledger, 5, notes(*people, "new one")) == 1
    assert ledger.spent.epsilon == pytest.approx(1.0)
    assert [r.price for r in ledger.receipts()] == pytest.approx([1.0, 0.0, 0.0, 0.0])
    assert "periods: 2026-W03 of series" in ledger.card()
    file = participation(ledger)
    assert file.stat().st_mode & 0o777 == 0o600
    assert ANN.encode() not in file.read_bytes()
    state = Participation.load(file)
    assert (state.period, state.closed, state.times.max(), state.authors.size) == ("2026-W05", True, 2, 52)


def test_a_period_is_drawn_once(ledger):
    count(ledger, 2, notes("a"))
    before = participation(ledger).read_bytes()
    for again in (notes("a"), notes()):
        with pytest.raises(PrivacyError, match=r"2026-W02 of this series was counted before \(charge 1"):
            count(ledger, 2, again)
    assert participation(ledger).read_bytes() == before
    with pytest.raises(InputError, match="not one of the series"):
        count(ledger, 30, notes("a"))


def test_an_empty_period_is_a_period(ledger):
    with pytest.warns(PrivacyWarning, match="holds no documents"):
        assert exact(ledger, 2, notes()) == 0
    assert exact(ledger, 3, notes("a")) == 1
    with pytest.raises(PrivacyError, match="counted before"):
        count(ledger, 2, notes("a"))


def test_what_one_author_did_tells_nothing_about_another(ledger):
    # Whether a counts in weeks 3 and 4 must not hang on who else was there, or how often.
    for week, others in ((2, ["b"] * 30), (3, ["b", "c"]), (4, ["b", "c", "d"])):
        allowed = [exact(ledger, week, notes("a", *others), most=3, description=str(week))]
        assert allowed == [len({"a", *others})]


# --- crashes ---


GONE = RuntimeError("gone")


def died(monkeypatch, where, name, error=GONE):
    def fails(*_args, **_named):
        raise error

    monkeypatch.setattr(where, name, fails)


def died_before_the_charge(monkeypatch, ledger, week, data, **more):
    """After participation was saved, before the ledger was."""
    with monkeypatch.context() as patch:
        died(patch, ledger_module, "write_charge")
        died(patch, ledger_module, "rename_charge")
        with pytest.raises(RuntimeError, match="gone"):
            count(ledger, week, data, **more)


def died_before_the_draw(monkeypatch, ledger, week, data, **more):
    """After the charge."""
    with monkeypatch.context() as patch:
        patch.setattr("dptopics.publishing.rehearse", lambda *_: None)
        died(patch, CountsOfPeriod, "__call__")
        with pytest.raises(ReleaseLost, match="may be counted again: nothing of it was given out"):
            count(ledger, week, data, **more)


@pytest.mark.parametrize("week", [2, 3])
def test_death_between_participation_and_charge(ledger, monkeypatch, week):
    if week == 3:
        count(ledger, 2, notes("z"), most=1)
    charges = len(ledger.receipts())
    died_before_the_charge(monkeypatch, ledger, week, notes("a", "b"), most=1)
    assert len(ledger.receipts()) == charges
    assert Participation.load(participation(ledger)).times.max() == 1
    # Nothing was drawn: the same week may be counted, and whoever was remembered for it counts in it, once.
    assert exact(ledger, week, notes("a", "b"), most=1) == 2
    assert exact(ledger, week + 1, notes("a", "b", "c"), most=1) == 1


def test_death_between_participation_and_charge_over_counts_if_another_week_is_next(ledger, monkeypatch):
    died_before_the_charge(monkeypatch, ledger, 2, notes("a"), most=1)
    assert exact(ledger, 3, notes("a", "b"), most=1) == 1
    assert exact(ledger, 2, notes("b", "c"), most=1) == 1  # out of order is fine where noise is fresh


@pytest.mark.parametrize("running", [False, True])
def test_death_after_the_charge_before_anything_leaves(ledger, monkeypatch, running):
    died_before_the_draw(monkeypatch, ledger, 2, notes("a"), running=running)
    assert len(ledger.receipts()) == 1
    assert not Participation.load(participation(ledger)).closed
    assert exact(ledger, 2, notes("a", "b"), running=running) == 2
    assert len(ledger.receipts()) == 1
    with pytest.raises(PrivacyError, match="counted before"):
        count(ledger, 2, notes("a"), running=running)


def test_death_after_the_draw(ledger, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        died(patch, bundle, "save", OSError(28, "no space"))
        with pytest.raises(ReleaseLost):
            count(ledger, 2, notes("a"), out=tmp_path / "w2")
    with pytest.raises(PrivacyError, match="counted before"):
        count(ledger, 2, notes("a"), out=tmp_path / "again")
    assert exact(ledger, 3, notes("a", "b")) == 2


def test_a_week_that_died_and_was_passed_over_is_never_counted(ledger, monkeypatch):
    died_before_the_draw(monkeypatch, ledger, 2, notes("a"))
    assert exact(ledger, 3, notes("a")) == 1
    with pytest.raises(PrivacyError, match="2026-W02 of this series was counted before"):
        count(ledger, 2, notes("a"))


# --- files that are lost, old, of others, or in use ---


def test_a_lost_file_ends_the_series(ledger, tmp_path):
    count(ledger, 2, notes("a"))
    participation(ledger).unlink()
    with pytest.raises(PrivacyError, match=r"is not there\. Without it nobody knows who took part"):
        count(ledger, 3, notes("a"))
    with pytest.raises(PrivacyError, match="is not there"):
        count(ledger, 3, notes("a"), participation=tmp_path / "new")
    assert len(ledger.receipts()) == 1


def test_an_older_copy_is_refused(ledger, tmp_path):
    count(ledger, 2, notes("a"))
    file = participation(ledger)
    shutil.copy2(file, tmp_path / "copy")
    shutil.copy2(ledger.path, tmp_path / "old.ledger")
    count(ledger, 3, notes("a"))
    with pytest.raises(PrivacyError, match="the file is an older copy"):
        count(ledger, 4, notes("a"), participation=tmp_path / "copy")
    with pytest.raises(PrivacyError, match="the ledger is an older copy"):
        count(Ledger.open(tmp_path / "old.ledger"), 4, notes("a"), participation=file)
    assert exact(ledger, 4, notes("a", "b")) == 1


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "is damaged"),
        (lambda data: data[:60], "is damaged"),
        (lambda data: b"patient,note\n", "is not a participation file"),
    ],
)
def test_a_damaged_file_ends_the_series(ledger, change, message):
    count(ledger, 2, notes("a"))
    file = participation(ledger)
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(PrivacyError, match=message):
        count(ledger, 3, notes("a"))


@pytest.mark.skipif(os.name == "nt", reason="no modes there")
def test_a_file_that_others_may_read_is_refused(ledger):
    count(ledger, 2, notes("a"))
    participation(ledger).chmod(0o644)
    with pytest.raises(PrivacyError, match=r"others may read .* chmod 600"):
        count(ledger, 3, notes("a"))


@pytest.mark.parametrize("other", [{"most": 3}, {"epsilon": 0.5}, {"max_cells": 2}, {"running": True}])
def test_a_file_of_another_series(tmp_path, other):
    ledger = Ledger.create(tmp_path / "wide.ledger", epsilon=9, delta=1e-4)
    count(ledger, 2, notes("a"))
    with pytest.raises(PrivacyError, match="of another series"):
        count(ledger, 3, notes("a"), participation=participation(ledger), **other)
    count(ledger, 2, notes("a"), **other)  # beside the ledger it has a file of its own, and pays for itself
    assert [r.price > 0 for r in ledger.receipts()] == [True, True]


def test_two_runs_at_once(ledger):
    count(ledger, 2, notes("a"))
    with alone_with(participation(ledger)), pytest.raises(InputError, match="another run is using"):
        count(ledger, 3, notes("a"))

    def told(_):
        try:
            return count(Ledger.open(ledger.path), 3, notes("a")).value.period
        except DptopicsError as error:
            return type(error).__name__

    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(told, range(3)))
    assert answers.count("2026-W03") == 1
    assert set(answers) <= {"2026-W03", "InputError", "PrivacyError"}  # too early, or too late
    assert [r.what.split()[1] for r in ledger.receipts()] == ["2026-W02", "2026-W03"]


def test_two_runs_with_copies_of_the_file_cannot_both_be_noted(ledger, tmp_path, monkeypatch):
    count(ledger, 2, notes("a"))
    shutil.copy2(participation(ledger), tmp_path / "copy")
    plain = Ledger.charge_after

    def slow(self, decide, **more):  # the other one gets between
        monkeypatch.setattr(Ledger, "charge_after", plain)
        count(ledger, 3, notes("a"), participation=tmp_path / "copy")
        return plain(self, decide, **more)

    monkeypatch.setattr(Ledger, "charge_after", slow)
    with pytest.raises(PrivacyError, match="do not know the same runs: the file is an older copy"):
        count(ledger, 3, notes("a"))


# --- ledgers and units ---


def test_without_authors_there_is_no_file(ledger, tmp_path):
    other = Ledger.create(tmp_path / "documents.ledger", epsilon=1, delta=1e-5, unit="document")
    more = {"author": None, "most": 1}
    assert exact(other, 2, notes("a", "a", "a"), **more) == 3
    assert exact(other, 3, notes("a", "a"), **more) == 2
    assert not list(tmp_path.glob("*series-*"))
    with pytest.raises(PrivacyError, match="counted before"):
        count(other, 3, notes("a"), **more)
    with pytest.raises(PrivacyError, match="one ledger, one unit"):
        count(ledger, 2, notes("a"), **more)
    with pytest.raises(PrivacyError, match="one ledger, one unit"):
        count(other, 4, notes("a"))


def test_a_ledger_with_too_little_left_refuses_the_first_period(tmp_path):
    little = Ledger.create(tmp_path / "little.ledger", epsilon=0.5, delta=1e-5)
    with pytest.raises(BudgetExceeded):
        count(little, 2, notes("a"))
    assert not list(tmp_path.glob("*.series-*"))
    with pytest.raises(InputError, match="a series needs a ledger"):
        count(None, 2, notes("a"))


def test_running_totals_go_forward_and_remember_what_was_left_out(ledger):
    totals = [exact(ledger, week, notes(*people), running=True) for week, people in ((2, "ab"), (4, "bc"), (5, "b"))]
    assert totals == [2, 4, 4]  # b took part twice
    with pytest.raises(PrivacyError, match="running totals go forward"):
        count(ledger, 3, notes("a"), running=True)
    assert Participation.load(participation(ledger)).earlier.exact.shape[0] == 4


def test_names_are_one_person_however_they_are_written(ledger):
    assert exact(ledger, 2, notes("Zoë"), most=1) == 1
    assert exact(ledger, 3, notes(" Zoe\u0308 "), most=1) == 0


def test_a_seeded_generator_is_refused(ledger):
    """Its noise can be drawn again: a ledger records no such release."""
    with pytest.raises(PrivacyError):
        count(ledger, 2, notes(ANN), rng=np.random.default_rng(0))
    assert not ledger.receipts()


def test_other_names_of_the_same_people_are_another_series(ledger):
    """By another column everybody would be new, and be counted once more at no charge."""
    data = notes(ANN).append_column("mail", pa.array(["ann@example.org"]))
    count(ledger, 2, data, most=1)
    with pytest.raises(BudgetExceeded):
        count(ledger, 3, data, most=1, author="mail")


def test_the_card_says_that_documents_are_new_in_each_period():
    week = {"values": (("a", "b"),), "periods": ("W1", "W2"), "at": "W1", "epsilon": 1.0, "delta": 1e-6}
    said = " ".join(CountsOfPeriod.calibrated(unit=Unit.DOCUMENT, **week).guarantee.assumptions)
    assert "Each document must be counted in one period only" in said
    said = " ".join(CountsOfPeriod.calibrated(unit=Unit.AUTHOR, **week).guarantee.assumptions)
    assert "Each author counts in at most 1" in said


# --- two files, copies, and what was restored ---


def between(monkeypatch, where, name, happens):
    """``happens`` once, before the next call."""
    plain = getattr(where, name)

    def called(*args, **named):
        monkeypatch.setattr(where, name, plain)
        happens()
        return plain(*args, **named)

    monkeypatch.setattr(where, name, called)


def during_the_draw(monkeypatch, happens):
    monkeypatch.setattr("dptopics.publishing.rehearse", lambda *_: None)
    between(monkeypatch, CountsOfPeriod, "__call__", happens)


def test_a_refused_run_leaves_no_file_that_is_believed_later(ledger, tmp_path, monkeypatch):
    """Two runs at once with a new file each: the loser's file used to say that its people had been counted."""
    one, two = tmp_path / "a.part", tmp_path / "b.part"
    between(monkeypatch, Ledger, "charge_after", lambda: count(ledger, 2, notes("a", "b"), most=1, participation=one))
    with pytest.raises(PrivacyError, match="do not know the same runs"):
        count(ledger, 3, notes("a", "b"), most=1, participation=two)
    assert not two.exists()
    for week in (2, 3, 4):
        with pytest.raises(PrivacyError, match="is not there"):
            count(ledger, week, notes("a", "b"), most=1, participation=two)
    assert exact(ledger, 3, notes("a", "b", "c"), most=1, participation=one) == 1
    assert len(ledger.receipts()) == 2


def test_a_second_file_is_refused_for_ever(ledger, tmp_path, monkeypatch):
    """Also one whose run died before its charge, while no other had been charged."""
    one, two = tmp_path / "a.part", tmp_path / "b.part"
    died_before_the_charge(monkeypatch, ledger, 2, notes("a"), most=1, participation=two)
    assert two.exists()
    assert exact(ledger, 2, notes("a"), most=1, participation=one) == 1
    for week in (2, 3):
        with pytest.raises(PrivacyError, match="do not know the same runs"):
            count(ledger, week, notes("a"), most=1, participation=two)


def test_a_week_that_was_given_out_is_not_drawn_again_after_the_next_one_died(ledger, monkeypatch):
    assert exact(ledger, 2, notes("a"), most=1) == 1
    died_before_the_charge(monkeypatch, ledger, 3, notes("b"), most=1)
    with pytest.raises(PrivacyError, match="2026-W02 of this series was counted before"):
        count(ledger, 2, notes("a"), most=1)
    assert exact(ledger, 3, notes("a", "b"), most=1) == 1


@pytest.mark.parametrize("week", [3, 4])
@pytest.mark.parametrize("running", [False, True])
def test_a_copy_made_while_a_run_is_under_way(ledger, tmp_path, monkeypatch, week, running):
    count(ledger, 2, notes("z"), running=running)
    copy = tmp_path / "copy"
    with monkeypatch.context() as patch:
        during_the_draw(patch, lambda: shutil.copy2(participation(ledger), copy))
        count(ledger, 3, notes("a"), running=running)
    with pytest.raises(PrivacyError, match="older copy"):
        count(ledger, week, notes("a"), running=running, participation=copy)
    count(ledger, 4, notes("a"), running=running)


def test_two_copies_repeat_one_week_and_one_of_them_gives_it_out(ledger, tmp_path, monkeypatch):
    copy, old = tmp_path / "copy", tmp_path / "old"
    died_before_the_draw(monkeypatch, ledger, 2, notes("a"), most=1)
    shutil.copy2(participation(ledger), old)

    def other():
        with pytest.raises(PrivacyError, match="do not know the same runs"):  # the week was begun anew
            count(ledger, 2, notes("a"), most=1, participation=old)
        shutil.copy2(participation(ledger), copy)
        count(ledger, 2, notes("a", "b"), most=1, participation=copy)

    with monkeypatch.context() as patch:
        during_the_draw(patch, other)
        with pytest.raises(ReleaseLost, match="another run of this series began after this one"):
            count(ledger, 2, notes("a"), most=1)
    with pytest.raises(PrivacyError, match="do not know the same runs"):  # it does not know that b was counted
        count(ledger, 3, notes("b"), most=1)
    assert exact(ledger, 3, notes("a", "b", "c"), most=1, participation=copy) == 1
    assert len(ledger.receipts()) == 2


def test_a_ledger_restored_from_a_copy_made_while_a_run_was_under_way(ledger, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        during_the_draw(patch, lambda: shutil.copy2(ledger.path, tmp_path / "backup"))
        count(ledger, 2, notes("a"), most=1)
    shutil.copy2(tmp_path / "backup", ledger.path)
    with pytest.raises(PrivacyError, match="counted before"):
        count(ledger, 2, notes("a"), most=1)
    died_before_the_charge(monkeypatch, ledger, 3, notes("b"), most=1)
    with pytest.raises(PrivacyError, match="counted before"):
        count(ledger, 2, notes("a"), most=1)
    assert exact(ledger, 3, notes("a", "b"), most=1) == 1


def test_a_file_is_of_one_ledger(ledger, tmp_path):
    count(ledger, 2, notes("a"))
    other = Ledger.create(tmp_path / "other.ledger", epsilon=1, delta=1e-5)
    with pytest.raises(PrivacyError, match="the ledger is an older copy, or another one"):
        count(other, 3, notes("a"), participation=participation(ledger))


def test_the_ledger_says_what_is_under_way(ledger, monkeypatch):
    died_before_the_draw(monkeypatch, ledger, 2, notes("a"))
    assert ledger.receipts()[0].what.endswith(", under way")
    count(ledger, 2, notes("a"))
    assert "under way" not in ledger.card()


def test_a_week_of_documents_that_died_may_be_repeated(tmp_path, monkeypatch):
    other = Ledger.create(tmp_path / "documents.ledger", epsilon=1, delta=1e-5, unit="document")
    died_before_the_draw(monkeypatch, other, 2, notes("a"), author=None, most=1)
    assert exact(other, 2, notes("a", "b"), author=None, most=1) == 2
    with pytest.raises(PrivacyError, match="counted before"):
        count(other, 2, notes("a"), author=None, most=1)


# --- which series it is, and who is who ---


def test_other_dates_of_the_same_documents_are_another_series(tmp_path):
    other = Ledger.create(tmp_path / "documents.ledger", epsilon=1, delta=1e-5, unit="document")
    data = pa.table({"note": ["asthma"] * 3, "created": ["2026-01-06"] * 3, "updated": ["2026-01-13"] * 3})
    for column, week in (("created", 2), ("updated", 3)):
        calendar = Calendar(period="week", first="2026-01-05", last="2026-03-01", column=column)
        if column == "created":
            assert exact(other, week, data, author=None, most=1, calendar=calendar) == 3
            continue
        with pytest.raises(BudgetExceeded):
            count(other, week, data, author=None, most=1, calendar=calendar)


@pytest.mark.parametrize(
    "first, second",
    [
        (["7"], ["7.0"]),
        (["p1"], ["P1 "]),
        (["Ann"], ["\uff21nn"]),
        (["12"], ["\uff11\uff12"]),
        (["ann"], ["an\u00adn"]),
        (["ann"], ["ann\u2065\ufff0\U000e0fff"]),
        (["stra\u00dfe"], ["STRASSE"]),
        (["a b"], ["a \u00a0 b\u2800"]),
    ],
)
def test_one_person_is_one_across_weeks(ledger, first, second):
    assert exact(ledger, 2, notes(*first), most=1) == 1
    assert exact(ledger, 3, notes(*second), most=1) == 0


def test_numbers_and_strings_of_one_person_across_weeks(ledger):
    tables = [
        pa.table({"note": ["asthma"], "patient": pa.array([n], k)}) for n, k in ((7, pa.int8()), (7, pa.uint64()))
    ]
    assert [exact(ledger, week, table, most=1) for week, table in zip((2, 3), tables, strict=True)] == [1, 0]
    assert exact(ledger, 4, notes("7.00"), most=1) == 0
    with pytest.raises(InputError, match="column 'patient' holds double, not strings or whole numbers"):
        count(ledger, 5, pa.table({"note": ["asthma"], "patient": [7.0]}), most=1)


def test_a_series_of_an_earlier_version_is_refused_with_a_reason(ledger):
    from dptopics.counting import period_plan, series_of

    settings = {"epsilon": 1.0, "delta": 1e-6, "unit": Unit.AUTHOR, "max_periods": 2}
    series = series_of(period_plan(MODEL, (), calendar=YEAR, at="2026-W03", **settings), "patient", None)
    assert series.name not in series.formerly
    free = CountsOfPeriod.calibrated(values=(("a", "b"),), epsilon=0.001, delta=1e-6, unit=Unit.AUTHOR).guarantee
    ledger.charge(free, f"periods: 2026-W02 of series {series.formerly[1]}")
    with pytest.raises(PrivacyError, match=r"begun by an earlier version .* Start another one"):
        count(ledger, 3, notes("a"))


# --- participation files that are not what they should be ---


def rewritten(file, **changes):
    """The same file with another head, sealed anew."""
    import io
    import json
    from hashlib import sha256

    from dptopics.ledger.series import _MARK

    arrays = dict(np.load(io.BytesIO(file.read_bytes()[len(_MARK) + 65 :])))
    head = json.loads(arrays["head"].tobytes()) | changes
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    content = buffer.getvalue()
    file.write_bytes(_MARK + sha256(content).hexdigest().encode() + b"\n" + content)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"schema": 1}, "another version of dptopics, which told authors apart by other rules .* Start another one"),
        ({"schema": 3}, "of a newer version. Update dptopics"),
        ({"names": 1}, "another version of dptopics, which told authors apart by other rules"),
        ({"series": "0" * 16}, "of another series"),
        ({"run": "0" * 16}, "do not know the same runs"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_a_reason(ledger, changes, message):
    count(ledger, 2, notes("a"))
    rewritten(participation(ledger), **changes)
    before = participation(ledger).read_bytes()
    with pytest.raises(PrivacyError, match=message):
        count(ledger, 3, notes("a"))
    assert (len(ledger.receipts()), participation(ledger).read_bytes()) == (1, before)


def test_a_folder_is_no_participation_file(ledger, tmp_path):
    (tmp_path / "part").mkdir()
    with pytest.raises(PrivacyError, match="cannot be read: Is a directory"):
        count(ledger, 2, notes("a"), participation=tmp_path / "part")
    with pytest.raises(InputError, match="cannot write next to"):
        count(ledger, 2, notes("a"), participation=tmp_path / "nowhere" / "part")
    assert not ledger.receipts()


def test_a_file_that_cannot_be_written_charges_nothing(ledger, monkeypatch):
    with monkeypatch.context() as patch:
        died(patch, participation_module, "replace_file", OSError(28, "No space left on device"))
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            count(ledger, 2, notes("a"))
    assert not ledger.receipts()
    assert exact(ledger, 2, notes("a")) == 1


def test_a_link_to_the_file_is_the_file(ledger, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link, real = tmp_path / "link.part", tmp_path / "elsewhere" / "real.part"
    count(ledger, 2, notes("a"), participation=real)
    link.symlink_to(real)
    assert exact(ledger, 3, notes("a"), participation=link) == 1
    assert link.is_symlink()
    assert exact(ledger, 4, notes("a", "b"), participation=real) == 1


def test_a_ledger_in_use_leaves_participation_as_it_was(ledger, monkeypatch):
    count(ledger, 2, notes("a"))
    before = participation(ledger).read_bytes()
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.1)
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="in use by another process"):
        count(ledger, 3, notes("b"))
    holder.close()
    assert participation(ledger).read_bytes() == before
    assert exact(ledger, 3, notes("a", "b")) == 2
