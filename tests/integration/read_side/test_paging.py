"""Every page of every list is the right slice of the whole list, whatever changes its entries
had."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from importlib import resources

import pytest
from msgspec import Struct, json

from projector import rows
from projector.rebuild import build
from read_side import paging
from read_side.paging import Filters, list_ids, list_of_type
from read_side.pool import Pool, open_pool
from read_side.schema import LIVE
from tests.integration.live_projector import connected, dump, project_all
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.rebuilds import rebuild, rollback
from tests.integration.projector.sample_log import SCOPE, ContentBuilder
from write_side.domain.identity import Scope
from write_side.repository import Repository

SIZES = rows.BLOCKS
BLOCKS = (2**62, 60, 12, 4)
STATUSES = ("draft", "published", "archived")
LANGUAGES = ("en-US", "sv-SE")
NEWEST_FIRST = """
SELECT e.id::text, t.slug, e.status, e.language
FROM entry e JOIN content_type t ON (t.workspace, t.id) = (e.workspace, e.content_type_id)
WHERE e.workspace = $1 AND e.environment = $2 ORDER BY e.created_at DESC, e.position DESC"""
TYPES = "SELECT slug FROM content_type WHERE workspace = $1 AND environment = $2"


class Identified(Struct):
    id: str


IDS = list[Identified]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that lists have several and pages skip them."""
    for module in (rows, build):
        monkeypatch.setattr(module, "BLOCKS", BLOCKS)
    monkeypatch.setattr(paging, "DEEP", 5)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url) as pool:
        yield pool


class Lists:
    """Compares the lists of a scope with its rows, one by one."""

    def __init__(self, url: str, pool: Pool, scope: Scope) -> None:
        self._url = url
        self._pool = pool
        self._scope = scope

    async def check(self, limits: tuple[int, ...] = (1, 3)) -> int:
        """Checks every page of each list. Returns the number of entries."""
        place = (self._scope.workspace, self._scope.environment)
        async with connected(self._url, search_path=LIVE) as connection:
            self._entries = [tuple(row) for row in await connection.fetch(NEWEST_FIRST, *place)]
            types = [row["slug"] for row in await connection.fetch(TYPES, *place)]
        choices = itertools.product((None, *types), (None, *STATUSES), (None, *LANGUAGES))
        for limit, chosen in itertools.product(limits, choices):
            await self._check_ids(limit, Filters(*chosen))
        for limit, *where in itertools.product(limits, types, STATUSES, LANGUAGES):
            await self._check_list_of_type(limit, *where)
        return len(self._entries)

    def _expected(self, *chosen: str | None) -> list[str]:
        return [
            entry_id
            for entry_id, *of in self._entries
            if all(wanted in (None, value) for wanted, value in zip(chosen, of, strict=True))
        ]

    async def _check_ids(self, limit: int, filters: Filters) -> None:
        whole = self._expected(filters.type_slug, filters.status, filters.language)
        for offset in offsets(whole):
            page = await list_ids(self._pool, self._scope, filters, limit=limit, offset=offset)
            expected = whole[offset : offset + limit]
            assert (page.rows, page.matches) == (expected, len(whole)), (filters, limit, offset)

    async def _check_list_of_type(self, limit: int, *chosen: str) -> None:
        type_slug, status, language = chosen
        whole = self._expected(*chosen)
        forms = itertools.product(offsets(whole), ("en-US", "fr-FR"), (False, True))
        for offset, locale, as_json in forms:
            page = await list_of_type(
                self._pool,
                self._scope,
                type_slug=type_slug,
                status=status,
                language=language,
                locale=locale,
                limit=limit,
                offset=offset,
                as_json=as_json,
            )
            rows = page.rows if page.json is None else json.decode(b"[%s]" % page.json, type=IDS)
            found = [row.id for row in rows]
            expected = whole[offset : offset + limit]
            assert (found, page.matches) == (expected, len(whole)), (chosen, limit, offset)


def offsets(whole: list[str]) -> Iterator[int]:
    """The offset of each entry, and offsets beyond the end."""
    yield from range(len(whole) + 2)
    yield 10**12


async def test_every_page_after_random_commands(
    repository: Repository, database_url: str, pool: Pool
) -> None:
    await RandomCommands(repository, 3).execute(150)
    await project_all(database_url, database_url, [7])
    found = [
        await Lists(database_url, pool, Scope(*place)).check()
        for place in itertools.product(("acme", "other"), ("production", "staging"))
    ]
    assert max(found) > 2 * BLOCKS[-1]


@pytest.mark.slow
async def test_pages_of_many_blocks_before_and_after_a_rebuild_and_a_rollback(
    builder: ContentBuilder, database_url: str, pool: Pool
) -> None:
    """Entries change their status, and some are deleted, among them all entries of a large
    block."""
    await builder.magazine()
    ids = [await builder.entry(f"entry-{n}", status=STATUSES[n % 2]) for n in range(130)]
    lists = Lists(database_url, pool, SCOPE)
    await project_all(database_url, database_url, [11])
    assert await lists.check((1,)) == 130
    for entry_id in ids[::5]:
        await builder.update(entry_id, status="archived")
    for entry_id in {*ids[30:100], *ids[1::9]}:
        await builder.delete(entry_id)
    await project_all(database_url, database_url, [5])
    left = await lists.check((1,))
    followed = await dump(database_url)
    assert (await rebuild(database_url)).differences == []
    assert await dump(database_url) == followed
    assert await lists.check((1,)) == left
    await rollback(database_url)
    assert await lists.check((1,)) == left


def test_other_sizes_of_blocks_are_another_shape() -> None:
    stated = ", ".join(f"{size:,}" for size in SIZES[1:-1]) + f" or {SIZES[-1]}"
    assert stated in (resources.files("read_side") / "tables.sql").read_text("utf-8")
