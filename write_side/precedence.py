"""Whoever has lost too often for a stream goes first, in whatever process.

Between processes the log's versions decide, and the fast win: one that is near the store can
append ten times while another, farther away, decides once, and so in vain each time. That one
takes an advisory lock; all others look for it before they decide, and wait while it is held. The
wait is bounded: who holds it may be paused, or gone without a word.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from write_side.store.conflicts import passes
from write_side.store.recorder import Recorder

AT_ONCE = 2
"""Each holds a connection of the pool, and needs another to read with."""
TAKING = 2.0
"""Seconds for the lock: others take it one after another."""
GIVING_WAY = 0.5
PAUSE = 0.005
_TAKE = "SELECT pg_advisory_lock(hashtextextended($1, 0))"
_IS_FREE = "SELECT pg_try_advisory_xact_lock_shared(hashtextextended($1, 0)) AS free"


class Precedence:
    """One process's view of it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._places = asyncio.Semaphore(AT_ONCE)
        self._held: set[str] = set()

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Go before all others, once those before us have gone; or without it where it cannot be
        had in time."""
        async with self._places, AsyncExitStack() as stack:
            try:
                connection = await stack.enter_async_context(
                    self._recorder.pool.acquire(timeout=TAKING)
                )
                # Given back by the pool, which resets the session, or by the session's end.
                await connection.execute(_TAKE, name, timeout=TAKING)
            except Exception as error:
                if not passes(error):
                    raise
            self._held.add(name)
            try:
                yield
            finally:
                self._held.discard(name)

    async def give_way(self, name: str | None) -> None:
        """Wait, within bounds, while somebody else goes first; no name, no waiting.

        Raises StoreUnavailable.
        """
        if name is None or name in self._held:
            return
        for _ in range(int(GIVING_WAY / PAUSE)):
            [row] = await self._recorder.fetch(_IS_FREE, name)
            if row["free"]:
                return
            await asyncio.sleep(PAUSE)
