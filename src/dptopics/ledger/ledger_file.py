"""The file behind a ledger: SQLite, one short transaction at a time, sealed so that damage cannot pass for thrift."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from dptopics.core.errors import LedgerError
from dptopics.privacy.guarantee import Guarantee, Strength

SCHEMA = 1
PATIENCE = 30.0  # seconds to wait while another process writes
_MARK = 0x64707431  # "dpt1", SQLite's application id: tells a ledger from any other database
_TERMS = "name, unit, relation, composition, epsilon, delta, price, risk"
_CHARGE = "number, time, what, epsilon, delta, price, risk, strength, guarantee"
_COLUMN = "author_column"  # beside the guarantee in a charge's JSON


@dataclass(frozen=True)
class Receipt:
    """One charge: the (ε, δ) it states, and the price and risk that count (``sum``: ε, δ; ``zcdp``: ρ, τ).

    ``by`` is the column that named the authors, where units are authors and the column is known.
    """

    number: int
    time: str
    what: str
    epsilon: float
    delta: float
    price: float
    risk: float
    strength: Strength
    guarantee: Guarantee
    by: str | None = None

    @property
    def row(self) -> tuple[Any, ...]:
        text = self.guarantee.to_dict() | ({} if self.by is None else {_COLUMN: self.by})
        plain = self.number, self.time, self.what, self.epsilon, self.delta, self.price, self.risk
        return *plain, self.strength, json.dumps(text)

    @classmethod
    def of_row(cls, *row: Any) -> Self:
        described = json.loads(row[-1])
        return cls(*[*row[:-2], Strength(row[-2]), Guarantee.from_dict(described), described.get(_COLUMN)])


def write_terms(connection: sqlite3.Connection, terms: tuple[Any, ...]) -> None:
    """Make the tables of a new ledger. One transaction: a crash before its end leaves an empty file."""
    connection.execute(f"CREATE TABLE ledger ({_TERMS}, seal)")
    connection.execute(f"CREATE TABLE charge ({_CHARGE})")
    connection.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')", terms)
    connection.execute(f"PRAGMA application_id = {_MARK}")
    connection.execute(f"PRAGMA user_version = {SCHEMA}")
    _commit(connection)


def write_charge(
    connection: sqlite3.Connection,
    number: int,
    what: str,
    numbers: tuple[float, float, float, float],
    guarantee: Guarantee,
    by: str | None,
) -> Receipt:
    """Add a charge and commit it. ``numbers``: ε, δ, price and risk."""
    time = datetime.now(UTC).isoformat(timespec="seconds")
    receipt = Receipt(number, time, what, *numbers, guarantee.strength, guarantee, by)
    connection.execute("INSERT INTO charge VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", receipt.row)
    _commit(connection)
    return receipt


def rename_charge(connection: sqlite3.Connection, receipt: Receipt) -> None:
    """Say something else of what a charge was for, and commit it. What it cost stays."""
    connection.execute("UPDATE charge SET what = ? WHERE number = ?", (receipt.what, receipt.number))
    _commit(connection)


@contextmanager
def transaction(path: Path, kind: str = "DEFERRED") -> Iterator[sqlite3.Connection]:
    """One connection with one transaction; what is not committed in it is undone.

    IMMEDIATE takes the write lock before anything is read: processes queue here, none decides on old sums.
    No other code may open the file: on POSIX, closing it would drop the locks of this process's threads.
    """
    connection = None
    try:
        # mode=rw: a missing file must be an error, not a fresh budget.
        uri = f"{path.as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
        # EXTRA syncs the folder after the journal's removal (and a new file's name with it). After FULL,
        # power loss can bring the journal back and undo a charge whose release is out. fullfsync: for macOS.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute(f"BEGIN {kind}")
        yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: an error message with damaged text
        raise LedgerError(f"ledger {path} {_reason(error)}") from error
    finally:
        if connection is not None:
            connection.close()


_NO_LEDGER = "is not a ledger. Check the path, or make one: dptopics ledger create (Ledger.create)."
_DAMAGED = (
    "is damaged: what was spent is not known. Use a backup only if nothing was released since it was made; "
    "otherwise treat the budget as spent."
)


def _reason(error: Exception) -> str:
    """What SQLite's error means here, and what to do."""
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"is in use by another process, for more than {PATIENCE:g} seconds. Try again."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return "cannot be opened or written. Check the permissions of the file and its folder."
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return "cannot be saved: the disk is full or failing. Nothing was released. Free some space."
        case sqlite3.SQLITE_NOTADB:
            return _NO_LEDGER
    return _DAMAGED


def read(path: Path, connection: sqlite3.Connection) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
    """The terms and all charges. Anything that is not whole is refused."""
    ((mark,),) = connection.execute("PRAGMA application_id")
    ((version,),) = connection.execute("PRAGMA user_version")
    if mark != _MARK:
        if path.stat().st_size:
            raise LedgerError(f"{path} {_NO_LEDGER}")
        raise LedgerError(
            f"{path} is empty: making the ledger was interrupted, or is under way. Nothing was charged. "
            "If nobody is making it now, delete the file and create the ledger again."
        )
    if version > SCHEMA:
        raise LedgerError(f"ledger {path} has schema {version}, we read up to {SCHEMA}. Update dptopics.")
    terms, charges = rows = _rows(connection)
    if connection.execute("SELECT seal FROM ledger").fetchall() != [(_seal(rows),)]:
        raise LedgerError(f"ledger {path} {_DAMAGED}")
    return terms[0], charges


def _rows(connection: sqlite3.Connection) -> list[list[Any]]:
    queries = f"SELECT {_TERMS} FROM ledger", f"SELECT {_CHARGE} FROM charge ORDER BY number"
    return [connection.execute(query).fetchall() for query in queries]


def _seal(rows: list[list[Any]]) -> str:
    """Digest of all that counts: no damage or stray edit may pass for a smaller bill."""
    return hashlib.sha256(json.dumps(rows, default=repr).encode()).hexdigest()


def _commit(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE ledger SET seal = ?", (_seal(_rows(connection)),))
    connection.execute("COMMIT")
