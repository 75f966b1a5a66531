"""Clients that write, read and follow entries through several API processes. They fail if a
response is older than one received before its request was sent (ADR 38)."""

from __future__ import annotations

import asyncio
import os
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp

from tests.benchmarks.workload import SECRET
from tests.processes import Processes

SEED = int(os.environ.get("CONTENTLOG_TEST_STALENESS_SEED", "38"))
SLUGS_OF_WRITER = 4
WRITERS = 4
READERS = 9
FOLLOWERS = 6
"""For each process."""
ABSENT = -1
LISTS = ("/v1/content/posts?status=draft&limit=100", "/v1/content?limit=100")
UPDATE = """mutation($id: ID!, $input: UpdateContentEntryInput!) {
  payload: updateContentEntry(id: $id, input: $input) { success message }
}"""
DELETE = "mutation($id: ID!) { payload: deleteContentEntry(id: $id) { success message } }"
NO_ANSWER = (aiohttp.ClientError, TimeoutError)


class Entry:
    """The history of one slug. ``states`` has the ``views`` value of each state, or ABSENT; the
    latest state may still be pending. ``least`` is the index of the oldest state that a later
    response may show."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.id = ""
        self.states = [ABSENT]
        self.least = 0

    def check(self, views: int, least: int) -> None:
        """Checks a response. ``least`` is the value of ``self.least`` when its request was sent."""
        found = [n for n, state in enumerate(self.states) if state == views]
        reached = [n for n in found if n >= least]
        assert reached, (
            f"'{self.slug}' is {views}, state {found} of {len(self.states) - 1}, after "
            f"state {least} ({self.states[least]}) was answered"
        )
        self.least = max(self.least, reached[0])


class LoadTest:
    """API processes, and the known state of their entries. ``pause`` is the longest pause of a
    writer, in seconds."""

    def __init__(
        self,
        processes: list[Processes],
        database_url: str,
        pause: float = 0.03,
    ) -> None:
        self.processes = processes
        self.database_url = database_url
        self.sessions: list[aiohttp.ClientSession] = []
        self.entries = [
            [Entry(f"entry-{writer}-{n}") for n in range(SLUGS_OF_WRITER)]
            for writer in range(WRITERS)
        ]
        self.newer: list[asyncio.Queue[Entry]] = [asyncio.Queue(FOLLOWERS) for _ in processes]
        self.rng = random.Random(SEED)
        self.pause = pause
        self.writing = True
        self.counts: Counter[str] = Counter()
        self.events: list[str] = []

    def session(self, client: int) -> aiohttp.ClientSession:
        """Returns a session. Some clients stay with one process, so that not all of them wait for a
        paused one; the others choose a process at random."""
        if client % 3 < len(self.sessions):
            return self.sessions[client % 3]
        return self.rng.choice(self.sessions)

    def record_event(self, what: str) -> None:
        self.counts[what] += 1
        self.events.append(f"{time.monotonic():.3f} {what}")

    def record_write(self, entry: Entry) -> None:
        """Records that the entry's latest state can be read."""
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


async def write(load: LoadTest, client: int) -> None:
    """Writes the client's own entries until ``load.writing`` is false."""
    entries = load.entries[client]
    while load.writing:
        await asyncio.sleep(load.rng.uniform(0, load.pause))
        session = load.session(client)
        entry = load.rng.choice(entries)
        views = len(entry.states)
        if entry.states[-1] == ABSENT:
            entry.states.append(views)
            await create(load, session, entry, views)
        elif load.rng.random() < 0.2:
            entry.states.append(ABSENT)
            await change(load, session, entry, DELETE)
        else:
            entry.states.append(views)
            await change(load, session, entry, UPDATE, {"fields": {"views": views}})


async def create(load: LoadTest, session: aiohttp.ClientSession, entry: Entry, views: int) -> None:
    """Retries until the create is known to be in the log."""
    fields = {"views": views}
    body = {"contentTypeSlug": "posts", "title": "T", "slug": entry.slug, "fields": fields}
    while True:
        async with send(session, "POST", "/v1/content", json=body) as answer:
            if answer is None or answer.status >= 500:
                load.counts["writes without an answer"] += 1
                continue
            if answer.status == 409:  # an unacknowledged create took effect
                entry.id = await id_of(session, entry.slug)
                return
            assert answer.status == 200, await answer.text()
            entry.id = (await answer.json())["data"]["id"]
            if answer.headers["X-Content-Visible"] == "true":
                load.record_write(entry)
            load.counts["creates"] += 1
            return


async def id_of(session: aiohttp.ClientSession, slug: str) -> str:
    while True:
        async with send(session, "GET", f"/v1/content/posts/{slug}") as answer:
            if answer is not None and answer.status == 200:
                found: str = (await answer.json())["data"]["id"]
                return found


async def change(
    load: LoadTest, session: aiohttp.ClientSession, entry: Entry, mutation: str, given: Any = None
) -> None:
    """Retries until the change is known to be in the log; a repetition then changes nothing."""
    variables = {"id": entry.id, "input": given} if given else {"id": entry.id}
    body = {"query": mutation, "variables": variables}
    while True:
        async with send(session, "POST", "/graphql", json=body) as answer:
            if answer is None or answer.status >= 500:
                load.counts["writes without an answer"] += 1
                continue
            payload = (await answer.json()).get("data", {}).get("payload")
            if payload is None:
                continue
            done = payload["success"] or (mutation == DELETE and "not found" in payload["message"])
            assert done, payload
            if answer.headers.get("X-Content-Visible") == "true":
                load.record_write(entry)
            load.counts["changes"] += 1
            return


@asynccontextmanager
async def send(
    session: aiohttp.ClientSession, method: str, path: str, **more: Any
) -> AsyncIterator[aiohttp.ClientResponse | None]:
    """Yields the response, read to its end, or None if there is none."""
    try:
        async with session.request(method, path, **more) as response:
            await response.read()
    except NO_ANSWER:
        await asyncio.sleep(0.05)
        yield None
        return
    yield response


async def read(load: LoadTest, client: int) -> None:
    while True:
        await asyncio.sleep(load.rng.uniform(0, 0.004))
        session = load.session(client)
        if load.rng.random() < 0.3:
            await read_list(load, session, load.rng.choice(LISTS))
        else:
            entry = load.rng.choice(load.rng.choice(load.entries))
            await read_one(load, session, entry)


async def follow(load: LoadTest, number: int) -> None:
    """Reads each newly observed entry at once from this process, whichever process returned it
    before."""
    while True:
        entry = await load.newer[number].get()
        if load.rng.random() < 0.7:
            await read_one(load, load.sessions[number], entry)
        else:
            await read_list(load, load.sessions[number], load.rng.choice(LISTS))


async def read_one(load: LoadTest, session: aiohttp.ClientSession, entry: Entry) -> None:
    least = entry.least
    async with send(session, "GET", f"/v1/content/posts/{entry.slug}") as answer:
        if answer is None or answer.status >= 500:
            load.counts["reads without an answer"] += 1
            return
        body = await answer.json()
        views = body["data"]["fields"]["views"] if answer.status == 200 else ABSENT
        assert answer.status in (200, 404), body
    load.check(entry, views, least, f"one from {session._base_url}")
    load.counts["reads"] += 1


async def read_list(load: LoadTest, session: aiohttp.ClientSession, path: str) -> None:
    entries = [entry for some in load.entries for entry in some]
    least = [entry.least for entry in entries]
    async with send(session, "GET", path) as answer:
        if answer is None or answer.status >= 500:
            load.counts["reads without an answer"] += 1
            return
        assert answer.status == 200, await answer.text()
        body = await answer.json()
    found = {row["slug"]: row["fields"]["views"] for row in body["data"]}
    assert len(found) == body["pagination"]["total"]
    for entry, known in zip(entries, least, strict=True):
        views = found.get(entry.slug, ABSENT)
        load.check(entry, views, known, f"{path} from {session._base_url}")
    load.counts["lists"] += 1


@asynccontextmanager
async def clients(
    load: LoadTest,
) -> AsyncIterator[Callable[[Awaitable[None]], Awaitable[None]]]:
    """Runs the clients. Yields a function that awaits something else and raises the clients'
    errors."""
    headers, timeout = {"Authorization": f"Bearer {SECRET}"}, aiohttp.ClientTimeout(total=60)
    async with AsyncExitStack() as stack:
        for each in load.processes:
            await each.caught_up(120)
            session = aiohttp.ClientSession(each.url, headers=headers, timeout=timeout)
            load.sessions.append(await stack.enter_async_context(session))
        work = [write(load, client) for client in range(WRITERS)]
        work += [read(load, client) for client in range(READERS)]
        for number in range(len(load.processes)):
            work += [follow(load, number) for _ in range(FOLLOWERS)]
        tasks = {asyncio.create_task(one) for one in work}

        async def work_until(other: Awaitable[None]) -> None:
            """The client tasks end only by raising."""
            waiting = tasks | {asyncio.ensure_future(other)}
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()

        try:
            yield work_until
        finally:
            for task in tasks:
                task.cancel()


async def metric(process: Processes, name: str) -> float:
    """A metric of an API process since its start. ``name`` includes its labels."""
    async with (
        aiohttp.ClientSession(process.operators_url) as operator,
        operator.get("/metrics") as answer,
    ):
        text = await answer.text()
    match = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert match is not None, name
    return float(match[1])
