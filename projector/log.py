"""The log as projectors read it: decoded and verified to be complete."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from projector.checkpoint import Checkpoint
from projector.projection import RecordedEvent, Skipped
from read_side.schema import Workspaces
from write_side.domain.refusals import ExplainedError, count
from write_side.postgres.connection import Connection
from write_side.store import log_reader
from write_side.store.log_reader import StreamRange
from write_side.store.mapper import EventMapper, UndecodableEvent, UnknownTopic

BATCH = 1_000
"""Events. 2,000 are not projected faster, and a projector would keep 5 MiB more for them."""
BATCH_BYTES = 16 * 1024 * 1024


class Halted(ExplainedError):
    """The projector must not continue, because it would have to skip or invent rows. An operator
    must decide."""


class Gap(Halted):
    """Events are missing from the log."""


class Log:
    """The event store, read over one connection. Events of workspaces that are not among
    ``workspaces`` are ``Skipped``.

    ``exhausted``: whether the last read returned all that the log had then.
    """

    def __init__(self, connection: Connection, workspaces: Workspaces = None) -> None:
        self._connection = connection
        self._workspaces = workspaces
        self._mapper = EventMapper()
        self.exhausted = False

    async def read(self, after: int, limit: int = BATCH) -> list[RecordedEvent]:
        """The next events, decoded, up to about BATCH_BYTES of them.

        Raises Gap, and Halted at an event that cannot be read. Events before an unreadable one are
        returned first; the next read halts.
        """
        rows = await log_reader.batch(
            self._connection, after, limit, BATCH_BYTES, workspaces=self._workspaces
        )
        self.exhausted = len(rows) < limit and fits(rows)
        if not rows:
            return []
        check_contiguous(after, rows[0]["notification_id"], rows[-1]["notification_id"], len(rows))
        batch: list[RecordedEvent] = []
        for row in rows:
            try:
                batch.append(self._decoded(row))
            except Halted:
                self.exhausted = False
                if batch:
                    return batch
                raise
        return batch

    async def head(self) -> int:
        return await log_reader.head(self._connection)

    async def checkpoint_at(self, position: int) -> Checkpoint:
        row = await log_reader.event_at(self._connection, position)
        if row is None:
            return Checkpoint(position)
        return Checkpoint(position, row["originator_id"], row["originator_version"], row["at"])

    async def check(self, projected: Checkpoint) -> None:
        """Raises Halted if the checkpoint is not of this log: the log was restored to an earlier
        point, and positions were reused."""
        head = await self.head()
        if projected.position > head:
            raise Halted(
                f"the checkpoint is at {projected.position}, beyond the log's head {head}: the log "
                "was restored to an earlier point; rebuild the read model"
            )
        found = await self.checkpoint_at(projected.position)
        if projected.position and found != projected:
            raise Halted(
                f"position {projected.position} holds {found.event}, but the read model has "
                f"projected {projected.event}: the log was restored to an earlier point; "
                "rebuild the read model"
            )

    async def pages(
        self, streams: StreamRange, through: int, page_bytes: int
    ) -> AsyncIterator[list[RecordedEvent]]:
        """The events of a range of streams up to a position, stream by stream, in pages of about
        this many bytes. Raises Halted at an event that cannot be read."""
        async for rows in log_reader.pages(
            self._connection, streams, through, page_bytes, self._workspaces
        ):
            yield [self._decoded(row) for row in rows]

    def _decoded(self, row: Iterable[Any]) -> RecordedEvent:
        position, stream, version, topic, state, at = row
        if state is None:
            return RecordedEvent(position, stream, version, Skipped(at=at))
        try:
            event = self._mapper.decode(topic, state, at)
        except (UnknownTopic, UndecodableEvent) as error:
            raise Halted(f"at position {position}, stream {stream}: {error}") from error
        if self._workspaces is not None and event.workspace not in self._workspaces:
            event = Skipped(at=at)
        return RecordedEvent(position, stream, version, event)


def fits(rows: Iterable[Any]) -> bool:
    """Whether BATCH_BYTES cannot have cut the rows short. A character has up to four bytes."""
    return 4 * sum(len(row["state"] or "") for row in rows) < BATCH_BYTES


def check_contiguous(after: int, first: int, last: int, read: int) -> None:
    """Positions have no gaps, so the first, the last and the number of events that were read show
    whether one is missing. Raises Gap."""
    if first != after + 1 or read != last - first + 1:
        raise Gap(
            f"the log after position {after} has {count(read, 'event')} from {first} to {last}: "
            "events are missing"
        )


def check_complete(read: int, through: int) -> None:
    """Positions have no gaps, so the number of events up to a position equals it. Raises Gap."""
    if read != through:
        events = count(read, "event")
        raise Gap(f"the log up to position {through} has {events}: events are missing")
