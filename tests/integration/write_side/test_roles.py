"""The runtime role can append and read, but not change events."""

from __future__ import annotations

from urllib.parse import urlsplit

import asyncpg
import pytest

from deploy.commands.installation import migrate_databases
from deploy.databases import Databases
from tests.databases import RUNTIME, owner_of, runtime_url
from tests.integration.live_projector import connected
from tests.integration.write_side.handler_fixtures import magazine
from write_side.repository import Repository
from write_side.store.migrations import MigrationError, grant_runtime, migrate
from write_side.verification.claim_check import repair_claims

CHANGES = [
    "UPDATE write_side.event SET state = '{}'",
    "DELETE FROM write_side.event",
    "TRUNCATE write_side.event",
]
FORBIDDEN = [
    *CHANGES,
    "INSERT INTO write_side.event VALUES (99, 'x/1', 1, 'x', '{}', now())",
    "UPDATE write_side.head SET position = 0",
    "DELETE FROM write_side.entry_claim",
    "UPDATE write_side.key_claim SET revoked = false",
    "UPDATE write_side.usage SET bound = NULL",
    "INSERT INTO write_side.command VALUES ('a', '', 'x/1', 1, 1)",
    "UPDATE write_side.access SET version = 0",
    "SELECT write_side.change_claims('{}')",
    "SELECT write_side.grant_runtime('contentlog')",
    "ALTER TABLE write_side.event DISABLE TRIGGER event_is_final",
    "DROP TABLE write_side.event",
    "CREATE TABLE write_side.mine (id int)",
]

HOSTILE_FORMAT = """
CREATE FUNCTION "{owner}".format(text, name) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    GRANT UPDATE ON write_side.event TO {runtime};
    ALTER TABLE write_side.event DISABLE TRIGGER event_is_final;
    RETURN 'SELECT 1';
END
$$"""
TELL_SEARCH_PATH = """
CREATE FUNCTION write_side.tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', current_setting('search_path');
END
$$;
CREATE TRIGGER tell BEFORE UPDATE ON write_side.access EXECUTE FUNCTION write_side.tell()"""
# The names in a body that is an expression (RETURN) are resolved when the function is created.
SEARCH_PATHS = """
SELECT proname, array_to_string(proconfig, ';') AS path FROM pg_proc
WHERE pronamespace = 'write_side'::regnamespace AND prosqlbody IS NULL"""


@pytest.mark.parametrize("statement", FORBIDDEN)
async def test_the_runtime_role_may_not(database_url: str, statement: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        assert await connection.fetchval("SELECT current_user") == RUNTIME
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()


@pytest.mark.parametrize("statement", CHANGES)
async def test_the_owner_changes_no_event_by_mistake(
    repository: Repository, database_url: str, statement: str
) -> None:
    await magazine(repository)
    async with connected(database_url) as owner:
        with pytest.raises(asyncpg.RestrictViolationError, match="never changed or deleted"):
            await owner.execute(statement)
    assert await repository.recorder.head() == len(await repository.recorder.log(0, 100)) == 3


async def test_the_append_does_not_look_up_names_in_other_schemas(
    repository: Repository, database_url: str
) -> None:
    """It runs as the owner, so a function of its caller must not replace one of ours."""
    connection = await asyncpg.connect(database_url)
    await connection.execute("CREATE SCHEMA mine")
    await connection.execute(
        "CREATE FUNCTION mine.pg_notify(text, text) RETURNS void LANGUAGE plpgsql "
        "AS 'BEGIN RAISE EXCEPTION $m$mine was called as %$m$, current_user; END'"
    )
    name = await connection.fetchval("SELECT current_database()")
    await connection.execute(
        f'ALTER ROLE {RUNTIME} IN DATABASE "{name}" SET search_path = mine, pg_catalog'
    )
    await connection.close()
    await magazine(repository)
    assert await repository.recorder.head() == 3


async def test_migrate_does_not_call_functions_of_the_runtime_role(database_url: str) -> None:
    """A schema with the owner's name is searched first by default, and a function whose parameters
    match exactly is preferred to a variadic one of PostgreSQL."""
    found = Databases(database_url, database_url, owner_of(database_url))
    connection = await asyncpg.connect(database_url)
    try:
        owner = urlsplit(owner_of(database_url)).username
        await connection.execute(f'CREATE SCHEMA "{owner}"')
        await connection.execute(HOSTILE_FORMAT.format(owner=owner, runtime=RUNTIME))
        await migrate_databases(found)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(CHANGES[0])
    finally:
        await connection.close()


async def test_repair_looks_up_names_only_in_the_catalog(database_url: str) -> None:
    async with connected(database_url) as owner:
        await owner.execute(TELL_SEARCH_PATH)
        with pytest.raises(asyncpg.RaiseError, match=r"^pg_catalog, pg_temp$"):
            await repair_claims(owner, [])


async def test_every_function_of_the_event_store_has_a_fixed_search_path(database_url: str) -> None:
    async with connected(database_url) as owner:
        found = await owner.fetch(SEARCH_PATHS)
    assert len(found) >= 7
    assert {row["path"] for row in found} == {"search_path=pg_catalog, pg_temp"}


async def test_migrate_creates_the_role_and_grants_privileges(empty_database_url: str) -> None:
    role = "contentlog_" + empty_database_url.rpartition("/")[2].partition("?")[0]
    url = runtime_url(empty_database_url).replace(f"//{RUNTIME}", f"//{role}", 1)
    async with connected(empty_database_url) as owner:
        await migrate(owner)
        try:
            assert await grant_runtime(owner, role, "secret") == [f"role '{role}' created"]
            assert await grant_runtime(owner, role, "secret") == []
            assert await owner.fetchval(
                "SELECT has_function_privilege($1, oid, 'EXECUTE') FROM pg_proc "
                "WHERE proname = 'append' AND pronamespace = 'write_side'::regnamespace",
                role,
            )
            assert not await owner.fetchval(
                "SELECT has_table_privilege($1, 'write_side.event', 'INSERT, UPDATE, DELETE')", role
            )
        finally:
            await owner.execute(f'DROP OWNED BY "{role}"')
            await owner.execute(f'DROP ROLE "{role}"')
    assert role in url


async def test_an_owner_who_may_not_create_roles_gets_the_statement_to_run(
    database_url: str,
) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        with pytest.raises(MigrationError, match='run CREATE ROLE "stranger" LOGIN'):
            await grant_runtime(connection, "stranger", None)
    finally:
        await connection.close()


async def test_a_runtime_role_that_owns_the_schema_is_refused(empty_database_url: str) -> None:
    """It may create schemas for the read model, so it could create this one before the owner."""
    url = runtime_url(empty_database_url)
    found = Databases(url, url, owner_of(url))
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("CREATE SCHEMA write_side")
        await connection.execute("CREATE TABLE write_side.mine (id int)")
        with pytest.raises(MigrationError, match=f"role '{RUNTIME}' owns parts") as refused:
            await migrate_databases(found)
    finally:
        await connection.close()
    statements = str(refused.value).rpartition("administrator: ")[2]
    assert statements.count("; ") == 1, "the schema and the table"
    async with connected(url) as owner:
        assert await owner.fetchval("SELECT to_regclass('write_side.event') IS NULL")
        await owner.execute(statements)
    await migrate_databases(found)


async def test_an_installation_of_two_roles_is_migrated_again(database_url: str) -> None:
    found = Databases(database_url, database_url, owner_of(database_url))
    assert await migrate_databases(found) == [
        "event store: up to date",
        "read model: already exists",
    ]
