"""Session locks, of which the active one of several processes holds one."""

from __future__ import annotations

from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

PAUSED = 5.0
"""Seconds of silence of the process that holds a lock, after which another one ends its session."""
_TRY_LOCK = "SELECT pg_try_advisory_lock($1)"


async def try_lock(connection: Connection, lock: int) -> bool:
    return bool(await connection.fetchval(_TRY_LOCK, lock))


async def end_paused(connection: Connection, lock: int) -> bool:
    """Ends the session that holds the lock if its process is paused or cut off."""
    ended = statement("write_side", "end_paused")
    return bool(await connection.fetch(ended, lock >> 32, lock & 0xFFFFFFFF, PAUSED))
