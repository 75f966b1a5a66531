"""Connections that read the read model.

Our own pool, because reads are short: asyncpg's adds a task, a proxy and two timeouts to each,
which makes a single entry 20 % slower even without its session reset (ADR 22).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import asyncpg
import structlog
from asyncpg.transaction import Transaction

from read_side.engine import is_distributed, is_known
from read_side.refusals import IncompleteIndex, InvalidQuery, NotFound, ReadModelUnavailable
from read_side.shared_reads import SharedReads
from write_side import tracing
from write_side.fair_queue import FairQueue
from write_side.postgres.connection import Connection, connect, is_transient
from write_side.postgres.statements import statements

SIZE = 10
QUERIES = 6
"""Queries at a time: some connections are left for plain reads, which are much shorter."""
QUERIES_OF_ONE = 3
"""How many of them one workspace may have."""
PATIENCE = 10.0
"""Seconds for a read, far more than any takes; for a server that stops responding."""
CONNECTING = 5.0
"""Seconds to wait for a connection, including the time to open it."""
MISSING_AGAIN = 60.0
"""Seconds after which a missing table is logged with a traceback again."""
_DATABASE: tracing.Attributes = {"db.system.name": "postgresql", "db.namespace": "read_model"}
_STATEMENTS = statements("read_side")
_NAMES = {text: name for name, text in _STATEMENTS.items()}
# Citus finds the worker by the values of the parameters.
_CUSTOM_PLANS = "SET plan_cache_mode = force_custom_plan"
# The schema that has this name now, regardless of the transaction's snapshot.
_MODEL = "SELECT to_regnamespace('read_model')::oid"
# The disk is full, or the database is being restored: it, its tables or its role are missing.
_LASTING = (
    asyncpg.DiskFullError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.UndefinedTableError,
)
REFUSALS = (NotFound, InvalidQuery, IncompleteIndex)
T = TypeVar("T")
_log = structlog.get_logger("read_side.pool")


class Pool:
    """At most SIZE connections to a PostgreSQL URL, each used by one task at a time.
    ``patience``: seconds for a statement. ``attempts``: of a read that meets a transient fault.

    ``on_stamp`` is called with the stamp of the checkpoint at which records were read, before they
    are returned.

    A read changes nothing in its session, so there is nothing to reset after it.

    Statements are planned once, not for each of their parameters: planning takes several times as
    long as reading a page. The statements are written so that one plan suits all parameters
    (LATERAL … LIMIT 1 fetches each row of the page by its key).
    """

    def __init__(
        self,
        url: str,
        on_stamp: Callable[[int], None] = lambda _: None,
        patience: float = PATIENCE,
        attempts: int = 2,
    ) -> None:
        self.attempts = attempts
        self._missing_logged = -MISSING_AGAIN
        self._url = url
        self._patience = patience
        self._connecting = min(CONNECTING, patience)
        self.on_stamp = on_stamp
        self.model: int | None = None
        """The schema of the live read model, when it was last looked up."""
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._free = asyncio.Semaphore(SIZE)
        self.shared = SharedReads(partial(fetch_text, self))
        self.queries = FairQueue(QUERIES, per_client=QUERIES_OF_ONE)
        """Turns of workspaces at reads that take longer than others."""

    async def fetch(self, statement: str, *parameters: Any) -> list[asyncpg.Record]:
        """All rows. Raises what the connection raises."""
        with _read_span(statement):
            async with self.acquire() as connection:
                return await connection.fetch(statement, *parameters)

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """A connection for one statement or several."""
        connection = await self._take()
        try:
            yield connection
        except (asyncpg.PostgresError, *REFUSALS):
            raise
        except BaseException:
            # The connection may still be busy with a statement.
            connection.terminate()
            raise
        finally:
            self._release(connection)

    def is_unavailable(self, error: Exception) -> bool:
        """Whether the error means that the read model is unavailable. A missing table may also be a
        fault of the statement, so it is logged with a traceback, at most once in MISSING_AGAIN."""
        if is_transient(error):
            return True
        if isinstance(error, asyncpg.UndefinedTableError):
            now = time.monotonic()
            if now - self._missing_logged >= MISSING_AGAIN:
                self._missing_logged = now
                text = getattr(error, "query", None) or ""
                _log.error("a table is missing", statement=_NAMES.get(text, text), exc_info=error)
        return isinstance(error, _LASTING)

    def expire(self) -> None:
        """Closes the idle connections: if one was lost, the others probably are too."""
        while self._idle:
            self._close(self._idle.pop())

    def close(self) -> None:
        for connection in self._open:
            connection.terminate()

    async def _take(self) -> Connection:
        # While the server cannot be reached, the queue must not grow without limit.
        async with asyncio.timeout(self._connecting):
            await self._free.acquire()
            try:
                while self._idle:
                    connection = self._idle.pop()
                    if not connection.is_closed():
                        return connection
                    self._close(connection)
                return await self._connect()
            except BaseException:
                self._free.release()
                raise

    async def _connect(self) -> Connection:
        connection = await connect(
            self._url,
            timeout=self._connecting,
            command_timeout=self._patience,
            server_settings={"plan_cache_mode": "force_generic_plan"},
        )
        self._open.add(connection)
        try:
            # asyncpg looks up array types when it first meets them. Within a transaction of several
            # statements that would keep 16 more locks until its end.
            await connection.fetch(_STATEMENTS["array_types"])
            if await is_distributed(connection):
                await connection.execute(_CUSTOM_PLANS)
        except BaseException:
            self._close(connection)
            raise
        return connection

    def _release(self, connection: Connection) -> None:
        # Opened before there was a read model, it may be set up for the wrong engine.
        if connection.is_closed() or not is_known(connection):
            self._close(connection)
        else:
            self._idle.append(connection)
        self._free.release()

    def _close(self, connection: Connection) -> None:
        connection.terminate()
        self._open.discard(connection)


@asynccontextmanager
async def open_pool(
    url: str, on_stamp: Callable[[int], None] = lambda _: None
) -> AsyncIterator[Pool]:
    """A pool with one open connection, so that a wrong URL fails at once."""
    pool = Pool(url, on_stamp)
    try:
        async with pool.acquire():
            pass
        yield pool
    finally:
        pool.close()


@asynccontextmanager
async def snapshot(pool: Pool) -> AsyncIterator[Connection]:
    """A connection whose statements all read from one snapshot. Raises ReadModelUnavailable, also
    at the end, if another read model has gone live: then discard what was read."""
    try:
        async with pool.acquire() as connection:
            model = await connection.fetchval(_MODEL)
            async with _snapshot(connection):
                yield connection
            if model != await connection.fetchval(_MODEL):
                raise ReadModelUnavailable
    except Exception as error:
        if pool.is_unavailable(error):
            raise ReadModelUnavailable from error
        raise


def _snapshot(connection: Connection) -> Transaction:
    return connection.transaction(isolation="repeatable_read", readonly=True)


async def at_one_moment(
    pool: Pool, workspace: str, read: Callable[[Connection], Awaitable[T]]
) -> T:
    """What several statements read at one moment, in a turn of the workspace; after a transient
    fault they are tried again.

    Each statement looks up its tables when it begins. If another read model has become the live
    one, they may be tables that were filled after the moment, so the statements are tried again.

    Raises ReadModelUnavailable, Overloaded, and what ``read`` refuses.
    """

    async def attempt() -> T:
        async with pool.acquire() as connection:
            while True:
                model = pool.model or await connection.fetchval(_MODEL)
                refusal: Exception | None = None
                try:
                    async with _snapshot(connection):
                        result = await read(connection)
                except REFUSALS as error:
                    refusal = error
                pool.model = await connection.fetchval(_MODEL)
                if pool.model != model:
                    continue
                if refusal is not None:
                    raise refusal
                return result

    with tracing.span("queries read_model", "client", _DATABASE):
        async with pool.queries.turn(workspace):
            return await _attempts(pool, attempt)


def _read_span(statement: str) -> tracing.Span:
    """Never with parameters."""
    span = tracing.span("SELECT read_model", "client", _DATABASE)
    if span is not tracing.NO_SPAN and (name := _NAMES.get(statement)):
        span.set("db.query.summary", name)
    return span


def fetch(pool: Pool, name: str, *parameters: Any) -> Coroutine[Any, Any, list[asyncpg.Record]]:
    """What the statement of this name returns. Raises ReadModelUnavailable."""
    return fetch_text(pool, _STATEMENTS[name], *parameters)


async def fetch_text(pool: Pool, statement: str, *parameters: Any) -> list[asyncpg.Record]:
    """Reads, and after a transient fault once more. Raises ReadModelUnavailable."""
    records = await _attempts(pool, lambda: pool.fetch(statement, *parameters))
    report_stamp(pool, records)
    return records


async def current_stamp(pool: Pool) -> int:
    """Reads and reports the checkpoint's stamp, for a read whose records have none, such as one of
    a type that does not exist. Raises ReadModelUnavailable."""
    [record] = await fetch(pool, "stamp")
    stamp: int = record["stamp"]
    return stamp


def report_stamp(pool: Pool, records: Sequence[asyncpg.Record]) -> None:
    """Reports the stamp of the checkpoint at which the records were read, if they have it."""
    if records and (stamp := records[0].get("stamp")) is not None:
        pool.on_stamp(stamp)


async def _attempts(pool: Pool, attempt: Callable[[], Awaitable[T]]) -> T:
    """Tries again after a transient fault. Raises ReadModelUnavailable."""
    left = pool.attempts
    while True:
        try:
            return await attempt()
        except Exception as error:
            left -= 1
            if left and is_transient(error):
                pool.expire()
            elif pool.is_unavailable(error):
                raise ReadModelUnavailable from error
            else:
                raise
