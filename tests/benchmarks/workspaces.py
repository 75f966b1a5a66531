"""Ten thousand workspaces in one installation. The n-th largest has 1/n of the entries and of the
requests of the largest.

Measures ``apply``, the first request of a workspace and its memory, and the waits of the others
while the largest sends as many requests as it can. One API process has the default response cache.
``CONTENTLOG_BENCH_WORKSPACES`` sets another number of workspaces.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import structs

from projector.rebuild.build import BuildSettings
from projector.rebuild.operations import rebuild
from tests.benchmarks.http import LIMITS, settle
from tests.benchmarks.load import Load, measured
from tests.benchmarks.processor_time import family, proportional
from tests.benchmarks.report import Row, table
from tests.benchmarks.skewed_load import SkewedPlan, secret
from tests.benchmarks.steady import load, row
from tests.benchmarks.workload import OPERATOR, append_events, create_body, created
from tests.processes import Processes, running
from write_side.domain.content_type import ContentType
from write_side.domain.events import EntryCreated
from write_side.domain.identity import Scope
from write_side.manifest.diff import diff
from write_side.manifest.loader import read_manifest
from write_side.manifest.steps import apply_steps
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

WORKSPACES = "10000"
ENTRIES = 100_000
RATE, SECONDS = 100.0, 20.0
"""The steady load: requests per second, and seconds."""
AT_ONCE = 8
FLOODING = 32
"""The number of connections on which the largest workspace reads random pages, and the number on
which it creates."""
_MANIFEST = """
workspace: workspace-{rank}
name: Workspace {rank}
keys:
  - {{name: site, permissions: [content.view, content.edit], secret: "{secret}"}}
contentTypes:
  - slug: posts
    name: Posts
    fields:
      - {{slug: body, name: Body, type: rich_text}}
      - {{slug: summary, name: Summary, type: text}}
      - {{slug: views, name: Views, type: number}}
"""


async def measure(url: str, _other: str) -> str:
    total = int(os.environ.get("CONTENTLOG_BENCH_WORKSPACES", WORKSPACES))
    applies = await fill(url, total)
    settings = BuildSettings(event_store_url=url, read_model_url=url)
    began = time.perf_counter()
    await rebuild(settings, accept_differences=True, report=lambda _: None)
    rebuilt = time.perf_counter() - began
    await settle(url)
    with TemporaryDirectory() as folder, running(url, Path(folder) / "log", **LIMITS) as processes:
        await processes.caught_up(120)
        rows = [
            row("apply without the start of its process, the first 100", applies[:100]),
            row(f"the same with {total:,} workspaces, the last 100", applies[-100:]),
            Row(
                "contentlog apply of one more, until it can be read", command(processes, folder), ""
            ),
            Row(f"rebuild of all, with {ENTRIES:,} entries", f"{rebuilt:.1f} s", ""),
            *await memory(processes, total),
        ]
        waits = [
            *await steady("alone", processes.port, total),
            *await during_flood(processes.port, total),
        ]
    title = f"{total:,} workspaces, of which the largest has {sizes(total)[0]:,} entries"
    steadily = f"{RATE:.0f} requests/s for {SECONDS:.0f} s, by Zipf's law"
    return "\n".join(
        (
            table(title, rows, "p99 ÷ p50"),
            table(f"Lists of 10 of {total:,} workspaces: {steadily}", waits, "p99 ÷ p50"),
        )
    )


async def fill(url: str, total: int) -> list[float]:
    """Applies all manifests, and appends their entries. Returns the seconds of the measured
    applies."""
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        seconds = [await apply(repository, rank) for rank in range(1, 101)]
        slots = asyncio.Semaphore(AT_ONCE)

        async def apply_in_turn(rank: int) -> None:
            async with slots:
                await apply(repository, rank)

        await asyncio.gather(*map(apply_in_turn, range(101, total - 99)))
        seconds += [await apply(repository, rank) for rank in range(total - 99, total + 1)]
        types = [
            await repository.content_type(scope(rank), "posts") for rank in range(1, total + 1)
        ]
        await append_events(repository, entries(types))
    return seconds


async def apply(repository: Repository, rank: int) -> float:
    """Applies a workspace's manifest. Returns the seconds it took."""
    text = _MANIFEST.format(rank=rank, secret=secret(rank))
    began = time.perf_counter()
    document = read_manifest(text.encode(), "manifest")
    steps = await diff(document, repository, OPERATOR)
    async for _ in apply_steps(steps, repository):
        pass
    return time.perf_counter() - began


def command(processes: Processes, folder: str) -> str:
    """Runs the command three times, each with a new workspace. Returns its times."""
    seconds = []
    for number in range(3):
        manifest = Path(folder) / "manifest.yaml"
        rank = f"more-{number}"
        manifest.write_text(_MANIFEST.format(rank=rank, secret=f"secret-of-workspace-{rank}"))
        began = time.perf_counter()
        assert processes.run("apply", str(manifest)) == 0
        seconds.append(time.perf_counter() - began)
    return ", ".join(f"{one:.1f} s" for one in sorted(seconds))


def scope(rank: int) -> Scope:
    return Scope(f"workspace-{rank}", "production")


def sizes(total: int) -> list[int]:
    """The number of entries of each workspace, at least one."""
    largest = ENTRIES / sum(1 / rank for rank in range(1, total + 1))
    return [max(1, round(largest / rank)) for rank in range(1, total + 1)]


def entries(types: list[ContentType]) -> Iterator[EntryCreated]:
    for rank, (content_type, number) in enumerate(zip(types, sizes(len(types)), strict=True), 1):
        for n in range(number):
            event = created(content_type, n)
            yield structs.replace(
                event,
                workspace=scope(rank).workspace,
                fields={slug: event.fields[slug] for slug in ("body", "summary", "views")},
            )


async def memory(processes: Processes, total: int) -> list[Row]:
    """Measures the API process's memory at rest and after a read of each workspace, and the waits
    of the first and second request to each."""
    before = resident(processes)
    first = await read_each(processes.port, total)
    after = resident(processes)
    second = await read_each(processes.port, total)
    grown = (after - before) / total
    return [
        row("first request of a workspace", first),
        row("second request of a workspace", second),
        Row("memory of the API process (PSS) at rest", f"{before / 2**20:.0f} MiB", ""),
        Row("the same when each workspace has been read", f"{after / 2**20:.0f} MiB", ""),
        Row("memory per workspace, its page in the response cache", f"{grown / 1024:.1f} kB", ""),
    ]


def resident(processes: Processes) -> int:
    return sum(map(proportional, family(processes.running["api"].pid)))


async def read_each(port: int, total: int) -> list[float]:
    """Reads a list of each workspace in sequence, on one connection. Returns the seconds of
    each."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seconds = []
    for rank in range(1, total + 1):
        key = f"Host: bench\r\nAuthorization: Bearer {secret(rank)}\r\n\r\n"
        began = time.perf_counter()
        writer.write(f"GET /v1/content/posts HTTP/1.1\r\n{key}".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200"), head
        at = head.index(b"content-length: ") + 16
        await reader.readexactly(int(head[at : at + 12].split(b"\r\n")[0]))
        seconds.append(time.perf_counter() - began)
    writer.close()
    return seconds


async def steady(what: str, port: int, total: int, first: int = 1) -> list[Row]:
    """The latencies by class of workspace, for workspaces from rank ``first`` on."""
    found = await load(SkewedPlan(port, RATE, SECONDS, first, total))
    return [row(f"{name}, {what}", found[name]) for name in sorted(found)]


async def during_flood(port: int, total: int) -> list[Row]:
    """Measures the other workspaces while the largest reads uncached pages and creates entries,
    without a pause."""
    headers = f"Authorization: Bearer {secret(1)}\r\n"
    pages = Load(port, "/v1/content/posts?offset=KEY", headers, keys=sizes(total)[0])
    creates = Load(port, "/v1/content", f"{headers}Content-Type: application/json\r\n", create_body)
    rows, read, written = await asyncio.gather(
        steady("beside a flood", port, total, first=2),
        measured(pages, SECONDS, FLOODING),
        measured(creates, SECONDS, FLOODING),
    )
    rates = f"{read.per_second:,.0f}/s and {written.per_second:,.0f}/s"
    return [*rows, Row("the flood of the largest: pages and creates", rates, "")]
