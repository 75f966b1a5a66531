"""Many clients of two API processes update one entry without an expected version.

CONTENTLOG_TEST_LAWS=1 sends a thousand updates.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from tests.integration.api import graphql
from tests.integration.api.server import Client
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import SCOPE, ContentBuilder
from tests.processes import Processes, apis
from write_side import commands as c
from write_side.domain.definition import Field
from write_side.domain.entry_changes import Change
from write_side.entry_history import HistoryRequest, histories
from write_side.repository import Repository

pytestmark = pytest.mark.slow

SECRET = "a-secret-of-all-the-clients"
CLIENTS = 20
UPDATES = 50 if "CONTENTLOG_TEST_LAWS" in os.environ else 8


@pytest.fixture
def processes(database_url: str, tmp_path: Path) -> Iterator[list[Processes]]:
    """Two processes that share only the database. No projector runs, and writes do not wait."""
    started = [
        Processes(database_url, tmp_path / f"{n}.log", CONTENTLOG_READ_YOUR_WRITES_MS="0")
        for n in range(2)
    ]
    with apis(started):
        yield started


async def sends(client: Client, entry_id: str, field: str) -> list[tuple[int, int]]:
    """Send each value twice in a row; the second update changes nothing. Return the version and the
    value of each response."""
    answers = []
    for number in range(UPDATES):
        payload = await graphql.update(client, entry_id, fields={field: number // 2})
        assert payload["success"], payload["message"]
        answers.append((payload["entry"]["version"], payload["entry"]["fields"][field]))
    return answers


async def served(process: Processes, stack: AsyncExitStack) -> aiohttp.ClientSession:
    """A session with the process, returned once it responds."""
    session = await stack.enter_async_context(
        aiohttp.ClientSession(process.url, connector=aiohttp.TCPConnector(limit=0))
    )

    async def answers() -> bool:
        try:
            async with session.get("/healthz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    await until(answers, 60)
    return session


async def test_every_change_is_one_event_and_none_is_lost(
    processes: list[Processes], repository: Repository
) -> None:
    builder = ContentBuilder(repository)
    await builder.workspace()
    fields = [f"field-{n}" for n in range(CLIENTS)]
    await builder.content_type(*(Field(slug, slug, "number") for slug in fields))
    entry_id = await builder.entry("one")
    await builder.execute(
        c.IssueKey,
        workspace="acme",
        name="clients",
        permissions=("content.view", "content.edit"),
        secret_hash=hashlib.sha256(SECRET.encode()).hexdigest(),
    )
    async with AsyncExitStack() as stack:
        sessions = [await served(process, stack) for process in processes]
        clients = [Client(session, SECRET) for session in sessions]
        answers = await asyncio.gather(
            *(sends(clients[n % 2], entry_id, slug) for n, slug in enumerate(fields))
        )
    # Each client reads back its own field's value, even if other clients wrote in between.
    values = [number // 2 for number in range(UPDATES)]
    assert [[value for _, value in of_one] for of_one in answers] == [values] * CLIENTS
    entry = await repository.entry(SCOPE, entry_id)
    assert {slug: int(bytes(value)) for slug, value in entry.fields.items()} == dict.fromkeys(
        fields, values[-1]
    )
    await check_events(repository, entry_id, dict(zip(fields, answers, strict=True)))


async def check_events(
    repository: Repository, entry_id: str, answers: dict[str, list[tuple[int, int]]]
) -> None:
    """Each response that changed something has one event with its version; there are no others."""
    changes: list[Change] = []
    while not changes or changes[-1].version > 1:
        before = changes[-1].version if changes else None
        [more] = await histories(repository, SCOPE, [HistoryRequest(entry_id, 100, before)])
        changes += more
    assert [change.version for change in changes] == list(range(len(changes), 0, -1))
    made = {
        (change.version, change.fields[0].field, int(bytes(change.fields[0].after)))
        for change in changes[:-1]
    }
    assert made == {
        (version, f"fields.{slug}", value)
        for slug, of_one in answers.items()
        for version, value in of_one[::2]
    }
    assert len(made) == len(changes) - 1 == CLIENTS * UPDATES // 2
