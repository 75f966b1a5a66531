"""Reads that miss the cache, of random entries and pages, against the query floor: a bare aiohttp
server that reads ready-made bytes with one query and sends them.

That floor reads the same row each time, which is always in PostgreSQL's buffers. So lists are also
compared with a floor that reads as many rows as they have, at random, from as many as there are.

Each side has two processes. ``CONTENTLOG_BENCH_ENTRIES`` sets another number of entries, for
example 1000000.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg
from msgspec.structs import replace

from projector.rebuild.build import BuildSettings
from projector.rebuild.operations import rebuild
from tests.benchmarks.fixed import HEADERS, PROCESSES, one_round
from tests.benchmarks.http import LIMITS, bare_servers
from tests.benchmarks.load import Load, measured
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.scale import filled
from tests.databases import owner_of
from tests.default_server import default_server
from tests.integration.deploy.processes import children_of
from tests.processes import free_port, running

ENTRIES = "200000"
ROUNDS = 5
CONNECTIONS = (2, 8, 64)
PATHS = {
    "single entry": "/v1/content/posts/entry-KEY",
    "list of 10": "/v1/content/posts?offset=KEY",
    "list of 100": "/v1/content/posts?limit=100&offset=KEY",
}
ROWS = {"list of 10": "/rows/10/KEY", "list of 100": "/rows/100/KEY"}
_FILL_ROWS = "INSERT INTO floor_row SELECT n, $1 FROM generate_series(1, $2::int) AS n"


async def measure(_url: str, _other: str) -> str:
    entries = int(os.environ.get("CONTENTLOG_BENCH_ENTRIES", ENTRIES))
    settings = {**LIMITS, "CONTENTLOG_WORKERS": str(PROCESSES), "CONTENTLOG_CACHE_BYTES": "0"}
    with default_server(durable=True) as server, TemporaryDirectory() as folder:
        url = await filled(server, entries)
        build = BuildSettings(event_store_url=url, read_model_url=url)
        await rebuild(build, accept_differences=True, report=lambda _: None)
        with running(url, Path(folder) / "log", **settings) as started:
            await started.caught_up(120)
            workers = children_of(started.running["api"].pid)
            rows: list[Row] = []
            for what, path in PATHS.items():
                load = Load(started.port, path, HEADERS, keys=entries - 100)
                body = (await measured(load, 0.5)).body
                await store(url, body)
                rows += await compare(what, load, Load(0, "/", HEADERS), workers, url)
                if what == "single entry":
                    await store_rows(url, body, entries)
                else:
                    floor = Load(0, ROWS[what], HEADERS, keys=entries - 100)
                    rows += await compare(f"{what}, rows", load, floor, workers, url)
    return table(f"Random reads of {entries:,} entries, not from memory", rows, "query floor")


async def compare(
    what: str, ours: Load, floor: Load, workers: Sequence[int], url: str
) -> list[Row]:
    port, rows = free_port(), []
    floor = replace(floor, port=port)
    async with bare_servers("plain", url, port, PROCESSES) as pids:
        for number in CONNECTIONS:
            rates: tuple[list[float], list[float]] = ([], [])
            for _ in range(ROUNDS):
                rates[0].append((await one_round(ours, workers, number)).per_second)
                rates[1].append((await one_round(floor, pids, number)).per_second)
            rows.append(
                Row(
                    f"{what}, {number} connections",
                    f"{median(rates[0]):,.0f}/s",
                    f"{median(rates[1]):,.0f}/s",
                    ratio_of_rounds(*rates),
                    "≥ 1.0×" if number == CONNECTIONS[-1] and not floor.keys else "",
                )
            )
    return rows


async def store(url: str, body: bytes) -> None:
    """Stores a response's bytes for the floor to read."""
    connection = await asyncpg.connect(owner_of(url))
    await connection.execute("CREATE TABLE IF NOT EXISTS floor (id int PRIMARY KEY, body bytea)")
    await connection.execute("GRANT SELECT ON floor TO PUBLIC")
    await connection.execute(
        "INSERT INTO floor VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET body = $1", body
    )
    await connection.close()


async def store_rows(url: str, body: bytes, number: int) -> None:
    """Stores as many rows as there are entries, each of the size of one."""
    connection = await asyncpg.connect(owner_of(url))
    await connection.execute("CREATE TABLE floor_row (id int PRIMARY KEY, body bytea)")
    await connection.execute("GRANT SELECT ON floor_row TO PUBLIC")
    await connection.execute(_FILL_ROWS, body, number)
    await connection.execute("VACUUM ANALYZE floor_row")
    await connection.close()
