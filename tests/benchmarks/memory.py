"""Memory of the API process while slow clients read lists of 100 entries of 2 MB, and the delays
for reads of another workspace."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Raw, Struct, structs

from tests.benchmarks.attack_shapes import VIEW
from tests.benchmarks.fairness import MALLORY, prepare_workspace, probing
from tests.benchmarks.http import LIMITS, settle
from tests.benchmarks.workload import append_entries, created, prepare
from tests.processes import Processes, running
from write_side.domain.identity import entry_stream
from write_side.repository import Repository
from write_side.store.append import Append
from write_side.store.mapper import EventMapper, StreamEvent
from write_side.store.recorder import open_recorder

ENTRIES = 100
SIZE = 2_000_000
SPEED = 2_048
"""Bytes per second that a slow client reads."""
SECONDS = 20.0
READERS = {"one reader": 1, "8 slow readers": 8}
MB = 1024 * 1024


class Outcome(Struct, frozen=True):
    """Bytes of resident memory, and seconds."""

    name: str
    rest: int
    peak: int
    answered: int
    wait: float


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        await append_entries(repository, await prepare(repository), 200)
        await _prepare(repository)
    with TemporaryDirectory() as folder, running(url, Path(folder) / "log", **LIMITS) as processes:
        await processes.caught_up(240)
        await settle(url)
        async with probing(processes.port) as reads:
            await asyncio.sleep(2)
            outcomes = [await _read(processes, *one, reads) for one in READERS.items()]
    lines = [
        f"### Memory: lists of {ENTRIES} entries of 2 MB, read at {SPEED} bytes a second",
        "",
        "| readers | at rest | at most | answered | longest wait of another workspace |",
        "|---|--:|--:|--:|--:|",
        *(
            f"| {one.name} | {one.rest / MB:,.0f} MB | {one.peak / MB:,.0f} MB | {one.answered} | "
            f"{one.wait * 1000:,.0f} ms |"
            for one in outcomes
        ),
    ]
    return "\n".join(lines) + "\n"


async def _prepare(repository: Repository) -> None:
    await prepare_workspace(repository)
    content_type = await repository.content_type(MALLORY, "posts")
    for number in range(ENTRIES):
        text = os.urandom(SIZE // 2).hex()
        event = structs.replace(
            created(content_type, number),
            workspace="mallory",
            fields={"body": Raw(msgspec.json.encode(text))},
        )
        stored = EventMapper().to_stored_event(StreamEvent(entry_stream(event.entry_id), 1, event))
        await repository.recorder.append(Append(events=[stored]))


async def _read(
    processes: Processes, name: str, readers: int, reads: list[tuple[str, float, float]]
) -> Outcome:
    pid = processes.running["api"].pid
    rest, began = _resident(pid), time.monotonic()
    heads: list[bytes] = []
    tasks = [asyncio.create_task(_slowly(processes.port, heads)) for _ in range(readers)]
    peak = rest
    while time.monotonic() < began + SECONDS:
        await asyncio.sleep(0.02)
        peak = max(peak, _resident(pid))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    wait = max(wait for _, at, wait in reads if at >= began)
    return Outcome(name, rest, peak, sum(b" 200 " in head for head in heads), wait)


async def _slowly(port: int, heads: list[bytes]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=SPEED)
    try:
        writer.write(
            b"GET /v1/content/posts?limit=100 HTTP/1.1\r\nHost: bench\r\n"
            b"Authorization: Bearer %s\r\n\r\n" % VIEW.encode()
        )
        heads.append(await reader.readline())
        while await reader.read(SPEED // 10):  # noqa: ASYNC110 - it is slow on purpose
            await asyncio.sleep(0.1)
    finally:
        writer.transport.abort()


def _resident(pid: int) -> int:
    """The process's resident memory in bytes, shared memory included."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
