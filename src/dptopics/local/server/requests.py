"""From the body of a request to reports that fit the collection: what cannot be one is refused, with the reason."""

import json
import zlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

import numpy as np

from dptopics.local.collection import Collection, Report
from dptopics.local.report_files import from_json
from dptopics.local.server.store import Row

MOST_REPORTS = 1000  # in one request
LINES = "application/x-ndjson"
_GZIP = 16 + zlib.MAX_WBITS


class Refused(Exception):
    """A whole request is refused: its status and the reason."""

    def __init__(self, status: int, reason: str, *, wait: int | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.wait = status, reason, wait


@dataclass(frozen=True)
class Received:
    """What a request brought: rows to keep, and the places of those that do not fit, with the reason."""

    rows: tuple[Row, ...]
    refused: tuple[tuple[int, str], ...]


def largest_body(collection: Collection) -> int:
    """Bytes that the largest request may have, unpacked."""
    one = 4 * (-(-collection.randomizer.n_bytes // 3)) + 6 * len(collection.name) + 256
    return MOST_REPORTS * one


async def read_body(chunks: AsyncIterator[bytes], encoding: str, most: int) -> bytes:
    """The body, unpacked; one that is too large is refused before it is all there."""
    if encoding not in ("", "identity", "gzip"):
        raise Refused(415, "the content encoding is not known. Send plain bytes or gzip.")
    unpack = zlib.decompressobj(_GZIP) if encoding == "gzip" else None
    parts, size, came = [], 0, 0
    async for chunk in chunks:
        came += len(chunk)
        if unpack is not None:
            try:
                chunk = unpack.decompress(chunk, most - size + 1)
            except zlib.error:
                raise Refused(400, "the body is no gzip, or damaged.") from None
        size += len(chunk)
        parts.append(chunk)
        if max(size, came) > most:
            raise Refused(413, f"the body has more than {most} bytes. Send fewer reports at once.")
    if unpack is not None and (not unpack.eof or unpack.unused_data):
        raise Refused(400, "the gzip stream was cut off, or something follows it.")
    return b"".join(parts)


def parse(body: bytes, content_type: str, collection: Collection, most: int = MOST_REPORTS) -> Received:
    """Reports of a body: one object, a list of them, or one on each line (:data:`LINES`)."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in ("application/json", LINES):
        raise Refused(415, f"the content type is not known. Send application/json or {LINES}.")
    items: list[object]
    if kind == LINES:
        items = [_json(line, whole=False) for line in body.split(b"\n") if line.strip()]
    else:
        found = _json(body, whole=True)
        items = found if isinstance(found, list) else [found]
    if not 1 <= len(items) <= most:
        raise Refused(400 if not items else 413, f"a request holds 1 to {most} reports, this one has {len(items)}.")
    return _checked(map(from_json, items), collection)


def _json(data: bytes, *, whole: bool) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        if whole:
            raise Refused(400, "the body is no JSON.") from None
        return None


def _checked(reports: Iterable[Report | None], collection: Collection) -> Received:
    rows: list[Row] = []
    refused = []
    for place, report in enumerate(reports):
        reason = "malformed" if report is None else _why_not(report, collection)
        if report is None or reason:
            refused.append((place, reason))
        else:
            rows.append((report.number, report.data))
    return Received(tuple(rows), tuple(refused))


def _why_not(report: Report, collection: Collection) -> str:
    """Why a report does not fit, or nothing: the same rules, in the same words, as for files."""
    if len(report.number) != 16:
        return "malformed"
    if report.collection != collection.name:
        return "of another collection"
    if report.version != collection.version:
        return "of another version of the words or settings"
    if len(report.data) != collection.randomizer.n_bytes:
        return "of the wrong length"
    valid = collection.randomizer.valid(np.frombuffer(report.data, np.uint8)[None])
    return "" if valid[0] else "malformed"
