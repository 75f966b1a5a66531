"""The effect of rebuilds on writers: the time of an append, and the time until it can be read."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from projector.rebuild.build import BuildSettings
from projector.rebuild.operations import rebuild
from projector.rebuild.progress import Progress
from read_side.checkpoint import CheckpointWatch
from tests.benchmarks.report import Row, table
from tests.benchmarks.workload import append_entries, created, prepare
from tests.integration.live_projector import connected
from tests.processes import running
from write_side.domain.content_type import ContentType
from write_side.domain.identity import entry_stream
from write_side.repository import Repository
from write_side.store.append import Append
from write_side.store.mapper import EventMapper, StreamEvent
from write_side.store.recorder import open_recorder

ENTRIES = 30_000
SWITCHES = 10
AROUND = 0.5
"""Seconds after a switch that still count as part of it."""
COUNT = "SELECT count(*) FROM read_model.entry"


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder, CheckpointWatch(url) as watch:
        repository = Repository(recorder, EventMapper())
        content_type = await prepare(repository)
        await append_entries(repository, content_type, ENTRIES)
        with TemporaryDirectory() as folder, running(url, Path(folder) / "log") as processes:
            await processes.caught_up(120)
            writing = Writing(repository, content_type, watch)
            tasks = [asyncio.create_task(writing.go_on()) for _ in range(2)]
            tasks += [asyncio.create_task(read(url)) for _ in range(2)]
            await asyncio.sleep(3)
            switches = [await switched(url) for _ in range(SWITCHES)]
            await asyncio.sleep(1)
            for task in tasks:
                assert not task.done(), task.exception()
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    at, otherwise = writing.split(switches)
    rows = [
        *rows_of("append", [one[1] for one in at], [one[1] for one in otherwise]),
        *rows_of("until it can be read", [one[2] for one in at], [one[2] for one in otherwise]),
    ]
    title = f"2 writers and 2 readers, {SWITCHES} rebuilds of {ENTRIES:,} entries in a row"
    return table(title, rows, "at other times")


def rows_of(what: str, at: list[float], otherwise: list[float]) -> list[Row]:
    return [
        Row(f"{what} at a switch, p100", ms(max(at)), ms(max(otherwise)), None, "≤ 100 ms"),
        Row(
            f"{what} at a switch, p50",
            ms(sorted(at)[len(at) // 2]),
            ms(sorted(otherwise)[len(otherwise) // 2]),
        ),
    ]


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


async def switched(url: str) -> tuple[float, float]:
    """Rebuilds the read model. Returns the times at which the switch began and ended."""
    began = 0.0

    def report(progress: Progress) -> None:
        nonlocal began
        if progress.phase == "switch" and not progress.done:
            began = time.perf_counter()

    settings = BuildSettings(event_store_url=url, read_model_url=url, workers=1)
    done = await rebuild(settings, accept_differences=False, report=report)
    assert (done.differences, done.not_compared) == ([], None)
    return began, time.perf_counter()


async def read(url: str) -> None:
    """Checks that no read returns fewer entries than an earlier one."""
    seen = 0
    async with connected(url) as connection:
        while True:
            count = await connection.fetchval(COUNT)
            assert count >= seen
            seen = count
            await asyncio.sleep(0.01)


class Writing:
    """Appends events in sequence, each after the previous one can be read."""

    def __init__(
        self, repository: Repository, content_type: ContentType, watch: CheckpointWatch
    ) -> None:
        self._repository = repository
        self._type = content_type
        self._watch = watch
        self._numbers = itertools.count(1_000_000)
        self.done: list[tuple[float, float, float]] = []

    async def go_on(self) -> None:
        mapper = self._repository.mapper
        while True:
            event = created(self._type, next(self._numbers))
            stream = StreamEvent(entry_stream(event.entry_id), 1, event)
            started = time.perf_counter()
            appended = await self._repository.recorder.append(
                Append(events=[mapper.to_stored_event(stream)])
            )
            answered = time.perf_counter()
            assert await self._watch.wait(appended.position, 10)
            self.done.append((started, answered - started, time.perf_counter() - answered))
            await asyncio.sleep(0.002)

    def split(
        self, switches: list[tuple[float, float]]
    ) -> tuple[list[tuple[float, float, float]], list[tuple[float, float, float]]]:
        at = [one for one in self.done if any(_overlaps(one, switch) for switch in switches)]
        known = set(at)
        return at, [one for one in self.done if one not in known]


def _overlaps(one: tuple[float, float, float], switch: tuple[float, float]) -> bool:
    started, append, visible = one
    return started <= switch[1] + AROUND and started + append + visible >= switch[0]
