"""Reports in PostgreSQL: the store of several machines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import quote

import psycopg
from psycopg import sql

from dptopics.core.errors import InputError, StoreError
from dptopics.core.periods import period_now
from dptopics.local.collection import Collection
from dptopics.local.server.store import BATCH, Batch, Row, Store, check_description, description

try:
    import psycopg
except ImportError:
    raise InputError("a store in PostgreSQL needs an extra package. Run: pip install 'dptopics[server]'") from None

PATIENCE = 10  # seconds to wait for a connection
_LOCK = 0x64707470  # servers that start at once make the tables one after the other
_ABOUT = "CREATE TABLE dptopics_about (key text PRIMARY KEY, value text NOT NULL)"
_REPORTS = "CREATE TABLE dptopics_reports (number bytea PRIMARY KEY, data bytea NOT NULL{})"
# Ordered, so that two servers with the same numbers wait for each other and never both.
_ADD = (
    "INSERT INTO dptopics_reports SELECT number, data{} FROM unnest(%s::bytea[], %s::bytea[]) AS new (number, data) "
    "ORDER BY number ON CONFLICT DO NOTHING"
)


class PostgresStore(Store):
    """Two tables in the first schema of the search path. A connection that was lost is made anew for the next call."""

    def __init__(self, address: str, collection: Collection, *, create: bool = True) -> None:
        self._address, self._connection = address, None  # type: str, psycopg.Connection | None
        self._period = collection.period
        with explained():
            connection = self._connected()
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                there = connection.execute("SELECT to_regclass('dptopics_about') IS NOT NULL").fetchone() == (True,)
                if not there and create:
                    connection.execute(_ABOUT)
                    connection.execute(_REPORTS.format("" if self._period == "none" else ", period text NOT NULL"))
                    with connection.cursor() as cursor:
                        rows = list(description(collection).items())
                        cursor.executemany("INSERT INTO dptopics_about VALUES (%s, %s)", rows)
                found = connection.execute("SELECT key, value FROM dptopics_about") if there or create else ()
                about = {str(key): str(value) for key, value in found}
        try:
            check_description(about, collection, adding=create)
        except InputError:
            self.close()
            raise
        self.about: Mapping[str, str] = about

    def add(self, rows: Sequence[Row]) -> None:
        numbers, data = ([row[part] for row in rows] for part in (0, 1))
        period = period_now(self._period)
        with explained():
            if period is None:
                self._connected().execute(_ADD.format(""), (numbers, data))
            else:
                self._connected().execute(_ADD.format(", %s::text"), (period, numbers, data))

    def batches(self, period: str | None = None) -> Iterator[Batch]:
        chosen, values = ("", ()) if period is None else ("WHERE period = %s", (period,))
        with explained():
            connection = self._connected()
            with connection.transaction(), connection.cursor("reports") as cursor:
                cursor.execute(f"SELECT number, data FROM dptopics_reports {chosen} ORDER BY number", values)
                while found := cursor.fetchmany(BATCH):
                    yield [bytes(number) for number, _ in found], [bytes(data) for _, data in found]

    def periods(self) -> tuple[str | None, ...]:
        if self._period == "none":
            return (None,)
        with explained():
            found = self._connected().execute("SELECT DISTINCT period FROM dptopics_reports ORDER BY period")
            return tuple(str(period) for (period,) in found)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _connected(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            new = psycopg.connect(self._address, autocommit=True, connect_timeout=PATIENCE, prepare_threshold=1)
            new.execute("SET synchronous_commit = on")  # a server may be set to answer before it has written
            self._connection = new
        return self._connection


@contextmanager
def explained() -> Iterator[None]:
    """Errors of the database as StoreError."""
    try:
        yield
    except psycopg.Error as error:
        # Its messages may name hosts, users and values: only the kind of error is told.
        raise StoreError(
            f"the store in PostgreSQL cannot be used ({type(error).__name__}). Nothing of this request was kept: look "
            "at the address and the database, or send it again later."
        ) from None


_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
# Fresh tables, because xmin and the place of a row survive CLUSTER and VACUUM FULL. All rows of a fresh one have the
# xmin of one transaction, and lie in the order of numbers that PostgreSQL draws from the operating system
# (gen_random_uuid). OFFSET 0 keeps the planner from drawing a number twice.
_COPY = (
    "CREATE TABLE {}.dptopics_reports AS SELECT * FROM (SELECT uuid_send(gen_random_uuid()) AS number, {} "
    "FROM dptopics_reports OFFSET 0) AS fresh ORDER BY number"
)
_FINISH = (
    "ALTER TABLE {}.dptopics_reports ADD PRIMARY KEY (number)",
    "ALTER TABLE {}.dptopics_reports ALTER COLUMN data SET NOT NULL",
    "CREATE TABLE {}.dptopics_about (key text PRIMARY KEY, value text NOT NULL)",
)


def check_schema(name: str) -> None:
    """Refuse what is not a plain name."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"a schema's name has small letters, digits and underscores, at most 63, got {name!r}. Name another one."
        )


def seal_in_postgres(address: str, collection: Collection, schema: str) -> int:
    """Copy a store to a new schema of the same database under fresh random numbers; how many reports there are.

    One transaction: the sealed copy is there whole, or not at all. Delete the store afterwards, and the database's
    archived logs and backups: they show the order of arrival.
    """
    check_schema(schema)
    with explained(), psycopg.connect(address, connect_timeout=PATIENCE) as connection:
        connection.execute("SET LOCAL synchronous_commit = on")
        if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone():
            raise InputError(f"the schema {schema!r} exists already. Name a new one.")
        place = sql.Identifier(schema)
        columns = sql.SQL("data" if collection.period == "none" else "data, period")
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(place))
        connection.execute(sql.SQL(_COPY).format(place, columns))
        for step in _FINISH:
            connection.execute(sql.SQL(step).format(place))
        add = sql.SQL("INSERT INTO {}.dptopics_about VALUES (%s, %s)").format(place)
        with connection.cursor() as cursor:
            origin = cursor.execute("SELECT value FROM dptopics_about WHERE key = 'origin'").fetchone()
            about = description(collection, sealed_from=str(origin[0]) if origin else "")
            cursor.executemany(add, list(about.items()))
        found = connection.execute(sql.SQL("SELECT count(*) FROM {}.dptopics_reports").format(place)).fetchone()
        return int(found[0]) if found else 0


def in_schema(address: str, schema: str) -> str:
    """The address of the same database that sees this schema's tables."""
    check_schema(schema)
    return f"{address}{'&' if '?' in address else '?'}options={quote(f'-csearch_path={schema}', safe='')}"
