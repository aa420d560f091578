"""A series: releases of one kind, period after period, that are charged once and priced as one mechanism.

The ledger charges the whole series when its first period is counted, and notes the others. The participation file
holds the cap on periods of each author across runs. Every run leaves a random mark in both: a file goes on only if it
bears the mark of the ledger's last run of the series, so that no second file, and no older copy of either, can go on.
A run writes in this order, each step on disk before the next; steps 1 to 3 are one transaction of the ledger:

1. everything that can refuse is checked; 2. participation, with the period as begun; 3. the charge, or the note, in the
ledger, as under way; 4. noise is drawn; 5. participation, with the period as closed; 6. the ledger's note as closed,
if it still bears the mark of this run; 7. the release.

Whatever ends a run, participation is never under-counted, and nothing is given out that was not charged. A run that
ended before step 5 has given out nothing, and may be repeated; of all runs of a period one at most passes step 6.
"""

import io
import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.files import alone_with, replace_file
from dptopics.core.names import NAME_RULE
from dptopics.core.periods import Earlier
from dptopics.ledger.ledger import Budget, Ledger
from dptopics.ledger.ledger_file import Receipt
from dptopics.privacy.guarantee import Guarantee, Strength

SCHEMA = 2
_MARK = b"dptopics participation\n"
_HASH = np.dtype("V16")


def _none() -> NDArray[np.int32]:
    return np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Participation:
    """What must be remembered between the runs of a series. Private.

    ``run`` is the mark of the last run, ``before`` the mark that the ledger had when it began, ``period`` what it
    counted; ``closed``: what it has drawn may be known to others. Of each author: in how many periods they took part,
    and which was the last.
    """

    series: str
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    run: str = ""
    before: str = ""
    period: str = ""
    closed: bool = True
    authors: NDArray[Any] = field(default_factory=lambda: np.zeros(0, _HASH))
    times: NDArray[np.int32] = field(default_factory=_none)
    last: NDArray[np.int32] = field(default_factory=_none)
    earlier: Earlier = field(default_factory=Earlier.none)

    def admitted(self, names: Sequence[str], period: int, most: int) -> tuple[NDArray[np.bool_], Self]:
        """Which of these different authors count in a period, and what to remember then.

        Each of them is told by their own past alone: whoever took part in ``most`` periods is left out. Somebody who
        was counted for this same period, by a run that then died, is not counted twice.
        """
        found = np.array([blake2b(n.encode("utf-8", "surrogatepass"), key=self.key, digest_size=16).digest()
                          for n in names], _HASH)  # fmt: skip
        everybody, place = np.unique(np.concatenate([self.authors, found]), return_inverse=True)
        times, last = np.zeros(everybody.size, np.int32), np.full(everybody.size, -1, np.int32)
        known, here = place[: self.authors.size], place[self.authors.size :]
        times[known], last[known] = self.times, self.last
        again = last[here] == period
        allowed = again | (times[here] < most)
        new = here[allowed & ~again]
        times[new] += 1
        last[new] = period
        return allowed, replace(self, authors=everybody, times=times, last=last)

    # --- the file ---

    def save(self, path: Path) -> None:
        """Write it, for its owner alone."""
        head = {"schema": SCHEMA, "names": NAME_RULE, "series": self.series, "key": self.key.hex()}
        head |= {"run": self.run, "before": self.before, "period": self.period, "closed": self.closed}
        buffer = io.BytesIO()
        np.savez(
            buffer,
            head=np.frombuffer(json.dumps(head).encode(), np.uint8),
            authors=np.frombuffer(self.authors.tobytes(), np.uint8).reshape(-1, _HASH.itemsize),
            times=self.times,
            last=self.last,
            exact=self.earlier.exact,
            cells=self.earlier.cells,
        )
        content = buffer.getvalue()
        try:
            replace_file(path, _MARK + sha256(content).hexdigest().encode() + b"\n" + content)
        except OSError as error:
            raise InputError(f"the participation file {path} cannot be written: {error.strerror}.") from None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read it. One that is damaged, or that others may read, is refused."""
        try:
            content = path.read_bytes()
            mode = path.stat().st_mode
        except OSError as error:
            raise PrivacyError(f"the participation file {path} cannot be read: {error.strerror}.") from None
        if os.name != "nt" and mode & 0o077:
            raise PrivacyError(f"others may read the participation file {path}. Close it first: chmod 600 {path}")
        mark, seal, rest = content[: len(_MARK)], content[len(_MARK) :][:65], content[len(_MARK) + 65 :]
        if mark != _MARK:
            raise PrivacyError(f"{path} is not a participation file. Check --participation.")
        if seal != sha256(rest).hexdigest().encode() + b"\n":
            raise PrivacyError(f"the participation file {path} is damaged. {LOST}")
        arrays = np.load(io.BytesIO(rest), allow_pickle=False)
        head = json.loads(arrays["head"].tobytes())
        if head["schema"] > SCHEMA:
            raise PrivacyError(f"the participation file {path} is of a newer version. Update dptopics.")
        if head["schema"] < SCHEMA or head["names"] != NAME_RULE:
            raise PrivacyError(
                f"the participation file {path} was written by another version of dptopics, which told authors apart "
                "by other rules (capital letters, 7 and 7.0): the same people would be new. The series cannot go on. "
                "Start another one (a new --from), which is charged by itself."
            )
        return cls(
            series=head["series"],
            key=bytes.fromhex(head["key"]),
            run=head["run"],
            before=head["before"],
            period=head["period"],
            closed=head["closed"],
            authors=np.frombuffer(arrays["authors"].tobytes(), _HASH),
            times=arrays["times"],
            last=arrays["last"],
            earlier=Earlier(arrays["exact"], arrays["cells"]),
        )


LOST = (
    "Without it nobody knows who took part how often, so the series cannot go on. Restore the file as it was after the "
    "last run, or start another series (a new --from), which is charged by itself."
)


_OPEN = ", under way"
_NOTE = re.compile(
    r".*: (?P<period>\S+) of series (?P<series>[0-9a-f]{16}), run (?P<run>[0-9a-f]{16})(?:, charged with the first)?"
    rf"(?P<open>{_OPEN})?"
)


class Note(NamedTuple):
    """What a ledger knows of one period of a series."""

    period: str
    run: str
    open: bool
    receipt: Receipt


@dataclass(frozen=True, kw_only=True)
class Series:
    """What tells a series from others, and the period that is to be counted. Public."""

    name: str  # a digest of all settings but the period
    formerly: tuple[str, ...]  # the names that earlier versions gave it
    period: str
    place: int  # of the period in the series
    max_periods: int
    remembers: bool  # whether there is anything to remember between runs

    def file_beside(self, ledger: Ledger) -> Path:
        """Where the participation file lies if nothing else is said."""
        return ledger.path.with_name(f"{ledger.path.name}.series-{self.name}")

    def notes(self, receipts: Sequence[Receipt]) -> list[Note]:
        """Periods of this series that a ledger knows, in the order in which they were counted."""
        found = ((_NOTE.fullmatch(receipt.what), receipt) for receipt in receipts)
        return [
            Note(match["period"], match["run"], match["open"] is not None, receipt)
            for match, receipt in found
            if match and match["series"] == self.name
        ]


@dataclass
class SeriesAccount:
    """What the door charges for one period of a series: a ledger, and the participation file that goes with it."""

    ledger: Ledger
    series: Series
    path: Path | None
    state: Participation
    sums: list[NDArray[np.int64]] = field(default_factory=list)  # of this period, once they are computed
    run: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def name(self) -> str:
        return self.ledger.name

    @property
    def budget(self) -> Budget:
        return self.ledger.budget

    @property
    def spent(self) -> Budget:
        return self.ledger.spent

    @property
    def earlier(self) -> Earlier:
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
        self.ledger.check_generator(rng)

    def charge(
        self, guarantee: Guarantee, what: str, *, by: str | None = None, accept_unproven: bool = False
    ) -> Receipt:
        """Check; remember who takes part; then charge the series, or note that it was charged."""
        begun = self.state

        def decide(receipts: list[Receipt]) -> tuple[Guarantee, str] | Receipt:
            nonlocal begun
            decided, notes = self._decided(receipts, guarantee, what), self.series.notes(receipts)
            before = notes[-1].run if notes else ""
            begun = replace(self.state, run=self.run, before=before, period=self.series.period, closed=False)
            return decided

        def first() -> None:
            if self.path is not None:
                begun.save(self.path)

        receipt = self.ledger.charge_after(decide, by=by, first=first, accept_unproven=accept_unproven)
        self.state = begun
        return receipt

    def finalize(self, guarantee: Guarantee, value: Any) -> Guarantee:
        """Close the period, in the file and then in the ledger, before anything of it leaves."""
        earlier = self.earlier
        if value.latest is not None:
            earlier = earlier.followed_by(self.series.place, self.sums[0][:, 0], value.latest)
        self.state = replace(self.state, closed=True, earlier=earlier)
        if self.path is not None:
            self.state.save(self.path)
        self.ledger.charge_after(self._closed)
        return self.ledger.finalize(guarantee, value)

    @property
    def unsure(self) -> str:
        """What to say where it is not known whether a charge was made."""
        return self.ledger.unsure

    def charge_message(self, receipt: Receipt) -> str:
        """What a charge was, and what became of the period."""
        paid = (
            self.ledger.charge_message(receipt) if receipt.price else f"Series {self.series.name} was charged before."
        )
        rest = "will not be counted again" if self.state.closed else "may be counted again: nothing of it was given out"
        return f"{paid} Period {self.series.period} {rest}."

    def _decided(self, receipts: list[Receipt], guarantee: Guarantee, what: str) -> tuple[Guarantee, str] | Receipt:
        """What to charge: the whole for the first period, nothing for others; nothing new for one that died."""
        series, state, notes = self.series, self.state, self.series.notes(receipts)
        if self.path is not None:
            _check_same_past(notes, state, self.path)
        note = f"{what}: {series.period} of series {series.name}, run {self.run}"
        for known in notes:
            if known.period == series.period:
                mine = self.path is None or (not state.closed and state.period == series.period)
                if mine and known.open and known is notes[-1]:
                    return replace(known.receipt, what=known.receipt.what.replace(known.run, self.run))
                raise PrivacyError(
                    f"period {series.period} of this series was counted before (charge {known.receipt.number} of "
                    f"ledger {self.name!r}). Noise is drawn once for a period: count another one."
                )
        if series.place < len(state.earlier.exact):
            raise PrivacyError(f"running totals go forward: a period after {series.period} was counted before it.")
        if not notes:
            return guarantee, note + _OPEN
        free = Guarantee(events=(), delta=0.0, unit=guarantee.unit, strength=Strength.PROVED)
        return free, f"{note}, charged with the first{_OPEN}"

    def _closed(self, receipts: list[Receipt]) -> Receipt:
        """This run's note, closed. Refused if another run took the period over, or went on from a copy of the file."""
        notes = self.series.notes(receipts)
        mine = next((note for note in notes if note.run == self.run), None)
        if mine is None or (self.path is not None and mine is not notes[-1]):
            raise PrivacyError(
                f"another run of this series began after this one, with a copy of the participation file or for the "
                f"same period, {self.series.period}. Nothing of this run is given out"
            )
        return replace(mine.receipt, what=mine.receipt.what.removesuffix(_OPEN))


def _check_same_past(notes: list[Note], state: Participation, path: Path) -> None:
    """The file must bear the mark of the ledger's last run; or its own run died before the charge, and came after that.

    A file that is open beside a ledger that is closed is a copy made while the run was under way.
    """
    last = notes[-1].run if notes else ""
    same = state.run == last and (state.closed or not notes or notes[-1].open)
    died = not state.closed and state.before == last
    if not same and not died:
        older = "file" if not state.run or state.run in [note.run for note in notes] else "ledger"
        raise PrivacyError(
            f"the participation file {path} and the ledger do not know the same runs: the {older} is an older copy, or "
            f"another one. {LOST}"
        )


@contextmanager
def account_of(ledger: Ledger, series: Series, participation: Path | None) -> Iterator[SeriesAccount]:
    """Hold the participation file, if the series needs one, and check it against the ledger."""
    if any(f" of series {name}" in receipt.what for receipt in ledger.receipts() for name in series.formerly):
        raise PrivacyError(
            "this series was begun by an earlier version of dptopics, which counted by other rules: each person in one "
            "row, and whatever the column of dates. It cannot go on. Start another one (a new --from), which is "
            "charged by itself."
        )
    if not series.remembers:
        yield SeriesAccount(ledger, series, None, Participation(series=series.name))
        return
    path = (participation or series.file_beside(ledger)).resolve()
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
