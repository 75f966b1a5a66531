"""The progress of a read model, and which projector may advance it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import asyncpg
from msgspec import Struct

from projector.projection import RecordedEvent
from read_side.engine import is_distributed
from read_side.notices import CHANNEL, Notice
from read_side.schema import Workspaces, check_identity, existing_checkpoint
from write_side.domain.refusals import ExplainedError
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

DURABLE = "SET LOCAL synchronous_commit = on"
DURABLE_COMMITS = "SET synchronous_commit = on"
# All columns, because a read model of a different shape may have others.
_BEGIN_EPOCH = "UPDATE checkpoint SET epoch = epoch + 1 RETURNING *"
# Readers read the live read model, so only that one notifies them.
_NOTIFY = "SELECT pg_notify($1, $2) WHERE current_schema() = 'read_model'"


class CheckpointConflict(ExplainedError):
    """Another process moved the checkpoint or began an epoch: this one must stop writing."""

    def __init__(self, text: str = "another process has begun to write this read model") -> None:
        super().__init__(text)


class Checkpoint(Struct, frozen=True):
    """The last projected position, and the event at it (none at 0): its stream, its version in
    that stream, and its time."""

    position: int
    stream: str | None = None
    version: int | None = None
    at: datetime | None = None

    @classmethod
    def of(cls, row: asyncpg.Record) -> Checkpoint:
        """From a row of ``checkpoint``."""
        return cls(
            row["position"], row["originator_id"], row["originator_version"], row["happened_at"]
        )

    @classmethod
    def after(cls, last: RecordedEvent) -> Checkpoint:
        return cls(last.position, last.stream, last.version, last.event.at)

    @property
    def event(self) -> str:
        return f"{self.stream} version {self.version} of {self.at}"


async def begin_epoch(
    connection: Connection, workspaces: Workspaces = None
) -> tuple[int, Checkpoint]:
    """Fences off any other writer of the read model. Raises ShapeMismatch, WorkspacesMismatch,
    IncompleteReadModel."""
    async with committed_everywhere(connection), connection.transaction():
        # No crash of PostgreSQL takes it back, so no two writers have the same epoch.
        await connection.execute(DURABLE)
        row = existing_checkpoint(await connection.fetchrow(_BEGIN_EPOCH))
        position, distributed = row["position"], await is_distributed(connection)
        notice = Notice(epoch=row["epoch"], after=position, position=position)
        if not distributed:
            await connection.execute(_NOTIFY, CHANNEL, notice.encoded())
    check_identity(row, workspaces)
    if distributed:
        # The connection may have been opened before there was a read model.
        await connection.execute(DURABLE_COMMITS)
        await announce(connection, notice)
    return row["epoch"], Checkpoint.of(row)


@asynccontextmanager
async def committed_everywhere(connection: Connection) -> AsyncIterator[None]:
    """Raises ConnectionError if a worker of a distributed read model did not confirm the commit of
    the transaction within: Citus only warns of that, and completes it later."""
    warnings: list[str] = []

    def listen(_connection: Any, message: asyncpg.PostgresLogMessage) -> None:
        if message.severity_en == "WARNING":
            warnings.append(message.message)

    connection.add_log_listener(listen)
    try:
        yield
    finally:
        connection.remove_log_listener(listen)
    if warnings and await is_distributed(connection):
        raise ConnectionError(f"a worker may not have committed: {warnings[0]}")


async def announce(connection: Connection, notice: Notice) -> None:
    """Tells readers of a checkpoint of a distributed read model, after it was committed
    everywhere."""
    parameters = (notice.epoch, notice.position, notice.encoded())
    await connection.execute(statement("projector", "announce"), *parameters)


async def check_epoch(connection: Connection, epoch: int) -> None:
    """Raises CheckpointConflict if another process has begun to write the read model."""
    if await connection.fetchval(statement("projector", "position_of_epoch"), epoch) is None:
        raise CheckpointConflict


async def hold_checkpoint(connection: Connection, epoch: int, position: int | None = None) -> None:
    """Keeps others from moving the checkpoint until the transaction ends. ``position``: where it
    must be, if that matters.

    Raises CheckpointConflict.
    """
    found = await connection.fetchval(statement("projector", "hold_epoch"), epoch)
    if found is None or position not in (None, found):
        raise CheckpointConflict
