"""Records the outcomes of all endpoints together, with one statement for those that have arrived
while the one before it ran."""

from __future__ import annotations

import asyncio

from write_side.domain.webhook import Name
from write_side.store.webhook_cursors import Cursors, Move

BATCH = 500
_Waiting = tuple[Move, "asyncio.Future[float | None]"]


class MoveRecorder:
    def __init__(self, cursors: Cursors) -> None:
        self._cursors = cursors
        self._waiting: list[_Waiting] = []
        self._arrived = asyncio.Event()

    async def record(self, move: Move) -> float | None:
        """Since how many seconds the endpoint fails, 0 if it does not; None if its cursor was moved
        by something else, and the outcome is not recorded. Those of one endpoint are recorded one
        after another.

        Raises what the statement raises.
        """
        recorded: asyncio.Future[float | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((move, recorded))
        self._arrived.set()
        return await recorded

    async def run(self) -> None:
        """Records until it is cancelled."""
        while True:
            await self._arrived.wait()
            batch = self._take()
            if not self._waiting:
                self._arrived.clear()
            await self._record(batch)

    def _take(self) -> list[_Waiting]:
        """The next moves, one of each endpoint: the task of one that was replayed begins again, and
        the move of the task before it may still wait."""
        batch: dict[Name, _Waiting] = {}
        left: list[_Waiting] = []
        for one in self._waiting:
            name = one[0].endpoint.key
            if name in batch or len(batch) == BATCH:
                left.append(one)
            else:
                batch[name] = one
        self._waiting = left
        return list(batch.values())

    async def _record(self, batch: list[_Waiting]) -> None:
        try:
            found = await self._cursors.record([move for move, _ in batch])
        except Exception as error:
            for _, recorded in batch:
                if not recorded.done():
                    recorded.set_exception(error)
            return
        for move, recorded in batch:
            if not recorded.done():
                recorded.set_result(found.get(move.endpoint.key))
