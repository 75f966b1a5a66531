"""The pages of the dashboard's table of 100,000 entries."""

from __future__ import annotations

import time

from read_side.paging import Filters, list_summaries
from read_side.pool import Pool, open_pool
from tests.benchmarks.report import Row, median, table
from tests.integration.bulk_rows import fill
from tests.integration.live_projector import connected, project_all
from tests.integration.projector.sample_log import ContentBuilder
from write_side.domain.identity import Scope
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ENTRIES = 100_000
ROUNDS = 15
ROWS = 25
STORED = f'{{"body": "{"A paragraph of some length. " * 40}"}}'
PAGES = {
    "first page": (Filters(), 0),
    "last page": (Filters(), ENTRIES - ROWS),
    "filter by a status without entries": (Filters(status="archived"), 0),
}


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder:
        builder = ContentBuilder(Repository(recorder, EventMapper()))
        await builder.workspace()
        await builder.content_type()
    await project_all(url, url)
    await fill(url, ENTRIES, STORED)
    async with open_pool(url) as pool, connected(url) as connection:
        await connection.execute("VACUUM ANALYZE")
        rows = [await _page(pool, name, *what) for name, what in PAGES.items()]
    return table(f"Browsing {ENTRIES:,} entries", rows, "–")


async def _page(pool: Pool, name: str, filters: Filters, offset: int) -> Row:
    times = [await _taken(pool, filters, offset) for _ in range(ROUNDS)]
    return Row(name, f"{median(times) * 1000:.1f} ms", "–")


async def _taken(pool: Pool, filters: Filters, offset: int) -> float:
    started = time.perf_counter()
    await list_summaries(pool, Scope("acme", "production"), filters, limit=ROWS, offset=offset)
    return time.perf_counter() - started
