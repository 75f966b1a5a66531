"""Lists of few entries among many: a page reads its own entries only, whatever the statistics say.

The statistics here know one type, status and language. By them, a scan over the entries of any type
with a filter would find a page at once; for a rare list it would visit all entries.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from projector.rows import BLOCKS
from read_side.entries import INLINE
from read_side.schema import LIVE
from read_side.shared_reads import TOGETHER
from tests.integration.read_side.test_statements import (
    PROJECTOR,
    READ_SIDE,
    explained,
    scans,
    settle,
)
from write_side.postgres.connection import Connection

POSTS = "018f0000-0000-7000-8000-0000000000aa"
RARE = "018f0000-0000-7000-8000-0000000000bb"
TYPES = """
INSERT INTO content_type
VALUES ($1::uuid, 'acme', 'production', 'posts', 'Posts', '[]', '[]', 1, now(), now()),
       ($2::uuid, 'acme', 'production', 'rare', 'Rare', '[]', '[]', 1, now(), now())"""
MANY = """
INSERT INTO entry
SELECT 'acme', 'production', gen_random_uuid(), $1::uuid, 'entry-' || n,
       sha256(('entry-' || n)::bytea), now(), 'Title', 'published', 'en-US', NULL, NULL, NULL,
       now(), now(), n, 1, 1, '{}', NULL, '{}'
FROM generate_series(10, 20000) AS n"""
FEW = """
INSERT INTO entry
SELECT 'acme', 'production', gen_random_uuid(), type::uuid, 'rare-' || n,
       sha256(('rare-' || n)::bytea), now(), 'Title', status, language, NULL, NULL, NULL,
       now(), now(), n, 1, 1, '{}', NULL, '{}'
FROM (VALUES (1, $1, 'draft', 'en-US'), (2, $1, 'published', 'fr-FR'), (3, $2, 'draft', 'en-US'))
    AS rare (n, type, status, language)"""
_PAGE: list[Any] = ["acme", "production", 10, 0]
_OF_EXPORT: list[Any] = ["acme", "production", POSTS]
_EXPORT_PAGE = ["9223372036854775807", 500, 4_000_000]
RARE_LISTS: list[tuple[str, list[Any], int]] = [
    ("list_of_type", [*_PAGE, "posts", "draft", "en-US", INLINE], 1),
    ("list_of_type", [*_PAGE, "posts", "published", "fr-FR", INLINE], 1),
    ("list_of_type", [*_PAGE, "posts", "archived", "en-US", INLINE], 0),
    ("list_of_type", [*_PAGE, "rare", "draft", "en-US", INLINE], 1),
    ("list_of_type_in_locale", [*_PAGE, "posts", "draft", "en-US", "de-DE", INLINE], 1),
    ("list_newest_of_type", [*_PAGE, "rare", "en-US", INLINE], 1),
    ("list_selected", [*_PAGE, None, "draft", None, "en-US", INLINE], 2),
    ("list_selected", [*_PAGE, "posts", None, "fr-FR", "en-US", INLINE], 1),
    ("ids_selected", [*_PAGE, None, "draft", None], 2),
    ("summaries_newest_of_type", [*_PAGE, "rare", "en-US"], 1),
    ("export_page", [*_OF_EXPORT, "{draft}", "{en-US}", *_EXPORT_PAGE], 1),
]


@pytest.fixture
async def skewed(module_database_url: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(module_database_url, server_settings={"search_path": LIVE})
    if not await connection.fetchval("SELECT count(*) FROM content_type"):
        await connection.execute(TYPES, POSTS, RARE)
        await connection.execute(MANY, POSTS)
        await settle(connection)
        await connection.execute("ALTER TABLE entry_production SET (autovacuum_enabled = off)")
        await connection.execute(FEW, POSTS, RARE)
        await connection.execute(PROJECTOR["count_entries"], BLOCKS)
    yield connection
    await connection.close()


def visited(plan: dict[str, Any]) -> int:
    """Rows of entries that the plan visited, including those that a filter removed."""
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in scans(plan)
        if node["Relation Name"].startswith("entry_production")
    )


@pytest.mark.parametrize(("name", "parameters", "found"), RARE_LISTS)
async def test_a_rare_list_visits_its_own_entries(
    name: str, parameters: list[Any], found: int, skewed: Connection
) -> None:
    plan = await explained(skewed, "force_generic_plan", READ_SIDE[name], parameters)
    assert found <= visited(plan) <= 2 * found


@pytest.mark.parametrize(("name", "parameters", "found"), RARE_LISTS)
async def test_so_do_reads_that_share_a_statement(
    name: str, parameters: list[Any], found: int, skewed: Connection
) -> None:
    if name not in TOGETHER:
        return
    several = [
        *parameters[:2],
        *(
            "{" + ",".join("NULL" if one is None else str(one) for one in [own] * 3) + "}"
            for own in parameters[2:]
        ),
    ]
    plan = await explained(skewed, "force_generic_plan", TOGETHER[name], several)
    assert 3 * found <= visited(plan) <= 6 * found


async def test_the_statistics_do_not_know_the_rare_ones(skewed: Connection) -> None:
    known = await skewed.fetch(
        "SELECT attname FROM pg_stats WHERE tablename = 'entry_production' AND n_distinct <> 1 "
        "AND attname IN ('content_type_id', 'status', 'language')"
    )
    assert known == []
