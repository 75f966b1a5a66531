"""The counter in the event store's database: one statement for all that a process asks at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import asyncpg

from api.rate_limits.counter import FEW, MOST, SHARE, WINDOW, Demand, Grant

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_LEASE = f"SELECT * FROM write_side.lease({WINDOW}, {FEW}, {SHARE}, {MOST}, $1, $2, $3, $4, $5, $6)"  # noqa: S608 - our own constants
# Those whose bucket is in use again by now are left alone, and nobody waits for anybody.
_EXPIRE = """
WITH expired AS (
    SELECT bucket FROM write_side.rate_limit WHERE started < $1
    LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM write_side.rate_limit r USING expired e WHERE r.bucket = e.bucket AND r.started < $1"""
AT_ONCE = 1_000
CONNECTING = 2.0
NAME = "contentlog rate limits"


class PostgresCounter:
    """A Counter on a connection of its own, made when it is first needed. One call at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Connection | None = None

    async def lease(self, demands: Sequence[Demand]) -> list[Grant]:
        columns = (
            [demand.bucket for demand in demands],
            [demand.limit for demand in demands],
            [demand.asked for demand in demands],
            [demand.window for demand in demands],
            [demand.spare for demand in demands],
            [demand.unused for demand in demands],
        )
        connection = await self._connected()
        try:
            rows = await connection.fetch(_LEASE, *columns)
        except BaseException:
            # Whatever it is: the next call begins on a connection that is sound.
            connection.terminate()
            raise
        return [Grant(*row) for row in rows]

    async def expire(self, window: int) -> bool:
        connection = await self._connected()
        return await connection.execute(_EXPIRE, window, AT_ONCE) == f"DELETE {AT_ONCE}"

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(
                self._url, timeout=CONNECTING, server_settings={"application_name": NAME}
            )
        return self._connection
