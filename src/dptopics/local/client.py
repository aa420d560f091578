"""The client of local collection: it shows what is asked, keeps a total, and never draws the same report twice."""

import hashlib
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hmac import compare_digest
from math import fsum, inf
from typing import Protocol

from numpy.random import Generator

from dptopics.errors import BudgetExceeded, InputError, PrivacyError
from dptopics.local.collection import Collection, Report
from dptopics.privacy.card import show
from dptopics.privacy.rng import is_secure

_WIDTH = 88  # of a card, at most
_SLACK = 1 + 1e-9  # a limit of 4 takes an ε of 4 that floating point computed a little above


@dataclass(frozen=True)
class Sent:
    """What a client remembers of one report: its bytes, what it cost, and a keyed digest of the text, not the text."""

    report: Report
    epsilon: float
    digest: bytes

    @classmethod
    def of(cls, report: Report, epsilon: float, text: str) -> "Sent":
        """The digest's key is the report's random number."""
        return cls(report, epsilon, _digest(text, report.number))

    def is_about(self, collection: Collection, text: str) -> bool:
        """Whether it was made of this text, for this very collection."""
        same = compare_digest(self.digest, _digest(text, self.report.number))
        return same and self.report.version == collection.version


class Memory(Protocol):
    """Where a client keeps what it sent."""

    def sent(self) -> Sequence[Sent]:
        """All that is kept."""
        ...

    def keep(self, decide: Callable[[Sequence[Sent]], Sent]) -> Sent:
        """What ``decide`` makes of all that is kept; a new one is kept, durably, before it is returned.

        Nobody else may keep anything between the look and the end: two processes at once come one after the other.
        """
        ...


class InMemory:
    """Forgets everything when the process ends: for simulations of many clients."""

    def __init__(self) -> None:
        self._sent: list[Sent] = []

    def sent(self) -> Sequence[Sent]:
        """All that is kept."""
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
        lines = [collection.guarantee.card(width), textwrap.fill(counted, width, subsequent_indent=" " * 12)]
        if collection.period != "none":
            lines.append(f"Kept        the {collection.period} in which it came.")
        return "\n".join(lines)

    def report(self, collection: Collection, text: str, rng: Generator) -> Report:
        """One report about one text, on disk before it is handed out.

        The same text again gives the same bytes again, as often as they are asked for: a lost report costs nothing.
        """
        if not is_secure(rng):
            raise PrivacyError("a report must be drawn from a cryptographic generator. Use dptopics.secure_rng().")
        words = collection.text.words(text)

        def decide(sent: Sequence[Sent]) -> Sent:
            for before in sent:
                if before.report.collection == collection.name:
                    if before.is_about(collection, text):
                        return before
                    raise _sent_already(collection.name)
            self._check_room(collection, _total(sent))
            number = bytes(rng.integers(0, 255, 16, dtype="u1", endpoint=True))
            data = collection.randomizer(words, rng)
            return Sent.of(Report(collection.name, collection.version, number, data), collection.asks, text)

        return self.memory.keep(decide).report

    def _check_room(self, collection: Collection, total: float) -> None:
        if total + collection.asks > self.max_epsilon * _SLACK:
            raise BudgetExceeded(
                f"collection {collection.name!r} asks for ε = {show(collection.asks)} of a whole document at δ = 0, "
                f"and ε = {show(total)} was sent before: more than the limit of {self.max_epsilon:g}. Nothing was "
                "sent. Do not take part, or raise --max-epsilon (max_epsilon) if you mean it."
            )


def _sent_already(name: str) -> PrivacyError:
    return PrivacyError(
        f"a report for collection {name!r} was sent already, about another text or for other settings. A second one "
        "would add to what the first reveals: send none."
    )


def _total(sent: Sequence[Sent]) -> float:
    return fsum(one.epsilon for one in sent)


def _digest(text: str, key: bytes) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=32).digest()
