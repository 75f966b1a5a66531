"""Rebuilds and projectors as processes, killed at every point."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from deploy.supervisor import contentlog
from projector.rebuild.progress import LOCK
from read_side.schema import LIVE, PREVIOUS
from tests.benchmarks.workload import SECRET, append_entries, prepare
from tests.integration.deploy.processes import children_of, until
from tests.integration.live_projector import connected, dump, project_all
from tests.integration.live_projector import until as eventually
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.rebuilds import schemas
from tests.processes import running
from write_side.repository import Repository

pytestmark = pytest.mark.slow

ROUNDS = 2
_OPERATION = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


def kill_everywhere(what: str, *urls: str) -> int:
    """Returns the number of kills."""
    command = [sys.executable, "-m", "tests.e2e.kill_everywhere", what, *urls]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])  # log lines come first


async def test_a_projector_killed_at_every_commit_loses_nothing(
    repository: Repository,
    database_url: str,
    model_url: str,
) -> None:
    await RandomCommands(repository, 11).execute(60)
    await project_all(database_url, model_url)
    kills = await asyncio.to_thread(kill_everywhere, "projector", database_url, database_url)
    assert kills > 20
    assert await dump(database_url) == await dump(model_url)


async def test_a_rebuild_killed_anywhere_leaves_the_live_read_model_unchanged(
    repository: Repository, database_url: str
) -> None:
    await RandomCommands(repository, 12).execute(40)
    await project_all(database_url, database_url)
    kills = await asyncio.to_thread(kill_everywhere, "rebuild", database_url, database_url)
    assert kills > 8
    assert await schemas(database_url) == [LIVE, PREVIOUS]


async def test_a_rebuild_of_several_processes_can_be_killed_and_run_again(
    repository: Repository, database_url: str, tmp_path: Path
) -> None:
    """A killed rebuild's workers end with it, and its remains do not disturb the next one."""
    await append_entries(repository, await prepare(repository), 32_000)
    await project_all(database_url, database_url)
    expected = await dump(database_url)
    rng = random.Random(1)
    for _ in range(ROUNDS):
        rebuilding = start_rebuild(database_url, tmp_path)
        workers = await asyncio.to_thread(until_workers, rebuilding)
        await asyncio.sleep(rng.uniform(0, 0.5))
        rebuilding.send_signal(signal.SIGKILL)
        rebuilding.communicate()
        assert await dump(database_url) == expected
        await asyncio.to_thread(until, partial(none_runs, workers))
        await eventually(partial(no_operation_runs, database_url))
    done = await asyncio.to_thread(start_rebuild(database_url, tmp_path).communicate)
    last = json.loads(done[0].splitlines()[-1])
    assert (last["differences"], last["notCompared"]) == (0, None), done
    assert await dump(database_url) == expected
    assert await schemas(database_url) == [LIVE, PREVIOUS]


async def test_readers_over_http_do_not_notice_rebuilds_and_a_rollback(
    repository: Repository, database_url: str, tmp_path: Path
) -> None:
    """While entries are created, every read returns 200, and none shows fewer entries than the one
    before."""
    await append_entries(repository, await prepare(repository), 500)
    key = {"Authorization": f"Bearer {SECRET}"}
    reads = 0

    async def read(session: aiohttp.ClientSession, path: str) -> None:
        nonlocal reads
        seen = 500
        while True:
            async with session.get(path) as answer:
                assert answer.status == 200, await answer.text()
                body = await answer.json()
            assert body["pagination"]["total"] >= seen
            assert len(body["data"]) == 10
            seen, reads = body["pagination"]["total"], reads + 1

    async def create(session: aiohttp.ClientSession) -> None:
        for number in itertools.count():
            post = {"contentTypeSlug": "posts", "title": f"Meanwhile {number}"}
            async with session.post("/v1/content", json=post) as answer:
                assert answer.status == 200, await answer.text()
                assert answer.headers["X-Content-Visible"] == "true"

    with running(database_url, tmp_path / "log", CONTENTLOG_READ_YOUR_WRITES_MS="30000") as both:
        await both.caught_up()
        async with aiohttp.ClientSession(both.url, headers=key) as session:
            tasks = [
                asyncio.create_task(read(session, "/v1/content/posts")),
                asyncio.create_task(read(session, "/v1/content?limit=10&locale=fr-FR")),
                asyncio.create_task(create(session)),
            ]
            for command in ("rebuild", "rebuild", "rollback"):
                before = reads
                done = start(command, database_url, tmp_path)
                stdout, stderr = await asyncio.to_thread(done.communicate)
                assert done.returncode == 0, (stdout, stderr)

                async def went_on(before: int = before) -> bool:
                    return reads > before + 20 or any(task.done() for task in tasks)

                await eventually(went_on)
            for task in tasks:
                assert not task.done(), task.exception()
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def start_rebuild(url: str, folder: Path) -> subprocess.Popen[str]:
    return start("rebuild", url, folder)


def start(command: str, url: str, folder: Path) -> subprocess.Popen[str]:
    urls = {f"CONTENTLOG_{name}_URL": url for name in ("EVENT_STORE", "READ_MODEL")}
    return subprocess.Popen(
        contentlog(command, "--json"),
        env={**os.environ, **urls, "CONTENTLOG_REBUILD_WORKERS": "2"},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until_workers(rebuilding: subprocess.Popen[str]) -> list[int]:
    """The process ids of its two workers, or none if it has already finished."""
    found: list[int] = []

    def there() -> bool:
        found[:] = children_of(rebuilding.pid)
        return len(found) == 2 or rebuilding.poll() is not None

    until(there)
    return found


def none_runs(pids: list[int]) -> bool:
    return not any(map(is_running, pids))


async def no_operation_runs(url: str) -> bool:
    """Whether PostgreSQL has ended the session of the killed rebuild."""
    async with connected(url) as connection:
        return not await connection.fetchval(_OPERATION, LOCK & 0xFFFFFFFF)


def is_running(pid: int) -> bool:
    try:
        return "projector.rebuild.worker" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
