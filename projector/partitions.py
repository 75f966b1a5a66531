"""Gives locales with many translations their own partition while reads continue (ADR 29).

Each step is a short transaction, so a projector that was killed continues where it was. At any time
a row is in one partition, and readers look in both, so no row is missing or duplicated.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import asyncpg
import structlog

from projector.checkpoint import hold_checkpoint
from write_side.domain.entry import Entry
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

GROWN = 10_000
"""Translations from which a locale gets its own partition."""
MOST = 8
"""The maximum number of own partitions in an environment. A statement locks all partitions and,
when it is planned, their indexes; with default settings PostgreSQL has 64 locks per connection."""
LOCALE_COLUMNS = ("workspace", "partition_key", "locale", "id", "title", "texts", "fields")
CHUNK = 1_000
CHUNK_BYTES = 16 * 1024 * 1024
CHECK_EVERY = 10.0
"""Seconds between two searches for a locale that has grown."""
LOCK_TIMEOUT = "200ms"
_SET_LOCK_TIMEOUT = "SELECT set_config('lock_timeout', $1, true)"
_ADD = "SELECT add_locale_partition($1, $2, $3, $4)"
_log = structlog.get_logger("projector")


async def add_partition(connection: Connection, environment: str, locale: str, state: str) -> bool:
    """Whether the locale has its own partition now; an environment has at most MOST. Raises
    LockNotAvailableError instead of making others wait longer."""
    async with connection.transaction():
        await connection.execute(_SET_LOCK_TIMEOUT, LOCK_TIMEOUT)
        added = await connection.fetchval(_ADD, environment, locale, state, MOST)
    return bool(added)


class LivePartitions:
    """Adds partitions to the live read model, one at a time, and moves rows to them."""

    def __init__(self, connection: Connection, epoch: int) -> None:
        self._connection = connection
        self._epoch = epoch
        self._checked_at = 0.0
        self._is_growing = True  # a projector that was killed may have left something to do
        self._readers: set[str] | None = None

    async def step(self) -> bool:
        """Takes the next step. Returns whether another one can follow at once.

        Raises CheckpointConflict.
        """
        if not self._is_growing:
            return await self._begin()
        growing = await self._connection.fetchrow(statement("projector", "growing_locale"))
        if growing is None:
            self._is_growing = False
            return await self._begin()
        environment, locale, state = growing
        if state == "attached":
            return await self._open(environment, locale)
        await self._move(environment, locale)
        return True

    async def _begin(self) -> bool:
        """Adds a partition for a locale that has grown, if there is one."""
        if time.monotonic() - self._checked_at < CHECK_EVERY:
            return False
        self._checked_at = time.monotonic()
        grown = await self._connection.fetchrow(statement("projector", "grown_locale"), GROWN, MOST)
        if grown is None:
            return False
        environment, locale = grown
        try:
            await add_partition(self._connection, environment, locale, "attached")
        except asyncpg.LockNotAvailableError:
            return False
        _log.info("a locale gets its own partition", environment=environment, locale=locale)
        self._is_growing, self._readers = True, None
        return True

    async def _open(self, environment: str, locale: str) -> bool:
        """Begins to write to the partition once no reader can have a plan without it.

        A plan is checked before its statement's snapshot is taken, so a statement that began before
        the partition was attached could see that rows are gone without finding them in the new one.
        """
        rows = await self._connection.fetch(statement("projector", "readers_of_translations"))
        now = {row[0] for row in rows}
        self._readers = now if self._readers is None else self._readers & now
        if self._readers:
            return False
        await self._set_state(environment, locale, "moving")
        return True

    async def _move(self, environment: str, locale: str) -> None:
        async with self._connection.transaction():
            await hold_checkpoint(self._connection, self._epoch)
            moved = await self._connection.execute(
                statement("projector", "move_translations"), environment, locale, CHUNK, CHUNK_BYTES
            )
        if moved == "UPDATE 0":
            await self._set_state(environment, locale, "settled")

    async def _set_state(self, environment: str, locale: str, state: str) -> None:
        self._readers = None
        async with self._connection.transaction():
            await hold_checkpoint(self._connection, self._epoch)
            await self._connection.execute(
                statement("projector", "set_partition_state"), environment, locale, state
            )


class RebuildPartitions:
    """The partitions that one worker of a rebuild writes to: a locale's own partition once the
    worker has written GROWN translations. The earlier ones are moved when the new read model is
    live."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._written: Counter[tuple[str, str]] = Counter()
        self._has_own: dict[tuple[str, str], bool] = {}

    async def count(self, entries: Iterable[Entry]) -> None:
        """Counts the translations that are written next, and adds the partitions for them."""
        self._written.update((e.environment, locale) for e in entries for locale in e.translations)
        for place, n in self._written.items():
            if n >= GROWN and place not in self._has_own:
                # Another worker may be adding one; try again with the next page.
                with contextlib.suppress(asyncpg.LockNotAvailableError):
                    self._has_own[place] = await add_partition(self._connection, *place, "moving")

    def rows(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """The rows of ``locale_rows``, with the columns LOCALE_COLUMNS."""
        for workspace, environment, locale, *rest in rows:
            has_own = self._has_own.get((environment, locale), False)
            key = f"{environment}/{locale if has_own else 'other'}"
            yield (workspace, key, locale, *rest)
