"""Clients that follow the change feed end with exactly the service's entries.

One client is the program of deploy/docs/sync.md (a copy, then pages), the other reads the stream.
Meanwhile writers write, API and projector are killed, connections are terminated, and the read
model is rebuilt and rolled back.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.benchmarks.workload import FIELDS, SCOPE, SECRET, prepare
from tests.documents import File, steps
from tests.e2e.staleness import WRITERS, LoadTest, write
from tests.e2e.test_staleness import kill, operate, terminate
from tests.integration.api.server import ACME, Server, serving
from tests.integration.deploy.processes import eventually
from tests.integration.live_projector import connected
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import Processes, running
from write_side import commands as c
from write_side.repository import Repository

pytestmark = pytest.mark.slow

SYNC = Path(__file__).parents[2] / "deploy/docs/sync.md"
SECONDS = float(os.environ.get("CONTENTLOG_TEST_SYNC_SECONDS", "20"))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    [text] = [step.text for step in steps(SYNC) if isinstance(step, File)]
    path = tmp_path / "sync.py"
    path.write_text(text, "utf-8")
    return path


@contextmanager
def syncing(program: Path, url: str, copy: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (program.parent / "sync.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, program, url, SECRET, copy], stdout=log, stderr=log
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


class Stream:
    """A client that reads the stream and computes the current entries from its changes alone."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self.previous: str | None = None
        self.versions: dict[str, int] = {}

    async def follow(self) -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                await self._read()
            await asyncio.sleep(0.02)

    async def _read(self) -> None:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": self.previous or ""}
        timeout = aiohttp.ClientTimeout(total=None, sock_read=20)
        async with self._session.get("/v1/changes", headers=headers, timeout=timeout) as response:
            assert response.status in (200, 503), await response.text()
            async for line in response.content:
                if response.status == 200 and line.startswith(b"data: "):
                    self._apply(json.loads(line[6:]))

    def _apply(self, change: dict[str, Any]) -> None:
        if "next" in change:
            return
        assert change["previous"] == self.previous
        self.previous = change["id"]
        entry = change["entry"]
        if entry is None:
            return
        assert entry["version"] == self.versions.pop(entry["id"], 0) + 1
        if change["type"] != "entry.deleted":
            self.versions[entry["id"]] = entry["version"]


async def served(session: aiohttp.ClientSession) -> dict[str, Any]:
    """The service's entries, by id, as the single-entry endpoint returns them."""
    found: dict[str, Any] = {}
    async with session.get("/v1/content?limit=100") as response:
        listed = (await response.json())["data"]
    for entry in listed:
        async with session.get(f"/v1/content/posts/{entry['slug']}") as response:
            if response.status == 404:
                continue  # deleted since the list
            assert response.status == 200, await response.text()
            found[entry["id"]] = (await response.json())["data"]
    return found


def copied(path: Path) -> dict[str, Any]:
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as connection:
        rows = connection.execute("SELECT id, json FROM entry").fetchall()
    return {entry_id: json.loads(text) for entry_id, text in rows}


async def disturb(load: LoadTest, builder: ContentBuilder, folder: Path) -> None:
    """Causes each fault at least once."""
    end = time.monotonic() + SECONDS
    number = 0
    while number < 5 or time.monotonic() < end:
        await asyncio.sleep(load.rng.uniform(0.3, 1.0))
        match number % 5:
            case 0:
                await kill(load, 0, "api")
            case 1:
                await kill(load, 0, "projector")
            case 2:
                await operate(load, folder, "rebuild", "--accept-differences")
            case 3:
                await terminate(load)
            case 4:
                await operate(load, folder, "rollback")
        # A changed definition changes how every entry is rendered.
        fields = FIELDS[: 5 + number % 5]
        await builder.execute(
            c.ReviseContentType, scope=SCOPE, slug="posts", name=f"Posts {number}", fields=fields
        )
        number += 1


async def test_copies_end_with_exactly_the_entries_of_the_service(
    repository: Repository, database_url: str, tmp_path: Path, program: Path
) -> None:
    await prepare(repository)
    copy = tmp_path / "copy.db"
    key = {"Authorization": f"Bearer {SECRET}"}
    with running(database_url, tmp_path / "log") as processes:
        await processes.caught_up()
        load = LoadTest([processes], database_url)
        async with opened(processes, key) as session:
            load.sessions.append(session)
            stream = Stream(session)
            following = asyncio.create_task(stream.follow())
            writers = [asyncio.create_task(write(load, n)) for n in range(WRITERS)]
            await asyncio.sleep(1)
            with syncing(program, processes.url, copy) as client:
                faults = asyncio.create_task(
                    disturb(load, ContentBuilder(repository, SCOPE), tmp_path)
                )
                await asyncio.wait(
                    {faults, following, *writers}, return_when=asyncio.FIRST_COMPLETED
                )
                for task in (faults, following, *writers):
                    if task.done():
                        task.result()
                # A cancelled request may still take effect.
                load.writing = False
                await asyncio.gather(*writers)
                await processes.caught_up()
                expected = await equal(session, copy, client)
                assert len(expected) > 3
            await eventually(lambda: stream.versions.keys() == expected.keys() or following.done())
            assert following.cancel(), "it has failed"
    assert load.counts["changes"] > SECONDS


@contextlib.asynccontextmanager
async def opened(
    processes: Processes, headers: dict[str, str]
) -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(processes.url, headers=headers, timeout=timeout) as session:
        yield session


async def equal(
    session: aiohttp.ClientSession, copy: Path, client: subprocess.Popen[bytes]
) -> dict[str, Any]:
    """Waits until the copy has what the service serves, and checks that it stays so. Returns the
    entries."""
    deadline = time.monotonic() + 120
    # For a second, the service may send responses from its cache.
    while copied(copy) != (expected := await served(session)):
        assert client.poll() is None, "the client has ended"
        assert time.monotonic() < deadline, differing(expected, copied(copy))
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.5)
    assert copied(copy) == await served(session)
    return expected


def differing(expected: dict[str, Any], found: dict[str, Any]) -> Any:
    ids = [one for one in {**expected, **found} if expected.get(one) != found.get(one)]
    return {one: (expected.get(one), found.get(one)) for one in ids[:2]}


PUBLISHED = "a-key-for-published-entries"


async def test_a_copy_whose_position_is_too_old_is_made_again(
    repository: Repository, database_url: str, program: Path
) -> None:
    """The new copy is also correct for entries whose changes are no longer stored."""
    copies = {secret: program.parent / secret for secret in (ACME, PUBLISHED)}

    async def sync(server: Server) -> dict[str, set[str]]:
        """The slugs in each key's copy."""
        for secret, copy in copies.items():
            command = (sys.executable, program, server.origin, secret, copy, "--once")
            process = await asyncio.create_subprocess_exec(*command)
            assert await asyncio.wait_for(process.wait(), 120) == 0
        found = {secret: copied(copy).values() for secret, copy in copies.items()}
        for entry in found[ACME]:
            target = f"/v1/content/posts/{entry['slug']}?language={entry['language']}"
            assert entry == (await server.client().get(target)).data
        return {secret: {one["slug"] for one in rows} for secret, rows in found.items()}

    async with serving(database_url, repository) as server:
        acme = await server.workspace()
        await server.key(PUBLISHED, "acme", ("content.published",))
        await acme.content_type()
        for slug, language in (("old", "fr-FR"), ("gone", "en-US")):
            await acme.entry(slug, status="published", language=language)
        draft = await acme.entry("draft")
        await server.caught_up()
        assert await sync(server) == {ACME: {"old", "gone", "draft"}, PUBLISHED: {"old", "gone"}}
        await acme.update(draft, status="published")
        gone = (await server.client().get("/v1/content/posts/gone")).data["id"]
        await acme.update(gone, status="draft")
        await server.caught_up()
        assert await sync(server) == {ACME: {"old", "gone", "draft"}, PUBLISHED: {"old", "draft"}}
        await acme.delete(gone)
        await acme.entry("new")
        await server.caught_up()
    async with connected(database_url) as connection:
        await connection.execute("UPDATE read_model.change SET at = at - interval '3 days'")
    async with serving(database_url, repository, changes_kept_days=2) as server:
        assert await sync(server) == {ACME: {"old", "draft", "new"}, PUBLISHED: {"old", "draft"}}
