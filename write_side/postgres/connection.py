"""Connections: their settings, their type, and which of their faults are temporary."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg

Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)
"""A separate connection, or one from a pool."""

SETTINGS: Mapping[str, str] = {"jit": "off"}
"""Settings that the statements need on a server with defaults. The plan of a list in a large model
costs more than ``jit_above_cost``, and compiling it takes a hundred times as long as running it."""

_LOCK = 0x636C_6F67_0006
_WAIT = "SELECT pg_advisory_xact_lock($1)"
_CATALOG_ONLY = "SET LOCAL search_path = pg_catalog, pg_temp"
_DEFAULT = """
SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %I = %L', current_database(), $1::text,
              $2::text)"""

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

# asyncpg raises DataError, an InterfaceError, for a parameter that it cannot encode.
_LASTING = (asyncpg.DataError, asyncpg.DiskFullError)


async def connect(
    dsn: str | None = None, *, server_settings: dict[str, str] | None = None, **options: Any
) -> asyncpg.Connection[asyncpg.Record]:
    """``asyncpg.connect`` with SETTINGS, to which ``server_settings`` add.

    PgBouncer refuses parameters that it does not know. Behind it, a connection has the defaults of
    its role, which ``set_defaults`` sets, and those of ``server_settings`` that PgBouncer knows.
    """
    settings = {**SETTINGS, **(server_settings or {})}
    while True:
        try:
            return await asyncpg.connect(dsn, server_settings=settings, **options)
        except asyncpg.ProtocolViolationError as error:
            refused = str(error).rpartition(" ")[2]
            if "unsupported startup parameter" not in str(error) or refused not in settings:
                raise
            del settings[refused]


@asynccontextmanager
async def catalog_transaction(connection: Connection, **options: Any) -> AsyncIterator[None]:
    """A transaction that looks up names without a schema only in PostgreSQL's catalog.

    By default a role also finds functions in the schema with its own name. Any role that may create
    schemas can create that one, and its functions would run with this role's privileges. Set in
    each transaction, because PgBouncer may use a different session for each.
    """
    async with connection.transaction(**options):
        await connection.execute(_CATALOG_ONLY)
        yield


async def set_defaults(connection: Connection) -> None:
    """Makes SETTINGS the defaults of this connection's role in this database."""
    async with catalog_transaction(connection):
        # Two simultaneous changes of one role fail.
        await connection.execute(_WAIT, _LOCK)
        for name, value in SETTINGS.items():
            await connection.execute(await connection.fetchval(_DEFAULT, name, value))


def is_transient(error: BaseException) -> bool:
    """Whether the same statement may succeed over a new connection: after a lost connection, a
    timeout, a restart, a deadlock, a query that a replica cancels to keep up, a primary that has
    become a standby, or an operator's lock_timeout. A full disk is not transient."""
    return isinstance(error, _TRANSIENT) and not isinstance(error, _LASTING)
