"""Run the collector: connections that say nothing are closed, and a stop finishes the requests under way."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

_SILENCE_SECONDS = 10.0
_GRACE_SECONDS = 30
_MOST_CONNECTIONS = 2000


class PatientProtocol(H11Protocol):
    """HTTP, but a connection must send a whole request's head soon, and the longest silent one makes room for new ones.

    uvicorn itself waits for ever for the first request, so that ten thousand silent connections would use up all files.
    """

    silent: dict["PatientProtocol", asyncio.TimerHandle]  # in the order in which they came

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock, and let go of the oldest silent connection if there are too many."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self.silent[self] = self.loop.call_later(_SILENCE_SECONDS, self._end)
        if len(self.connections) > _MOST_CONNECTIONS:
            next(iter(self.silent))._end()

    def data_received(self, data: bytes) -> None:
        """Stop the clock when the first request has begun; between requests uvicorn keeps its own."""
        super().data_received(data)
        if self.cycle is not None:
            self._spoken()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._spoken()
        super().connection_lost(exc)

    def _spoken(self) -> None:
        clock = self.silent.pop(self, None)
        if clock is not None:
            clock.cancel()

    def _end(self) -> None:
        self._spoken()
        self.transport.abort()


def serve(app: Starlette, *, host: str, port: int, proxies: str, started: Callable[[int], None]) -> None:
    """Serve until SIGTERM or SIGINT. ``started`` hears the port, also where any free one was asked for (0)."""
    protocol: Any = type("Protocol", (PatientProtocol,), {"silent": {}})  # one list of silent ones for each server
    config = uvicorn.Config(
        app, host=host, port=port, http=protocol, ws="none", lifespan="on",
        log_level="critical", access_log=False,  # an access log is a list of addresses and times
        proxy_headers=bool(proxies), forwarded_allow_ips=proxies, server_header=False,
        timeout_keep_alive=15, timeout_graceful_shutdown=_GRACE_SECONDS, backlog=2048,
    )  # fmt: skip
    # uvicorn ends on SIGTERM and then raises it once more, which would kill us before the store is closed.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        _allow_files(2 * _MOST_CONNECTIONS)
        _Server(config, started).run()
    finally:
        signal.signal(signal.SIGTERM, before)


def _allow_files(wanted: int) -> None:
    """A connection is an open file; many systems allow 1024 unless asked."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[int], None]) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._tell(self.servers[0].sockets[0].getsockname()[1])
