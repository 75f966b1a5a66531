"""Compares appends through our recorder with eventsourcing's PostgreSQL recorder, with safe
defaults."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder

from tests.benchmarks.library_store import library_recorder
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from write_side.store.append import Append
from write_side.store.recorder import Recorder, open_recorder

ROUNDS = 5
SECONDS = 2.0
AT_ONCE = 2_000
STATE = b'{"text":"' + b"x" * 500 + b'"}'
_numbers = itertools.count()


def events(n: int) -> list[StoredEvent]:
    """Returns ``n`` events of a new stream."""
    stream = f"entry/{time.time_ns()}-{next(_numbers)}"
    return [StoredEvent(stream, version, "entry.created.v1", STATE) for version in range(1, n + 1)]


async def measure(url: str, other: str) -> str:
    theirs = library_recorder(other)
    async with open_recorder(url) as ours:
        rows = [await writers(ours, theirs, n) for n in (1, 8, 64)]
        rows.append(await many_at_once(ours, theirs))
    theirs.datastore.close()
    return table(
        "Append, one event of 0.5 kB per call", rows, "eventsourcing's PostgreSQL recorder"
    )


async def writers(ours: Recorder, theirs: PostgresApplicationRecorder, n: int) -> Row:
    """Appends per second with ``n`` writers, each of which waits for its append to return."""
    mine, library = [], []
    for _ in range(ROUNDS):
        mine.append(await rate_of_ours(ours, n))
        library.append(await asyncio.to_thread(rate_of_theirs, theirs, n))
    return Row(
        f"{n} writer{'s' if n > 1 else ''}",
        f"{median(mine):,.0f}/s",
        f"{median(library):,.0f}/s",
        ratio_of_rounds(mine, library),
        "≥ 2×" if n < 64 else "",
    )


async def rate_of_ours(recorder: Recorder, n: int) -> float:
    deadline = time.perf_counter() + SECONDS
    done = 0

    async def write() -> None:
        nonlocal done
        while time.perf_counter() < deadline:
            await recorder.append(Append(events=events(1)))
            done += 1

    await asyncio.gather(*(write() for _ in range(n)))
    return done / SECONDS


def rate_of_theirs(recorder: PostgresApplicationRecorder, n: int) -> float:
    deadline = time.perf_counter() + SECONDS

    def write() -> int:
        done = 0
        while time.perf_counter() < deadline:
            recorder.insert_events(events(1))
            done += 1
        return done

    with ThreadPoolExecutor(n) as pool:
        return sum(future.result() for future in [pool.submit(write) for _ in range(n)]) / SECONDS


async def many_at_once(ours: Recorder, theirs: PostgresApplicationRecorder) -> Row:
    """Milliseconds for an append of 2,000 events."""
    mine, library = [], []
    for _ in range(ROUNDS * 2):
        mine.append(await milliseconds(lambda batch: ours.append(Append(events=batch))))
        library.append(
            await milliseconds(lambda batch: asyncio.to_thread(theirs.insert_events, batch))
        )
    return Row(
        f"{AT_ONCE:,} events at once",
        f"{median(mine):.0f} ms",
        f"{median(library):.0f} ms",
        ratio_of_rounds(library, mine),
        "≥ 2×",
    )


async def milliseconds(append: Callable[[Sequence[StoredEvent]], Awaitable[object]]) -> float:
    batch = events(AT_ONCE)
    started = time.perf_counter()
    await append(batch)
    return (time.perf_counter() - started) * 1000
