"""Runs work that takes tens of milliseconds, one piece at a time, and leaves half of the time to
other requests.

Many such requests delay each other, but any other request only by one piece. Workspaces take turns,
so one with many requests delays the others by one piece each.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from write_side.fair_queue import FairQueue

FEW = 4096
"""Bytes up to which an input never waits for larger ones."""
SHORT = 0.005
"""Seconds of work that need no pause after them."""
WAITING = 32
"""Requests of one workspace that may wait for a turn; each holds a body."""
# Bytes up to which an input takes a few milliseconds and needs no turn, by kind of work.
PARSE_GRAPHQL = 1024
"""GraphQL is parsed and validated in Python: 10 ms a kilobyte at worst."""
DECODE_JSON = 64 * 1024
"""Decoded in C: 3 ms at worst."""
DECOMPRESS = 2048
"""Decompressed to up to a thousand times the size: 4 ms."""
_AT_ONCE = nullcontext()


class LoopTurns:
    def __init__(self) -> None:
        self._few = FairQueue(1, WAITING)
        self._large = FairQueue(1, WAITING)
        self._alone = FairQueue(sys.maxsize, WAITING)

    def turn(self, client: str, small: int, size: int) -> AbstractAsyncContextManager[None]:
        """Waits until the work on an input of ``size`` bytes may begin; inputs of up to ``small``
        do not wait. The work itself must not wait.

        Raises Overloaded.
        """
        if size <= small:
            return _AT_ONCE
        return self._turn(client, self._few if size <= FEW else self._large)

    @asynccontextmanager
    async def _turn(self, client: str, queue: FairQueue) -> AsyncIterator[None]:
        await queue.begin(client)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            # Requests that have arrived meanwhile come first.
            await asyncio.sleep(0)
            began = loop.time()
            yield
        finally:
            worked = loop.time() - began
            if worked < SHORT:
                queue.end(client)
            else:
                # A read takes several turns of the loop, and the next piece must not delay each of
                # them.
                loop.call_later(worked, queue.end, client)

    @asynccontextmanager
    async def alone(self, workspace: str, size: int) -> AsyncIterator[None]:
        """Runs one piece of a workspace's work at a time; the work may wait. Raises Overloaded."""
        if size <= FEW:
            yield
            return
        async with self._alone.turn(workspace):
            yield
