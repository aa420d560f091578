"""Reports in an SQLite file: the store of one machine, for one server or several."""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from dptopics.errors import InputError, StoreError
from dptopics.local.collection import Collection
from dptopics.local.periods import period_now
from dptopics.local.server.store import BATCH, Batch, Row, check_description, description
from dptopics.privacy.durable import sync_folder

_PATIENCE = 30.0  # seconds to wait while another server writes
_ABOUT = "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_ADD = "INSERT INTO reports VALUES (?, ?{}) ON CONFLICT DO NOTHING"


def tables(collection: Collection) -> tuple[str, str]:
    """The two tables. Without rowids: a rowid counts, so it would keep the order in which people answered."""
    period = "" if collection.period == "none" else ", period TEXT NOT NULL"
    return _ABOUT, f"CREATE TABLE reports (number BLOB PRIMARY KEY, data BLOB NOT NULL{period}) WITHOUT ROWID"


class SqliteStore:
    """One file beside its write-ahead log. A transaction that is committed is on disk; readers never wait."""

    def __init__(self, path: Path, collection: Collection, *, create: bool = True) -> None:
        if not create and not path.is_file():
            raise InputError(f"there is no store {path.name!r}. Look at its name, or start dptopics local serve first.")
        self._path, self._period = path, collection.period
        if create:
            _touch(path)
        with _explained(path, opening=True):
            # The thread that writes is not the one that opens, but there is one at a time.
            self._connection = sqlite3.connect(path, _PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._open(collection, adding=create)
        except BaseException:
            self._connection.close()
            raise

    def _open(self, collection: Collection, *, adding: bool) -> None:
        run = self._connection.execute
        with _explained(self._path, opening=True):
            if not adding:
                run("PRAGMA query_only = ON")
                self._check(collection, adding=False)
                return
            run("PRAGMA synchronous = FULL")  # each commit waits until the log is on disk
            run("PRAGMA fullfsync = ON")
            run("BEGIN IMMEDIATE")  # two servers that start at once come one after the other
            if not run("SELECT name FROM sqlite_master").fetchall():
                for table in tables(collection):
                    run(table)
                self._connection.executemany("INSERT INTO about VALUES (?, ?)", description(collection).items())
            self._check(collection, adding=True)
            run("COMMIT")
            run("PRAGMA journal_mode = WAL")
        sync_folder(self._path.absolute().parent)

    def _check(self, collection: Collection, *, adding: bool) -> None:
        names = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}
        found = dict(self._connection.execute("SELECT key, value FROM about")) if "about" in names else {}
        check_description(found, collection, adding=adding)
        self.about: Mapping[str, str] = found

    def add(self, rows: Sequence[Row]) -> None:
        """Keep reports: all of them in one transaction, on disk when this returns, or none."""
        period = period_now(self._period)
        with _explained(self._path):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                if period is None:
                    self._connection.executemany(_ADD.format(""), rows)
                else:
                    self._connection.executemany(_ADD.format(", ?"), ((*row, period) for row in rows))
                self._connection.execute("COMMIT")
            except sqlite3.Error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def batches(self, period: str | None = None) -> Iterator[Batch]:
        """All reports, or those of one period, as they are at one moment."""
        chosen, values = ("", ()) if period is None else ("WHERE period = ?", (period,))
        with _explained(self._path):
            rows = self._connection.execute(f"SELECT number, data FROM reports {chosen} ORDER BY number", values)
            while found := rows.fetchmany(BATCH):
                numbers, data = zip(*found, strict=True)
                yield list(numbers), list(data)

    def periods(self) -> tuple[str | None, ...]:
        """Periods in which reports came; only None if the collection keeps no times."""
        if self._period == "none":
            return (None,)
        with _explained(self._path):
            found = self._connection.execute("SELECT DISTINCT period FROM reports ORDER BY period")
            return tuple(str(period) for (period,) in found)

    def close(self) -> None:
        """Let go of the file. The last one to do so empties the log into it."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _touch(path: Path) -> None:
    """An empty file for this user's eyes only, if there is none."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise InputError(f"cannot write the store {str(path)!r}: {error.strerror}.") from None


@contextmanager
def _explained(path: Path, *, opening: bool = False) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if opening and isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            raise InputError(f"{path.name!r} is no store of reports ({error}). Name another file.") from None
        raise StoreError(
            f"the store {path.name!r} cannot be used ({error}). Nothing of this request was kept: send it again later."
        ) from None
