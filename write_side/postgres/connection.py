"""The type of a connection, and which of its faults pass."""

from __future__ import annotations

from typing import TypeAlias

import asyncpg

Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)
"""A connection of its own, or one lent by a pool."""

_TRANSIENT = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.LockNotAvailableError,
)


def is_transient(error: BaseException) -> bool:
    """Whether the same statement may succeed over a new connection: after a lost connection, a
    timeout, a restart, a deadlock, a query that a replica cancels to keep up, a primary that has
    become a standby, or an operator's lock_timeout."""
    # asyncpg raises DataError, an InterfaceError, for a parameter that it cannot encode.
    return isinstance(error, _TRANSIENT) and not isinstance(error, asyncpg.DataError)
