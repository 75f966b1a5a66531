"""HTTP requests against the bare floor: aiohttp with one query for ready-made bytes, or one
INSERT."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from tests.benchmarks.load import Load, measured
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.workload import SECRET, create_body, fill
from tests.databases import RUNTIME, owner_of
from tests.integration.deploy.processes import eventually, listens
from tests.processes import free_port, running

ENTRIES = 20_000
# Rate limits are counted, as in production, but refuse nothing.
LIMITS = {
    "CONTENTLOG_KEY_RATE_LIMIT": "100000000",
    "CONTENTLOG_IP_RATE_LIMIT": "100000000",
    "CONTENTLOG_COST_LIMIT": "1000000000000",
}
ROUNDS = 7
PATHS = {
    "list of 10": "/v1/content/posts",
    "list of 100": "/v1/content/posts?limit=100",
    "list of 10, offset 10,000": "/v1/content/posts?offset=10000",
    "single entry": "/v1/content/posts/entry-4711",
}
AIMS = {"list of 10": "≥ 0.6×", "single entry": "≥ 0.6×"}


async def measure(url: str, _other: str) -> str:
    await fill(url, ENTRIES)
    with TemporaryDirectory() as folder, running(url, Path(folder) / "log", **LIMITS) as processes:
        await processes.caught_up(120)
        await settle(url)
        plain, lean = free_port(), free_port()
        async with bare_servers("plain", url, plain), bare_servers("lean", url, lean):
            compared = [
                await compare(what, path, processes.port, (plain, lean), url)
                for what, path in PATHS.items()
            ]
            created = await compare_creates(processes.port, (plain, lean))
    title = f"Reads of {ENTRIES:,} entries over HTTP, 16 connections"
    return "\n".join(
        (
            table(title, [rows[0] for rows in compared], "floor (asyncpg's pool)"),
            table(
                f"{title}, second floor",
                [rows[1] for rows in compared],
                "floor (contentlog's pool)",
            ),
            table("Creates over HTTP, 16 connections", created, "floor"),
        )
    )


async def compare(
    what: str, path: str, port: int, floors: tuple[int, int], url: str
) -> tuple[Row, Row]:
    """Compares with floors that serve the exact bytes of contentlog's response."""
    headers = f"Authorization: Bearer {SECRET}\r\n"
    body = (await measured(Load(port, path, headers))).body
    connection = await asyncpg.connect(url)
    await connection.execute("UPDATE floor SET body = $1", body)
    await connection.close()
    rates: tuple[list[float], ...] = ([], [], [])
    for _ in range(ROUNDS):
        for rate, load in zip(
            rates,
            (Load(port, path, headers), *(Load(floor, "/", headers) for floor in floors)),
            strict=True,
        ):
            rate.append((await measured(load)).per_second)
    ours, plain, lean = rates
    name = f"{what} ({len(body) / 1000:.1f} kB)"
    return row(name, ours, plain, AIMS.get(what, "")), row(name, ours, lean, "")


async def compare_creates(port: int, floors: tuple[int, int]) -> list[Row]:
    """Compares creates: contentlog appends, projects and waits until the entry is visible; the
    floors insert the body."""
    headers = f"Authorization: Bearer {SECRET}\r\nContent-Type: application/json\r\n"
    loads = [Load(port, "/v1/content", headers, create_body)]
    loads += [Load(floor, "/", headers, create_body) for floor in floors]
    rates: tuple[list[float], ...] = ([], [], [])
    for _ in range(ROUNDS):
        for rate, load in zip(rates, loads, strict=True):
            rate.append((await measured(load)).per_second)
    ours, plain, lean = rates
    return [
        row("create (1 kB), floor with asyncpg's pool", ours, plain, ""),
        row("create (1 kB), floor with contentlog's pool", ours, lean, ""),
    ]


def row(name: str, ours: list[float], theirs: list[float], aim: str) -> Row:
    return Row(
        name,
        f"{median(ours):,.0f}/s",
        f"{median(theirs):,.0f}/s",
        ratio_of_rounds(ours, theirs),
        aim,
    )


async def settle(url: str) -> None:
    """Vacuums the tables as autovacuum eventually would, and creates the floors' tables."""
    connection = await asyncpg.connect(owner_of(url))
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CREATE TABLE floor (id int PRIMARY KEY, body bytea)")
    await connection.execute("INSERT INTO floor VALUES (1, '')")
    await connection.execute("CREATE TABLE floor_entry (id serial PRIMARY KEY, body bytea)")
    await connection.execute(f"GRANT ALL ON floor, floor_entry, floor_entry_id_seq TO {RUNTIME}")
    await connection.close()


@asynccontextmanager
async def bare_servers(
    kind: str, source: str, port: int, number: int = 1
) -> AsyncIterator[list[int]]:
    """Starts bare servers that share the port, each in a separate process, and yields their process
    ids. ``floor.py`` describes the kinds and their sources."""
    command = (sys.executable, "-m", "tests.benchmarks.floor", kind, source, str(port))
    async with AsyncExitStack() as stack:
        processes = [await asyncio.create_subprocess_exec(*command) for _ in range(number)]
        for process in processes:
            stack.push_async_callback(process.wait)
            stack.callback(process.terminate)
        pids = [process.pid for process in processes]
        await eventually(lambda: all(listens(pid, port) for pid in pids))
        yield pids
