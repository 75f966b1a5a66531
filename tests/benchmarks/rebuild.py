"""A rebuild, including indexes and comparison, against COPY of the resulting rows."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import time
from pathlib import Path

import asyncpg

from projector.process import connect_model
from projector.rebuild.build import BuildSettings, drop_read_model
from projector.rebuild.operations import rebuild
from projector.rebuild.progress import Progress
from read_side import schema
from tests.benchmarks.report import Row, median, table
from tests.benchmarks.workload import append_entries, prepare
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

SMALL, LARGE = 60_000, 600_000
ROUNDS = 3
MEMORY = 512 * 1024 * 1024
FLOOR = "floor"
_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
  AND NOT relispartition AND relname <> 'checkpoint'
ORDER BY relname"""


async def measure(url: str, other: str) -> str:
    rows = [await measured(url, SMALL, ROUNDS)]
    rows.append(await measured(other, LARGE, 1))
    (small, *_), (large, *_) = rows
    shown = [shown_row(*row) for row in rows]
    shown.append(
        Row(
            "time of the large rebuild ÷ time of the small one",
            f"{large / small:.1f}×",
            "",
            None,
            "≤ 12×",
        )
    )
    return table("Rebuild", shown, "COPY into the same indexed tables")


async def measured(url: str, entries: int, rounds: int) -> tuple[float, float, int, int]:
    """Returns the seconds of a rebuild and of the floor, the events, and the peak memory of all
    rebuild processes."""
    await make(url)
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        await append_entries(repository, await prepare(repository), entries)
        events = await recorder.head()
    settings = BuildSettings(event_store_url=url, read_model_url=url, memory=MEMORY)
    await rebuild(settings, accept_differences=False, report=lambda _: None)
    seconds, floors, peak = [], [], 0
    for _ in range(rounds):
        watch = MemoryWatch()
        started = time.perf_counter()
        done = await rebuild(settings, accept_differences=False, report=watch.report)
        seconds.append(time.perf_counter() - started)
        assert (done.differences, done.not_compared) == ([], None)
        peak = max(peak, watch.peak)
        floors.append(await floor(url))
    return median(seconds), median(floors), events, peak


def shown_row(seconds: float, floor: float, events: int, peak: int) -> Row:
    return Row(
        f"{events:,} events, compared; peak memory {peak / 2**20:,.0f} MiB",
        f"{events / seconds:,.0f} events/s ({seconds:.1f} s)",
        f"{events / floor:,.0f} events/s ({floor:.1f} s)",
        floor / seconds,
        "≥ 20,000 events/s",
    )


async def make(url: str) -> None:
    """Creates the event store and the read model in the second database, which is empty."""
    from write_side.store.migrations import migrate

    connection = await asyncpg.connect(url)
    await migrate(connection)
    await schema.create(connection)
    await connection.close()


class MemoryWatch:
    """Measures the memory of this process and its children."""

    def __init__(self) -> None:
        self.peak = 0
        self._own = resident(os.getpid())

    def report(self, _progress: Progress) -> None:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        mine = resident(os.getpid()) - self._own
        self.peak = max(self.peak, mine + sum(resident(int(pid)) for pid in children))


def resident(pid: int) -> int:
    """Resident memory in bytes; 0 if the process has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


async def floor(url: str) -> float:
    """Seconds to COPY the live rows from files into empty tables with indexes."""
    live = await connect_model(url, schema.LIVE, patience=None)
    model = await connect_model(url, FLOOR, patience=None)
    tables = [name for (name,) in await live.fetch(_TABLES)]
    with tempfile.TemporaryDirectory(prefix="cl-") as folder:
        for name in tables:
            rows = f'SELECT * FROM "{name}"'  # noqa: S608 - a name from the catalog
            await live.copy_from_query(rows, output=Path(folder) / name, format="binary")
        await drop_read_model(model, FLOOR)
        await model.execute(f"CREATE SCHEMA {FLOOR}")
        await schema.create_tables(model, 0)
        await schema.create_indexes(model)
        started = time.perf_counter()
        for name in tables:
            await model.copy_to_table(name, source=Path(folder) / name, format="binary")
        seconds = time.perf_counter() - started
        await drop_read_model(model, FLOOR)
    await asyncio.gather(live.close(), model.close())
    return seconds
