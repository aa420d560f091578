"""The collector's pages: the public description to take, and reports to bring."""

import asyncio
import base64
import contextlib
import hashlib
import json
import secrets
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from math import ceil
from time import monotonic
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dptopics.core.errors import StoreError
from dptopics.local.collection import Collection, Report
from dptopics.local.report_files import from_json
from dptopics.local.server.store import Row, Store

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
                raise Refused(400, "the body is not gzip, or damaged.") from None
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
            raise Refused(400, "the body is not valid JSON.") from None
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


_MOST_WAITING = 50_000  # reports in memory; more are told to come back


class Writer:
    """Takes reports from many requests and writes them to one store, in a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, "reports")
        self._waiting: list[tuple[Sequence[Row], asyncio.Future[None]]] = []
        self._n_waiting = 0
        self._news = asyncio.Event()
        self._closing = False

    async def add(self, rows: Sequence[Row]) -> None:
        """Return when these reports are durable; raise StoreError if they are not kept."""
        if self._n_waiting + len(rows) > _MOST_WAITING or self._closing:
            raise StoreError("more reports are waiting than can be written. Send it again later.")
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((rows, done))
        self._n_waiting += len(rows)
        self._news.set()
        await done

    async def run(self) -> None:
        """Write until :meth:`close`, and then what is left."""
        while not (self._closing and not self._waiting):
            await self._news.wait()
            self._news.clear()
            batch, self._waiting, self._n_waiting = self._waiting, [], 0
            if batch:
                await self._write(batch)
        self._thread.shutdown()

    async def _write(self, batch: list[tuple[Sequence[Row], "asyncio.Future[None]"]]) -> None:
        rows = [row for some, _ in batch for row in some]
        problem: StoreError | None = None
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._store.add, rows)
        except StoreError as error:
            problem = error
        except Exception as error:  # whoever waits must hear of it, and the next batch must be tried
            problem = StoreError(f"the store failed ({type(error).__name__}). Send it again later.")
        for _, done in batch:
            if done.cancelled():
                continue  # the request is gone; its reports are there, and a retry will find them
            if problem is None:
                done.set_result(None)
            else:
                done.set_exception(problem)

    def close(self) -> None:
        """Take nothing new; :meth:`run` ends when all is written."""
        self._closing = True
        self._news.set()


_BODY_SECONDS = 20.0  # less than what a connection has for a whole request: who is slow should hear why
_RETRY_SECONDS = 5
# The page may talk to this server and to nobody else: the browser itself keeps a text from leaving for elsewhere.
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
_PAGE = {
    "/": ("page.html", "text/html"), "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"), "/dptopics-client.js": ("dptopics-client.js", "text/javascript"),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the collector behaves. Without ``tokens`` everybody may send, and the limit counts addresses instead.

    A request holds at most ``per_minute`` reports: each one that is taken for its form can pass within a minute.
    """

    per_minute: int = MOST_REPORTS
    tokens: frozenset[str] | None = None
    origins: Sequence[str] = ()
    page: bool = False


def public_description(collection: Collection) -> dict[str, Any]:
    """What ``GET /collection`` gives: the collection's file, stop words that its lists hold, and the client's hash.

    Python clients know stop words by the name of the language; a browser needs them only where they could matter. The
    hash is that of the module for browsers of this version, written as Subresource Integrity does.
    """
    data = collection.to_dict()
    listed = set(data["words"]).union(*data["settings"].get("topics", []))
    client = base64.b64encode(hashlib.sha256(_content("dptopics-client.js")).digest()).decode()
    return data | {"stop_words": sorted(listed & collection.text.stops), "client": f"sha256-{client}"}


def make_app(collection: Collection, store: Store, settings: Settings) -> Starlette:
    """The collector of one collection, writing to one store."""
    limit, most = MinuteLimit(settings.per_minute), min(MOST_REPORTS, settings.per_minute)
    description = json.dumps(public_description(collection), ensure_ascii=False).encode("utf-8", "surrogatepass")
    writer: Writer

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        nonlocal writer
        writer = Writer(store)
        running = asyncio.create_task(writer.run())
        try:
            yield
        finally:  # requests under way are done by now
            writer.close()
            await running

    async def give(_request: Request) -> Response:
        return Response(description, media_type="application/json", headers={"Cache-Control": "no-cache"})

    async def take(request: Request) -> Response:
        sender = _sender(request, settings.tokens)
        received = await _receive(request, collection, most)
        wait = limit.seconds_to_wait(sender, len(received.rows) + len(received.refused))
        if wait:
            raise Refused(429, f"more than {settings.per_minute} reports in this minute. Wait, then send again.",
                          wait=wait)  # fmt: skip
        if received.rows:
            await writer.add(received.rows)
        refused = [{"at": place, "reason": reason} for place, reason in received.refused]
        return JSONResponse({"accepted": len(received.rows), "refused": refused}, 422 if refused else 200)

    routes = [Route("/collection", give), Route("/reports", take, methods=["POST"])]
    routes += [Route(path, _file(*file)) for path, file in _PAGE.items() if settings.page]
    cross = Middleware(
        CORSMiddleware, allow_origins=list(settings.origins), allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type", "Content-Encoding"], expose_headers=["Retry-After"],
    )  # fmt: skip
    handlers: dict[Any, Any] = dict.fromkeys((Refused, StoreError, HTTPException, Exception), _on_error)
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers,
                     middleware=[cross] if settings.origins else [])  # fmt: skip


def _sender(request: Request, tokens: frozenset[str] | None) -> str:
    """Whose reports are counted together: a token where tokens were given out, else an address. Never stored."""
    if tokens is None:
        return request.client.host if request.client else ""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or token.strip() not in tokens:
        raise Refused(401, "this collector takes reports with a token only. Use the link that you were given.")
    return token.strip()


async def _receive(request: Request, collection: Collection, most_reports: int) -> Received:
    most = largest_body(collection)
    length = request.headers.get("content-length", "0")
    if length.isascii() and length.isdecimal() and int(length[:20]) > most:
        raise Refused(413, f"the body has more than {most} bytes. Send fewer reports at once.")
    encoding = request.headers.get("content-encoding", "").strip().lower()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            body = await read_body(request.stream(), encoding, most)
    except TimeoutError:
        raise Refused(408, "the body did not come in time.") from None
    except ClientDisconnect:
        raise Refused(400, "the body was cut off.") from None
    return parse(body, request.headers.get("content-type", ""), collection, most_reports)


def _content(name: str) -> bytes:
    return resources.files("dptopics").joinpath("resources", "collector", name).read_bytes()


def _file(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    content = _content(name)

    async def give(_request: Request) -> Response:
        return Response(content, media_type=media_type, headers=_PAGE_HEADERS)

    return give


def _reason(status: int, reason: str, wait: int | None = None) -> Response:
    headers = {} if wait is None else {"Retry-After": str(wait)}
    if status in (408, 413):
        headers["Connection"] = "close"  # the rest of the body is not waited for
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse({"reason": reason}, status, headers)


async def _on_error(_request: Request, error: Exception) -> Response:
    if isinstance(error, Refused):
        return _reason(error.status, error.reason, error.wait)
    if isinstance(error, StoreError):
        return _reason(503, str(error), _RETRY_SECONDS)
    if isinstance(error, HTTPException):
        return JSONResponse({"reason": error.detail}, error.status_code, error.headers)
    return _reason(500, f"a fault of the collector ({type(error).__name__}). Nothing was accepted.")
