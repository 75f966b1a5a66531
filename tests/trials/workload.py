"""The trial's clients. They create entries continuously and record which were acknowledged."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise

import aiohttp
import msgspec
from msgspec import Struct

from write_side.postgres.connection import Connection

CLIENTS = 8
TIMEOUT = aiohttp.ClientTimeout(total=10)
PAUSE = 0.1
"""Seconds before a failed request is retried."""
_LOG = """
SELECT count(*) AS events, coalesce(max(notification_id), 0) AS head, max(at) AS newest
FROM write_side.event"""
_TITLES = """
SELECT state::json->>'title' AS title, count(*) AS times
FROM write_side.event WHERE topic = 'entry.created.v1' GROUP BY 1"""


class _Entry(Struct, frozen=True):
    title: str


class _Page(Struct, frozen=True):
    data: list[_Entry]


class Ledger:
    """A record of the clients' requests.

    ``sent`` and ``acknowledged`` map entry titles to the times at which they were first sent, or
    acknowledged. ``read`` has the time of each read, and the time at which its newest entry was
    sent.
    """

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}
        self.acknowledged: dict[str, float] = {}
        self.read: list[tuple[float, float]] = []
        self.failures = 0

    async def wait_for_more(self, more: int, patience: float) -> None:
        """Waits for this many more acknowledged writes. Raises TimeoutError after ``patience``
        seconds."""
        wanted = len(self.acknowledged) + more
        async with asyncio.timeout(patience):
            while len(self.acknowledged) < wanted:
                await asyncio.sleep(0.05)

    def longest_pause(self, since: float, until: float) -> float:
        """The longest time without an acknowledged write, in seconds."""
        return _longest(sorted(self.acknowledged.values()), since, until)

    def longest_pause_of_reads(self, since: float, until: float) -> float:
        return _longest([at for at, _ in self.read], since, until)

    def visible(self, since: float) -> float | None:
        """Seconds from ``since`` until a read showed an entry sent later, or None if there is none
        yet."""
        return next((at - since for at, newest in self.read if newest > since), None)


_PAGE = msgspec.json.Decoder(_Page)


def _longest(times: list[float], since: float, until: float) -> float:
    within = [since, *(at for at in times if since < at < until), until]
    return max(after - before for before, after in pairwise(within))


class LogOfTrial(Struct, frozen=True):
    """The content of the event store. ``times`` has the number of creations of each title."""

    events: int
    head: int
    newest: datetime
    times: dict[str, int]

    @classmethod
    async def read(cls, store: Connection) -> LogOfTrial:
        row = await store.fetchrow(_LOG)
        assert row is not None
        titles = await store.fetch(_TITLES)
        return cls(**row, times={row["title"]: row["times"] for row in titles})

    def lost(self, acknowledged: Iterable[str]) -> set[str]:
        return set(acknowledged) - self.times.keys()

    @property
    def twice(self) -> set[str]:
        return {title for title, times in self.times.items() if times > 1}


async def write(url: str, secret: str, ledger: Ledger) -> None:
    """Creates entries until cancelled. Retries a create with an unknown outcome, with the same
    Idempotency-Key."""
    async with aiohttp.ClientSession(timeout=TIMEOUT, headers=_headers(secret)) as session:
        while True:
            title = str(uuid.uuid4())
            while not await _create(session, url, title, ledger):
                await asyncio.sleep(PAUSE)


async def repeat(url: str, secret: str, titles: Iterable[str]) -> None:
    """Repeats creates with their Idempotency-Keys until all are acknowledged."""
    ledger, left = Ledger(), iter(titles)

    async def client(session: aiohttp.ClientSession) -> None:
        for title in left:
            while not await _create(session, url, title, ledger):
                await asyncio.sleep(PAUSE)

    async with aiohttp.ClientSession(timeout=TIMEOUT, headers=_headers(secret)) as session:
        await asyncio.gather(*(client(session) for _ in range(CLIENTS)))


async def _create(session: aiohttp.ClientSession, url: str, title: str, ledger: Ledger) -> bool:
    body = {"contentTypeSlug": "posts", "title": title}
    ledger.sent.setdefault(title, time.monotonic())
    try:
        headers = {"Idempotency-Key": title}
        async with session.post(f"{url}/v1/content", json=body, headers=headers) as response:
            await response.read()
            created = response.status == 200
    except (aiohttp.ClientError, TimeoutError):
        created = False
    if created:
        ledger.acknowledged[title] = time.monotonic()
    else:
        ledger.failures += 1
    return created


async def read(url: str, secret: str, ledger: Ledger) -> None:
    """Lists entries until cancelled."""
    async with aiohttp.ClientSession(timeout=TIMEOUT, headers=_headers(secret)) as session:
        while True:
            try:
                async with session.get(f"{url}/v1/content/posts?status=draft") as response:
                    page = await response.read()
                    if response.status == 200:
                        titles = [one.title for one in _PAGE.decode(page).data]
                        newest = max((ledger.sent[title] for title in titles), default=0.0)
                        ledger.read.append((time.monotonic(), newest))
            except (aiohttp.ClientError, TimeoutError):
                pass
            await asyncio.sleep(0.02)


def _headers(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}
