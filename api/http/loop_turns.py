"""Work that takes tens of milliseconds, one piece in each turn of the event loop.

Many such requests at once delay each other, and any other request by one piece.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SMALL = 4096
"""Bytes of input that take no turn: whatever they hold takes a few milliseconds."""


class LoopTurns:
    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def turn(self, size: int) -> AsyncIterator[None]:
        """Waits until the work on an input of so many bytes may begin. It must not wait itself."""
        if size <= SMALL:
            yield
            return
        async with self._turn:
            # What has arrived meanwhile comes first.
            await asyncio.sleep(0)
            yield
