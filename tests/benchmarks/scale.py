"""Reads and creates at 20,000 and at 200,000 entries on a PostgreSQL with default settings, and the
disk, memory and time that each size takes.

``CONTENTLOG_TEST_POSTGRES`` names the folder of another PostgreSQL's programs, for example version
15's. ``CONTENTLOG_BENCH_ENTRIES`` sets other sizes: ``20000,200000,2000000``.
"""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from tests.benchmarks.http import LIMITS
from tests.benchmarks.load import Load, measured
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.scale_costs import costs, table_of
from tests.benchmarks.workload import SECRET, create_body, created, prepare
from tests.databases import owner_of, set_up, with_database
from tests.default_server import default_server
from tests.processes import running
from write_side.domain.identity import entry_stream
from write_side.repository import Repository
from write_side.store.mapper import EventMapper, StreamEvent
from write_side.store.recorder import open_recorder

SIZES = "20000,200000"
ROUNDS = 3
HEADERS = f"Authorization: Bearer {SECRET}\r\n"
AIMS = {"list of 10": "≥ 0.67×"}
# One event is the template. An entry is created each millisecond.
_FILL = """
INSERT INTO write_side.event
SELECT h.position + n, 'entry/' || id, 1, $2,
       replace(replace($3, '987654321', n::text), $4, id), h.at + n * interval '1 ms'
FROM write_side.head h,
    (SELECT n, gen_random_uuid()::text AS id FROM generate_series(1, $1::int) AS n) AS entry"""
_HEAD = """
UPDATE write_side.head SET position = position + $1, at = at + $1 * interval '1 ms'"""


async def measure(_url: str, _other: str) -> str:
    sizes = [int(size) for size in os.environ.get("CONTENTLOG_BENCH_ENTRIES", SIZES).split(",")]
    with default_server(durable=True) as server, TemporaryDirectory() as folder:
        urls = [await filled(server, size) for size in sizes]
        all_costs = [await costs(url, size) for size, url in zip(sizes, urls, strict=True)]
        async with AsyncExitStack() as stack:
            started = []
            for size, url in zip(sizes, urls, strict=True):
                log = Path(folder) / f"log-{size}"
                processes = stack.enter_context(running(url, log, CONTENTLOG_WORKERS="2", **LIMITS))
                await processes.caught_up(120)
                started.append(processes)
            ports = [processes.port for processes in started]
            shown = [
                row
                for size, port in zip(sizes[1:], ports[1:], strict=True)
                for row in await compared(sizes[0], ports[0], size, port)
            ]
            for taken, processes in zip(all_costs, started, strict=True):
                taken.watch(processes)
        version = await server_version(server)
    title = f"Scale: PostgreSQL {version} with default settings"
    return "\n".join(
        (
            table(f"{title}, 16 connections", shown, f"{sizes[0]:,} entries"),
            table_of(all_costs, f"{title}: what each size takes"),
        )
    )


async def filled(server: str, entries: int) -> str:
    """Creates a database whose log has ``entries`` entries, with events made in SQL."""
    name = f"scale_{entries}"
    connection = await asyncpg.connect(server)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    url = with_database(server, name)
    await set_up(url)
    async with open_recorder(url) as recorder:
        content_type = await prepare(Repository(recorder, EventMapper()))
    event = created(content_type, 987_654_321)
    template = EventMapper().to_stored_event(StreamEvent(entry_stream(event.entry_id), 1, event))
    state = template.state.decode()
    connection = await asyncpg.connect(owner_of(url))
    async with connection.transaction():
        await connection.execute(_FILL, entries, template.topic, state, event.entry_id)
        await connection.execute(_HEAD, entries)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
    return url


async def compared(small: int, small_port: int, large: int, large_port: int) -> list[Row]:
    found = []
    for what, path in {
        "list of 10": "/v1/content/posts",
        "list of 10, offset 10,000": "/v1/content/posts?offset=10000",
        "single entry": f"/v1/content/posts/entry-{small // 2}",
    }.items():
        loads = [Load(port, path, HEADERS) for port in (large_port, small_port)]
        found.append(await row(f"{what}, {large:,} entries", loads, AIMS.get(what, "")))
    middle = [
        Load(p, f"/v1/content/posts?offset={n // 2}", HEADERS)
        for n, p in ((large, large_port), (small, small_port))
    ]
    found.append(await row(f"list of 10 from the middle, {large:,} entries", middle, ""))
    for shown, base in {
        "list of 10": "/v1/content/posts?limit=10",
        "list of 10 of all types": "/v1/content?limit=10",
    }.items():
        for percent in (10, 50, 90, 100):
            offset = min(large * percent // 100, large - 10)
            pages = [Load(large_port, f"{base}&offset={at}", HEADERS) for at in (offset, 0)]
            what = f"{shown} at {percent} % of {large:,} entries, against the first page"
            found.append(await row(what, pages, "≥ 0.67×"))
    creates = [Load(port, "/v1/content", JSON, create_body) for port in (large_port, small_port)]
    found.append(await row(f"create, {large:,} entries", creates, ""))
    return found


async def row(what: str, loads: list[Load], aim: str) -> Row:
    """Measures both sizes alternately, so that disturbances affect both."""
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for rate, load in zip(rates, loads, strict=True):
            rate.append((await measured(load)).per_second)
    ours, theirs = rates
    return Row(
        what,
        f"{median(ours):,.0f}/s",
        f"{median(theirs):,.0f}/s",
        ratio_of_rounds(ours, theirs),
        aim,
    )


JSON = f"{HEADERS}Content-Type: application/json\r\n"


async def server_version(server: str) -> str:
    connection = await asyncpg.connect(server)
    try:
        return str(connection.get_server_version().major)
    finally:
        await connection.close()
