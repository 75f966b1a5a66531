"""ADR 38 under kills: no request is answered with less than was answered before it was sent.

Two API processes with caches; writers create, update and delete entries; readers read them as
single entries and in lists; meanwhile processes are killed and paused, connections are terminated,
the read model is rebuilt and rolled back. For how long is CONTENTLOG_TEST_STALENESS_SECONDS.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from deploy.supervisor import contentlog
from tests.benchmarks.workload import SECRET, prepare
from tests.integration.live_projector import connected
from tests.processes import Processes
from write_side.repository import Repository

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("CONTENTLOG_TEST_STALENESS_SECONDS", "30"))
SEED = int(os.environ.get("CONTENTLOG_TEST_STALENESS_SEED", "38"))
WRITERS = 3
SLUGS_OF_WRITER = 4
READERS = 9
FOLLOWERS = 6
"""Of each process."""
ABSENT = -1
LISTS = ("/v1/content/posts?status=draft&limit=100", "/v1/content?limit=100")
TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""
LISTENING = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND query LIKE '%position FROM read_model.checkpoint'
  AND application_name <> 'contentlog projector'"""
UPDATE = """mutation($id: ID!, $input: UpdateContentEntryInput!) {
  payload: updateContentEntry(id: $id, input: $input) { success message }
}"""
DELETE = "mutation($id: ID!) { payload: deleteContentEntry(id: $id) { success message } }"
NO_ANSWER = (aiohttp.ClientError, TimeoutError)


class Entry:
    """What was written under a slug: the views of each state, or ABSENT; the latest may be under
    way. ``least``: the number of the state that any later answer must have reached."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.id = ""
        self.states = [ABSENT]
        self.least = 0

    def check(self, views: int, least: int) -> None:
        """An answer to a request that was sent when ``least`` had been answered."""
        found = [n for n, state in enumerate(self.states) if state == views]
        reached = [n for n in found if n >= least]
        assert reached, (
            f"'{self.slug}' is {views}, state {found} of {len(self.states) - 1}, after "
            f"state {least} ({self.states[least]}) was answered"
        )
        self.least = max(self.least, reached[0])


class World:
    """Two API processes, and what is known of their entries."""

    def __init__(self, processes: list[Processes], database_url: str) -> None:
        self.processes = processes
        self.database_url = database_url
        self.sessions: list[aiohttp.ClientSession] = []
        self.entries = [
            [Entry(f"entry-{writer}-{n}") for n in range(SLUGS_OF_WRITER)]
            for writer in range(WRITERS)
        ]
        self.newer: list[asyncio.Queue[Entry]] = [asyncio.Queue(FOLLOWERS) for _ in processes]
        self.chance = random.Random(SEED)
        self.counts: Counter[str] = Counter()
        self.events: list[str] = []

    def session(self, client: int) -> aiohttp.ClientSession:
        """Some clients stay with a process, so that not all of them wait for one that is paused;
        the others go from one to the other."""
        if client % 3 < len(self.sessions):
            return self.sessions[client % 3]
        return self.chance.choice(self.sessions)

    def happens(self, what: str) -> None:
        self.counts[what] += 1
        self.events.append(f"{time.monotonic():.3f} {what}")

    def written(self, entry: Entry) -> None:
        """Its latest state can be read."""
        entry.least = len(entry.states) - 1
        self._follow(entry)

    def _follow(self, entry: Entry) -> None:
        for queue in self.newer:
            if not queue.full():
                queue.put_nowait(entry)

    def check(self, entry: Entry, views: int, least: int, what: str) -> None:
        before = entry.least
        try:
            entry.check(views, least)
            if entry.least > before:
                self._follow(entry)
        except AssertionError as error:
            error.add_note(f"{time.monotonic():.3f} {what}; before: {self.events[-3:]}")
            raise


async def write(world: World, client: int) -> None:
    """Each writer has entries of its own."""
    entries = world.entries[client]
    while True:
        await asyncio.sleep(world.chance.uniform(0, 0.03))
        session = world.session(client)
        entry = world.chance.choice(entries)
        views = len(entry.states)
        if entry.states[-1] == ABSENT:
            entry.states.append(views)
            await create(world, session, entry, views)
        elif world.chance.random() < 0.2:
            entry.states.append(ABSENT)
            await change(world, session, entry, DELETE)
        else:
            entry.states.append(views)
            await change(world, session, entry, UPDATE, {"fields": {"views": views}})


async def create(world: World, session: aiohttp.ClientSession, entry: Entry, views: int) -> None:
    """Again until it is known to be in the log."""
    fields = {"views": views}
    body = {"contentTypeSlug": "posts", "title": "T", "slug": entry.slug, "fields": fields}
    while True:
        async with asked(session, "POST", "/v1/content", json=body) as answer:
            if answer is None or answer.status >= 500:
                world.counts["writes without an answer"] += 1
                continue
            if answer.status == 409:  # one without an answer was carried out
                entry.id = await id_of(session, entry.slug)
                return
            assert answer.status == 200, await answer.text()
            entry.id = (await answer.json())["data"]["id"]
            if answer.headers["X-Content-Visible"] == "true":
                world.written(entry)
            world.counts["creates"] += 1
            return


async def id_of(session: aiohttp.ClientSession, slug: str) -> str:
    while True:
        async with asked(session, "GET", f"/v1/content/posts/{slug}") as answer:
            if answer is not None and answer.status == 200:
                found: str = (await answer.json())["data"]["id"]
                return found


async def change(
    world: World, session: aiohttp.ClientSession, entry: Entry, mutation: str, given: Any = None
) -> None:
    """Again until it is known to be in the log: then a repetition changes nothing."""
    variables = {"id": entry.id, "input": given} if given else {"id": entry.id}
    body = {"query": mutation, "variables": variables}
    while True:
        async with asked(session, "POST", "/graphql", json=body) as answer:
            if answer is None or answer.status >= 500:
                world.counts["writes without an answer"] += 1
                continue
            payload = (await answer.json()).get("data", {}).get("payload")
            if payload is None:
                continue
            done = payload["success"] or (mutation == DELETE and "not found" in payload["message"])
            assert done, payload
            if answer.headers.get("X-Content-Visible") == "true":
                world.written(entry)
            world.counts["changes"] += 1
            return


@asynccontextmanager
async def asked(
    session: aiohttp.ClientSession, method: str, path: str, **more: Any
) -> AsyncIterator[aiohttp.ClientResponse | None]:
    """The response, read to its end; None where there is none."""
    try:
        async with session.request(method, path, **more) as response:
            await response.read()
    except NO_ANSWER:
        await asyncio.sleep(0.05)
        yield None
        return
    yield response


async def read(world: World, client: int) -> None:
    while True:
        await asyncio.sleep(world.chance.uniform(0, 0.004))
        session = world.session(client)
        if world.chance.random() < 0.3:
            await read_list(world, session, world.chance.choice(LISTS))
        else:
            entry = world.chance.choice(world.chance.choice(world.entries))
            await read_one(world, session, entry)


async def follow(world: World, number: int) -> None:
    """What was just answered, by whichever process, is asked of this one at once."""
    while True:
        entry = await world.newer[number].get()
        if world.chance.random() < 0.7:
            await read_one(world, world.sessions[number], entry)
        else:
            await read_list(world, world.sessions[number], world.chance.choice(LISTS))


async def read_one(world: World, session: aiohttp.ClientSession, entry: Entry) -> None:
    least = entry.least
    async with asked(session, "GET", f"/v1/content/posts/{entry.slug}") as answer:
        if answer is None or answer.status >= 500:
            return
        body = await answer.json()
        views = body["data"]["fields"]["views"] if answer.status == 200 else ABSENT
        assert answer.status in (200, 404), body
    world.check(entry, views, least, f"one from {session._base_url}")
    world.counts["reads"] += 1


async def read_list(world: World, session: aiohttp.ClientSession, path: str) -> None:
    entries = [entry for some in world.entries for entry in some]
    least = [entry.least for entry in entries]
    async with asked(session, "GET", path) as answer:
        if answer is None or answer.status >= 500:
            return
        assert answer.status == 200, await answer.text()
        body = await answer.json()
    found = {row["slug"]: row["fields"]["views"] for row in body["data"]}
    assert len(found) == body["pagination"]["total"]
    for entry, known in zip(entries, least, strict=True):
        views = found.get(entry.slug, ABSENT)
        world.check(entry, views, known, f"{path} from {session._base_url}")
    world.counts["lists"] += 1


async def disturb(world: World, folder: Path) -> None:
    """One fault after another; what was killed is started again."""
    faults: dict[Callable[[], Awaitable[None]], float] = {
        lambda: kill(world, 0, "api"): 2,
        lambda: kill(world, 1, "api"): 2,
        lambda: kill(world, 0, "projector"): 3,
        lambda: pause(world, 0, "api"): 6,
        lambda: pause(world, 1, "api"): 6,
        lambda: pause(world, 0, "projector"): 1,
        lambda: delay_notices(world): 8,
        lambda: terminate(world): 3,
        lambda: operate(world, folder, "rebuild", "--accept-differences"): 2,
        lambda: operate(world, folder, "rollback"): 1,
    }
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        await asyncio.sleep(world.chance.uniform(0.2, 1.5))
        [fault] = world.chance.choices([*faults], [*faults.values()])
        await fault()


async def kill(world: World, number: int, name: str) -> None:
    world.happens(f"kill {name} {number}")
    world.processes[number].kill(name)
    await asyncio.sleep(world.chance.uniform(0, 0.3))
    world.processes[number].start(name)
    if name == "api":
        await until_up(world.sessions[number])


async def until_up(session: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(60):
        while True:
            async with asked(session, "GET", "/healthz") as answer:
                if answer is not None:
                    return


async def pause(world: World, number: int, name: str) -> None:
    """A process that wakes up finds requests before it, and notices that are past, in any order."""
    world.happens(f"pause {name} {number}")
    process = world.processes[number].running[name]
    process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(world.chance.choice([0.05, 0.2, 0.4, 0.4, 2.0]))
    process.send_signal(signal.SIGCONT)


async def delay_notices(world: World) -> None:
    """PostgreSQL's process that sends them to one API process stands still, as it may where there
    is more to do than there are processors."""
    async with connected(world.database_url) as connection:
        rows = await connection.fetch(LISTENING)
        if not rows:
            return
        pid = world.chance.choice(rows)["pid"]
        world.happens("delay notices")
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(world.chance.choice([0.1, 0.3, 0.6, 0.9, 2.0]))
        os.kill(pid, signal.SIGCONT)


async def terminate(world: World) -> None:
    world.happens("terminate all connections")
    async with connected(world.database_url) as connection:
        await connection.execute(TERMINATE)


async def operate(world: World, folder: Path, *command: str) -> None:
    """It may fail, where there is nothing to roll back to, or its connection is terminated."""
    environment = {
        **os.environ,
        "CONTENTLOG_EVENT_STORE_URL": world.database_url,
        "CONTENTLOG_READ_MODEL_URL": world.database_url,
        "CONTENTLOG_REBUILD_WORKERS": "1",
    }
    world.happens(command[0])
    with (folder / "operations.log").open("ab") as log:
        done = await asyncio.create_subprocess_exec(
            *contentlog(*command),
            env=environment,
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        ended = await done.wait()
    world.happens(f"{command[0]} ended with {ended}")


@contextmanager
def two_apis(database_url: str, folder: Path) -> Iterator[list[Processes]]:
    processes = [
        Processes(database_url, folder / f"log-{n}", CONTENTLOG_READ_YOUR_WRITES_MS="10000")
        for n in range(2)
    ]
    try:
        processes[0].start("projector")
        for each in processes:
            each.start("api")
        yield processes
    finally:
        for each in processes:
            each.stop()


async def ended(tasks: set[asyncio.Task[None]]) -> None:
    """Wait for the first: most of them end only by what they raise."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def hits(world: World) -> list[float]:
    """Of each process since it was started."""
    found = []
    for each in world.processes:
        async with (
            aiohttp.ClientSession(each.operators_url) as operator,
            operator.get("/metrics") as answer,
        ):
            text = await answer.text()
        match = re.search(r"^contentlog_cache_hits_total (\S+)$", text, re.MULTILINE)
        assert match is not None
        found.append(float(match[1]))
    return found


async def test_no_request_is_answered_with_less_than_was_answered_before(
    repository: Repository, database_url: str, tmp_path: Path
) -> None:
    await prepare(repository)
    key = {"Authorization": f"Bearer {SECRET}"}
    timeout = aiohttp.ClientTimeout(total=20)
    with two_apis(database_url, tmp_path) as processes:
        world = World(processes, database_url)
        for each in processes:
            await each.caught_up()
        async with AsyncExitStack() as stack:
            for each in processes:
                session = aiohttp.ClientSession(each.url, headers=key, timeout=timeout)
                world.sessions.append(await stack.enter_async_context(session))
            work = [write(world, client) for client in range(WRITERS)]
            work += [read(world, client) for client in range(READERS)]
            work += [follow(world, number) for number in range(2) for _ in range(FOLLOWERS)]
            tasks = {asyncio.create_task(one) for one in work}
            await ended(tasks | {asyncio.create_task(disturb(world, tmp_path))})
            # Without faults, so that both have answered from memory.
            await ended(tasks | {asyncio.create_task(asyncio.sleep(3))})
            for task in tasks:
                task.cancel()
            found = await hits(world)
    sys.stdout.write(f"\n{dict(world.counts)}, hits at the end: {found}\n")
    assert world.counts["reads"] > 10 * SECONDS
    assert world.counts["changes"] > SECONDS
    assert min(found) > 10, "both answer from memory"
