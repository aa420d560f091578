"""Run the collector: connections that keep it waiting are closed, and a stop finishes the requests under way."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 30.0  # from its start, or from its last answer, until a connection has brought a whole request
_IDLE_SECONDS = 15
_GRACE_SECONDS = 30
_MOST_CONNECTIONS = 2000
_AT_ONCE = 256  # connections taken in before any is read from: few enough that none is let go before it could speak
_QUEUE = 2048  # connections that the operating system holds for us


class PatientProtocol(H11Protocol):
    """HTTP, but nobody may keep the collector waiting for long, and whoever does so longest makes room for new ones.

    A connection waits for its client unless a whole request of it is being worked on. The client may say nothing, send
    a head or a body byte by byte, be idle after an answer, or not read what it asked for. The clock starts with the
    connection and with each answer, and no byte starts it anew. uvicorn itself ends only those idle after an answer.
    """

    waiting: dict["PatientProtocol", asyncio.TimerHandle]  # in the order in which they began to wait

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock, and let go of the connection that waits longest if there are too many."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self._look()
        if len(self.connections) > _MOST_CONNECTIONS:
            next(iter(self.waiting))._end()

    def data_received(self, data: bytes) -> None:
        """Stop the clock when a request is whole."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Start the clock anew; another request may be whole already."""
        self._stop()
        super().on_response_complete()
        self._look()

    def send_400_response(self, msg: str) -> None:
        """Say so, or hang up where an answer was begun already: uvicorn would print a traceback."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def pause_writing(self) -> None:
        """The client does not read: wait for it."""
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        super().connection_lost(exc)
        self._stop()

    def _look(self) -> None:
        """Run the clock while it is the client's turn."""
        whole = self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete
        if whole and not self.flow.write_paused:
            self._stop()
        elif self not in self.waiting:
            self.waiting[self] = self.loop.call_later(REQUEST_SECONDS, self._end)

    def _stop(self) -> None:
        clock = self.waiting.pop(self, None)
        if clock is not None:
            clock.cancel()

    def _end(self) -> None:
        self._stop()
        self.transport.abort()  # a polite close would wait until the client has read everything


def serve(app: Starlette, *, host: str, port: int, proxies: str, started: Callable[[int], None]) -> None:
    """Serve until SIGTERM or SIGINT. ``started`` hears the port, also where any free one was asked for (0)."""
    protocol: Any = type("Protocol", (PatientProtocol,), {"waiting": {}})  # one list for each server
    config = uvicorn.Config(
        app, host=host, port=port, http=protocol, ws="none", lifespan="on",
        log_level="critical", access_log=False,  # an access log is a list of addresses and times
        proxy_headers=bool(proxies), forwarded_allow_ips=proxies, server_header=False,
        timeout_keep_alive=_IDLE_SECONDS, timeout_graceful_shutdown=_GRACE_SECONDS, backlog=_AT_ONCE,
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
            for listening in self.servers[0].sockets:
                with listening.dup() as same:  # asyncio has one number for how many wait and how many it takes at once
                    same.listen(_QUEUE)
            self._tell(self.servers[0].sockets[0].getsockname()[1])
