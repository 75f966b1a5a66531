"""Each change reaches every endpoint at least once, in order, and never before it can be read.

This holds while deliverers are killed and endpoints fail at random, while the read model is rebuilt
and rolled back, and while the active deliverer is paused.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.e2e.commands import Commands
from tests.e2e.postgres import postgres
from tests.e2e.test_rebuild_processes import kill_everywhere
from tests.integration.api.deliveries import SECRET, create_webhook
from tests.integration.api.hook_server import HookServer, answer, hook_server
from tests.integration.deploy.processes import eventually
from tests.integration.live_projector import project_all
from tests.integration.projector.sample_log import ACTOR, ContentBuilder
from tests.processes import Processes, open_folder
from write_side.commands import Command
from write_side.dispatch import execute
from write_side.repository import Repository
from write_side.store.conflicts import StoreUnavailable
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

pytestmark = pytest.mark.slow

ENDPOINTS = 20
ENTRIES = 500
FAILURES = 0.003
"""The share of deliveries that fail. A failed one is retried after two to four seconds."""
IMPORT = 25
PATIENCE = 600.0
DELIVERERS = ("webhooks 1", "webhooks 2")
_VERSION = "SELECT version FROM read_model.entry WHERE id = $1::uuid"


class Endpoint:
    """Fails at random, and records its requests and the entries that could not be read yet."""

    def __init__(self, read_model: asyncpg.Pool, seed: int, failures: float = FAILURES) -> None:
        self._read_model = read_model
        self._failures = failures
        self._random = random.Random(seed)
        self.server = HookServer()
        self.early: list[str] = []

    async def answer(self, server: HookServer, writer: asyncio.StreamWriter) -> None:
        body = server.received[-1].json
        entry = body["data"]["entry"]
        try:
            version = await self._read_model.fetchval(_VERSION, entry["id"])
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            await answer(503)(server, writer)
            return
        if (version or 0) < entry["version"]:
            self.early.append(entry["slug"])
        if self._random.random() < self._failures:
            if self._random.random() < 0.5:
                writer.close()
                return
            await answer(500)(server, writer)
        else:
            await answer(200)(server, writer)


class PersistentWriter(ContentBuilder):
    """Retries a command until the event store responds. The idempotency key makes the log record it
    once."""

    async def execute(self, command: type[Command], **arguments: Any) -> Any:
        written = command(actor=ACTOR, **arguments)
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    executed = await execute(written, self.repository)
                except StoreUnavailable:
                    await asyncio.sleep(0.1)
                else:
                    return executed.events[0].event if executed.events else None


@pytest.fixture
def own_folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder / "data"


@pytest.fixture
async def processes(database_url: str, tmp_path: Path) -> AsyncIterator[Processes]:
    processes = Processes(database_url, tmp_path / "log", CONTENTLOG_WEBHOOK_NETWORKS="127.0.0.0/8")
    try:
        processes.start("projector")
        for name in DELIVERERS:
            processes.start(name)
        yield processes
    finally:
        await asyncio.to_thread(processes.stop)


async def test_each_change_arrives_in_order_although_the_deliverer_is_killed(
    repository: Repository, database_url: str, processes: Processes
) -> None:
    builder = ContentBuilder(repository)
    await builder.magazine()
    rng = random.Random(7)
    async with asyncpg.create_pool(database_url, min_size=1, max_size=4) as read_model:
        endpoints = [Endpoint(read_model, seed) for seed in range(ENDPOINTS)]
        async with AsyncExitStack() as servers:
            for endpoint in endpoints:
                endpoint.server = await servers.enter_async_context(hook_server(endpoint.answer))
            for number, endpoint in enumerate(endpoints):
                await create_webhook(builder, endpoint.server, f"w{number}")
            writing = asyncio.create_task(write(builder, rng))
            kills = await kill_until_delivered(processes, endpoints, writing, rng)
            expected = await writing
    assert kills >= 5
    for endpoint in endpoints:
        check(endpoint, expected)


async def test_nothing_is_lost_while_the_read_model_is_rebuilt_and_rolled_back(
    repository: Repository, database_url: str, processes: Processes
) -> None:
    builder, rng = ContentBuilder(repository), random.Random(8)
    await builder.magazine()
    async with delivered_to(builder, database_url) as endpoints:
        writing = asyncio.create_task(write(builder, rng))
        operations = 0
        while operations < 2 or not writing.done():
            for command in (["rebuild", "--accept-differences"], ["rollback"]):
                assert await asyncio.to_thread(processes.run, *command) == 0
                operations += 1
        expected = await writing
        await until_delivered(endpoints, expected)
    for endpoint in endpoints:
        check(endpoint, expected)


async def test_the_standby_takes_over_from_a_process_that_is_paused(
    repository: Repository, database_url: str, processes: Processes
) -> None:
    """When it resumes, it does not send the deliveries it was about to send."""
    builder, rng = ContentBuilder(repository), random.Random(9)
    await builder.magazine()
    await asyncio.to_thread(processes.kill, DELIVERERS[1])
    async with delivered_to(builder, database_url) as endpoints:
        expected = await write(builder, rng, 10)
        await until_delivered(endpoints, expected)
        # The first deliverer is active, so this one stands by.
        processes.start(DELIVERERS[1])
        writing = asyncio.create_task(write(builder, rng, 250, len(expected)))
        await endpoints[0].server.has(len(expected) + 50, PATIENCE)
        processes.running[DELIVERERS[0]].send_signal(signal.SIGSTOP)
        expected += await writing
        await until_delivered(endpoints, expected)
        writing = asyncio.create_task(write(builder, rng, 250, len(expected)))
        processes.running[DELIVERERS[0]].send_signal(signal.SIGCONT)
        expected += await writing
        await until_delivered(endpoints, expected)
    for endpoint in endpoints:
        check(endpoint, expected)


async def test_a_deliverer_killed_at_every_statement_leaves_nothing_out(
    repository: Repository, database_url: str
) -> None:
    builder = ContentBuilder(repository)
    await builder.magazine()
    async with delivered_to(builder, database_url, 2) as endpoints:
        expected = await write(builder, random.Random(10), 40)
        await project_all(database_url, database_url)
        kills = await asyncio.to_thread(kill_everywhere, "webhooks", database_url, database_url)
    assert kills > 15
    for endpoint in endpoints:
        check(endpoint, expected)


async def test_nothing_is_lost_while_a_projector_is_replaced_and_the_database_restarts(
    tmp_path: Path, own_folder: Path
) -> None:
    """The active projector is killed and its standby takes over; then PostgreSQL restarts."""
    rng, expected = random.Random(11), list[str]()
    with postgres(own_folder) as server:
        url = server.url()
        await Commands(url, url, tmp_path).run("migrate")
        async with AsyncExitStack() as stack:
            processes = Processes(url, tmp_path / "log", CONTENTLOG_WEBHOOK_NETWORKS="127.0.0.0/8")
            stack.push_async_callback(asyncio.to_thread, processes.stop)
            for name in ("projector 1", "projector 2", DELIVERERS[0]):
                processes.start(name)
            recorder = await stack.enter_async_context(open_recorder(url))
            builder = PersistentWriter(Repository(recorder, EventMapper()))
            await builder.magazine()
            endpoints = await stack.enter_async_context(delivered_to(builder, url, 2))
            for disturb in (partial(processes.kill, "projector 1"), server.restart):
                writing = asyncio.create_task(write(builder, rng, 100, len(expected)))
                await endpoints[0].server.has(len(expected) + 5, PATIENCE)
                await asyncio.to_thread(disturb)
                expected += await writing
            await until_delivered(endpoints, expected)
    for endpoint in endpoints:
        check(endpoint, expected)


@asynccontextmanager
async def delivered_to(
    builder: ContentBuilder, database_url: str, number_of: int = 5
) -> AsyncIterator[list[Endpoint]]:
    """Starts endpoints that accept everything."""
    async with (
        asyncpg.create_pool(database_url, min_size=1, max_size=4) as read_model,
        AsyncExitStack() as servers,
    ):
        endpoints = [Endpoint(read_model, seed, failures=0.0) for seed in range(number_of)]
        for number, endpoint in enumerate(endpoints):
            endpoint.server = await servers.enter_async_context(hook_server(endpoint.answer))
            await create_webhook(builder, endpoint.server, f"w{number}")
        yield endpoints


async def until_delivered(endpoints: list[Endpoint], expected: list[str]) -> None:
    await eventually(lambda: all(has_all(one, expected) for one in endpoints), PATIENCE)


async def write(
    builder: ContentBuilder, rng: random.Random, number: int = ENTRIES, first: int = 0
) -> list[str]:
    """Creates entries, singly and in imports; returns their slugs in log order."""
    slugs: list[str] = []
    while len(slugs) < number:
        new = [f"e{first + len(slugs) + n}" for n in range(rng.choice((1, 1, 1, IMPORT)))]
        if len(new) == 1:
            await builder.entry(new[0])
        else:
            await builder.imports({"title": slug, "slug": slug} for slug in new)
        slugs += new
        await asyncio.sleep(rng.random() * 0.05)
    return slugs


async def kill_until_delivered(
    processes: Processes,
    endpoints: list[Endpoint],
    writing: asyncio.Task[list[str]],
    rng: random.Random,
) -> int:
    """Kills deliverers until everything is delivered; returns the number of kills."""
    kills, enough, deadline = 0, 0, time.monotonic() + PATIENCE
    while not (writing.done() and all(has_all(one, writing.result()) for one in endpoints)):
        assert time.monotonic() < deadline, f"not delivered in time: {delivered(endpoints)}"
        await asyncio.sleep(0.02)
        # Kill only after progress, so that a slow machine has time to start a process in between.
        if delivered(endpoints) >= enough:
            name = rng.choice(DELIVERERS)
            await asyncio.to_thread(processes.kill, name)
            processes.start(name)
            kills += 1
            enough = delivered(endpoints) + rng.randrange(1, 1_000)
    return kills


def delivered(endpoints: list[Endpoint]) -> int:
    return sum(len(one.server.received) for one in endpoints)


def has_all(endpoint: Endpoint, expected: list[str]) -> bool:
    return slugs_of(endpoint) >= set(expected)


def slugs_of(endpoint: Endpoint) -> set[str]:
    return {one.json["data"]["entry"]["slug"] for one in endpoint.server.received}


def check(endpoint: Endpoint, expected: list[str]) -> None:
    place = {slug: number for number, slug in enumerate(expected)}
    bodies = [one.verified(SECRET) for one in endpoint.server.received]
    received = [place[body["data"]["entry"]["slug"]] for body in bodies]
    assert received[0] == 0
    for before, after in itertools.pairwise(received):
        # A repetition goes back at most two: an outcome is recorded during the next delivery.
        assert before - 2 <= after <= before + 1, "in order"
    # After the last kill, the last deliveries may just be repeated.
    assert max(received) == len(expected) - 1
    assert endpoint.early == []
    ids = {place: one.id for place, one in zip(received, endpoint.server.received, strict=True)}
    assert len(set(ids.values())) == len(expected)
    for number, one in zip(received, endpoint.server.received, strict=True):
        assert one.id == ids[number], "the same id on every try"
