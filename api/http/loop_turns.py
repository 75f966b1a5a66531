"""Work that takes tens of milliseconds, one piece at a time and half of the time.

Many such requests at once delay each other, and any other request by one piece.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

SMALL = 1024
"""Bytes of input that take no turn: whatever they hold takes a few milliseconds."""
FEW = 4096
"""Bytes of a document that asks for little."""
SHORT = 0.005
"""Seconds of work that need no pause after them."""


class LoopTurns:
    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._workspaces: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, size: int) -> AsyncIterator[None]:
        """Waits until the work on an input of so many bytes may begin. It must not wait itself."""
        if size <= SMALL:
            yield
            return
        await self._turn.acquire()
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            # What has arrived meanwhile comes first.
            await asyncio.sleep(0)
            began = loop.time()
            yield
        finally:
            worked = loop.time() - began
            if worked < SHORT:
                self._turn.release()
            else:
                # A read takes several turns of the loop: the next piece must not delay each.
                loop.call_later(worked, self._turn.release)

    @asynccontextmanager
    async def alone(self, workspace: str, size: int) -> AsyncIterator[None]:
        """One of a workspace at a time; for work that may wait."""
        if size <= FEW:
            yield
            return
        lock = self._workspaces.setdefault(workspace, asyncio.Lock())
        async with lock:
            yield
