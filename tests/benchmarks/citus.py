"""The read model on one PostgreSQL, and on Citus with one and with two workers (ADR 59).

``CONTENTLOG_TEST_CITUS_URL`` names a coordinator with two workers. The plain PostgreSQL is a
database on the coordinator without the extension, so that all have the same settings. The response
cache is off.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from projector.rebuild.build import BuildSettings
from projector.rebuild.operations import rebuild
from tests.benchmarks.catch_up import seconds_to
from tests.benchmarks.http import LIMITS
from tests.benchmarks.poolers import Rates, cells, loads, rates
from tests.benchmarks.workload import SCOPE, append_entries, prepare
from tests.databases import Databases
from tests.engines import CITUS_URL, Citus
from tests.processes import running
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ENTRIES = 20_000
ROUNDS = 3
CONNECTIONS = 16


async def measure(_url: str, _other: str) -> str:
    if CITUS_URL not in os.environ:
        return f"### Citus: left out, because {CITUS_URL} does not name a cluster\n"
    stack = ExitStack()
    try:
        urls = await asyncio.to_thread(_databases, stack)
        lines = [f"### Read model on Citus, {ENTRIES:,} entries of one workspace", ""]
        lines += ["| what | one PostgreSQL | Citus, 1 worker | Citus, 2 workers |"]
        lines += ["|---|--:|--:|--:|"]
        lines += [f"| catch-up, events/s | {cells(await _catch_ups(urls))} |"]
        lines += [f"| rebuilds with the comparison, entries/s | {cells(await _rebuilds(urls))} |"]
        for what, found in (await _requests(urls)).items():
            lines.append(f"| {what}, {CONNECTIONS} at a time | {cells(found)} |")
        return "\n".join([*lines, ""])
    finally:
        await asyncio.to_thread(stack.close)


def _databases(stack: ExitStack) -> list[str]:
    stack.enter_context(mock.patch.dict(os.environ))
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="cl-")))
    citus = Citus()
    cluster = stack.enter_context(citus.cluster(folder))
    nodes = citus.nodes(cluster)

    def new(name: str, *arguments: object) -> str:
        (folder / name).mkdir()
        databases = Databases(cluster, folder / name, *arguments)  # type: ignore[arg-type]
        return stack.enter_context(stack.enter_context(closing(databases)).new())

    return [
        new("plain"),
        *(
            new(f"citus_{workers}", nodes[: workers + 1], citus.set_up, citus.model_engine)
            for workers in (1, 2)
        ),
    ]


async def _catch_ups(urls: list[str]) -> Rates:
    """Events per second, measured alternately. Creates the entries."""
    found: Rates = [[] for _ in urls]
    share = ENTRIES // ROUNDS
    for number in range(ROUNDS):
        for each, url in zip(found, urls, strict=True):
            async with open_recorder(url) as recorder:
                repository = Repository(recorder, EventMapper())
                if not number:
                    await prepare(repository)
                content_type = await repository.content_type(SCOPE, "posts")
                before = await recorder.head()
                await append_entries(repository, content_type, share, first=number * share)
                head = await recorder.head()
            each.append((head - before) / await seconds_to(url, head))
    return found


async def _rebuilds(urls: list[str]) -> Rates:
    """Entries per second, measured alternately."""
    found: Rates = [[] for _ in urls]
    for _ in range(ROUNDS):
        for each, url in zip(found, urls, strict=True):
            settings = BuildSettings(event_store_url=url, read_model_url=url)
            began = time.perf_counter()
            done = await rebuild(settings, accept_differences=False, report=lambda _: None)
            each.append(ENTRIES / (time.perf_counter() - began))
            assert (done.differences, done.not_compared) == ([], None)
    return found


async def _requests(urls: list[str]) -> dict[str, Rates]:
    settings = {**LIMITS, "CONTENTLOG_CACHE_BYTES": "0"}
    with TemporaryDirectory() as folder, ExitStack() as stack:
        started = [
            stack.enter_context(running(url, Path(folder) / f"log-{number}", **settings))
            for number, url in enumerate(urls)
        ]
        for processes in started:
            await processes.caught_up(120)
        return {
            what: await rates([load(processes.port) for processes in started], CONNECTIONS)
            for what, load in loads().items()
        }
