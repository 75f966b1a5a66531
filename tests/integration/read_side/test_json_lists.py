"""Lists that PostgreSQL writes as JSON equal those that the API encodes, byte for byte."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct, json

from api.rest import wire
from projector.rows import BLOCKS
from read_side.entries import INLINE, EntryRow
from read_side.paging import Listing, Page
from read_side.pool import Pool, open_pool
from read_side.schema import LIVE
from tests.integration.live_projector import connected
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement, statements

_COUNT = statement("projector", "count_entries")
TYPE = "018f0000-0000-7000-8000-0000000000aa"
MOST = 3
IDS = [f"018f0000-0000-7000-8000-{number:012}" for number in range(MOST)]
SCOPE = ("acme", "production")
FILLED = """
INSERT INTO content_type
VALUES ($1::uuid, 'acme', 'production', 'posts', 'Posts', '[]', '[]', 1, now(), now())"""
CLEAR = "TRUNCATE entry, entry_locale, entry_count"
NAMED = "UPDATE content_type SET name = $1"
ENTRY = """
INSERT INTO entry
VALUES ('acme', 'production', $1::text::uuid, $2::text::uuid, $3,
        sha256(convert_to($3::text, 'UTF8')), now(), $4, 'published', 'en-US', NULL,
        $5::text::json, $6, $7, $8, $9, 1, $10, '{}', NULL, $11)"""
TRANSLATION = """
INSERT INTO entry_locale
VALUES ('acme', 'production/other', 'fr-FR', $1::text::uuid, $2, $3, $4)"""
_ANY_TYPE = ("en-US", "fr-FR", "de-DE")
LISTS: dict[str, list[tuple[Any, ...]]] = {
    "list_of_type": [("posts", "published", "en-US")],
    "list_of_type_deep": [("posts", "published", "en-US")],
    "list_of_type_in_locale": [("posts", "published", "en-US", one) for one in _ANY_TYPE],
    "list_newest": [(one,) for one in _ANY_TYPE],
    "list_newest_of_type": [("posts", one) for one in _ANY_TYPE],
    "list_selected": [(None, "published", None, one) for one in _ANY_TYPE],
}

SPECIAL = (
    "\x00\x01\x08\t\n\x0b\x0c\r\x1f \"'\\/<>&\x7f\x80\x85\u00e9\u2028\u2029\ufeff\ufffd\uffff😀"
)
# PostgreSQL stores neither NUL nor surrogates, and the API refuses both.
texts = st.text(
    st.one_of(st.sampled_from(SPECIAL[1:]), st.characters(codec="utf-8", exclude_characters="\0"))
)
times = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)).flatmap(
    lambda time: st.sampled_from(
        [
            time,
            time.replace(microsecond=time.microsecond // 1000 * 1000),
            time.replace(microsecond=0),
        ]
    )
)
objects = st.dictionaries(texts, st.one_of(texts, st.integers(-9, 9), st.none()), max_size=3).map(
    lambda value: json.encode(value).decode()
)


class Stored(Struct):
    slug: str
    title: str
    stage: str | None
    published_at: datetime | None
    created_at: datetime
    updated_at: datetime
    fields: str
    translation: tuple[str, str | None] | None


stored = st.builds(
    Stored,
    texts,
    texts,
    st.none() | objects,
    st.none() | times,
    times,
    times,
    objects,
    st.none() | st.tuples(texts, st.none() | objects),
)


@pytest.fixture
async def model(database_url: str) -> AsyncIterator[tuple[Connection, Pool]]:
    async with (
        connected(database_url, search_path=LIVE) as connection,
        open_pool(database_url) as pool,
    ):
        await connection.execute(FILLED, TYPE)
        yield connection, pool


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(stored, max_size=MOST), texts)
async def test_lists_are_what_the_api_would_encode(
    model: tuple[Connection, Pool], entries: list[Stored], type_name: str
) -> None:
    await check_lists(*model, entries, type_name)


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(stored, max_size=MOST), texts)
async def test_many_lists_are_what_the_api_would_encode(
    model: tuple[Connection, Pool], entries: list[Stored], type_name: str
) -> None:
    await check_lists(*model, entries, type_name)


async def check_lists(
    connection: Connection, pool: Pool, entries: list[Stored], type_name: str
) -> None:
    await fill(connection, entries, type_name)
    for name, offset in itertools.product(LISTS, (0, 1)):
        for parameters in LISTS[name]:
            listing, encoded = listing_of(pool, name, offset, parameters)
            page = await listing.page(as_json=True)
            rows = await listing.page(as_json=False)
            assert page.json == encoded(rows), (name, parameters)
            assert (page.matches, page.stamp) == (rows.matches, rows.stamp)
            assert rows.matches == len(entries)


@pytest.mark.parametrize("name", LISTS)
async def test_an_entry_that_is_rendered_on_reading_is_encoded_by_the_api(
    name: str, model: tuple[Connection, Pool]
) -> None:
    connection, pool = model
    await fill(connection, [PLAIN, PLAIN], "Posts", type_version=2)
    listing, _ = listing_of(pool, name, 0, LISTS[name][-1])
    page = await listing.page(as_json=True)
    assert page.json is None
    assert len(page.rows) == 2


@pytest.mark.parametrize("name", [name for name in LISTS if len(LISTS[name]) > 1])
async def test_large_translations_are_rendered_by_the_api(
    name: str, model: tuple[Connection, Pool]
) -> None:
    connection, pool = model
    await fill(connection, [PLAIN, PLAIN], "Posts")
    await connection.execute(TRANSLATION, IDS[0], "Titre", '{"a": "b"}', None)
    for parameters in LISTS[name]:
        page = await listing_of(pool, name, 0, parameters)[0].page(as_json=True)
        assert (page.json is None) == (parameters[-1] == "fr-FR")


@pytest.mark.parametrize("name", LISTS)
async def test_the_size_up_to_which_an_entry_is_in_a_list_is_the_same(
    name: str, model: tuple[Connection, Pool]
) -> None:
    connection, pool = model
    for more, is_json in ((0, True), (1, False)):
        largest = '"' + "x" * (INLINE - len(PLAIN.title) - 2 + more) + '"'
        large = Stored("l", PLAIN.title, None, None, NOW, NOW, largest, None)
        await fill(connection, [PLAIN, large], "Posts")
        records = await pool.shared.fetch(f"json_{name}", *SCOPE, 10, 0, *LISTS[name][0], INLINE)
        assert (records[0]["data"] is not None) == is_json


def test_every_list_of_entries_has_a_statement_for_json() -> None:
    named = {name for name in statements("read_side") if name.startswith("list_")}
    named.remove("list_found")  # the rows of a query's page
    assert named == set(LISTS)
    assert {f"json_{name}" for name in named} < set(statements("read_side"))


NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
PLAIN = Stored("one", "One", None, NOW, NOW, NOW, "{}", None)


async def fill(
    connection: Connection, entries: list[Stored], type_name: str, type_version: int = 1
) -> None:
    async with connection.transaction():
        await connection.execute(CLEAR)
        await connection.execute(NAMED, type_name)
        for position, (entry_id, entry) in enumerate(zip(IDS, entries, strict=False), 1):
            await connection.execute(
                ENTRY,
                entry_id,
                TYPE,
                entry.slug,
                entry.title,
                entry.stage,
                entry.published_at,
                entry.created_at,
                entry.updated_at,
                position,
                type_version,
                entry.fields,
            )
            if entry.translation:
                title, fields = entry.translation
                await connection.execute(TRANSLATION, entry_id, title, None, fields)
        await connection.execute(_COUNT, BLOCKS)


def listing_of(
    pool: Pool, name: str, offset: int, parameters: tuple[Any, ...]
) -> tuple[Listing, Callable[[Page[EntryRow, Any]], bytes]]:
    """A list, and the JSON that the API makes from its rows."""
    locale = parameters[-1]
    of_type = name.startswith("list_of_type")
    made: Callable[[EntryRow, str], wire.Entry] = (
        wire.listed_entry if of_type else wire.entry_of_any_type
    )

    def encoded(page: Page[EntryRow, Any]) -> bytes:
        return b",".join(wire.encode(made(one, locale)) for one in page.rows)

    where = (*SCOPE, 10, offset, *parameters)
    return Listing(pool, name, where, locale), encoded
