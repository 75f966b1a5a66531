"""The event store's schema is all of its migrations, applied once, in order, by whoever comes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.integration.write_side import given
from tests.integration.write_side.catalogue import catalogue
from tests.integration.write_side.given import check_store, magazine, repository_on
from tests.integration.write_side.holding import Connection, connected
from write_side.dispatch import execute
from write_side.store import migrations
from write_side.store.migrations import Migration, MigrationError, migrate
from write_side.store.recorder import open_recorder

_ROWS = "SELECT number, name, digest FROM write_side.migration ORDER BY number"
NEWEST = migrations.migrations()[-1].number
ADDED = Migration(NEWEST + 1, "colour", "ALTER TABLE write_side.command ADD COLUMN colour text")


@pytest.fixture
async def empty(empty_database_url: str) -> AsyncIterator[Connection]:
    async with connected(empty_database_url) as connection:
        yield connection


@contextmanager
def known(*known: Migration) -> Iterator[None]:
    """As if these were the migrations that this code knows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "migrations", lambda: list(known))
        yield


async def _applied(connection: Connection) -> list[tuple[int, str, str]]:
    return [tuple(row) for row in await connection.fetch(_ROWS)]


async def test_migrations_are_numbered_from_one_without_a_gap() -> None:
    found = migrations.migrations()
    assert [migration.number for migration in found] == list(range(1, len(found) + 1))
    assert all(migration.name for migration in found)
    assert found[0].digest == hashlib.sha256(found[0].statements.encode()).hexdigest()


async def test_schema_is_all_migrations_applied_one_at_a_time(
    empty: Connection, database_url: str
) -> None:
    """The template that every test runs on was migrated at once."""
    all_of_them = migrations.migrations()
    for n in range(1, len(all_of_them) + 1):
        with known(*all_of_them[:n]):
            assert await migrate(empty) == [all_of_them[n - 1]]
    async with connected(database_url) as connection:
        assert await catalogue(empty) == await catalogue(connection)
        assert await _applied(empty) == await _applied(connection)
    assert len(await catalogue(empty)) > 50


async def test_catalogue_sees_a_difference(empty: Connection) -> None:
    await migrate(empty)
    before = await catalogue(empty)
    for change in (
        ADDED.statements,
        "CREATE INDEX ON write_side.event (topic)",
        "ALTER TABLE write_side.event ADD CHECK (topic <> '')",
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


async def test_migrating_twice_does_nothing(empty: Connection) -> None:
    assert await migrate(empty) == migrations.migrations()
    before = (await catalogue(empty), await _applied(empty))
    assert await migrate(empty) == []
    assert (await catalogue(empty), await _applied(empty)) == before


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
async def test_migrations_at_once_are_made_by_one(
    empty: Connection, empty_database_url: str, isolation: str
) -> None:
    settings = {"default_transaction_isolation": isolation}
    others = [await asyncpg.connect(empty_database_url, server_settings=settings) for _ in range(5)]
    try:
        made = await asyncio.gather(*map(migrate, others))
    finally:
        for other in others:
            await other.close()
    assert sorted(map(len, made)) == [0, 0, 0, 0, len(migrations.migrations())]
    assert len(await _applied(empty)) == len(migrations.migrations())


async def test_later_migration_is_applied_alone(empty: Connection) -> None:
    first = migrations.migrations()
    await migrate(empty)
    with known(*first, ADDED):
        assert await migrate(empty) == [ADDED]
        assert await migrate(empty) == []


async def test_migration_that_fails_leaves_nothing_behind(empty: Connection) -> None:
    broken = Migration(NEWEST + 2, "broken", "CREATE TABLE write_side.half (); SELECT 1 / 0")
    with known(*migrations.migrations(), ADDED, broken), pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(empty)
    assert not await _is_there(empty)


async def _is_there(connection: Connection) -> bool:
    return bool(await connection.fetchval("SELECT to_regnamespace('write_side') IS NOT NULL"))


async def test_edited_migration_is_refused_by_name(empty: Connection) -> None:
    await migrate(empty)
    first, *rest = migrations.migrations()
    edited = Migration(first.number, first.name, first.statements + "\n-- a word more")
    message = r"Migration 1 \(event_store\) was applied in another form: .* immutable"
    with known(edited, *rest), pytest.raises(MigrationError, match=message):
        await migrate(empty)


async def test_newer_database_is_refused_with_what_to_do(empty: Connection) -> None:
    with known(*migrations.migrations(), ADDED):
        await migrate(empty)
    message = f"at migration {NEWEST + 1}, made by a newer .* knows {NEWEST}. Start the newer"
    with pytest.raises(MigrationError, match=message):
        await migrate(empty)


async def test_plain_role_that_owns_its_database_can_migrate_and_append(
    empty: Connection, empty_database_url: str
) -> None:
    """No superuser: an operator's PostgreSQL seldom gives one."""
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
            entry_id = await given.entry(repository, "post")
            await execute(given.rename(entry_id, "other"), repository)
            await execute(given.delete(entry_id), repository)
            await check_store(repository)
    finally:
        await empty.execute(f'ALTER DATABASE "{database}" RESET role')
        await empty.execute(f'ALTER DATABASE "{database}" OWNER TO CURRENT_USER')
        await empty.execute(f'DROP OWNED BY "{role}" CASCADE')
        await empty.execute(f'DROP ROLE "{role}"')
