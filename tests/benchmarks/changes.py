"""The change feed as streams: from a create's request to its event, and what idle streams cost.

Creates are compared between two API processes that run side by side: one with STREAMS idle streams,
and one without any.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import msgspec

from tests.benchmarks.http import LIMITS
from tests.benchmarks.load import Load, measured
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.workload import SECRET, VALUES, prepare
from tests.processes import Processes, running
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

STREAMS = 2_000
EVENTS = 1_000
ROUNDS = 7
PATH = "/v1/changes?after=now&contentType=nothing"
"""Of the idle streams: their environment changes, but nothing that they select."""
KEY = f"Authorization: Bearer {SECRET}\r\n"
FIELDS = {slug: msgspec.json.decode(value) for slug, value in VALUES.items()}


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder:
        await prepare(Repository(recorder, EventMapper()))
    settings = {
        **LIMITS,
        "CONTENTLOG_STREAMS_PER_KEY": "100000",
        "CONTENTLOG_STREAMS_PER_WORKSPACE": "100000",
    }
    with (
        TemporaryDirectory() as folder,
        running(url, Path(folder) / "log", **settings) as processes,
        _second_api(url, Path(folder) / "log-2", settings) as second,
    ):
        await processes.caught_up(60)
        await second.caught_up(60)
        latency = await _latencies(processes)
        before = _resident(processes)
        async with _idle_streams(processes.port, STREAMS):
            memory = (_resident(processes) - before) / STREAMS
            crowded = await _latencies(processes)
            compared = await _compare_creates(processes.port, second.port)
    rows = [
        _row("create's request to its event", latency, "≤ 5 / ≤ 20 ms"),
        _row(f"the same beside {STREAMS:,} idle streams", crowded, ""),
        Row("memory of an idle stream", f"{memory / 1024:,.0f} kB", ""),
        compared,
    ]
    return table(f"Streams of changes ({EVENTS:,} creates one after another)", rows, "without")


@contextlib.contextmanager
def _second_api(url: str, log: Path, settings: dict[str, str]) -> Iterator[Processes]:
    """Without a projector of its own."""
    second = Processes(url, log, **settings)
    try:
        second.start("api")
        yield second
    finally:
        second.stop()


async def _latencies(processes: Processes) -> list[float]:
    """Milliseconds from the start of a create's request until its event is read."""
    headers = {"Authorization": f"Bearer {SECRET}"}
    arrived: dict[str, float] = {}
    heard = asyncio.Event()
    found = []
    async with aiohttp.ClientSession(processes.url, headers=headers) as session:
        live = asyncio.Event()

        async def listen() -> None:
            accept = {"Accept": "text/event-stream"}
            timeout = aiohttp.ClientTimeout(total=None)
            async with session.get(
                "/v1/changes?after=now", headers=accept, timeout=timeout
            ) as response:
                async for line in response.content:
                    if line.startswith(b"event: caught-up"):
                        live.set()
                    if line.startswith(b"data: ") and b'"slug"' in line:
                        arrived[json.loads(line[6:])["entry"]["id"]] = time.perf_counter()
                        heard.set()

        listener = asyncio.create_task(listen())
        await live.wait()
        for _ in range(EVENTS):
            started = time.perf_counter()
            async with session.post("/v1/content", data=_body()) as response:
                entry_id = (await response.json())["data"]["id"]
            while entry_id not in arrived:
                heard.clear()
                await heard.wait()
            found.append((arrived.pop(entry_id) - started) * 1000)
            await asyncio.sleep(0.001)
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)
    return found


async def _compare_creates(crowded: int, empty: int) -> Row:
    headers = f"{KEY}Content-Type: application/json\r\n"
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for rate, port in zip(rates, (crowded, empty), strict=True):
            rate.append((await measured(Load(port, "/v1/content", headers, _body))).per_second)
    ours, theirs = rates
    ratio = ratio_of_rounds(ours, theirs)
    name = f"creates beside {STREAMS:,} idle streams"
    return Row(name, f"{median(ours):,.0f}/s", f"{median(theirs):,.0f}/s", ratio, "≥ 0.9×")


_numbers = itertools.count()


def _body() -> bytes:
    title = f"Created {next(_numbers)}"
    return msgspec.json.encode({"contentTypeSlug": "posts", "title": title, "fields": FIELDS})


@asynccontextmanager
async def _idle_streams(port: int, number: int) -> AsyncIterator[None]:
    writers = []
    try:
        for _ in range(number):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writers.append(writer)
            head = f"GET {PATH} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n{KEY}\r\n"
            writer.write(head.encode())
            await reader.readuntil(b"event: caught-up")
        yield
    finally:
        for writer in writers:
            writer.transport.abort()


def _row(what: str, milliseconds: list[float], aim: str) -> Row:
    hundredths = statistics.quantiles(milliseconds, n=100)
    return Row(what, f"p50 {hundredths[49]:.1f} ms, p99 {hundredths[98]:.1f} ms", "", None, aim)


def _resident(processes: Processes) -> int:
    """Bytes of memory of the API."""
    statm = Path(f"/proc/{processes.running['api'].pid}/statm").read_text()
    return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")
