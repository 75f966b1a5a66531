"""Read replicas (ADR 52): a primary and two standbys, one of which applies WAL half a second late.

No response shows less than one received before its request was sent, even while a standby is
killed, frozen and restarted. CONTENTLOG_TEST_REPLICAS_SECONDS sets the duration.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.benchmarks.workload import SECRET, prepare
from tests.e2e.commands import Commands
from tests.e2e.postgres import Postgres, postgres
from tests.e2e.staleness import LoadTest, clients, metric
from tests.processes import Processes, open_folder
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("CONTENTLOG_TEST_REPLICAS_SECONDS", "10"))
DELAY = "recovery_min_apply_delay=500ms"
USED = 'contentlog_replica_reads_total{outcome="used"}'
POST = {"contentTypeSlug": "posts", "title": "T", "fields": {"views": 1}}


class Servers:
    """A primary and two standbys. ``late`` applies everything late."""

    def __init__(self, primary: Postgres, late: Postgres, prompt: Postgres) -> None:
        self.primary = primary
        self.late = late
        self.prompt = prompt
        self.url = primary.url("store")

    def processes(self, log: Path, **environment: str) -> Processes:
        replicas = ",".join(each.url("store") for each in (self.late, self.prompt))
        return Processes(
            self.url,
            log,
            CONTENTLOG_READ_YOUR_WRITES_MS="30000",
            CONTENTLOG_READ_REPLICA_URLS=replicas,
            **environment,
        )


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def servers(folder: Path) -> Iterator[Servers]:
    """Servers with a workspace, its key and a content type."""
    with ExitStack() as stack:
        primary = stack.enter_context(postgres(folder / "primary"))
        primary.run("createdb", "store")
        asyncio.run(fill(primary.url("store"), folder))
        standbys = []
        for name, settings in (("late", (DELAY,)), ("prompt", ())):
            standby = Postgres(folder / name)
            standby.make_standby_of(primary, *settings)
            standby.start()
            stack.callback(standby.stop)
            standbys.append(standby)
        yield Servers(primary, *standbys)


async def fill(url: str, folder: Path) -> None:
    await Commands(url, url, folder).run("migrate")
    async with open_recorder(url) as recorder:
        await prepare(Repository(recorder, EventMapper()))


@pytest.fixture(scope="module")
def started(servers: Servers, folder: Path) -> Iterator[list[Processes]]:
    """A projector, and API processes on two machines: two on the first, one of them with a cache,
    and one on the second."""
    (folder / "other").mkdir()
    uncached = {"CONTENTLOG_CACHE_BYTES": "0"}
    other = {**uncached, "TMPDIR": str(folder / "other")}
    with ExitStack() as stack:
        processes = []
        for n, environment in enumerate(({}, uncached, other)):
            each = servers.processes(folder / f"log-{n}", **environment)
            stack.callback(each.stop)
            each.start("api")
            processes.append(each)
        processes[0].start("projector")
        yield processes


async def until_used(process: Processes, replica: Postgres, patience: float = 120) -> None:
    """Waits until the process reads from the replica again."""
    name, deadline = f"127.0.0.1:{replica.port}", time.monotonic() + patience
    while not await metric(process, f'contentlog_replica_up{{replica="{name}"}}'):
        assert time.monotonic() < deadline, f"{name} is not used"
        await asyncio.sleep(0.05)


async def disturb(load: LoadTest, processes: list[Processes], late: Postgres) -> None:
    """Kills, restarts, freezes and resumes a standby."""
    end = time.monotonic() + SECONDS
    while True:
        await asyncio.sleep(load.rng.uniform(0.5, 1.5))
        await kill(load, late)
        for each in processes:
            await until_used(each, late)
        await asyncio.sleep(load.rng.uniform(0.5, 1.5))
        await freeze(load, late)
        for each in processes:
            await until_used(each, late)
        if time.monotonic() > end:
            return


async def kill(load: LoadTest, standby: Postgres) -> None:
    load.record_event("kill the standby")
    standby.signal(signal.SIGKILL)
    await asyncio.sleep(load.rng.uniform(0, 1))
    deadline = time.monotonic() + 120
    while True:
        try:
            await asyncio.to_thread(standby.start)
            return
        except AssertionError:  # the last process of the killed server may still be running
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)


async def freeze(load: LoadTest, standby: Postgres) -> None:
    load.record_event("freeze the standby")
    standby.signal(signal.SIGSTOP)
    try:
        await asyncio.sleep(load.rng.uniform(0.5, 3))
    finally:
        standby.signal(signal.SIGCONT)


async def test_no_request_is_answered_with_less_than_was_answered_before(
    servers: Servers, started: list[Processes]
) -> None:
    machine = started[:2]
    load = LoadTest(machine, servers.url, pause=0.6)
    async with clients(load) as work_until:
        for each in machine:
            for standby in (servers.late, servers.prompt):
                await work_until(until_used(each, standby))
        await work_until(disturb(load, machine, servers.late))
        used = [await metric(each, USED) for each in machine]
    sys.stdout.write(f"\n{dict(load.counts)}, read on replicas: {used}\n")
    assert load.counts["reads without an answer"] == 0
    assert load.counts["writes without an answer"] == 0
    assert load.counts["changes"] > SECONDS / 2
    assert used[0] > 0, "replicas read what is not in memory"
    assert used[1] > 50


@asynccontextmanager
async def session_of(process: Processes) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {SECRET}"}
    async with aiohttp.ClientSession(process.url, headers=headers) as session:
        yield session


async def test_a_position_from_another_machine_is_included(
    servers: Servers, started: list[Processes]
) -> None:
    writer, _, reader = started
    for each in (writer, reader):
        await each.caught_up()
    for standby in (servers.late, servers.prompt):
        await until_used(reader, standby)
    async with session_of(writer) as writing, session_of(reader) as reading:
        for n in range(20):
            async with writing.post("/v1/content", json={**POST, "slug": f"s{n}"}) as answer:
                assert answer.status == 200, await answer.text()
                token = answer.headers["X-Content-Position"]
            headers = {"X-Content-Position": token}
            async with reading.get("/v1/content?limit=100", headers=headers) as answer:
                assert (await answer.json())["data"][0]["slug"] == f"s{n}"
            async with reading.get(f"/v1/content/posts/s{n}", headers=headers) as answer:
                assert answer.status == 200
        deadline = time.monotonic() + 120
        while await metric(reader, USED) < 20:
            assert time.monotonic() < deadline
            async with reading.get("/v1/content?limit=100") as answer:
                assert (await answer.json())["data"][0]["slug"] == "s19"
