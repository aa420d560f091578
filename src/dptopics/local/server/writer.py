"""Group commit: requests that wait at the same time share one transaction, and each is answered once it is on disk."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from dptopics.errors import StoreError
from dptopics.local.server.store import Row, Store

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
