"""The dashboard's table of 100,000 entries.

Measures its pages, and compares its title search with a search by a trigram index, which contentlog
does not have.
"""

from __future__ import annotations

import time

from read_side.paging import Filters, list_summaries
from read_side.pool import Pool, open_pool
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.integration.bulk_rows import fill
from tests.integration.live_projector import connected, project_all
from tests.integration.projector.sample_log import ContentBuilder
from write_side.domain.identity import Scope
from write_side.postgres.connection import Connection
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
SEARCHES = {
    "search without matches": "zzzzz",
    "search with a few matches": "try 4321",
    "search that matches all entries": "entry",
}
_BY_INDEX = """
WITH matches AS MATERIALIZED (
    SELECT id, position FROM read_model.entry
    WHERE workspace = 'acme' AND environment = 'production' AND title ILIKE $1
), page AS (SELECT * FROM matches ORDER BY position DESC LIMIT 25)
SELECT (SELECT count(*) FROM matches), e.id, e.title, e.slug, e.status, e.updated_at
FROM page JOIN read_model.entry e USING (id)
WHERE e.workspace = 'acme' AND e.environment = 'production'"""
_EXTENSION = "CREATE EXTENSION pg_trgm"
_INDEX = """
CREATE INDEX by_title ON read_model.entry_production USING gin (title gin_trgm_ops)"""


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder:
        given = ContentBuilder(Repository(recorder, EventMapper()))
        await given.workspace()
        await given.content_type()
    await project_all(url, url)
    await fill(url, ENTRIES, STORED)
    async with open_pool(url) as pool, connected(url) as connection:
        await connection.execute("VACUUM ANALYZE")
        rows = [await _page(pool, name, *what) for name, what in PAGES.items()]
        await connection.execute(_EXTENSION)
        await connection.execute(_INDEX)
        await connection.execute("VACUUM ANALYZE")
        rows += [await _search(pool, connection, *what) for what in SEARCHES.items()]
    return table(f"Browsing {ENTRIES:,} entries", rows, "with a trigram index")


async def _page(pool: Pool, name: str, filters: Filters, offset: int) -> Row:
    times = [await _taken(pool, filters, offset) for _ in range(ROUNDS)]
    return Row(name, _shown(times), "–")


async def _search(pool: Pool, connection: Connection, name: str, searched: str) -> Row:
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(await _taken(pool, Filters(search=searched), 0))
        started = time.perf_counter()
        await connection.fetch(_BY_INDEX, f"%{searched}%")
        theirs.append(time.perf_counter() - started)
    return Row(name, _shown(ours), _shown(theirs), ratio_of_rounds(theirs, ours))


async def _taken(pool: Pool, filters: Filters, offset: int) -> float:
    started = time.perf_counter()
    await list_summaries(pool, Scope("acme", "production"), filters, limit=ROWS, offset=offset)
    return time.perf_counter() - started


def _shown(times: list[float]) -> str:
    return f"{median(times) * 1000:.1f} ms"
