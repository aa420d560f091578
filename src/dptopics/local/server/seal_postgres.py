"""A sealed copy inside PostgreSQL: fresh tables in a schema of their own, in the order of a random key."""

import re
from urllib.parse import quote

import psycopg
from psycopg import sql

from dptopics.errors import InputError
from dptopics.local.collection import Collection
from dptopics.local.server.store import description
from dptopics.local.server.store_postgres import PATIENCE, explained

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
    """Refuse what is no plain name."""
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
