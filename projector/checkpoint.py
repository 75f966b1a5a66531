"""How far a read model has come, and whose turn it is to move that."""

from __future__ import annotations

from datetime import datetime

import asyncpg
from msgspec import Struct

from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement


class Fenced(Exception):
    """Somebody else moved the checkpoint or began a new epoch: this projector's turn is over."""

    def __init__(self) -> None:
        super().__init__("somebody else has begun to write this read model")


class Checkpoint(Struct, frozen=True):
    """The last projected position, and the event that stands there (none at 0): its stream, its
    version there, and when it happened."""

    position: int
    stream: str | None = None
    version: int | None = None
    at: datetime | None = None

    @classmethod
    def of(cls, row: asyncpg.Record) -> Checkpoint:
        """As the read model keeps it."""
        return cls(
            row["position"], row["originator_id"], row["originator_version"], row["happened_at"]
        )


async def hold(connection: Connection, epoch: int) -> None:
    """Keep the checkpoint as it is until the transaction ends. Raises Fenced."""
    if await connection.fetchrow(statement("projector", "hold_epoch"), epoch) is None:
        raise Fenced


async def move(connection: Connection, epoch: int, old: Checkpoint, new: Checkpoint) -> None:
    """Compare and set. Raises Fenced."""
    event = (new.position, new.stream, new.version, new.at)
    moved = await connection.fetchrow(
        statement("projector", "move_checkpoint"), *event, old.position, epoch
    )
    if moved is None:
        raise Fenced
