"""Reads the log in batches, and proves that a batch is all there is between two positions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from projector.checkpoint import Checkpoint
from projector.projection import Recorded
from write_side.postgres.connection import Connection
from write_side.store.mapper import EventMapper, UndecodableEvent, UnknownTopic
from write_side.store.streams import Range, range_pages

BATCH = 2_000
BATCH_BYTES = 16 * 1024 * 1024

# The first of a batch is read whatever its size: before it, there is nothing.
_LOG = """
SELECT notification_id, originator_id, originator_version, topic, state FROM (
    SELECT *, sum(octet_length(state)) OVER (ORDER BY notification_id ROWS UNBOUNDED PRECEDING)
              - octet_length(state) AS bytes_before
    FROM (
        SELECT notification_id, originator_id, originator_version, topic, state
        FROM write_side.event WHERE notification_id > $1 ORDER BY notification_id LIMIT $2
    ) AS coming
) AS sized WHERE bytes_before < $3 ORDER BY notification_id"""
_HEAD = "SELECT position FROM write_side.head"
_AT = """
SELECT (SELECT position FROM write_side.head) AS head, originator_id, originator_version,
       topic, state
FROM (SELECT 1) AS one LEFT JOIN write_side.event ON notification_id = $1"""


class Halted(Exception):
    """The projector must not go on: what it would skip or invent is for a person to decide."""


class Gap(Halted):
    """The log is not gapless where positions say it must be."""


class Log:
    """The event store, read over one connection."""

    def __init__(self, connection: Connection, mapper: EventMapper) -> None:
        self._connection = connection
        self._mapper = mapper

    async def read(self, after: int, limit: int = BATCH) -> list[Recorded]:
        """The next events, decoded, up to about BATCH_BYTES of them: rows are made in memory.

        Raises Gap, and Halted at an event that cannot be read.
        What precedes an unreadable event is returned first: the halt comes with the next read.
        """
        rows = await self._connection.fetch(_LOG, after, limit, BATCH_BYTES)
        if not rows:
            return []
        prove_contiguous(
            after, [rows[0]["notification_id"], rows[-1]["notification_id"]], len(rows)
        )
        batch: list[Recorded] = []
        for row in rows:
            try:
                batch.append(decoded(self._mapper, row))
            except Halted:
                if batch:
                    return batch
                raise
        return batch

    async def head(self) -> int:
        return int(await self._connection.fetchval(_HEAD))

    async def checkpoint_at(self, position: int) -> Checkpoint:
        """The checkpoint of who has projected just so far."""
        return (await self._at(position))[1]

    async def check(self, projected: Checkpoint) -> None:
        """Raises Halted where the checkpoint is not of this log: it was restored to an earlier
        point, and positions are used again."""
        head, found = await self._at(projected.position)
        if projected.position > head:
            raise Halted(
                f"the checkpoint is at {projected.position}, beyond the log's head {head}: the log "
                "was restored to an earlier point; rebuild the read model"
            )
        if projected.position and found != projected:
            raise Halted(
                f"position {projected.position} holds {_told(found)}, where the read model has "
                f"projected {_told(projected)}: the log was restored to an earlier point; "
                "rebuild the read model"
            )

    async def _at(self, position: int) -> tuple[int, Checkpoint]:
        """The head, and who has projected just so far. Raises Halted at an unreadable event."""
        row = await self._connection.fetchrow(_AT, position)
        assert row is not None
        head, *event = row
        if event[0] is None:
            return head, Checkpoint(position)
        recorded = decoded(self._mapper, (position, *event))
        return head, Checkpoint(position, recorded.stream, recorded.version, recorded.event.at)


def _told(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.stream} version {checkpoint.version} of {checkpoint.at}"


def decoded(mapper: EventMapper, row: Iterable[Any]) -> Recorded:
    """The event of a row: its position, stream, version, topic and state. Raises Halted."""
    position, stream, version, topic, state = row
    try:
        return Recorded(position, stream, version, mapper.decode(topic, state))
    except (UnknownTopic, UndecodableEvent) as error:
        raise Halted(f"at position {position}, stream {stream}: {error}") from error


def prove_contiguous(after: int, ends: list[int], count: int) -> None:
    """The log is gapless, so first, last and number tell whether anything is missing."""
    first, last = ends
    if first != after + 1 or count != last - first + 1:
        raise Gap(
            f"the log after position {after} gave {count} events from {first} to {last}: "
            "events are missing"
        )


def prove_whole(read: int, through: int) -> None:
    """The log is gapless: from its first event to a position there are as many as the position
    says. Raises Gap."""
    if read != through:
        raise Gap(f"the log up to position {through} gave {read} events: they must be as many")


async def pages(
    store: Connection, mapper: EventMapper, streams: Range, through: int, page_bytes: int
) -> AsyncIterator[list[Recorded]]:
    """The events of a range of streams up to a position, stream by stream, in pages of about so
    many bytes. Raises Halted at an event that cannot be read."""
    async for rows in range_pages(store, streams, through, page_bytes):
        yield [decoded(mapper, row) for row in rows]
