"""Whoever has lost too often for a stream goes first, in whatever process.

Between processes the log's versions decide, and the fast win: one that is near the store can
append ten times while another, farther away, decides once, and so in vain each time. That one
takes an advisory lock; all others look for it before they decide, and wait while it is held. The
wait is bounded: who holds it may be paused, or gone without a word.

An import that updates entries is such a one, beside an editor who saves every second. It takes one
lock for all updates of its environment, since a lock for each entry would use up those that
PostgreSQL has room for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from write_side.domain.identity import Scope
from write_side.store.conflicts import passes
from write_side.store.recorder import Recorder

AT_ONCE = 2
"""Each holds a connection of the pool, and needs another to read with."""
IMPORTS_AT_ONCE = 1
"""Apart from the others, who need not wait for it when it is of somebody else's environment."""
TAKING = 2.0
"""Seconds for the lock: others take it one after another."""
GIVING_WAY = 0.5
GIVING_WAY_TO_IMPORTS = 5.0
"""More than the largest takes to be checked and appended."""
PAUSE = 0.005
LONGEST_PAUSE = 0.05
_TAKE = "SELECT pg_advisory_lock(hashtextextended($1, 0))"
_ARE_FREE = """
SELECT pg_try_advisory_xact_lock_shared(hashtextextended($1, 0)) AS entry,
       pg_try_advisory_xact_lock_shared(hashtextextended($2, 0)) AS environment"""


class Precedence:
    """One process's view of it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._places = asyncio.Semaphore(AT_ONCE)
        self._places_of_imports = asyncio.Semaphore(IMPORTS_AT_ONCE)
        self._held: set[str] = set()

    @asynccontextmanager
    async def of(self, entry_id: str) -> AsyncIterator[None]:
        """Go before all others, once those before us have gone; or without it where it cannot be
        had in time."""
        async with self._places, self._lock(entry_id):
            self._held.add(entry_id)
            try:
                yield
            finally:
                self._held.discard(entry_id)

    @asynccontextmanager
    async def of_import(self, scope: Scope) -> AsyncIterator[None]:
        """The same before all that change entries of the scope."""
        async with self._places_of_imports, self._lock(_all_of(scope)):
            yield

    @asynccontextmanager
    async def _lock(self, name: str) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                connection = await stack.enter_async_context(
                    self._recorder.pool.acquire(timeout=TAKING)
                )
                # Given back by the pool, which resets the session, or by the session's end.
                await connection.execute(_TAKE, name, timeout=TAKING)
            except Exception as error:
                if not passes(error):
                    raise
            yield

    async def give_way(self, entry_id: str, scope: Scope) -> None:
        """Wait, within bounds, while somebody else goes first.

        Raises StoreUnavailable.
        """
        began, pause = time.monotonic(), PAUSE
        while True:
            [free] = await self._recorder.fetch(_ARE_FREE, entry_id, _all_of(scope))
            waited = time.monotonic() - began
            is_ours = entry_id in self._held
            if (free["entry"] or is_ours or waited > GIVING_WAY) and (
                free["environment"] or waited > GIVING_WAY_TO_IMPORTS
            ):
                return
            await asyncio.sleep(pause)
            pause = min(pause * 1.2, LONGEST_PAUSE)


def _all_of(scope: Scope) -> str:
    return f"{scope.workspace}/{scope.environment}"
