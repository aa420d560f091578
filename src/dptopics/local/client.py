"""The client of local collection: it shows what is asked, keeps a total, and never draws the same report twice."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
    """What a client remembers of one report: its bytes, and what it cost.

    Nothing else here depends on the text: a hash of it, keyed or not, would let whoever reads this test guesses.
    """

    report: Report
    epsilon: float


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
