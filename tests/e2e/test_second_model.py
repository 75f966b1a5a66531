"""A second read model, in its own database, beside the first.

Its projector fills it from position 0, and its API serves the same content.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec import Struct

from read_side.schema import LIVE, PREVIOUS
from tests.e2e.commands import Commands
from tests.integration.live_projector import caught_up, connected, dump, rendered, until
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.rebuilds import schemas
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import Processes, running
from write_side import commands as c
from write_side.repository import Repository

pytestmark = pytest.mark.slow

SECRETS = {"acme": "a-secret-of-acme-for-both", "other": "a-secret-of-other-for-both"}
OF_ONE_ANSWER = {"date", "x-request-id"}
OF_ITS_RATE = "x-ratelimit-"
ENVIRONMENTS = ("", "staging")
STATUSES = ("published", "draft", "archived")
_IDENTITY = """
SELECT checkpoint.*, 'read_model'::regnamespace::oid FROM read_model.checkpoint"""
_DAMAGE = """
UPDATE read_model.entry SET title = 'Damaged'
WHERE id = (SELECT id FROM read_model.entry ORDER BY id LIMIT 1)"""


class ModelInstallation(Struct):
    """A read model, its processes, and commands that run on it."""

    url: str
    processes: Processes
    commands: Commands

    @property
    def api(self) -> str:
        return self.processes.url


@pytest.fixture
async def log(repository: Repository) -> Repository:
    await RandomCommands(repository, 20).execute(120)
    builder = ContentBuilder(repository)
    for workspace, secret in SECRETS.items():
        await builder.execute(
            c.IssueKey,
            workspace=workspace,
            name="reader",
            permissions=("content.view", "content.edit"),
            secret_hash=hashlib.sha256(secret.encode()).hexdigest(),
        )
    return repository


@asynccontextmanager
async def installation(
    store_url: str, model_url: str, log: Path
) -> AsyncIterator[ModelInstallation]:
    commands = Commands(store_url, model_url, log.parent)
    await commands.run("migrate")
    with running(store_url, log, CONTENTLOG_READ_MODEL_URL=model_url) as processes:
        await processes.caught_up()
        yield ModelInstallation(model_url, processes, commands)


@pytest.fixture
async def first(
    database_url: str, log: Repository, tmp_path: Path
) -> AsyncIterator[ModelInstallation]:
    async with installation(database_url, database_url, tmp_path / "first.log") as found:
        yield found


@pytest.fixture
async def second(
    database_url: str, first: ModelInstallation, empty_database_url: str, tmp_path: Path
) -> AsyncIterator[ModelInstallation]:
    """A second read model, created long after the first."""
    async with installation(database_url, empty_database_url, tmp_path / "second.log") as found:
        yield found


async def test_a_second_model_serves_the_same_and_is_rebuilt_independently(
    first: ModelInstallation, second: ModelInstallation, database_url: str
) -> None:
    assert await compare_answers(first, second) > 50
    await check_reads_across_apis(first, second)
    for each in (first, second):
        await caught_up(database_url, each.url)
        await rendered(each.url)
    before, dumped = await identity(first.url), await dump(first.url)
    await damage_and_rebuild_second(first, second)
    assert await identity(first.url) == before
    assert await schemas(first.url) == [LIVE]
    assert await schemas(second.url) == [LIVE, PREVIOUS]
    await rendered(second.url)
    assert await dump(first.url) == await dump(second.url) == dumped


async def damage_and_rebuild_second(first: ModelInstallation, second: ModelInstallation) -> None:
    async with connected(second.url) as connection:
        await connection.execute(_DAMAGE)
    refused = await second.commands.refused("verify", "--json")
    assert refused.result["readModel"] == 1
    seen = await first.commands.run("verify", "--json")
    assert (seen.result["readModel"], seen.result["claims"]) == (0, 0)
    await second.commands.refused("rebuild")
    done = await second.commands.run("rebuild", "--accept-differences", "--json")
    assert done.result["differences"] == 1
    await second.commands.run("rollback")
    await second.commands.refused("verify", "--json")
    await second.commands.run("rollback")
    await second.commands.run("verify")


async def identity(url: str) -> tuple[Any, ...]:
    """Values that a rebuild, a rollback or another projector would change."""
    async with connected(url) as connection:
        row = await connection.fetchrow(_IDENTITY)
    assert row is not None
    return tuple(row)


async def check_reads_across_apis(first: ModelInstallation, second: ModelInstallation) -> None:
    """Each API accepts the other's position tokens and waits for the position."""
    headers = {"Authorization": f"Bearer {SECRETS['acme']}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.get(f"{first.api}/v1/content-types") as types:
            slug = (await types.json())["data"][0]["slug"]
        for writing, reading in ((first, second), (second, first)):
            body = {"contentTypeSlug": slug, "title": "New", "slug": f"by-{writing.processes.port}"}
            async with session.post(f"{writing.api}/v1/content", json=body) as created:
                assert created.status == 200
                token = {"X-Content-Position": created.headers["X-Content-Position"]}
            path = f"{reading.api}/v1/content/{slug}/{body['slug']}"
            await until(partial(is_read, session, path, token))


async def is_read(session: aiohttp.ClientSession, path: str, token: dict[str, str]) -> bool:
    """The status is never 404; on a busy machine it may be 503."""
    async with session.get(path, headers=token) as response:
        assert response.status in (200, 503)
        return response.status == 200


async def compare_answers(first: ModelInstallation, second: ModelInstallation) -> int:
    """Reads everything through both APIs and compares the responses. Returns the number of
    comparisons."""
    compared = 0
    async with aiohttp.ClientSession() as session:
        for workspace in SECRETS:
            for environment in ENVIRONMENTS:
                paths_ = paths(session, first, workspace, environment)
                async for path in paths_:
                    answers = [
                        await answer(session, one, workspace, environment, path)
                        for one in (first, second)
                    ]
                    assert answers[0] == answers[1], path
                    compared += 1
    return compared


async def paths(
    session: aiohttp.ClientSession, first: ModelInstallation, workspace: str, environment: str
) -> AsyncIterator[str]:
    for path in ("/v1/content-types", "/v1/content", "/v1/content/none-such"):
        yield path
    _, _, body = await answer(session, first, workspace, environment, "/v1/content-types")
    for slug in [found["slug"] for found in body["data"]]:
        yield f"/v1/content-types/{slug}"
        for status in STATUSES:
            for query in (f"status={status}", f"status={status}&locale=fr-FR&limit=3"):
                yield f"/v1/content/{slug}?{query}"
            path = f"/v1/content/{slug}?limit=5&status={status}"
            _, _, page = await answer(session, first, workspace, environment, path)
            for entry in page["data"]:
                for locale in ("en-US", "de-DE"):
                    yield f"/v1/content/{slug}/{entry['slug']}?status={status}&locale={locale}"


async def answer(
    session: aiohttp.ClientSession,
    installation: ModelInstallation,
    workspace: str,
    environment: str,
    path: str,
) -> tuple[int, list[tuple[str, str]], Any]:
    """Returns the status, the headers except those of a single response, the text, and the decoded
    body."""
    headers = {"Authorization": f"Bearer {SECRETS[workspace]}"}
    if environment:
        headers["X-Environment"] = environment
    async with session.get(f"{installation.api}{path}", headers=headers) as response:
        of_all = [
            (name, value)
            for name, value in response.headers.items()
            if name.lower() not in OF_ONE_ANSWER and not name.lower().startswith(OF_ITS_RATE)
        ]
        return response.status, [*of_all, ("", await response.text())], await response.json()
