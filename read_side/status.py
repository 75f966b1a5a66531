"""The status of the read model: its checkpoint, its size, and its projectors."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from read_side.checkpoint import fetch_checkpoint
from read_side.engine import is_distributed
from read_side.schema import LIVE, Workspaces
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

_PROJECTORS = """
SELECT id, role, greatest(0, extract(epoch FROM now() - heartbeat_at))::float8 AS heartbeat_age,
       halted
FROM projector.process WHERE heartbeat_at > now() - interval '10 seconds' ORDER BY role, id"""
_WORK = """
SELECT name, phase, done, total, extract(epoch FROM now() - started_at)::float8 AS seconds
FROM projector.work WHERE heartbeat_at > now() - interval '10 seconds'"""
# On all nodes. Of those that do not respond, Citus gives NULL.
_DISTRIBUTED_SIZE = """
SELECT CASE WHEN count(*) = count(shard_size) THEN sum(shard_size)::bigint END
FROM citus_shards JOIN pg_class c ON c.oid = table_name
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1"""


class WorkStatus(Struct, frozen=True):
    """A running rebuild, rollback or verify; ``seconds`` since its start."""

    name: str
    phase: str
    done: int
    total: int
    seconds: float


class ProjectorStatus(Struct, frozen=True, rename="camel"):
    """``heartbeat_age`` in seconds; ``halted``: the reason why it has stopped."""

    id: str
    role: str
    heartbeat_age: float
    halted: str | None


class ReadModelStatus(Struct, frozen=True):
    """``projectors``: those with a heartbeat in the last ten seconds, the active one first."""

    position: int
    epoch: int
    moved_at: datetime
    projectors: list[ProjectorStatus]
    work: WorkStatus | None = None
    workspaces: Workspaces = None

    @property
    def halted(self) -> str | None:
        """The reason why a projector has halted, or None. A standby keeps its reason until another
        projector continues or halts; that of the active one comes first."""
        return next((projector.halted for projector in self.projectors if projector.halted), None)


async def read_status(connection: Connection) -> ReadModelStatus:
    checkpoint = await fetch_checkpoint(connection)
    work = await connection.fetchrow(_WORK)
    return ReadModelStatus(
        position=checkpoint.position,
        epoch=checkpoint.epoch,
        moved_at=checkpoint.moved_at,
        projectors=[ProjectorStatus(**row) for row in await connection.fetch(_PROJECTORS)],
        work=WorkStatus(**work) if work else None,
        workspaces=checkpoint.workspaces,
    )


async def read_size(connection: Connection) -> int | None:
    """Bytes of the live read model, including indexes; None if a worker of Citus does not
    respond."""
    if await is_distributed(connection):
        found = await connection.fetchval(_DISTRIBUTED_SIZE, LIVE)
    else:
        found = await connection.fetchval(statement("write_side", "schema_size"), LIVE)
    return None if found is None else int(found)
