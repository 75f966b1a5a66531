"""Records the outcomes of all endpoints together, with one statement for those that have arrived
while the one before it ran."""

from __future__ import annotations

import asyncio

from write_side.domain.webhook import Name
from write_side.store.webhook_cursors import Cursors, Move
from write_side.waiting import raise_if_cancelled

BATCH = 500
_Waiting = tuple[Move, "asyncio.Future[float | None]"]


class MoveRecorder:
    def __init__(self, cursors: Cursors) -> None:
        self._cursors = cursors
        self._waiting: list[_Waiting] = []
        self._arrived = asyncio.Event()

    async def record(self, move: Move) -> float | None:
        """For how many seconds the endpoint has been failing, 0 if it is not; None if something
        else moved its cursor, so that the outcome is not recorded. The outcomes of one endpoint are
        recorded one after another.

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
        """The next moves, at most one of each endpoint. A replayed endpoint has a new task, and the
        move of its previous task may still be waiting."""
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
            raise_if_cancelled(error)
            return
        for move, recorded in batch:
            if not recorded.done():
                recorded.set_result(found.get(move.endpoint.key))
