"""A sealed copy of a store: the same randomised bytes, and nothing left that tells who sent which, or when."""

import os
import secrets
import sqlite3
from pathlib import Path

from dptopics.errors import InputError, StoreError
from dptopics.local.collection import Collection
from dptopics.local.server.store import Store, description
from dptopics.local.server.store_sqlite import tables
from dptopics.privacy.durable import sync_folder


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
