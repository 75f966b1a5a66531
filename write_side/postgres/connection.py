"""Connections: their settings, their type, and which of their faults are temporary. Session locks:
the active one of several processes holds one."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from write_side.postgres.connection_classes import CopyingConnection, PooledConnection
from write_side.postgres.leader_watch import HostSession, Session, leader_watch, wants_leader
from write_side.postgres.pooler import PoolerUrl, UnexpectedPooler
from write_side.postgres.statements import statement

Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)
"""A separate connection, or one from a pool."""
Fetch: TypeAlias = Callable[..., Awaitable[list[asyncpg.Record]]]
"""Runs a statement with its parameters, on a connection or a pool."""

SETTINGS: Mapping[str, str] = {"jit": "off"}
"""Settings that the statements need on a server with defaults. The plan of a list in a large model
costs more than ``jit_above_cost``, and compiling it takes a hundred times as long as running it."""

CONNECTING = 60.0
"""Seconds until a connection is open, if nothing else is asked for: as asyncpg itself."""
_KNOWN_TO_POOLERS = ("application_name",)
_UNSUPPORTED = "unsupported startup parameter"
_WATCH = {"timeout": 5, "server_settings": {"application_name": "contentlog leader watch"}}
_PROCESS = "SELECT pg_backend_pid()"
_REFUSED_AGAIN = 0.25
"""Seconds until a host that has refused is asked again."""
PAUSED = 5.0
"""Seconds of silence of the process that holds a lock, after which another one ends its session."""
_TRY_LOCK = "SELECT pg_try_advisory_lock($1)"
_LOCK = 0x636C_6F67_0006
_WAIT = "SELECT pg_advisory_xact_lock($1)"
_CATALOG_ONLY = "SET LOCAL search_path = pg_catalog, pg_temp"
_DEFAULT = """
SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %I = %L', current_database(), $1::text,
              $2::text)"""

_LZ4 = """
SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"""
"""False for a server that was built without LZ4."""

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

MIGRATE = "the database is not set up for this version: run `contentlog migrate`"
NOT_MIGRATED = (
    asyncpg.UndefinedTableError,
    asyncpg.InvalidSchemaNameError,
    asyncpg.UndefinedFunctionError,
    asyncpg.UndefinedColumnError,
)
"""Errors that mean MIGRATE, unless they are transient."""

_OF_WORKER = "while executing command on "
"""How Citus begins the context of an error that comes from a worker."""

# InterfaceErrors that asyncpg raises for a parameter that it cannot encode, and for a URL with, for
# example, an unknown sslmode.
_LASTING = (asyncpg.DataError, asyncpg.ClientConfigurationError, asyncpg.DiskFullError)


async def connect(
    dsn: str | None = None, *, server_settings: dict[str, str] | None = None, **options: Any
) -> asyncpg.Connection[asyncpg.Record]:
    """``asyncpg.connect`` with SETTINGS, to which ``server_settings`` add. A URL may name several
    hosts; they are tried at the same time.

    With a PoolerUrl, it is a PooledConnection, unless ``options`` have another class, as those of
    asyncpg's pool do: after a release, that one allows no use of prepared statements. Settings are
    those of the role, which ``set_defaults`` sets: PgBouncer refuses parameters that it does not
    know. Raises UnexpectedPooler if any other URL leads to a pooler.
    """
    settings = {**SETTINGS, **(server_settings or {})}
    if isinstance(dsn, PoolerUrl):
        known = {name: value for name, value in settings.items() if name in _KNOWN_TO_POOLERS}
        pooled = {"connection_class": PooledConnection, **options, "statement_cache_size": 0}
        return _limited(await _connect(dsn, server_settings=known, **pooled), options)
    copying = {"connection_class": CopyingConnection, **options}
    try:
        connection = _limited(await _connect(dsn, server_settings=settings, **copying), options)
    except asyncpg.ProtocolViolationError as error:
        if _UNSUPPORTED not in str(error):
            raise
        raise UnexpectedPooler(dsn) from error
    try:
        await _check_session(connection, dsn, options.get("timeout"))
    except BaseException:
        connection.terminate()
        raise
    return connection


@asynccontextmanager
async def connected(url: str, **options: Any) -> AsyncIterator[Session]:
    """A connection as from ``connect``, which is terminated at the end."""
    connection = await connect(url, **options)
    try:
        yield connection
    finally:
        connection.terminate()


def _limited(
    connection: asyncpg.Connection[asyncpg.Record], options: Mapping[str, Any]
) -> asyncpg.Connection[asyncpg.Record]:
    """The connection, whose COPYs have the time limit of its statements."""
    # Not isinstance: asyncpg overrides it, and it is true for every connection.
    if issubclass(type(connection), CopyingConnection):
        cast("CopyingConnection", connection).patience = options.get("command_timeout")
    return connection


async def _check_session(connection: Session, dsn: str | None, timeout: float | None) -> None:
    """A pooler makes up the process id that it gives to a client."""
    try:
        statement = await connection.prepare(_PROCESS, name="", timeout=timeout)
        is_own = await statement.fetchval(timeout=timeout) == connection.get_server_pid()
    except (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError):
        is_own = False
    if not is_own:
        raise UnexpectedPooler(dsn)


async def _connect(dsn: str | None, **options: Any) -> Session:
    urls = urls_of_hosts(dsn or "")
    if dsn is None or len(urls) == 1:
        return await asyncpg.connect(dsn, **options)
    if not wants_leader(dsn):
        return (await _connect_any(urls, **options))[1]
    watch = leader_watch(dsn, partial(_connect_any, urls, **_WATCH))
    async with asyncio.timeout(options.get("timeout", CONNECTING)):
        return await watch.connect(partial(asyncpg.connect, **options))


async def _connect_any(urls: Sequence[str], **options: Any) -> HostSession:
    """The first connection that a host accepts, and the URL of the host. Tried one after another, a
    host that is frozen or cut off would take the whole timeout before the next one.

    While a host has not answered, those that have refused are asked again: a standby may become the
    primary before the timeout of a frozen one.
    """
    silent = set(urls)

    async def attempt_on(url: str) -> HostSession:
        while True:
            try:
                return url, await asyncpg.connect(url, **options)
            except _TRANSIENT:
                silent.discard(url)
                if not silent:
                    raise
            await asyncio.sleep(_REFUSED_AGAIN)

    attempts = [asyncio.create_task(attempt_on(url)) for url in urls]
    chosen: HostSession | None = None
    try:
        for attempt in asyncio.as_completed(attempts):
            with suppress(*_TRANSIENT):
                chosen = await attempt
                return chosen
        return await attempts[-1]  # raises its reason
    finally:
        for one in attempts:
            one.cancel()
            one.add_done_callback(lambda done: _end_unless_chosen(done, chosen))


def _end_unless_chosen(attempt: asyncio.Task[HostSession], chosen: HostSession | None) -> None:
    """Another host may have accepted a connection at the same moment."""
    if not attempt.cancelled() and attempt.exception() is None and attempt.result() is not chosen:
        attempt.result()[1].terminate()


def urls_of_hosts(url: str) -> list[str]:
    """A URL for each host that this one names."""
    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    return [urlunsplit(parts._replace(netloc=login + at + host)) for host in hosts.split(",")]


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


async def set_defaults(connection: Connection, more: Mapping[str, str] | None = None) -> None:
    """Makes SETTINGS and ``more`` the defaults of this connection's role in this database; also LZ4
    for long values (ADR 16), if the server has it."""
    async with catalog_transaction(connection):
        # Two simultaneous changes of one role fail.
        await connection.execute(_WAIT, _LOCK)
        settings = {**SETTINGS, **(more or {})}
        if await connection.fetchval(_LZ4):
            settings["default_toast_compression"] = "lz4"
        for name, value in settings.items():
            await connection.execute(await connection.fetchval(_DEFAULT, name, value))


async def try_lock(connection: Connection, lock: int) -> bool:
    return bool(await connection.fetchval(_TRY_LOCK, lock))


class LockHolder:
    """The session that holds a lock, as seen from a connection that waits for the lock."""

    def __init__(self, connection: Connection, lock: int, log: Any) -> None:
        self._connection = connection
        self._lock = lock
        self._log = log
        self._ended: int | None = None
        self._ends_by = 0.0

    async def end_if_paused(self) -> None:
        """Ends the session if its process is paused or cut off. Logs this once for each session,
        and once if PostgreSQL's process of the session does not end."""
        high, low = self._lock >> 32, self._lock & 0xFFFFFFFF
        ending = statement("write_side", "end_paused")
        backend = await self._connection.fetchval(ending, high, low, PAUSED)
        now = time.monotonic()
        if backend is None:
            return
        if backend != self._ended:
            self._ended, self._ends_by = backend, now + PAUSED
            self._log.warning("ended the session of the active process, which was silent")
        elif now > self._ends_by:
            self._ends_by = math.inf
            self._log.warning(
                "PostgreSQL's process of that session does not end: restart PostgreSQL", pid=backend
            )


def is_transient(error: BaseException) -> bool:
    """Whether the same statement may succeed over a new connection: after a lost connection, a
    timeout, a restart, a deadlock, a query that a replica cancels to keep up, a primary that has
    become a standby, or an operator's lock_timeout. A full disk is not transient, nor is a bad URL.

    A worker of Citus that was cut off in the midst of a switch has no table with the new name until
    Citus completes the commit (ADR 59).
    """
    if isinstance(error, asyncpg.UndefinedTableError):
        return (error.context or "").startswith(_OF_WORKER)
    return isinstance(error, _TRANSIENT) and not isinstance(error, _LASTING)
