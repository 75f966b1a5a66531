"""Compares the projector catching up with a log with the library's event-at-a-time runner."""

from __future__ import annotations

import asyncio
import time

import asyncpg

from projector.process import ProjectorSettings, collect_less, run_sessions
from read_side import schema
from read_side.checkpoint import wait_until_visible
from tests.benchmarks.library_runner import events_per_second
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.workload import append_entries, prepare
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ENTRIES = 30_000
FOR_THEIRS = 3_000
ROUNDS = 3


async def measure(url: str, other: str) -> str:
    connection = await asyncpg.connect(other)
    await schema.create(connection)
    await connection.close()
    collect_less()  # the projector also does this when it starts
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        content_type = await prepare(repository)
        ours, theirs = [], []
        for number in range(ROUNDS):
            before = await recorder.head()
            await append_entries(repository, content_type, ENTRIES, first=number * ENTRIES)
            head = await recorder.head()
            ours.append((head - before) / await seconds_to(url, head))
            theirs.append(await asyncio.to_thread(events_per_second, other, FOR_THEIRS))
    row = Row(
        f"{ENTRIES:,} entries of 1 kB, two thirds updated once",
        f"{median(ours):,.0f} events/s",
        f"{median(theirs):,.0f} events/s",
        ratio_of_rounds(ours, theirs),
        "≥ 20×",
    )
    return table("Projector catching up", [row], "eventsourcing's ProjectionRunner")


async def seconds_to(url: str, head: int) -> float:
    """Seconds from the start of the projector until the read model has the last event."""
    started = time.perf_counter()
    projector = asyncio.create_task(run_sessions(ProjectorSettings(url, url)))
    assert await wait_until_visible(url, head, 300)
    seconds = time.perf_counter() - started
    projector.cancel()
    await asyncio.gather(projector, return_exceptions=True)
    return seconds
