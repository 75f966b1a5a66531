"""The rows of ``projector.process``: which projectors there are, and what they do."""

from __future__ import annotations

from write_side.postgres.connection import Connection
from write_side.process_state import ProcessState

_BEAT = """
INSERT INTO projector.process (id, role) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET role = $2, heartbeat_at = now()"""
# Halts that other projectors reported earlier are out of date.
_REPORT = """
WITH others AS (
    UPDATE projector.process SET halted = NULL WHERE halted IS NOT NULL AND id <> $1
)
INSERT INTO projector.process (id, role, halted) VALUES ($1, 'active', $2)
ON CONFLICT (id) DO UPDATE SET role = 'active', halted = $2, heartbeat_at = now()"""
_REMOVE = "DELETE FROM projector.process WHERE id = $1"
# Processes that were killed could not remove their rows.
_REMOVE_DEAD = "DELETE FROM projector.process WHERE heartbeat_at < now() - interval '1 minute'"
# The lock admits one active projector, and its heartbeats use the connection that has the lock.
_REMOVE_FORMER = """
DELETE FROM projector.process WHERE role = 'active' AND halted IS NULL AND id <> $1"""


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
        """Reports this projector as active, instead of one that was killed. The reason of an
        earlier halt is kept until a projector continues or halts."""
        await self._connection.execute(_REMOVE_FORMER, self._id)
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
