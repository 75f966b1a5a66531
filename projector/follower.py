"""Catches up with the log and follows it, while it is this projector's turn.

One projector is active for each read model: it holds a session lock on the very connection that
writes, and the epoch it began fences off any that was active before. The others stand by.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import structlog

from projector.checkpoint import Checkpoint, Fenced
from projector.log import BATCH, Halted, Log
from projector.presence import Presence
from projector.projection import Inconsistent, Recorded
from projector.rendering import render_some
from projector.statistics import Statistics
from projector.writer import Writer
from read_side.schema import SHAPE
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

LOCK = 0x636C_6F67_0003
STANDBY = 0.25
POLL = 1.0
PAUSED = 5.0
"""Seconds without a word from the active projector, after which its session is ended."""
# Renderings get a turn this often while the stream of events does not end.
TURN = 0.1
_TRY_LOCK = "SELECT pg_try_advisory_lock($1)"
_log = structlog.get_logger("projector")


class Follower:
    """One life of a projector: from its connections' first use until one of them dies.

    Raises Halted where it must not go on, and whatever the connections raise; a new life begins
    with new connections.
    """

    def __init__(self, store: Connection, model: Connection, log: Log, presence: Presence) -> None:
        self._store = store
        self._model = model
        self._log = log
        self._presence = presence
        self._statistics = Statistics(model)
        self._arrived = asyncio.Event()
        self._beaten = 0.0
        self._rendered = 0.0

    async def run(self) -> None:
        await self._become_active()
        # Listen first, then pull: what is appended between the two is not missed.
        await self._store.add_listener("contentlog_event", self._on_event)
        while True:
            try:
                await self._follow()
            except Fenced:
                # The lock is on our connection, so nobody else is active: a rebuild has put
                # another read model in the place of the one we wrote. Those who wait for what
                # they wrote must not wait for more than this.
                _log.info("another read model is live")

    async def _follow(self) -> None:
        epoch, checkpoint = await self._begin_epoch()
        await self._log.check(checkpoint)
        writer = Writer(self._model, epoch)
        while True:
            self._arrived.clear()
            checkpoint = await self._catch_up(writer, checkpoint)
            await self._beat(self._presence.go_on)
            if await render_some(self._model, epoch):
                continue
            await self._wait()

    async def _become_active(self) -> None:
        await self._presence.forget_the_dead()
        while not await self._model.fetchval(_TRY_LOCK, LOCK):
            await self._beat(self._stand_by)
            await asyncio.sleep(STANDBY)
        await self._presence.take_over()
        self._beaten = 0.0

    async def _stand_by(self) -> None:
        """One that is paused, or whose machine is gone, holds its session and so the lock."""
        await self._presence.stand_by()
        if await self._model.fetch(
            statement("projector", "end_paused"), LOCK >> 32, LOCK & 0xFFFFFFFF, PAUSED
        ):
            _log.warning("the active projector was silent: its session is ended")

    async def _begin_epoch(self) -> tuple[int, Checkpoint]:
        row = await self._model.fetchrow(statement("projector", "begin_epoch"))
        assert row is not None
        if row["shape"] != SHAPE:
            raise Halted(
                "the read model has another shape than this code writes: rebuild it, or start the "
                "version that made it"
            )
        checkpoint = Checkpoint.of(row)
        _log.info("active", epoch=row["epoch"], position=checkpoint.position)
        return row["epoch"], checkpoint

    async def _catch_up(self, writer: Writer, checkpoint: Checkpoint) -> Checkpoint:
        """Project all there is. The next batch is read while one is written."""
        batch = await self._log.read(checkpoint.position)
        while batch:
            coming = self._read_ahead(batch)
            try:
                checkpoint = await writer.write(batch, checkpoint)
            except Inconsistent as error:
                raise Halted(str(error)) from error
            finally:
                following = await _settled(coming)
            if following is None or checkpoint.position != batch[-1].position:
                await self._render_in_turn(writer.epoch)
                following = await self._log.read(checkpoint.position)
            await self._statistics.grew(len(batch))
            batch = following
            await self._beat(self._presence.go_on)
        return checkpoint

    def _read_ahead(self, batch: list[Recorded]) -> asyncio.Task[list[Recorded]] | None:
        if len(batch) < BATCH:
            return None
        return asyncio.create_task(self._log.read(batch[-1].position))

    async def _render_in_turn(self, epoch: int) -> None:
        if time.monotonic() - self._rendered >= TURN:
            await render_some(self._model, epoch)
            self._rendered = time.monotonic()

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            # Never wait_for: in Python 3.11 it may swallow being told to stop.
            async with asyncio.timeout(POLL):
                await self._arrived.wait()
        # A dead listening connection hears nothing: asking it something tells.
        if self._store.is_closed():
            raise ConnectionError("the connection to the event store is lost")

    async def _beat(self, say: Callable[[], Awaitable[None]]) -> None:
        if time.monotonic() - self._beaten >= POLL:
            await say()
            self._beaten = time.monotonic()

    def _on_event(self, *_notification: Any) -> None:
        self._arrived.set()


async def _settled(coming: asyncio.Task[list[Recorded]] | None) -> list[Recorded] | None:
    """What was read ahead; None where nothing was, or where reading it must be tried again."""
    if coming is None:
        return None
    try:
        return await coming
    except (Halted, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return None
