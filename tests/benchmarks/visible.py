"""The time from the response to an append until the read model has it, which a POST waits for."""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from read_side.checkpoint import CheckpointWatch
from tests.benchmarks.report import Row, table
from tests.benchmarks.workload import created, prepare
from tests.processes import running
from write_side.domain.identity import entry_stream
from write_side.repository import Repository
from write_side.store.append import Append
from write_side.store.mapper import EventMapper, StreamEvent
from write_side.store.recorder import open_recorder

TIMES = 2_000


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder, CheckpointWatch(url) as watch:
        repository = Repository(recorder, EventMapper())
        content_type = await prepare(repository)
        with TemporaryDirectory() as folder, running(url, Path(folder) / "log") as processes:
            await processes.caught_up()
            milliseconds = []
            for number in range(TIMES):
                event = created(content_type, number)
                stored = repository.mapper.to_stored_event(
                    StreamEvent(entry_stream(event.entry_id), 1, event)
                )
                started = time.perf_counter()
                appended = await recorder.append(Append(events=[stored]))
                answered = time.perf_counter()
                assert await watch.wait(appended.position, 10)
                milliseconds.append(
                    ((answered - started) * 1000, (time.perf_counter() - answered) * 1000)
                )
                await asyncio.sleep(0.001)
    rows = [
        row("append", [append for append, _ in milliseconds]),
        row("append to visible", [visible for _, visible in milliseconds]),
        row("append and append to visible", [append + visible for append, visible in milliseconds]),
    ]
    return table(f"One entry after another ({TIMES:,})", rows, "–")


def row(what: str, milliseconds: list[float]) -> Row:
    hundredths = statistics.quantiles(milliseconds, n=100)
    return Row(what, f"p50 {hundredths[49]:.1f} ms, p99 {hundredths[98]:.1f} ms", "")
