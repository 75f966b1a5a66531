"""What differs in a rebuild of a distributed read model (ADR 59): no snapshot covers several nodes,
and the coordinator shows what it commits before the workers do."""

from __future__ import annotations

from collections.abc import Iterable

import asyncpg

from projector.process import connected_model
from write_side.domain.refusals import ExplainedError
from write_side.postgres.connection import Connection

LOCK_SECONDS = 0.2
"""The time that the first attempt to lock out readers may take. New reads wait for it."""
MOST_LOCK_SECONDS = 0.8
"""The most that any attempt may take. It is less than PostgreSQL's deadlock_timeout: if a read and
the switch wait for each other's tables, the switch gives up, and no read is ended."""
SWITCH_ATTEMPTS = 200
BETWEEN_ATTEMPTS = 1.0
IDLE_TIMEOUT = "SET LOCAL idle_in_transaction_session_timeout = '30s'"
"""If this process is paused or its machine is gone, the live projector must not wait longer."""

# Every client connects to the coordinator, so its locks are enough; those of the workers' copies of
# the tables would take ten times as long.
_LOCK_HERE = "SELECT set_config('citus.enable_ddl_propagation', $1, true)"
_TIMEOUT = "SELECT set_config('statement_timeout', $1, true)"
# In the order in which most reads lock them: all have the checkpoint last.
_LOCK_TABLES = """
SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE',
              string_agg(logicalrelid::text, ', ' ORDER BY partmethod, c.oid))
FROM pg_dist_partition JOIN pg_class c ON c.oid = logicalrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY ($1) AND NOT c.relispartition"""
# A batch updates the checkpoint on every node. This one waits until all of them have committed it.
_PAUSE = "UPDATE checkpoint SET epoch = epoch"
_LOOK_EVERYWHERE = "SELECT count(*) FROM workspace"


class ReadLockTimeout(ExplainedError):
    """Reads of the live read model have not ended in time."""

    def __init__(self) -> None:
        super().__init__(
            "reads of the live read model take too long: end those that pg_stat_activity shows "
            "on the coordinator, then try again"
        )


async def lock_out_readers(connection: Connection, schemas: Iterable[str], attempt: int) -> None:
    """Reads of the read models in these schemas wait until the transaction has ended, and then look
    up the names of the tables again. PostgreSQL releases locks after Citus has committed the
    workers.

    Raises ReadLockTimeout; the transaction then has to be rolled back.
    """
    seconds = min(LOCK_SECONDS * 2**attempt, MOST_LOCK_SECONDS)
    lock = await connection.fetchval(_LOCK_TABLES, list(schemas))
    await connection.execute(_LOCK_HERE, "off")
    await connection.execute(_TIMEOUT, f"{seconds:.3f}s")
    try:
        await connection.execute(lock)
    except (asyncpg.QueryCanceledError, asyncpg.DeadlockDetectedError) as error:
        raise ReadLockTimeout from error
    await connection.execute(_TIMEOUT, "0")
    await connection.execute(_LOCK_HERE, "on")


async def take_snapshots(url: str, reading: Connection) -> None:
    """Takes a snapshot on every node for a transaction that has just begun to read the live read
    model, all of one checkpoint. The projector is paused for that moment."""
    async with connected_model(url) as pausing:
        transaction = pausing.transaction()
        await transaction.start()
        await pausing.execute(IDLE_TIMEOUT)
        await pausing.execute(_PAUSE)
        await reading.execute(_LOOK_EVERYWHERE)
        await transaction.rollback()
