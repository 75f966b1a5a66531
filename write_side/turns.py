"""One after the other where commands compete for a stream, so that few decide in vain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """Locks by name, which exist only while somebody wants them.

    Between processes the log's versions decide; this only spares the work of losing.
    """

    def __init__(self) -> None:
        self._wanted: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, name: str | None) -> AsyncIterator[None]:
        """Wait for the turn of a name; no name, no waiting."""
        if name is None:
            yield
            return
        lock, wanting = self._wanted.get(name, (asyncio.Lock(), 0))
        self._wanted[name] = (lock, wanting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, wanting = self._wanted[name]
            if wanting == 1:
                del self._wanted[name]
            else:
                self._wanted[name] = (lock, wanting - 1)
