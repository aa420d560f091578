"""Stores of both kinds: durable, once each, of one collection only, and without a trace of order or sender."""

import sqlite3
import threading

import numpy as np
import pytest
from collector_tools import collection, stored

from dptopics.errors import InputError, StoreError
from dptopics.local.report_files import Inbox
from dptopics.local.server.seal import seal
from dptopics.local.server.store import open_store
from dptopics.local.server.store_sqlite import SqliteStore

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
    with pytest.raises(InputError, match="no store"):
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
    with pytest.raises(InputError, match="is no store of reports"):
        open_store(tmp_path / "a.db", MADE)
    connection = sqlite3.connect(tmp_path / "b.db")
    connection.execute("CREATE TABLE diary (line)")
    connection.close()
    with pytest.raises(InputError, match="is no store of reports"):
        open_store(tmp_path / "b.db", MADE)
    with pytest.raises(InputError, match="kind of store"):
        open_store(tmp_path / "c.txt", MADE)
    with pytest.raises(InputError, match="cannot write"):
        open_store(tmp_path / "none" / "d.db", MADE)


def test_a_database_that_is_not_there():
    with pytest.raises(StoreError, match=r"cannot be used \(OperationalError\)"):
        open_store("postgresql:///none?host=/nowhere&user=secretname", MADE)
