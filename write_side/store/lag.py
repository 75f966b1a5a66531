"""How far a reader is behind the log, and the size of the event store."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from write_side.store.recorder import Recorder

_LAG = """
SELECT h.position AS head, e.state FROM write_side.head h
LEFT JOIN write_side.event e ON e.notification_id = $1 + 1"""

_SIZE = """
SELECT sum(pg_total_relation_size(c.oid))::bigint AS bytes FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'write_side' AND c.relkind = 'r'"""


class Lag(Struct, frozen=True):
    """The number of ``events`` not read yet, and the age in ``seconds`` of the oldest of them."""

    head: int
    events: int
    seconds: float


class _Dated(Struct):
    at: datetime


async def lag(recorder: Recorder, position: int) -> Lag:
    """The lag of a reader that has read up to the position."""
    [row] = await recorder.fetch(_LAG, position)
    return Lag(row["head"], max(0, row["head"] - position), _age(row["state"]))


async def read_size(recorder: Recorder) -> int:
    """Bytes of the event store, indexes included."""
    [row] = await recorder.fetch(_SIZE)
    return int(row["bytes"])


def _age(state: str | None) -> float:
    """Seconds since the event with this state; 0 where there is no event, or a damaged one, which
    halts the reader."""
    try:
        oldest = None if state is None else msgspec.json.decode(state, type=_Dated).at
    except msgspec.DecodeError:
        return 0.0
    return 0.0 if oldest is None else max(0.0, (datetime.now(UTC) - oldest).total_seconds())
