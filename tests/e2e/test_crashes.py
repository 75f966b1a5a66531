"""``kill -9`` of random processes under load: acknowledged entries survive."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from tests.e2e.dev import Dev
from tests.integration.deploy.processes import eventually, has_proc, running_in

pytestmark = [pytest.mark.slow, has_proc]

ROUNDS = 20
WRITERS = 4
SECRET = "a-secret-of-the-crash-test"
MANIFEST = {
    "workspace": "crash",
    "name": "Crash",
    "keys": [
        {
            "name": "writer",
            "permissions": ["content.view", "content.edit", "service.view"],
            "secret": SECRET,
        }
    ],
    "contentTypes": [
        {"slug": "posts", "name": "Posts", "fields": [{"slug": "n", "name": "N", "type": "number"}]}
    ],
}
PROGRAMS = {
    "api": "contentlog api",
    "projector": "contentlog projector",
    "watch": "deploy.embedded.server",
}
RECOVERY = 180.0
TIMEOUT = aiohttp.ClientTimeout(total=60)
NO_ANSWER = (aiohttp.ClientError, TimeoutError)


class AcknowledgedCreates:
    """Acknowledged creates, and the number of creates without a response. Writers create until
    ``is_enough``."""

    def __init__(self) -> None:
        self.is_enough = False
        self.created: dict[str, str] = {}
        self.unanswered = 0


@pytest.fixture
def dev(start: Callable[..., Dev], data: Path) -> Iterator[Dev]:
    dev = start("--no-demo")
    dev.ready()
    manifest = data.parent / "manifest.json"
    manifest.write_text(json.dumps(MANIFEST))
    dev.run("apply", str(manifest))
    yield dev
    dev.stop(signal.SIGTERM)


async def test_every_acknowledged_create_survives_the_kill_of_any_process(
    dev: Dev, data: Path, port: int
) -> None:
    rng = random.Random(20261121)
    acknowledged, titles = AcknowledgedCreates(), itertools.count()
    headers = {"Authorization": f"Bearer {SECRET}"}
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{port}", headers=headers, timeout=TIMEOUT
    ) as session:
        writers = [
            asyncio.create_task(write(session, titles, acknowledged)) for _ in range(WRITERS)
        ]
        for number in range(ROUNDS):
            before = len(acknowledged.created)
            await asyncio.sleep(rng.uniform(0.1, 0.5))
            victim = ("api", "projector", "postmaster", "backend", "watch")[number % 5]
            await kill(victim, dev, data, rng)
            # Creates succeed only when the killed process is back.
            await wait_for_creates(acknowledged, before + 20)
        acknowledged.is_enough = True
        await asyncio.gather(*writers)
        await caught_up(session)
        assert len(acknowledged.created) > ROUNDS * 20
        await check_readable(session, acknowledged)
    await check_log_and_counts(data, acknowledged)


async def write(
    session: aiohttp.ClientSession, titles: Iterator[int], acknowledged: AcknowledgedCreates
) -> None:
    while not acknowledged.is_enough:
        n = next(titles)
        body = {"contentTypeSlug": "posts", "title": f"Post {n}", "fields": {"n": n}}
        try:
            async with session.post("/v1/content", json=body) as response:
                if response.status == 200:
                    entry = (await response.json())["data"]
                    acknowledged.created[entry["slug"]] = entry["id"]
                    continue
                assert response.status >= 500, await response.text()
        except NO_ANSWER:
            pass
        acknowledged.unanswered += 1
        await asyncio.sleep(0.02)


async def kill(victim: str, dev: Dev, data: Path, rng: random.Random) -> None:
    """Kills one of the service's processes with ``kill -9``, by its pid, as soon as one exists."""
    deadline = time.monotonic() + RECOVERY
    while not kill_one(processes(victim, dev, data), rng):
        assert time.monotonic() < deadline, f"there is no {victim} to kill"
        await asyncio.sleep(0.02)


def kill_one(found: list[int], rng: random.Random) -> bool:
    """Kills one of the processes. Returns false if none was left to kill."""
    try:
        os.kill(rng.choice(found), signal.SIGKILL)
    except (IndexError, ProcessLookupError):
        return False
    return True


def processes(victim: str, dev: Dev, data: Path) -> list[int]:
    if victim in ("postmaster", "backend"):
        return servers(data, victim)
    return [pid for pid in dev.pids() if PROGRAMS[victim] in arguments(pid)]


def servers(data: Path, which: str) -> list[int]:
    """The data folder's PostgreSQL server, or its client backends."""
    running = running_in(data)
    backends = [pid for pid in running if "[local]" in arguments(pid)]
    if which == "backend":
        return backends
    return [pid for pid in running if "/bin/postgres " in arguments(pid)]


def arguments(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


async def wait_for_creates(acknowledged: AcknowledgedCreates, creates: int) -> None:
    await eventually(lambda: len(acknowledged.created) > creates, RECOVERY)


async def caught_up(session: aiohttp.ClientSession) -> None:
    deadline = time.monotonic() + RECOVERY
    while time.monotonic() < deadline:
        try:
            async with session.get("/readyz") as response:
                body = await response.json()
                if response.status == 200 and body["head"] == body["checkpoint"]:
                    return
        except NO_ANSWER:
            pass
        await asyncio.sleep(0.05)
    raise AssertionError("the read model did not catch up")


async def check_readable(session: aiohttp.ClientSession, acknowledged: AcknowledgedCreates) -> None:
    for slug, entry_id in acknowledged.created.items():
        async with session.get(f"/v1/content/posts/{slug}") as response:
            body = await response.json()
            assert response.status == 200, (slug, body)
            assert body["data"]["id"] == entry_id
    async with session.get("/v1/content/posts?status=draft") as response:
        total = (await response.json())["pagination"]["total"]
    assert len(acknowledged.created) <= total <= len(acknowledged.created) + acknowledged.unanswered


async def check_log_and_counts(data: Path, acknowledged: AcknowledgedCreates) -> None:
    from deploy.embedded.server import use

    with use(data) as url:
        connection = await asyncpg.connect(url)
        try:
            assert await rows(connection, LOG) == [(0, True, True)]
            created = {str(row["id"]) for row in await connection.fetch(CLAIMED)}
            assert set(acknowledged.created.values()) <= created
            assert await rows(connection, COUNTED) == await rows(connection, KEPT)
            assert await rows(connection, USED) == await rows(connection, LIVING)
        finally:
            await connection.close()


async def rows(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in await connection.fetch(statement))


LOG = """
SELECT max(notification_id) - count(*) AS gaps,
       max(notification_id) = (SELECT position FROM write_side.head) AS at_head,
       max(notification_id) = (SELECT position FROM read_model.checkpoint) AS projected
FROM write_side.event"""
CLAIMED = "SELECT id FROM write_side.entry_claim"
COUNTED = """
SELECT workspace, environment, content_type_id, status, language, count(*) FROM read_model.entry
GROUP BY 1, 2, 3, 4, 5"""
KEPT = """
SELECT workspace, environment, content_type_id, status, language, n FROM read_model.entry_count
WHERE filters = 3 AND level = 0"""
USED = """
SELECT workspace, environment, used FROM write_side.usage WHERE quota = 'entries' AND used > 0"""
LIVING = "SELECT workspace, environment, count(*) FROM read_model.entry GROUP BY 1, 2"
