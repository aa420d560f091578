"""Who has taken part in how many periods of a series: a file for its owner alone, which no release may hold.

It keeps hashes of authors' names under a key of its own, not the names. Whoever has the file has the key as well, and
can look for names that they know: guard it as you guard the texts. For running totals it also holds what the noise
hides, the exact sums of earlier periods. It is sealed by a checksum, and written whole or not at all.

Every run has a random mark, which it leaves here and in the ledger: so a file that is older than the ledger, or of
another ledger, is told by its mark.
"""

import io
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dptopics.data.earlier import Earlier
from dptopics.data.names import NAME_RULE
from dptopics.errors import InputError, PrivacyError
from dptopics.privacy.durable import replace_file

SCHEMA = 2
_MARK = b"dptopics participation\n"
_HASH = np.dtype("V16")


def _nobody() -> NDArray[Any]:
    return np.zeros(0, _HASH)


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
    authors: NDArray[Any] = field(default_factory=_nobody)
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
