"""Makes appends wait in the server for as long as a test needs, and checks that they wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from tests.databases import owner_of
from write_side.postgres.connection import Connection

_BLOCKED = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'"""
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND backend_type = 'client backend'"""
_DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
_SECONDS = 60


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits for a condition that only the server knows, or fails."""
    async with asyncio.timeout(_SECONDS):
        while not await holds():  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.005)


async def until_true(holds: Callable[[], bool]) -> None:
    """Waits for a condition of this process that has no event, or fails."""

    async def condition() -> bool:
        return holds()

    await until(condition)


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    """A connection of the owner, who has more privileges than contentlog."""
    connection = await asyncpg.connect(owner_of(url))
    try:
        yield connection
    finally:
        await connection.close()


class HeldTransaction:
    """A transaction of another session that blocks appends until it is released."""

    def __init__(self, holder: Connection, watcher: Connection) -> None:
        self._transaction = holder.transaction()
        self.holder = holder
        self.watcher = watcher

    async def start(self, statement: str, *parameters: Any) -> None:
        await self._transaction.start()
        await self.holder.execute(statement, *parameters)

    async def until_blocked(self, sessions: int = 1) -> None:
        """Waits until this number of sessions wait for a lock."""

        async def blocked() -> bool:
            return bool(await self.watcher.fetchval(_BLOCKED) == sessions)

        await until(blocked)

    async def release(self) -> None:
        await self._transaction.rollback()

    async def commit(self) -> None:
        await self._transaction.commit()


@asynccontextmanager
async def holding(
    url: str, statement: str = "SELECT FROM write_side.head FOR UPDATE", *parameters: Any
) -> AsyncIterator[HeldTransaction]:
    """Holds what the statement locks: by default the head, so that every append waits."""
    async with connected(url) as holder, connected(url) as watcher:
        hold = HeldTransaction(holder, watcher)
        await hold.start(statement, *parameters)
        yield hold


async def deadlocks(url: str) -> int:
    """The number of deadlocks in the database. Sessions report them when they end, so all but this
    one must be closed."""
    async with connected(url) as connection:

        async def alone() -> bool:
            return bool(await connection.fetchval(_OTHERS) == 0)

        await until(alone)
        return int(await connection.fetchval(_DEADLOCKS))
