"""Installs the event store's schema or upgrades an older one.

The schema is the files of ``tables``, ``types``, ``functions`` and ``triggers``, one for each
database object. An empty database gets these files and is then at the newest version. To change the
schema, edit the object's file and add a numbered file to ``migrations`` (``0002_name.sql`` is the
first) that makes the same change to a database of the previous version. Functions need no statement
there, because they are replaced from their files after every migration.
"""

from __future__ import annotations

import hashlib
from importlib import resources
from importlib.resources.abc import Traversable

import asyncpg
from msgspec import Struct

from write_side.domain.refusals import ExplainedError
from write_side.postgres.connection import Connection, catalog_transaction

_LOCK = 0x636C_6F67_0001
_FOLDER = resources.files("write_side.store")
_CURRENT_ROLE = "SELECT current_user"
_ROLE_EXISTS = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)"
_CREATE_ROLE = "SELECT format('CREATE ROLE %I LOGIN PASSWORD %L', $1::text, $2::text)"
_GIVE_UP = """
SELECT format('ALTER %s %s OWNER TO %I', object.type, object.identity, current_user)
FROM pg_shdepend AS owned, pg_identify_object(classid, objid, objsubid) AS object
WHERE deptype = 'o' AND refclassid = 'pg_authid'::regclass
  AND refobjid = (SELECT oid FROM pg_roles WHERE rolname = $1 AND rolname <> current_user)
  AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND 'write_side' IN (object.schema, object.identity)
ORDER BY 1"""
_GRANT = "SELECT write_side.grant_runtime($1)"
_WAIT = "SELECT pg_advisory_xact_lock($1)"
_IS_UNRELEASED = "SELECT to_regclass('write_side.migration') IS NOT NULL"
_IS_INSTALLED = "SELECT to_regclass('write_side.schema_version') IS NOT NULL"
_VERSION = "SELECT version, digest FROM write_side.schema_version ORDER BY version DESC LIMIT 1"
_RECORD = "INSERT INTO write_side.schema_version (version, digest) VALUES ($1, $2)"


class MigrationError(ExplainedError):
    """The event store's schema cannot be upgraded; the text says what to do."""


class Migration(Struct, frozen=True):
    """The statements from the previous version of the schema to version ``number``."""

    number: int
    name: str
    statements: str


def migrations() -> list[Migration]:
    """All migrations, in order."""
    return [
        Migration(int(file.name[:4]), file.name[5:-4], file.read_text("utf-8"))
        for file in _files("migrations")
    ]


async def migrate(connection: Connection) -> list[str]:
    """Installs the schema or applies the missing migrations, in one transaction.

    Returns what was done, a line for each step. Raises MigrationError if the database is of an
    unreleased or newer version, or if its version was installed from other files.
    """
    # A process that waited for the lock must see the changes of the other one.
    async with catalog_transaction(connection, isolation="read_committed"):
        await connection.execute(_WAIT, _LOCK)
        await check_released(connection)
        if not await connection.fetchval(_IS_INSTALLED):
            return await _install(connection)
        return await _upgrade(connection)


async def check_owner(owner: Connection, role: str) -> None:
    """Raises MigrationError if the runtime role owns part of the event store, because it can drop
    what it owns. This is so if it ran ``migrate`` itself, or created the schema before the owner
    did."""
    async with catalog_transaction(owner):
        statements = [row[0] for row in await owner.fetch(_GIVE_UP, role)]
    if statements:
        raise MigrationError(
            f"role '{role}' owns parts of the event store and could drop them; inspect them, then "
            f"run as an administrator: {'; '.join(statements)}"
        )


async def grant_runtime(owner: Connection, role: str, password: str | None) -> list[str]:
    """Lets a role append and read, but not change events; creates it if it does not exist.

    Returns what was done, a line for each step. Raises MigrationError if the owner may not create
    the role.
    """
    async with catalog_transaction(owner):
        if await owner.fetchval(_CURRENT_ROLE) == role:
            return []
        await owner.execute(_WAIT, _LOCK)
        created = not await owner.fetchval(_ROLE_EXISTS, role)
        if created:
            await _create_role(owner, role, password)
        await owner.execute(_GRANT, role)
    return [f"role '{role}' created"] if created else []


async def _create_role(owner: Connection, role: str, password: str | None) -> None:
    try:
        await owner.execute(await owner.fetchval(_CREATE_ROLE, role, password))
    except asyncpg.InsufficientPrivilegeError as error:
        raise MigrationError(
            f"there is no role '{role}', and the owner may not create it: "
            f'run CREATE ROLE "{role}" LOGIN PASSWORD … as an administrator'
        ) from error


async def check_released(connection: Connection) -> None:
    """Raises MigrationError if the event store was made before the first release."""
    if await connection.fetchval(_IS_UNRELEASED):
        raise MigrationError(
            "the event store was made by an unreleased version of contentlog, which cannot be "
            "upgraded: use an empty database, or another data folder (CONTENTLOG_DATA)"
        )


def newest_version() -> int:
    return migrations()[-1].number


async def _install(connection: Connection) -> list[str]:
    await connection.execute("CREATE SCHEMA IF NOT EXISTS write_side")
    for statements in _objects():
        await connection.execute(statements)
    await connection.execute(_RECORD, newest_version(), _digest())
    return [f"version {newest_version()} installed"]


async def _upgrade(connection: Connection) -> list[str]:
    row = await connection.fetchrow(_VERSION)
    assert row is not None
    _check(row["version"], row["digest"])
    missing = [migration for migration in migrations() if migration.number > row["version"]]
    for migration in missing:
        await connection.execute(migration.statements)
    if missing:
        for file in _files("functions"):
            await connection.execute(file.read_text("utf-8"))
        await connection.execute(_RECORD, newest_version(), _digest())
    return [f"migration {one.number} ({one.name}) applied" for one in missing]


def _check(version: int, digest: str) -> None:
    newest = newest_version()
    if version > newest:
        raise MigrationError(
            f"the event store has schema version {version}, made by a newer contentlog; this one "
            f"knows {newest}: start the newer version"
        )
    if version == newest and digest != _digest():
        raise MigrationError(
            f"version {version} of the event store's schema was installed from other files: they "
            "change only together with a new migration; install contentlog again"
        )


def _objects() -> list[str]:
    """The statements of all object files, in the order of their dependencies."""
    return [
        file.read_text("utf-8")
        for folder in ("tables", "types", "functions", "triggers")
        for file in _files(folder)
    ]


def _digest() -> str:
    return hashlib.sha256("".join(_objects()).encode()).hexdigest()


def _files(folder: str) -> list[Traversable]:
    """The SQL files of a folder next to this module, by name."""
    found = (_FOLDER / folder).iterdir()
    return sorted((file for file in found if file.name.endswith(".sql")), key=str)
