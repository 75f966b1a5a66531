"""Cached reads against the fixed floor: a bare aiohttp server that sends the same bytes.

Each side has two processes, on the same event loop. The requests come from two more processes,
which take half of the machine; therefore the servers' processor time is compared as well.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, json

from tests.benchmarks.http import ENTRIES, LIMITS, PATHS, bare_servers, settle
from tests.benchmarks.load import CONNECTIONS, SECONDS, Load, Measured, measured
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.workload import SECRET, fill
from tests.integration.deploy.processes import children_of
from tests.processes import free_port, running

PROCESSES = 2
ROUNDS = 7
MEASURED = ("list of 10", "list of 100", "single entry")
HEADERS = f"Authorization: Bearer {SECRET}\r\n"
_TICKS = os.sysconf("SC_CLK_TCK")


class Round(Struct):
    """The result of a round. ``processor`` is the servers' processor seconds per request."""

    per_second: float
    processor: float


async def measure(url: str, _other: str) -> str:
    await fill(url, ENTRIES)
    settings = {**LIMITS, "CONTENTLOG_WORKERS": str(PROCESSES)}
    with TemporaryDirectory() as folder, running(url, Path(folder) / "log", **settings) as started:
        await started.caught_up(120)
        await settle(url)
        workers = children_of(started.running["api"].pid)
        rows: list[Row] = []
        for what in MEASURED:
            rows += await compare(what, Load(started.port, PATHS[what], HEADERS), workers, folder)
    title = f"Reads of {ENTRIES:,} entries against the same bytes, {CONNECTIONS} connections"
    return table(title, rows, "fixed floor")


async def compare(what: str, ours: Load, workers: Sequence[int], folder: str) -> list[Row]:
    body = Path(folder) / "body"
    body.write_bytes((await measured(ours, 0.3)).body)
    port = free_port()
    async with bare_servers("fixed", str(body), port, PROCESSES) as pids:
        rounds: tuple[list[Round], list[Round]] = ([], [])
        for _ in range(ROUNDS):
            rounds[0].append(await one_round(ours, workers))
            rounds[1].append(await one_round(Load(port, "/", HEADERS), pids))
    rates, theirs = ([one.per_second for one in some] for some in rounds)
    times, floors = ([one.processor for one in some] for some in rounds)
    name = f"{what} ({body.stat().st_size / 1000:.1f} kB)"
    return [
        Row(
            name,
            f"{median(rates):,.0f}/s",
            f"{median(theirs):,.0f}/s",
            ratio_of_rounds(rates, theirs),
            "≥ 0.5×",
        ),
        Row(
            f"{name}, processor time of the servers",
            f"{median(times) * 1e6:.0f} µs",
            f"{median(floors) * 1e6:.0f} µs",
            ratio_of_rounds(floors, times),
            "≥ 0.5×",
        ),
    ]


async def one_round(load: Load, servers: Sequence[int], number: int = CONNECTIONS) -> Round:
    before = sum(map(processor_time, servers))
    clients = await asyncio.gather(*(client(load, number // PROCESSES) for _ in range(PROCESSES)))
    spent = sum(map(processor_time, servers)) - before
    rate = sum(one.per_second for one in clients)
    return Round(rate, spent / (rate * SECONDS))


async def client(load: Load, number: int) -> Measured:
    """Runs a share of the connections in a separate process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.benchmarks.load", stdin=-1, stdout=-1
    )
    order = (load.port, load.path, load.headers, number, load.keys)
    answer, _ = await process.communicate(json.encode(order))
    return Measured(json.decode(answer, type=float), b"")


def processor_time(pid: int) -> float:
    """User and system time in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
