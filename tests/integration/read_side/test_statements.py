"""Every statement fits the real tables, and lists use the indexes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from importlib import resources
from itertools import pairwise
from typing import Any

import asyncpg
import pytest

from projector.rows import BLOCKS
from read_side.entries import INLINE, WHOLE
from read_side.schema import LIVE
from tests.databases import owner_of
from write_side.domain.identity import slug_hash
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statements

PROJECTOR, READ_SIDE, WRITE_SIDE = map(statements, ("projector", "read_side", "write_side"))

STATEMENTS = {f"read_side/{name}": sql for name, sql in READ_SIDE.items()} | {
    f"projector/{name}": sql for name, sql in PROJECTOR.items()
}
TYPE = "018f0000-0000-7000-8000-0000000000aa"
FILL = [
    """
    INSERT INTO content_type
    VALUES ($1::uuid, 'acme', 'production', 'posts', 'Posts', '[]', '[]', 1,
            now() - interval '1 day', now())""",
    """
    INSERT INTO entry
    SELECT w, e, gen_random_uuid(), $1::uuid, 'entry-' || n, sha256(('entry-' || n)::bytea),
           now() - interval '1 h' + n * interval '1 ms', 'Title',
           (ARRAY['published', 'draft', 'archived'])[1 + n % 3], 'en-US', NULL, NULL, NULL,
           now() - interval '1 h' + n * interval '1 ms', now(), n, 1, 1, '{}', NULL,
           to_json(repeat('x', 150))::text
    FROM generate_series(1, 20000) AS n, LATERAL (
        SELECT CASE WHEN n % 20 = 0 THEN 'other' ELSE 'acme' END AS w,
               CASE WHEN n % 10 = 1 THEN 'staging' ELSE 'production' END AS e) AS place""",
    "SELECT add_locale_partition('production', 'fr-FR', 'settled', 1)",
    """
    INSERT INTO entry_locale
    SELECT workspace, environment || '/' || key, locale, id, 'Titre', NULL, '{}'
    FROM entry,
        (VALUES ('fr-FR', 'fr-FR'), ('other', 'de-DE'), ('other', 'it-IT')) AS l (key, locale)
    WHERE environment = 'production' AND position % 4 = 0""",
    """
    INSERT INTO past_slug
    SELECT workspace, environment, position, content_type_id, language,
           sha256(CASE WHEN position % 2 = 1 THEN 'again' ELSE position::text END::bytea), id,
           created_at - interval '1 ms', created_at
    FROM entry""",
    """
    INSERT INTO change
    SELECT workspace, environment, position,
           CASE WHEN position = 77 THEN 'entry.deleted'
                ELSE (ARRAY['entry.created', 'entry.updated'])[1 + position % 2] END,
           status = 'published', content_type_id, 'posts', id, slug, NULL, language, status, 1,
           created_at, 'web'
    FROM entry""",
    """
    INSERT INTO entry_value
    SELECT workspace, environment, position, md5(environment || path)::uuid, slug::bytea
    FROM entry, (VALUES ('title'), ('slug'), ('stage')) AS p (path)""",
]
MANY_TYPES = """
    INSERT INTO content_type
    SELECT gen_random_uuid(), 'workspace-' || n % 100, 'production', 'type-' || n, 'Type', '[]',
           '[]', 1, now(), now()
    FROM generate_series(1, 2000) AS n"""

SETTLED = """
SELECT bool_and(relallvisible = relpages) FROM pg_class
WHERE oid IN (
    'entry_production'::regclass, 'entry_staging'::regclass, 'change_production'::regclass,
    'entry_value_production'::regclass)"""
_PAGE = ["acme", "production", 10, 0]
OFFSET = 3
"""The index of the offset among the parameters of a page."""
LISTS: dict[str, list[Any]] = {
    "list_of_type": [*_PAGE, "posts", "published", "en-US", INLINE],
    "list_of_type_deep": [*_PAGE, "posts", "published", "en-US", INLINE],
    "list_of_type_in_locale": [*_PAGE, "posts", "published", "en-US", "fr-FR", INLINE],
    "list_newest": [*_PAGE, "fr-FR", INLINE],
    "list_newest_of_type": [*_PAGE, "posts", "fr-FR", INLINE],
}
# For offsets of up to a few pages: it fetches the rows as it meets them.
SHALLOW = "list_of_type"
DEEP_LISTS = [name for name in LISTS if name != SHALLOW]
# They fetch the rows of the page from the index that orders it; the others by their ids.
BY_INDEX = (SHALLOW, "list_of_type_deep", "list_of_type_in_locale")
SLUG_HASH = "\\x" + slug_hash("entry-77").hex()
SINGLES: dict[str, list[Any]] = {
    "entry_of_slug": ["acme", "production", "posts", "en-US", SLUG_HASH, WHOLE],
    "entry_of_slug_in_locale": ["acme", "production", "posts", "en-US", SLUG_HASH, "fr-FR", WHOLE],
}
TYPES: dict[str, tuple[list[Any], int]] = {
    # statement: its parameters, and how many rows it finds
    "content_types": (["workspace-7", "production"], 20),
    "content_type": (["workspace-7", "production", "type-7"], 1),
}
_OF_EXPORT = ["acme", "production", TYPE, "{published,draft,archived}"]
_LANGUAGES = "{en-US,fr-FR}"
_POSITIONS = "{19998,19997,19996}"
EXPORTS: dict[str, list[Any]] = {
    "export_page": [*_OF_EXPORT, _LANGUAGES, "9223372036854775807", 500, 4_000_000],
    "export_found": [*_OF_EXPORT, _LANGUAGES, _POSITIONS, 4_000_000],
    "export_total": [*_OF_EXPORT, None],
    "export_targets": ["acme", "production", f"{{{TYPE}}}", _LANGUAGES, "{posts}"],
}
_SUMMARIES = ["acme", "production", 25, 0]
SUMMARIES: dict[str, list[Any]] = {
    "summaries_newest": [*_SUMMARIES, "fr-FR"],
    "summaries_newest_of_type": [*_SUMMARIES, "posts", "fr-FR"],
    "summaries_selected": [*_SUMMARIES, "posts", "published", "en-US", "fr-FR"],
}
FOUND: dict[str, list[Any]] = {
    "summaries_found": ["acme", "production", _POSITIONS, "fr-FR"],
    "export_found": EXPORTS["export_found"],
}
IDS: dict[str, list[Any]] = {
    "ids_newest": _PAGE,
    "ids_newest_of_type": [*_PAGE, "posts"],
    "ids_selected": [*_PAGE, "posts", "published", "en-US"],
}
SELECTED = {"list_selected": [*_PAGE, None, "published", None, "fr-FR", INLINE]}
JSON = {f"json_{name}": LISTS[name] for name in LISTS} | {
    f"json_{name}": SELECTED[name] for name in SELECTED
}
ANY_LANGUAGE = [*_PAGE, None, "published", None]
_RARE = "{entry.deleted,entry.created}"
CHANGES: dict[str, list[Any]] = {
    "changes": ["acme", "production", 5_000, 51],
    "changes_of_kinds": ["acme", "production", 5_000, 51, _RARE, "{true,false}"],
    "changes_of_types": ["acme", "production", 5_000, 51, "{posts,authors}", _RARE, "{true,false}"],
}
LANES = {"changes": 1, "changes_of_kinds": 4, "changes_of_types": 8}
"""Combinations of these parameters, each of which has a scan of its own."""
# Reads of single rows of a page, each by a key.
BY_KEY = (
    "content_types_by_id",
    "entries_by_id",
    "entry_by_id",
    "field_slugs",
    "fields_named",
    "id_of_slug",
    "import_runs",
    "languages",
    "locales",
    "media_files",
    "media_page",
    "titles",
    "workspace_name",
    "changes_before",
    "changes_newest",
)
# Of all workspaces, when an endpoint changes.
WEBHOOKS = ("webhooks", "webhooks_mark", "webhooks_waiting")
# Their plans are in test_query_plans.py.
QUERIES = (
    *("query_collect", "query_counts", "query_equal", "query_ids", "query_lists"),
    *("query_newest", "query_walk", "query_walk_back", "list_found", "ids_found"),
)
# Their plans are in test_search_bounds.py.
SEARCHES = ("search", "lexize")
PLANS = ["force_custom_plan", "force_generic_plan"]


@pytest.fixture
async def filled(module_database_url: str) -> AsyncIterator[Connection]:
    """Entries of two workspaces, two environments and three statuses, filled in once."""
    connection = await asyncpg.connect(
        module_database_url,
        server_settings={"search_path": LIVE},
        statement_cache_size=0,  # ``explained`` removes prepared statements
    )
    if not await connection.fetchval("SELECT count(*) FROM content_type"):
        for statement in FILL:
            await connection.execute(statement, *([TYPE] if "$1" in statement else []))
        await connection.execute(PROJECTOR["count_entries"], BLOCKS)
        await settle(connection)
    yield connection
    await connection.close()


async def settle(connection: Connection) -> None:
    """Vacuums until it has an effect: transactions that are open meanwhile can hold it back."""
    async with asyncio.timeout(60):
        while True:
            await connection.execute("VACUUM ANALYZE")
            if await connection.fetchval(SETTLED):
                return


@pytest.fixture
async def model(module_database_url: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(module_database_url, server_settings={"search_path": LIVE})
    yield connection
    await connection.close()


async def test_statements_prepare_and_list_their_parameters_on_their_first_line(
    model: Connection,
) -> None:
    creating = model.transaction()
    await creating.start()
    await model.execute((resources.files("read_side") / "announced.sql").read_text("utf-8"))
    for name, sql in STATEMENTS.items():
        prepared = await model.prepare(sql)
        first, _, body = sql.partition("\n")
        named = re.findall(r"\$(\d+) [a-z]", first)
        expected = [str(number) for number in range(1, len(prepared.get_parameters()) + 1)]
        assert named == expected, f"{name}: each of $1 … $n is named, in order"
        assert set(re.findall(r"\$(\d+)", body)) == set(expected), f"{name}: and used"
        assert first.startswith("-- $1 ") or first == "-- no parameters", name
    await creating.rollback()


def test_reads_name_the_schema_and_writes_use_the_search_path() -> None:
    """A rebuild executes the same statements in another schema."""
    tables = r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(entry\w*|content_type|checkpoint|rendering)\b"
    for name, sql in READ_SIDE.items():
        assert not re.search(tables, sql), name
    for name, sql in PROJECTOR.items():
        assert f"{LIVE}." not in sql, name


def test_the_plans_below_cover_every_read() -> None:
    pages = {*LISTS, *SELECTED, *JSON, *EXPORTS, *SUMMARIES, *IDS, *FOUND}
    # test_past_statements.py
    past = {f"past_{name}" for name in ("ended", "kinds", "living", "page", "total")}
    by_key = {*SINGLES, *TYPES, *BY_KEY, *CHANGES, *WEBHOOKS}
    others = {*by_key, *QUERIES, *SEARCHES, *past, "array_types", "slug_owner", "stamp"}
    assert pages | others == set(READ_SIDE)


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("name", LISTS)
async def test_a_page_is_an_index_scan_without_a_sort(
    name: str, mode: str, filled: Connection
) -> None:
    plan = await explained(filled, mode, READ_SIDE[name], LISTS[name])
    page = the_page(plan)
    scan = "Index Scan" if name in BY_INDEX else "Index Only Scan"
    assert [node["Node Type"] for node in scans(page)] == [scan]
    assert not of_type(page, "Sort", "Incremental Sort")
    assert plan["Actual Rows"] == 10
    assert not of_type(plan, "Seq Scan", skip=SMALL)
    for join in of_type(plan, "Hash Join", "Merge Join"):
        found = {node["Relation Name"] for node in scans(join["Plans"][1])}
        assert found == {"content_type"}, "of entries, the page's rows are fetched"


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("name", DEEP_LISTS)
async def test_a_deep_offset_is_skipped_by_the_counts_of_blocks(
    name: str, mode: str, filled: Connection
) -> None:
    deep = [*LISTS[name]]
    deep[OFFSET] = 5_000
    plan = await explained(filled, mode, READ_SIDE[name], deep)
    of_entries = [node for node in scans(plan) if "entry_production" in node["Relation Name"]]
    [scan] = [node for node in of_entries if node["Node Type"] == "Index Only Scan"]
    assert scan["Heap Fetches"] == 0
    assert scan["Actual Rows"] < BLOCKS[-1] + 10, "it walks within one block"
    assert counts_read(plan) <= 1 + MOST_COUNTS
    fetched = [
        node["Actual Rows"] * node["Actual Loops"] for node in of_entries if node is not scan
    ]
    assert max(fetched) <= 10, "only the page's rows are fetched whole"


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("offset", [0, 5_000])
@pytest.mark.parametrize("name", JSON)
async def test_a_page_as_json_reads_what_the_page_reads(
    name: str, offset: int, mode: str, filled: Connection
) -> None:
    parameters = [*JSON[name]]
    parameters[OFFSET] = offset
    statements = (READ_SIDE[name], READ_SIDE[name.removeprefix("json_")])
    plans = [await explained(filled, mode, sql, parameters) for sql in statements]
    json, rows = (
        [(node["Node Type"], node["Relation Name"], node["Actual Rows"]) for node in scans(plan)]
        for plan in plans
    )
    assert json == rows
    assert plans[0]["Actual Rows"] == 1
    if name.removeprefix("json_") in BY_INDEX:
        sorts = [node["Sort Key"] for node in of_type(plans[0], "Sort", "Incremental Sort")]
        assert sorts in ([], [["descent.level DESC"]]), "entries come in their order"


@pytest.mark.parametrize("mode", PLANS)
async def test_the_entry_that_begins_a_page_is_searched_from_the_nearer_end_of_its_block(
    mode: str, filled: Connection
) -> None:
    visited: list[float] = []
    for offset in range(5_000, 5_100, 9):
        deep = [*LISTS["list_of_type_deep"]]
        deep[OFFSET] = offset
        plan = await explained(filled, mode, READ_SIDE["list_of_type_deep"], deep)
        visited += [s["Actual Rows"] for s in scans(plan) if s["Node Type"] == "Index Only Scan"]
    in_a_block = BLOCKS[-1] / 3
    assert in_a_block / 4 < max(visited) <= in_a_block / 2


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("name", SINGLES)
async def test_a_single_entry_is_found_by_its_slugs_index(
    name: str, mode: str, filled: Connection
) -> None:
    plan = await explained(filled, mode, READ_SIDE[name], SINGLES[name])
    by_slug = [node for node in scans(plan) if "slug_ha" in node.get("Index Cond", "")]
    assert [node["Node Type"] for node in by_slug] == ["Index Scan"]
    assert not of_type(plan, "Seq Scan", skip=SMALL)
    assert plan["Actual Rows"] == 1


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("offset", [0, 5_000])
@pytest.mark.parametrize("name", IDS)
async def test_the_ids_of_a_page_are_read_only_from_an_index(
    name: str, offset: int, mode: str, filled: Connection
) -> None:
    parameters = [*IDS[name]]
    parameters[OFFSET] = offset
    plan = await explained(filled, mode, READ_SIDE[name], parameters)
    [scan] = [node for node in scans(plan) if "entry_production" in node["Relation Name"]]
    assert (scan["Node Type"], scan["Heap Fetches"]) == ("Index Only Scan", 0)
    assert scan["Actual Rows"] * scan["Actual Loops"] < 10 + (BLOCKS[-1] if offset else 1)
    # Totals of all statuses for the list that is merged.
    assert counts_read(plan) <= 3 + MOST_COUNTS
    assert not of_type(plan, "Seq Scan", skip=SMALL)


@pytest.mark.parametrize("mode", PLANS)
async def test_each_type_and_language_is_read_no_further_than_the_page(
    mode: str, filled: Connection
) -> None:
    plan = await explained(filled, mode, READ_SIDE["ids_selected"], ANY_LANGUAGE)
    [scan] = [node for node in scans(plan) if "entry_production" in node["Relation Name"]]
    assert scan["Node Type"] == "Index Only Scan"
    assert scan["Actual Rows"] * scan["Actual Loops"] == 10
    assert plan["Actual Rows"] == 10


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("offset", [0, 5_000])
async def test_a_list_of_one_status_skips_over_an_index_and_fetches_its_page(
    offset: int, mode: str, filled: Connection
) -> None:
    parameters = [*SELECTED["list_selected"]]
    parameters[OFFSET] = offset
    plan = await explained(filled, mode, READ_SIDE["list_selected"], parameters)
    of_entries = [node for node in scans(plan) if "entry_production" in node["Relation Name"]]
    [skipped] = [node for node in of_entries if node["Node Type"] == "Index Only Scan"]
    assert skipped["Heap Fetches"] == 0
    assert skipped["Actual Rows"] * skipped["Actual Loops"] < 10 + (BLOCKS[-1] if offset else 1)
    fetched = [node for node in of_entries if node is not skipped]
    assert fetched
    assert max(node["Actual Rows"] * node["Actual Loops"] for node in fetched) <= 10
    assert not of_type(plan, "Seq Scan", skip=SMALL)
    assert plan["Actual Rows"] == 10


@pytest.mark.parametrize("mode", PLANS)
async def test_entries_are_found_by_their_keys(mode: str, filled: Connection) -> None:
    found = await filled.fetch(
        "SELECT id FROM entry WHERE workspace = 'acme' AND environment = 'production' LIMIT 100"
    )
    ids = "{" + ",".join(str(row["id"]) for row in found) + "}"
    parameters = ["acme", "production", ids, "fr-FR", INLINE]
    plan = await explained(filled, mode, READ_SIDE["entries_by_id"], parameters)
    assert plan["Actual Rows"] == 100
    assert not of_type(plan, "Seq Scan", skip=SMALL)
    entries = [node for node in scans(plan) if "entry_production" in node["Relation Name"]]
    assert max(node["Actual Rows"] * node["Actual Loops"] for node in entries) == 100


@pytest.mark.parametrize("mode", PLANS)
async def test_the_past_owner_of_a_slug_is_found_by_index(mode: str, filled: Connection) -> None:
    """Also if it was taken and released thousands of times."""
    at = await filled.fetchval("SELECT since FROM past_slug WHERE position = 19987")
    again = "\\x" + slug_hash("again").hex()
    parameters = ["acme", "production", "posts", "en-US", again, at]
    plan = await explained(filled, mode, READ_SIDE["slug_owner"], parameters)
    [scan] = [node for node in scans(plan) if node.get("Index Name") == "past_slug_held"]
    assert scan["Actual Rows"] == 1
    assert scan["Rows Removed by Filter"] < 20
    assert not of_type(plan, "Seq Scan", skip=(*SMALL, "past_type"))


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("name", CHANGES)
async def test_changes_are_merged_from_scans_that_read_no_more_than_the_page(
    name: str, mode: str, filled: Connection
) -> None:
    plan = await explained(filled, mode, READ_SIDE[name], CHANGES[name])
    assert plan["Actual Rows"] == 51 + 2
    assert not of_type(plan, "Seq Scan")
    found = scans(plan)
    by_key = [node for node in found if node["Index Name"].endswith("_pkey")]
    for node in found:
        assert node["Actual Rows"] <= 51, "of each, no more than the page"
        assert node.get("Rows Removed by Filter", 0) == 0
        assert node["Actual Loops"] in ((1, 53) if node in by_key else (LANES[name],))
        if node not in by_key:
            assert (node["Node Type"], node["Heap Fetches"]) == ("Index Only Scan", 0)


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("name", TYPES)
async def test_content_types_are_found_by_their_index(
    name: str, mode: str, filled: Connection
) -> None:
    parameters, found = TYPES[name]
    transaction = filled.transaction()
    await transaction.start()
    try:  # too many compared with the other plans
        await filled.execute(MANY_TYPES)
        await filled.execute("ANALYZE content_type")
        plan = await explained(filled, mode, READ_SIDE[name], parameters)
    finally:
        await transaction.rollback()
    assert not of_type(plan, "Seq Scan")
    assert {node["Actual Rows"] for node in nodes(plan)} == {found}


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("before", ["9223372036854775807", "1"])
async def test_a_page_of_an_export_reads_no_more_of_each_status_than_the_page(
    before: str, mode: str, filled: Connection
) -> None:
    parameters = [*EXPORTS["export_page"]]
    parameters[5] = before
    plan = await explained(filled, mode, READ_SIDE["export_page"], parameters)
    [scan] = [node for node in scans(plan) if "entry_production" in node["Relation Name"]]
    assert scan["Node Type"] == "Index Scan"
    assert "(status = " in scan["Index Cond"]
    assert "(language = " in scan["Index Cond"]
    assert scan["Actual Loops"] == 3, "there is nothing in French"
    assert '(~ "position") >' in scan["Index Cond"], "a later page begins where the last one ended"
    assert scan["Actual Rows"] * scan["Actual Loops"] == (0 if before == "1" else 1500)


@pytest.mark.parametrize("mode", PLANS)
async def test_targets_of_an_export_are_found_by_their_keys(mode: str, filled: Connection) -> None:
    [entry_id] = await filled.fetchrow(
        "SELECT id FROM entry WHERE workspace = 'acme' AND environment = 'production' LIMIT 1"
    ) or [None]
    parameters = [*EXPORTS["export_targets"]]
    parameters[2] = f"{{{entry_id}}}"
    plan = await explained(filled, mode, READ_SIDE["export_targets"], parameters)
    assert plan["Actual Rows"] == 1
    assert not of_type(plan, "Seq Scan", skip=SMALL)


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("name", SUMMARIES)
async def test_summaries_are_read_newest_first_and_no_further(
    name: str, mode: str, filled: Connection
) -> None:
    plan = await explained(filled, mode, READ_SIDE[name], SUMMARIES[name])
    assert of_entries(plan) == 25
    assert plan["Actual Rows"] == 25


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("name", FOUND)
async def test_entries_found_by_a_search_are_read_by_position(
    name: str, mode: str, filled: Connection
) -> None:
    plan = await explained(filled, mode, READ_SIDE[name], FOUND[name])
    assert of_entries(plan) == 3
    assert not of_type(plan, "Seq Scan", skip=SMALL)


@pytest.mark.parametrize("name", [*LISTS, *SUMMARIES, *IDS, "export_page"])
async def test_a_page_is_planned_as_one_for_any_number_of_entries(
    name: str, filled: Connection, module_database_url: str
) -> None:
    """From `jit_above_cost` on, a server with default settings compiles a plan at each execution.

    The statistics claim 50 times the entries that there are: a million. They do not claim the
    size of these on disk; `deploy/dev bench scale` measures real ones.
    """
    parameters = {**LISTS, **SUMMARIES, **IDS, **EXPORTS}[name]
    owner = await asyncpg.connect(
        owner_of(module_database_url), server_settings={"search_path": LIVE}
    )
    transaction = owner.transaction()
    await transaction.start()
    try:
        await owner.execute(
            "UPDATE pg_class SET reltuples = reltuples * 50 "
            "WHERE relnamespace = 'read_model'::regnamespace AND relname LIKE 'entry%' "
            "AND relname <> 'entry_count'"
        )
        plan = await explained(owner, "force_generic_plan", READ_SIDE[name], parameters)
    finally:
        await transaction.rollback()
        await owner.close()
    threshold = float(await filled.fetchval("SHOW jit_above_cost"))
    assert threshold == 100_000, "the default"
    assert plan["Total Cost"] < threshold / 2


OWN = "entry_locale_production_fr-FR"
SHARED = "entry_locale_production_other"


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize(
    ("locale", "lookups"), [("fr-FR", {OWN: 10, SHARED: 8}), ("de-DE", {SHARED: 10})]
)
async def test_a_translation_is_read_from_one_partition(
    locale: str, lookups: dict[str, int], mode: str, filled: Connection
) -> None:
    """Two of the ten entries are translated. The shared partition is searched for the others too,
    since a locale that gets its own partition is moved there while readers read."""
    parameters = [*LISTS["list_of_type_in_locale"][:-2], locale, INLINE]
    plan = await explained(filled, mode, READ_SIDE["list_of_type_in_locale"], parameters)
    found = [node for node in scans(plan) if node["Relation Name"].startswith("entry_locale")]
    assert {node["Relation Name"]: node["Actual Loops"] for node in found} == lookups
    assert {node["Node Type"] for node in found} == {"Index Scan"}
    translated = [node["Index Name"] for node in found if node["Actual Rows"] > 0]
    assert translated == [found[0]["Index Name"]]


def of_entries(plan: dict[str, Any]) -> int:
    """The most entries that are read from an index."""
    entries = [node for node in scans(plan) if "entry_production" in node["Relation Name"]]
    assert {node["Node Type"] for node in entries} <= {"Index Scan", "Index Only Scan"}
    return int(max(node["Actual Rows"] * node["Actual Loops"] for node in entries))


@pytest.mark.parametrize("mode", PLANS)
async def test_a_chunk_to_render_again_is_an_index_scan_without_a_sort(
    mode: str, filled: Connection
) -> None:
    parameters = ["acme", "production", TYPE, None, 500, 1_000_000]
    plan = await explained(filled, mode, PROJECTOR["next_entries"], parameters)
    assert {node["Node Type"] for node in scans(plan)} == {"Index Scan"}
    assert not of_type(plan, "Sort", "Incremental Sort")


ONE = ["{acme}", "{production}", "{77}"]
VALUES: dict[str, list[Any]] = {
    "drop_entry_values": ONE,
    "drop_values": [*ONE, f"{{{TYPE}}}", "{x}"],
    "drop_lists": [*ONE, f"{{{TYPE}}}"],
}


OF_ENTRY = "entry_value_production_position_list_idx"
BY_KEY_INDEX = "entry_value_production_list_key_expr_workspace_environment__idx"
OF_VALUES = {
    "drop_entry_values": (OF_ENTRY, ("position",)),
    "drop_values": (BY_KEY_INDEX, ("list =", "key =", '~ "position"')),
    "drop_lists": (OF_ENTRY, ("position", "list")),
}


@pytest.mark.parametrize("entries", [0, 1_000])
@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("name", VALUES)
async def test_values_of_an_entry_are_found_by_their_index(
    name: str, mode: str, entries: int, filled: Connection, module_database_url: str
) -> None:
    """Also if samples of the table suggest few ``entries`` with many values each."""
    owner = await asyncpg.connect(
        owner_of(module_database_url), server_settings={"search_path": LIVE}
    )
    transaction = owner.transaction()
    await transaction.start()
    try:
        await owner.execute(
            f"ALTER TABLE entry_value_production ALTER position SET (n_distinct = {entries})"
        )
        await owner.execute("ANALYZE entry_value_production")
        plan = await explained(owner, mode, PROJECTOR[name], VALUES[name])
    finally:
        await transaction.rollback()
        await owner.close()
    [values] = [node for node in scans(plan) if node["Relation Name"].startswith("entry_value_p")]
    index, compared = OF_VALUES[name]
    assert values["Index Name"] == index
    for one in compared:
        assert one in values["Index Cond"]


SMALL = ("content_type", "entry_count")


async def explained(
    connection: Connection, mode: str, sql: str, parameters: list[Any]
) -> dict[str, Any]:
    """The plan as it was executed, without the parts that were not."""
    await connection.execute(f"SET plan_cache_mode = {mode}")
    await connection.execute(f"DEALLOCATE ALL; PREPARE explained AS {sql}")
    literals = ", ".join(map(literal, parameters))
    explain = f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE explained ({literals})"
    plan: dict[str, Any] = json.loads(await connection.fetchval(explain))[0]["Plan"]
    return plan


def literal(value: str | int | None) -> str:
    """A SQL literal, because a generic plan exists only for a statement that was prepared by
    name."""
    return "NULL" if value is None else f"'{value}'"


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    # The checkpoint is one row, read once.
    if plan["Actual Loops"] > 0 and plan.get("Relation Name") != "checkpoint":
        yield plan
        for part in plan.get("Plans", []):
            yield from nodes(part)


def scans(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [node for node in nodes(plan) if "Relation Name" in node]


MOST_COUNTS = 2 + sum(large // small for large, small in pairwise(BLOCKS[1:]))
"""The most counts that a page may read: blocks of all levels that cover fewer positions than a
block of the largest size."""


def counts_read(plan: dict[str, Any]) -> int:
    """Rows of ``entry_count`` that were read."""
    found = [node for node in scans(plan) if node["Relation Name"] == "entry_count"]
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in found
    )


def of_type(plan: dict[str, Any], *types: str, skip: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    return [
        node
        for node in nodes(plan)
        if node["Node Type"] in types and node.get("Relation Name") not in skip
    ]


def the_page(plan: dict[str, Any]) -> dict[str, Any]:
    """The node that selects the page: the innermost limit that is not within one of its rows."""
    return [node for node in of_type(plan, "Limit") if node["Actual Loops"] == 1][-1]
