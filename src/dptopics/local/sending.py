"""Talk to a collector: take its public description, bring reports. What is sent was drawn and kept before."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dptopics.errors import BundleError, InputError, StoreError
from dptopics.local.collection import Collection, Report
from dptopics.local.report_files import to_line

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
            raise BundleError("the collector's description is no JSON. Look at the address.") from None
        if not isinstance(data, dict):
            raise BundleError("the collector's description is damaged. Look at the address.")
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
    """The collector's own words, shortened: it is nobody whom we trust."""
    try:
        found = json.loads(error.read(1 << 16))
        refused = found.get("refused") or [{}]
        reason = str(found.get("reason") or refused[0].get("reason"))
    except (ValueError, AttributeError, OSError, RecursionError, IndexError, TypeError, KeyError):
        return "without a reason"
    return "".join(c for c in reason if c.isprintable())[:200]
