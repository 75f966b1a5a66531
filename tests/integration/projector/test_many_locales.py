"""700 locales in both environments on a PostgreSQL with the default settings of initdb."""

from __future__ import annotations

import asyncio
import itertools
import string
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from projector import partitions
from projector.partitions import MOST
from projector.rebuild.operations import verify
from read_side.entries import INLINE
from read_side.pool import Pool, snapshot
from read_side.queries.pages import find
from read_side.queries.request import EntryQuery, Filter, SortKey
from tests.databases import set_up
from tests.default_server import default_server
from tests.integration.live_projector import connected, project_all
from tests.integration.projector.rebuilds import build_settings, rebuild, silent
from tests.integration.projector.sample_log import ACTOR, ContentBuilder, rows
from tests.integration.projector.test_partitions import grow
from write_side.domain.events import EntryCreated, Translation
from write_side.domain.identity import ENVIRONMENTS, Scope, entry_stream, new_id
from write_side.postgres.statements import statements
from write_side.repository import Repository
from write_side.store.append import Append
from write_side.store.mapper import EventMapper, StreamEvent
from write_side.store.recorder import open_recorder

pytestmark = pytest.mark.slow

LETTERS = itertools.product(string.ascii_lowercase, repeat=2)
LOCALES = [f"{''.join(two)}-{''.join(two).upper()}" for two in LETTERS] + [
    f"{letter}aa-AA" for letter in string.ascii_lowercase[:24]
]
CONNECTIONS = 90
"""PostgreSQL accepts 100 by default."""
DEFAULT_LOCKS = 64
"""max_locks_per_transaction: for each connection, PostgreSQL has room for this number of locks."""
FAST_LOCKS = 16
"""The number of locks that a connection keeps outside that room; more since PostgreSQL 18."""
READS: dict[str, list[Any]] = {
    "list_of_type_in_locale": [
        "acme",
        "production",
        10,
        0,
        "posts",
        "published",
        "en-US",
        "aa-AA",
        INLINE,
    ],
    "list_newest": ["acme", "production", 10, 0, "zz-ZZ", INLINE],
    "summaries_newest": ["acme", "production", 10, 0, "zz-ZZ"],
    "entry_of_slug_in_locale": ["acme", "production", "posts", "en-US", b"", "aa-AA", INLINE],
    "locales": ["acme", "production", None],
}
QUERIES = {
    "newest": EntryQuery(type_slug=None, status=None, language=None, limit=10),
    "in an order": EntryQuery(
        type_slug="posts",
        status="published",
        language="en-US",
        sort=(SortKey("slug", descending=True), SortKey("title")),
        limit=10,
    ),
    "of filters": EntryQuery(
        type_slug="posts",
        status="published",
        language="en-US",
        filters=(Filter("title", "eq", ("Title",)), Filter("slug", "startsWith", ("entry",))),
        sort=(SortKey("createdAt"),),
        limit=10,
    ),
    "of a search": EntryQuery(
        type_slug=None, status=None, language=None, words="zz", locale="zz-ZZ", limit=10
    ),
}
_LOCKS = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """As many locales as possible have their own partition."""
    with default_server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "GROWN", 1)
        patch.setattr(partitions, "CHECK_EVERY", 0.0)
        asyncio.run(fill(server))
        yield server


async def fill(url: str) -> None:
    await set_up(url)
    async with open_recorder(url) as recorder:
        repository, events = Repository(recorder, EventMapper()), []
        builder = ContentBuilder(repository)
        await builder.workspace(staging=True)
        await builder.staging()
        for environment in ENVIRONMENTS:
            type_id = await ContentBuilder(repository, Scope("acme", environment)).content_type()
            events += [translated(environment, type_id, f"entry-{n}") for n in range(2)]
        mapper = EventMapper()
        stored = [mapper.to_stored_event(event) for event in events]
        await recorder.append(Append(events=stored))
    await project_all(url, url)
    await grow(url)


def translated(environment: str, type_id: str, slug: str) -> StreamEvent:
    """The creation of an entry, translated into all locales."""
    event = EntryCreated(
        workspace="acme",
        environment=environment,
        actor=ACTOR,
        at=datetime.now(UTC),
        entry_id=new_id(),
        content_type_id=type_id,
        slug=slug,
        title="Title",
        language="en-US",
        status="published",
        fields={},
        translations={locale: Translation(locale) for locale in LOCALES},
    )
    return StreamEvent(entry_stream(event.entry_id), 1, event)


@pytest.mark.parametrize("name", READS)
async def test_a_read_of_a_new_connection_takes_few_locks(name: str, url: str) -> None:
    """Planning a statement locks all partitions and indexes."""
    generic = {"plan_cache_mode": "force_generic_plan"}
    async with connected(url, **generic) as connection, connection.transaction():
        await connection.fetch(statements("read_side")[name], *READS[name])
        assert await connection.fetchval(_LOCKS) <= DEFAULT_LOCKS


@pytest.mark.parametrize("name", QUERIES)
async def test_a_page_of_a_query_on_a_new_connection_takes_few_locks(name: str, url: str) -> None:
    """The statements of a query are one transaction, which keeps the locks of all."""
    pool, scope, query = Pool(url), Scope("acme", "production"), QUERIES[name]
    try:
        async with snapshot(pool) as connection:
            found = await find(connection, scope, query)
            await connection.fetch(
                statements("read_side")["list_found"],
                *("acme", "production", found.positions, "zz-ZZ", INLINE),
            )
            assert len(found.positions) == 2
            assert await connection.fetchval(_LOCKS) <= DEFAULT_LOCKS + FAST_LOCKS
    finally:
        pool.close()


async def test_all_connections_may_be_new_at_once(url: str) -> None:
    """Each connection keeps its locks until the others have theirs."""
    name = "list_of_type_in_locale"
    connections = [await asyncpg.connect(url) for _ in range(CONNECTIONS)]
    try:
        for connection in connections:
            await connection.execute("BEGIN")
        found = await asyncio.gather(
            *(one.fetch(statements("read_side")[name], *READS[name]) for one in connections)
        )
        assert [[row["title"] for row in page] for page in found] == [["aa-AA"] * 2] * CONNECTIONS
    finally:
        for connection in connections:
            connection.terminate()


async def test_a_rebuild_and_a_verify_have_enough_locks(url: str) -> None:
    assert await rows(url, "SELECT count(*) FROM locale_partition") == [(2 * MOST,)]
    assert await rows(url, "SELECT count(*) FROM entry_locale") == [(4 * len(LOCALES),)]
    for _ in range(2):
        # Two processes, and a second rebuild while there are two read models.
        assert (await rebuild(url, workers=2)).differences == []
    result = await verify(build_settings(url), silent)
    assert (result.read_model, result.not_compared) == ([], None)
