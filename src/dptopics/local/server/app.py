"""The collector's pages: the public description to take, and reports to bring."""

import asyncio
import base64
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dptopics.errors import StoreError
from dptopics.local.collection import Collection
from dptopics.local.server.limits import MinuteLimit
from dptopics.local.server.requests import MOST_REPORTS, Received, Refused, largest_body, parse, read_body
from dptopics.local.server.store import Store
from dptopics.local.server.writer import Writer

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
    handlers: dict[Any, Callable[[Request, Any], Awaitable[Response]]] = {
        Refused: _on_refused, StoreError: _on_store, HTTPException: _on_http, Exception: _on_fault
    }  # fmt: skip
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


async def _on_refused(_request: Request, error: Refused) -> Response:
    return _reason(error.status, error.reason, error.wait)


async def _on_store(_request: Request, error: StoreError) -> Response:
    return _reason(503, str(error), _RETRY_SECONDS)


async def _on_http(_request: Request, error: HTTPException) -> Response:
    return JSONResponse({"reason": error.detail}, error.status_code, error.headers)


async def _on_fault(_request: Request, error: Exception) -> Response:
    return _reason(500, f"a fault of the collector ({type(error).__name__}). Nothing was accepted.")
