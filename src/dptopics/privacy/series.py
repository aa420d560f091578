"""A series: releases of one kind, period after period, that are charged once and priced as one mechanism.

The ledger charges the whole series when its first period is counted, and notes the others. The participation file
holds the cap on periods of each author across runs. Both know which periods were begun, so that neither can be replaced
by an older copy unnoticed. A run writes in this order, each step on disk before the next:

1. participation, with the period as begun; 2. the charge, or the note, in the ledger; 3. the period as closed, before
anything that was drawn leaves; 4. the release.

Whatever ends a run, participation is never under-counted, and nothing is given out that was not charged. A run that
ended before step 3 has given out nothing, and may be repeated; after it, the period is never drawn again.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.data.period import Earlier
from dptopics.errors import PrivacyError
from dptopics.privacy.durable import alone_with
from dptopics.privacy.guarantee import Guarantee, Strength
from dptopics.privacy.ledger import Budget, Ledger, Receipt
from dptopics.privacy.participation import LOST, Participation
from dptopics.release.release import Release

T = TypeVar("T")
_NOTE = re.compile(r".*: (?P<period>\S+) of series (?P<series>[0-9a-f]{16})(?:, charged with the first)?")


@dataclass(frozen=True, kw_only=True)
class Series:
    """What tells a series from others, and the period that is to be counted. Public."""

    name: str  # a digest of all settings but the period
    period: str
    place: int  # of the period in the series
    max_periods: int
    remembers: bool  # whether there is anything to remember between runs

    def file_beside(self, ledger: Ledger) -> Path:
        """Where the participation file lies if nothing else is said."""
        return ledger.path.with_name(f"{ledger.path.name}.series-{self.name}")

    def notes(self, receipts: Sequence[Receipt]) -> dict[str, Receipt]:
        """Periods of this series that a ledger knows, in order, each with its charge or note."""
        found = ((_NOTE.fullmatch(receipt.what), receipt) for receipt in receipts)
        return {match["period"]: receipt for match, receipt in found if match and match["series"] == self.name}


@dataclass
class SeriesAccount:
    """What the door charges for one period of a series: a ledger, and the participation file that goes with it."""

    ledger: Ledger
    series: Series
    path: Path | None
    state: Participation
    sums: list[NDArray[np.int64]] = field(default_factory=list)  # of this period, once they are computed

    @property
    def name(self) -> str:
        """Of the ledger."""
        return self.ledger.name

    @property
    def budget(self) -> Budget:
        """Of the ledger."""
        return self.ledger.budget

    @property
    def spent(self) -> Budget:
        """Of the ledger."""
        return self.ledger.spent

    @property
    def earlier(self) -> Earlier:
        """Earlier periods. Private."""
        return self.state.earlier

    def admitted(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Which authors count in this period. It is written down with the charge, before any noise is drawn."""
        allowed, self.state = self.state.admitted(names, self.series.place, self.series.max_periods)
        return allowed

    def check(self, guarantee: Guarantee, *, accept_unproven: bool = False) -> None:
        """Refuse what the ledger would refuse, and a period that was counted before."""
        receipts = self.ledger.receipts()
        decided = self._decided(receipts, guarantee, "check")
        if not isinstance(decided, Receipt):
            self.ledger.check(decided[0], accept_unproven=accept_unproven)

    def check_generator(self, rng: Generator) -> None:
        """As the ledger does."""
        self.ledger.check_generator(rng)

    def charge(self, guarantee: Guarantee, what: str, *, accept_unproven: bool = False) -> Receipt:
        """Remember who takes part; then charge the series, or note that it was charged."""
        known = self.series.notes(self.ledger.receipts())
        begun = tuple(known) if self.series.period in known else (*known, self.series.period)
        before, self.state = self.state, replace(self.state, begun=begun, closed=False)
        if self.path is not None:
            self.state.save(self.path)
        return self.ledger.charge_after(
            lambda receipts: self._decided(receipts, guarantee, what, before), accept_unproven=accept_unproven
        )

    def noted(self, release: Release[T]) -> Release[T]:
        """Close the period, before anything of it leaves."""
        value: Any = release.value
        earlier = self.earlier
        if value.latest is not None:
            earlier = earlier.followed_by(self.series.place, self.sums[0][:, 0], value.latest)
        self.state = replace(self.state, closed=True, earlier=earlier)
        if self.path is not None:
            self.state.save(self.path)
        return self.ledger.noted(release)

    @property
    def unsure(self) -> str:
        """What to say where it is not known whether a charge was made."""
        return self.ledger.unsure

    def told(self, receipt: Receipt) -> str:
        """What a charge was, and what became of the period."""
        paid = self.ledger.told(receipt) if receipt.price else f"Series {self.series.name} was charged before."
        again = self.path is not None and not self.state.closed
        rest = "may be counted again: nothing of it was given out" if again else "will not be counted again"
        return f"{paid} Period {self.series.period} {rest}."

    def _decided(
        self, receipts: list[Receipt], guarantee: Guarantee, what: str, state: Participation | None = None
    ) -> tuple[Guarantee, str] | Receipt:
        """What to charge: the whole for the first period, nothing for others; nothing new for one that died."""
        series, state, known = self.series, state or self.state, self.series.notes(receipts)
        if self.path is not None:
            _check_same_past(tuple(known), state, self.path)
        if series.period in known:
            died = self.path is not None and not state.closed and [*known][-1] == series.period
            if died:
                return known[series.period]
            raise PrivacyError(
                f"period {series.period} of this series was counted before (charge {known[series.period].number} of "
                f"ledger {self.name!r}). Noise is drawn once for a period: count another one."
            )
        if series.place < len(state.earlier.exact):
            raise PrivacyError(f"running totals go forward: a period after {series.period} was counted before it.")
        note = f"{what}: {series.period} of series {series.name}"
        if not known:
            return guarantee, note
        free = Guarantee(events=(), delta=0.0, unit=guarantee.unit, strength=Strength.PROVED)
        return free, f"{note}, charged with the first"


def _check_same_past(known: tuple[str, ...], state: Participation, path: Path) -> None:
    """The ledger's periods must be the file's, but for the last if that run died before its charge."""
    died = not state.closed and known == state.begun[:-1]
    if known != state.begun and not died:
        older = "file" if len(state.begun) < len(known) else "ledger"
        raise PrivacyError(
            f"the participation file {path} and the ledger do not know the same periods: the {older} is an older copy, "
            f"or another one. {LOST}"
        )


@contextmanager
def account_of(ledger: Ledger, series: Series, participation: Path | None) -> Iterator[SeriesAccount]:
    """Hold the participation file, if the series needs one, and check it against the ledger."""
    if not series.remembers:
        yield SeriesAccount(ledger, series, None, Participation(series=series.name))
        return
    path = (participation or series.file_beside(ledger)).absolute()
    with alone_with(path):
        known = series.notes(ledger.receipts())
        if path.exists():
            state = Participation.load(path)
            if state.series != series.name:
                raise PrivacyError(
                    f"the participation file {path} is of another series: topics, groups, periods, bounds or the "
                    "budget differ. Give the settings of that series, or another file (--participation)."
                )
        elif known:
            raise PrivacyError(f"the participation file {path} of this series is not there. {LOST}")
        else:
            state = Participation(series=series.name)
        yield SeriesAccount(ledger, series, path, state)
