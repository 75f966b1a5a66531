"""Projector and API as processes on two databases, each behind a proxy, under load."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import aiohttp

from tests.integration.live_projector import caught_up, connected, dump, project_all, until
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import Processes
from write_side import commands as c
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

SECRET = "a-secret-of-the-fault-tests"
# Seconds. A process waits up to about twenty in total for an unresponsive database.
PATIENCE = 120.0
PACE = 0.1
# Rate limits are on, as in production: requests are counted in the event store's database.
COUNTED = {f"CONTENTLOG_{of}_RATE_LIMIT": "1000000" for of in ("KEY", "IP")}
_ENTRIES = "SELECT substr(originator_id, 7) FROM write_side.event WHERE topic = 'entry.created.v1'"


class Load:
    """Sends creates and reads until stopped, and records the responses."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self.stopped = False
        self.created: set[str] = set()
        self.creates: list[int] = []
        self.reads: list[int] = []

    async def create_until_stopped(self) -> None:
        for n in itertools.count():
            if self.stopped:
                return
            body = {"contentTypeSlug": "posts", "title": f"Post {n}"}
            async with self._session.post("/v1/content", json=body) as response:
                if response.status == 200:
                    self.created.add((await response.json())["data"]["id"])
                self.creates.append(response.status)
            await asyncio.sleep(PACE)

    async def read_until_stopped(self) -> None:
        while not self.stopped:
            async with self._session.get("/v1/content/posts?status=draft") as response:
                self.reads.append(response.status)
            await asyncio.sleep(PACE)

    async def until_creates_get(self, status: int) -> None:
        """Waits until creates get this status."""
        await _answered(self.creates, status)

    async def until_reads_get(self, status: int) -> None:
        await _answered(self.reads, status)


async def _answered(answers: list[int], status: int) -> None:
    since = len(answers)
    # Of two successes the second was sent after this call. One refusal is enough.
    enough = 2 if status == 200 else 1

    async def answered() -> bool:
        return answers[since:].count(status) >= enough

    await until(answered, PATIENCE)


class Service:
    """The two processes. ``store_url`` and ``model_url`` bypass the proxies."""

    def __init__(self, store_url: str, model_url: str, processes: Processes) -> None:
        self.store_url = store_url
        self.model_url = model_url
        self.processes = processes
        self.session: aiohttp.ClientSession
        self.load: Load

    async def readiness(self) -> tuple[int, Any]:
        await asyncio.sleep(PACE)
        async with self.session.get("/readyz") as response:
            return response.status, await response.json()

    async def until_ready(self) -> None:
        async def ready() -> bool:
            return (await self.readiness())[0] == 200

        await until(ready, PATIENCE)

    async def until_unavailable(self) -> None:
        """Waits until readiness reports that a database does not respond."""

        async def not_ready() -> bool:
            status, body = await self.readiness()
            return status == 503 and "a database does not respond" in body["reason"]

        await until(not_ready, PATIENCE)

    async def check(self, fresh_model_url: str) -> None:
        """Checks that every acknowledged create is in the log, and that the read model has the
        whole log, each event once."""
        async with connected(self.store_url) as connection:
            rows = await connection.fetch(_ENTRIES)
        assert self.load.created <= {row[0] for row in rows}
        assert {*self.load.creates, *self.load.reads} <= {200, 503}
        await caught_up(self.store_url, self.model_url, PATIENCE)
        await project_all(self.store_url, fresh_model_url)
        assert await dump(self.model_url) == await dump(fresh_model_url)

    async def until_caught_up(self) -> None:
        """Waits until the read model has everything now in the log, and readiness says so."""
        head = await caught_up(self.store_url, self.model_url, PATIENCE)

        async def is_caught_up() -> bool:
            status, body = await self.readiness()
            return status == 200 and body["head"] == body["checkpoint"] >= head

        await until(is_caught_up, PATIENCE)


@asynccontextmanager
async def under_load(service: Service) -> AsyncIterator[Load]:
    """Runs clients that create and read until the end; then each gets its last response. Raises
    any error other than an HTTP response."""
    load = service.load = Load(service.session)
    works = (load.create_until_stopped, load.read_until_stopped)
    tasks = [asyncio.create_task(work()) for work in works]
    try:
        await load.until_creates_get(200)
        await load.until_reads_get(200)
        yield load
    finally:
        load.stopped = True
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert ended == [None, None]


@asynccontextmanager
async def serving(
    store_url: str,
    model_url: str,
    log: Path,
    *,
    through: Callable[[str], str] = str,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[Service]:
    """Starts the service. ``through`` maps a database URL to the URL that the processes use."""
    await prepare(store_url)
    settings = {"CONTENTLOG_READ_MODEL_URL": through(model_url), **COUNTED, **environment}
    processes = Processes(through(store_url), log, **settings)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(asyncio.to_thread, processes.stop)
        service = Service(store_url, model_url, processes)
        for name in ("projector", "api"):
            processes.start(name)
        service.session = await stack.enter_async_context(
            aiohttp.ClientSession(
                processes.url,
                headers={"Authorization": f"Bearer {SECRET}"},
                timeout=aiohttp.ClientTimeout(total=PATIENCE),
            )
        )
        await processes.caught_up(PATIENCE)
        yield service


async def prepare(store_url: str) -> None:
    """Creates a workspace with a content type and a key."""
    async with open_recorder(store_url) as recorder:
        builder = ContentBuilder(Repository(recorder, EventMapper()))
        await builder.magazine()
        await builder.execute(
            c.IssueKey,
            workspace="acme",
            name="load",
            permissions=("content.view", "content.edit", "service.view"),
            secret_hash=hashlib.sha256(SECRET.encode()).hexdigest(),
        )
