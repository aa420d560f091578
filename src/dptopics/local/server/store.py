"""What a store of reports is: numbers and randomised bytes, nothing else, durable before it says so."""

import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, Self

from dptopics.core.errors import InputError, StoreError
from dptopics.core.files import sync_folder
from dptopics.core.periods import period_now
from dptopics.local.collection import Collection

SCHEMA = 1
BATCH = 8192
POSTGRES = ("postgresql://", "postgres://")
SQLITE = (".db", ".sqlite", ".sqlite3")
Row = tuple[bytes, bytes]  # a report's number, and its randomised bytes
Batch = tuple[list[bytes], list[bytes]]


class Store(Protocol):
    """Keeps reports of one collection. It knows no address, no token and no order of arrival, and no time but the
    period that the collection names. ``about`` is what it says about itself (:func:`description`)."""

    about: Mapping[str, str]

    def add(self, rows: Sequence[Row]) -> None:
        """Keep reports. When this returns they are on disk; a number that is there already changes nothing.

        Raises:
            StoreError: none of them is kept, and the same call may be made again.
        """

    def batches(self, period: str | None = None) -> Iterator[Batch]:
        """All numbers and bytes, or those of one period, as they are at one moment, ordered by number.

        Others may add meanwhile.
        """

    def periods(self) -> tuple[str | None, ...]:
        """Periods in which reports came; only None if the collection keeps no times."""

    def close(self) -> None:
        """Let go of the file or the connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def is_store(where: str | Path) -> bool:
    """Whether this names a store, and no file of reports."""
    return str(where).startswith(POSTGRES) or Path(where).suffix.lower() in SQLITE


def open_store(where: str | Path, collection: Collection, *, create: bool = True) -> Store:
    """The store at a path (SQLite) or a URL (PostgreSQL), made if there is none and ``create`` is set."""
    if str(where).startswith(POSTGRES):
        from dptopics.local.server.store_postgres import PostgresStore

        return PostgresStore(str(where), collection, create=create)
    if not is_store(where):
        raise InputError(
            f"cannot tell the kind of store of {Path(where).name!r}. Use a file that ends in {', '.join(SQLITE)}, or "
            "an address that begins with postgresql://."
        )

    return SqliteStore(Path(where), collection, create=create)


def description(collection: Collection, *, sealed_from: str | None = None) -> dict[str, str]:
    """What a store says about itself. Its ``origin`` is a random number, which a sealed copy shares with its store."""
    return {
        "schema": str(SCHEMA), "collection": collection.name, "version": collection.version,
        "sealed": str(int(sealed_from is not None)),
        "origin": secrets.token_hex(16) if sealed_from is None else sealed_from,
    }  # fmt: skip


def hold_the_same(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two stores may hold the same reports under different numbers: sealed copies, and what they are from.

    Stores of development versions before 0.2.0 had no origin: together with a sealed copy nobody can tell.
    """
    if "1" not in (one.get("sealed"), other.get("sealed")):
        return False  # numbers are those of the clients: what is there twice is found
    origins = {one.get("origin", ""), other.get("origin", "")}
    return len(origins) == 1 or "" in origins


def check_description(found: Mapping[str, str], collection: Collection, *, adding: bool) -> None:
    """Refuse a store that is newer, of another collection, or sealed and to be added to."""
    schema = found.get("schema", "")
    if not schema.isdecimal():
        raise InputError("this is not a store of reports. Name another file or database: nothing was changed.")
    if int(schema) > SCHEMA:
        raise InputError(
            f"the store has schema {schema}, this version of dptopics knows up to {SCHEMA}. Update dptopics."
        )
    if found.get("collection") != collection.name:
        raise InputError(
            f"the store holds reports of another collection, not of {collection.name!r}. Name another store."
        )
    if found.get("version") != collection.version:
        raise InputError(
            f"the store holds reports of version {found.get('version')} of collection {collection.name!r}, this is "
            f"version {collection.version}. Reports of two versions cannot be mixed: name another store."
        )
    if adding and found.get("sealed") != "0":
        raise InputError("the store is sealed: it takes no more reports. Serve the store that it was made from.")


_PATIENCE = 30.0  # seconds to wait while another server writes
_ABOUT = "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_ADD = "INSERT INTO reports VALUES (?, ?{}) ON CONFLICT DO NOTHING"


def tables(collection: Collection) -> tuple[str, str]:
    """The two tables. Without rowids: a rowid counts, so it would keep the order in which people answered."""
    period = "" if collection.period == "none" else ", period TEXT NOT NULL"
    return _ABOUT, f"CREATE TABLE reports (number BLOB PRIMARY KEY, data BLOB NOT NULL{period}) WITHOUT ROWID"


class SqliteStore(Store):
    """One file beside its write-ahead log. A transaction that is committed is on disk; readers never wait."""

    def __init__(self, path: Path, collection: Collection, *, create: bool = True) -> None:
        if not create and not path.is_file():
            raise InputError(f"there is no store {path.name!r}. Check its name, or run dptopics local serve first.")
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
        chosen, values = ("", ()) if period is None else ("WHERE period = ?", (period,))
        with _explained(self._path):
            rows = self._connection.execute(f"SELECT number, data FROM reports {chosen} ORDER BY number", values)
            while found := rows.fetchmany(BATCH):
                numbers, data = zip(*found, strict=True)
                yield list(numbers), list(data)

    def periods(self) -> tuple[str | None, ...]:
        if self._period == "none":
            return (None,)
        with _explained(self._path):
            found = self._connection.execute("SELECT DISTINCT period FROM reports ORDER BY period")
            return tuple(str(period) for (period,) in found)

    def close(self) -> None:
        """Let go of the file. The last one to do so empties the log into it."""
        self._connection.close()


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
            raise InputError(f"{path.name!r} is not a store of reports ({error}). Name another file.") from None
        raise StoreError(
            f"the store {path.name!r} cannot be used ({error}). Nothing of this request was kept: send it again later."
        ) from None


def seal(store: Store, collection: Collection, target: Path) -> int:
    """Write all reports to a new SQLite file under fresh random numbers, in the order of those; how many there are.

    A report's own number is known to its client, and to whoever saw the request; the new one to nobody. The rows are
    written once more by VACUUM INTO, so that not even the layout of pages remembers in which order they came. Whoever
    copies the store a second time gets other numbers: the copies name their origin, and a fit takes one of them only.
    """
    if target.exists():
        raise InputError(f"the file {str(target)!r} exists already. Name a new one.")
    draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        n_reports = _write(store, collection, draft, target)
        handle = os.open(target, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        sync_folder(target.absolute().parent)
    except (sqlite3.Error, OSError) as error:
        target.unlink(missing_ok=True)
        raise StoreError(f"the sealed copy could not be written ({error}). The store is as it was.") from None
    finally:
        draft.unlink(missing_ok=True)
    return n_reports


def _write(store: Store, collection: Collection, draft: Path, target: Path) -> int:
    for path in (draft, target):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = OFF")  # a draft that fails is thrown away
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for table in tables(collection):
            connection.execute(table)
        connection.executemany(
            "INSERT INTO about VALUES (?, ?)",
            description(collection, sealed_from=store.about.get("origin", "")).items(),
        )
        for period in store.periods():
            more = () if period is None else (period,)
            for _, data in store.batches(period):
                rows = ((secrets.token_bytes(16), one, *more) for one in data)
                connection.executemany(f"INSERT INTO reports VALUES (?, ?{', ?' * len(more)})", rows)
        connection.execute("COMMIT")
        connection.execute("VACUUM INTO ?", (str(target),))
        return int(connection.execute("SELECT count(*) FROM reports").fetchone()[0])
    finally:
        connection.close()
