"""The installed schema equals its files, and is migrated once, in order."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.integration.write_side import sample_commands
from tests.integration.write_side.append_locks import connected
from tests.integration.write_side.sample_commands import check_store, magazine, repository_on
from write_side.dispatch import execute
from write_side.postgres.connection import Connection
from write_side.store import migrations
from write_side.store.migrations import Migration, MigrationError, migrate
from write_side.store.recorder import open_recorder

FOLDER = Path(migrations.__file__).parent
NEWEST = migrations.newest_version()
ADDED = Migration(NEWEST + 1, "colour", "ALTER TABLE write_side.command ADD COLUMN colour text")
_VERSIONS = "SELECT version, digest FROM write_side.schema_version ORDER BY version"
_INSTALLED = """
SELECT CASE relkind WHEN 'c' THEN 'types/' ELSE 'tables/' END || relname FROM pg_class
WHERE relnamespace = 'write_side'::regnamespace AND relkind IN ('r', 'v', 'm', 'S', 'c')
UNION ALL
SELECT 'functions/' || proname FROM pg_proc WHERE pronamespace = 'write_side'::regnamespace
UNION ALL
SELECT 'triggers/' || tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE relnamespace = 'write_side'::regnamespace AND NOT tgisinternal
ORDER BY 1"""
_SOURCES = """
SELECT proname, prosrc FROM pg_proc
WHERE pronamespace = 'write_side'::regnamespace AND prosqlbody IS NULL"""
_COLUMNS = """
SELECT c.relname, c.relkind, c.relpersistence, c.reloptions, a.attnum, a.attname,
       format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage,
       a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'c')
  AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY c.relname, a.attnum"""
_CONSTRAINTS = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = $1::regnamespace ORDER BY 1, 2"""
_INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY 1"
_FUNCTIONS = """
SELECT pg_get_functiondef(oid) FROM pg_proc
WHERE pronamespace = $1::regnamespace AND prokind IN ('f', 'p') ORDER BY 1"""
_TRIGGERS = """
SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = $1::regnamespace AND NOT t.tgisinternal ORDER BY 1"""
_SEQUENCES = "SELECT sequencename FROM pg_sequences WHERE schemaname = $1 ORDER BY 1"


async def catalogue(connection: Connection, schema: str = "write_side") -> list[str]:
    """The schema as comparable text: one line for each object. Columns are in their order,
    without dropped ones."""
    lines: list[str] = []
    for statement in (_COLUMNS, _CONSTRAINTS, _INDEXES, _FUNCTIONS, _TRIGGERS, _SEQUENCES):
        lines += [str(tuple(row)) for row in await connection.fetch(statement, schema)]
    return lines


@pytest.fixture
async def empty(empty_database_url: str) -> AsyncIterator[Connection]:
    async with connected(empty_database_url) as connection:
        yield connection


@contextmanager
def with_migrations(*known: Migration) -> Iterator[None]:
    """Replaces the migrations that the code knows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "migrations", lambda: list(known))
        yield


async def _versions(connection: Connection) -> list[tuple[int, str]]:
    return [tuple(row) for row in await connection.fetch(_VERSIONS)]


def _files(*folders: str) -> list[Path]:
    return [file for folder in folders for file in sorted((FOLDER / folder).glob("*.sql"))]


# The installed schema equals its files


async def test_every_installed_object_has_a_file_with_its_name(database_url: str) -> None:
    async with connected(database_url) as connection:
        installed = [row[0] for row in await connection.fetch(_INSTALLED)]
    files = _files("tables", "types", "functions", "triggers")
    assert installed == sorted(f"{file.parent.name}/{file.stem}" for file in files)


@pytest.mark.parametrize("file", _files("tables", "types", "functions"), ids=lambda file: file.stem)
def test_file_creates_the_object_it_is_named_after_and_no_other(file: Path) -> None:
    kind = {"tables": r"(?:UNLOGGED )?TABLE", "types": "TYPE", "functions": "FUNCTION"}
    made = re.findall(
        r"^CREATE (?:OR REPLACE )?((?:UNLOGGED )?[A-Z]+) (\S*write_side\.\w+)",
        file.read_text("utf-8"),
        re.MULTILINE,
    )
    [(of_kind, name)] = made
    assert re.fullmatch(kind[file.parent.name], of_kind)
    assert name == f"write_side.{file.stem}"


async def test_installed_functions_read_as_their_files(database_url: str) -> None:
    """PostgreSQL keeps no text of a body that is an expression; the next test compares these."""
    parts = {file.stem: file.read_text("utf-8").split("$$") for file in _files("functions")}
    written = {name: part[1] for name, part in parts.items() if len(part) > 1}
    async with connected(database_url) as connection:
        installed = {row["proname"]: row["prosrc"] for row in await connection.fetch(_SOURCES)}
    assert installed == written


async def test_schema_is_its_files_run_one_after_another(
    empty: Connection, database_url: str
) -> None:
    """``migrate`` made the template database of all tests."""
    await empty.execute("CREATE SCHEMA write_side")
    for file in _files("tables", "types", "functions", "triggers"):
        await empty.execute(file.read_text("utf-8"))
    async with connected(database_url) as connection:
        assert await catalogue(empty) == await catalogue(connection)
    assert len(await catalogue(empty)) > 50


async def test_the_catalog_comparison_detects_a_difference(empty: Connection) -> None:
    await migrate(empty)
    before = await catalogue(empty)
    for change in (
        ADDED.statements,
        "CREATE INDEX ON write_side.event (topic)",
        "ALTER TABLE write_side.event ADD CHECK (topic <> '')",
        "ALTER TABLE write_side.upload ALTER COLUMN document SET STORAGE EXTENDED",
        "ALTER TYPE write_side.append_use ADD ATTRIBUTE more text",
        "CREATE OR REPLACE FUNCTION write_side.change_claims(changes jsonb) RETURNS void "
        "LANGUAGE sql AS ''",
        "ALTER TABLE write_side.head RESET (fillfactor)",
    ):
        transaction = empty.transaction()
        await transaction.start()
        await empty.execute(change)
        assert await catalogue(empty) != before
        await transaction.rollback()
    assert await catalogue(empty) == before


# Migrations


def test_migrations_are_numbered_from_two_without_a_gap() -> None:
    found = migrations.migrations()
    assert [migration.number for migration in found] == list(range(2, len(found) + 2))
    assert all(migration.name for migration in found)


async def test_migrating_twice_does_nothing(empty: Connection) -> None:
    assert await migrate(empty) == [f"version {NEWEST} installed"]
    before = (await catalogue(empty), await _versions(empty))
    assert await migrate(empty) == []
    assert (await catalogue(empty), await _versions(empty)) == before


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
async def test_simultaneous_migrations_are_applied_once(
    empty: Connection, empty_database_url: str, isolation: str
) -> None:
    settings = {"default_transaction_isolation": isolation}
    others = [await asyncpg.connect(empty_database_url, server_settings=settings) for _ in range(5)]
    try:
        made = await asyncio.gather(*map(migrate, others))
    finally:
        for other in others:
            await other.close()
    assert sorted(map(len, made)) == [0, 0, 0, 0, 1]
    assert len(await _versions(empty)) == 1


async def test_later_migration_is_applied_alone_and_renews_the_functions(
    empty: Connection,
) -> None:
    await migrate(empty)
    before = await catalogue(empty)
    await empty.execute(
        "CREATE OR REPLACE FUNCTION write_side.change_claims(changes jsonb) RETURNS void "
        "LANGUAGE sql AS ''"
    )
    with with_migrations(*migrations.migrations(), ADDED):
        assert await migrate(empty) == [f"migration {NEWEST + 1} (colour) applied"]
        assert await migrate(empty) == []
    assert [version for version, _ in await _versions(empty)] == [NEWEST, NEWEST + 1]
    await empty.execute("ALTER TABLE write_side.command DROP COLUMN colour")
    assert await catalogue(empty) == before


async def test_empty_database_is_at_the_newest_version_at_once(empty: Connection) -> None:
    with with_migrations(*migrations.migrations(), ADDED):
        assert await migrate(empty) == [f"version {NEWEST + 1} installed"]
        assert await migrate(empty) == []


async def test_migration_that_fails_leaves_nothing_behind(empty: Connection) -> None:
    await migrate(empty)
    before = (await catalogue(empty), await _versions(empty))
    broken = Migration(NEWEST + 2, "broken", "CREATE TABLE write_side.half (); SELECT 1 / 0")
    with (
        with_migrations(*migrations.migrations(), ADDED, broken),
        pytest.raises(asyncpg.DivisionByZeroError),
    ):
        await migrate(empty)
    assert (await catalogue(empty), await _versions(empty)) == before


async def test_a_version_installed_from_other_files_is_refused(empty: Connection) -> None:
    await migrate(empty)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "_objects", lambda: ["-- another word"])
        with pytest.raises(MigrationError, match=f"version {NEWEST} .* from other files"):
            await migrate(empty)


async def test_newer_database_is_refused_with_what_to_do(empty: Connection) -> None:
    with with_migrations(*migrations.migrations(), ADDED):
        await migrate(empty)
    message = f"version {NEWEST + 1}, made by a newer .* knows {NEWEST}: start the newer"
    with pytest.raises(MigrationError, match=message):
        await migrate(empty)


async def test_database_of_an_unreleased_version_is_refused_untouched(empty: Connection) -> None:
    await empty.execute(sample_commands.UNRELEASED)
    before = await catalogue(empty)
    with pytest.raises(MigrationError, match=r"unreleased version .* use an empty database"):
        await migrate(empty)
    assert await catalogue(empty) == before


async def test_plain_role_that_owns_its_database_can_migrate_and_append(
    empty: Connection, empty_database_url: str
) -> None:
    """No superuser, because operators rarely have one."""
    role = f"plain_{urlsplit(empty_database_url).path.strip('/')}"
    database = urlsplit(empty_database_url).path.strip("/")
    await empty.execute(f'CREATE ROLE "{role}" NOSUPERUSER NOCREATEDB NOCREATEROLE')
    await empty.execute(f'ALTER DATABASE "{database}" OWNER TO "{role}"')
    await empty.execute(f'ALTER DATABASE "{database}" SET role = "{role}"')
    try:
        async with connected(empty_database_url) as plain:
            assert await plain.fetchval("SELECT current_user") == role
            assert await plain.fetchval("SHOW is_superuser") == "off"
            await migrate(plain)
        async with open_recorder(empty_database_url) as recorder:
            repository = repository_on(recorder)
            await magazine(repository)
            entry_id = await sample_commands.entry(repository, "post")
            await execute(sample_commands.rename(entry_id, "other"), repository)
            await execute(sample_commands.delete(entry_id), repository)
            await check_store(repository)
    finally:
        await empty.execute(f'ALTER DATABASE "{database}" RESET role')
        await empty.execute(f'ALTER DATABASE "{database}" OWNER TO CURRENT_USER')
        await empty.execute(f'DROP OWNED BY "{role}" CASCADE')
        await empty.execute(f'DROP ROLE "{role}"')
