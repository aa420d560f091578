"""What a client has sent, on its own disk: written before a report is handed out."""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dptopics.errors import InputError, PrivacyError
from dptopics.local.client import Sent
from dptopics.local.collection import Report
from dptopics.privacy.durable import make_folder, sync_folder

_PATIENCE = 30.0  # seconds to wait while another process of this client reports
_TABLE = "CREATE TABLE IF NOT EXISTS sent (collection PRIMARY KEY, version, epsilon, number, data)"


class SentFolder:
    """A client's memory on its own disk: a small SQLite file of what was sent. It holds no text. Do not delete it."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def sent(self) -> Sequence[Sent]:
        """All that is kept."""
        if not self._file.exists():
            return ()
        with self._transaction("DEFERRED") as connection:
            return _sent(connection)

    def keep(self, decide: Callable[[Sequence[Sent]], Sent]) -> Sent:
        """What ``decide`` makes of all that is kept; a new one is on disk before it is returned.

        The write lock is taken before the look, so two processes at once come one after the other. A crash before the
        end leaves nothing sent and nothing counted; one after it leaves a report that can be asked for again.
        """
        self._make()
        with self._transaction("IMMEDIATE") as connection:
            connection.execute(_TABLE)
            _forget_digests(connection)
            before = _sent(connection)
            found = decide(before)
            if self._sent_by_version_0_1(found.report.collection):
                raise PrivacyError(
                    f"a report for collection {found.report.collection!r} was sent already, by version 0.1: send none."
                )
            if found not in before:
                report = found.report
                row = (report.collection, report.version, found.epsilon, report.number, report.data)
                connection.execute("INSERT INTO sent VALUES (?, ?, ?, ?, ?)", row)
            connection.execute("COMMIT")
        return found

    @property
    def uncounted(self) -> int:
        """Reports of version 0.1, which noted that something was sent but not what it cost."""
        return len(list(self._folder.glob("*.sent"))) if self._folder.is_dir() else 0

    @property
    def _file(self) -> Path:
        return self._folder / "sent.sqlite"

    def _sent_by_version_0_1(self, name: str) -> bool:
        return (self._folder / f"{hashlib.sha256(name.encode()).hexdigest()}.sent").exists()

    def _make(self) -> None:
        """The folder and an empty file, for this user's eyes only."""
        try:
            make_folder(self._folder)
            os.close(os.open(self._file, os.O_CREAT | os.O_RDWR, 0o600))
            sync_folder(self._folder)  # else a loss of power could take the names away again, after a report was sent
            sync_folder(self._folder.absolute().parent)  # another process may have made the folder just now
        except OSError as error:
            raise InputError(
                f"cannot write {str(self._folder)!r}: {error.strerror}. Without a memory nothing is sent."
            ) from None

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        connection = None
        try:
            connection = sqlite3.connect(self._file, timeout=_PATIENCE, isolation_level=None)
            connection.execute("PRAGMA synchronous = EXTRA")  # on disk, and its folder's entry too, when COMMIT returns
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(f"BEGIN {kind}")
            yield connection
        except sqlite3.Error as error:
            raise PrivacyError(
                f"the memory of what was sent, {str(self._file)!r}, cannot be used ({error}): what was sent before is "
                "not known. Nothing was sent. If it is damaged, treat the limit as reached."
            ) from error
        finally:
            if connection is not None:
                connection.close()


def _sent(connection: sqlite3.Connection) -> Sequence[Sent]:
    if not connection.execute("SELECT name FROM sqlite_master WHERE name = 'sent'").fetchall():
        return ()
    rows = connection.execute("SELECT collection, version, epsilon, number, data FROM sent ORDER BY rowid")
    return tuple(Sent(Report(name, version, number, data), epsilon) for name, version, epsilon, number, data in rows)


def _forget_digests(connection: sqlite3.Connection) -> None:
    """Development versions before 0.2.0 kept a keyed hash of the text, beside its key."""
    if "digest" in {column[1] for column in connection.execute("PRAGMA table_info(sent)")}:
        connection.execute("ALTER TABLE sent DROP COLUMN digest")
