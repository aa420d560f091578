"""The client of local collection: it shows what is asked, keeps a total, and never draws the same report twice."""

import hashlib
import http.client
import json
import os
import sqlite3
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import fsum, inf
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from numpy.random import Generator

from dptopics.core.errors import BudgetExceeded, BundleError, InputError, PrivacyError, StoreError
from dptopics.core.files import make_folder, sync_folder
from dptopics.local.collection import Collection, Report
from dptopics.local.report_files import to_line
from dptopics.privacy.card import show
from dptopics.privacy.rng import is_secure

_WIDTH = 88  # of a card, at most
_SLACK = 1 + 1e-9  # a limit of 4 takes an ε of 4 that floating point computed a little above


@dataclass(frozen=True)
class Sent:
    """What a client remembers of one report: its bytes and its cost. A hash of the text would allow guessing."""

    report: Report
    epsilon: float


class Memory(Protocol):
    """Where a client keeps what it sent."""

    def sent(self) -> Sequence[Sent]:
        """All that is kept."""

    def keep(self, decide: Callable[[Sequence[Sent]], Sent]) -> Sent:
        """What ``decide`` makes of all that is kept; a new one is kept, durably, before it is returned.

        Nobody else may keep anything between the look and the end: two processes at once come one after the other.
        """


class InMemory:
    """Forgets everything when the process ends: for simulations of many clients."""

    def __init__(self) -> None:
        self._sent: list[Sent] = []

    def sent(self) -> Sequence[Sent]:
        return tuple(self._sent)

    def keep(self, decide: Callable[[Sequence[Sent]], Sent]) -> Sent:
        """What ``decide`` makes of all that is kept; a new one is kept."""
        found = decide(self.sent())
        if found not in self._sent:
            self._sent.append(found)
        return found


@dataclass(frozen=True)
class Client:
    """Reports once for each collection, and no more in total than ``max_epsilon`` allows.

    What is counted is the ε of a whole document at δ = 0 (:attr:`Collection.asks`), added up over all collections: the
    one number that means the same for all of them. The headline of a collection may be smaller, if it is about a single
    word or stated at a large δ.

    >>> client = Client(InMemory(), max_epsilon=4.0)
    >>> client.total
    0.0
    """

    memory: Memory
    max_epsilon: float = field(kw_only=True)

    def __post_init__(self) -> None:
        if not 0 < self.max_epsilon < inf:
            raise InputError(
                f"max_epsilon must be a positive number, got {self.max_epsilon}. It limits what all your reports "
                "together may reveal about a document."
            )

    def answered(self, collection: Collection) -> bool:
        """Whether a report for this very collection was drawn before."""
        return any(one.report.version == collection.version for one in self.memory.sent())

    @property
    def total(self) -> float:
        """ε of all reports so far."""
        return _total(self.memory.sent())

    def card(self, collection: Collection, width: int = _WIDTH) -> str:
        """What a collection asks, and what was sent so far: to be read before anything is sent."""
        width = min(width, _WIDTH)
        counted = (
            f"Counted     ε = {show(collection.asks)} for a whole document at δ = 0; sent so far: "
            f"ε = {show(self.total)} of at most {self.max_epsilon:g}."
        )
        asked = f"Asked       {collection.name}{': ' if collection.question else ''}{collection.question}"
        lines = [collection.guarantee.card(width)]
        lines += [textwrap.fill(line, width, subsequent_indent=" " * 12) for line in (asked, counted)]
        if collection.period != "none":
            lines.append(f"Kept        the {collection.period} in which it came.")
        return "\n".join(lines)

    def report(self, collection: Collection, text: str, rng: Generator) -> Report:
        """One report about one text, on disk before it is handed out.

        A collection that was answered before gets the same bytes again, as often as they are asked for, whatever the
        text says now: a lost report costs nothing, and there is no second draw.
        """
        if not is_secure(rng):
            raise PrivacyError("a report must be drawn from a cryptographic generator. Use dptopics.secure_rng().")

        def decide(sent: Sequence[Sent]) -> Sent:
            for before in sent:
                if before.report.collection == collection.name:
                    if before.report.version == collection.version:
                        return before
                    raise PrivacyError(
                        f"a report for collection {collection.name!r} was sent already, for other words or settings. A "
                        "second one would add to what the first reveals: send none."
                    )
            self._check_room(collection, _total(sent))
            number = bytes(rng.integers(0, 255, 16, dtype="u1", endpoint=True))
            data = collection.randomizer(collection.text.words(text), rng)
            return Sent(Report(collection.name, collection.version, number, data), collection.asks)

        return self.memory.keep(decide).report

    def _check_room(self, collection: Collection, total: float) -> None:
        if total + collection.asks > self.max_epsilon * _SLACK:
            raise BudgetExceeded(
                f"collection {collection.name!r} asks for ε = {show(collection.asks)} of a whole document at δ = 0, "
                f"and ε = {show(total)} was sent before: more than the limit of {self.max_epsilon:g}. Nothing was "
                "sent. Do not take part, or raise --max-epsilon (max_epsilon) if you mean it."
            )


def _total(sent: Sequence[Sent]) -> float:
    return fsum(one.epsilon for one in sent)


_PATIENCE = 30.0  # seconds to wait while another process of this client reports
_TABLE = "CREATE TABLE IF NOT EXISTS sent (collection PRIMARY KEY, version, epsilon, number, data)"


class SentFolder:
    """A client's memory on its own disk: a small SQLite file of what was sent. It holds no text. Do not delete it."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def sent(self) -> Sequence[Sent]:
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


_TIMEOUT = 30.0
_LARGEST = 64 << 20  # bytes of a description: a long word list
_PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds between tries


@dataclass(frozen=True)
class Collector:
    """A collector at an address. A failed sending is tried again with the same bytes: nothing is drawn here."""

    address: str
    token: str | None = field(default=None, kw_only=True, repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if parts.scheme != "https" and not (parts.scheme == "http" and local):
            raise InputError("a collector's address begins with https:// (http:// for this machine only).")

    def collection(self) -> Collection:
        """Its public description, checked to be whole."""
        try:
            data = json.loads(self._ask("collection", None))
        except (ValueError, RecursionError):
            raise BundleError("the collector's description is not valid JSON. Check the address.") from None
        if not isinstance(data, dict):
            raise BundleError("the collector's description is damaged. Check the address.")
        return Collection.from_dict(data)

    def send(self, reports: Sequence[Report]) -> None:
        """Return when all reports are accepted, which is when they are durable."""
        body = "\n".join(map(to_line, reports)).encode()
        answer = json.loads(self._ask("reports", body))
        if answer.get("accepted") != len(reports):
            raise StoreError("the collector did not accept every report. Send the same again.")

    def _ask(self, page: str, body: bytes | None) -> bytes:
        headers = {"Content-Type": "application/x-ndjson"} if body is not None else {}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(f"{self.address.rstrip('/')}/{page}", body, headers)
        why = ""
        for pause in (*_PAUSES, None):
            wait = pause
            try:
                with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
                    return bytes(answer.read(_LARGEST))
            except urllib.error.HTTPError as error:
                with error:
                    why = _reason(error)
                    if error.code not in (408, 429, 503):
                        raise InputError(f"the collector refused: {why} (status {error.code})") from None
                    asked = error.headers.get("Retry-After", "")
                    if pause is not None and asked.isdecimal():
                        wait = min(max(pause, float(asked)), 60.0)
            except (OSError, http.client.HTTPException) as error:
                why = f"no answer ({type(error).__name__})"
            if wait is not None:
                self.sleep(wait)
        raise StoreError(f"the collector cannot be reached: {why}. Nothing is lost: the same command sends it again.")


def _reason(error: urllib.error.HTTPError) -> str:
    """The collector's own reason, shortened and printable: it is not trusted."""
    try:
        found = json.loads(error.read(1 << 16))
        refused = found.get("refused") or [{}]
        reason = str(found.get("reason") or refused[0].get("reason"))
    except (ValueError, AttributeError, OSError, RecursionError, IndexError, TypeError, KeyError):
        return "without a reason"
    return "".join(c for c in reason if c.isprintable())[:200]
