"""Lists as of a time read a bounded number of versions, at 200,000 entries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from projector.rows import BLOCKS
from read_side.lifetimes import beginnings, class_of
from read_side.past_lists import Moment, PastPage, past_page
from read_side.past_versions import CHECKED, COUNTED, FEW
from read_side.pool import Pool, open_pool
from read_side.queries.request import EntryQuery, Filter, SortKey
from read_side.refusals import TooBroad
from read_side.schema import LIVE
from tests.integration.read_side.test_statements import READ_SIDE, explained, of_type, scans
from write_side.domain.identity import Scope
from write_side.domain.keys import list_id, text_key, time_key
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

pytestmark = pytest.mark.slow

POSTS, PAGES = (f"018f0000-0000-7000-8000-0000000000{n}" for n in ("aa", "bb"))
ENTRIES = 200_000
BASE = datetime(2026, 1, 1, tzinfo=UTC)
EVERY = timedelta(seconds=10)
HOUR = timedelta(hours=1)
MONTH = timedelta(days=30)
SCOPE = Scope("acme", "production")
JIT_ABOVE = 100_000
"""The default cost from which PostgreSQL compiles a plan."""
POSITIONS = """
SELECT position FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted (id, n)
JOIN read_model.entry USING (id) ORDER BY n"""
# An entry every ten seconds. One of a hundred stays a draft, one of a thousand is a page; the
# others are published after an hour, and every other one is edited after a month.
FILL: list[tuple[str, list[Any]]] = [
    ("""
    INSERT INTO content_type
    SELECT id::uuid, 'acme', 'production', slug, slug, '[]', '[]', 1, $1, $1
    FROM (VALUES ($2, 'posts'), ($3, 'pages')) AS t (id, slug)""", [BASE, POSTS, PAGES]),
    ("""
    INSERT INTO entry
    SELECT 'acme', 'production', gen_random_uuid(), t.id, 'entry-' || n,
           sha256(('entry-' || n)::bytea), at, 'A title of usual length, number ' || n,
           CASE WHEN n % 100 = 0 THEN 'draft' ELSE 'published' END, 'en-US', NULL, NULL,
           CASE WHEN n % 100 > 0 THEN at + interval '1 h' END, at,
           at + CASE WHEN n % 100 = 0 THEN interval '0' WHEN n % 2 = 0 THEN interval '1 h'
                ELSE interval '30 d' END,
           n, CASE WHEN n % 100 = 0 THEN 1 WHEN n % 2 = 0 THEN 2 ELSE 3 END, 1, '{}', NULL,
           to_json(repeat('x', 500))::text
    FROM generate_series(1, $4::int) AS n
    CROSS JOIN LATERAL (SELECT $1::timestamptz + n * interval '10 s' AS at) times
    CROSS JOIN LATERAL (
        SELECT CASE WHEN n % 1000 = 1 THEN $3 ELSE $2 END::uuid AS id) t""",
     [BASE, POSTS, PAGES, ENTRIES]),
    ("""
    INSERT INTO past_version
    SELECT 'acme', 'production', content_type_id, 'draft', 'en-US', position,
           created_at + interval '1 h', created_at, $1::smallint, id, 1, NULL, created_at, NULL,
           title, slug
    FROM entry WHERE status = 'published'""", [class_of(BASE, BASE + HOUR)]),
    ("""
    INSERT INTO past_version
    SELECT 'acme', 'production', content_type_id, 'published', 'en-US', position, updated_at,
           created_at + interval '1 h', $1::smallint, id, 2, NULL, created_at,
           created_at + interval '1 h', title, slug
    FROM entry WHERE version = 3""", [class_of(BASE + HOUR, BASE + MONTH)]),
]  # fmt: skip
LATE = BASE + (ENTRIES - 1_000) * EVERY
MOMENTS = {
    "early": BASE + 2_000 * EVERY,
    "in the middle": BASE + ENTRIES // 2 * EVERY,
    "late": LATE,
    "after all edits": BASE + ENTRIES * EVERY + 2 * MONTH,
}
OF_POSTS = {"type_slug": "posts", "language": "en-US"}
ANY: dict[str, Any] = {"type_slug": None, "status": None, "language": None}
LISTS: dict[str, dict[str, Any]] = {
    "published": {**ANY, **OF_POSTS, "status": "published"},
    "drafts": {**ANY, **OF_POSTS, "status": "draft"},
    "posts": {**ANY, "type_slug": "posts"},
    "pages": {**ANY, "type_slug": "pages"},
    "everything": ANY,
    "any published": {**ANY, "status": "published"},
}
VALUES = """
SELECT position, content_type_id::text, status, title, created_at, updated_at FROM entry"""


@pytest.fixture
async def filled(module_database_url: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(module_database_url, server_settings={"search_path": LIVE})
    if not await connection.fetchval("SELECT count(*) FROM content_type"):
        for sql, arguments in FILL:
            await connection.execute(sql, *arguments)
        await connection.execute(statement("projector", "count_entries"), BLOCKS)
        await connection.copy_records_to_table(
            "entry_value",
            records=values(await connection.fetch(VALUES)),
            columns=("workspace", "environment", "position", "list", "key"),
        )
        await connection.execute("VACUUM ANALYZE")
    yield connection
    await connection.close()


def values(entries: list[asyncpg.Record]) -> Iterator[tuple[Any, ...]]:
    """The rows of ``entry_value`` that the queries below need."""

    @cache
    def list_of(type_id: str, status: str, path: str) -> UUID:
        return list_id(SCOPE, type_id, status, "en-US", path)

    for position, type_id, status, title, created_at, updated_at in entries:
        keys = {
            "title": text_key(title),
            "createdAt": time_key(created_at),
            "updatedAt": time_key(updated_at),
        }
        for path, key in keys.items():
            yield "acme", "production", position, list_of(type_id, status, path), key


@pytest.fixture
async def pool(filled: Connection, module_database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(module_database_url) as pool:
        yield pool


def position_at(at: datetime) -> int:
    """Positions of the entries. The events of a real log have other positions."""
    return min((at - BASE) // EVERY, ENTRIES)


def parameters(name: str, properties: dict[str, Any], at: datetime, most: int) -> list[Any]:
    kinds = [
        (slug, status)
        for slug in ("posts", "pages")
        for status in ("draft", "published")
        if properties["type_slug"] in (None, slug) and properties["status"] in (None, status)
    ]
    lists = [
        [POSTS if slug == "posts" else PAGES for slug, _ in kinds],
        [status for _, status in kinds],
        ["en-US" for _ in kinds],
        [one.isoformat() for one in beginnings(at)],
    ]
    arguments = ["acme", "production", at.isoformat()]
    arrays = ["{" + ",".join(one) + "}" for one in lists]
    if name == "past_page":
        return [*arguments, position_at(at), *arrays, most // len(kinds) + 1, 11]
    parts = ["title", None] if name == "past_ended" else []
    return [*arguments, *arrays, most, *parts]


def rows_read(plan: dict[str, Any]) -> int:
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in scans(plan)
        if node["Relation Name"].startswith("past_v")
    )


@pytest.mark.parametrize("at", MOMENTS)
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    ("sql", "most"),
    [
        ("past_page", FEW),
        ("past_page", CHECKED),
        ("past_total", COUNTED),
        ("past_ended", CHECKED),
    ],
)
async def test_a_list_as_of_a_moment_reads_a_bounded_number_of_versions(
    sql: str, most: int, name: str, at: str, filled: Connection
) -> None:
    """By index alone, with the plan that the pool requests."""
    arguments = parameters(sql, LISTS[name], MOMENTS[at], most)
    plan = await explained(filled, "force_generic_plan", READ_SIDE[sql], arguments)
    # Those near the moment; then, of each entry, the step of the walk and its version.
    assert rows_read(plan) <= 3.2 * most
    assert not of_type(plan, "Seq Scan")
    assert plan["Total Cost"] < JIT_ABOVE / 2


async def test_combinations_of_past_versions_are_found_by_skipping(filled: Connection) -> None:
    for type_slug, kinds in ((None, 4), ("posts", 2)):
        arguments = ["acme", "production", type_slug, LATE.isoformat()]
        plan = await explained(filled, "force_generic_plan", READ_SIDE["past_kinds"], arguments)
        assert plan["Actual Rows"] == kinds
        assert rows_read(plan) <= kinds


@pytest.mark.parametrize("at", MOMENTS)
@pytest.mark.parametrize("name", LISTS)
async def test_pages_and_totals_of_a_large_list(name: str, at: str, pool: Pool) -> None:
    moment = Moment(MOMENTS[at], position_at(MOMENTS[at]))
    expected = newest(LISTS[name], MOMENTS[at])
    for offset in (0, 1_000, 2_000):
        query = EntryQuery(**LISTS[name], limit=10, offset=offset)
        page = await past_page(pool, SCOPE, query, moment)
        assert await positions(pool, page) == expected[offset : offset + 10]
        assert page.total == len(expected)


async def test_filters_and_sorting_of_a_large_list(pool: Pool) -> None:
    """Few versions have ended near that time, among any number of entries."""
    at = MOMENTS["after all edits"]
    moment = Moment(at, position_at(at))
    query = EntryQuery(
        **LISTS["published"],
        filters=(Filter("title", "startsWith", ("A title of usual length, number 1999",)),),
        sort=(SortKey("title"),),
        limit=5,
    )
    page = await past_page(pool, SCOPE, query, moment)
    expected = sorted(n for n in newest(LISTS["published"], at) if str(n).startswith("1999"))
    assert page.total == len(expected)
    assert await positions(pool, page) == sorted(expected, key=str)[:5]


async def test_a_page_that_would_read_too_many_versions_is_refused(pool: Pool) -> None:
    moment = Moment(LATE, position_at(LATE))
    for more in ({"offset": 20_000}, {"sort": (SortKey("createdAt"),)}):
        query = EntryQuery(**LISTS["posts"], limit=10, **more)
        with pytest.raises(TooBroad, match="more than 10,000"):
            await past_page(pool, SCOPE, query, moment)


async def positions(pool: Pool, page: PastPage) -> list[int]:
    found = await pool.fetch(POSITIONS, [one.id for one in page.rows])
    return [row["position"] for row in found]


def newest(properties: dict[str, Any], at: datetime) -> list[int]:
    """The positions of the entries in the list."""

    def status(n: int) -> str:
        return "published" if n % 100 and BASE + n * EVERY + HOUR <= at else "draft"

    return [
        n
        for n in range(position_at(at), 0, -1)
        if properties["status"] in (None, status(n))
        and properties["type_slug"] in (None, "pages" if n % 1000 == 1 else "posts")
    ]
