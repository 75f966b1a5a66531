"""At 200,000 entries a query stays within its budget: no sequential scan, no scan of a whole
index."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from random import Random
from typing import Any, cast
from uuid import UUID

import asyncpg
import pytest
from msgspec.structs import replace

from projector.rows import BLOCKS
from read_side.entries import INLINE
from read_side.queries.budget import COUNTED, ROWS, Budget
from read_side.queries.comparison import selection
from read_side.queries.finder import Finder, PageQuery
from read_side.queries.lists import CountedCombination, Lists
from read_side.queries.pages import find
from read_side.queries.request import Boundary, EntryQuery, Filter, SortKey
from read_side.queries.statements import Checks, Statements
from read_side.refusals import TooBroad
from read_side.schema import LIVE
from read_side.stamp import LATEST
from tests.integration.live_projector import connected
from tests.integration.read_side.test_statements import (
    PROJECTOR,
    READ_SIDE,
    explained,
    of_type,
    scans,
    settle,
)
from write_side.domain.definition import Field
from write_side.domain.identity import Scope
from write_side.domain.keys import MISSING, list_id, number_key, text_key
from write_side.postgres.connection import Connection

pytestmark = pytest.mark.slow

ENTRIES = 200_000
SCOPE = Scope("acme", "production")
TYPE = "018f0000-0000-7000-8000-0000000000aa"
FIELDS = ("price", "rank", "flag", "group", "rare")
FEW = 1_500
"""Rows that a page of ten reads at most, over all of its statements."""
LISTS = "ALTER TABLE entry_value_production ALTER COLUMN list SET (n_distinct = {})"
SMALL = ("content_type", "entry_count", "indexing", "entry_locale_production_other")
FILL = [
    """
    INSERT INTO content_type
    VALUES ($1::uuid, 'acme', 'production', 'posts', 'Posts', $2::text::json, '[]', 1, now(), now())
    """,
    """
    INSERT INTO entry
    SELECT 'acme', 'production', gen_random_uuid(), $1::uuid, 'entry-' || n,
           sha256(('entry-' || n)::bytea), now(), 'Title ' || n,
           CASE WHEN n % 10 = 0 THEN 'draft' ELSE 'published' END, 'en-US', NULL, NULL, NULL,
           now(), now(), n, 1, 1, '{}', NULL, '{}'
    FROM generate_series(1, $2::int) AS n""",
]


def values() -> Iterator[tuple[str, str, int, Any, bytes]]:
    """The keys of all entries."""
    ranks = list(range(ENTRIES))
    Random(14).shuffle(ranks)
    paths = ("createdAt", "id", "title", *(f"fields.{slug}" for slug in FIELDS))
    lists = {
        (status, path): list_id(SCOPE, TYPE, status, "en-US", path)
        for status in ("published", "draft")
        for path in paths
    }
    for n in range(1, ENTRIES + 1):
        keys = (
            n.to_bytes(10, "big"),
            text_key(str(UUID(int=ranks[n - 1]))),
            text_key(f"Title {n}"),
            number(n % 1000),
            number(ranks[n - 1]),
            number(n % 2),
            number(n // 3 % 4),
            text_key("yes") if n % 20_001 == 1 else MISSING,
        )
        status = "published" if n % 10 else "draft"
        for path, key in zip(paths, keys, strict=True):
            yield "acme", "production", n, lists[status, path], key


def number(value: int) -> bytes:
    key = number_key(str(value).encode())
    assert key is not None
    return key


@pytest.fixture
async def explaining(module_database_url: str) -> AsyncIterator[Explaining]:
    settings = {"search_path": LIVE, "jit": "off", "plan_cache_mode": "force_generic_plan"}
    async with connected(module_database_url, **settings) as connection:
        if not await connection.fetchval("SELECT count(*) FROM content_type"):
            await fill(connection)
        # Explaining deallocates all statements of its connection.
        other = await asyncpg.connect(
            module_database_url, server_settings=settings, statement_cache_size=0
        )
        yield Explaining(connection, other)
        await other.close()


async def fill(connection: Connection) -> None:
    types = {"price": "number", "rank": "number", "flag": "number", "group": "number"}
    fields = [
        {"slug": slug, "name": slug, "type": types.get(slug, "text"), "indexed": True}
        for slug in FIELDS
    ]
    await connection.execute(FILL[0], TYPE, json.dumps(fields))
    await connection.execute(FILL[1], TYPE, ENTRIES)
    await connection.copy_records_to_table("entry_value", records=values())
    await connection.execute(PROJECTOR["count_entries"], BLOCKS)
    await settle(connection)


class Explaining:
    """A connection that also keeps the generic plan of each statement."""

    def __init__(self, connection: Connection, other: Connection) -> None:
        self._connection = connection
        self._other = other
        self.plans: list[tuple[str, dict[str, Any]]] = []

    async def fetch(self, sql: str, *parameters: Any) -> list[Any]:
        name = next(name for name, known in READ_SIDE.items() if known == sql)
        literals = [literal(one) for one in parameters]
        plan = await explained(self._other, "force_generic_plan", sql, literals)
        self.plans.append((name, plan))
        return await self._connection.fetch(sql, *parameters)

    def rows(self) -> int:
        """Rows of entries and keys that were visited, including those that a filter removed."""
        return sum(
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            for _, plan in self.plans
            for node in scans(plan)
            if node["Relation Name"] not in SMALL
        )

    def blocks(self) -> int:
        return sum(
            plan.get("Shared Hit Blocks", 0) + plan.get("Shared Read Blocks", 0)
            for _, plan in self.plans
        )


def literal(value: Any) -> Any:
    """The value as text in an array."""
    if not isinstance(value, list):
        return value
    return "{" + ",".join(map(element, value)) + "}"


def element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    return '"' + str(value).replace('"', '\\"') + '"'


def query(*filters: Filter, sort: str = "", **more: Any) -> EntryQuery:
    keys = [SortKey(one.lstrip("-"), one[0] == "-") for one in sort.split(",") if one]
    named: dict[str, Any] = {"type_slug": "posts", "status": "published", "language": "en-US"}
    properties = {"limit": 10, "counted": False, **named, **more}
    return EntryQuery(filters=filters, sort=tuple(keys), **properties)


def of(field: str, *values: str, op: str = "eq") -> Filter:
    return Filter(field if field in ("title", "id", "status") else f"fields.{field}", op, values)


MIDDLE = number(100_000)
TIME = (5_001).to_bytes(10, "big")
PAGES: dict[str, tuple[EntryQuery, int]] = {
    "an equal key": (query(of("price", "5")), FEW),
    "one of several keys": (query(of("price", "5", "7", "11", op="in")), FEW),
    "a range in its order": (query(of("price", "990", op="gte"), sort="fields.price"), FEW),
    "a range from its end": (query(of("price", "990", op="gte"), sort="-fields.price"), FEW),
    "distinct keys": (query(sort="fields.rank"), FEW),
    "distinct keys downwards": (query(sort="-fields.rank"), FEW),
    "few keys": (query(sort="fields.flag"), FEW),
    "few keys downwards": (query(sort="-fields.flag"), FEW),
    "mostly missing keys": (query(sort="-fields.rare"), FEW),
    "two sort keys": (query(sort="fields.price,-fields.rank"), 5 * FEW),
    "large groups of a second key": (query(sort="-fields.group,title"), ROWS + FEW),
    "three sort keys": (query(sort="fields.group,-fields.flag,fields.rank"), 3 * ROWS),
    "any status": (query(sort="-fields.rank", status=None), FEW),
    "a rare key in another order": (query(of("rare", "yes"), sort="title"), FEW),
    "a rare and a frequent key": (query(of("rare", "yes"), of("flag", "1")), ROWS + FEW),
    "two frequent keys": (query(of("flag", "1"), of("group", "1")), 3 * ROWS),
    "a frequent key in another order": (query(of("flag", "1"), sort="title"), 3 * ROWS),
    "all but one key": (query(of("price", "5", op="ne")), 3 * ROWS),
    "all but some keys": (query(of("price", "5", "6", op="nin"), sort="-title"), 3 * ROWS),
    "a part of a text": (query(of("title", "TITLE 19", op="contains")), 3 * ROWS),
    "a beginning": (query(of("title", "Title 1999", op="startsWith")), FEW),
    "existing": (query(of("rare", "true", op="exists")), FEW),
    "missing": (query(of("rare", "false", op="exists")), FEW),
    "newest by cursor": (query(after=Boundary((), 100_000)), FEW),
    "the middle by cursor": (query(sort="fields.rank", after=Boundary((MIDDLE,), 5)), FEW),
    "the middle by cursor downwards": (
        query(sort="-fields.rank", after=Boundary((MIDDLE,), 5)),
        FEW,
    ),
    "across types": (query(type_slug=None, status=None, language=None, sort="-title"), FEW),
    "an id": (query(sort="id"), FEW),
    "an id downwards": (query(sort="-id"), FEW),
    "a status and a time": (query(sort="-status,-createdAt", status=None), FEW),
    "a status and a large group": (query(sort="status,fields.group,id", status=None), 5 * ROWS),
    "a status and a frequent key": (
        query(of("flag", "1"), sort="language,-status,title", status=None),
        5 * ROWS,
    ),
    "a status after another key": (query(sort="fields.price,status", status=None), 2 * FEW),
    "a status and a rare key": (query(of("rare", "yes"), sort="status", status=None), FEW),
    "a status by offset": (query(sort="status,-id", status=None, offset=19_995), COUNTED),
    "a status by cursor": (
        query(sort="-status,-createdAt", status=None, after=Boundary((b"published", TIME), 5_001)),
        FEW,
    ),
    "an offset": (query(of("flag", "1"), offset=5_000), 3 * ROWS),
}


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_reads_few_rows(name: str, explaining: Explaining) -> None:
    page_query, most = PAGES[name]
    found = await find(cast("Connection", explaining), SCOPE, page_query)
    assert len(found.positions) == min(10, len(found.positions)) > 0
    check(explaining, most)


async def test_a_candidate_is_checked_once_for_each_other_condition(
    explaining: Explaining,
) -> None:
    candidates = 200
    await find(cast("Connection", explaining), SCOPE, query(of("price", "5"), of("flag", "1")))
    [plan] = [plan for name, plan in explaining.plans if name == "query_collect"]
    assert sum(node["Actual Loops"] for node in scans(plan)) == 1 + candidates


@pytest.mark.parametrize("distinct", [1_000, 1_000_000])
async def test_a_candidate_in_a_long_list_among_many_short_ones_is_checked_by_position(
    distinct: int, explaining: Explaining, module_database_url: str
) -> None:
    """The planner assumes that every list has the average length."""
    page_query = query(of("title", "title", op="contains"), sort="title,fields.rank")
    wanted = selection(page_query, [Field(one, one, "number", indexed=True) for one in FIELDS])
    lists = Lists(SCOPE, [CountedCombination(TYPE, "posts", "published", "en-US", 180_000)])
    async with connected(module_database_url, search_path=LIVE) as connection:
        await connection.execute(LISTS.format(distinct))
        await settle(connection)
        statements = Statements(cast("Connection", explaining), lists)
        found = await statements.newest(LATEST, Checks(wanted.conditions, wanted.sort), 2)
        await connection.execute(LISTS.format(0))
        await settle(connection)
    assert [one.passes for one in found] == [True, True]
    assert explaining.rows() <= 10


TOTALS: dict[str, tuple[EntryQuery, int]] = {
    "all": (query(), 180_000),
    "all in an order": (query(sort="title"), 180_000),
    "all by status": (query(sort="status,-id", status=None), 200_000),
    "an equal key": (query(of("price", "5")), 200),
    "half": (query(of("flag", "1")), 100_000),
    "nearly all": (query(of("price", "5", op="ne")), 179_800),
    "existing": (query(of("rare", "true", op="exists")), 9),
    "two": (query(of("price", "5"), of("flag", "1")), 200),
}


@pytest.mark.parametrize("name", TOTALS)
async def test_a_total_counts_within_the_budget(name: str, explaining: Explaining) -> None:
    page_query, total = TOTALS[name]
    found = await find(cast("Connection", explaining), SCOPE, replace(page_query, counted=True))
    assert found.total == total
    check(explaining, 2 * COUNTED + 4 * ROWS)


BROAD: dict[str, EntryQuery] = {
    "a part that no text has": query(of("title", "nothing", op="contains")),
    "in an order": query(of("title", "nothing", op="contains"), sort="fields.price"),
    "downwards": query(of("title", "nothing", op="contains"), sort="-fields.rank,title"),
    "among frequent keys": query(of("flag", "1"), of("title", "nothing", op="contains")),
    "a part, by status": query(
        of("title", "nothing", op="contains"), sort="status,title", status=None
    ),
    "a deep offset by status": query(sort="status,title", status=None, offset=150_000),
    "a deep offset": query(sort="title", offset=150_000),
}


@pytest.mark.parametrize("name", BROAD)
async def test_a_query_beyond_the_budget_ends_within_it(name: str, explaining: Explaining) -> None:
    with pytest.raises(TooBroad):
        await find(cast("Connection", explaining), SCOPE, BROAD[name])
    check(explaining, COUNTED + 10 * ROWS)


async def test_the_matches_of_a_search_are_checked_one_by_one(explaining: Explaining) -> None:
    """``test_search_bounds`` covers how they are found."""
    page_query = query(of("flag", "1"), of("group", "1", op="ne"), sort="title,-fields.rank")
    wanted = selection(page_query, [Field(one, one, "number", indexed=True) for one in FIELDS])
    lists = Lists(SCOPE, [CountedCombination(TYPE, "posts", "published", "en-US", 180_000)])
    places = [(1, position) for position in range(1, ENTRIES, ENTRIES // ROWS)]
    statements = Statements(cast("Connection", explaining), lists)
    page = PageQuery(wanted.conditions, wanted.sort, None, 11)
    total, found = await Finder(statements, Budget(wanted), places).page(page, 0, counted=True)
    assert (total, len(found)) == (sum(n // 3 % 4 != 1 for _, n in places), 11)
    check(explaining, 5 * ROWS)


async def test_rows_of_a_page_are_fetched_by_position(explaining: Explaining) -> None:
    positions = list(range(1, ENTRIES, 2000))
    found = await explaining.fetch(
        READ_SIDE["list_found"], "acme", "production", positions, "en-US", INLINE
    )
    assert len(found) == 100
    check(explaining, 600)


def check(explaining: Explaining, most: int) -> None:
    for name, plan in explaining.plans:
        bad = of_type(plan, "Seq Scan", "Hash Join", "Merge Join", "Bitmap Heap Scan", skip=SMALL)
        of_tables = [node for node in bad if node["Node Type"] != "Hash Join"]
        assert not of_tables, (name, of_tables)
    assert explaining.rows() <= most
    assert explaining.blocks() <= 10 * most + 2_000
