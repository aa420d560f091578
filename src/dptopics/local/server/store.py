"""What a store of reports is: numbers and randomised bytes, nothing else, durable before it says so."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from dptopics.errors import InputError
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
        ...

    def batches(self, period: str | None = None) -> Iterator[Batch]:
        """All numbers and bytes, or those of one period, as they are at one moment, ordered by number.

        Others may add meanwhile.
        """
        ...

    def periods(self) -> tuple[str | None, ...]:
        """Periods in which reports came; only None if the collection keeps no times."""
        ...

    def close(self) -> None:
        """Let go of the file or the connection."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


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
    from dptopics.local.server.store_sqlite import SqliteStore

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
        raise InputError("this is no store of reports. Name another file or database: nothing was changed.")
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
