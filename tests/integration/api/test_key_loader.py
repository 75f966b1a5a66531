"""Keys that are loaded change by change equal those that a fresh start loads."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from api.auth import keys as module
from api.auth.keys import KeyLoader, Keys
from tests.integration.live_projector import connected
from tests.integration.projector.sample_log import ContentBuilder
from write_side import commands as c
from write_side.domain.events import Plan
from write_side.domain.identity import Scope
from write_side.domain.refusals import Refused
from write_side.domain.workspace import secret_hash
from write_side.postgres.connection import Connection
from write_side.repository import Repository
from write_side.store import access


class RecordingFetch:
    """Forwards statements to the store and records them."""

    def __init__(self, repository: Repository) -> None:
        self._fetch = repository.recorder.fetch
        self.statements: list[str] = []

    async def __call__(self, statement: str, *parameters: Any) -> Any:
        self.statements.append(statement)
        return await self._fetch(statement, *parameters)


@pytest.fixture
def fetch(repository: Repository) -> RecordingFetch:
    return RecordingFetch(repository)


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[Connection]:
    async with connected(database_url) as connection:
        yield connection


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


async def issue(
    builder: ContentBuilder, name: str, permissions: tuple[str, ...] = ("content.view",)
) -> None:
    await builder.execute(
        c.IssueKey,
        workspace=builder.scope.workspace,
        name=name,
        permissions=permissions,
        secret_hash=secret_hash(f"{name} of {builder.scope.workspace}"),
    )


async def workspace(repository: Repository, slug: str) -> ContentBuilder:
    builder = ContentBuilder(repository, Scope(slug, "production"))
    await builder.workspace(staging=True)
    return builder


def loaded_callers(keys: Keys) -> list[Any]:
    """The callers of all loaded keys."""
    return sorted(map(repr, (keys.caller(one, NOON) for one in keys._by_digest)))


async def keys_after_fresh_load(repository: Repository) -> list[Any]:
    claims = KeyLoader(repository.recorder.fetch, repository)
    await claims.refresh()
    return loaded_callers(claims.keys)


async def test_the_keys_in_memory_match_the_store_after_every_change(
    repository: Repository, fetch: RecordingFetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 3)
    rng = random.Random(20261121)
    claims = KeyLoader(fetch, repository)
    await claims.refresh()
    fetch.statements.clear()
    workspaces = [await workspace(repository, "first")]
    for n in range(60):
        for _ in range(rng.randint(1, 6)):
            builder = rng.choice(workspaces)
            if rng.random() < 0.1:
                workspaces.append(await workspace(repository, f"w-{len(workspaces)}"))
            else:
                await change(builder, rng)
        await claims.refresh()
        assert loaded_callers(claims.keys) == await keys_after_fresh_load(repository), n
    assert len(claims.keys._by_digest) > 5
    assert access._LIVE not in fetch.statements, "it was never read from the start again"


async def change(builder: ContentBuilder, rng: random.Random) -> None:
    name, slug = rng.choice("abcd"), builder.scope.workspace
    permissions = rng.choice([("content.view",), ("content.view", "content.edit")])
    try:
        match rng.randrange(5):
            case 0 | 1:
                await issue(builder, name, permissions)
            case 2:
                await builder.execute(c.RevokeKey, workspace=slug, name=name)
            case 3:
                await builder.execute(
                    c.PermitKey, workspace=slug, name=name, permissions=permissions
                )
            case _:
                plan = Plan(staging=True, entries=rng.randrange(100))
                await builder.execute(c.ChangePlan, workspace=slug, plan=plan)
                await builder.execute(c.AddEnvironment, scope=Scope(slug, "staging"))
    except Refused:
        pass  # The key exists already, or it does not exist.


async def test_one_small_query_is_sent_if_nothing_has_changed(
    repository: Repository, fetch: RecordingFetch
) -> None:
    builder = await workspace(repository, "acme")
    await issue(builder, "a")
    await builder.content_type()
    claims = KeyLoader(fetch, repository)
    await claims.refresh()
    fetch.statements.clear()
    await builder.entry("one")
    await claims.refresh()
    assert fetch.statements == [access._MARK]


@pytest.mark.parametrize("how", ["restored", "failed over", "far behind", "repaired"])
async def test_all_keys_are_read_if_the_log_is_not_sufficient(
    how: str,
    repository: Repository,
    fetch: RecordingFetch,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builder = await workspace(repository, "acme")
    await issue(builder, "a")
    claims = KeyLoader(fetch, repository)
    await claims.refresh()
    assert len(claims.keys._by_digest) == 1
    # Changed by hand, as if the log had lost the event behind it.
    await connection.execute("UPDATE write_side.key_claim SET revoked = true")
    if how == "restored":
        await connection.execute("UPDATE write_side.access SET version = version - 1")
    elif how == "repaired":
        await builder.execute(c.RenameWorkspace, workspace="acme", name="Acme & Sons")
        await connection.execute("UPDATE write_side.access SET version = version + 1")
    elif how == "failed over":
        since = "(pg_postmaster_start_time() - interval '1 hour')"
        mark = access._MARK.replace("pg_postmaster_start_time()", since)
        monkeypatch.setattr(access, "_MARK", mark)
    else:
        monkeypatch.setattr(module, "FAR", 1)
        for n in range(2):
            await builder.execute(c.RenameWorkspace, workspace="acme", name=f"Acme {n}")
    await claims.refresh()
    assert len(claims.keys._by_digest) == 0


async def test_keys_remain_available_while_they_are_read_again(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = await workspace(repository, "acme")
    await issue(builder, "a")
    claims = KeyLoader(repository.recorder.fetch, repository)
    await claims.refresh()
    claims._mark = None
    reading = asyncio.create_task(claims.refresh())
    seen = 0
    while not reading.done():
        assert claims.keys.caller(secret_hash("a of acme"), NOON)
        seen += 1
        await asyncio.sleep(0)
    await reading
    assert seen > 1
