"""Reads that arrive together share statements, and each gets the rows that it would get alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from read_side import shared_reads
from read_side.entries import INLINE, SHARED, entry_of_slug
from read_side.pool import Pool, fetch_text, open_pool
from read_side.refusals import EntryNotFound, ReadModelUnavailable, TypeNotFound
from read_side.shared_reads import BYTES, TOGETHER, SharedReads
from tests.integration.live_projector import project_all
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side.domain.identity import Scope, slug_hash
from write_side.postgres.statements import statement
from write_side.repository import Repository

ACME = ("acme", "production")
SCOPE = Scope(*ACME)
VALUES: dict[str, list[Any]] = {
    "limit": [1, 2, 20],
    "offset": [0, 1, 5],
    "type_slug": ["posts", "authors", "unknown"],
    "status": ["published", "draft", "archived"],
    "language": ["en-US", "fr-FR", "en-US"],
    "locale": ["fr-FR", "en-US", "de-DE"],
    "slug_hash": [slug_hash("one"), slug_hash("deux"), slug_hash("ann")],
    "inline": [INLINE, 10, INLINE],
}


@pytest.fixture
async def pool(repository: Repository, database_url: str) -> AsyncIterator[Pool]:
    builder = ContentBuilder(repository)
    await builder.magazine()
    await builder.content_type(slug="authors")
    await builder.entry("one", status="published")
    await builder.entry("two")
    await builder.entry("deux", language="fr-FR")
    await builder.entry("large", fields=raws(body="x" * (SHARED + 1)))
    await builder.translate(await builder.entry("ann", type_slug="authors"), "fr-FR", title="Anne")
    await project_all(database_url, database_url)
    async with open_pool(database_url) as pool:
        yield pool


class Counted(SharedReads):
    """``statements``: receives each statement that is sent."""

    def __init__(self, pool: Pool) -> None:
        self.statements: list[str] = []

        async def counted(sql: str, *parameters: Any) -> list[asyncpg.Record]:
            self.statements.append(sql)
            return await fetch_text(pool, sql, *parameters)

        super().__init__(counted)


async def read_one(shared: SharedReads, slug: str) -> list[str]:
    where = ("posts", "en-US", slug_hash(slug), INLINE)
    return [record["slug"] for record in await shared.fetch("entry_of_slug", *ACME, *where)]


async def test_each_read_gets_what_it_would_get_alone(pool: Pool) -> None:
    for name in sorted(TOGETHER):
        sql = statement("read_side", name)
        names = [part.split()[1] for part in sql.split("\n")[0][3:].split(", ")][2:]
        reads = [tuple(VALUES[one][turn] for one in names) for turn in range(3)] * 3
        alone = [
            [tuple(row) for row in await fetch_text(pool, sql, *ACME, *read)] for read in reads
        ]
        shared = Counted(pool)
        together = await asyncio.gather(*(shared.fetch(name, *ACME, *read) for read in reads))
        # The first read is sent alone; the rows of the others begin with the number of the read.
        assert [tuple(row) for row in together[0]] == alone[0], name
        assert [[tuple(row)[1:] for row in rows] for rows in together[1:]] == alone[1:], name
        assert any(alone) or name == "import_runs"
        assert shared.statements == [sql, TOGETHER[name]], name


async def test_a_statement_has_a_limited_number_of_bytes(pool: Pool) -> None:
    shared = Counted(pool)
    limit = 10
    where = (limit, 0, "posts", "published", "en-US", BYTES // 2 // limit)
    reads = (shared.fetch("list_of_type", *ACME, *where) for _ in range(6))
    assert [len(rows) for rows in await asyncio.gather(*reads)] == [1] * 6
    assert len(shared.statements) == 1 + 3


async def test_statements_serve_one_workspace(pool: Pool) -> None:
    shared = Counted(pool)
    where = (10, 0, "fr-FR", INLINE)
    scopes = [ACME, ("other", "production"), ("acme", "staging")] * 3
    found = await asyncio.gather(*(shared.fetch("list_newest", *s, *where) for s in scopes))
    assert [rows[0]["total"] for rows in found] == [5, 0, 0] * 3
    assert len(shared.statements) == 6


async def test_a_fault_of_one_read_does_not_affect_others(pool: Pool) -> None:
    shared = Counted(pool)
    reads = [read_one(shared, "one"), read_one(shared, "two")]
    wrong = shared.fetch("entry_of_slug", *ACME, "no\0text", "en-US", slug_hash("one"), INLINE)
    found = await asyncio.gather(*reads, wrong, read_one(shared, "one"), return_exceptions=True)
    assert [found[0], found[1], found[3]] == [["one"], ["two"], ["one"]]
    assert isinstance(found[2], asyncpg.PostgresError)


async def test_cancelled_reads_are_not_sent(pool: Pool) -> None:
    shared = Counted(pool)
    first, gone, last = (
        asyncio.create_task(read_one(shared, slug)) for slug in ("one", "two", "two")
    )
    await asyncio.sleep(0)
    gone.cancel()
    assert list(await asyncio.gather(first, last)) == [["one"], ["two"]]
    sql = statement("read_side", "entry_of_slug")
    assert shared.statements == [sql, sql]
    assert shared._waiting == {}


async def test_the_first_read_may_be_cancelled_while_others_wait_for_it(pool: Pool) -> None:
    shared = Counted(pool)
    first, second = (asyncio.create_task(read_one(shared, slug)) for slug in ("one", "two"))
    await asyncio.sleep(0.001)
    first.cancel()
    assert await second == ["two"]


async def test_a_read_sees_what_was_committed_before_it_began(
    pool: Pool, repository: Repository, database_url: str
) -> None:
    """It never gets the result of a statement that was already in progress."""
    builder = ContentBuilder(repository)
    where = ("posts", "en-US", slug_hash("new"), INLINE)
    sleeping = asyncio.create_task(fetch_text(pool, "SELECT pg_sleep(0.5)"))
    before = asyncio.create_task(pool.shared.fetch("entry_of_slug", *ACME, *where))
    await builder.entry("new")
    await project_all(database_url, database_url)
    after = await pool.shared.fetch("entry_of_slug", *ACME, *where)
    assert [row["slug"] for row in after] == ["new"]
    await asyncio.gather(sleeping, before)


async def test_single_entries_of_any_size_are_found(pool: Pool) -> None:
    slugs = ["large", "one", "large", "none", "two"]
    found = await asyncio.gather(
        *(
            entry_of_slug(
                pool, SCOPE, type_slug="posts", slug=slug, language="en-US", locale="en-US"
            )
            for slug in slugs
        ),
        return_exceptions=True,
    )
    assert [getattr(row, "slug", None) for row in found] == ["large", "one", "large", None, "two"]
    assert isinstance(found[3], EntryNotFound)
    assert not isinstance(found[0], BaseException)
    assert len(bytes(found[0].fields)) > SHARED


async def test_an_unknown_type_is_distinguished_from_an_unknown_entry(pool: Pool) -> None:
    async def read(type_slug: str) -> object:
        return await entry_of_slug(
            pool, SCOPE, type_slug=type_slug, slug="x", language="en-US", locale="fr-FR"
        )

    types = ["posts", "none", "authors", "none"]
    found = await asyncio.gather(*map(read, types), return_exceptions=True)
    assert [type(error) for error in found] == [EntryNotFound, TypeNotFound] * 2


def test_lists_and_single_entries_are_shared() -> None:
    assert {"entry_of_slug", "list_of_type", "list_newest", "ids_selected"} <= TOGETHER.keys()
    assert shared_reads._PARAMETERS["ids_newest"] == ["limit", "offset"]


async def test_reads_that_wait_for_an_unavailable_database_fail_together() -> None:
    attempts = 0

    async def unavailable(*_: Any) -> list[asyncpg.Record]:
        nonlocal attempts
        attempts += 1
        await asyncio.sleep(0.01)
        raise ReadModelUnavailable

    shared = SharedReads(unavailable)
    where = (100, 0, "posts", "published", "en-US", INLINE)
    reads = (shared.fetch("list_of_type", *ACME, *where) for _ in range(50))
    found = await asyncio.gather(*reads, return_exceptions=True)
    assert {type(error) for error in found} == {ReadModelUnavailable}
    assert attempts == 2, "the first read, and those that waited for it"
    assert shared._waiting == {}
