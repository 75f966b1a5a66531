"""Priority of an import over other changes of entries of its content type.

An import takes a second to decide what an editor saves in a millisecond, and could lose every race
for the streams of its entries. With priority it holds an advisory lock on its content type, and
``write_side.append`` answers the changes of others with "stale" without waiting: dispatch sends
them again until the import is through (ADR 21).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from write_side.repository import Repository
from write_side.store.conflicts import passes

WAIT = 2.0
"""Seconds to wait for a connection, and for another import that has priority."""
LONGEST = "5s"
"""PostgreSQL then takes the lock away, also from a process that is paused. More than the largest
import takes to be checked and appended, less than the patience of dispatch."""
_LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', $1, true)"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"


@asynccontextmanager
async def priority(repository: Repository, content_type_id: str) -> AsyncIterator[None]:
    """Have priority while the block runs; if the lock cannot be had in time, run without it.

    One import of this process at a time: each holds a connection of the pool.
    """
    pool = repository.recorder.pool
    async with repository.import_priority:
        connection = await pool.acquire(timeout=WAIT)
        transaction = connection.transaction()
        try:
            try:
                await transaction.start()
                await connection.execute(_LIMIT, LONGEST)
                await connection.execute(_LOCK, content_type_id, timeout=WAIT)
            except Exception as error:
                if not passes(error):
                    raise
            yield
        finally:
            try:
                await transaction.rollback()
            except Exception as error:
                if not passes(error):
                    raise
            await pool.release(connection)
