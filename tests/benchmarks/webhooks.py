"""Webhooks: the time from a create's request to its delivery, and deliveries per second to one
endpoint and to many.

The receivers run on the same machine as the service.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from tests.benchmarks.http import LIMITS
from tests.benchmarks.report import Row, table
from tests.benchmarks.workload import OPERATOR, SCOPE, SECRET, VALUES, create_body, prepare
from tests.integration.api.deliveries import create_webhook
from tests.integration.api.hook_server import HookServer, hook_server
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import Processes, running
from write_side import commands as c
from write_side.domain.identity import new_id
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

EVENTS = 500
CHANGES = 2_000
FEW_CHANGES = 200
MANY = 50


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder, hook_server() as hook:
        repository = Repository(recorder, EventMapper())
        await prepare(repository)
        builder = ContentBuilder(repository, SCOPE)
        with TemporaryDirectory() as folder:
            log, settings = Path(folder) / "log", {"CONTENTLOG_WEBHOOK_NETWORKS": "127.0.0.0/8"}
            with running(url, log, **LIMITS, **settings) as processes:
                await processes.caught_up(60)
                await create_webhook(builder, hook)
                processes.start("webhooks")
                latency = await _latencies(processes, hook)
                one = await _rate(builder, processes, [hook], CHANGES)
                async with AsyncExitStack() as stack:
                    others = [
                        await stack.enter_async_context(hook_server()) for _ in range(MANY - 1)
                    ]
                    for number, other in enumerate(others):
                        await create_webhook(builder, other, f"w{number}")
                    many = await _rate(builder, processes, [hook, *others], FEW_CHANGES)
    hundredths = statistics.quantiles(latency, n=100)
    shown = f"p50 {hundredths[49]:.1f} ms, p99 {hundredths[98]:.1f} ms"
    rows = [
        Row("create's request to its delivery", shown, "", None, "≤ 20 / ≤ 60 ms"),
        Row("deliveries to one endpoint", f"{one:,.0f}/s", ""),
        Row(f"deliveries to {MANY} endpoints together", f"{many:,.0f}/s", ""),
    ]
    return table(f"Webhooks ({EVENTS:,} creates one after another)", rows, "")


async def _latencies(processes: Processes, hook: HookServer) -> list[float]:
    """Milliseconds from the start of a create's request until its delivery is received."""
    found = []
    headers = {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(processes.url, headers=headers) as session:
        for number in range(EVENTS):
            began = time.perf_counter()
            received = asyncio.create_task(_received(hook, number + 1))
            async with session.post("/v1/content", data=create_body()) as response:
                assert response.status == 200, await response.text()
            found.append((await received - began) * 1000)
    return found


async def _received(hook: HookServer, number: int) -> float:
    await hook.has(number, 60)
    return time.perf_counter()


async def _rate(
    builder: ContentBuilder, processes: Processes, hooks: list[HookServer], changes: int
) -> float:
    """Deliveries per second for changes that arrive together."""
    before = [len(hook.received) for hook in hooks]
    entries: list[Any] = [
        c.CreateEntry(
            actor=OPERATOR,
            scope=SCOPE,
            content_type_slug="posts",
            title="A title",
            slug=new_id(),
            fields=VALUES,
        )
        for _ in range(changes)
    ]
    await builder.execute(
        c.ImportEntries,
        scope=SCOPE,
        content_type_slug="posts",
        import_id=new_id(),
        file_name="a.csv",
        entries=entries,
    )
    await hooks[0].has(before[0] + 1, 60)
    began = time.perf_counter()
    for hook, known in zip(hooks, before, strict=True):
        await hook.has(known + changes, 120)
    return changes * len(hooks) / (time.perf_counter() - began)
