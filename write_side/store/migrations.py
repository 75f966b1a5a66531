"""The numbered, immutable migrations of the event store."""

from __future__ import annotations

import hashlib
from importlib import resources

import asyncpg
from msgspec import Struct

_LOCK = 0x636C_6F67_0001
_TABLE = """
CREATE SCHEMA IF NOT EXISTS write_side;
CREATE TABLE IF NOT EXISTS write_side.migration (
    number     int         NOT NULL PRIMARY KEY,
    name       text        NOT NULL,
    digest     text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)"""
_WAIT = "SELECT pg_advisory_xact_lock($1)"
_APPLIED = "SELECT number, digest FROM write_side.migration"
_RECORD = "INSERT INTO write_side.migration (number, name, digest) VALUES ($1, $2, $3)"


class MigrationError(Exception):
    """The event store's schema is not one this code can bring up to date."""


class Migration(Struct, frozen=True):
    number: int
    name: str
    statements: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.statements.encode()).hexdigest()


def migrations() -> list[Migration]:
    """All there are, in order: ``NNNN_name.sql`` beside this module."""
    folder = resources.files("write_side.store") / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=str)
    return [
        Migration(int(file.name[:4]), file.name[5:-4], file.read_text("utf-8")) for file in files
    ]


async def migrate(connection: asyncpg.Connection[asyncpg.Record]) -> list[Migration]:
    """Apply what is missing, in one transaction, and return it.

    Raises MigrationError where the database was migrated by newer code, or where a migration that
    it has applied reads differently here.
    """
    # Whoever waited for the lock must then see what the other one did.
    async with connection.transaction(isolation="read_committed"):
        await connection.execute(_WAIT, _LOCK)
        await connection.execute(_TABLE)
        rows = await connection.fetch(_APPLIED)
        applied = {row["number"]: row["digest"] for row in rows}
        known = migrations()
        _check(applied, known)
        missing = [migration for migration in known if migration.number not in applied]
        for migration in missing:
            await connection.execute(migration.statements)
            await connection.execute(_RECORD, migration.number, migration.name, migration.digest)
        return missing


def _check(applied: dict[int, str], known: list[Migration]) -> None:
    newest = known[-1].number
    if applied and max(applied) > newest:
        raise MigrationError(
            f"The event store is at migration {max(applied)}, made by a newer contentlog; "
            f"this one knows {newest}. Start the newer version."
        )
    for migration in known:
        if applied.get(migration.number, migration.digest) != migration.digest:
            raise MigrationError(
                f"Migration {migration.number} ({migration.name}) was applied in another form: "
                "migrations are immutable; this installation is damaged or was edited"
            )
