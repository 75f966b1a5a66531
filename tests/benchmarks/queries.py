"""Filtered, sorted, searched and deep lists of entries with ten indexed fields over HTTP, next to
the SQL that Directus sends for the same lists. Also the cost of indexed fields for writes.

``CONTENTLOG_BENCH_ENTRIES`` sets another number of entries, for example 20000.
``CONTENTLOG_BENCH_DATA`` names a folder that keeps them for the next run.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import asyncpg
import msgspec

from deploy.embedded.server import use
from projector.rebuild.build import BuildSettings
from projector.rebuild.operations import rebuild
from read_side.schema import ShapeMismatch
from tests.benchmarks.http import LIMITS
from tests.benchmarks.query_content import FIELDS, Texts, create_authors, created, make_table
from tests.benchmarks.query_kinds import BY_VIEWS, KINDS, LIMIT, Kind, Query, Sample
from tests.benchmarks.query_writes import compare_writes
from tests.benchmarks.report import median
from tests.benchmarks.workload import SECRET, append_events, prepare
from tests.databases import owner_of, runtime_url, set_up, with_database
from tests.processes import running
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ENTRIES = "1000000"
QUERIES = 200
SECONDS = 10.0
"""Seconds for the queries of a kind. At least FEWEST are sent."""
FEWEST = 10
WARM = 3
CHECKED = 5
"""Number of queries of each kind whose totals are compared."""
PAGE = 100
HEADERS = {"Authorization": f"Bearer {SECRET}"}

Send = Callable[[Query], Awaitable[Any]]


async def measure(url: str, other: str) -> str:
    entries = int(os.environ.get("CONTENTLOG_BENCH_ENTRIES", ENTRIES))
    async with _database(entries, runtime_url(other)) as database:
        settings = {**LIMITS, "CONTENTLOG_CACHE_BYTES": "0"}
        with (
            TemporaryDirectory() as folder,
            running(database, Path(folder) / "log", **settings) as processes,
        ):
            await processes.caught_up(120)
            compared = await _compare(database, processes.port, entries)
    return "\n".join((compared, await compare_writes(url)))


@asynccontextmanager
async def _database(entries: int, fresh: str) -> AsyncIterator[str]:
    """Yields a filled database: ``fresh``, or the one kept in the folder."""
    if not (folder := os.environ.get("CONTENTLOG_BENCH_DATA")):
        await _fill(fresh, entries)
        yield fresh
        return
    with use(Path(folder)) as server:
        name = f"queries_{entries}"
        url = with_database(server, name)
        connection = await asyncpg.connect(owner_of(with_database(server, "postgres")))
        is_filled = (
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = $1"
        )
        if await connection.fetchval(is_filled, name) is None:
            await connection.execute(f"DROP DATABASE IF EXISTS {name}")
            await connection.execute(f"CREATE DATABASE {name}")
            await _fill(url, entries)
            await connection.execute(f"COMMENT ON DATABASE {name} IS 'filled'")
        await connection.close()
        await _migrate(url)
        yield url


async def _fill(url: str, entries: int) -> None:
    await set_up(url)
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        content_type = await prepare(repository, FIELDS)
        authors = await create_authors(repository)
        await append_events(repository, created(content_type, authors, entries))
    await _rebuild(url)
    await make_table(url)


async def _migrate(url: str) -> None:
    """Migrates a database that an earlier version has filled."""
    try:
        await set_up(url)
    except ShapeMismatch:
        await _rebuild(url)


async def _rebuild(url: str) -> None:
    settings = BuildSettings(event_store_url=url, read_model_url=url)
    await rebuild(settings, accept_differences=True, report=lambda _: None)


async def _compare(url: str, port: int, entries: int) -> str:
    client = _Client(port)
    connection = await asyncpg.connect(owner_of(url))
    # Directus does not prepare its statements: each is planned for its parameters.
    await connection.execute("SET plan_cache_mode = force_custom_plan")
    posts = await connection.fetch("SELECT * FROM posts ORDER BY md5(id::text) LIMIT 1000")
    sample = Sample(
        entries,
        [dict(post) for post in posts],
        _cursors(client, {}, entries),
        _cursors(client, BY_VIEWS, entries),
        Texts(),
    )
    lines = [
        f"### Lists of {entries:,} entries, ten fields indexed, two searchable: p50 / p99",
        "",
        "| what | matches | contentlog | without total | Directus' SQL | without count |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    lines += [await _row(kind, sample, client, connection) for kind in KINDS]
    await connection.close()
    return "\n".join(lines) + "\n"


class _Client:
    """A client with one connection and one request at a time."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, parameters: dict[str, str]) -> bytes:
        path = f"/v1/content/posts?{urlencode(parameters)}"
        self._connection.request("GET", path, headers=HEADERS)
        response = self._connection.getresponse()
        body = response.read()
        assert response.status == 200, (path, body)
        return body

    def renew(self) -> None:
        """Closes the connection, and the next request opens one: the server closes idle
        connections."""
        self._connection.close()

    def pagination(self, parameters: dict[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(self.get(parameters))["pagination"]
        return found


def _cursors(client: _Client, parameters: dict[str, str], entries: int) -> list[tuple[int, str]]:
    """The cursors of pages from the middle on, with the number of entries before each."""
    found = []
    page = {**parameters, "limit": str(PAGE), "total": "none", "select": "id", "cursor": "first"}
    for before in range(PAGE, entries * 6 // 10, PAGE):
        page["cursor"] = client.pagination(page)["next"]
        if before >= entries // 2:
            found.append((before, page["cursor"]))
    return found


async def _row(kind: Kind, sample: Sample, client: _Client, connection: Any) -> str:
    async def ours(query: Query) -> None:
        client.get({**query.parameters, "limit": str(LIMIT)})

    async def uncounted(query: Query) -> None:
        client.get({**query.parameters, "limit": str(LIMIT), "total": "none"})

    async def theirs(query: Query) -> None:
        await connection.fetch(query.page, *query.values)
        await connection.fetchval(query.count, *query.values)

    async def page_only(query: Query) -> None:
        await connection.fetch(query.page, *query.values)

    client.renew()
    totals = [
        await _totals(kind, query, client, connection) for query in _queries(kind, sample, CHECKED)
    ]
    shown = [
        await _measured(send, _queries(kind, sample, QUERIES))
        for send in (ours, uncounted, theirs, page_only)
    ]
    row = f"| {kind.what} | {median(totals):,.0f} | {' | '.join(shown)} |"
    print(row, file=sys.stderr)
    return row


def _queries(kind: Kind, sample: Sample, number: int) -> list[Query]:
    """Returns the same queries for the same ``number``, and others for another."""
    random = Random(number)
    return [kind.make(random, sample) for _ in range(number)]


async def _totals(kind: Kind, query: Query, client: _Client, connection: Any) -> int:
    """The number of entries the statement selects. contentlog's total must be equal, or unknown."""
    theirs: int = await connection.fetchval(query.count, *query.values)
    ours = client.pagination(query.parameters)["total"]
    assert not kind.is_exact or ours in (theirs, None), (query, ours, theirs)
    return theirs


async def _measured(send: Send, queries: list[Query]) -> str:
    """The p50 and p99 in milliseconds."""
    for query in queries[:WARM]:
        await send(query)
    found: list[float] = []
    began = time.perf_counter()
    for query in queries:
        started = time.perf_counter()
        await send(query)
        found.append((time.perf_counter() - started) * 1000)
        if len(found) >= FEWEST and time.perf_counter() - began > SECONDS:
            break
    found.sort()
    p99 = found[math.ceil(0.99 * len(found)) - 1]
    few = f" ({len(found)})" if len(found) < len(queries) else ""
    return f"{median(found):.1f} / {p99:.1f} ms{few}"
