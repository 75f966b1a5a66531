"""Creates read models. They have no migrations: a new shape needs a rebuild."""

from __future__ import annotations

import hashlib
from importlib import resources
from typing import TypeAlias

import asyncpg

from read_side.engine import Engine, check_engine, check_extension, is_distributed
from write_side.domain.refusals import ExplainedError
from write_side.postgres.connection import Connection

LIVE = "read_model"
NEXT = "read_model_next"
PREVIOUS = "read_model_previous"
DISCARDED = "read_model_discarded"
SCRATCH = "read_model_scratch"
_LOCK = 0x636C_6F67_0002

_folder = resources.files("read_side")
_TABLES = (_folder / "tables.sql").read_text("utf-8")
_DIGESTS = (_folder / "digests.sql").read_text("utf-8")
_INDEXES = (_folder / "indexes.sql").read_text("utf-8")
_CITUS = (_folder / "citus.sql").read_text("utf-8")
_PROJECTORS = (_folder / "projectors.sql").read_text("utf-8")
_ANNOUNCED = (_folder / "announced.sql").read_text("utf-8")

_ALL = _TABLES + _DIGESTS + _INDEXES + _CITUS
SHAPE = hashlib.sha256(_ALL.encode()).hexdigest()[:16]
"""Identifies the shape of the tables; a read model of a different shape must be rebuilt."""

Workspaces: TypeAlias = tuple[str, ...] | None
"""The slugs of the workspaces that a read model holds, sorted; None for all."""

# All columns, because a different shape may have other ones.
CHECKPOINT = "SELECT * FROM read_model.checkpoint"
_EXISTS = "SELECT to_regclass('read_model.checkpoint') IS NOT NULL"
_FORGET_ANNOUNCED = "DROP TABLE IF EXISTS projector.announced"
_BEGIN = "INSERT INTO checkpoint (position, epoch, shape, workspaces) VALUES (0, $1, $2, $3)"


class ShapeMismatch(ExplainedError):
    """This version cannot use the live read model; the message says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "the read model has a different shape than this version needs: rebuild it from the "
            "log with `contentlog rebuild --accept-differences`"
        )


class WorkspacesMismatch(ExplainedError):
    """The read model holds other workspaces than the settings say; the message says what to do."""

    def __init__(self, actual: Workspaces, expected: Workspaces) -> None:
        self.actual = actual
        super().__init__(
            f"the read model holds {described(actual)}, but its settings say "
            f"{described(expected)}: rebuild it with `contentlog rebuild --accept-differences`, or "
            "change the settings back"
        )


class IncompleteReadModel(ExplainedError, ConnectionError):
    """The read model has tables but no checkpoint, for example while a backup is restored."""

    def __init__(self) -> None:
        super().__init__(
            "the read model has no checkpoint: if a backup is being restored, wait until that is "
            "done; otherwise drop the schema 'read_model' and run `contentlog migrate`"
        )


def described(workspaces: Workspaces) -> str:
    return "all workspaces" if workspaces is None else f"the workspaces '{', '.join(workspaces)}'"


def existing_checkpoint(checkpoint: asyncpg.Record | None) -> asyncpg.Record:
    """The row of ``checkpoint``. Raises IncompleteReadModel if there is none."""
    if checkpoint is None:
        raise IncompleteReadModel
    return checkpoint


def workspaces_of(checkpoint: asyncpg.Record) -> Workspaces:
    """The workspaces of the read model with this row of ``checkpoint``, also of another shape."""
    held = checkpoint.get("workspaces")
    return None if held is None else tuple(held)


def check_identity(checkpoint: asyncpg.Record, workspaces: Workspaces) -> None:
    """Raises ShapeMismatch or WorkspacesMismatch if the read model with this row of ``checkpoint``
    is not of this version, or does not hold these workspaces."""
    if checkpoint["shape"] != SHAPE:
        raise ShapeMismatch
    held = workspaces_of(checkpoint)
    if held != workspaces:
        raise WorkspacesMismatch(held, workspaces)


async def create(
    connection: Connection, workspaces: Workspaces = None, engine: Engine = "postgresql"
) -> bool:
    """Creates an empty live read model if there is none. Returns whether it was created.

    Raises ShapeMismatch, WorkspacesMismatch, EngineRefused, IncompleteReadModel.
    """
    # In a separate transaction, because a rebuild that replaces a different shape needs these
    # tables too.
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(_PROJECTORS)
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if await connection.fetchval(_EXISTS):
            check_identity(existing_checkpoint(await connection.fetchrow(CHECKPOINT)), workspaces)
            await check_engine(connection, engine)
            return False
        await connection.execute(_FORGET_ANNOUNCED)
        if engine == "citus":
            await check_extension(connection)
            await connection.execute(_ANNOUNCED)
        await connection.execute("CREATE SCHEMA IF NOT EXISTS read_model")
        await connection.execute("SET LOCAL search_path = read_model")
        await create_tables(connection, epoch=0, workspaces=workspaces)
        await create_indexes(connection)
        return True


async def create_tables(connection: Connection, epoch: int, workspaces: Workspaces = None) -> None:
    """Creates the tables, without the indexes of large ones, in the first schema of the
    connection's search_path. A projector must know the epoch to write them."""
    await connection.execute(_TABLES)
    await connection.execute(_DIGESTS)
    if await is_distributed(connection):
        for one in _statements(_CITUS):
            await connection.execute(one)
    await connection.execute(_BEGIN, epoch, SHAPE, workspaces)


async def create_indexes(connection: Connection) -> None:
    """Creates the indexes that ``create_tables`` omits, in the same schema."""
    for one in _statements(_INDEXES):
        await connection.execute(one)


def _statements(script: str) -> list[str]:
    """One by one, because Citus sends a whole request on to the workers."""
    return [one for one in script.split(";\n") if one.strip()]
