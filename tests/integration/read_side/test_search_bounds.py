"""How much a search reads among 200,000 entries of two workspaces."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from projector.rows import BLOCKS
from read_side.schema import LIVE
from read_side.search import MOST, MOST_READ, Kind, search
from tests.integration.read_side.test_statements import PROJECTOR, READ_SIDE, explained, scans
from write_side.domain.identity import Scope
from write_side.domain.words import BLOCK, lexeme_prefix, search_area
from write_side.postgres.connection import Connection

pytestmark = pytest.mark.slow
ENTRIES = 200_000
LANGUAGE = "pl-PL"
WORKSPACES = {
    "acme": "018f0000-0000-7000-8000-0000000000aa",
    "other": "018f0000-0000-7000-8000-0000000000bb",
}
RARE = 1_000
"""One of this number of entries has a rare word."""
_GIN = "CREATE INDEX entry_search_words ON entry_search USING gin (words) WITH (fastupdate = off)"
_COUNT = """
INSERT INTO entry_count
SELECT workspace, 'production', 3, number - 1, type_id::uuid, status, $4,
       position / size * size, count(*)
FROM entry_search
JOIN unnest($1::text[], $2::text[]) AS types (workspace, type_id) USING (workspace)
CROSS JOIN unnest($3::bigint[]) WITH ORDINALITY AS sizes (size, number)
GROUP BY workspace, type_id, number, status, position / size * size"""


@pytest.fixture
async def large(module_database_url: str) -> AsyncIterator[Connection]:
    """Every second entry belongs to the other workspace, and one of 50 is a draft."""
    settings = {"search_path": LIVE, "plan_cache_mode": "force_generic_plan"}
    connection = await asyncpg.connect(module_database_url, server_settings=settings)
    if not await connection.fetchval("SELECT EXISTS (SELECT FROM entry_search)"):
        await connection.execute("DROP INDEX entry_search_words")
        rng = random.Random(1)
        for first in range(0, ENTRIES, 10_000):
            rows = [_row(rng, n) for n in range(first, first + 10_000)]
            columns = [list(column) for column in zip(*rows, strict=True)]
            await connection.execute(PROJECTOR["put_search"], *columns)
        await connection.execute(_GIN)
        types = [list(WORKSPACES), list(WORKSPACES.values())]
        await connection.execute(_COUNT, *types, BLOCKS, LANGUAGE)
        await connection.execute("VACUUM ANALYZE entry_search, entry_count")
    yield connection
    await connection.close()


def _row(rng: random.Random, n: int) -> tuple[Any, ...]:
    workspace = "acme" if n % 2 else "other"
    area = search_area(workspace, "production", WORKSPACES[workspace], LANGUAGE, "")
    prefix = lexeme_prefix(area, n // BLOCK * BLOCK)
    found = {"common", *(f"word{rng.randrange(20_000)}" for _ in range(4))}
    if n % RARE in (0, 1):
        found.add("rare")
    if workspace == "other":
        found.add("theirs")
    status = "draft" if n % 50 in (6, 7) else "published"
    if status == "published":
        found.add("live")
    words = " ".join(f"{prefix}{word}:{place}A" for place, word in enumerate(sorted(found), 1))
    return workspace, "production", n, "", status, words


def kinds(*statuses: str) -> list[Kind]:
    return [(WORKSPACES["acme"], status, LANGUAGE) for status in statuses]


async def _literal(connection: Connection, value: Any) -> Any:
    """As ``explained`` takes it."""
    if isinstance(value, list | tuple):
        value = await connection.fetchval("SELECT $1::text[]::text", list(value))
    return value.replace("'", "''") if isinstance(value, str) else value


SEARCHES: list[tuple[str, str, int, int]] = [
    # the words, the status, matches, and rows of entry_search that may be read
    ("rare", "published", ENTRIES // RARE, 2 * ENTRIES // RARE),
    ("rare", "draft", 0, 2 * ENTRIES // RARE),
    ("rare c", "published", ENTRIES // RARE, 3 * ENTRIES // RARE),
    ("theirs", "published", 0, 0),
    ("theirs c", "published", 0, 0),
    ("common", "published", MOST, MOST + BLOCK),
    ("w", "published", MOST, MOST + BLOCK),
    ("common w", "published", MOST, MOST + BLOCK + 100),
    ("common", "draft", 2_100, MOST_READ + BLOCK),
    ("live", "draft", 0, MOST_READ + BLOCK),
    ("common", "archived", 0, 0),
]
ENDED = [("common", "draft"), ("live", "draft")]
"""Searches that stop before they have read all texts."""


@pytest.mark.parametrize(("text", "status", "matches", "most_read"), SEARCHES)
async def test_a_search_reads_what_it_finds(
    text: str, status: str, matches: int, most_read: int, large: Connection
) -> None:
    """Never a whole table or index, and nothing of the other workspace."""
    used: list[Any] = []

    async def fetch(statement: str, *parameters: Any) -> list[Any]:
        used[:] = parameters
        return await large.fetch(statement, *parameters)

    result = await search(fetch, Scope("acme", "production"), text, kinds(status), "fr-FR")
    assert matches * 0.45 <= len(result.positions) <= matches
    assert result.is_complete == (len(result.positions) < MOST and (text, status) not in ENDED)
    literals = [await _literal(large, one) for one in used]
    plan = await explained(large, "force_generic_plan", READ_SIDE["search"], literals)
    read = [one for one in scans(plan) if one["Relation Name"] == "entry_search"]
    assert {one["Node Type"] for one in read} <= {"Bitmap Heap Scan", "Index Only Scan", "Tid Scan"}
    by_words = [one for one in read if one["Node Type"] == "Bitmap Heap Scan"]
    assert sum(one["Actual Rows"] * one["Actual Loops"] for one in by_words) <= most_read
