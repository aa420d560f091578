"""Tables that a database answers with, by SQLAlchemy. An address holds a password: no message shows it."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from dptopics.core.errors import DptopicsError, InputError
from dptopics.data.readers.columns import BATCH_ROWS, Header, Rows, check_columns, of_rows

T = TypeVar("T")

_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
# What the first letters of an SQLSTATE mean (https://www.postgresql.org/docs/current/errcodes-appendix.html).
_REASONS = {
    "42501": "this user has no right to read what the query names. Ask for it, or query something else",
    "25006": "the query would write. A query may only read: begin it with select",
    "42": "the query is not valid SQL, or names a table or column that is not there. Try it in the database's own tool",
}


@dataclass(frozen=True)
class SqlQuery:
    """A query and the address of the database that answers it: sqlite:///FILE, postgresql://USER:PASSWORD@HOST/NAME."""

    sql: str
    url: str = field(repr=False)

    def columns(self, names: Sequence[str], values: int) -> Iterator[Rows]:
        """Batches of columns, read as the database sends them, in a transaction that may not write."""
        with self._answer() as (result, found):
            check_columns(found, *names)
            places = [found.index(name) for name in names]
            parts = result.partitions(BATCH_ROWS)
            while rows := _shielded(
                lambda: next(parts, None), "the database went away, or failed, while it was read. Run it again"
            ):
                yield of_rows([[_value(row[place]) for place in places] for row in rows])

    def header(self) -> dict[str | None, Header]:
        """Names of the columns. The query is asked for them; its rows are left."""
        with self._answer() as (_, found):
            return {None: Header(found)}

    @contextmanager
    def _answer(self) -> Iterator[tuple[Any, list[str]]]:
        """What the database answers, and the names of its columns."""
        connection = _shielded(
            lambda: _engine(self.url).connect(),
            "the database cannot be reached, or refuses this user. Check the address, user and password",
        )
        result: Any = None
        try:
            result, found = _shielded(
                lambda: _asked(connection, self.sql), "the query was refused. Try it in the database's own tool"
            )
            yield result, found
        finally:
            for one in (result, connection):
                with suppress(Exception):  # a connection that is broken already
                    one.close()


def _engine(url: str) -> Any:
    if find_spec("sqlalchemy") is None:
        raise InputError("databases need another package: pip install 'dptopics[sql]'. Or export a CSV.")
    import sqlalchemy
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError

    try:
        address = sqlalchemy.make_url(url)
        address = address.set(drivername=_DRIVERS.get(address.drivername, address.drivername))
        if address.get_backend_name() == "sqlite" and not Path(address.database or "").is_file():
            raise InputError(f"there is no SQLite file {address.database or ''!r}. An address is sqlite:///FILE.")
        # Rows would be logged where an application asks for everything: this engine's own logger says warnings only.
        logging.getLogger("sqlalchemy.engine.Engine.dptopics").setLevel(logging.WARNING)
        return sqlalchemy.create_engine(
            address, hide_parameters=True, logging_name="dptopics", poolclass=sqlalchemy.NullPool
        )
    except (ArgumentError, NoSuchModuleError):
        reason = "the address of the database is none: it is sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME."
    except ImportError:
        reason = "the driver of this database is not installed. For PostgreSQL: pip install 'dptopics[sql]'."
    raise InputError(reason)


def _asked(connection: Any, sql: str) -> tuple[Any, list[str]]:
    """The answer, in pieces, and the names of its columns.

    Where the database can forbid it to write, it does; what it would write is undone.
    """
    kind = connection.dialect.name
    if kind == "sqlite":
        connection.exec_driver_sql("PRAGMA query_only = ON")
    options = {"postgresql_readonly": True} if kind == "postgresql" else {}
    # A per cent sign in a query is one: no parameters are filled in.
    ready = connection.execution_options(stream_results=True, no_parameters=True, **options)
    result = ready.exec_driver_sql(sql)
    return result, list(result.keys())


def _value(cell: Any) -> Any:
    """A cell as other tables have it: identifiers are strings, whole numbers are whole."""
    if isinstance(cell, UUID):
        return str(cell)
    if isinstance(cell, Decimal) and cell == cell.to_integral_value():
        return int(cell)
    return cell


def _shielded(call: Callable[[], T], otherwise: str) -> T:
    """``call()``. A database's messages quote data and addresses: only the code of an error is read."""
    try:
        return call()
    except (DptopicsError, MemoryError):
        raise
    except Exception as error:
        code = str(getattr(getattr(error, "orig", None), "sqlstate", None) or "")
        reason = next((reason for start, reason in _REASONS.items() if code.startswith(start)), otherwise)
        name = type(error).__name__
    raise InputError(f"{reason} ({name}). Nothing was spent.")
