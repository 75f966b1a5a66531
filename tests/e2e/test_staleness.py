"""Staleness under kills (ADR 38): no response shows less than one received before its request.

Two API processes with caches: writers create, update and delete entries, and readers read them
individually and in lists. Meanwhile processes are killed and paused, connections are terminated,
and the read model is rebuilt and rolled back; on Citus, workers are also cut off.
CONTENTLOG_TEST_STALENESS_SECONDS sets the duration.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from deploy.supervisor import contentlog
from tests.benchmarks.workload import prepare
from tests.e2e.staleness import LoadTest, clients, metric, send
from tests.engines import engine
from tests.integration.deploy.processes import send as send_signal
from tests.integration.live_projector import connected, until
from tests.processes import Processes, apis
from write_side.repository import Repository

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("CONTENTLOG_TEST_STALENESS_SECONDS", "30"))
TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""
LISTENING = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND query ~ 'FROM (read_model.checkpoint|projector.announced)$'
  AND application_name <> 'contentlog projector' AND pid <> pg_backend_pid()"""


async def disturb(load: LoadTest, folder: Path) -> None:
    """Causes one fault after another. Killed processes are restarted."""
    faults: dict[Callable[[], Awaitable[None]], float] = {
        lambda: kill(load, 0, "api"): 2,
        lambda: kill(load, 1, "api"): 2,
        lambda: kill(load, 0, "projector"): 3,
        lambda: pause(load, 0, "api"): 6,
        lambda: pause(load, 1, "api"): 6,
        lambda: pause(load, 0, "projector"): 1,
        lambda: delay_notices(load): 8,
        lambda: terminate(load): 3,
        lambda: operate(load, folder, "rebuild", "--accept-differences"): 2,
        lambda: operate(load, folder, "rollback"): 1,
    }
    if engine().model_engine == "citus":
        faults[lambda: cut_workers_off(load)] = 6
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        await asyncio.sleep(load.rng.uniform(0.2, 1.5))
        [fault] = load.rng.choices([*faults], [*faults.values()])
        await fault()


async def kill(load: LoadTest, number: int, name: str) -> None:
    load.record_event(f"kill {name} {number}")
    load.processes[number].kill(name)
    await asyncio.sleep(load.rng.uniform(0, 0.3))
    load.processes[number].start(name)
    if name == "api":
        await until_up(load.sessions[number])


async def until_up(session: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(120):
        while True:
            async with send(session, "GET", "/healthz") as answer:
                if answer is not None:
                    return


async def pause(load: LoadTest, number: int, name: str) -> None:
    """Pauses a process. When it resumes, it finds requests and outdated notifications, in any
    order."""
    load.record_event(f"pause {name} {number}")
    process = load.processes[number].running[name]
    process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(load.rng.choice([0.05, 0.2, 0.4, 0.4, 2.0]))
    process.send_signal(signal.SIGCONT)


async def delay_notices(load: LoadTest) -> None:
    """Pauses the PostgreSQL backend that sends notifications to one API process, as an overloaded
    machine might."""
    async with connected(load.database_url) as connection:
        rows = await connection.fetch(LISTENING)
        if not rows:
            return
        pid = load.rng.choice(rows)["pid"]
        load.record_event("delay notices")
        send_signal(pid, signal.SIGSTOP)
        await asyncio.sleep(load.rng.choice([0.1, 0.3, 0.6, 0.9, 2.0]))
        send_signal(pid, signal.SIGCONT)


async def terminate(load: LoadTest) -> None:
    load.record_event("terminate all connections")
    async with connected(load.database_url) as connection:
        await connection.execute(TERMINATE)


async def cut_workers_off(load: LoadTest) -> None:
    """Terminates the connections to the workers, which interrupts many transactions, some between
    their two phases."""
    load.record_event("cut workers off")
    for url in (await asyncio.to_thread(engine().nodes, load.database_url))[1:]:
        async with connected(url) as connection:
            await connection.execute(TERMINATE)


async def operate(load: LoadTest, folder: Path, *command: str) -> None:
    """Runs a command. It may fail: there may be no previous model, or its connection is
    terminated."""
    environment = {
        **os.environ,
        "CONTENTLOG_EVENT_STORE_URL": load.database_url,
        "CONTENTLOG_READ_MODEL_URL": load.database_url,
        "CONTENTLOG_REBUILD_WORKERS": "1",
    }
    load.record_event(command[0])
    with (folder / "operations.log").open("ab") as log:
        done = await asyncio.create_subprocess_exec(
            *contentlog(*command),
            env=environment,
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        ended = await done.wait()
    load.record_event(f"{command[0]} ended with {ended}")


@contextmanager
def two_apis(database_url: str, folder: Path) -> Iterator[list[Processes]]:
    processes = [
        Processes(database_url, folder / f"log-{n}", CONTENTLOG_READ_YOUR_WRITES_MS="10000")
        for n in range(2)
    ]
    with apis(processes):
        processes[0].start("projector")
        yield processes


async def until_cached(process: Processes, hits: int = 10) -> None:
    """Waits until the process has sent this many more responses from its cache."""
    name = "contentlog_cache_hits_total"
    before = await metric(process, name)

    async def cached() -> bool:
        return await metric(process, name) >= before + hits

    await until(cached)


async def test_no_request_is_answered_with_less_than_was_answered_before(
    repository: Repository, database_url: str, tmp_path: Path
) -> None:
    await prepare(repository)
    with two_apis(database_url, tmp_path) as processes:
        load = LoadTest(processes, database_url)
        async with clients(load) as work_until:
            await work_until(disturb(load, tmp_path))
            # Without faults, both processes respond from the cache.
            for each in processes:
                await work_until(until_cached(each))
    sys.stdout.write(f"\n{dict(load.counts)}\n")
    assert load.counts["reads"] > 10 * SECONDS
    # On Citus, every cut delays writes until the projector has reconnected.
    assert load.counts["changes"] > (SECONDS / 4 if engine().model_engine == "citus" else SECONDS)
