"""PostgreSQL without disk space, memory, connections or a read model: a 503 and a line in the
log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import asyncpg
import pytest
from msgspec import json

from read_side.pool import Pool
from tests.integration.api.dashboard import signed_in
from tests.integration.api.graphql import run_query
from tests.integration.api.server import Client, Server
from tests.integration.live_projector import connected, until
from tests.integration.projector.sample_log import ContentBuilder

ReadLog = Callable[[], str]
Logged = Callable[[Any], ReadLog]
DETAIL = 'could not extend file "base/5/16385"'
UNAVAILABLE = {"error": "Service temporarily unavailable, please retry"}
LIST = "/v1/content/posts"
ENTRY = {"contentTypeSlug": "posts", "title": "A"}
MUTATION = """
mutation {
  createContentEntry(input: {contentTypeSlug: "posts", title: "A"}) { success message }
}"""
FAIL = f"""
CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{DETAIL}' USING ERRCODE = TG_ARGV[0];
END $$"""
DISK_IS_FULL = """
CREATE TRIGGER fail BEFORE INSERT ON write_side.event EXECUTE FUNCTION public.fail('53100')"""
NO_MEMORY = DISK_IS_FULL.replace("53100", "53200")
ROOM_AGAIN = "DROP TRIGGER fail ON write_side.event"
LIMIT = "SELECT format('ALTER DATABASE %I CONNECTION LIMIT ', current_database())"
DISCONNECT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


@pytest.fixture
async def log(server: Server, acme: ContentBuilder, logged: Logged) -> ReadLog:
    await acme.content_type()
    await server.caught_up()
    await execute(server, FAIL)
    return logged("json")


async def execute(server: Server, *statements: str) -> None:
    async with connected(server.url) as connection:
        for statement in statements:
            await connection.execute(statement)


def check_log(log: ReadLog, fault: str, request_id: str = "mine") -> None:
    lines = [json.decode(line) for line in log().splitlines()]
    [line] = [line for line in lines if line["event"] == "unavailable"]
    assert (line["level"], line["request_id"]) == ("warning", request_id)
    assert fault in line["fault"]
    assert not [line for line in lines if "exception" in line]


def in_full(log: ReadLog) -> list[dict[str, Any]]:
    """The lines with a traceback."""
    return [line for line in map(json.decode, log().splitlines()) if "exception" in line]


@pytest.mark.parametrize("fault", [DISK_IS_FULL, NO_MEMORY])
async def test_a_write_on_a_full_database_may_be_retried(
    fault: str, server: Server, client: Client, log: ReadLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    await execute(server, fault)
    with monkeypatch.context() as patch:
        # Seconds for which an append is retried when memory is exhausted.
        patch.setattr(server.service.repository.recorder._appender, "_patience", 2.0)
        answer = await client.post(ENTRY, headers={"X-Request-Id": "mine"})
    assert (answer.status, answer.headers["Retry-After"], answer.body) == (503, "1", UNAVAILABLE)
    check_log(log, DETAIL)
    await execute(server, ROOM_AGAIN)
    assert (await client.post(ENTRY)).status == 200


async def test_a_mutation_on_a_full_database_fails(
    server: Server, client: Client, log: ReadLog
) -> None:
    await execute(server, DISK_IS_FULL)
    answer = await run_query(client, MUTATION, headers={"X-Request-Id": "mine"})
    payload = answer.body["data"]["createContentEntry"]
    assert payload == {"success": False, "message": UNAVAILABLE["error"]}
    check_log(log, DETAIL)


@pytest.mark.parametrize(
    "kind",
    [
        asyncpg.DiskFullError,
        asyncpg.OutOfMemoryError,
        asyncpg.InvalidCatalogNameError,
        asyncpg.InvalidPasswordError,
    ],
)
async def test_a_read_on_a_full_or_missing_database_may_be_retried(
    kind: type[asyncpg.PostgresError],
    client: Client,
    log: ReadLog,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fetch(*_: Any) -> Any:
        raise kind(DETAIL)

    monkeypatch.setattr(Pool, "fetch", fetch)
    answer = await client.get(LIST, headers={"X-Request-Id": "mine"})
    assert (answer.status, answer.headers["Retry-After"], answer.body) == (503, "1", UNAVAILABLE)
    check_log(log, kind.__name__)


async def test_a_page_on_a_full_database_says_what_to_do(
    server: Server, log: ReadLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch(*_: Any) -> Any:
        raise asyncpg.DiskFullError(DETAIL)

    async with signed_in(server) as visitor:
        monkeypatch.setattr(Pool, "fetch", fetch)
        headers = {"Sec-Fetch-Site": "same-origin", "X-Request-Id": "mine"}
        answer = await visitor.get("/dashboard/entries", headers=headers)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert "base/5" not in answer.text
    check_log(log, DETAIL)


@pytest.mark.parametrize("target", [LIST, f"{LIST}?status=draft&sort=title"])
async def test_a_read_model_that_is_missing_may_be_restored(
    target: str, server: Server, client: Client, log: ReadLog
) -> None:
    await execute(server, "ALTER SCHEMA read_model RENAME TO lost")
    for _ in range(2):
        answer = await client.get(target)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert answer.body == UNAVAILABLE
    # With a traceback, because it could be a fault of the statement.
    [line] = in_full(log)
    assert (line["level"], line["event"]) == ("error", "a table is missing")
    assert 'relation "read_model.' in line["exception"]
    assert line["statement"]
    await execute(server, "ALTER SCHEMA lost RENAME TO read_model")
    assert (await client.get(target)).status == 200


async def test_no_connection_is_left(server: Server, client: Client, log: ReadLog) -> None:
    """A real 53300: the connection limit is 0, and every other connection is terminated."""
    async with connected(server.url) as owner:
        limit = await owner.fetchval(LIMIT)
        await owner.execute(f"{limit} 0")
        await owner.execute(DISCONNECT)
        answer = await client.get(LIST, headers={"X-Request-Id": "mine"})
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert answer.body == UNAVAILABLE
        check_log(log, "TooManyConnectionsError")
        await owner.execute(f"{limit} -1")

    async def answers() -> bool:
        return (await client.get(LIST)).status == 200

    await until(answers)
