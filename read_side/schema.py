"""Makes the read model. It has no migrations: a new shape is a rebuild."""

from __future__ import annotations

import hashlib
from importlib import resources

import asyncpg

LIVE = "read_model"
_LOCK = 0x636C_6F67_0002

_folder = resources.files("read_side")
_TABLES = (_folder / "schema.sql").read_text("utf-8")
_PROJECTORS = (_folder / "projectors.sql").read_text("utf-8")

SHAPE = hashlib.sha256(_TABLES.encode()).hexdigest()[:16]
"""Names the shape of the tables; a read model of another shape is to be rebuilt."""

_SHAPE = "SELECT shape FROM read_model.checkpoint"
_EXISTS = "SELECT to_regclass('read_model.checkpoint') IS NOT NULL"


class AnotherShape(Exception):
    """The live read model is not one this code can use; the text says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "the read model has another shape than this version's: it must be rebuilt from the "
            "log. Drop the schema read_model (DROP SCHEMA read_model CASCADE) and run `contentlog "
            "migrate` again; the projector fills it"
        )


async def create(connection: asyncpg.Connection[asyncpg.Record]) -> bool:
    """Make the live read model, empty, where there is none; whether it was made.

    Raises AnotherShape.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(_PROJECTORS)
        if await connection.fetchval(_EXISTS):
            if await connection.fetchval(_SHAPE) != SHAPE:
                raise AnotherShape
            return False
        await connection.execute("CREATE SCHEMA IF NOT EXISTS read_model")
        await connection.execute("SET LOCAL search_path = read_model")
        await create_tables(connection)
        return True


async def create_tables(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """Make the tables in the schema that the connection's search_path names first."""
    await connection.execute(_TABLES)
    await connection.execute(
        "INSERT INTO checkpoint (position, epoch, shape) VALUES (0, 0, $1)", SHAPE
    )
