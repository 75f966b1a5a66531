"""Catches up with the log and follows it while it is the active projector.

One projector is active for each read model: it holds a session lock on the connection that writes,
and the epoch it began fences off the one that was active before. The others stand by.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import structlog

from projector.background import update_chunk
from projector.checkpoint import Checkpoint, CheckpointConflict, begin_epoch
from projector.log import BATCH, Halted, Log
from projector.partitions import LivePartitions
from projector.postponed_words import PostponedWords
from projector.projection import Inconsistent, RecordedEvent
from projector.writer import Writer
from read_side.schema import ShapeMismatch, Workspaces, WorkspacesMismatch
from write_side import tracing
from write_side.postgres.connection import Connection, LockHolder, try_lock
from write_side.postgres.faults import FAULTS
from write_side.process_state import ProcessState
from write_side.waiting import cancel, wait_until_set

LOCK = 0x636C_6F67_0003
STANDBY = 0.25
POLL = 1.0
WORK_EVERY = 0.1
"""Seconds from events to the next step of background work, while more events keep arriving."""
FIRST_ANALYZE = 1_000
LAST_ANALYZE = 1_000_000
"""Projected events up to which statistics are renewed here. Later the tables grow so slowly that
PostgreSQL renews them soon enough."""
MOST_SPANS = 100
"""Traces of one batch that get a span."""
# No write becomes visible meanwhile. The default target reads ten times as many rows: at 1,000,000
# entries 25 s from disk, instead of 2.5 s.
_SAMPLE = "SET LOCAL default_statistics_target = 10"
# Plans made for empty tables are slow on large ones: 8 ms instead of 0.1 ms for one entry of 4,000.
# An import fills the tables in a second, but PostgreSQL checks only every minute.
_ANALYZE = """
ANALYZE entry, entry_value, entry_search, entry_locale, past_version, entry_count, locale_count,
        content_type, change"""
_BEAT = """
INSERT INTO projector.process (id, role) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET role = $2, heartbeat_at = now()"""
# The lock admits one active projector, and this is reported over the connection that has the lock:
# another active one was killed. Halts that others reported earlier are out of date.
_REPORT = """
WITH former AS (
    DELETE FROM projector.process WHERE role = 'active' AND id <> $1
), others AS (
    UPDATE projector.process SET halted = NULL
    WHERE role <> 'active' AND halted IS NOT NULL AND id <> $1
)
INSERT INTO projector.process (id, role, halted) VALUES ($1, 'active', $2)
ON CONFLICT (id) DO UPDATE SET role = 'active', halted = $2, heartbeat_at = now()"""
_REMOVE = "DELETE FROM projector.process WHERE id = $1"
# Processes that were killed could not remove their rows.
_REMOVE_DEAD = "DELETE FROM projector.process WHERE heartbeat_at < now() - interval '1 minute'"
_log = structlog.get_logger("projector")


class Heartbeat:
    """Reports what this projector does, in ``projector.process``, and then to ``state``."""

    def __init__(self, connection: Connection, projector_id: str, state: ProcessState) -> None:
        self._connection = connection
        self._id = projector_id
        self._state = state

    async def stand_by(self) -> None:
        await self._connection.execute(_BEAT, self._id, "standby")
        self._state.report("standby")

    async def take_over(self) -> None:
        """Reports this projector as active. The reason of an earlier halt is kept until a projector
        continues or halts."""
        await self._connection.execute(_BEAT, self._id, "active")
        if self._state.role != "halted":
            self._state.report("active")

    async def resume(self) -> None:
        await self._connection.execute(_REPORT, self._id, None)
        self._state.report("active")

    async def halt(self, reason: str) -> None:
        await self._connection.execute(_REPORT, self._id, reason)
        self._state.report("halted", reason)

    async def remove_dead(self) -> None:
        await self._connection.execute(_REMOVE_DEAD)

    async def remove(self) -> None:
        await self._connection.execute(_REMOVE, self._id)


class Follower:
    """One session of a projector: until one of its connections dies. ``workspaces``: those that the
    read model must hold.

    Raises Halted if it must not continue, and what the connections raise.
    """

    def __init__(
        self,
        store: Connection,
        model: Connection,
        heartbeat: Heartbeat,
        words: PostponedWords,
        workspaces: Workspaces,
    ) -> None:
        self._store = store
        self._model = model
        self._words = words
        self._workspaces = workspaces
        self._log = Log(store, workspaces)
        self._heartbeat = heartbeat
        self._holder = LockHolder(model, LOCK, _log)
        self._arrived = asyncio.Event()
        # Positions: of the last event that was announced, and of the last that was read.
        self._announced = self._read_through = 0
        self._beat_at = 0.0
        self._work_at = 0.0
        self._projected = 0
        self._next_analyze = 0

    async def run(self) -> None:
        await self._become_active()
        # Listen first, then pull, so that events appended in between are not missed.
        await self._store.add_listener("contentlog_event", self._on_event)
        while True:
            try:
                await self._follow()
            except CheckpointConflict:
                # This connection has the lock, so no other projector is active: a rebuild has
                # replaced the read model. Continue in the new one at once, because requests may be
                # waiting until their writes are visible.
                _log.info("another read model is live")

    async def _follow(self) -> None:
        epoch, checkpoint = await self._begin_epoch()
        await self._log.check(checkpoint)
        if not self._projected:
            # The projectors before this one have renewed the statistics.
            self._projected = checkpoint.position
            self._next_analyze = max(FIRST_ANALYZE, 2 * checkpoint.position)
        writer = Writer(self._model, epoch, words_can_wait=True)
        partitions = LivePartitions(self._model, epoch)
        has_work = True
        while True:
            checkpoint = await self._catch_up(writer, partitions, checkpoint)
            await self._beat(self._heartbeat.resume)
            if has_work or self._is_work_due():
                has_work = await self._work(writer, partitions)
            if not has_work:
                await self._wait(self._work_at - time.monotonic())

    async def _become_active(self) -> None:
        await self._heartbeat.remove_dead()
        while not await try_lock(self._model, LOCK):
            await self._beat(self._stand_by)
            await asyncio.sleep(STANDBY)
        await self._heartbeat.take_over()
        self._beat_at = 0.0

    async def _stand_by(self) -> None:
        """Ends the session of an active projector that is paused or cut off, because it holds the
        lock."""
        await self._heartbeat.stand_by()
        await self._holder.end_if_paused()

    async def _begin_epoch(self) -> tuple[int, Checkpoint]:
        try:
            epoch, checkpoint = await begin_epoch(self._model, self._workspaces)
        except ShapeMismatch as error:
            raise Halted(
                "the read model has a different shape than this version writes: rebuild it, or "
                "start the version that made it"
            ) from error
        except WorkspacesMismatch as error:
            raise Halted(str(error)) from error
        _log.info("the projector is active", epoch=epoch, position=checkpoint.position)
        return epoch, checkpoint

    async def _catch_up(
        self, writer: Writer, partitions: LivePartitions, checkpoint: Checkpoint
    ) -> Checkpoint:
        """Projects the events in the log. The next batch is read while one is written."""
        batch = await self._read(checkpoint.position)
        while batch:
            ahead = None
            if len(batch) == BATCH:
                ahead = asyncio.create_task(self._read_ahead(batch[-1].position))
            try:
                with _traced(batch):
                    checkpoint = await writer.write(batch, checkpoint)
                following = await ahead if ahead else None
            except Inconsistent as error:
                raise Halted(str(error)) from error
            finally:
                if ahead:
                    await cancel(ahead)
            self._work_at = min(self._work_at, time.monotonic() + WORK_EVERY)
            if following is None or checkpoint.position != batch[-1].position:
                following = await self._next_batch(writer, partitions, checkpoint)
            await self._analyze(len(batch))
            batch = following
            await self._beat(self._heartbeat.resume)
        return checkpoint

    async def _next_batch(
        self, writer: Writer, partitions: LivePartitions, checkpoint: Checkpoint
    ) -> list[RecordedEvent]:
        """The batch after the checkpoint; empty if the last read exhausted the log and nothing
        was announced since."""
        is_all = self._log.exhausted and checkpoint.position == self._read_through
        if is_all and self._announced <= self._read_through:
            return []
        if self._is_work_due():
            await self._work(writer, partitions)
        return await self._read(checkpoint.position)

    async def _read(self, after: int) -> list[RecordedEvent]:
        self._arrived.clear()
        batch = await self._log.read(after)
        if batch:
            self._read_through = batch[-1].position
            if self._announced <= self._read_through:
                self._arrived.clear()
        return batch

    async def _read_ahead(self, after: int) -> list[RecordedEvent] | None:
        """The next batch; None if it could not be read and must be read again."""
        try:
            return await self._read(after)
        except (Halted, *FAULTS):
            return None

    def _is_work_due(self) -> bool:
        return time.monotonic() >= self._work_at

    async def _work(self, writer: Writer, partitions: LivePartitions) -> bool:
        """Takes a step of the background work; whether there may be another."""
        await self._words.resume(self._model, writer.epoch)
        has_more = await update_chunk(self._model, writer.epoch, writer.search)
        has_more = has_more or await partitions.step()
        self._work_at = time.monotonic() + (WORK_EVERY if has_more else POLL)
        return has_more

    async def _analyze(self, projected: int) -> None:
        """Renews PostgreSQL's statistics each time the number of projected events has doubled."""
        self._projected += projected
        if self._next_analyze <= self._projected and self._next_analyze <= LAST_ANALYZE:
            self._next_analyze = 2 * self._projected
            async with self._model.transaction():
                await self._model.execute(_SAMPLE)
                await self._model.execute(_ANALYZE)

    async def _wait(self, seconds: float) -> None:
        """Waits at most this long for an event."""
        await wait_until_set(self._arrived, seconds)
        if self._store.is_closed():
            raise ConnectionError("the connection to the event store is lost")

    async def _beat(self, report: Callable[[], Awaitable[None]]) -> None:
        if time.monotonic() - self._beat_at >= POLL:
            await report()
            self._beat_at = time.monotonic()

    def _on_event(self, *notification: Any) -> None:
        """The payload is the position of the last event that was appended."""
        self._announced = max(self._announced, int(notification[-1]))
        if self._announced > self._read_through:
            self._arrived.set()


@contextmanager
def _traced(batch: list[RecordedEvent]) -> Iterator[None]:
    """A span in the trace of each request, since each waits for the whole batch (ADR 56)."""
    first: dict[str, RecordedEvent] = {}
    if tracing.tracer() is not None:
        for recorded in batch:
            context = recorded.event.traceparent
            if context is not None and len(first) < MOST_SPANS:
                first.setdefault(context, recorded)
    with ExitStack() as spans:
        for context, recorded in first.items():
            about: tracing.Attributes = {
                "contentlog.request_id": recorded.event.request_id or "",
                "contentlog.workspace": recorded.event.workspace,
                "contentlog.position": recorded.position,
                "contentlog.batch.events": len(batch),
            }
            spans.enter_context(tracing.shared([context], "project", "consumer", about))
        yield
