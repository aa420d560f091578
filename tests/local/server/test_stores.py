"""Stores of both kinds: durable, once each, of one collection only, and without a trace of order or sender."""

import os
import sqlite3
import threading
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from collector_tools import collection, fresh_schema, stored

from dptopics.core import periods
from dptopics.core.errors import InputError, StoreError
from dptopics.local.collection import Collection
from dptopics.local.report_files import Inbox
from dptopics.local.server.store import SqliteStore, open_store, seal
from dptopics.local.server.store_postgres import in_schema, seal_in_postgres

MADE = collection()
ROWS = [(bytes([i]) * 16, bytes([8 * i])) for i in (7, 2, 9, 1)]


def test_reports_are_kept_once_and_ordered_by_their_numbers(where):
    with open_store(where, MADE) as store:
        store.add(ROWS)
        store.add([*ROWS[:2], (b"\x05" * 16, b"\x10"), (ROWS[0][0], b"\xf8")])  # the first bytes of a number stay
    with open_store(where, MADE) as store:
        assert stored(store) == sorted([*ROWS, (b"\x05" * 16, b"\x10")])


def test_a_store_belongs_to_one_version_of_one_collection(where):
    open_store(where, MADE).close()
    with pytest.raises(InputError, match="another collection"):
        open_store(where, collection(name="other"))
    with pytest.raises(InputError, match=r"version .*cannot be mixed"):
        open_store(where, collection("pair"))
    open_store(where, MADE).close()


def change(where, key, value):
    if where.startswith("postgresql"):
        import psycopg

        with psycopg.connect(where) as connection:
            connection.execute("UPDATE dptopics_about SET value = %s WHERE key = %s", (value, key))
    else:
        with sqlite3.connect(where) as connection:
            connection.execute("UPDATE about SET value = ? WHERE key = ?", (value, key))
        connection.close()


def test_a_newer_schema_is_refused(where):
    open_store(where, MADE).close()
    change(where, "schema", "2")
    for create in (True, False):
        with pytest.raises(InputError, match=r"schema 2.*Update dptopics"):
            open_store(where, MADE, create=create)


def test_reading_makes_no_store(where):
    with pytest.raises(InputError, match=r"no store|not a store"):
        open_store(where, MADE, create=False)
    open_store(where, MADE).close()


def test_the_inbox_reads_a_store_while_it_is_written(where):
    with open_store(where, MADE) as store:
        store.add(ROWS[:3])
        inbox = Inbox(MADE)
        inbox.read(where)
        store.add(ROWS[3:])
        assert sorted(inbox.finish()[:, 0]) == sorted(data[0] for _, data in ROWS[:3])
        assert not inbox.rejected


def test_two_servers_on_one_store(where):
    """Both add the same numbers in opposite orders, many times: no deadlock, nothing twice."""

    def work(rows):
        with open_store(where, MADE) as store:
            for first in range(0, 400, 20):
                store.add(rows[first : first + 40])

    rows = [(i.to_bytes(16, "big"), b"\x08") for i in range(400)]
    threads = [threading.Thread(target=work, args=(some,)) for some in (rows, rows[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_store(where, MADE, create=False) as store:
        assert stored(store) == rows


# --- sealing ---


def test_a_sealed_copy_has_the_same_bytes_under_new_numbers(where, tmp_path):
    rng = np.random.default_rng(0)
    rows = [(rng.bytes(16), bytes([8 * (i % 32)])) for i in range(3000)]
    with open_store(where, MADE) as store:
        store.add(rows)
        assert seal(store, MADE, tmp_path / "sealed.db") == 3000
        with pytest.raises(InputError, match="exists already"):
            seal(store, MADE, tmp_path / "sealed.db")
    with open_store(tmp_path / "sealed.db", MADE, create=False) as store:
        sealed = stored(store)
    assert sorted(data for _, data in sealed) == sorted(data for _, data in rows)
    assert not {number for number, _ in sealed} & {number for number, _ in rows}
    content = (tmp_path / "sealed.db").read_bytes()
    assert not any(number in content for number, _ in rows)
    # The order of the new numbers has nothing to do with the order of arrival.
    order = [data[0] // 8 for _, data in sealed]
    ascending = np.mean(np.diff(order) == 1)
    assert ascending < 0.1
    with pytest.raises(InputError, match="sealed"):
        open_store(tmp_path / "sealed.db", MADE)
    assert sorted(path.name for path in tmp_path.iterdir() if "sealed" in path.name) == ["sealed.db"]


def received(*stores):
    inbox = Inbox(MADE)
    for one in stores:
        inbox.read(one)
    return len(inbox.finish())


def test_a_store_and_its_sealed_copies_do_not_count_together(where, tmp_path):
    """The numbers are new, so nothing else would notice: three times the reports, each person counted three times."""
    with open_store(where, MADE) as store:
        store.add(ROWS)
        seal(store, MADE, tmp_path / "one.db")
        seal(store, MADE, tmp_path / "two.db")
    with open_store(tmp_path / "one.db", MADE, create=False) as store:
        seal(store, MADE, tmp_path / "of one.db")
    copies = [where, tmp_path / "one.db", tmp_path / "two.db", tmp_path / "of one.db"]
    if where.startswith("postgresql"):
        name = f"sealed_with_{os.getpid()}"
        seal_in_postgres(where, MADE, name)
        copies.append(in_schema(where, name))
    for i, one in enumerate(copies):
        assert received(one) == 4
        for other in copies[:i]:
            with pytest.raises(InputError, match=r"same reports under different numbers.*name one of them"):
                received(one, other)
    assert received(where, where) == 4  # numbers tell
    with open_store(tmp_path / "elsewhere.db", MADE) as store:  # another machine's
        store.add([(b"\x05" * 16, b"\x10")])
        seal(store, MADE, tmp_path / "sealed elsewhere.db")
    assert received(where, tmp_path / "elsewhere.db") == received(tmp_path / "one.db", tmp_path / "elsewhere.db") == 5
    assert received(tmp_path / "one.db", tmp_path / "sealed elsewhere.db") == 5


def test_copies_that_name_no_origin_are_taken_alone(where, tmp_path):
    open_store(where, MADE).close()
    change(where, "origin", "")
    with open_store(where, MADE, create=False) as store:
        seal(store, MADE, tmp_path / "one.db")
    open_store(tmp_path / "elsewhere.db", MADE).close()
    with pytest.raises(InputError, match="same reports"):
        received(tmp_path / "one.db", tmp_path / "elsewhere.db")
    assert received(where, tmp_path / "elsewhere.db") == 0


def test_pages_of_a_sealed_copy_lie_in_the_order_of_its_numbers(tmp_path):
    """In the running store the layout of pages tells of the order of arrival; in the copy it follows the numbers."""
    rng = np.random.default_rng(1)
    with open_store(tmp_path / "a.db", MADE) as store:
        for _ in range(40):
            store.add([(rng.bytes(16), b"\x08") for _ in range(100)])
        seal(store, MADE, tmp_path / "b.db")
    with sqlite3.connect(tmp_path / "b.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        numbers = [number for (number,) in connection.execute("SELECT number FROM reports")]
    connection.close()
    content = (tmp_path / "b.db").read_bytes()
    page = np.array([content.index(number) // 4096 for number in numbers])
    assert np.all(np.diff(page[page > page.min()]) >= -1)  # one inner entry may sit on its parent's page


def test_a_copy_inside_postgresql_tells_no_order(postgres, tmp_path):
    """Rows that came in 300 transactions: in the copy they have one xmin, and lie in the order of fresh numbers."""
    import psycopg

    source = fresh_schema(postgres, f"sealing_{os.getpid()}")
    rng = np.random.default_rng(0)
    rows = [(rng.bytes(16), bytes([8 * (i % 32)])) for i in range(3000)]
    with open_store(source, MADE) as store:
        for first in range(0, 3000, 10):
            store.add(rows[first : first + 10])
    name = f"sealed_{os.getpid()}"
    assert seal_in_postgres(source, MADE, name) == 3000
    with pytest.raises(InputError, match="exists already"):
        seal_in_postgres(source, MADE, name)
    places = "SELECT number, xmin::text FROM dptopics_reports ORDER BY ctid"
    with psycopg.connect(source) as connection:
        assert len({xmin for _, xmin in connection.execute(places)}) == 300  # what the running store tells
    with psycopg.connect(in_schema(postgres, name)) as connection:
        numbers, times = zip(*connection.execute(places).fetchall(), strict=True)
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO dptopics_reports SELECT * FROM dptopics_reports")
    assert len(set(times)) == 1
    assert list(map(bytes, numbers)) == sorted(map(bytes, numbers))
    assert not set(map(bytes, numbers)) & {number for number, _ in rows}
    with open_store(in_schema(postgres, name), MADE, create=False) as store:
        sealed = stored(store)
    assert sorted(data for _, data in sealed) == sorted(data for _, data in rows)
    assert np.mean(np.diff([data[0] // 8 for _, data in sealed]) == 1) < 0.1
    with pytest.raises(InputError, match="sealed"):
        open_store(in_schema(postgres, name), MADE)


@pytest.mark.parametrize("name", ["", "Sealed", 'x"; DROP TABLE y', "a" * 64, "1st"])
def test_schemas_have_plain_names(name):
    with pytest.raises(InputError, match="small letters"):
        in_schema("postgresql:///x", name)


def test_a_lost_connection_to_postgresql_is_made_anew(postgres):
    """The database ends our connection: nothing of that call is kept, it says so, and the next one is kept."""
    import psycopg

    with open_store(fresh_schema(postgres, f"lost_{os.getpid()}"), MADE) as store:
        store.add(ROWS[:1])
        with psycopg.connect(postgres, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (store._connection.info.backend_pid,))
        with pytest.raises(StoreError, match="Nothing of this request was kept"):
            store.add(ROWS[1:])
        store.add(ROWS[1:])
        assert stored(store) == sorted(ROWS)


# --- coarse times ---

WEEKLY = replace(MADE, period="week")


def at(monkeypatch, *when):
    monkeypatch.setattr(periods, "_today", lambda: date(*when))


@pytest.mark.parametrize("kind, names", [("day", ("2027-01-03", "2027-01-04")), ("week", ("2026-W53", "2027-W01"))])
def test_the_period_is_all_that_is_kept_of_a_time(where, monkeypatch, tmp_path, kind, names):
    made = replace(MADE, period=kind)
    with open_store(where, made) as store:
        at(monkeypatch, 2027, 1, 3)  # a Sunday
        store.add(ROWS[:3])
        at(monkeypatch, 2027, 1, 4)
        store.add(ROWS)  # those that were there keep their period
        assert store.periods() == names
        assert [len(next(store.batches(name))[0]) for name in names] == [3, 1]
        assert stored(store) == sorted(ROWS)
        seal(store, made, tmp_path / "sealed.db")
    with open_store(tmp_path / "sealed.db", made, create=False) as store:
        assert store.periods() == names
        assert [len(next(store.batches(name))[0]) for name in names] == [3, 1]
    if where.startswith("postgresql"):
        name = f"sealed_{kind}_{os.getpid()}"
        assert seal_in_postgres(where, made, name) == 4
        with open_store(in_schema(where, name), made, create=False) as store:
            assert store.periods() == names
    inbox = Inbox(made, period=names[0])
    inbox.read(where)
    assert len(inbox.finish()) == 3


def test_without_a_period_there_is_no_column_for_one(where):
    with open_store(where, MADE) as store:
        assert store.periods() == (None,)
    with pytest.raises(InputError, match="version"):
        open_store(where, WEEKLY)
    assert Collection.from_dict(WEEKLY.to_dict()) == WEEKLY
    assert "period" not in MADE.to_dict()


def test_a_clock_that_was_never_set_stamps_nothing(where, monkeypatch):
    with open_store(where, WEEKLY) as store:
        at(monkeypatch, 1970, 1, 1)
        with pytest.raises(StoreError, match=r"clock says 1970.*Nothing of this request was kept"):
            store.add(ROWS)
        assert stored(store) == []
        at(monkeypatch, 2026, 11, 16)
        store.add(ROWS)
        assert store.periods() == ("2026-W47",)
    with open_store(where, WEEKLY) as store:  # one that jumps makes a wrong week, and loses nothing
        at(monkeypatch, 2099, 1, 1)
        store.add([(b"\x05" * 16, b"\x10")])
        at(monkeypatch, 2026, 11, 15)
        store.add([(b"\x06" * 16, b"\x10")])
        assert store.periods() == ("2026-W46", "2026-W47", "2099-W01")


@pytest.mark.parametrize("kind, period", [
    ("none", "2026-W47"), ("week", "2026-11-16"), ("week", "2026-W54"), ("day", "2026-W47"), ("day", "2026-02-30"),
    ("day", "2026-11-16T10:00"), ("week", ""),
])  # fmt: skip
def test_periods_that_are_none(kind, period):
    with pytest.raises(InputError, match=r"stores no times|is not a (week|day)"):
        Inbox(replace(MADE, period=kind), period=period)


def test_only_coarse_periods_and_only_stores_have_them(tmp_path):
    with pytest.raises(InputError, match=r"none, day, week, got 'hour'\. Finer times are never stored"):
        replace(MADE, period="hour")
    (tmp_path / "a.jsonl").write_text("{}")
    with pytest.raises(InputError, match="files of reports hold no times"):
        Inbox(WEEKLY, period="2026-W47").read(tmp_path / "a.jsonl")


# --- SQLite alone ---


def test_no_table_counts_arrivals(tmp_path):
    with open_store(tmp_path / "a.db", MADE) as store:
        store.add(ROWS)
    connection = sqlite3.connect(tmp_path / "a.db")
    (tables,) = zip(*connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"), strict=True)
    assert set(tables) == {"about", "reports"}
    for table in tables:
        with pytest.raises(sqlite3.OperationalError, match="no such column: rowid"):
            connection.execute(f"SELECT rowid FROM {table}")
    assert [row[1] for row in connection.execute("PRAGMA table_info(reports)")] == ["number", "data"]
    connection.close()
    assert (tmp_path / "a.db").stat().st_mode & 0o077 == 0


def test_a_commit_waits_for_the_disk(tmp_path):
    with SqliteStore(tmp_path / "a.db", MADE) as store:
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_a_full_disk_loses_nothing(tmp_path):
    with SqliteStore(tmp_path / "a.db", MADE) as store:
        store.add(ROWS)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(StoreError, match=r"full.*Nothing of this request was kept"):
            store.add([(i.to_bytes(16, "little"), b"\x08") for i in range(5000)])
        assert stored(store) == sorted(ROWS)
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.add([(b"\x05" * 16, b"\x10")])
        assert len(stored(store)) == 5


def test_files_that_are_no_store(tmp_path):
    (tmp_path / "a.db").write_bytes(b"not a database at all, and long enough to be one" * 100)
    with pytest.raises(InputError, match="is not a store of reports"):
        open_store(tmp_path / "a.db", MADE)
    connection = sqlite3.connect(tmp_path / "b.db")
    connection.execute("CREATE TABLE diary (line)")
    connection.close()
    with pytest.raises(InputError, match="is not a store of reports"):
        open_store(tmp_path / "b.db", MADE)
    with pytest.raises(InputError, match="kind of store"):
        open_store(tmp_path / "c.txt", MADE)
    with pytest.raises(InputError, match="cannot write"):
        open_store(tmp_path / "none" / "d.db", MADE)


def test_a_database_that_is_not_there():
    with pytest.raises(StoreError, match=r"cannot be used \(OperationalError\)"):
        open_store("postgresql:///none?host=/nowhere&user=secretname", MADE)
