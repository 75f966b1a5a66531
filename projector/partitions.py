"""A partition for each locale in use, made when it is first written to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import asyncpg

from projector.rows import EntryState
from write_side.postgres.connection import Connection

LOCK_TIMEOUT = "200ms"
_PATIENCE = "SELECT set_config('lock_timeout', $1, true)"
_ADD = "SELECT add_locale($1, $2)"


class Partitions:
    """Remembers which partitions there are, so that the database is asked once for each."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._made: set[tuple[str, str]] = set()

    async def ensure(self, states: Iterable[EntryState | None]) -> None:
        """Make what the entries need, each in a short transaction of its own."""
        needed = {
            (state.entry.environment, locale)
            for state in states
            if state is not None
            for locale in state.entry.translations
        }
        for environment, locale in sorted(needed - self._made):
            await self._add(environment, locale)
            self._made.add((environment, locale))

    async def _add(self, environment: str, locale: str) -> None:
        # A reader's prepared statement can hold the parent for a moment: give way, try again.
        while True:
            try:
                async with self._connection.transaction():
                    await self._connection.execute(_PATIENCE, LOCK_TIMEOUT)
                    await self._connection.execute(_ADD, environment, locale)
                return
            except asyncpg.LockNotAvailableError:
                await asyncio.sleep(0.05)
