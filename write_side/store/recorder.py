"""The recorder: appends events and reads them by stream and by position.

The rows have the columns of the eventsourcing library, whose own test cases for recorders pass here
(``tests/integration/write_side/library_recorder.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, TypeAlias

import asyncpg
from msgspec import Struct

from write_side import tracing
from write_side.fair_queue import FairQueue
from write_side.postgres.connection import Connection, connect, is_transient
from write_side.postgres.pooler import PoolerUrl
from write_side.postgres.statements import statement
from write_side.store.append import Append, Appended
from write_side.store.appender import Appender, Connect
from write_side.store.conflicts import StoreUnavailable
from write_side.store.log_reader import HEAD

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"

STREAM = """
SELECT topic, state, at FROM write_side.event
WHERE originator_id = $1 ORDER BY originator_version"""
_STREAMS = """
SELECT originator_id, topic, state, at FROM write_side.event
WHERE originator_id = ANY ($1) ORDER BY originator_id, originator_version"""
_LOG = """
SELECT notification_id, originator_id, originator_version, topic, state, at
FROM write_side.event
WHERE notification_id > $1 ORDER BY notification_id LIMIT $2"""
_COMMAND = """
SELECT notification_id, events, event.at, digest
FROM write_side.command JOIN write_side.event USING (originator_id, originator_version)
WHERE key = $1 AND (command.at > now() - write_side.command_lifetime() OR key LIKE 'import/%')"""
_TRACEPARENT = """
SELECT state::json ->> 'traceparent' AS traceparent FROM write_side.event
WHERE notification_id = $1"""
_LAG = """
SELECT position AS head, coalesce(extract(epoch FROM clock_timestamp() - (
    SELECT at FROM write_side.event
    WHERE notification_id > $1 ORDER BY notification_id LIMIT 1
)), 0)::float8 AS seconds FROM write_side.head"""
_TIME = """
SELECT greatest(at, write_side.clock()) AS time FROM write_side.head"""
# An append locks the table before it reads the clock, and keeps the lock until it is committed.
# Times never go back, so once a later event is committed, no other can be of this time.
_IS_APPENDING = """
SELECT at <= $1 AND EXISTS (
    SELECT FROM pg_locks
    WHERE relation = 'write_side.head'::regclass AND mode = 'RowExclusiveLock' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
) AS is_appending FROM write_side.head"""
# A binary search: positions have no gaps. Each step reads one event by its key.
_POSITION_AT = """
WITH RECURSIVE search AS (
    SELECT 0::bigint AS low, position + 1 AS high FROM write_side.head
    UNION ALL
    SELECT CASE WHEN is_past THEN middle ELSE low END, CASE WHEN is_past THEN high ELSE middle END
    FROM (SELECT low, high, (low + high) / 2 AS middle FROM search WHERE high - low > 1) halves
    CROSS JOIN LATERAL (
        SELECT at <= $1 AS is_past FROM write_side.event WHERE notification_id = middle OFFSET 0
    ) event
)
SELECT max(low) AS position FROM search"""
PATIENCE = 10.0
"""Seconds for a read, far more than any takes; for a server that stops responding."""
LONG_READS = 2
"""Long streams that are read at a time, each of a different workspace, so that updates need not
wait for a connection and few pages are in memory."""
CONNECTING = 5.0
"""Seconds to wait for a connection of the pool, including the time to open it."""


class Lag(Struct, frozen=True):
    """The number of ``events`` not read yet, and the age in ``seconds`` of the oldest of them."""

    head: int
    events: int
    seconds: float


_DATABASE: tracing.Attributes = {"db.system.name": "postgresql", "db.namespace": "write_side"}
CLOSING = 1.0
"""Seconds for the connections of the pool to close normally."""


@asynccontextmanager
async def open_recorder(url: str, *, connections: int = 10) -> AsyncIterator[Recorder]:
    """A recorder on the event store at a PostgreSQL URL, with a pool and the appender's
    connections."""
    async with asyncpg.create_pool(
        url,
        min_size=1,
        max_size=connections,
        command_timeout=PATIENCE,
        connect=connect,
        reset=_keep_session if isinstance(url, PoolerUrl) else None,
    ) as pool:
        recorder = Recorder(pool, lambda: connect(url))
        try:
            yield recorder
        finally:
            await asyncio.gather(recorder.close(), _close(pool))


async def _close(pool: Pool) -> None:
    try:
        async with asyncio.timeout(CLOSING):
            await pool.close()
    except TimeoutError:
        pool.terminate()  # the database has fallen silent


async def _keep_session(_connection: Connection) -> None:
    """Through a pooler there is no session to reset, and a reset would be one more transaction."""


class Recorder:
    """Appends events and reads them back. Safe for any number of tasks of one event loop."""

    def __init__(self, pool: Pool, connect: Connect) -> None:
        self.pool = pool
        self._appender = Appender(connect)
        # Here a small append never waits for a large one.
        self._large_appender = Appender(connect)
        self.long_reads = FairQueue(LONG_READS)

    async def append(self, append: Append) -> Appended:
        """Appends all events of a command. Raises Conflict or StoreUnavailable."""
        return await (self._large_appender if append.is_large else self._appender).append(append)

    async def appended(self, command_key: str) -> Appended | None:
        """The place of a command's events, if they are in the log. None does not mean that they
        will not be; only sending the command again shows that."""
        for row in await self.fetch(_COMMAND, command_key):
            return Appended(
                row["notification_id"],
                row["events"],
                row["at"],
                replayed=True,
                digest=row["digest"],
            )
        return None

    async def traceparent(self, position: int) -> str | None:
        """The trace context of the request that the event at the position came from."""
        rows = await self.fetch(_TRACEPARENT, position)
        return rows[0]["traceparent"] if rows else None

    async def close(self) -> None:
        """Gives the appends in progress a second to finish; later ones raise StoreUnavailable."""
        self._appender.refuse()
        self._large_appender.refuse()
        await asyncio.gather(self._appender.close(), self._large_appender.close())

    async def select_events(self, stream: str) -> list[asyncpg.Record]:
        """The events of a stream (topic, state, at), by version."""
        return await self.fetch(STREAM, stream)

    async def select_streams(self, streams: Iterable[str]) -> dict[str, list[asyncpg.Record]]:
        """The events of several streams at once, by stream."""
        found: dict[str, list[asyncpg.Record]] = {}
        for row in await self.fetch(_STREAMS, list(streams)):
            found.setdefault(row["originator_id"], []).append(row)
        return found

    async def log(self, after: int, limit: int) -> list[asyncpg.Record]:
        """Rows (notification_id, originator_id, originator_version, topic, state, at) of the log,
        by position, which is the order of their commits."""
        return await self.fetch(_LOG, after, limit)

    async def head(self) -> int:
        """The position of the last event; 0 if there is none."""
        rows = await self.fetch(HEAD)
        return int(rows[0]["position"])

    async def time(self) -> datetime:
        """The time that an event would get now."""
        [row] = await self.fetch(_TIME)
        time: datetime = row["time"]
        return time

    async def is_appending(self, at: datetime) -> bool:
        """Whether an append in progress may add events up to this time: events get their time
        before they can be read."""
        [row] = await self.fetch(_IS_APPENDING, at)
        return bool(row["is_appending"])

    async def position_at(self, at: datetime) -> int:
        """The position of the last event up to this time, or 0. Time never goes back in the log."""
        [row] = await self.fetch(_POSITION_AT, at)
        return int(row["position"])

    async def lag(self, position: int) -> Lag:
        """The lag of a reader that has read up to the position."""
        [row] = await self.fetch(_LAG, position)
        return Lag(row["head"], max(0, row["head"] - position), max(0.0, row["seconds"]))

    async def size(self) -> int:
        """Bytes of the event store, including indexes."""
        [row] = await self.fetch(statement("write_side", "schema_size"), "write_side")
        return int(row["bytes"])

    async def fetch(self, statement: str, *parameters: Any) -> list[asyncpg.Record]:
        """Reads with the pool, and once more over a new connection if the first was dead.

        Raises StoreUnavailable if that fails too.
        """
        try:
            return await self._fetch(statement, *parameters)
        except Exception as error:
            if not is_transient(error):
                raise
        # An event that ended one connection, such as a restart, usually ended the idle ones as
        # well.
        await self.pool.expire_connections()
        try:
            return await self._fetch(statement, *parameters)
        except Exception as error:
            if not is_transient(error):
                raise
            raise StoreUnavailable(f"The event store does not respond: {error!r}") from error

    async def _fetch(self, statement: str, *parameters: Any) -> list[asyncpg.Record]:
        async with self.pool.acquire(timeout=CONNECTING) as connection:
            try:
                with tracing.span("SELECT write_side", "client", _DATABASE):
                    return await connection.fetch(statement, *parameters)
            except (asyncio.CancelledError, TimeoutError):
                # The pool would ask a possibly unreachable server to cancel the statement, and wait
                # as long again.
                connection.terminate()
                raise
