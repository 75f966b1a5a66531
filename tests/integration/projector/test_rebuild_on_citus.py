"""Rebuild, switch, rollback and verify of a distributed read model, where its nodes could behave
differently. The other tests of this folder also run on Citus."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from projector.rebuild import operations as module
from projector.rebuild.comparison import snapshot
from projector.rebuild.progress import Operation
from projector.rebuild.switch import TO_NEXT
from read_side.schema import LIVE, PREVIOUS
from tests.engines import Citus, engine
from tests.integration.live_projector import connected, head_of, project_all, projecting, until
from tests.integration.projector.citus_workers import on_worker, worker_of_acme
from tests.integration.projector.marked_read_models import (
    ALL_WORKSPACES,
    ENTRIES,
    ONE_WORKSPACE,
    Reader,
    candidate_with_mark,
    mark,
    project_with_marks,
)
from tests.integration.projector.random_log import WORKSPACES, RandomCommands
from tests.integration.projector.rebuilds import build_settings, rollback, schemas, silent
from tests.integration.projector.sample_log import ContentBuilder
from write_side.domain.identity import Scope
from write_side.postgres.connection import Connection
from write_side.repository import Repository

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not isinstance(engine(), Citus), reason="only with --engine citus"),
]


@pytest.fixture
async def marked(repository: Repository, database_url: str) -> str:
    await project_with_marks(repository, database_url)
    return database_url


@asynccontextmanager
async def meanwhile(*work: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Repeats each of them. An error in one is raised."""

    async def repeat(once: Callable[[], Awaitable[None]]) -> None:
        while True:
            await once()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(repeat(once)) for once in work]
        yield
        for task in tasks:
            task.cancel()


async def test_no_read_mixes_two_read_models_or_goes_back(marked: str) -> None:
    """Read models are switched back and forth, on one worker and on several."""
    async with connected(marked) as one, connected(marked) as several:
        readers = [
            Reader(one, ONE_WORKSPACE, ENTRIES),
            Reader(several, ALL_WORKSPACES, ENTRIES * len(WORKSPACES)),
        ]

        async def all_read(number: int) -> bool:
            return all(reader.reads[number] >= 5 for reader in readers)

        async with (
            candidate_with_mark(marked, 1) as candidate,
            meanwhile(*(reader.read for reader in readers)),
        ):
            await until(lambda: all_read(0))
            await candidate.go_live(TO_NEXT, Operation(silent))
            await until(lambda: all_read(1))
            for number in range(2, 6):
                await mark(candidate.model, PREVIOUS, number)
                await rollback(marked)
                await until(lambda number=number: all_read(number))  # type: ignore[misc]
    assert await schemas(marked) == [LIVE, PREVIOUS]


async def test_a_long_read_holds_up_the_switch_but_no_other_read(marked: str) -> None:
    async with connected(marked) as long, connected(marked) as other:
        transaction = long.transaction()
        await transaction.start()
        before = await long.fetch(ALL_WORKSPACES)
        async with candidate_with_mark(marked, 1) as candidate:
            switching = asyncio.create_task(candidate.go_live(TO_NEXT, Operation(silent)))
            for _ in range(2):
                await until(lambda: is_locking(other))
                assert await other.fetch(ALL_WORKSPACES) == before
            assert not switching.done()
            assert await long.fetch(ALL_WORKSPACES) == before
            await transaction.commit()
            await switching
        assert [row["title"] for row in await other.fetch(ALL_WORKSPACES)] == ["1"]


async def is_locking(connection: Connection) -> bool:
    return bool(
        await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LOCK TABLE%' "
            "AND wait_event_type = 'Lock' AND datname = current_database()"
        )
    )


LAST_CHANGES = "SELECT workspace, max(position) AS last, count(*) AS n FROM change GROUP BY 1"


async def test_a_snapshot_has_the_same_checkpoint_on_every_node(
    repository: Repository, database_url: str
) -> None:
    givens = [
        ContentBuilder(repository, Scope(workspace, "production")) for workspace in WORKSPACES
    ]
    for given in givens:
        await given.magazine()
    others = await head_of(database_url) - len(WORKSPACES)
    numbers = itertools.count()

    async def write() -> None:
        for given in givens:
            await given.entry(f"entry-{next(numbers)}")

    async with projecting(database_url), meanwhile(write, write):
        for _ in range(10):
            async with snapshot(database_url) as connection:
                found = await connection.fetch(LAST_CHANGES)
                await asyncio.sleep(0.05)
                position = await connection.fetchval("SELECT position FROM checkpoint")
                assert await connection.fetch(LAST_CHANGES) == found
                if position > others + len(WORKSPACES):
                    assert max(row["last"] for row in found) == position
                    assert sum(row["n"] for row in found) == position - others


CHANGES: dict[str, tuple[str, str]] = {
    "change": ("actor = 'other'", "position = position + 1000000"),
    "content_type": ("name = 'other'", "slug = slug || 'x', id = gen_random_uuid()"),
    "entry": ("title = 'other'", "id = gen_random_uuid()"),
    "entry_count": ("n = n + 1", "block = block + 1000000"),
    "entry_locale": ("title = 'other'", "locale = 'other'"),
    "entry_search": ("status = 'other'", "locale = 'other'"),
    "entry_value": ("key = key || 'x'::bytea", "position = position + 1000000"),
    "import_run": ("file_name = 'other'", "id = id || 'x'"),
    "locale_count": ("n = n + 1", "locale = 'other'"),
    "media": ("name = 'other'", "id = id || 'x'"),
    "past_slug": ("until = until + interval '1 s'", "position = position + 1000000"),
    "past_type": ("until = until + interval '1 s'", "position = position + 1000000"),
    "past_version": ("version = version + 1", "position = position + 1000000"),
    "webhook": ("url = 'other'", "name = name || 'x'"),
    "workspace": ("name = 'other'", "slug = 'third'"),
}
"""For each table: a value to change, and the part of the key to change in an added row."""
WRONG: dict[str, tuple[str, ...]] = {
    "missing": ("DELETE FROM {shard}",),
    "different": ("UPDATE {shard} SET {value}",),
    "unknown": (
        "CREATE TEMPORARY TABLE added AS SELECT * FROM {shard} LIMIT 1",
        "UPDATE added SET {key}",
        "INSERT INTO {shard} SELECT * FROM added",
        "DROP TABLE added",
    ),
}
SHARDS = """
SELECT DISTINCT relation, 'read_model.' || relation || '_' || get_shard_id_for_distribution_column(
    ('read_model.' || relation)::regclass, 'acme') AS shard
FROM unnest($1::text[]) AS relation"""
DIGESTED = "SELECT DISTINCT relation FROM read_model.digest WHERE workspace = 'acme'"
DIRECTLY = {"citus.enable_manual_changes_to_shards": "on"}


@pytest.mark.parametrize("kind", WRONG)
async def test_a_wrong_row_on_one_worker_is_found_in_each_table(
    kind: str, repository: Repository, database_url: str
) -> None:
    await RandomCommands(repository, 5).execute(250)
    await project_all(database_url, database_url)
    async with connected(database_url) as coordinator:
        tables = {row["relation"] for row in await coordinator.fetch(DIGESTED)}
        assert tables == CHANGES.keys()
        address = await worker_of_acme(coordinator)
        shards = await coordinator.fetch(SHARDS, list(tables))
    async with connected(on_worker(database_url, address), **DIRECTLY) as worker:
        for table, shard in shards:
            value, key = CHANGES[table]
            for statement in WRONG[kind]:
                await worker.execute(statement.format(shard=shard, value=value, key=key))
    seen: Any = await module.verify(build_settings(database_url, workers=1), silent)
    assert {one.relation for one in seen.read_model} == tables
