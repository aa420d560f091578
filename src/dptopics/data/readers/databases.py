"""Results of database queries, by SQLAlchemy. An address holds a password: no message shows it."""

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
# The meaning of an SQLSTATE's beginning (https://www.postgresql.org/docs/current/errcodes-appendix.html).
_REASONS = {
    "42501": "this user may not read what the query names. Ask for permission, or query something else",
    "25006": "the query would write. A query must be read-only: start it with select",
    "42": "the query is not valid SQL, or names a missing table or column. Try it in the database's own tool",
}


@dataclass(frozen=True)
class SqlQuery:
    """A query and the address of its database: sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME."""

    sql: str
    url: str = field(repr=False)

    def columns(self, names: Sequence[str], values: int) -> Iterator[Rows]:
        """Batches of columns, read as the database sends them, in a read-only transaction."""
        with self._answer() as (result, found):
            check_columns(found, *names)
            places = [found.index(name) for name in names]
            parts = result.partitions(BATCH_ROWS)
            while rows := _shielded(
                lambda: next(parts, None), "the connection was lost, or the database failed. Run it again"
            ):
                yield of_rows([[_value(row[place]) for place in places] for row in rows])

    def header(self) -> dict[str | None, Header]:
        """Column names. The query runs, but its rows are not read."""
        with self._answer() as (_, found):
            return {None: Header(found)}

    @contextmanager
    def _answer(self) -> Iterator[tuple[Any, list[str]]]:
        """The result of the query and its column names."""
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
                with suppress(Exception):  # the connection may be broken
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
        # An application that logs everything would log rows: this engine's own logger passes warnings only.
        logging.getLogger("sqlalchemy.engine.Engine.dptopics").setLevel(logging.WARNING)
        return sqlalchemy.create_engine(
            address, hide_parameters=True, logging_name="dptopics", poolclass=sqlalchemy.NullPool
        )
    except (ArgumentError, NoSuchModuleError):
        reason = "this is not a database address. Use sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME."
    except ImportError:
        reason = "the driver of this database is not installed. For PostgreSQL: pip install 'dptopics[sql]'."
    raise InputError(reason)


def _asked(connection: Any, sql: str) -> tuple[Any, list[str]]:
    """The streamed result and its column names. Where the database can forbid writing, it does; any write is undone."""
    kind = connection.dialect.name
    if kind == "sqlite":
        connection.exec_driver_sql("PRAGMA query_only = ON")
    options = {"postgresql_readonly": True} if kind == "postgresql" else {}
    # A percent sign stands for itself: no parameters are filled in.
    ready = connection.execution_options(stream_results=True, no_parameters=True, **options)
    result = ready.exec_driver_sql(sql)
    return result, list(result.keys())


def _value(cell: Any) -> Any:
    """A cell as in other tables: identifiers as strings, whole numbers as integers."""
    if isinstance(cell, UUID):
        return str(cell)
    if isinstance(cell, Decimal) and cell == cell.to_integral_value():
        return int(cell)
    return cell


def _shielded(call: Callable[[], T], otherwise: str) -> T:
    """``call()``. A database's messages quote data and addresses: only the error code is used."""
    try:
        return call()
    except (DptopicsError, MemoryError):
        raise
    except Exception as error:
        code = str(getattr(getattr(error, "orig", None), "sqlstate", None) or "")
        reason = next((reason for start, reason in _REASONS.items() if code.startswith(start)), otherwise)
        name = type(error).__name__
    raise InputError(f"{reason} ({name}). Nothing was spent.")
