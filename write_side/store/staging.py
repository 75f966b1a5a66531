"""Events of a large append, written to the side before the append begins.

The append takes them from there under the lock of the log's head, which all other writers wait
for: it copies them as they are stored, and neither receives nor compresses them meanwhile.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import asyncpg
from eventsourcing.persistence import StoredEvent

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

COLUMNS = ("batch", "n", "originator_id", "originator_version", "topic", "state")
CLEARING = 5.0
_CLEAR = "DELETE FROM write_side.staged_event WHERE batch = $1"


@asynccontextmanager
async def staged(
    connection: Connection, events: Sequence[StoredEvent], timeout: float
) -> AsyncIterator[str]:
    """The batch under which the events are staged meanwhile.

    What a process leaves behind that dies meanwhile is swept up by ``store/forgetting.py``.
    """
    batch = uuid.uuid4()
    records = (
        (batch, n, event.originator_id, event.originator_version, event.topic, event.state.decode())
        for n, event in enumerate(events, 1)
    )
    await connection.copy_records_to_table(
        "staged_event", schema_name="write_side", columns=COLUMNS, records=records, timeout=timeout
    )
    try:
        yield str(batch)
    except asyncpg.PostgresError:
        await _clear(connection, batch)
        raise
    await _clear(connection, batch)


async def _clear(connection: Connection, batch: uuid.UUID) -> None:
    """What cannot be cleared is swept up; the append has happened or not regardless."""
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
        await connection.execute(_CLEAR, batch, timeout=CLEARING)
