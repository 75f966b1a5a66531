"""Turns for work of which only a limited amount may run at a time, shared fairly among clients."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from write_side import tracing

PATIENCE = 20.0
"""Seconds to wait for a turn."""
WAITING = 100
"""Turns that one client may wait for at a time."""


class Overloaded(Exception):
    """The client already waits for the maximum number of turns, or this turn did not come in
    time."""

    def __init__(self) -> None:
        super().__init__("Too many requests are waiting for the same work, please retry")


def is_within_share(total: float, used: float, of_client: int, number: int = 1) -> bool:
    """Whether a client that has ``of_client`` of what is ``used`` may take this number more: it may
    have half of what the others leave. So something is left for each further client."""
    return of_client + number <= (total - used + of_client) // 2


class FairQueue:
    """A fixed number of turns at a time, at most ``per_client`` of them for one client (None: its
    share), with clients in rotation. A request therefore waits for a few turns of each other
    client, regardless of how many these wait for. A client is a workspace or an address."""

    def __init__(self, at_once: float, waiting: int = WAITING, per_client: int | None = 1) -> None:
        self._at_once = self._free = at_once
        self._most = waiting
        self._per_client = per_client
        self._busy: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, client: str, *, patient: bool = False) -> AsyncIterator[None]:
        """``patient``: waits without a time limit. Raises Overloaded."""
        await self.begin(client, patient=patient)
        try:
            yield
        finally:
            self.end(client)

    async def begin(self, client: str, *, patient: bool = False) -> None:
        """Waits for a turn, which lasts until ``end``. Raises Overloaded."""
        if len(self._waiting.get(client, ())) >= self._most:
            raise Overloaded
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(waiting)
        self._start_next()
        try:
            if not waiting.done():
                with tracing.span("wait for a turn"):
                    async with asyncio.timeout(None if patient else PATIENCE):
                        await waiting
        except BaseException as error:
            self._leave(client, waiting)
            if isinstance(error, TimeoutError):
                raise Overloaded from None
            raise

    def end(self, client: str) -> None:
        self._free += 1
        self._busy[client] -= 1
        if not self._busy[client]:
            del self._busy[client]
        if client in self._waiting:
            self._waiting.move_to_end(client)
        self._start_next()

    def _start_next(self) -> None:
        while self._free:
            client = next(filter(self._may_begin, self._waiting), None)
            if client is None:
                return
            queue = self._waiting.pop(client)
            waiting = queue.popleft()
            if queue:
                self._waiting[client] = queue
            if not waiting.done():
                self._free -= 1
                self._busy[client] += 1
                waiting.set_result(None)

    def _may_begin(self, client: str) -> bool:
        busy = self._busy[client]
        if self._per_client is None:
            return is_within_share(self._at_once, self._at_once - self._free, busy)
        return busy < self._per_client

    def _leave(self, client: str, waiting: asyncio.Future[None]) -> None:
        if waiting.done() and not waiting.cancelled():
            self.end(client)
            return
        waiting.cancel()
        queue = self._waiting.get(client)
        if queue and waiting in queue:
            queue.remove(waiting)
            if not queue:
                del self._waiting[client]
