"""The coalescing appender: appends that arrive while one is in flight go together in the next.

It holds a connection of its own. Nobody waits for a timer: an append that finds the connection
idle goes alone and at once; under load a call carries what has gathered meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import asyncpg
import structlog

from write_side.store.append import Append, Appended, parameters
from write_side.store.conflicts import (
    REFUSED,
    Conflict,
    StaleAppend,
    StoreUnavailable,
    conflict,
    passes,
)
from write_side.store.staging import staged

MAX_COMMANDS = 256
MAX_BYTES = 4_000_000
SECONDS_AN_EVENT = 0.01

_APPEND = """
SELECT n, outcome, detail FROM write_side.append($1, $2, $3, $4, $5, $6, $7, $8)"""

Connect = Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]
Outcome = Appended | Conflict
_log = structlog.get_logger("write_side.appender")


class _Waiting:
    """An append and who waits for its outcome."""

    __slots__ = ("append", "future", "names", "size")

    def __init__(self, append: Append) -> None:
        self.append = append
        self.names = append.names()
        self.size = append.size
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

    ``patience``: seconds. One try may take half of it, and 10 ms for each event, so that a
    connection that has gone dumb is given up in time for another. Where PostgreSQL stays away,
    StoreUnavailable comes after no more than twice the patience, and a little for a large append.
    """

    def __init__(self, connect: Connect, *, patience: float = 10.0) -> None:
        self._connect = connect
        self._patience = patience
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._waiting: list[_Waiting] = []
        self._arrived = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._closed = False

    async def append(self, append: Append) -> Appended:
        """Append the command's events, or raise a Conflict or StoreUnavailable.

        A PostgresError says that PostgreSQL cannot take what was sent. It goes on where the caller
        is cancelled: what was asked for may be in the log already.
        """
        if self._closed:
            raise StoreUnavailable("The event store is closed")
        waiting = _Waiting(append)
        self._waiting.append(waiting)
        self._arrived.set()
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run(), name="appender")
        return await asyncio.shield(waiting.future)

    def refuse(self) -> None:
        """Take nothing more; what is under way is finished."""
        self._closed = True
        self._arrived.set()

    async def close(self) -> None:
        """Finish what is under way, then let go of the connection."""
        self.refuse()
        if self._running is not None:
            await asyncio.wait([self._running])

    async def _run(self) -> None:
        try:
            while self._waiting or not self._closed:
                await self._arrived.wait()
                await self._take_turn()
        finally:
            self._disconnect()
            # Whatever has ended this task, nobody waits for ever.
            self._answer_all(StoreUnavailable("The appender was stopped"))

    async def _take_turn(self) -> None:
        """Settle those that go together now."""
        if self._waiting:
            try:
                await self._settle(_together(self._waiting))
            except StoreUnavailable as error:
                # Who waits behind has waited as long, and would wait as long again.
                self._answer_all(error)
        self._waiting = [waiting for waiting in self._waiting if not waiting.future.done()]
        if not self._waiting:
            self._arrived.clear()

    def _answer_all(self, error: StoreUnavailable) -> None:
        for waiting in self._waiting:
            waiting.answer(error)

    async def _settle(self, batch: Sequence[_Waiting]) -> None:
        """Give every append of the batch its outcome. Raises StoreUnavailable."""
        try:
            outcomes = await self._send([waiting.append for waiting in batch])
        except StoreUnavailable:
            raise
        except Exception as error:
            if len(batch) == 1:
                batch[0].answer(error)
                return
            # One of them is at fault, or lost a race for its stream: each is tried alone.
            for waiting in batch:
                await self._settle([waiting])
            return
        for waiting, outcome in zip(batch, outcomes, strict=True):
            waiting.answer(outcome)

    async def _send(self, appends: Sequence[Append]) -> list[Outcome]:
        """Send until PostgreSQL answers: the command keys make sending again harmless."""
        deadline = time.monotonic() + self._patience
        pause, check_streams = 0.01, False
        while True:
            try:
                return await self._call(appends, check_streams=check_streams)
            except asyncpg.UniqueViolationError as error:
                if check_streams:
                    raise StaleAppend from error
                # A stream is taken that was thought to be new: let the append say whose.
                check_streams = True
                continue
            except asyncpg.PostgresError as error:
                if error.sqlstate == REFUSED:
                    raise _refusal(error) from None
                if not passes(error):
                    raise
                fault: Exception = error
            except Exception as error:
                if not passes(error):
                    raise
                fault = error
            self._disconnect()
            if time.monotonic() + pause > deadline:
                raise StoreUnavailable(f"The event store does not answer: {fault!r}") from fault
            _log.warning("append is sent again", commands=len(appends), fault=repr(fault))
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)

    async def _call(self, appends: Sequence[Append], *, check_streams: bool) -> list[Outcome]:
        if self._connection is None or self._connection.is_closed():
            async with asyncio.timeout(self._patience / 2):
                self._connection = await self._connect()
        timeout = self._patience / 2 + SECONDS_AN_EVENT * sum(len(a.events) for a in appends)
        if not appends[0].apart:
            sent = parameters(appends, check_streams=check_streams)
            rows = await self._connection.fetch(_APPEND, *sent, timeout=timeout)
            return _outcomes(appends, rows)
        async with staged(self._connection, appends[0].events, timeout) as batch:
            sent = parameters(appends, check_streams=check_streams, batch=batch)
            rows = await self._connection.fetch(_APPEND, *sent, timeout=timeout)
        return _outcomes(appends, rows)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()


def _together(waiting: Sequence[_Waiting]) -> list[_Waiting]:
    """The appends that can go in one call: the first, and all that go well with it."""
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
        # One that stays behind keeps its names, so that nothing overtakes it.
        names |= other.names
    return batch


def _outcomes(appends: Sequence[Append], rows: Iterable[Any]) -> list[Outcome]:
    """The outcome of each command, from the rows (n, outcome, detail) of ``write_side.append``."""
    others: dict[int, Outcome] = {}
    position: int | None = None
    for n, outcome, detail in rows:
        if outcome == "first":
            position = int(detail)
        elif outcome == "replayed":
            others[n] = _replayed(detail)
        else:
            others[n] = conflict(outcome, detail)
    outcomes: list[Outcome] = []
    for n, append in enumerate(appends, 1):
        if n in others:
            outcomes.append(others[n])
        else:
            assert position is not None, "write_side.append says nothing of a command"
            outcomes.append(Appended(position, len(append.events)))
            position += len(append.events)
    return outcomes


def _replayed(detail: str) -> Appended:
    position, events, digest = detail.split(":")
    return Appended(int(position), int(events), replayed=True, digest=bytes.fromhex(digest))


def _refusal(error: asyncpg.PostgresError) -> Conflict:
    return conflict(str(error.args[0]), getattr(error, "detail", None) or "")
