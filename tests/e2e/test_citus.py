"""A service whose read model is on Citus, as processes (ADR 59).

Run it with `deploy/dev test --engine citus tests/e2e/test_citus.py`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from tests.benchmarks.workload import SECRET, prepare
from tests.engines import engine
from tests.integration.live_projector import connected
from tests.processes import Processes
from write_side.repository import Repository

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        engine().model_engine != "citus", reason="needs `deploy/dev test --engine citus`"
    ),
]
SECONDS = 15.0
START = 120.0
CUT_OFF = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""
LEFT = "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"
Client = aiohttp.ClientSession


@pytest.fixture
async def service(
    repository: Repository, database_url: str, tmp_path: Path
) -> AsyncIterator[Processes]:
    await prepare(repository)
    more = {"CONTENTLOG_READ_YOUR_WRITES_MS": "60000"}
    processes = Processes(database_url, tmp_path / "log", None, **more)
    try:
        processes.start("projector")
        processes.start("api")
        await processes.caught_up(START)
        yield processes
    finally:
        processes.stop()


@pytest.fixture
async def client(service: Processes) -> AsyncIterator[Client]:
    headers, timeout = {"Authorization": f"Bearer {SECRET}"}, aiohttp.ClientTimeout(total=120)
    async with Client(service.url, headers=headers, timeout=timeout) as session:
        yield session


async def workers_of(database_url: str) -> list[str]:
    return (await asyncio.to_thread(engine().nodes, database_url))[1:]


async def read(client: Client, path: str) -> Any:
    async with client.get(path) as response:
        body = await response.json()
        assert response.status == 200, body
        return body["data"]


async def create(client: Client, slug: str, views: int) -> None:
    """Retries until the create succeeds; the entry can then be read."""
    body = {"contentTypeSlug": "posts", "title": f"T {slug}", "slug": slug}
    headers = {"Idempotency-Key": slug}
    while True:
        fields = {"fields": {"views": views}}
        async with client.post("/v1/content", json=body | fields, headers=headers) as response:
            if response.status < 500:
                assert response.status == 200, await response.text()
                assert response.headers["X-Content-Visible"] == "true"
                return


async def test_everything_that_is_written_can_be_read(service: Processes, client: Client) -> None:
    for n in range(3):
        await create(client, f"entry-{n}", n)
    before = datetime.now(UTC).isoformat()
    await create(client, "later", 9)
    posts = "/v1/content/posts"
    drafts = f"{posts}?status=draft"
    assert (await read(client, f"{posts}/entry-1"))["fields"]["views"] == 1
    assert [e["slug"] for e in await read(client, f"{drafts}&limit=2")] == ["later", "entry-2"]
    ranked = await read(client, f"{drafts}&filter[title][contains]=entry&sort=title&limit=2")
    assert [e["slug"] for e in ranked] == ["entry-0", "entry-1"]
    assert [e["slug"] for e in await read(client, f"{drafts}&q=later")] == ["later"]
    past = await read(client, f"{drafts}&asOf={quote(before)}")
    assert [e["slug"] for e in past] == ["entry-2", "entry-1", "entry-0"]
    query = '{ contentEntries(type: "posts", status: draft) { pagination { total } } }'
    async with client.post("/graphql", json={"query": query}) as response:
        answer = await response.json()
    assert answer == {"data": {"contentEntries": {"pagination": {"total": 4}}}}
    changes = await read(client, "/v1/changes")
    assert [one["type"] for one in changes][-4:] == ["entry.created"] * 4
    assert await asyncio.to_thread(service.run, "status") == 0
    assert await asyncio.to_thread(service.run, "migrate") == 1, "settings say 'postgresql'"


async def test_creates_survive_kills_and_lost_workers(
    service: Processes, client: Client, database_url: str
) -> None:
    """A create is acknowledged once it can be read. The list's total never falls below the
    acknowledged creates."""
    rng, created = random.Random(59), 0
    end = time.monotonic() + SECONDS

    async def write(writer: int) -> None:
        nonlocal created
        n = 0
        while time.monotonic() < end:
            await create(client, f"entry-{writer}-{n}", n)
            created, n = created + 1, n + 1

    async def watch() -> None:
        total = 0
        while time.monotonic() < end:
            known = created
            async with client.get("/v1/content/posts?status=draft&limit=1") as response:
                if response.status >= 500:
                    continue
                found = (await response.json())["pagination"]["total"]
            assert found >= max(known, total)
            total = found
            await asyncio.sleep(0.01)

    async def disturb() -> None:
        workers = await workers_of(database_url)
        while time.monotonic() < end:
            await asyncio.sleep(rng.uniform(0.2, 1.0))
            if rng.random() < 0.4:
                service.kill("projector")
                service.start("projector")
            else:
                async with connected(rng.choice(workers)) as connection:
                    await connection.execute(CUT_OFF)

    await asyncio.gather(*(write(n) for n in range(4)), watch(), watch(), disturb())
    await service.caught_up(START)
    async with client.get("/v1/content/posts?status=draft&limit=1") as response:
        assert (await response.json())["pagination"]["total"] == created
    for worker in await workers_of(database_url):
        async with connected(worker) as connection:
            assert await connection.fetchval(LEFT) == 0


async def test_a_prepared_transaction_of_a_worker_delays_but_stops_nothing(
    service: Processes, client: Client, database_url: str
) -> None:
    """A coordinator that is cut off from a worker between the two phases leaves such a
    transaction."""
    await create(client, "before", 1)
    worker = (await workers_of(database_url))[0]
    async with connected(worker, **{"citus.override_table_visibility": "off"}) as connection:
        shard = await connection.fetchval(
            "SELECT oid::regclass::text FROM pg_class WHERE relname LIKE 'checkpoint\\_%' "
            "AND relkind = 'r' LIMIT 1"
        )
        await connection.execute("BEGIN")
        await connection.execute(f"UPDATE {shard} SET moved_at = moved_at")  # noqa: S608
        await connection.execute("PREPARE TRANSACTION 'left'")
        creating = asyncio.create_task(create(client, "after", 2))
        await asyncio.sleep(2)
        assert not creating.done()
        await connection.execute("COMMIT PREPARED 'left'")
        await creating
