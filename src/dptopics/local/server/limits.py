"""How many reports one sender may bring in a minute. All of it lives in memory, under a key that dies with it."""

import hashlib
import secrets
from collections.abc import Callable
from math import ceil
from time import monotonic

_MINUTE = 60.0
_MOST_SENDERS = 200_000  # in one minute; more are turned away, so that memory stays bounded


class MinuteLimit:
    """Counts reports by sender within the running minute, and forgets them all when it ends.

    A sender is a token or an address, kept as a keyed hash. The clock is the machine's uptime: setting the time of day
    changes nothing.

    >>> limit = MinuteLimit(2, clock=lambda: 0.0)
    >>> [limit.seconds_to_wait("somebody", 1) for _ in range(3)]
    [0, 0, 60]
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._key = secrets.token_bytes(32)
        self._since = clock()
        self._counts: dict[bytes, int] = {}

    def seconds_to_wait(self, sender: str, reports: int) -> int:
        """0 if these reports may come now, and then they are counted; else how long until the next minute begins."""
        now = self._clock()
        if now - self._since >= _MINUTE:
            self._since, self._counts, self._key = now, {}, secrets.token_bytes(32)
        name = hashlib.blake2b(sender.encode("utf-8", "surrogatepass"), key=self._key, digest_size=16).digest()
        total = self._counts.get(name, 0) + reports
        if total > self._most or (name not in self._counts and len(self._counts) >= _MOST_SENDERS):
            return max(1, ceil(self._since + _MINUTE - now))
        self._counts[name] = total
        return 0
