"""The change feed as a stream: the time from a create's request to its event, and the cost of idle
streams.

Creates are compared between two API processes that run side by side: one with STREAMS idle streams,
and one without.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg
from msgspec import Struct

from read_side.notices import CHANNEL
from tests.benchmarks.http import LIMITS
from tests.benchmarks.load import Load, measured
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.workload import SECRET, create_body, prepare
from tests.processes import Processes, running
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

STREAMS = 2_000
EVENTS = 1_000
ROUNDS = 7
PATH = "/v1/changes?after=now&contentType=nothing"
"""The request of an idle stream: its environment changes, but no change matches its filter."""
KEY = f"Authorization: Bearer {SECRET}\r\n"
JSON = "Content-Type: application/json\r\n"


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
        latency = [one.latency for one in await _creates(processes.port)]
        hops = await _hops(url, processes.port)
        before = _resident(processes)
        async with _idle_streams(processes.port, STREAMS):
            memory = (_resident(processes) - before) / STREAMS
            crowded = [one.latency for one in await _creates(processes.port)]
            compared = await _compare_creates(processes.port, second.port)
    rows = [
        _row("create's request to its event", latency, "≤ 5 / ≤ 20 ms"),
        _row(f"the same beside {STREAMS:,} idle streams", crowded, ""),
        Row("memory of an idle stream", f"{memory / 1024:,.0f} kB", ""),
        compared,
    ]
    streams = table(f"Streams of changes ({EVENTS:,} creates one after another)", rows, "without")
    return f"{streams}\n{hops}"


@contextlib.contextmanager
def _second_api(url: str, log: Path, settings: dict[str, str]) -> Iterator[Processes]:
    """Starts an API without its own projector."""
    second = Processes(url, log, **settings)
    try:
        second.start("api")
        yield second
    finally:
        second.stop()


class _Client(asyncio.Protocol):
    """A client with little overhead, since the measurement must not include a client library.
    ``at`` is the time at which the last bytes arrived, in seconds."""

    def __init__(self) -> None:
        self._received = b""
        self._wakeup = asyncio.Event()
        self.at = 0.0
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.at = time.perf_counter()
        self._received += data
        self._wakeup.set()

    def send(self, request: str, headers: str, body: bytes = b"") -> None:
        head = f"{request} HTTP/1.1\r\nHost: bench\r\n{KEY}{headers}\r\n"
        self._transport.write(head.encode() + body)

    async def received(self, expected: bytes) -> float:
        """Waits for these bytes, and returns their time of arrival."""
        async with asyncio.timeout(30):
            while expected not in self._received:
                self._wakeup.clear()
                await self._wakeup.wait()
        self._received = b""
        return self.at

    def close(self) -> None:
        self._transport.abort()


class _Create(Struct, frozen=True):
    """The times at which the request was sent, and its response and its event arrived, in
    seconds."""

    sent: float
    response: float
    event: float

    @property
    def latency(self) -> float:
        """Milliseconds from the request to the event."""
        return (self.event - self.sent) * 1000


async def _creates(port: int) -> list[_Create]:
    """Sends creates in sequence, each after the event of the previous one has arrived."""
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(_Client, "127.0.0.1", port)
    _, writer = await loop.create_connection(_Client, "127.0.0.1", port)
    stream.send("GET /v1/changes?after=now", "Accept: text/event-stream\r\n")
    await stream.received(b"event: caught-up")
    found = []
    gc.freeze()  # A collection of all objects of this process would count as latency.
    for _ in range(EVENTS):
        body = create_body()
        sent = time.perf_counter()
        writer.send("POST /v1/content", f"{JSON}Content-Length: {len(body)}\r\n", body)
        response = await writer.received(b"was created")
        found.append(_Create(sent, response, await stream.received(b"event: entry.created")))
        await asyncio.sleep(0.001)
    stream.close()
    writer.close()
    return found


async def _hops(url: str, port: int) -> str:
    """Measures when a create reaches each step, using a listener for the notifications of the log
    and the read model."""
    at: dict[str, list[float]] = {"contentlog_event": [], CHANNEL: []}
    listener = await asyncpg.connect(url)
    for channel, times in at.items():
        await listener.add_listener(channel, lambda *_, t=times: t.append(time.perf_counter()))
    creates = await _creates(port)
    await listener.close()
    appended, projected = at.values()
    hops = {
        "it is in the log, and announced": appended[-EVENTS:],
        "it can be read, and is announced": projected[-EVENTS:],
        "its response has arrived": [one.response for one in creates],
        "its event has arrived": [one.event for one in creates],
    }
    rows = [
        _row(what, [(t - one.sent) * 1000 for t, one in zip(times, creates, strict=True)], "")
        for what, times in hops.items()
    ]
    return table("Where the time goes: from a create's request until", rows, "")


async def _compare_creates(crowded: int, empty: int) -> Row:
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for rate, port in zip(rates, (crowded, empty), strict=True):
            rate.append(
                (await measured(Load(port, "/v1/content", KEY + JSON, create_body))).per_second
            )
    ours, theirs = rates
    ratio = ratio_of_rounds(ours, theirs)
    name = f"creates beside {STREAMS:,} idle streams"
    return Row(name, f"{median(ours):,.0f}/s", f"{median(theirs):,.0f}/s", ratio, "≥ 0.9×")


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
    """The API's resident memory in bytes."""
    statm = Path(f"/proc/{processes.running['api'].pid}/statm").read_text()
    return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")
