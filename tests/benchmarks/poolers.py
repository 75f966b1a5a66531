"""The cost of a pooler: an API process with its own connections, one that uses them as if they led
to a pooler, and one behind PgBouncer. The response cache is off."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec

from tests.benchmarks.fixed import HEADERS
from tests.benchmarks.http import LIMITS
from tests.benchmarks.load import Load, measured
from tests.benchmarks.report import median
from tests.benchmarks.workload import append_entries, prepare
from tests.databases import RUNTIME
from tests.pgbouncer import pgbouncer
from tests.processes import Processes, running
from write_side.postgres.connection import connect, set_defaults
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ENTRIES = 20_000
ROUNDS = 7
SECONDS = 1.0
CONNECTIONS = 16
JSON = f"{HEADERS}Content-Type: application/json\r\n"
PATHS = {
    "single entry": "/v1/content/posts/entry-KEY",
    "list of 10": "/v1/content/posts?offset=KEY",
    "list by filter": "/v1/content/posts?filter[slug]=entry-KEY",
}
Rates = list[list[float]]


async def measure(url: str, _other: str) -> str:
    connection = await connect(url)
    await set_defaults(connection)
    await connection.close()
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        await append_entries(repository, await prepare(repository), ENTRIES)
    password = urlsplit(url).password or ""
    with TemporaryDirectory(prefix="cl-") as folder, ExitStack() as stack:
        pooler = stack.enter_context(pgbouncer(url, {RUNTIME: password}, pool_size=20))
        started = stack.enter_context(running(url, Path(folder) / "log"))
        await started.caught_up(120)
        apis = []
        for number, pool in enumerate((None, url, pooler.url(url))):
            settings = {**LIMITS, "CONTENTLOG_CACHE_BYTES": "0"}
            if pool is not None:
                settings |= {"CONTENTLOG_EVENT_STORE_POOL_URL": pool}
                settings |= {"CONTENTLOG_READ_MODEL_POOL_URL": pool}
            api = Processes(url, Path(folder) / f"log-{number}", **settings)
            stack.callback(api.stop)
            api.start("api")
            await api.caught_up(60)
            apis.append(api)
        lines = [f"### Behind PgBouncer, {ENTRIES:,} entries, one API process", ""]
        lines += ["| what | direct | as behind a pooler | PgBouncer |", "|---|--:|--:|--:|"]
        for connections in (1, CONNECTIONS):
            for what, load in loads().items():
                found = await rates([load(api.port) for api in apis], connections)
                lines.append(f"| {what}, {connections} at a time | {cells(found)} |")
        return "\n".join([*lines, ""])


def loads() -> dict[str, Callable[[int], Load]]:
    def reads(path: str) -> Callable[[int], Load]:
        return lambda port: Load(port, path, HEADERS, keys=ENTRIES - 100)

    def creates(port: int) -> Load:
        numbers, run = itertools.count(), uuid4().hex

        def body() -> bytes:
            return msgspec.json.encode(
                {"contentTypeSlug": "posts", "title": f"{run} {next(numbers)}"}
            )

        return Load(port, "/v1/content", JSON, body)

    return {**{what: reads(path) for what, path in PATHS.items()}, "create": creates}


async def rates(loads: list[Load], connections: int) -> Rates:
    """Measures the loads alternately, in rounds."""
    found: Rates = [[] for _ in loads]
    for _ in range(ROUNDS):
        for each, load in zip(found, loads, strict=True):
            each.append((await measured(load, SECONDS, connections)).per_second)
    return found


def cells(found: Rates) -> str:
    """The median rate of each, and the median of its per-round ratios to the first."""
    shown = []
    for each in found:
        ratio = median([one / first for one, first in zip(each, found[0], strict=True)])
        shown.append(f"{median(each):,.0f}/s ({ratio:.2f}×)")
    return " | ".join(shown)
