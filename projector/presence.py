"""Says that this projector is there and what it does: the heartbeat of the loop that works."""

from __future__ import annotations

from write_side.postgres.connection import Connection

_BEAT = """
INSERT INTO projector.process (id, role) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET role = $2, heartbeat_at = now()"""
_SAY = """
INSERT INTO projector.process (id, role, halted) VALUES ($1, 'active', $2)
ON CONFLICT (id) DO UPDATE SET role = 'active', halted = $2, heartbeat_at = now()"""
# Projectors that halted in turn said so too: what kept them from going on is gone for all.
_NOBODY_HALTED = "UPDATE projector.process SET halted = NULL WHERE halted IS NOT NULL"
_LEAVE = "DELETE FROM projector.process WHERE id = $1"
# Those that were killed could not take their leave.
_FORGET = "DELETE FROM projector.process WHERE heartbeat_at < now() - interval '1 minute'"


class Presence:
    def __init__(self, connection: Connection, projector_id: str) -> None:
        self._connection = connection
        self._id = projector_id

    async def stand_by(self) -> None:
        await self._connection.execute(_BEAT, self._id, "standby")

    async def take_over(self) -> None:
        """Active from now on. Where it had halted, that stays said until it goes on."""
        await self._connection.execute(_BEAT, self._id, "active")

    async def go_on(self) -> None:
        await self._connection.execute(_SAY, self._id, None)
        await self._connection.execute(_NOBODY_HALTED)

    async def halt(self, reason: str) -> None:
        await self._connection.execute(_SAY, self._id, reason)

    async def forget_the_dead(self) -> None:
        await self._connection.execute(_FORGET)

    async def leave(self) -> None:
        await self._connection.execute(_LEAVE, self._id)
