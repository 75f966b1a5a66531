"""The coalescing appender: appends that arrive while a call is in flight share the next call.

It has its own connection and no timer: an append that finds the connection idle is sent alone and
at once.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import asyncpg
import structlog
from eventsourcing.persistence import StoredEvent

from write_side import tracing
from write_side.postgres.connection import Connection, is_transient
from write_side.postgres.faults import FAULTS
from write_side.store.append import Append, Appended, Outcome, outcomes, parameters
from write_side.store.conflicts import REFUSED, StaleAppend, StoreUnavailable, conflict

MAX_COMMANDS = 256
MAX_BYTES = 4_000_000
SECONDS_PER_EVENT = 0.01
CLEARING = 5.0
CLOSING = 1.0
"""Seconds that the appends in progress have to finish when the appender is closed."""

_APPEND = """
SELECT n, outcome, detail FROM write_side.append($1, $2, $3, $4, $5, $6, $7, $8)"""

_CALL: tracing.Attributes = {
    "db.system.name": "postgresql",
    "db.stored_procedure.name": "write_side.append",
}

_STAGED_COLUMNS = ("batch", "n", "originator_id", "originator_version", "topic", "state")
_CLEAR = "DELETE FROM write_side.staged_event WHERE batch = $1"

Connect = Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]
_log = structlog.get_logger("write_side.appender")


class _Waiting:
    """An append and the future that waits for its outcome. ``context``: of its span; ``sent_in``:
    of the span of the call that it was last sent in."""

    __slots__ = ("append", "context", "future", "names", "sent_in", "size")

    def __init__(self, append: Append) -> None:
        self.append = append
        self.context = tracing.context()
        self.sent_in: str | None = None
        self.names: set[object] = {append.command_key}
        """Two appends that share a name cannot be in one call."""
        self.names.update(event.originator_id for event in append.events)
        for claim in append.claims:
            slug = (claim.scope, claim.content_type_id, claim.language, claim.slug)
            self.names.update((claim.entry_id, slug))
        self.size = sum(len(event.state) for event in append.events)
        self.future: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()

    def answer(self, outcome: Appended | Exception) -> None:
        if self.future.done():
            return
        if isinstance(outcome, Appended):
            self.future.set_result(outcome)
        else:
            self.future.set_exception(outcome)


class Appender:
    """Appends over one connection, reconnecting and sending again while ``patience`` lasts.

    ``patience``: seconds. One attempt may take half of it, and 10 ms for each event, which leaves
    time for a second attempt when a connection stops responding. While PostgreSQL is unavailable,
    StoreUnavailable is raised after at most twice the patience, and slightly later for a large
    append.
    """

    def __init__(self, connect: Connect, *, patience: float = 10.0) -> None:
        self._connect = connect
        self._patience = patience
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._waiting: list[_Waiting] = []
        self._running: asyncio.Task[None] | None = None
        self._closed = False

    async def append(self, append: Append) -> Appended:
        """Appends the command's events. Raises a Conflict or StoreUnavailable.

        A PostgresError means that PostgreSQL cannot store what was sent. The append continues if
        the caller is cancelled, because its events may already be in the log.
        """
        if self._closed:
            raise StoreUnavailable("The event store is closed")
        with tracing.span("append", attributes={"contentlog.events": len(append.events)}) as span:
            waiting = _Waiting(append)
            self._waiting.append(waiting)
            if self._running is None or self._running.done():
                # It outlives the request that starts it, and its span.
                self._running = asyncio.create_task(
                    self._run(), name="appender", context=contextvars.Context()
                )
            try:
                return await asyncio.shield(waiting.future)
            finally:
                span.link(waiting.sent_in)

    def refuse(self) -> None:
        """Accepts no more appends; those in progress are finished."""
        self._closed = True

    async def close(self) -> None:
        """Gives the appends in progress CLOSING seconds, then closes the connection. Slower ones
        fail with StoreUnavailable, although PostgreSQL may still commit them."""
        self.refuse()
        if self._running is None:
            return
        _, silent = await asyncio.wait([self._running], timeout=CLOSING)
        self._disconnect()
        if silent:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _run(self) -> None:
        """Sends the waiting appends, and those that arrive meanwhile."""
        try:
            while self._waiting:
                try:
                    await self._settle(_together(self._waiting))
                except StoreUnavailable as error:
                    # The others have waited as long and would wait as long again.
                    self._answer_all(error)
                self._waiting = [one for one in self._waiting if not one.future.done()]
        except BaseException:
            self._disconnect()
            # No caller may wait forever, regardless of how this task ended.
            self._answer_all(StoreUnavailable("The appender was stopped"))
            raise

    def _answer_all(self, error: StoreUnavailable) -> None:
        for waiting in self._waiting:
            waiting.answer(error)

    async def _settle(self, batch: Sequence[_Waiting]) -> None:
        """Gives every append of the batch its outcome. Raises StoreUnavailable."""
        try:
            # In the trace of the first append, and linked to those of the others.
            contexts = [waiting.context for waiting in batch]
            about = {**_CALL, "db.operation.batch.size": len(batch)}
            with tracing.shared(contexts, "write_side.append", "client", about) as span:
                for waiting in batch:
                    waiting.sent_in = span.context
                outcomes = await self._send([waiting.append for waiting in batch])
        except StoreUnavailable:
            raise
        except Exception as error:
            if len(batch) == 1:
                batch[0].answer(error)
                return
            # One of them failed or lost a race for its stream: send each alone.
            for waiting in batch:
                await self._settle([waiting])
            return
        for waiting, outcome in zip(batch, outcomes, strict=True):
            waiting.answer(outcome)

    async def _send(self, appends: Sequence[Append]) -> list[Outcome]:
        """Sends until PostgreSQL responds; command keys make it safe to send again."""
        deadline = time.monotonic() + self._patience
        pause, check_streams = 0.01, False
        while True:
            try:
                return await self._call(appends, check_streams=check_streams)
            except asyncpg.UniqueViolationError as error:
                if check_streams:
                    raise StaleAppend from error
                # A stream that was expected to be new exists: let the append check the streams.
                check_streams = True
                continue
            except asyncpg.PostgresError as error:
                if error.sqlstate == REFUSED:
                    raise conflict(str(error.args[0]), error.detail or "") from None
                if not is_transient(error):
                    raise
                fault: Exception = error
            except Exception as error:
                if not is_transient(error):
                    raise
                fault = error
            self._disconnect()
            if time.monotonic() + pause > deadline:
                raise StoreUnavailable(f"The event store does not respond: {fault!r}") from fault
            _log.warning("append is sent again", commands=len(appends), fault=repr(fault))
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)

    async def _call(self, appends: Sequence[Append], *, check_streams: bool) -> list[Outcome]:
        if self._connection is None or self._connection.is_closed():
            async with asyncio.timeout(self._patience / 2):
                self._connection = await self._connect()
        timeout = self._patience / 2 + SECONDS_PER_EVENT * sum(len(a.events) for a in appends)
        if not appends[0].is_large:
            sent = parameters(appends, check_streams=check_streams)
            rows = await self._connection.fetch(_APPEND, *sent, timeout=timeout)
            return outcomes(appends, rows)
        async with staged(self._connection, appends[0].events, timeout) as batch:
            sent = parameters(appends, check_streams=check_streams, batch=batch)
            rows = await self._connection.fetch(_APPEND, *sent, timeout=timeout)
        return outcomes(appends, rows)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()


def _together(waiting: Sequence[_Waiting]) -> list[_Waiting]:
    """The appends that can share a call: the first, and all that are compatible with it."""
    first, *others = waiting
    if not first.append.coalescable:
        return [first]
    batch, names, size = [first], set(first.names), first.size
    for other in others:
        if len(batch) == MAX_COMMANDS or size + other.size > MAX_BYTES:
            break
        if other.append.coalescable and names.isdisjoint(other.names):
            batch.append(other)
            size += other.size
        # A postponed append keeps its names, so that no other append overtakes it.
        names |= other.names
    return batch


@asynccontextmanager
async def staged(
    connection: Connection, events: Sequence[StoredEvent], timeout: float
) -> AsyncIterator[str]:
    """Writes the events to ``write_side.staged_event`` until the append is done. Yields their
    batch.

    The append copies them from there while it holds the head, for which all other writers wait; it
    need not receive or compress them then. If the process dies, retention deletes them.
    """
    batch = uuid.uuid4()
    records = (
        (batch, n, event.originator_id, event.originator_version, event.topic, event.state.decode())
        for n, event in enumerate(events, 1)
    )
    await connection.copy_records_to_table(
        "staged_event",
        schema_name="write_side",
        columns=_STAGED_COLUMNS,
        records=records,
        timeout=timeout,
    )
    try:
        yield str(batch)
    except asyncpg.PostgresError:
        await _clear(connection, batch)
        raise
    await _clear(connection, batch)


async def _clear(connection: Connection, batch: uuid.UUID) -> None:
    """A failure does not matter, because the append's outcome is known and retention deletes the
    rest."""
    with suppress(*FAULTS):
        await connection.execute(_CLEAR, batch, timeout=CLEARING)
