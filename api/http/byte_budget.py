"""Bytes that the responses of a process hold until they are sent; a workspace may hold half."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.errors import Busy

PATIENCE = 20.0
"""Seconds to wait for a turn, or for bytes to come back."""


class ByteBudget:
    """A workspace that uses up its half leaves the other half to others."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._taken: Counter[str] = Counter()
        self._returned = asyncio.Condition()

    @property
    def taken(self) -> int:
        return self._taken.total()

    def take(self, workspace: str, number: int) -> bool:
        """False where there are not so many left."""
        fits = self._taken[workspace] + number <= self._total // 2
        if not fits or self.taken + number > self._total:
            return False
        self._taken[workspace] += number
        return True

    async def wait_and_take(self, workspace: str, number: int) -> None:
        """Raises Busy if there are not so many left in time."""
        try:
            async with asyncio.timeout(PATIENCE), self._returned:
                await self._returned.wait_for(lambda: self.take(workspace, number))
        except TimeoutError:
            raise Busy("Too many large responses are being sent at the moment") from None

    async def give_back(self, workspace: str, number: int) -> None:
        self._taken[workspace] -= number
        if not self._taken[workspace]:
            del self._taken[workspace]
        async with self._returned:
            self._returned.notify_all()


class Turns:
    """Work on large responses: so much at once, of each workspace one, workspaces in rotation."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._busy: set[str] = set()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, workspace: str) -> AsyncIterator[None]:
        """Raises Busy if it does not come in time."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(workspace, deque()).append(waiting)
        self._start_next()
        try:
            async with asyncio.timeout(PATIENCE):
                await waiting
        except BaseException as error:
            self._leave(workspace, waiting)
            if isinstance(error, TimeoutError):
                raise Busy("Too many large responses are being made at the moment") from None
            raise
        try:
            yield
        finally:
            self._end(workspace)

    def _start_next(self) -> None:
        while self._free:
            workspace = next((one for one in self._waiting if one not in self._busy), None)
            if workspace is None:
                return
            queue = self._waiting.pop(workspace)
            waiting = queue.popleft()
            if queue:
                self._waiting[workspace] = queue
            if not waiting.done():
                self._free -= 1
                self._busy.add(workspace)
                waiting.set_result(None)

    def _leave(self, workspace: str, waiting: asyncio.Future[None]) -> None:
        if waiting.done() and not waiting.cancelled():
            self._end(workspace)
            return
        waiting.cancel()
        queue = self._waiting.get(workspace)
        if queue and waiting in queue:
            queue.remove(waiting)
            if not queue:
                del self._waiting[workspace]

    def _end(self, workspace: str) -> None:
        self._free += 1
        self._busy.discard(workspace)
        if workspace in self._waiting:
            self._waiting.move_to_end(workspace)
        self._start_next()
